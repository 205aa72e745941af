"""Values at the boundary between a program and its trusted layer: which may cross it, and how they are written down.

Nothing crosses as it is. A value is written as JSON and read anew on the other side: so neither side can change what
the other holds, what is recorded is what was passed, and nothing crosses that proofs know nothing of: types are exact,
a subclass of `str` is no `str`.

| Python | JSON |
|---|---|
| `None`, `bool`, `str`, `list` | the same |
| `int` | a number; beyond 2**53 - 1, `{"int": "…"}` |
| `float` | `{"float": "0.1"}`, as `repr` spells it |
| `tuple`, `set` | `{"tuple": […]}`, `{"set": […]}`, the set sorted by its bytes |
| `dict` | `{"map": [[key, value], …]}`, in its order |
| a row | `{"row": "Contact", "columns": {…}}` |
| a row class | `{"rows": "Contact", "columns": {"email": "str"}}` |
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, cast

from lictor_ir.spelling.literals import is_text, read_int, spell_int
from lictor_ir.types import ListOf, MapOf, OptionalOf, RowOf, Scalar, SetOf, TupleOf, Type
from lictor_ir.values import RowValue
from lictor_layer.rows import COLUMN_TYPES, Row, RowType, row_class
from lictor_prove.errors import ValueRefused
from lictor_prove.proof.runnability import MAX_DEPTH, MAX_PARTS

MAX_SHOWN: Final = 160
"""Bytes of a value that is reported as it is."""
_EXACT: Final = 2**53 - 1
_LAST_CHARACTER: Final = chr(0x2FFFF)
_SCALARS: Final[Mapping[str, type]] = {
    **COLUMN_TYPES,
    "none": type(None),
}

_PLAIN: Final = frozenset({str, int, bool, type(None)})
"""Of these, values that are equal are written in the same way."""
_JSON: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))

Json = Any


def written(value: object) -> Json:
    """The value as JSON; ValueRefused when it may not cross."""
    return _Writer().write(value, 0)


class _Writer:
    def __init__(self) -> None:
        self._left = MAX_PARTS

    def write(self, value: Any, depth: int) -> Json:
        # What is shared is written each time, so that a small value can be endless; this ends it.
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise ValueRefused(
                f"a value has more than {MAX_PARTS} parts, or is nested more than {MAX_DEPTH} deep;"
                " pass a smaller one"
            )
        kind = cast(Any, type(value))
        if value is None or kind is bool:
            return value
        if kind is str:
            return _text(value)
        if kind is int:
            return value if -_EXACT <= value <= _EXACT else {"int": spell_int(value)}
        if kind is float:
            return {"float": repr(value)}
        if kind is list:
            return [self.write(item, depth + 1) for item in value]
        if kind is tuple:
            return {"tuple": [self.write(item, depth + 1) for item in value]}
        if kind in (set, frozenset):
            items = [self.write(item, depth + 1) for item in value]
            return {"set": sorted(items, key=_spelled)}
        if kind is dict:
            return {
                "map": [
                    [self.write(key, depth + 1), self.write(item, depth + 1)]
                    for key, item in value.items()
                ]
            }
        if isinstance(value, Row | RowValue):
            return self._row(value, depth)
        if kind is RowType:
            columns = {name: type_.__name__ for name, type_ in value.__lictor_columns__.items()}
            return {"rows": value.__lictor_schema__, "columns": columns}
        raise ValueRefused(f"a value of type {kind.__qualname__} can't cross the boundary")

    def _row(self, value: Row | RowValue, depth: int) -> Json:
        if isinstance(value, RowValue):
            schema, columns = value.schema, dict(value.columns)
        else:
            schema = type(value).__lictor_schema__
            columns = {name: getattr(value, name) for name in type(value).__lictor_columns__}
        return {
            "row": schema,
            "columns": {name: self.write(item, depth + 1) for name, item in columns.items()},
        }


def _text(value: str) -> str:
    if not is_text(value) or (value and max(value) > _LAST_CHARACTER):
        raise ValueRefused("a string holds half of a surrogate pair, or a character past U+2FFFF")
    return value


class ValueReader:
    """Makes values out of their JSON, with the row classes of one layer."""

    def __init__(self, rows: Mapping[str, type[Row]]) -> None:
        self._rows = dict(rows)

    def add(self, schema: str, row: type[Row]) -> None:
        """A row class that the program defines."""
        self._rows[schema] = row

    def read(self, value: Json) -> Any:
        """A fresh value, equal to the one that was written."""
        if isinstance(value, list):
            return [self.read(item) for item in cast(list[Json], value)]
        if not isinstance(value, dict):
            return value
        held = cast(dict[str, Json], value)
        match held:
            case {"int": str(text)}:
                return read_int(text)
            case {"float": str(text)}:
                return float(text)
            case {"tuple": list()}:
                return tuple(self.read(held["tuple"]))
            case {"set": list()}:
                return set(self.read(held["set"]))
            case {"map": list()}:
                return dict(self.read(held["map"]))
            case {"row": str(schema), "columns": dict()}:
                columns = {name: self.read(item) for name, item in held["columns"].items()}
                types: dict[str, type] = {name: type(item) for name, item in columns.items()}
                return self._class(schema, types)(**columns)
            case {"rows": str(schema), "columns": dict()}:
                types = {name: COLUMN_TYPES[told] for name, told in held["columns"].items()}
                return self._class(schema, types)
            case _:
                raise ValueRefused(f"a value is written in no known way: {sorted(held)}")

    def _class(self, schema: str, columns: Mapping[str, type]) -> type[Row]:
        found = self._rows.get(schema)
        if found is None:
            # A class of the program's own; where the program does not run, one like it.
            found = self._rows[schema] = row_class(schema, columns)
        return found


def same(one: Json, other: Json) -> bool:
    """Whether two written values are the same; the order of a dict does not matter."""
    if type(one) is type(other) and type(one) in _PLAIN:
        return bool(one == other)
    return _spelled(_unordered(one)) == _spelled(_unordered(other))


def shortened(value: Json) -> Json:
    """A written value, or its hash where that is shorter: equal values stay equal, and no others become so."""
    if _is_short(value):
        return value
    spelled = _spelled(_unordered(value))
    # A row class is no value: who compares looks at its name.
    if len(spelled) <= MAX_SHOWN or (isinstance(value, dict) and "rows" in value):
        return cast(Json, value)
    return {"sha256": hashlib.sha256(spelled).hexdigest(), "bytes": len(spelled)}


def _is_short(value: Json) -> bool:
    """Whether it is seen at once that it need not be shortened."""
    if type(value) is str:
        # Of these characters, none takes more than two bytes.
        return 2 * len(value) + 2 <= MAX_SHOWN and value.isascii() and value.isprintable()
    return value is None or type(value) is bool


def _spelled(value: Json) -> bytes:
    """The bytes of a written value, which are those of RFC 8785: it holds no fractions, and names of columns are words.

    Not `canonical_json`, which brings all of Pydantic into a process that runs somebody's program.
    """
    return _JSON.encode(value).encode("utf-8", "surrogatepass")


def _unordered(value: Json) -> Json:
    if isinstance(value, list):
        return [_unordered(item) for item in cast(list[Json], value)]
    if not isinstance(value, dict):
        return value
    held = {name: _unordered(item) for name, item in cast(dict[str, Json], value).items()}
    return {"map": sorted(held["map"], key=_spelled)} if "map" in held else held


# -- types -----------------------------------------------------------------------------------------


def check_type(value: Any, wanted: Type, what: str) -> None:
    """ValueRefused unless the value is exactly of the type. Types are shallow, so this may recurse."""
    kind = cast(Any, type(value))
    match wanted:
        case Scalar("any"):
            fits = True
        case Scalar(name):
            fits = name in _SCALARS and kind is _SCALARS[name]
        case ListOf(item):
            fits = kind is list
            for at, each in enumerate(value if fits else ()):
                check_type(each, item, f"{what}[{at}]")
        case OptionalOf(item):
            fits = True
            if value is not None:
                check_type(value, item, what)
        case SetOf(item):
            fits = kind in (set, frozenset)
            for each in value if fits else ():
                check_type(each, item, f"an item of {what}")
        case TupleOf(items):
            fits = kind is tuple and len(value) == len(items)
            for at, (each, item) in enumerate(zip(value if fits else (), items, strict=False)):
                check_type(each, item, f"{what}[{at}]")
        case MapOf(key, member):
            fits = kind is dict
            for each, held in value.items() if fits else ():
                check_type(each, key, f"a key of {what}")
                check_type(held, member, f"a value of {what}")
        case RowOf(schema):
            fits = isinstance(value, Row) and kind.__lictor_schema__ == schema
        case _:
            fits = False
    if not fits:
        raise ValueRefused(f"{what} must be {wanted}, not {kind.__qualname__}")
