"""The errors of this library; every message says what was wrong, where, and what to do."""

from lictor_schema.approvals.run import RunReason


class RunError(Exception):
    """Root of every error that lictor_run raises on purpose."""


class NotStarted(RunError):
    """The run did not begin: what was approved is not what is here, or it can't be run."""

    def __init__(self, reason: RunReason) -> None:
        super().__init__(f"{reason.code}: {reason.message}")
        self.reason = reason


class Fenced(RunError):
    """Somebody else writes the journal of this run: it is theirs now, and nothing more may be done here."""


class EntryTooLarge(RunError, ValueError):
    """An entry that the journal can never take: waiting does not help, and what it announces is not done."""


class RunStopped(BaseException):
    """The run must not go on. Code that catches every Exception does not catch this; a program that
    catches everything makes no further call."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        self.code = code
        self.message = message
        self.remedy = remedy
        super().__init__(message)
