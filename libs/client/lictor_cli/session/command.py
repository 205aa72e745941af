"""`lictor session`: a guarded session as its log tells it, and its state kept, set back or reset."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.fast.session_operations import SessionOperations
from lictor.history.known_sessions import KnownSession, session_named
from lictor.history.session_story import Overview, entries, moment, told
from lictor.history.stream_contents import streams_at
from lictor.runtimes.nats_driver import drive
from lictor_cli.main import FAILED, OK, UNREACHABLE
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    say_stored,
    warn,
)
from lictor_cli.session.list import list_arguments, list_sessions
from lictor_schema.sessions.session_log import AnySessionEntry

if TYPE_CHECKING:
    from lictor.fast.session_operations import Operation
    from lictor.fast.verdicts import StateChange

HELP = "List guarded sessions; show one and its log; keep its state, set it back or reset it."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    verbs = parser.add_subparsers(
        dest="verb", required=True, metavar="list|show|log|snapshot|restore|reset"
    )
    list_arguments(
        verbs.add_parser("list", help="those that went on last, first", allow_abbrev=False)
    )
    show = verbs.add_parser("show", help="how it stands", allow_abbrev=False)
    log = verbs.add_parser("log", help="everything that changed it", allow_abbrev=False)
    log.add_argument("--last", metavar="N", type=_count, help="only the last N entries")
    snapshot = verbs.add_parser("snapshot", help="keep its state", allow_abbrev=False)
    snapshot.add_argument("--name", metavar="NAME", required=True, help="under this name")
    snapshot.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the state itself to a file too"
    )
    restore = verbs.add_parser("restore", help="set its state back", allow_abbrev=False)
    to = restore.add_mutually_exclusive_group(required=True)
    to.add_argument("--name", metavar="NAME", help="to this snapshot")
    to.add_argument("--document", metavar="FILE", type=Path, help="to the state in this file")
    reset = verbs.add_parser(
        "reset", help="forget what its policies and providers know", allow_abbrev=False
    )
    for verb in (restore, reset):
        verb.add_argument("--cause", metavar="TEXT", required=True, help="why, for the log")
    for verb in (show, log, snapshot, restore, reset):
        verb.add_argument(
            "session", metavar="SESSION", help="the session's id, or its first characters"
        )
        verb.add_argument(
            "--runtime",
            metavar="NAME",
            help="the runtime it belongs to, such as claude-code, python, http (default: any)",
        )
        common_arguments(verb)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


async def run(options: Namespace) -> int:
    """List them, show one, or change its state."""
    quiet_logs()
    if options.verb == "list":
        return await list_sessions(options)
    async with streams_at(options.url, "session") as client:
        session = await session_named(client, options.session, options.runtime)
        if options.verb == "show":
            return await _show(client, session, options)
        if options.verb == "log":
            return await _log(client, session, options)
        return await _change(client, session, options)


async def _show(client: Client, session: KnownSession, options: Namespace) -> int:
    overview = Overview()
    async for entry in entries(client, session.runtime, session.session_id):
        overview.add(entry)
    if overview.begun is None:
        raise LictorError(f"the log of session {session.session_id} does not say how it began.")
    if options.json:
        say_json(_as_json(overview))
    else:
        _say_overview(overview)
    return OK


def _as_json(overview: Overview) -> dict[str, Any]:
    stop = overview.stop
    return {
        "session": None if overview.begun is None else json.loads(overview.begun.to_json()),
        "entries": overview.entries,
        "calls": overview.outcomes,
        "usage": {
            "input_tokens": overview.input_tokens,
            "output_tokens": overview.output_tokens,
            "cost_usd": str(overview.cost_usd),
        },
        "blocked_stops": overview.blocked_stops,
        "stop": None if stop is None else json.loads(stop.to_json()),
        "snapshots": overview.snapshots,
        "waiting": [json.loads(each.to_json()) for each in overview.waiting.values()],
        "last": [json.loads(each.to_json()) for each in overview.last],
    }


def _say_overview(overview: Overview) -> None:
    begun, stop = overview.begun, overview.stop
    assert begun is not None
    calls = ", ".join(f"{number} {outcome}" for outcome, number in overview.outcomes.items())
    tokens = f"{overview.input_tokens} tokens in, {overview.output_tokens} out"
    cost = f", {overview.cost_usd} USD" if overview.cost_usd else ""
    facts = [
        ("session", f"{begun.session_id} of {begun.runtime}"),
        ("task", begun.task_id),
        ("agent", begun.agent_id),
        ("definition", f"{begun.definition} {begun.version} ({begun.definition_hash})"),
        ("began", moment(begun.at_us)),
        ("deadline", None if begun.deadline_us is None else moment(begun.deadline_us)),
        ("calls", calls or "none yet"),
        ("used", f"{tokens}{cost}"),
        ("last stop", None if stop is None else told(stop)),
        ("snapshots", ", ".join(overview.snapshots)),
    ]
    for name, text in facts:
        if text:
            say(f"{name:<10}  {printable(text)}")
    for each in overview.waiting.values():
        say(f"{'waiting':<10}  {printable(f'{each.provider}: {each.summary}')}")
    say(f"the last of {overview.entries} entries:")
    for entry in overview.last:
        _say_entry(entry)


async def _log(client: Client, session: KnownSession, options: Namespace) -> int:
    kept: deque[AnySessionEntry] = deque(maxlen=options.last or 0)
    async for entry in entries(client, session.runtime, session.session_id):
        if options.last is None:
            _tell(entry, options.json)
        else:
            kept.append(entry)
    for entry in kept:
        _tell(entry, options.json)
    return OK


def _tell(entry: AnySessionEntry, as_json: bool) -> None:
    if as_json:
        say_stored(entry)
    else:
        _say_entry(entry)


def _say_entry(entry: AnySessionEntry) -> None:
    say(f"  {moment(entry.at_us)}  {printable(told(entry))}")


async def _change(client: Client, session: KnownSession, options: Namespace) -> int:
    operations = SessionOperations(
        runtime=session.runtime,
        session_id=session.session_id,
        task_id=session.task_id,
        agent_id="operator",
        timeout_s=10.0,
    )
    change = await drive(_operation(operations, options), client)
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


def _operation(operations: SessionOperations, options: Namespace) -> "Operation[StateChange]":
    if options.verb == "snapshot":
        return operations.snapshot(options.name, with_document=options.output is not None)
    if options.verb == "reset":
        return operations.reset(options.cause)
    document = None if options.document is None else _document(options.document)
    return operations.restore(options.cause, snapshot_id=options.name, document=document)


def _document(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes())
    except ValueError as error:
        raise LictorError(f"{file} holds no JSON ({error}).") from None
    if not isinstance(document, dict):
        raise LictorError(f"{file} holds no state document.")
    return cast("dict[str, Any]", document)
