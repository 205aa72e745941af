"""The rules of the format that its grammar alone does not hold."""

from __future__ import annotations

from lictor_ir.document import Document


def validate(document: Document) -> None:
    """Raise a DocumentError that begins with the path of the part that breaks a rule."""
