"""`lictor publish`: events from a file or a pipe, each checked first and stored before the next."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from lictor.errors import EventRefused, InvalidEvent, LictorError
from lictor.governor import Governor
from lictor.governor_connection import connect
from lictor.installation.endpoints import nats_url
from lictor_cli.main import FAILED, OK
from lictor_cli.output.failure_report import problems_of
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_schema.core.canonical_json import CanonicalError, parse_json

HELP = """\
Publish canonical events: one JSON object, an array of them, or one object a line.

Each is checked first; one that is refused is reported with the field, and the others are published
all the same. Publishing an event again is harmless: it is reported as a duplicate.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="the events; - for stdin (default)"
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Publish, and say of each event what became of it."""
    quiet_logs()
    documents = list(split(_read(options.file)))
    if not documents:
        raise LictorError("there is nothing to publish: the input is empty.")
    refused = 0
    async with connect(nats_url(options.url), reads_all=True, timeout_s=3.0) as governor:
        for place, document in documents:
            refused += not await _publish(governor, place, document, options.json)
    return FAILED if refused else OK


def split(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The events in the input, each with its place."""
    try:
        whole = parse_json(data)
    except CanonicalError:
        lines = [(n, line) for n, line in enumerate(data.splitlines(), 1) if line.strip()]
        if not _are_documents([line for _, line in lines]):
            # Not JSON lines either: let the whole be refused, with its own reason.
            lines = [(1, data)] if data.strip() else []
        yield from ((f"line {number}", line) for number, line in lines)
        return
    if isinstance(whole, list):
        for number, item in enumerate(cast("list[Any]", whole), 1):
            yield f"item {number}", json.dumps(item).encode()
    else:
        yield "line 1", data


async def _publish(governor: Governor, place: str, document: bytes, as_json: bool) -> bool:
    try:
        published = await governor.publish(document)
    except (InvalidEvent, EventRefused) as error:
        if as_json:
            say_json(
                {
                    "place": place,
                    "outcome": "refused",
                    "reason": str(error),
                    "problems": problems_of(error),
                }
            )
        else:
            say(f"refused    {place}: {printable(str(error))}")
        return False
    outcome = "duplicate" if published.duplicate else "stored"
    if as_json:
        say_json({"place": place, "outcome": outcome, **asdict(published)})
    else:
        say(
            f"{outcome:<9}  {place}: event {printable(published.event_id)} of task"
            f" {printable(published.task_id)} is number {published.sequence}"
        )
    return True


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    return Path(name).read_bytes()


def _are_documents(lines: list[bytes]) -> bool:
    """Whether each line is meant to be one: some line is, whichever are broken, and they don't share brackets."""
    shared = bool(lines) and lines[0].strip() in (b"[", b"{")
    return len(lines) > 1 and not shared and any(map(_is_object, lines))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except CanonicalError:
        return False
