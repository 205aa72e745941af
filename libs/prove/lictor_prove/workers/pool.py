"""Proves programs in worker processes that can be killed: one pathological program never stalls another.

Each worker has a thread here that hands it one job at a time and watches the clock. A worker that takes too long, grows
too big, crashes or is cancelled is killed and replaced, and its job is `unknown`, never `proved`. Workers stay warm:
imports are done and layers loaded before the first job.
"""

from __future__ import annotations

import os
import pickle
import queue
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final

from lictor_prove.errors import ProverConfigError
from lictor_prove.proof.result import OnProgress, Progress, Proof, unknown
from lictor_prove.proof.settings import DEFAULT, ProofSettings
from lictor_prove.workers.failures import crashed, too_slow
from lictor_prove.workers.process import (
    CERTIFIES,
    HEADER,
    Done,
    Job,
    Proved,
    Roots,
    Warm,
    write_frame,
)

__all__ = ["Job", "Pool", "Roots", "Ticket"]

JOBS_PER_WORKER: Final = 500
"""A worker is replaced after so many jobs, so that nothing piles up in it."""
CERTIFY_SLACK_MS: Final = 10_000
"""What a certificate may take beyond the time of its solvers: deriving the goals, writing it down."""
TICK_S: Final = 0.05
"""How often a cancellation is looked for while a worker is busy."""


@dataclass
class Ticket:
    """A job that was handed in."""

    job: Job
    future: Future[Proof]
    progress: OnProgress | None = None
    verdict: Future[Proof] = field(default_factory=Future[Proof])
    """The proof as soon as its verdict is there, without a certificate: it can be rehearsed while that is made."""
    submitted: float = field(default_factory=time.monotonic)
    cancelled: threading.Event = field(default_factory=threading.Event)

    def result(self, timeout: float | None = None) -> Proof:
        """The proof, when it is there. ProverConfigError when no program can be judged by that layer."""
        return self.future.result(timeout)

    def cancel(self) -> None:
        """Give it up: a waiting job is not begun, a running one is killed; both are then `unknown`."""
        self.cancelled.set()


class Pool:
    """Worker processes for proofs."""

    def __init__(
        self,
        size: int = 1,
        *,
        layers: Sequence[Roots] = (),
        memory_mb: int = DEFAULT.memory_mb,
        certifies: bool = False,
        jobs_per_worker: int = JOBS_PER_WORKER,
    ) -> None:
        self._waiting: queue.SimpleQueue[Ticket | None] = queue.SimpleQueue()
        self._closed = False
        self._slots = [
            _Slot(tuple(layers), memory_mb, jobs_per_worker, certifies=certifies)
            for _ in range(size)
        ]
        self._threads = [
            threading.Thread(target=self._serve, args=(slot,), daemon=True, name="lictor-prove")
            for slot in self._slots
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job, progress: OnProgress | None = None) -> Ticket:
        """Hand in a job; `progress` is called from another thread."""
        if self._closed:
            raise RuntimeError("the pool is closed")
        ticket = Ticket(job, Future(), progress)
        if progress is not None:
            progress(Progress("waiting"))
        self._waiting.put(ticket)
        return ticket

    def prove(self, job: Job, progress: OnProgress | None = None) -> Proof:
        """Hand in a job and wait for its proof."""
        return self.submit(job, progress).result()

    def close(self) -> None:
        """Kill all workers; jobs that are not done are `unknown`."""
        self._closed = True
        for slot in self._slots:
            slot.stop()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join(timeout=5)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _serve(self, slot: _Slot) -> None:
        with suppress(OSError, _StoppedError):
            slot.start()
        while (ticket := self._waiting.get()) is not None:
            waited_ms = (time.monotonic() - ticket.submitted) * 1000
            try:
                proof = slot.prove(ticket) if not self._closed else _given_up()
            except ProverConfigError as error:
                for each in (ticket.verdict, ticket.future):
                    # Whoever waited may have given up: that must not end this thread.
                    with suppress(InvalidStateError):
                        each.set_exception(error)
                continue
            except Exception as error:  # noqa: BLE001 -- this thread must live on for the next job
                slot.clear()
                proof = unknown(
                    "prover.worker",
                    f"the worker could not be used: {error}",
                    "try again; if it stays so, look at the machine's limits",
                )
            timings = replace(proof.timings, waited_ms=waited_ms)
            whole = replace(proof, timings=timings)
            for each in (ticket.verdict, ticket.future):
                with suppress(InvalidStateError):
                    each.set_result(whole)
        slot.clear()


