"""`--since`: how far back to look."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime, timedelta

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
