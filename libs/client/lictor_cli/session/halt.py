"""`lictor session halt, resume`: every further call of a session, an agent or everybody denied, or allowed again."""

from argparse import ArgumentParser, Namespace
from functools import partial

from nats.aio.client import Client

from lictor.desk_orders import new_request_id
from lictor.errors import LictorError
from lictor.history.known_sessions import session_named
from lictor.history.stream_contents import streams_at
from lictor_cli.desk_order import (
    by_option,
    ordered_once,
    problems_in_words,
    request_id_option,
    told,
    user_name,
)
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs
from lictor_cli.verb import Verb
from lictor_schema.sessions.halt import HaltAnswer, HaltKind, HaltOrder, HaltTarget


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", help="the session's id, or its first characters"
    )
    parser.add_argument(
        "--runtime", metavar="NAME", help="the runtime it belongs to (default: any)"
    )
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="every session of this agent definition, in whatever version, also those that begin later",
    )
    parser.add_argument(
        "--all", action="store_true", help="every session, also those that begin later"
    )
    parser.add_argument(
        "--why", metavar="TEXT", required=True, help="why, for the log and for the agent"
    )
    by_option(parser, "who orders it (default: the user's name)", required=False)
    request_id_option(
        parser, "the id of an order that was not answered: given again, it is completed"
    )
    common_arguments(parser)


async def _run(kind: HaltKind, options: Namespace) -> int:
    quiet_logs()
    if sum((options.session is not None, options.agent is not None, options.all)) != 1:
        raise LictorError("name one of: a session, --agent NAME, --all.")
    async with streams_at(options.url, "session") as client:
        with problems_in_words():
            order = HaltOrder(
                request_id=options.request_id or new_request_id(),
                order=kind,
                target=await _target(client, options),
                by=user_name(options.by),
                reason=options.why,
            )
        answer = await ordered_once(client, "halt", order, HaltAnswer)
    return told(options, answer, *_lines(order, answer))


async def _target(client: Client, options: Namespace) -> HaltTarget:
    if options.all:
        return HaltTarget(scope="all")
    if options.agent is not None:
        return HaltTarget(scope="agent", definition=options.agent)
    session = await session_named(client, options.session, options.runtime)
    return HaltTarget(scope="session", runtime=session.runtime, session_id=session.session_id)


def _lines(order: HaltOrder, answer: HaltAnswer) -> list[str]:
    target = order.target
    what = {
        "session": f"session {printable(target.session_id or '')}",
        "agent": f"every session of agent {printable(target.definition or '')}",
        "all": "everything",
    }[target.scope]
    if answer.state == "halted":
        lines = [f"{what} is halted: every further call is denied until it is resumed"]
    else:
        lines = [f"{what} is not halted by an order of its own any more"]
    return lines + [f"still: {printable(each)}" for each in answer.still]


def _verb(kind: HaltKind, text: str) -> Verb:
    return Verb(text, _arguments, partial(_run, kind))


HALT = _verb("halted", "Deny every further call of a session, of an agent's sessions, or of all.")
RESUME = _verb("resumed", "Let what was halted go on; each halt is lifted by its own scope.")
