"""A stage of this machine, as its client sees it: started once, asked as often as needed, started again if it dies."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final, cast

from lictor_prove.rehearsal.order_json import MalformedMessage, order_bytes, run_lines
from lictor_prove.rehearsal.orders import Observation, ObservedRun, StageOrder
from lictor_run.frames import HEADER, MAX_FRAME
from lictor_run.program_interpreter import command, environment
from lictor_run.rehearsal.confinement import StageLimits

_STAGE: Final = "lictor_run.rehearsal.stage"
_START_S: Final = 60.0
_SPARE_S: Final = 30.0
"""How much longer than an order may take its answer is waited for."""
_LAST_MOMENT_S: Final = 2.0


class LocalStage:
    """A stage in a process of its own; may be used from several threads, which then wait for each other."""

    def __init__(self, limits: StageLimits | None = None) -> None:
        self._limits = limits or StageLimits()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._is_ready = False
        self._refused = ""
        self._python = ""

    def __enter__(self) -> LocalStage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The warm parent, while there is one."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Begin to warm up; returns at once."""
        with self._lock:
            self._start()

    def perform(self, order: StageOrder) -> Observation:
        """What the program does in the ordered runs; refused when that can't be found out here."""
        if not order.runs:
            return Observation(())
        data = order_bytes(order)
        if len(data) >= MAX_FRAME:
            return Observation((), f"the order has {len(data)} bytes, more than {MAX_FRAME}")
        letter = b"C" if order.language == "commands" else b"P"
        with self._lock:
            try:
                self._start()
                self._wait_until_ready()
                if self._refused:
                    return Observation((), self._refused)
                body, python = self._answer(letter + data), self._python
            except (OSError, ValueError) as error:
                self._end()
                return Observation(
                    (), f"the stage does not answer: {error or type(error).__name__}"
                )
            except BaseException:
                # Interrupted, it would take the answer to this order for that to the next.
                self._end()
                raise
        return _observed(body, order, python)

    def why_refused(self) -> str:
        """Why nothing can be rehearsed here; empty when it can."""
        with self._lock:
            try:
                self._start()
                self._wait_until_ready()
            except (OSError, ValueError) as error:
                self._end()
                return f"the stage does not start: {error or type(error).__name__}"
            return self._refused

    def close(self) -> None:
        """End the stage."""
        with self._lock:
            self._end()

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._end()
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                command(_STAGE, str(theirs.fileno()), json.dumps(asdict(self._limits))),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=environment(),
                pass_fds=[theirs.fileno()],
                # The terminal's Ctrl-C is for whoever uses the stage.
                process_group=0,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._channel = ours

    def _wait_until_ready(self) -> None:
        if self._is_ready:
            return
        told = cast(Mapping[str, Any], json.loads(self._receive(_START_S)))
        # Said before any program ran there: none can change it.
        self._refused, self._python = str(told["refused"]), str(told["python"])
        self._is_ready = True

    def _answer(self, message: bytes) -> bytes:
        channel = self._channel
        assert channel is not None
        channel.settimeout(_SPARE_S)
        channel.sendall(HEADER.pack(len(message)) + message)
        return self._receive(self._limits.wall_s + _SPARE_S)

    def _receive(self, within_s: float) -> bytes:
        channel = self._channel
        assert channel is not None
        channel.settimeout(within_s)
        (size,) = HEADER.unpack(_exactly(channel, HEADER.size))
        if size > MAX_FRAME:
            raise ValueError("its answer is too large")
        return _exactly(channel, size)

    def _end(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            if self._is_ready:
                # Told by the closed channel, it ends its child before itself.
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_LAST_MOMENT_S)
            self._process.kill()
            self._process.wait()
        self._channel = self._process = None
        self._is_ready = False
        self._refused = ""


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = channel.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("it has ended")
        parts += part
    return bytes(parts)


def _observed(body: bytes, order: StageOrder, python: str) -> Observation:
    """The report of a stage; runs that it does not tell about were ended by a limit."""
    head, _, lines = body.partition(b"\n")
    why = str(json.loads(head)["ended"]) or "the process ended before its runs did"
    try:
        runs = run_lines(lines)[: len(order.runs)]
    except MalformedMessage:
        runs, why = (), "the report is not one that a stage writes"
    missing = len(order.runs) - len(runs)
    return Observation((*runs, *[ObservedRun((), "limit", why)] * missing), python=python)
