"""What can go wrong about an approval; every message says what was wrong, and what to do."""


class ApprovalError(Exception):
    """Root of every error that lictor_approval raises on purpose."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


class NotApprovable(ApprovalError):
    """A proof or a submission for which nobody can be asked."""


class BrokenLog(ApprovalError):
    """The log of a request holds what can't follow from each other; nothing runs by it."""


class StepRefused(ApprovalError):
    """A decision or a step that does not count."""


class ConfigRefused(ApprovalError):
    """Keys or a policy that can't be used."""
