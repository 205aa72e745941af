"""The errors of this library; every message says what was wrong, where, and what to do."""

from dataclasses import dataclass


class ProveError(Exception):
    """Root of every error that lictor_prove raises on purpose."""


class ValueRefused(ProveError):
    """A value that may not cross the boundary between a program and its layer."""


class ProverConfigError(ProveError):
    """A trusted layer, or the way it is given to the prover, can't be used. No program is judged by such a layer."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a program is rejected."""

    code: str
    """Stable: `unsupported.while`, `import.unknown`."""
    message: str
    remedy: str
    line: int | None = None
    column: int | None = None


class Rejected(ProveError):
    """The program can't be read as one whose effects are known; it must not run."""

    def __init__(self, *reasons: Reason) -> None:
        self.reasons = reasons
        super().__init__("; ".join(reason.message for reason in reasons))
