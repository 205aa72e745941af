"""How many partitions and replicas the streams get: options, or the environment."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable

from lictor_bus.names.streams import DEFAULT_PARTITIONS
from lictor_bus.service.settings import (
    MOST_PARTITIONS,
    MOST_REPLICAS,
    ServiceSettings,
    replicas_wanted,
)


def partitions_argument(parser: ArgumentParser) -> None:
    """The option for the number of partitions."""
    parser.add_argument(
        "--partitions",
        metavar="N",
        type=_number(MOST_PARTITIONS),
        help=f"partitions of EVENTS, fixed once it is made (default: LICTOR_PARTITIONS, or {DEFAULT_PARTITIONS})",
    )


def replicas_argument(parser: ArgumentParser) -> None:
    """The option for the number of replicas."""
    parser.add_argument(
        "--replicas",
        metavar="N",
        type=_number(MOST_REPLICAS),
        help="replicas of each stream, on a cluster (default: LICTOR_REPLICAS, or 1)",
    )


def partitions_of(options: Namespace) -> int:
    """The number of partitions that is wanted."""
    return options.partitions or ServiceSettings.from_environment().partitions


def replicas_of(options: Namespace) -> int:
    """The number of replicas that is wanted."""
    return options.replicas or replicas_wanted()


def _number(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise ArgumentTypeError(f"{text!r} is not a whole number from 1 to {most}")
        return int(text)

    return read
