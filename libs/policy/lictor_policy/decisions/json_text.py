"""Values as JSON text, exactly as the canonical models write them."""

from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring as quoted

from lictor_schema.core.time import SECOND_US


def optional(text: str | None) -> str:
    """A string or null."""
    return "null" if text is None else quoted(text)


def rfc3339(moment: datetime) -> str:
    """A time, without quotes; `Z` for UTC."""
    text = moment.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def utc_micros(micros: int) -> str:
    """What `rfc3339` writes for microseconds since 1970, without making a datetime of them."""
    seconds, rest = divmod(micros, SECOND_US)
    return f"{utc_second(seconds)}.{rest:06d}Z" if rest else f"{utc_second(seconds)}Z"


def utc_millis(micros: int) -> str:
    """UtcMillis of microseconds since 1970."""
    seconds, rest = divmod(micros, SECOND_US)
    return f"{utc_second(seconds)}.{rest // 1000:03d}Z"


@lru_cache(maxsize=256)
def utc_second(seconds: int) -> str:
    """Seconds since 1970 as UTC text without zone."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def quoted_list(texts: tuple[str, ...]) -> str:
    """A JSON array of texts."""
    return "[" + ",".join(map(quoted, texts)) + "]"
