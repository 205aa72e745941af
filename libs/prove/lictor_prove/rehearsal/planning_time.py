"""How long planning may take.

What this thread computes counts, and how long solvers are waited for. What other processes take from the machine does
not: a busy machine would plan fewer runs than a quiet one, and call fewer programs rehearsed.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager


class PlanningTime:
    """Milliseconds that may be spent, from now on."""

    def __init__(self, ms: float) -> None:
        self._end = time.thread_time() + ms / 1000

    @property
    def left_ms(self) -> float:
        """What is left; nothing or less when it is over."""
        return (self._end - time.thread_time()) * 1000

    @contextmanager
    def waiting(self) -> Generator[None]:
        """While another process computes."""
        begun, computed = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            self._end -= (time.perf_counter() - begun) - (time.thread_time() - computed)
