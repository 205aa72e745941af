"""How a run is stopped from within: by something that no program can catch."""

from __future__ import annotations


class RunStopped(BaseException):
    """The run must not go on. Programs have no `try`; trusted code that catches every Exception does not catch this."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        self.code = code
        self.message = message
        self.remedy = remedy
        super().__init__(message)
