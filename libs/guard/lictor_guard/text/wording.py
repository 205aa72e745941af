"""How texts for agents spell what callers gave: quoted, on one line, and never too long."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from lictor_schema.core.time import SECOND_US

SHOWN = 300
"""Characters of a caller's text that are shown; longer ones lose their middle."""
MAX_JOINED = 3_500
"""Characters of several problems joined into one; what a session says about one denial is cut a little beyond."""

MAX_KEPT = 1_000
"""Characters of a parameter, an output or an error that are stored with a call."""
MAX_PARAMS_KEPT = 16_000
"""Characters of all parameters of a call as JSON."""


def quoted(text: str) -> str:
    """A caller's text between quotes: what can't be printed is spelled out, and the middle left out if it is long."""
    spelled = "".join(each if each.isprintable() else _spelled(each) for each in _cut(text))
    return f"'{_cut(spelled)}'"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def joined(problems: Sequence[str]) -> str:
    """Several problems as one text; those that don't fit are counted."""
    kept: list[str] = []
    length = 0
    for each in problems:
        length += len(each) + 2
        if kept and length > MAX_JOINED:
            kept.append(f"and {len(problems) - len(kept)} more")
            break
        kept.append(each)
    return "; ".join(kept)


def beyond_agent(what: str) -> str:
    """A remedy that only whoever runs the agent can apply: an agent that is asked for it would try, or go round in
    circles."""
    return f"you can't mend this: report it to whoever runs you (for them: {what})"


def shortened(text: str) -> str:
    """The begin of a text; it says that it was cut."""
    return text if len(text) <= MAX_KEPT else f"{text[:MAX_KEPT]}… (cut)"


def short_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with long texts cut; where they are too long all the same, only those that fit, in their order."""
    kept: dict[str, Any] = {}
    room = MAX_PARAMS_KEPT
    for name, value in params.items():
        short = _short(value)
        room -= len(name) + len(json.dumps(short))
        if room < 0:
            break
        kept[name] = short
    return kept


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, Mapping):
        return {name: _short(each) for name, each in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_short(each) for each in cast(Sequence[Any], value)]
    return value


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}…{text[-SHOWN // 2 :]}"


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode()


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
