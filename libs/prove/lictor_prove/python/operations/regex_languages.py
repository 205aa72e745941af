"""Python's regular expressions as languages of whole strings.

The pattern is read by Python's own parser, so that it means what Python says, and only what is regular is taken over.
`$` also stands before a last newline, `.` does not match one, and `\\d` and `\\s` are all of Unicode's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NoReturn

from lictor_ir.regexes import (
    ReAny,
    ReConcat,
    Regex,
    ReNothing,
    ReNotIn,
    ReRange,
    ReRepeat,
    ReText,
    ReUnion,
)
from lictor_ir.terms import HIGHEST_CHARACTER
from lictor_prove.python.refusals import MAX_PATTERN, MAX_REPEAT, refuse

# The parser that `re` itself uses; it has no public name, and no types.
_sre: Any = re._parser  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]

_EMPTY: Final = ReText("")
_ALL: Final = ReRepeat(ReAny(), 0, None)
_LAST_NEWLINE: Final = ReRepeat(ReText("\n"), 0, 1)
_NO_NEWLINE: Final = ReNotIn((ReRange("\n", "\n"),))


@lru_cache(maxsize=256)
def language(pattern: str, how: str) -> Regex:
    """The strings that `re.<how>(pattern, s)` finds a match in; `how` is match, fullmatch or search."""
    if len(pattern) > MAX_PATTERN:
        _refused(f"the pattern is longer than {MAX_PATTERN} characters")
    try:
        parsed = _sre.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        _refused(f"the pattern is no regular expression: {error}")
    if parsed.state.flags != re.UNICODE.value:
        _refused("flags are not supported")
    before = _ALL if how == "search" else _EMPTY
    after = _EMPTY if how == "fullmatch" else _ALL
    return _anchored(list(parsed), before, after)


def _anchored(items: list[Any], before: Regex, after: Regex) -> Regex:
    """The sequence with what may stand before and after it; anchors at its ends say that nothing may."""
    start, end = 0, len(items)
    while (
        start < end
        and _name(items[start]) == "AT"
        and _at(items[start])
        in (
            "AT_BEGINNING",
            "AT_BEGINNING_STRING",
        )
    ):
        before, start = _EMPTY, start + 1
    while (
        end > start
        and _name(items[end - 1]) == "AT"
        and _at(items[end - 1])
        in (
            "AT_END",
            "AT_END_STRING",
        )
    ):
        if _at(items[end - 1]) == "AT_END_STRING":
            after = _EMPTY
        elif after == _ALL:
            after = _LAST_NEWLINE
        end -= 1
    inner = items[start:end]
    if len(inner) == 1 and _name(inner[0]) == "SUBPATTERN":
        group = _group(inner[0])
        return _anchored(group, before, after)
    if len(inner) == 1 and _name(inner[0]) == "BRANCH":
        return ReUnion(tuple(_anchored(list(one), before, after) for one in inner[0][1][1]))
    return _concat((before, _sequence(inner), after))


def _concat(parts: Sequence[Regex]) -> Regex:
    kept = tuple(part for part in parts if part != _EMPTY)
    return _EMPTY if not kept else kept[0] if len(kept) == 1 else ReConcat(kept)


def _name(item: Any) -> str:
    return str(item[0])


def _at(item: Any) -> str:
    return str(item[1])


def _group(item: Any) -> list[Any]:
    _, added, removed, inner = item[1]
    if added or removed:
        _refused("flags inside a pattern are not supported")
    return list(inner)


def _sequence(items: Sequence[Any]) -> Regex:
    return _concat([_item(item) for item in items])


def _item(item: Any) -> Regex:
    name, value = _name(item), item[1]
    match name:
        case "LITERAL":
            return ReText(_char(value))
        case "NOT_LITERAL":
            return ReNotIn((ReRange(_char(value), _char(value)),))
        case "ANY":
            return _NO_NEWLINE
        case "IN":
            return _set(list(value))
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, inner = value
            bound = None if most == _sre.MAXREPEAT else int(most)
            if least > MAX_REPEAT or (bound or 0) > MAX_REPEAT:
                _refused(f"repetitions above {MAX_REPEAT} are not supported")
            return ReRepeat(_sequence(list(inner)), int(least), bound)
        case "SUBPATTERN":
            return _sequence(_group(item))
        case "BRANCH":
            return ReUnion(tuple(_sequence(list(one)) for one in value[1]))
        case _:
            told = {
                "AT": "an anchor inside the pattern, or a word boundary",
                "ASSERT": "look-ahead and look-behind",
                "ASSERT_NOT": "look-ahead and look-behind",
                "GROUPREF": "a back-reference",
            }.get(name, name.lower().replace("_", " "))
            _refused(f"{told} is not supported")


def _set(items: list[Any]) -> Regex:
    negated = bool(items) and _name(items[0]) == "NEGATE"
    ranges: list[ReRange] = []
    others: list[Regex] = []
    for item in items[1:] if negated else items:
        match _name(item):
            case "LITERAL":
                ranges.append(ReRange(_char(item[1]), _char(item[1])))
            case "RANGE":
                low, high = item[1]
                ranges.append(ReRange(_char(low), _char(high)))
            case "CATEGORY":
                category = str(item[1])
                if category in ("CATEGORY_DIGIT", "CATEGORY_SPACE"):
                    ranges.extend(_category(category))
                elif category in ("CATEGORY_NOT_DIGIT", "CATEGORY_NOT_SPACE") and not negated:
                    others.append(ReNotIn(_category(category.replace("NOT_", ""))))
                else:
                    _refused(
                        r"\w, \W and negated categories in a set are not supported; write [A-Za-z0-9_]"
                    )
            case _:
                _refused("this character set is not supported")
    if negated:
        return ReNotIn(tuple(ranges))
    choices = (*ranges, *others)
    if not choices:
        return ReNothing()
    return choices[0] if len(choices) == 1 else ReUnion(choices)


@lru_cache(maxsize=4)
def _category(name: str) -> tuple[ReRange, ...]:
    """The characters of a category, by the database of Unicode that Python carries."""
    holds = str.isdecimal if name == "CATEGORY_DIGIT" else str.isspace
    found: list[ReRange] = []
    start: int | None = None
    for code in range(HIGHEST_CHARACTER + 1):
        if holds(chr(code)):
            start = code if start is None else start
        elif start is not None:
            found.append(ReRange(chr(start), chr(code - 1)))
            start = None
    return tuple(found)


def _char(code: int) -> str:
    if code > HIGHEST_CHARACTER or 0xD800 <= code <= 0xDFFF:
        _refused(f"the character U+{code:X} is not supported")
    return chr(code)


def _refused(why: str) -> NoReturn:
    refuse(
        "regex.unsupported",
        f"this regular expression can't be used: {why}",
        "Use literals, sets like [a-z0-9_], \\d, \\s, ., groups, |, *, +, ?, {m,n}, ^ at the start and $ at the end.",
    )
