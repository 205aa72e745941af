"""How long a host wants to wait for a person: `"10m"`, `"2h"`, seconds, or a `timedelta`."""

import math
import re
from datetime import timedelta
from typing import Any

from lictor.fast.call_wait import Patience

Wait = str | float | timedelta | None
"""None: not at all."""

_TEXT = re.compile(r"([0-9]{1,9})(s|m|h|d)", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def patience(wait: Wait) -> Patience | None:
    """The same for an operation; ValueError or TypeError for what is no time to wait."""
    seconds = _seconds(wait)
    return None if seconds is None else Patience(seconds=seconds)


def _seconds(wait: Any) -> float | None:
    if wait is None:
        return None
    if isinstance(wait, str):
        found = _TEXT.fullmatch(wait)
        if found is None:
            raise ValueError(
                f"wait={wait!r} is no time: write a whole number with its unit, such as 90s, 10m, 2h or 1d"
            )
        return float(int(found[1]) * _SECONDS[found[2]])
    if isinstance(wait, timedelta):
        wait = wait.total_seconds()
    if isinstance(wait, bool) or not isinstance(wait, int | float):
        raise TypeError(
            f"wait is a {type(wait).__name__}; give seconds, a text such as 10m, a timedelta, or None"
        )
    if not (math.isfinite(wait) and wait >= 0):
        raise ValueError(f"wait={wait!r} is no time to wait: give seconds from 0 on")
    return float(wait)
