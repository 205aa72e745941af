"""What the commands share that prove something about packs: the package they need, and examples in words."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from lictor.errors import LictorError
from lictor_cli.output.terminal import printable
from lictor_policy.conditions.condition_text import scalar


def timeout_argument(parser: ArgumentParser) -> None:
    """`--timeout`, for commands that ask a solver."""
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_milliseconds,
        default=2_000,
        help="the longest that one question to the solver may take (default: 2)",
    )


def _milliseconds(given: str) -> int:
    try:
        milliseconds = int(float(given) * 1000)
    except (ValueError, OverflowError):
        milliseconds = 0
    if not 0 < milliseconds < 1 << 31:
        raise ArgumentTypeError(f"{given!r} is no number of seconds, such as 2 or 0.5")
    return milliseconds


@contextmanager
def prover_at_hand(command: str) -> Generator[None]:
    """Says what to install where the prover, or its solver, is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("lictor_prove", "z3"):
            raise
        raise LictorError(
            f"{command} needs the package lictor-prove, which is not installed here;"
            " `pip install lictor-prove` brings it and its solver."
        ) from error


def facts_in_words(facts: Mapping[str, Any]) -> str:
    """The facts of an example in one line."""
    told = ", ".join(f"{name} {scalar(value)}" for name, value in facts.items())
    return printable(told or "always")
