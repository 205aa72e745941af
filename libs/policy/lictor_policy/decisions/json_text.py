"""Values as JSON text, exactly as the canonical models write them."""

from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring as quoted


def optional(text: str | None) -> str:
    """A string or null."""
    return "null" if text is None else quoted(text)


def rfc3339(moment: datetime) -> str:
    """A time, without quotes; `Z` for UTC."""
    text = moment.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def utc_micros(micros: int) -> str:
    """What `rfc3339` writes for microseconds since 1970, without making a datetime of them."""
    seconds, rest = divmod(micros, 1_000_000)
    return f"{utc_second(seconds)}.{rest:06d}Z" if rest else f"{utc_second(seconds)}Z"


def utc_millis(micros: int) -> str:
    """UtcMillis of microseconds since 1970."""
    seconds, rest = divmod(micros, 1_000_000)
    return f"{utc_second(seconds)}.{rest // 1000:03d}Z"


@lru_cache(maxsize=256)
def utc_second(seconds: int) -> str:
    """Seconds since 1970 as UTC text without zone."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]
