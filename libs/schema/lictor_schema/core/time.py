"""Moments and lengths of time as whole numbers: what is folded and compared is counted in microseconds since 1970."""

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_US: Final = 1_000_000
SECOND_NS: Final = 1_000_000_000
DAY_S: Final = 24 * 3600
_MICROSECOND: Final = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """An aware datetime as whole microseconds since 1970."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The UTC datetime of whole microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)
