"""Work in a forked child of this process: as cheap as doing it here, and it can be killed.

A solver can hang where its own time limit does not reach, and grow past any bound. The child is forked when everything
is loaded, so it costs milliseconds. It reports in frames, so that nothing is lost of what it had reported when it
was killed.
"""

from __future__ import annotations

import ctypes
import os
import resource
import selectors
import signal
import struct
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_SIZE: Final = struct.Struct(">Q")
_PR_SET_PDEATHSIG: Final = 1

Tell = Callable[[bytes], None]


class Forked:
    """A child that works and reports. The process must have no other threads that matter to the work."""

    def __init__(self, work: Callable[[Tell], None], memory_mb: int) -> None:
        self._data = bytearray()
        self._reading, writing = os.pipe()
        parent = os.getpid()
        with warnings.catch_warnings():
            # Newer Pythons warn of threads: what they hold could stop the child, and then it is killed in time.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._child: int | None = os.fork()
        if self._child == 0:
            os.close(self._reading)
            _work(work, writing, memory_mb, parent)
        os.close(writing)

    def fileno(self) -> int:
        """What becomes readable when the child reports or ends: for selectors."""
        return self._reading

    def told(self, timeout_s: float) -> bytes | None:
        """The next frame; None when the child has ended. Raises TimeoutError."""
        end = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._reading, selectors.EVENT_READ)
            while (frame := self._frame()) is None:
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                if not selector.select(left):
                    continue
                part = os.read(self._reading, 1 << 16)
                if not part:
                    return None
                self._data += part
        return frame

    def end(self) -> int:
        """Kill it if it still runs, and return its status."""
        if self._child is None:
            return 0
        child, self._child = self._child, None
        os.close(self._reading)
        os.kill(child, signal.SIGKILL)
        return os.waitpid(child, 0)[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def _frame(self) -> bytes | None:
        if len(self._data) < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(self._data)
        if len(self._data) < _SIZE.size + size:
            return None
        frame = bytes(self._data[_SIZE.size : _SIZE.size + size])
        del self._data[: _SIZE.size + size]
        return frame


def _work(work: Callable[[Tell], None], writing: int, memory_mb: int, parent: int) -> None:
    """In the child: work, report, and exit without what the parent would do at its end."""

    def tell(frame: bytes) -> None:
        data = memoryview(_SIZE.pack(len(frame)) + frame)
        while data:
            data = data[os.write(writing, data) :]

    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_with_parent()
        if os.getppid() != parent:  # it was gone before
            return
        limit_memory(memory_mb)
        work(tell)
    finally:
        os._exit(0)


def end_with_parent() -> None:
    """Be killed when the parent is: in the middle of a proof, nobody would notice that there is nobody to answer."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def limit_memory(memory_mb: int) -> None:
    """Allow so much more address space than the process has now, and not more than it may have anyway."""
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + memory_mb * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
