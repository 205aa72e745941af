"""What came of a run of one fuzz target, and the command line that they share."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Tally:
    """How many attempts there were, and what became of them."""

    applied: int = 0
    refused: int = 0
    right: int = 0
    """Accepted, and found to be right by something that does not share the code."""
    open: int = 0
    """Accepted, and nothing says whether it is right: no premise is met, or the solver does not know."""
    wrong: list[str] = field(default_factory=list[str])
    """Accepted, and false."""

    def __str__(self) -> str:
        told = (
            f"{self.applied} applied, {self.refused} refused, {self.right} right, {self.open} open"
        )
        return f"{told}, {len(self.wrong)} wrong"


def run(
    name: str, fuzz: Callable[[int, int], Tally], argv: Sequence[str], count: int = 10_000
) -> int:
    """Fuzz, print what came of it, and return 1 if anything was wrong."""
    parser = ArgumentParser(prog=name, allow_abbrev=False)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(list(argv))
    tally = fuzz(options.count, options.seed)
    for each in tally.wrong[:20]:
        sys.stdout.write(f"WRONG  {each}\n")
    sys.stdout.write(f"{name}: {tally}\n")
    return 1 if tally.wrong else 0