class _Slot:
    """The place of one worker, whichever process fills it at the moment."""

    def __init__(
        self, layers: tuple[Roots, ...], memory_mb: int, jobs_per_worker: int, *, certifies: bool
    ) -> None:
        self._layers = layers
        self._arguments = (str(memory_mb), *([CERTIFIES] if certifies else []))
        self._most = jobs_per_worker
        self._jobs = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._proved: Proof | None = None
        """The verdict of the job at hand while its certificate is being made."""

    def start(self) -> None:
        """Have a worker ready."""
        process = self._process
        if process is not None and process.poll() is None and self._jobs < self._most:
            return
        self._kill()
        if self._stopping.is_set():
            raise _StoppedError(_given_up())
        self._jobs = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lictor_prove.workers.process", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self._layers:
            self._send(Warm(self._layers))

    def stop(self) -> None:
        """No more workers here; the slot's own thread cleans up behind it."""
        self._stopping.set()
        process = self._process
        if process is not None:
            process.kill()

    def clear(self) -> None:
        """Let go of the process."""
        self._kill()

    def prove(self, ticket: Ticket) -> Proof:
        """Have the job proved, or say why it could not be."""
        if ticket.cancelled.is_set():
            return _given_up()
        settings = ticket.job.settings
        self._proved = None
        try:
            self.start()
            self._jobs += 1
            self._send(ticket.job)
            done = self._received(ticket, time.monotonic() + settings.wall_ms / 1000)
        except _StoppedError as stopped:
            self._kill()
            return self._without_certificate(stopped.proof)
        except (EOFError, BrokenPipeError):
            return self._without_certificate(self._died(settings))
        if done.spent:
            self._kill()
        if done.proof is None:
            raise ProverConfigError(done.config_error)
        return done.proof

    def _without_certificate(self, failure: Proof) -> Proof:
        """What was proved before it went wrong stands; otherwise nothing does."""
        if self._proved is None:
            return failure
        why = f"making the certificate was given up: {failure.reasons[0].message}"
        return replace(self._proved, uncertified=why)

    def _send(self, message: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        write_frame(self._process.stdin, message)  # pyright: ignore[reportArgumentType]

    def _received(self, ticket: Ticket, end: float) -> Done:
        assert self._process is not None
        assert self._process.stdout is not None
        source = self._process.stdout.fileno()
        data = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            while True:
                if ticket.cancelled.is_set() or self._stopping.is_set():
                    raise _StoppedError(_given_up())
                if time.monotonic() > end:
                    raise _StoppedError(too_slow(ticket.job.settings))
                if not selector.select(TICK_S):
                    continue
                part = os.read(source, 1 << 16)
                if not part:
                    raise EOFError
                data += part
                while (message := _frame(data)) is not None:
                    if isinstance(message, Done):
                        return message
                    if isinstance(message, Proved):
                        self._proved = message.proof
                        ticket.verdict.set_result(message.proof)
                        certify_ms = ticket.job.certify.total_ms if ticket.job.certify else 0
                        end = time.monotonic() + (certify_ms + CERTIFY_SLACK_MS) / 1000
                        continue
                    if ticket.progress is not None:
                        ticket.progress(message)

    def _died(self, settings: ProofSettings) -> Proof:
        assert self._process is not None
        code = self._process.wait()
        self._kill()
        if self._stopping.is_set():
            return _given_up()
        return crashed(code, settings)

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue


class _StoppedError(Exception):
    """A job was given up; its worker must be killed."""

    def __init__(self, proof: Proof) -> None:
        self.proof = proof
        super().__init__(proof.reasons[0].message)


def _frame(data: bytearray) -> Any:
    """The first value in the data, which is taken out, or None while it is not whole."""
    if len(data) < HEADER.size:
        return None
    (size,) = HEADER.unpack_from(data)
    end = HEADER.size + size
    if len(data) < end:
        return None
    value = pickle.loads(bytes(data[HEADER.size : end]))
    del data[:end]
    return value


def _given_up() -> Proof:
    return unknown("prover.cancelled", "the proof was given up", "hand the program in again")
