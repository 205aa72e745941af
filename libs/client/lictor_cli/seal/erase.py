"""`lictor seal erase`: an operator's order to erase messages that a sealed episode covers."""

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from lictor.installation.endpoints import nats_url
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    common_arguments,
    confirmed,
    counted,
    need_terminal,
    printable,
    quiet_logs,
    say,
    say_json,
    warn,
)

if TYPE_CHECKING:
    from nats.aio.client import Client

    from lictor_schema.seals.erasure import ErasureAnswer, ErasureOrder

# Every part is written and overwritten one after the other.
_ANSWER_WITHIN_S = 120.0


def erase_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "episode", metavar="EPISODE", help="the episode's id, or its first characters"
    )
    parser.add_argument(
        "--by", metavar="NAME", required=True, help="who orders it; never the episode's actor"
    )
    parser.add_argument(
        "--reason", metavar="TEXT", required=True, help="why; every bundle says so from then on"
    )
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
    parser.add_argument("--yes", action="store_true", help="don't ask at the terminal")
    parser.add_argument(
        "--request-id",
        metavar="UUID",
        help="the id of an order that was not answered: given again, it is completed",
    )
    common_arguments(parser)


async def erase(options: Namespace) -> int:
    """Look what it names, have it confirmed, and order it."""
    from pydantic import ValidationError

    from lictor.desk_orders import new_request_id
    from lictor.errors import LictorError
    from lictor.history.id_prefixes import EPISODE, id_at
    from lictor.installation.broker_connection import reach
    from lictor_bus.wire.connection import close_nats
    from lictor_schema.errors import describe_validation_error
    from lictor_schema.seals.erasure import ErasureOrder

    quiet_logs()
    if not (options.yes or options.dry_run):
        need_terminal("look at what it names with --dry-run, and erase it with --yes")
    episode = await id_at(options.url, EPISODE, options.episode)
    try:
        order = ErasureOrder(
            request_id=options.request_id or new_request_id(),
            episode_id=episode,
            by=options.by,
            reason=options.reason,
            parts=tuple(options.part),
        )
    except ValidationError as error:
        problem = describe_validation_error(error)[0]
        raise LictorError(f"{problem.path}: {problem.problem}.") from None
    client = await reach(nats_url(options.url), "lictor-seal")
    try:
        if options.dry_run or not options.yes:
            looked = await _ask(client, order.model_copy(update={"dry_run": True}))
            if options.dry_run and options.json:
                say_json(json.loads(looked.to_json()))
            else:
                _preview(episode, looked)
            if options.dry_run:
                return OK
            if looked.erased and not confirmed("erase", "exactly this, for good"):
                warn("nothing was erased.")
                return FAILED
        answer = await _ask(client, order)
    finally:
        await close_nats(client)
    if options.json:
        say_json(json.loads(answer.to_json()))
    else:
        _tell(answer)
    return OK


async def _ask(client: "Client", order: "ErasureOrder") -> "ErasureAnswer":
    from lictor.desk_orders import ask_desk_for
    from lictor.errors import Unreachable
    from lictor_schema.seals.erasure import ErasureAnswer

    try:
        return await ask_desk_for(
            client, "erase", order, ErasureAnswer, _ANSWER_WITHIN_S, of="sealer"
        )
    except Unreachable as error:
        if order.dry_run:
            raise
        raise Unreachable(f"{error} Ask again with --request-id {order.request_id}") from None


def _preview(episode: str, looked: "ErasureAnswer") -> None:
    say(f"To be erased from every version of episode {printable(episode)}, for good:")
    for each in looked.strands:
        before = f" ({each.erased} erased before)" if each.erased else ""
        say(f"  {printable(each.strand):<9}  {counted(each.carried, 'message')}{before}")
    say(f"{counted(looked.erased or 0, 'message')} in all. {_STAYS}")


def _tell(answer: "ErasureAnswer") -> None:
    if not answer.erased:
        say("erased 0 messages: already erased")
        return
    before = f" ({answer.already} erased before)" if answer.already else ""
    say(f"erased {counted(answer.erased, 'message')}{before}; the seals stay valid, and say so")
    say(_STAYS)


_STAYS = (
    "What stays: the seal's own words (title, ids, actions with their arguments, reasons, features' names, notes),"
    " and the messages in the streams they were read from, in backups and in files exported before."
)
