"""`lictor seal erase`: an operator's order to erase messages that a sealed episode covers."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from lictor.desk_orders import ask_desk, new_request_id
from lictor.history.id_prefixes import EPISODE, id_at
from lictor.history.stream_contents import streams_at
from lictor_cli.desk_order import (
    by_option,
    ordered_once,
    problems_in_words,
    reason_option,
    request_id_option,
    told,
    yes_option,
)
from lictor_cli.main import FAILED
from lictor_cli.output.terminal import (
    common_arguments,
    confirmed,
    counted,
    need_terminal,
    printable,
    quiet_logs,
    say,
    warn,
)
from lictor_schema.seals.erasure import ErasureAnswer, ErasureOrder

HELP = """\
Have the sealer erase messages that a sealed episode covers, from all its versions, for good. Its seals
stay valid, and say what was erased, by whom and why. What the seal itself says stays, as do the streams
that the messages were read from, backups and files exported before.
"""
# Every part is written and overwritten one after the other.
_ANSWER_WITHIN_S = 120.0


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "episode", metavar="EPISODE", help="the episode's id, or its first characters"
    )
    by_option(parser, "who orders it; never the episode's actor")
    reason_option(parser, "why; every bundle says so from then on")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--part",
        metavar="STRAND[:AT]",
        action="append",
        default=[],
        help="a kind of message (such as events), or one by its sequence (events:17); repeat it for more",
    )
    which.add_argument("--all", action="store_true", help="every message that the episode covers")
    parser.add_argument(
        "--dry-run", action="store_true", help="tell what would be erased, and erase nothing"
    )
    yes_option(parser)
    request_id_option(
        parser, "the id of an order that was not answered: given again, it is completed"
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Look what it names, have it confirmed, and order it."""
    quiet_logs()
    if not (options.yes or options.dry_run):
        need_terminal("look at what it names with --dry-run, and erase it with --yes")
    episode = await id_at(options.url, EPISODE, options.episode)
    with problems_in_words():
        order = ErasureOrder(
            request_id=options.request_id or new_request_id(),
            episode_id=episode,
            by=options.by,
            reason=options.reason,
            parts=tuple(options.part),
        )
    async with streams_at(options.url, "seal") as client:
        if options.dry_run or not options.yes:
            dry = order.model_copy(update={"dry_run": True})
            looked = await ask_desk(client, "erase", dry, ErasureAnswer, _ANSWER_WITHIN_S)
            if options.dry_run:
                return told(options, looked, *_preview(episode, looked))
            for line in _preview(episode, looked):
                say(line)
            if looked.erased and not confirmed("erase", "exactly this, for good"):
                warn("nothing was erased.")
                return FAILED
        answer = await ordered_once(client, "erase", order, ErasureAnswer, _ANSWER_WITHIN_S)
    return told(options, answer, *_outcome(answer))


def _preview(episode: str, looked: ErasureAnswer) -> Iterator[str]:
    yield f"To be erased from every version of episode {printable(episode)}, for good:"
    for each in looked.strands:
        before = f" ({each.erased} erased before)" if each.erased else ""
        yield f"  {printable(each.strand):<9}  {counted(each.carried, 'message')}{before}"
    yield f"{counted(looked.erased or 0, 'message')} in all. {_STAYS}"


def _outcome(answer: ErasureAnswer) -> Iterator[str]:
    if not answer.erased:
        yield "erased 0 messages: already erased"
        return
    before = f" ({answer.already} erased before)" if answer.already else ""
    yield f"erased {counted(answer.erased, 'message')}{before}; the seals stay valid, and say so"
    yield _STAYS


_STAYS = (
    "What stays: the seal's own words (title, ids, actions with their arguments, reasons, features' names, notes),"
    " and the messages in the streams they were read from, in backups and in files exported before."
)
