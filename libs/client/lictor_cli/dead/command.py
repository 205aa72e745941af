"""`lictor dead`: what services could not process, and how to hand it to them again."""

import base64
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client
from nats.js.errors import NotFoundError

from lictor.installation.broker_connection import reach
from lictor.installation.endpoints import nats_url
from lictor_bus.errors import BusError
from lictor_bus.logs.dead_letters import Buried, find_dead, list_dead, replay_dead
from lictor_bus.names.streams import DEAD
from lictor_cli.main import FAILED, OK, USAGE
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
    warn,
)
from lictor_schema.core.base_model import utc_millis

HELP = """\
Dead letters: messages that a service could not process, kept whole, with the reason and the remedy.
"""
_EXCERPT = 2000


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|replay")
    listing = verbs.add_parser("list", help="list them", allow_abbrev=False)
    listing.add_argument("--service", metavar="NAME", help="only those of this service")
    listing.add_argument(
        "--limit", metavar="N", type=_number, default=1000, help="at most N (default: 1000)"
    )
    common_arguments(listing)
    show = verbs.add_parser("show", help="show one, with its message", allow_abbrev=False)
    show.add_argument("number", metavar="N", type=_number, help="its number in `dead list`")
    common_arguments(show)
    replay = verbs.add_parser(
        "replay",
        help="publish the original messages again",
        description="Publish the original messages again, where they were first published. The"
        " letters stay as a record.",
        allow_abbrev=False,
    )
    replay.add_argument("numbers", metavar="N", type=_number, nargs="*", help="their numbers")
    replay.add_argument("--all", action="store_true", help="all of them")
    replay.add_argument("--service", metavar="NAME", help="with --all: only those of this service")
    common_arguments(replay)


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < 2**63:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


async def run(options: Namespace) -> int:
    """List, show or replay."""
    quiet_logs()
    if options.verb == "list":
        return await _list(options)
    if options.verb == "show":
        return await _show(options)
    return await _replay(options)


async def _list(options: Namespace) -> int:
    async with _dead_stream(options.url) as client:
        letters = [
            buried
            async for buried in list_dead(
                client, service=options.service or "*", limit=options.limit
            )
        ]
    if options.json:
        for buried in letters:
            say_json(_as_json(buried))
    elif letters:
        say_table(
            ("N", "service", "stream", "received", "reason"),
            (
                (
                    str(buried.sequence),
                    buried.letter.service,
                    f"{buried.letter.stream} {buried.letter.sequence}",
                    utc_millis(buried.letter.received_at),
                    printable(buried.letter.reason, 120),
                )
                for buried in letters
            ),
        )
    else:
        say("no dead letters")
    return OK


async def _show(options: Namespace) -> int:
    async with _dead_stream(options.url) as client:
        buried = await find_dead(client, options.number)
    if options.json:
        say_json({**_as_json(buried), **_body_as_json(buried.body)})
        return OK
    letter = buried.letter
    for name, value in (
        ("number", buried.sequence),
        ("service", letter.service),
        ("came from", f"{letter.stream} {letter.sequence}, subject {letter.subject}"),
        ("received", utc_millis(letter.received_at)),
        ("reason", letter.reason),
        ("remedy", letter.remedy),
        ("message", f"{letter.body_size} bytes, {letter.body_sha256}"),
    ):
        say(f"{name:<9}  {printable(str(value))}")
    for problem in letter.problems:
        say(f"field      {printable(f'{problem.path} {problem.problem} {problem.excerpt}')}")
    say()
    say(printable(buried.body.decode("utf-8", "replace"), _EXCERPT))
    return OK


async def _replay(options: Namespace) -> int:
    if bool(options.numbers) == options.all or (options.service and not options.all):
        warn("name the letters to replay, or use --all (with --service for those of one service).")
        return USAGE
    failed = 0
    async with _dead_stream(options.url) as client:
        if options.all:
            # Taken first: what dies again on its replay is a new letter, for the next time.
            found = list_dead(client, service=options.service or "*", limit=2**31)
            numbers = [buried.sequence async for buried in found]
        else:
            numbers = list(dict.fromkeys(options.numbers))
        for number in numbers:
            failed += not await _replay_one(client, number, options.json)
    if not numbers and not options.json:
        say("no dead letters")
    return FAILED if failed else OK


async def _replay_one(client: Client, number: int, as_json: bool) -> bool:
    try:
        buried = await find_dead(client, number)
        await replay_dead(client, buried)
    except BusError as error:
        if as_json:
            say_json({"number": number, "outcome": "failed", "reason": str(error)})
        else:
            say(f"failed    {number}: {printable(str(error))}")
        return False
    if as_json:
        say_json({"number": number, "outcome": "replayed", "stream": buried.letter.stream})
    else:
        say(f"replayed  {number}: to {buried.letter.stream}")
    return True


@asynccontextmanager
async def _dead_stream(url: str | None) -> AsyncGenerator[Client, None]:
    client = await reach(nats_url(url), "lictor-dead")
    try:
        try:
            await client.jetstream().stream_info(DEAD)  # pyright: ignore[reportUnknownMemberType] -- nats-py leaves **opts open
        except NotFoundError:
            raise BusError(
                "there is no dead-letter stream yet: no service has run here; see `lictor up`."
            ) from None
        yield client
    finally:
        await client.close()


def _as_json(buried: Buried) -> dict[str, Any]:
    return {"number": buried.sequence, **buried.letter.model_dump(mode="json", by_alias=True)}


def _body_as_json(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}
