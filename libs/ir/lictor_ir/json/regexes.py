"""Regular expressions as a flat table of JSON values, the whole in the last row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from lictor_ir.errors import FormError
from lictor_ir.json.strict_reading import Path, fail, integer, items, list_of, object_of
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
from lictor_ir.spelling import literals

Take = Callable[[Any, Path], tuple[Regex, int]]

MAX_DEPTH: Final = 48
MAX_PARTS: Final = 20_000
MAX_REPEATS: Final = 1_000_000


def parts(regex: Regex) -> tuple[Regex, ...]:
    """The expressions that it is made of."""
    match regex:
        case ReConcat(found) | ReUnion(found):
            return found
        case ReRepeat(part):
            return (part,)
        case _:
            return ()


def check_size(regex: Regex) -> None:
    """Raise a FormError for an expression that is deeper or larger than the format allows."""
    todo, count = [(regex, 1)], 0
    while todo:
        part, depth = todo.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise FormError(f"a regular expression is nested deeper than {MAX_DEPTH}; flatten it")
        if count > MAX_PARTS:
            raise FormError(f"a regular expression has more than {MAX_PARTS} parts")
        todo.extend((each, depth + 1) for each in parts(part))


def regex_table(regex: Regex) -> list[Any]:
    """The table of an expression: parts before wholes, each where it stands."""
    check_size(regex)
    rows: list[Any] = []
    _add(regex, rows)
    return rows


def _add(regex: Regex, rows: list[Any]) -> int:
    numbers = [_add(part, rows) for part in parts(regex)]
    rows.append(_row(regex, numbers))
    return len(rows) - 1


def _row(regex: Regex, numbers: list[int]) -> Any:
    match regex:
        case ReText(text):
            return {"text": _string(text)}
        case ReRange():
            return {"range": _range(regex)}
        case ReAny():
            return {"any": True}
        case ReNothing():
            return {"nothing": True}
        case ReConcat():
            return {"concat": numbers}
        case ReUnion():
            return {"union": numbers}
        case ReRepeat(_, least, most):
            return {"repeat": numbers[0], "least": least, "most": most}
        case ReNotIn(ranges):
            return {"not_in": [_range(each) for each in ranges]}


def _string(text: str) -> Any:
    return text if literals.is_text(text) else [ord(char) for char in text]


def _range(regex: ReRange) -> list[int]:
    return [ord(regex.first), ord(regex.last)]


def read_regex(value: Any, path: Path) -> Regex:
    """The expression of a table; every row but the last is used once, later on."""
    rows = items(value, path)
    if not 0 < len(rows) <= MAX_PARTS:
        raise fail(path, f"must have between 1 and {MAX_PARTS} rows")
    waiting: dict[int, tuple[Regex, int]] = {}
    for number, row in enumerate(rows):
        here = (*path, number)

        def take(part: Any, there: Path) -> tuple[Regex, int]:
            found = waiting.pop(integer(part, there), None)
            if found is None:
                raise fail(there, "names no earlier row that is still unused")
            return found

        made, depth = _read_row(row, here, take)
        if depth > MAX_DEPTH:
            raise fail(here, f"is nested deeper than {MAX_DEPTH}; flatten it")
        waiting[number] = (made, depth)
    if len(waiting) != 1:
        raise fail(path, "has rows that nothing uses")
    return waiting[len(rows) - 1][0]


def _read_row(row: Any, path: Path, take: Take) -> tuple[Regex, int]:
    keys = list(cast(dict[str, Any], row)) if isinstance(row, dict) else []
    kind = keys[0] if len(keys) == 1 else "repeat"
    match kind:
        case "text":
            return ReText(_read_string(row["text"], (*path, "text"))), 1
        case "range":
            return _read_range(row["range"], (*path, "range")), 1
        case "any" | "nothing":
            if row[kind] is not True:
                raise fail((*path, kind), "must be true")
            return (ReAny() if kind == "any" else ReNothing()), 1
        case "concat" | "union":
            found = list_of(row[kind], (*path, kind), take)
            deepest = 1 + max((depth for _, depth in found), default=0)
            inside = tuple(part for part, _ in found)
            return (ReConcat(inside) if kind == "concat" else ReUnion(inside)), deepest
        case "not_in":
            return ReNotIn(tuple(list_of(row["not_in"], (*path, "not_in"), _read_range))), 1
        case _:
            return _read_repeat(row, path, take)


def _read_repeat(row: Any, path: Path, take: Take) -> tuple[Regex, int]:
    fields = object_of(row, path, "repeat", "least", "most")
    part, depth = take(fields["repeat"], (*path, "repeat"))
    least = integer(fields["least"], (*path, "least"))
    most = None if fields["most"] is None else integer(fields["most"], (*path, "most"))
    check_repeats(least, most, path)
    return ReRepeat(part, least, most), depth + 1


def check_repeats(least: int, most: int | None, path: Path) -> None:
    """Raise a FormError for bounds that no expression may have."""
    if not 0 <= least <= (most if most is not None else MAX_REPEATS) <= MAX_REPEATS:
        raise fail(path, f"must repeat from 0 to {MAX_REPEATS} times, the least first")


def _read_string(value: Any, path: Path) -> str:
    if isinstance(value, str):
        return value
    return "".join(chr(point) for point in list_of(value, path, _read_point))


def _read_range(value: Any, path: Path) -> ReRange:
    points = list_of(value, path, _read_point)
    if len(points) != 2 or points[0] > points[1]:
        raise fail(path, "must be two code points, the lower first")
    return ReRange(chr(points[0]), chr(points[1]))


def _read_point(value: Any, path: Path) -> int:
    point = integer(value, path)
    if not 0 <= point <= 0x10FFFF:
        raise fail(path, "is no code point")
    return point
