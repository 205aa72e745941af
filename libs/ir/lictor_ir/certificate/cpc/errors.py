"""What the checker says of a proof that it does not accept."""

from lictor_ir.errors import IrError


class UnknownRule(IrError):
    """A step uses a rule, an operator or a sort that this checker does not implement: it says nothing of the proof."""

    def __init__(self, rule: str, step: str) -> None:
        self.rule, self.step = rule, step
        super().__init__(f"step {step}: {rule} is not implemented here; check the proof with ethos")


class InvalidProof(IrError):
    """A step does not follow, or the text is no proof about this script."""

    def __init__(self, step: str, reason: str) -> None:
        self.step, self.reason = step, reason
        super().__init__(f"step {step}: {reason}; make the certificate anew")


class Refused(Exception):
    """Why a term can't be built or a step does not follow."""


class NotKnown(Exception):
    """What is not implemented."""
