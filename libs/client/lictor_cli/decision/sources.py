"""The one decision that `lictor decision show` and `mark` are about."""

from argparse import ArgumentParser, Namespace

from nats.aio.client import Client

from lictor.history.id_prefixes import TASK, whole_or_given
from lictor.history.stored_decisions import AnyDecision, decision_named


def record_argument(parser: ArgumentParser) -> None:
    """The decision record's id."""
    parser.add_argument(
        "record", metavar="RECORD_ID", help="the decision record's id, or its first characters"
    )


def task_argument(parser: ArgumentParser) -> None:
    """Where to look for it."""
    parser.add_argument(
        "--task", metavar="TASK", help="its task; without it the whole stream is searched"
    )


async def named_decision(client: Client, options: Namespace) -> AnyDecision:
    """The decision that these arguments name."""
    task = None if options.task is None else await whole_or_given(client, TASK, options.task)
    return await decision_named(client, options.record, task)
