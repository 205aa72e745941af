"""`lictor seal correct`: an operator's order to seal the next version of an episode."""

import json
from argparse import ArgumentParser, Namespace

from lictor.installation.endpoints import nats_url
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    command_line,
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
)

_OUTCOMES = ("partial", "fail", "abstain", "bypassed")


def correct_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "episode", metavar="EPISODE", help="the episode's id, or its first characters"
    )
    parser.add_argument("--by", metavar="NAME", required=True, help="who orders it; it is sealed")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why; it is sealed too")
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
    parser.add_argument(
        "--request-id",
        metavar="UUID",
        help="the id of an order that was not answered: given again, it corrects once",
    )
    common_arguments(parser)


async def correct(options: Namespace) -> int:
    """Order it."""
    from pydantic import ValidationError

    from lictor.desk_orders import ask_desk_for, new_request_id
    from lictor.errors import LictorError, Unreachable
    from lictor.history.id_prefixes import EPISODE, id_at
    from lictor.installation.broker_connection import reach
    from lictor_bus.wire.connection import close_nats
    from lictor_schema.contracts.patch import CorrectionAnswer, CorrectionOrder
    from lictor_schema.errors import describe_validation_error
    from lictor_schema.seals.episode import OutcomeCode

    quiet_logs()
    episode = await id_at(options.url, EPISODE, options.episode)
    try:
        order = CorrectionOrder(
            request_id=options.request_id or new_request_id(),
            episode_id=episode,
            by=options.by,
            reason=options.reason,
            outcome=None if options.outcome is None else OutcomeCode(options.outcome),
            archive=options.archive,
            dry_run=options.dry_run,
        )
    except ValidationError as error:
        problem = describe_validation_error(error)[0]
        raise LictorError(f"{problem.path}: {problem.problem}.") from None
    client = await reach(nats_url(options.url), "lictor-seal")
    try:
        answer = await ask_desk_for(client, "correct", order, CorrectionAnswer, of="sealer")
    except Unreachable as error:
        raise Unreachable(f"{error} Ask again with --request-id {order.request_id}") from None
    finally:
        await close_nats(client)
    if options.json:
        say_json(json.loads(answer.to_json()))
    elif options.dry_run:
        say(f"version {answer.version} would cover {answer.late} late messages; nothing was sealed")
    else:
        last = ", its last" if options.archive else ""
        late = f"with {answer.late} late messages"
        say(f"sealed version {answer.version}{last}, {late}: {answer.hash}")
        say(f"export it with: {command_line('seal', 'export', printable(episode))}")
    return OK
