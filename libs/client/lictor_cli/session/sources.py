"""The one session that the verbs of `lictor session` are about."""

from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client

from lictor.history.known_sessions import KnownSession, session_named
from lictor.history.session_story import moment, told
from lictor.history.stream_contents import streams_at
from lictor_cli.output.terminal import common_arguments, printable, say
from lictor_schema.contracts.decision_log import SwitchEngaged
from lictor_schema.sessions.halt import HaltEntry
from lictor_schema.sessions.session_log import AnySessionEntry

Halts = tuple[HaltEntry | SwitchEngaged, ...]


def session_arguments(parser: ArgumentParser) -> None:
    """The session, and the options that its verbs share."""
    parser.add_argument(
        "session", metavar="SESSION", help="the session's id, or its first characters"
    )
    parser.add_argument(
        "--runtime",
        metavar="NAME",
        help="the runtime it belongs to, such as claude-code, python, http (default: any)",
    )
    common_arguments(parser)


@asynccontextmanager
async def session_at(options: Namespace) -> AsyncGenerator[tuple[Client, KnownSession], None]:
    """A connection, and the session that the arguments name."""
    async with streams_at(options.url, "session") as client:
        yield client, await session_named(client, options.session, options.runtime)


def halts_as_json(halts: Halts) -> list[dict[str, Any]]:
    """What halts a session: by whom, since when and why."""
    return [
        {
            "scope": "kill-switch" if isinstance(each, SwitchEngaged) else each.target.scope,
            "by": each.by,
            "at": moment(each.at_us),
            "reason": each.reason,
        }
        for each in halts
    ]


def say_entry(entry: AnySessionEntry) -> None:
    """An entry of its log as a line."""
    say(f"  {moment(entry.at_us)}  {printable(told(entry))}")
