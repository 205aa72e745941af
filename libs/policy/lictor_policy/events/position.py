"""Where the broker stored an event: the only clock the core knows."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class EventPosition(NamedTuple):
    """The place and moment of an event in the EVENTS stream."""

    sequence: int
    stored_us: int
    """When the broker stored it, in whole microseconds since 1970."""
    sha256: str
    """Content hash of the exact bytes stored, `sha256:` and 64 hex digits."""

    @property
    def stored_at(self) -> datetime:
        """When the broker stored it."""
        return from_micros(self.stored_us)


def to_micros(moment: datetime) -> int:
    """An aware datetime as whole microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The UTC datetime of whole microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
