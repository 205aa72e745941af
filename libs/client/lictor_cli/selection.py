"""What commands share that list the newest of something."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from lictor_cli.output.terminal import warn

T = TypeVar("T")
_DEFAULT = 50


def limit_argument(parser: ArgumentParser) -> None:
    """How many to list."""
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_limit,
        default=_DEFAULT,
        help=f"at most N, the newest (default: {_DEFAULT})",
    )


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < 2**31:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


async def first_of(found: AsyncGenerator[T, None], limit: int) -> tuple[list[T], bool]:
    """As many as are wanted, and whether there are more."""
    taken: list[T] = []
    async with aclosing(found):
        async for each in found:
            if len(taken) == limit:
                return taken, True
            taken.append(each)
    return taken, False


def warn_of_more(more: bool, limit: int) -> None:
    """A list that is cut says so."""
    if more:
        warn(f"there are more than these {limit}; --limit, --since and the other options choose.")


_AGO = re.compile(r"([0-9]{1,6})([smhd])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def since_argument(parser: ArgumentParser) -> None:
    """The option."""
    parser.add_argument(
        "--since",
        metavar="WHEN",
        type=_moment,
        help="only what was recorded since: 90s, 10m, 2h or 7d ago, or a time such as"
        " 2026-03-02T09:00:00Z (default: all)",
    )


def _moment(text: str) -> datetime:
    if ago := _AGO.fullmatch(text):
        return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ArgumentTypeError(
            f"{text!r} is neither a duration (90s, 10m, 2h, 7d) nor a time with its zone"
        )
    return moment
