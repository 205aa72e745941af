"""`lictor drift triage`: the next step of a drift event's handling."""

from argparse import ArgumentParser, Namespace

from lictor.desk_orders import ask_desk, new_request_id
from lictor.history.id_prefixes import DRIFT_EVENT, whole_id
from lictor_cli.desk_order import by_option, problems_in_words, reason_option, told
from lictor_cli.drift.sources import drift_argument, drift_at
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs
from lictor_schema.contracts.drift import TriageMove, TriageState
from lictor_schema.services.desk_answer import DeskAnswer

HELP = "Move a drift event a step forward."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    drift_argument(parser)
    parser.add_argument(
        "to", metavar="STATE", choices=[each.value for each in list(TriageState)[1:]]
    )
    by_option(parser, "who moves it")
    reason_option(parser, required=False)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Move it."""
    quiet_logs()
    async with drift_at(options.url) as client:
        drift_id = await whole_id(client, DRIFT_EVENT, options.drift)
        with problems_in_words():
            move = TriageMove(
                request_id=new_request_id(),
                drift_id=drift_id,
                to=TriageState(options.to),
                by=options.by,
                reason=options.reason,
            )
        answer = await ask_desk(client, "triage", move, DeskAnswer)
    return told(options, answer, f"{printable(drift_id)} is {answer.state}")
