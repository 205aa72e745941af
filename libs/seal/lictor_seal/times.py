"""The one form of a point in time in seals and trust stores: UTC with milliseconds."""

import re
from datetime import datetime
from typing import Final

_UTC: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def parse_utc(text: str) -> datetime:
    """The time a text like 2026-01-31T12:00:00.000Z names; raises ValueError for any other form."""
    if _UTC.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is not a UTC time like 2026-01-31T12:00:00.000Z")
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time that exists ({error})") from error
