"""Texts that a program can read, with other values in them: days around the one that stands there, other members."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, Final, cast

MAX_DAYS: Final = 4_000
"""By which a day is moved."""
_ISO_DAY: Final = len("2024-02-29")


def is_day(text: str) -> bool:
    """Whether it is a day as ISO 8601 has it, with or without a time."""
    return len(text) >= _ISO_DAY and text[4:5] == text[7:8] == "-" and text[:4].isdigit()


def varied(text: str, number: Callable[[], int], word: Callable[[], str], random: Random) -> str:
    """The text with another day, or with other values of its members; as it is where it is neither."""
    if is_day(text):
        return _moved(text, number, random)
    if text[:1] in ("{", "["):
        try:
            told = json.loads(text)
        except ValueError:
            return text
        return json.dumps(_other(told, number, word, random))
    return text


def _moved(text: str, number: Callable[[], int], random: Random) -> str:
    days = random.choice((0, 1, -1, 7, 30, 365, number()))
    step = timedelta(days=max(-MAX_DAYS, min(MAX_DAYS, days)))
    try:
        if len(text) == _ISO_DAY:
            return (date.fromisoformat(text) + step).isoformat()
        return (datetime.fromisoformat(text) + step).isoformat()
    except (ValueError, OverflowError):
        return text


def _other(told: Any, number: Callable[[], int], word: Callable[[], str], random: Random) -> Any:
    """The JSON with some of its values changed: another number, a text, nothing."""
    match told:
        case dict():
            members = cast(dict[str, Any], told)
            return {key: _other(each, number, word, random) for key, each in members.items()}
        case list():
            return [_other(each, number, word, random) for each in cast(list[Any], told)]
        case _ if random.random() < 0.5:
            return told
        case _:
            kind = random.random()
            if kind < 0.7:
                return number()
            return word() if kind < 0.9 else random.choice((True, False, None))
