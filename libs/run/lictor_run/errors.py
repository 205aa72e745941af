"""The errors of this library; every message says what was wrong, where, and what to do."""


class RunError(Exception):
    """Root of every error that lictor_run raises on purpose."""


class Fenced(RunError):
    """Somebody else writes the journal of this run: it is theirs now, and nothing more may be done here."""


class ValueRefused(RunError):
    """A value that may not cross the boundary between a program and its layer."""
