"""`lictor approvals reject`: a signed no, also to what was approved and has not started."""

from argparse import ArgumentParser, Namespace
from datetime import timedelta

from lictor_cli.approvals.decide import say_about, saying_arguments

HELP = "Reject a request, or take back an approval before the program starts."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    saying_arguments(parser, reason_required=True)


async def run(options: Namespace) -> int:
    """Reject it."""
    return await say_about(options, "reject", timedelta(minutes=5))
