"""A solver in a child process, killed when its time is up: one that did not answer has decided nothing."""

from __future__ import annotations

import os
import pickle
import selectors
from collections.abc import Callable, Sequence
from typing import Final

from lictor_ir.forked_child import Forked
from lictor_ir.solver.answers import Answer, undecided

SLACK_S: Final = 0.25
"""What a child gets beyond the solver's own limit before it is killed."""


class SolverChild(Forked):
    """A child that asks a solver one question."""

    def __init__(
        self, name: str, ask: Callable[[], Answer], timeout_ms: int, memory_mb: int
    ) -> None:
        self._name = name
        self._timeout_ms = timeout_ms
        self._memory_mb = memory_mb
        super().__init__(lambda tell: tell(pickle.dumps(self._asked(ask))), memory_mb)

    def answer(self, within_s: float) -> Answer:
        """What the solver says; undecided when it says nothing in time, or its process ended."""
        try:
            told = self.told(max(0.0, within_s))
        except TimeoutError:
            return undecided(f"{self._name} did not decide it within {self._timeout_ms} ms", "")
        if told is None:
            return undecided(f"{self._name}'s process ended without an answer", "")
        return pickle.loads(told)

    def _asked(self, ask: Callable[[], Answer]) -> Answer:
        """In the child: whatever goes wrong there decides nothing."""
        # Solvers print what they think of a goal; it would stand among what a command says.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            return ask()
        except MemoryError:
            return undecided(f"{self._name} needs more than {self._memory_mb} MB", "")
        except Exception as error:  # noqa: BLE001 -- nobody else would say what it was
            return undecided(f"{self._name} failed: {type(error).__name__}: {error}", "")


def first_to_answer(children: Sequence[SolverChild], within_s: float) -> SolverChild | None:
    """The child that has something to say first; None when none has in time."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child, selectors.EVENT_READ, child)
        for key, _ in selector.select(max(0.0, within_s)):
            return key.data
    return None
