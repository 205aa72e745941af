"""Values as JSON text, exactly as the canonical models write them."""

from datetime import datetime
from json.encoder import encode_basestring as quoted


def optional(text: str | None) -> str:
    """A string or null."""
    return "null" if text is None else quoted(text)


def rfc3339(moment: datetime) -> str:
    """A time, without quotes; `Z` for UTC."""
    text = moment.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text
