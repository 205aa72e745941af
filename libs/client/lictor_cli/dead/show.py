"""`lictor dead show`: a message that could not be processed, whole."""

import base64
from argparse import ArgumentParser, Namespace

from lictor_bus.logs.dead_letters import find_dead
from lictor_cli.dead.sources import dead_as_json, dead_stream, number
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_schema.core.base_model import utc_millis

HELP = "Show a dead letter, with its message."
_EXCERPT = 2000


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("number", metavar="N", type=number, help="its number in `dead list`")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    async with dead_stream(options.url) as client:
        stored_letter = await find_dead(client, options.number)
    if options.json:
        say_json({**dead_as_json(stored_letter), **_body_as_json(stored_letter.body)})
        return OK
    letter = stored_letter.letter
    for name, value in (
        ("number", stored_letter.sequence),
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
    say(printable(stored_letter.body.decode("utf-8", "replace"), _EXCERPT))
    return OK


def _body_as_json(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}
