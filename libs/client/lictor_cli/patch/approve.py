"""`lictor patch approve`: a human's yes to exactly one change."""

from argparse import ArgumentParser, Namespace

from lictor_cli.patch.decide import say_about, saying_arguments

HELP = """\
Approve a patch: exactly the change with this hash, which `lictor patch show` shows. Whoever proposed it
can't approve it.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    saying_arguments(parser, reason_required=False)


async def run(options: Namespace) -> int:
    """Approve it."""
    return await say_about(options, "approve")
