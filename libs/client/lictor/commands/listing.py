"""What commands share that list the newest of something."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from lictor.commands.output import warn

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
