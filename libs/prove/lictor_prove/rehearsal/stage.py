"""Where programs are rehearsed, whoever runs it: a child of this process, or a service on the bus."""

from __future__ import annotations

from typing import Protocol

from lictor_prove.rehearsal.orders import Observation, StageOrder


class Stage(Protocol):
    """Runs a program with stand-ins for trusted calls, and tells what it did."""

    def perform(self, order: StageOrder) -> Observation:
        """What the program did; never raises for anything that a program does."""
        ...
