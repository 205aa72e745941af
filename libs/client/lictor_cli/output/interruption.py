"""Ending a command in order when it is told to, or when nobody reads it any more."""

import asyncio
import os
import signal
import stat
import sys
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


@contextmanager
def ending_with_reader() -> Generator[None, None, None]:
    """While inside, BrokenPipeError when the reader of our output leaves, also while there is nothing to write."""
    pipe = _output_pipe()
    if pipe is None:
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    left = False

    def leave() -> None:
        nonlocal left
        left = True
        loop.remove_reader(pipe)
        task.cancel()

    # There is never anything to read from this end: what is told of it is that the other one was closed.
    loop.add_reader(pipe, leave)
    try:
        yield
    except asyncio.CancelledError:
        if left and task.uncancel() == 0:
            raise BrokenPipeError from None
        raise
    finally:
        loop.remove_reader(pipe)


def _output_pipe() -> int | None:
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):
        return None
    return number if stat.S_ISFIFO(os.fstat(number).st_mode) else None
