"""Checks cvc5's CPC proofs: `check(script, proof)` follows every step with rules of our own.

Nothing is trusted but this package: no solver runs, nothing is looked up. A proof is accepted only as a refutation of
exactly what the script asserts. `docs/certificates-rules.md` says what each rule demands.
"""

from lictor_ir.certificate.cpc.errors import InvalidProof, UnknownRule
from lictor_ir.certificate.cpc.kernel import Refutation, check

__all__ = ["InvalidProof", "Refutation", "UnknownRule", "check"]
