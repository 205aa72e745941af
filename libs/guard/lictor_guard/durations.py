"""Lengths of time in words."""

SECOND_US = 1_000_000
_MINUTE_S = 60
_HOUR_S = 3600


def in_words(length_us: int) -> str:
    """A length of time, rounded down: `45 seconds`, `1 minute`, `1.5 hours`; never negative."""
    seconds = max(length_us, 0) // SECOND_US
    if seconds == 0:
        return "less than a second"
    if seconds < _MINUTE_S:
        return counted(seconds, "second")
    if seconds < _HOUR_S:
        return counted(seconds // _MINUTE_S, "minute")
    hours, tenths = divmod(seconds * 10 // _HOUR_S, 10)
    return f"{hours}.{tenths} hours" if tenths else counted(hours, "hour")


def counted(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
