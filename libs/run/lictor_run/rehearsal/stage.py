"""The warm parent of rehearsals: it has imported what a run needs, and has a confined child ready for the next order.

Started by `lictor_run.rehearsal.local_stage` as the child of a run is (`lictor_run.program_interpreter`), with a
descriptor and its limits. It reads nothing of an order but its length and its language, and nothing of what a child
reports but its length. It imports neither a solver nor Pydantic nor a client of any server: what a child inherits is
small, and forked quickly.

A message in either direction is four bytes of length and a body. An order is a letter for its language, then JSON. The
answer is lines of JSON: why the child ended early, then one line for each run that was finished.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
import unicodedata
import warnings
from contextlib import suppress
from typing import Final, NamedTuple

from lictor_prove.rehearsal.order_json import line_of, order_of
from lictor_prove.this_python import this_python
from lictor_run.frames import HEADER, MAX_FRAME
from lictor_run.rehearsal.confinement import StageLimits, confine, why_not_confined
from lictor_run.rehearsal.exercise import EXERCISE
from lictor_run.rehearsal.performance import nowhere, performed

COMMANDS: Final = b"C"
PYTHON: Final = b"P"
_COMMANDS: Final = "lictor_prove.commands"
_SPARE: Final = 1 << 20
"""What the lines of a report hold beside what is counted."""
_MOST_DESCRIPTORS: Final = 4096
_DONE: Final = b"\0"
"""What a child says last; it stands in no line of JSON. One that lies about it is missing runs."""

# A program may name characters in its strings; the compiler would look for the table when it is too late.
_NAMES_OF_CHARACTERS: Final = unicodedata


def _exercise(limits: StageLimits) -> None:
    """Do once what every order does."""
    for run in performed(order_of(EXERCISE), limits):
        line_of(run)


def main(arguments: list[str]) -> None:
    """Answer orders until the other side closes."""
    channel = socket.socket(fileno=int(arguments[0]))
    limits = StageLimits(**json.loads(arguments[1]))
    # Whoever compiles a program would otherwise look for its file, to show the line that it warns about.
    warnings.simplefilter("ignore")
    _exercise(limits)
    gc.disable()
    gc.freeze()
    refused = why_not_confined(limits)
    _send(channel, json.dumps({"refused": refused, "python": this_python()}).encode())
    if refused:
        receive(channel)
        return
    # One is always ready, so that nobody waits for a fork.
    child = _forked(limits)
    while (order := receive(channel)) is not None:
        if order[:1] == COMMANDS and _COMMANDS not in sys.modules:
            # Most orders are in Python, and their children stay smaller without.
            importlib.import_module(_COMMANDS)
            child.end()
            child = _forked(limits)
        _send(channel, _answer(channel, child, order[1:], limits))
        child.end()
        child = _forked(limits)
    # It would die with this process, but only after whoever waits for that.
    child.end()


def receive(channel: socket.socket) -> bytes | None:
    """The next message; None at the end."""
    header = _exactly(channel, HEADER.size)
    if header is None:
        return None
    (size,) = HEADER.unpack(header)
    return _exactly(channel, size) if size <= MAX_FRAME else None


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = channel.recv(min(size - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _send(channel: socket.socket, body: bytes) -> None:
    channel.sendall(HEADER.pack(len(body)) + body)


class _Child(NamedTuple):
    """A confined process that waits for an order."""

    pid: int
    order: int
    report: int

    def why_ended(self) -> str:
        """Why it ended before it was done; waits until it has."""
        told = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        assert told is not None
        if told.si_code in (os.CLD_KILLED, os.CLD_DUMPED):
            number = told.si_status
            why = ", for a system call that is not allowed" if number == signal.SIGSYS else ""
            return f"it was killed by signal {number}{why}"
        return "it could not be confined, or its order not be read" if told.si_status else ""

    def end(self) -> None:
        """End it, if it has not, and let go of it."""
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.order)
        os.close(self.report)
        os.waitpid(self.pid, 0)


def _forked(limits: StageLimits) -> _Child:
    order, ordered = os.pipe()
    told, report = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _child(limits, parent, order, report)
    os.close(order)
    os.close(report)
    return _Child(pid, ordered, told)


def _answer(channel: socket.socket, child: _Child, order: bytes, limits: StageLimits) -> bytes:
    """What the child reported, and how it ended."""
    # Gone before it was asked: then that is how it ended.
    with suppress(BrokenPipeError):
        _write(child.order, HEADER.pack(len(order)) + order)
    lines, ended = _heard(channel, child, limits)
    return json.dumps({"ended": ended}).encode() + b"\n" + lines


def _heard(channel: socket.socket, child: _Child, limits: StageLimits) -> tuple[bytes, str]:
    """All that the child says until it is done or ends, and why it ended or has to."""
    lines = bytearray()
    most = min(limits.observed_bytes + _SPARE, MAX_FRAME - _SPARE)
    until = time.monotonic() + limits.wall_s
    poll = select.poll()
    poll.register(child.report, select.POLLIN)
    poll.register(channel, select.POLLRDHUP)
    while True:
        left = until - time.monotonic()
        found = dict(poll.poll(left * 1000)) if left > 0 else {}
        if child.report in found:
            part = os.read(child.report, 1 << 16)
            if not part:
                return bytes(lines), child.why_ended()
            lines += part
            if part.endswith(_DONE):
                # Nobody waits until its memory is given back.
                return bytes(lines[: -len(_DONE)]), ""
        elif found:
            # Nobody waits for the answer any more.
            os.kill(child.pid, signal.SIGKILL)
            os._exit(0)
        why = ""
        if len(lines) > most:
            why = f"it reports more than {most} bytes"
        elif not found:
            why = f"its {limits.wall_s:g} s are over"
        if why:
            return bytes(lines), why


def _child(limits: StageLimits, parent: int, order: int, report: int) -> None:
    """Wait for an order, perform it, and end; nothing of the parent but memory and two descriptors is left here."""
    code = 1
    try:
        first, last = sorted((order, report))
        os.closerange(0, first)
        os.closerange(first + 1, last)
        os.closerange(last + 1, _MOST_DESCRIPTORS)
        sys.stdin = None
        sys.stdout = sys.stderr = nowhere()
        confine(limits, parent, read=order, write=report)
        # Memory is shared with the parent until it is touched; what is copied now is not copied later.
        _exercise(limits)
        for run in performed(order_of(_read(order)), limits):
            _write(report, line_of(run))
        _write(report, _DONE)
        code = 0
    finally:
        os._exit(code)


def _read(order: int) -> bytes:
    parts = bytearray()
    wanted = HEADER.size
    while len(parts) < wanted:
        part = os.read(order, min(wanted - len(parts), 1 << 20))
        if not part:
            os._exit(0)
        parts += part
        if wanted == len(parts) == HEADER.size:
            wanted += HEADER.unpack(parts)[0]
    return bytes(parts[HEADER.size :])


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main(sys.argv[1:])
