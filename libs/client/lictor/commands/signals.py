"""Ending a command in order when it is told to."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ending_by_signal() -> Generator[None, None, None]:
    """While inside, a signal cancels the current task, which cleans up; a second hurries it."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    for number in _ENDING:
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
