"""`lictor seal erase`: an operator's order to erase messages that a sealed episode covers."""

import json
from argparse import ArgumentParser, Namespace

from lictor.cli import OK
from lictor.commands.output import common_arguments, counted, quiet_logs, say, say_json
from lictor.where import nats_url


def erase_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "episode", metavar="EPISODE", help="the episode's id, or its first characters"
    )
    parser.add_argument("--by", metavar="NAME", required=True, help="who orders it")
    parser.add_argument(
        "--reason", metavar="TEXT", required=True, help="why; every bundle says so from then on"
    )
    parser.add_argument(
        "--part",
        metavar="STRAND[:AT]",
        action="append",
        default=[],
        help="a kind of message (such as events), or one by its sequence (events:17); repeat it for more"
        " (default: everything)",
    )
    parser.add_argument(
        "--request-id",
        metavar="UUID",
        help="the id of an order that was not answered: given again, it is completed",
    )
    common_arguments(parser)


async def erase(options: Namespace) -> int:
    """Order it."""
    from pydantic import ValidationError

    from lictor.desk import ask_desk_for, new_request_id
    from lictor.errors import LictorError, Unreachable
    from lictor.ids import EPISODE, id_at
    from lictor_bus.connection import close_nats, connect_nats
    from lictor_schema import describe_validation_error
    from lictor_schema.erasures import ErasureAnswer, ErasureOrder

    quiet_logs()
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
    client = await connect_nats(nats_url(options.url).now, name="lictor-seal", timeout_s=3.0)
    try:
        answer = await ask_desk_for(client, "erase", order, ErasureAnswer, _ANSWER_WITHIN_S)
    except Unreachable as error:
        raise Unreachable(f"{error} Ask again with --request-id {order.request_id}") from None
    finally:
        await close_nats(client)
    if options.json:
        say_json(json.loads(answer.to_json()))
    else:
        say(f"erased {counted(answer.erased or 0, 'message')}; the seals stay valid, and say so")
        say("the streams that the messages were read from keep them: erase them there, too")
    return OK


# Every part is written and overwritten one after the other.
_ANSWER_WITHIN_S = 120.0
