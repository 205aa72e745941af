"""What authors of verification methods import.

Everything else in this library may change between releases; these names change only with a note in the changelog.
"""

from lictor_contracts.action.verification import Finding, method
from lictor_contracts.errors import ExpectationRefused

__all__ = ["ExpectationRefused", "Finding", "method"]
