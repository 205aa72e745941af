"""Where the broker stored an event: the only clock the core knows."""

from datetime import datetime
from typing import NamedTuple

from lictor_schema.core.time import from_micros


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
