"""`lictor session snapshot, restore, reset`: the state of a guarded session kept, set back or forgotten."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.fast.session_operations import SessionOperations
from lictor.runtimes.nats_driver import drive
from lictor_cli.json_input import json_object
from lictor_cli.main import FAILED, OK, UNREACHABLE
from lictor_cli.output.terminal import printable, quiet_logs, say, say_json, warn
from lictor_cli.session.sources import session_arguments, session_at
from lictor_cli.verb import Verb

if TYPE_CHECKING:
    from lictor.fast.session_operations import Operation
    from lictor.fast.verdicts import StateChange


async def _change(
    operation: "Callable[[SessionOperations, Namespace], Operation[StateChange]]",
    options: Namespace,
) -> int:
    quiet_logs()
    async with session_at(options) as (client, session):
        operations = SessionOperations(
            runtime=session.runtime,
            session_id=session.session_id,
            task_id=session.task_id,
            agent_id="operator",
            timeout_s=10.0,
        )
        change = await drive(operation(operations, options), client)
    if change.ok and change.document is not None:
        text = json.dumps(change.document, ensure_ascii=False, indent=2) + "\n"
        options.output.write_text(text, "utf-8")
    if options.json:
        say_json({"ok": change.ok, "text": change.text, "state_hash": change.state_hash})
    else:
        (say if change.ok else warn)(printable(change.text))
    if not change.answered:
        return UNREACHABLE
    return OK if change.ok else FAILED


def _snapshot_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--name", metavar="NAME", required=True, help="under this name")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the state itself to a file too"
    )
    session_arguments(parser)


def _restore_arguments(parser: ArgumentParser) -> None:
    to = parser.add_mutually_exclusive_group(required=True)
    to.add_argument("--name", metavar="NAME", help="to this snapshot")
    to.add_argument("--document", metavar="FILE", type=Path, help="to the state in this file")
    _reset_arguments(parser)


def _reset_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--cause", metavar="TEXT", required=True, help="why, for the log")
    session_arguments(parser)


def _snapshot(operations: SessionOperations, options: Namespace) -> "Operation[StateChange]":
    return operations.snapshot(options.name, with_document=options.output is not None)


def _restore(operations: SessionOperations, options: Namespace) -> "Operation[StateChange]":
    document = None if options.document is None else json_object(options.document)
    return operations.restore(options.cause, snapshot_id=options.name, document=document)


def _reset(operations: SessionOperations, options: Namespace) -> "Operation[StateChange]":
    return operations.reset(options.cause)


SNAPSHOT = Verb("Keep a session's state.", _snapshot_arguments, partial(_change, _snapshot))
RESTORE = Verb("Set a session's state back.", _restore_arguments, partial(_change, _restore))
RESET = Verb(
    "Forget what a session's policies and providers know.",
    _reset_arguments,
    partial(_change, _reset),
)
