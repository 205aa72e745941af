"""An operator's order at a desk of a service: its options, and what every command does with it."""

import getpass
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

from nats.aio.client import Client
from pydantic import ValidationError

from lictor.desk_orders import ASK_WITHIN_S, ask_desk
from lictor.errors import LictorError, Unreachable
from lictor_cli.main import OK
from lictor_cli.output.terminal import say, say_json, warn
from lictor_schema.errors import describe_validation_error
from lictor_schema.seals.correction import CorrectionOrder
from lictor_schema.seals.erasure import ErasureOrder
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.sessions.halt import HaltOrder

A = TypeVar("A", bound=DeskAnswer)


def by_option(parser: ArgumentParser, text: str, *, required: bool = True) -> None:
    """Who orders it."""
    parser.add_argument("--by", metavar="NAME", required=required, help=text)


def reason_option(parser: ArgumentParser, text: str = "why", *, required: bool = True) -> None:
    """Why, as it is recorded."""
    parser.add_argument("--reason", metavar="TEXT", required=required, help=text)


def hash_option(parser: ArgumentParser, text: str) -> None:
    """What the operator looked at; see `is_as_looked_at`."""
    parser.add_argument("--hash", metavar="HASH", help=text)


def yes_option(parser: ArgumentParser) -> None:
    """Not to be asked for confirmation."""
    parser.add_argument("--yes", action="store_true", help="don't ask at the terminal")


def request_id_option(parser: ArgumentParser, text: str) -> None:
    """The id of an order that may have been carried out already; see `ordered_once`."""
    parser.add_argument("--request-id", metavar="UUID", help=text)


def user_name(given: str | None = None) -> str:
    """Who orders it: as named, or the user at this machine."""
    try:
        return given or getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "operator"


def is_as_looked_at(given: str | None, now: str | None, otherwise: str) -> bool:
    """Whether it is what `--hash` names, where that was given; says so if it is not."""
    if given in (None, now):
        return True
    warn(f"{otherwise}; look at it again.")
    return False


@contextmanager
def problems_in_words() -> Generator[None]:
    """Around the making of an order: what is wrong with a field is the operator's to correct."""
    try:
        yield
    except ValidationError as error:
        problem = describe_validation_error(error)[0]
        raise LictorError(f"{problem.path}: {problem.problem}.") from None


async def ordered_once(
    client: Client,
    desk: str,
    order: CorrectionOrder | ErasureOrder | HaltOrder,
    answer_type: type[A],
    timeout_s: float = ASK_WITHIN_S,
) -> A:
    """Ask a desk that does an order once, however often it is asked; silence names the id to ask again with."""
    try:
        return await ask_desk(client, desk, order, answer_type, timeout_s)
    except Unreachable as error:
        raise Unreachable(f"{error} Ask again with --request-id {order.request_id}") from None


def told(options: Namespace, answer: DeskAnswer, *lines: str) -> int:
    """Say what came of it, as JSON or in words, and return the exit code."""
    if options.json:
        say_json(json.loads(answer.to_json()))
    else:
        for line in lines:
            say(line)
    return OK
