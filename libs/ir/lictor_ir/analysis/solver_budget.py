"""Asks a solver about goals, within a time of its own. Time that ran out is an answer too: undecided."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from lictor_ir.analysis.contradictions import plainly_contradict, ways_of
from lictor_ir.goals.goal import Goal
from lictor_ir.solver.answers import HOLDS, Answer, undecided

Decide = Callable[[Goal, int, int], Answer]
"""Whether a goal's formula has a model: the goal, milliseconds, megabytes."""

DEFAULT_MS: Final = 2_000
MEMORY_MB: Final = 512
MOST_WAYS: Final = 12
"""Ways to break something of which it is looked at one by one whether they are possible."""


def plainly_holds(goal: Goal) -> bool:
    """Whether it is seen without a solver that the goal's formula has no model."""
    ways = ways_of(goal.refute)
    if len(ways) > MOST_WAYS:
        ways = (goal.refute,)
    return all(plainly_contradict([*goal.given, way]) for way in ways)


class Budget:
    """The time that a whole analysis may take."""

    def __init__(
        self, ms: int = DEFAULT_MS, *, memory_mb: int = MEMORY_MB, decide: Decide | None = None
    ) -> None:
        self._ms = ms
        self._end = time.perf_counter() + ms / 1000
        self._memory_mb = memory_mb
        self._decide = decide

    @property
    def is_spent(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() >= self._end

    def decide(self, goal: Goal) -> Answer:
        """Whether the goal's formula has a model."""
        if plainly_holds(goal):
            return HOLDS
        left = int((self._end - time.perf_counter()) * 1000)
        if left <= 0:
            return undecided(f"the time of {self._ms} ms is up", "z3")
        if self._decide is None:
            from lictor_ir.solver.z3_process import decide

            self._decide = decide
        return self._decide(goal, left, self._memory_mb)
