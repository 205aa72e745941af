"""`lictor session list`: guarded sessions, with the ids that the other verbs take."""

from argparse import ArgumentParser, Namespace
from typing import Any, cast

from lictor.history.id_prefixes import TASK, whole_or_given
from lictor.history.known_sessions import KnownSession, first_entry, known_sessions
from lictor.history.stream_contents import streams_at
from lictor_bus.logs.halts import HaltsInForce, halts_in_force
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json, say_table
from lictor_cli.selection import limit_argument, since_argument, warn_of_more
from lictor_cli.session.sources import halts_as_json
from lictor_schema.core.base_model import utc_millis
from lictor_schema.sessions.session_log import AnySessionEntry, SessionBegun

HELP = "List sessions; those that went on last come first."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--task", metavar="TASK", help="only sessions of this task")
    parser.add_argument("--runtime", metavar="NAME", help="only sessions of this runtime")
    since_argument(parser)
    limit_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them; the one that went on last comes first."""
    quiet_logs()
    async with streams_at(options.url, "session") as client:
        known = await known_sessions(client)
        task = None if options.task is None else await whole_or_given(client, TASK, options.task)
        wanted = [
            each
            for each in known
            if task in (None, each.task_id)
            and options.runtime in (None, each.runtime)
            and (options.since is None or each.last_at >= options.since)
        ]
        shown = wanted[: options.limit]
        halts = await halts_in_force(client)
        told = [_as_json(each, await first_entry(client, each), halts) for each in shown]
    if options.json:
        for each in told:
            say_json(each)
    elif told:
        names = ("session_id", "runtime", "definition", "last_at", "entries", "halted", "task_id")
        say_table(
            ("session", "runtime", "definition", "last", "entries", "halted", "task"),
            (tuple(_in_table(each[name]) for name in names) for each in told),
        )
    else:
        say("no sessions")
    warn_of_more(len(wanted) > len(shown), options.limit)
    return OK


def _in_table(value: Any) -> str:
    if not isinstance(value, list):
        return str(value or "-")
    # What halts it is listed whole in JSON, and by `show`.
    return ", ".join(f"by {each['by']}" for each in cast("list[dict[str, str]]", value)) or "-"


def _as_json(
    session: KnownSession, first: AnySessionEntry | None, halts: HaltsInForce
) -> dict[str, Any]:
    begun = first if isinstance(first, SessionBegun) else None
    return {
        "session_id": session.session_id,
        "runtime": session.runtime,
        "task_id": session.task_id,
        "agent_id": None if begun is None else begun.agent_id,
        "definition": None if begun is None else f"{begun.definition} {begun.version}",
        "definition_hash": None if begun is None else begun.definition_hash,
        "last_at": utc_millis(session.last_at),
        "entries": session.entries,
        "halted": halts_as_json(
            halts.of_session(
                session.runtime, session.session_id, None if begun is None else begun.definition
            )
        ),
    }
