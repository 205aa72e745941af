"""What came of a run of one fuzz target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Told = Callable[[int], None]
"""Hears now and then how many attempts there were so far."""
_EVERY = 250


def silent(_applied: int) -> None:
    """For runs that nobody watches."""


@dataclass
class Tally:
    """How many attempts there were, and what became of them."""

    told: Told = silent
    applied: int = 0
    refused: int = 0
    right: int = 0
    """Accepted, and found to be right by something that does not share the code."""
    open: int = 0
    """Accepted, and nothing says whether it is right: no premise is met, or the solver does not know."""
    wrong: list[str] = field(default_factory=list[str])
    """Accepted, and false; or let through, or stopped a reader."""

    def begin(self) -> None:
        """Count one more attempt."""
        self.applied += 1
        if self.applied % _EVERY == 0:
            self.told(self.applied)
