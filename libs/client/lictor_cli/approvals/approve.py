"""`lictor approvals approve`: a signed yes to exactly one program, once."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import timedelta

from lictor_cli.approvals.decide import say_about, saying_arguments

HELP = """\
Approve a request: exactly the program, layer and guarantees that `lictor approvals show` shows. The decision
is signed with the approver's key, is good for one run, and for a while only. The agent that submitted the
program can't approve it.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--good-for",
        metavar="SECONDS",
        type=_seconds,
        default=timedelta(minutes=10),
        help="how long the program may be started by it (default: 600)",
    )
    saying_arguments(parser, reason_required=False)


def _seconds(text: str) -> timedelta:
    if not text.isdecimal() or not 1 <= int(text) <= 30 * 24 * 3600:
        raise ArgumentTypeError(f"{text!r} is not a whole number of seconds up to 30 days")
    return timedelta(seconds=int(text))


async def run(options: Namespace) -> int:
    """Approve it."""
    return await say_about(options, "approve", options.good_for)
