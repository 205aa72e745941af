"""The process in which a program runs: it is given one order, reports what happens, and ends.

Started by `lictor_run.child_process` as the stage of a rehearsal is (`lictor_run.program_interpreter`), with a
descriptor and the pid of its parent. It says what happens on that descriptor, and waits for an answer before every
effect; its standard streams belong to the program and its layer.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from lictor_prove.layers.load import LivingLayer
from lictor_prove.python import ParsedProgram
from lictor_prove.rehearsal.outline import outline_of
from lictor_prove.written_values import Json, ValueReader
from lictor_run.child_orders import Approved, approved_of, undoing_of
from lictor_run.compensation import undo_all
from lictor_run.errors import RunStopped
from lictor_run.frames import read_frame, write_frame
from lictor_run.lockstep import Lockstep
from lictor_run.run_limits import RunLimits, end_with_parent, hold_to
from lictor_run.run_result import told_result
from lictor_run.sandbox import World, call_target, compiled
from lictor_run.stale_approval import check_python, load_layer_again, read_again
from lictor_run.trusted_calls import Boundary
from lictor_schema.approvals.run import UndoKind
from lictor_schema.proofs.inputs import read_inputs

if TYPE_CHECKING:
    from lictor_prove.commands import Commands

_REMEDY = "look at what the program and its layer use, then have the program approved again"


class ParentChannel:
    """The line to the parent."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def hear(self) -> dict[str, Any]:
        """What the parent says next; without a parent there is nothing left to do."""
        heard = read_frame(self._stream)
        if heard is None:
            os._exit(1)
        return heard

    def say(self, said: str, **more: Any) -> None:
        """Send the parent a frame."""
        write_frame(self._stream, {"say": said, **more})

    def ask(self, said: str, **more: Any) -> None:
        """Send the parent a frame, and wait until it says to continue."""
        self.say(said, **more)
        if self.hear().get("say") != "go":
            os._exit(1)

    # -- what a boundary reports ---------------------------------------------------------------------

    def started(
        self, call: int, effect: str, arguments: Mapping[str, Json], undo: UndoKind
    ) -> None:
        """A trusted call is about to be made."""
        self.ask("started", call=call, effect=effect, arguments=arguments, undo=undo.value)

    def done(self, call: int, result: Json, result_hash: str, *, kept: bool) -> None:
        """It returned."""
        self.say("done", call=call, result=result, result_hash=result_hash, kept=kept)

    def failed(self, call: int, happened: str, code: str, message: str) -> None:
        """It did not."""
        self.say("failed", call=call, happened=happened, code=code, message=message)

    def undo_started(self, call: int) -> None:
        """An effect is about to be taken back."""
        self.ask("undo_started", call=call)

    def undo_done(self, call: int) -> None:
        """It was."""
        self.say("undo_done", call=call)

    def undo_failed(self, call: int, code: str, message: str) -> None:
        """It was not."""
        self.say("undo_failed", call=call, code=code, message=message)


def main(arguments: list[str]) -> None:
    """Carry out the order."""
    end_with_parent(int(arguments[1]))
    line = ParentChannel(cast(BinaryIO, socket.socket(fileno=int(arguments[0])).makefile("rwb")))
    order = line.hear()
    hold_to(RunLimits(**order["limits"]))
    ended = carried_out(order, line)
    # Before the last word: after it, the parent waits for nothing.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    line.say("ended", **ended)
    # Threads that a layer started, and what it registered for the end, have no say any more.
    os._exit(0)


def carried_out(order: Mapping[str, Any], line: ParentChannel) -> dict[str, Any]:
    """How it ended: without a code, when it ended well; then with what the target returned."""
    try:
        if order["do"] == "run":
            return {"code": None, "result": told_result(_run(order, line))}
        _undo(order, line)
    except RunStopped as stopped:
        return {"code": stopped.code, "message": stopped.message, "remedy": stopped.remedy}
    except MemoryError:
        return {"code": "run.memory", "message": "it needs too much memory", "remedy": _REMEDY}
    except BaseException as error:  # noqa: BLE001 -- whatever ends a program ends its run
        told = f"{type(error).__name__}: {error}"
        return {"code": "program.raised", "message": told, "remedy": _REMEDY}
    return {"code": None}


def _run(order: Mapping[str, Any], line: ParentChannel) -> Any:
    """What the target returned."""
    approved = approved_of(order["approved"])
    check_python(approved)
    living = load_layer_again(order["layer"], approved.layer_hash)
    program = read_again(approved, living)
    reader = ValueReader(living.rows)
    inputs = read_inputs(approved.inputs)
    lockstep = Lockstep(program.document, inputs)
    boundary = Boundary(approved.run_id, living, reader, line, lockstep)
    line.ask("ready")
    returned = None
    with living.runtime.active():
        if isinstance(program.parsed, ParsedProgram):
            returned = _run_python(approved, program.parsed, living, boundary, reader, inputs)
        else:
            _run_commands(program.parsed, living, boundary, inputs)
    boundary.complete()
    return returned


def _run_python(
    approved: Approved,
    parsed: ParsedProgram,
    living: LivingLayer,
    boundary: Boundary,
    reader: ValueReader,
    inputs: Mapping[str, Any],
) -> Any:
    world = World(outline_of(living.layer), living.rows, boundary.call_by_name)
    names = world.run(compiled(parsed.tree, approved.source_name))
    for schema, row in world.rows(names).items():
        reader.add(schema, row)
    boundary.begin()
    return call_target(names[approved.target], inputs)


def _run_commands(
    commands: Commands, living: LivingLayer, boundary: Boundary, inputs: Mapping[str, Any]
) -> None:
    # Most programs are written in Python, and don't pay for this.
    from lictor_prove.commands import execute

    boundary.begin()
    execute(commands, inputs, boundary.call_by_name, rows=living.rows)


def _undo(order: Mapping[str, Any], line: ParentChannel) -> None:
    undoing = undoing_of(order["undoing"])
    living = load_layer_again(order["layer"], undoing.layer_hash)
    line.ask("ready")
    with living.runtime.active():
        undo_all(undoing, living, line)


if __name__ == "__main__":
    main(sys.argv[1:])
