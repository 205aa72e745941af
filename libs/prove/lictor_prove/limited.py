"""One proof in a child of this process, for commands: as cheap as proving here, and as killable as a worker.

A solver can hang where its own time limit does not reach, and grow past any bound. The child is forked when everything
is loaded, so it costs milliseconds; it is killed when its time is up, and what it did not answer is `unknown`.
"""

from __future__ import annotations

import os
import pickle
import resource
import selectors
import signal
import time
from collections.abc import Callable
from pathlib import Path

from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.proof import Proof, unknown
from lictor_prove.settings import Settings


def prove_limited(prove: Callable[[], Proof], settings: Settings) -> Proof:
    """What `prove` finds, within the settings' wall clock and memory. The process must have no other threads."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(prove, writing, settings)
    os.close(writing)
    try:
        data = _received(reading, settings)
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if data is None:
        return unknown(
            "prover.timeout",
            f"the proof took longer than {settings.wall_ms} ms",
            "make the program simpler, or give the proof more time",
        )
    if not data:
        return unknown(
            "prover.crashed",
            f"the child process ended with status {status}, perhaps because it needs more than "
            f"{settings.memory_mb} MB",
            "make the program simpler, or give the proof more memory",
        )
    answer = pickle.loads(data)
    if isinstance(answer, str):
        raise ProverConfigError(answer)
    return answer


def _answer(prove: Callable[[], Proof], writing: int, settings: Settings) -> None:
    """In the child: prove, tell, and be gone without what the parent would do at its end."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _limit(settings.memory_mb)
        answer: Proof | str
        try:
            answer = prove()
        except ProveError as error:
            answer = str(error)
        except MemoryError:
            answer = unknown(
                "prover.memory",
                f"the proof needs more than {settings.memory_mb} MB",
                "make the program simpler, or give the proof more memory",
            )
        data = memoryview(pickle.dumps(answer))
        while data:
            data = data[os.write(writing, data) :]
    finally:
        os._exit(0)


def _limit(memory_mb: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _received(reading: int, settings: Settings) -> bytes | None:
    """All that the child writes until it closes its end; None when the time is up first."""
    end = time.monotonic() + settings.wall_ms / 1000
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return None
            if not selector.select(left):
                continue
            part = os.read(reading, 1 << 16)
            if not part:
                return bytes(data)
            data += part
