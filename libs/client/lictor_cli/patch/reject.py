"""`lictor patch reject`: no to a change, or to having one at all."""

from argparse import ArgumentParser, Namespace

from lictor_cli.patch.decide import say_about, saying_arguments

HELP = "Reject a patch; that is its end. Drift of the same cause after that asks for another."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    saying_arguments(parser, reason_required=True)


async def run(options: Namespace) -> int:
    """Reject it."""
    return await say_about(options, "reject")
