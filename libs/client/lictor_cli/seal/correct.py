"""`lictor seal correct`: an operator's order to seal the next version of an episode."""

from argparse import ArgumentParser, Namespace

from lictor.desk_orders import new_request_id
from lictor.history.id_prefixes import EPISODE, id_at
from lictor.history.stream_contents import streams_at
from lictor_cli.desk_order import (
    by_option,
    ordered_once,
    problems_in_words,
    reason_option,
    request_id_option,
    told,
)
from lictor_cli.output.terminal import (
    command_line,
    common_arguments,
    printable,
    quiet_logs,
)
from lictor_schema.seals.correction import CorrectionAnswer, CorrectionOrder
from lictor_schema.seals.episode import OutcomeCode

HELP = """\
Have the sealer seal the next version of an episode: with what was stored about its task since, and, if
you say so, another outcome. The versions before it stay valid.
"""
_OUTCOMES = ("partial", "fail", "abstain", "bypassed")


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "episode", metavar="EPISODE", help="the episode's id, or its first characters"
    )
    by_option(parser, "who orders it; it is sealed")
    reason_option(parser, "why; it is sealed too")
    parser.add_argument(
        "--outcome",
        choices=_OUTCOMES,
        help="how it really ended (default: as it was sealed)",
    )
    parser.add_argument(
        "--archive",
        action="store_true",
        help="make this the last version: an archived episode can't be corrected any more",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="tell how much came late, and seal nothing"
    )
    request_id_option(
        parser, "the id of an order that was not answered: given again, it corrects once"
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Order it."""
    quiet_logs()
    episode = await id_at(options.url, EPISODE, options.episode)
    with problems_in_words():
        order = CorrectionOrder(
            request_id=options.request_id or new_request_id(),
            episode_id=episode,
            by=options.by,
            reason=options.reason,
            outcome=None if options.outcome is None else OutcomeCode(options.outcome),
            archive=options.archive,
            dry_run=options.dry_run,
        )
    async with streams_at(options.url, "seal") as client:
        answer = await ordered_once(client, "correct", order, CorrectionAnswer)
    late = f"{answer.late} late messages"
    if options.dry_run:
        line = f"version {answer.version} would cover {late}; nothing was sealed"
        return told(options, answer, line)
    last = ", its last" if options.archive else ""
    return told(
        options,
        answer,
        f"sealed version {answer.version}{last}, with {late}: {answer.hash}",
        f"export it with: {command_line('seal', 'export', printable(episode))}",
    )
