"""The table of the standard library, held against the Python that runs it: each line with sample arguments.

What is given is exactly of the type that the table says, and what is raised is among what it may raise.
"""

from __future__ import annotations

import builtins
import datetime
import decimal
import fractions
import hashlib
import importlib
import itertools
import json
import math
import operator
import random
import re
import string
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, cast

import pytest

from lictor_ir.types import BOOL, FLOAT, INT, NONE, STR
from lictor_prove.python.kinds import Kind
from lictor_prove.python.library import signatures
from lictor_prove.python.library.signatures import (
    MEMBERS,
    OF_OBJECTS,
    Given,
    Parameter,
    Signature,
    Taken,
)
from lictor_prove.python.operations.builtin_functions import STANDARD
from lictor_prove.python.syntax.subset import leads_out

UTC = datetime.UTC
JSON: Final = (
    '{"a": [1, 2.5, null], "b": "x"}',
    "[1, 2]",
    '"text"',
    "3",
    "2.5",
    "true",
    "null",
    "[]",
    "{}",
    "NaN",
)
SAMPLES: Final[Mapping[Kind, tuple[Any, ...]]] = {
    Kind.NONE: (None,),
    Kind.BOOL: (True, False),
    Kind.INT: (0, 1, -1, 7, 2024),
    Kind.FLOAT: (0.0, 1.5, -2.25, 1e308, float("inf"), float("nan")),
    Kind.STR: (
        *(
            "",
            "a",
            "2024-02-29",
            "2024-02-29T10:00:00+00:00",
            "10:30",
            "%Y-%m-%d",
            "$x ${y} $",
            "\\1",
        ),
        *(
            "12.50",
            "1/3",
            "YWJj",
            "12345678123456781234567812345678",
            "é",
            "[",
            "https://h:99999/a?b=1",
        ),
        *("utf-8", "ROUND_HALF_UP", "minutes", "%", "\0", f"&#{'9' * 5_000};"),
    ),
    Kind.TUPLE: ((", ", ": "), ()),
    Kind.DICT: ({}, {"x": 1}, {"a": "b", 1: None}),
    Kind.LIST: ([],),
    Kind.CLASS: (str,),
    Kind.PATTERN: (re.compile("(a)|b"),),
    Kind.DATE: (datetime.date(2024, 2, 29), datetime.date.max, datetime.date.min),
    Kind.DATETIME: (
        datetime.datetime(2024, 2, 29, 10, 30),  # noqa: DTZ001 -- without a zone, too
        datetime.datetime(2024, 2, 29, tzinfo=UTC),
        datetime.datetime.max,  # noqa: DTZ901
        datetime.datetime.min,  # noqa: DTZ901
    ),
    Kind.TIME: (datetime.time(10, 30), datetime.time(0, tzinfo=UTC)),
    Kind.TIMEDELTA: (
        datetime.timedelta(0),
        datetime.timedelta(days=1, seconds=5),
        datetime.timedelta.max,
        datetime.timedelta(hours=-30),
    ),
    Kind.TIMEZONE: (UTC, datetime.timezone(datetime.timedelta(hours=2))),
    # As an int, 1E+999999 takes Python minutes: the limits of a process stop that.
    Kind.DECIMAL: tuple(
        map(decimal.Decimal, ("0", "12.345", "-1", "Infinity", "NaN", "sNaN", "1E+9999"))
    ),
    Kind.FRACTION: tuple(map(fractions.Fraction, ("0", "1/3", "-7/2", "1e400"))),
    Kind.TEMPLATE: (string.Template("$x ${y}"), string.Template("$"), string.Template("none")),
    Kind.BYTES: (b"", b"abc", b"\xff"),
    Kind.HASH: (hashlib.sha256(b"a"), hashlib.md5(b"", usedforsecurity=False)),
    Kind.UUID: (uuid.UUID(int=5), uuid.uuid4()),
    Kind.URL: (
        urllib.parse.urlparse("https://u@h:80/a;p?b=1#f"),
        urllib.parse.urlparse(""),
        urllib.parse.urlparse("https://h:99999/"),
    ),
    Kind.JSON: tuple(map(json.loads, JSON)),
}
ITEMS: Final[tuple[Any, ...]] = (
    [],
    [0],
    [1, 2],
    [1, 3, 3],
    [1.5, 2.5, 1.5],
    [float("nan"), 1.0],
    ["a", "a"],
    [10**400, 1],
    [True],
    [True, False],
    [False, 2, True],
    [True, 1.5],
)
VAST: Final[Mapping[Kind, tuple[Any, ...]]] = {
    Kind.INT: (10**5_000,),
    Kind.DICT: ({"x": 10**5_000},),
}
"""Of more digits than Python makes a text of."""
MOST: Final = 150
CLASSES: Final[Mapping[Kind, type | tuple[type, ...]]] = {
    Kind.DATE: datetime.date,
    Kind.DATETIME: datetime.datetime,
    Kind.TIME: datetime.time,
    Kind.TIMEDELTA: datetime.timedelta,
    Kind.TIMEZONE: datetime.timezone,
    Kind.DECIMAL: decimal.Decimal,
    Kind.FRACTION: fractions.Fraction,
    Kind.TEMPLATE: string.Template,
    Kind.BYTES: bytes,
    Kind.HASH: (type(hashlib.sha256()), type(hashlib.md5(usedforsecurity=False))),
    Kind.UUID: uuid.UUID,
    Kind.URL: urllib.parse.ParseResult,
}
TYPES: Final[Mapping[Any, type]] = {BOOL: bool, INT: int, FLOAT: float, STR: str, NONE: type(None)}
ORDER: Final = {
    "`+`": operator.add,
    "`-`": operator.sub,
    "`*`": operator.mul,
    "`/`": operator.truediv,
    "`//`": operator.floordiv,
    "`%`": operator.mod,
    "`in`": lambda item, held: item in held,
    "an item": operator.getitem,
}
BUILTINS: Final = {"abs": abs, "bool": bool, "float": float, "int": int, "len": len, "round": round}
ERRORS: Final = {"re.error": re.error}


def is_given(given: Given, value: object) -> bool:
    """Whether a value is exactly what the table says."""
    match given.form:
        case "type":
            assert given.type is not None
            return type(value) is TYPES[given.type]
        case "object" if given.kind == Kind.JSON:
            return type(value) in (bool, int, float, str, list, dict, type(None))
        case "object":
            assert given.kind is not None
            held = CLASSES[given.kind]
            return type(value) in (held if isinstance(held, tuple) else (held,))
        case "either":
            return any(is_given(part, value) for part in given.parts)
        case "tuple":
            held = cast(tuple[Any, ...], value)
            return (
                type(value) is tuple
                and len(held) == len(given.parts)
                and all(map(is_given, given.parts, held))
            )
        case "list":
            return type(value) is list and all(
                is_given(given.parts[0], each) for each in cast(list[Any], value)
            )
        case _:
            return all(is_given(given.parts[0], each) for each in cast(Any, value))


def samples(taken: Taken) -> list[Any]:
    """Values that the table takes there."""
    if taken.is_any:
        return [
            value
            for kind in (Kind.INT, Kind.STR, Kind.NONE, Kind.DICT)
            for value in (*SAMPLES[kind][:3], *VAST.get(kind, ()))
        ]
    found = [value for kind in Kind if kind in taken.kinds for value in SAMPLES[kind]]
    python = {Kind.BOOL: bool, Kind.INT: int, Kind.FLOAT: float, Kind.STR: str}
    types = [python[kind] for kind in taken.items]
    return [
        *found,
        *(each for each in ITEMS if taken.items and all(type(one) in types for one in each)),
    ]


def calls(signature: Signature) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Arguments: every parameter by position and by name, those that may be left out left out and not."""
    random.seed(0)
    parameters = signature.parameters
    for taken in _chosen(parameters):
        options = [samples(each.taken) for each in taken]
        many = math.prod(map(len, options))
        every = itertools.product(*options)
        drawn = ([random.choice(each) for each in options] for _ in range(MOST))
        for values in every if many <= MOST else drawn:
            args = [value for each, value in zip(taken, values, strict=True) if each.by_position]
            named = {
                each.name: value
                for each, value in zip(taken, values, strict=True)
                if not each.by_position
            }
            yield args, named
            by_name = {
                each.name: value for each, value in zip(taken, values, strict=True) if each.by_name
            }
            if all(each.by_name or at == 0 for at, each in enumerate(taken)) and by_name:
                yield (
                    [value for each, value in zip(taken, values, strict=True) if not each.by_name],
                    by_name,
                )
    if signature.more is not None:
        for values in itertools.product(samples(signature.more), repeat=2):
            yield [*[samples(each.taken)[-1] for each in parameters], *values], {}
    if signature.named is not None:
        for value in samples(signature.named):
            yield [], {"x": value, "y": 1}


def _chosen(parameters: Sequence[Parameter]) -> Iterator[list[Parameter]]:
    required = [each for each in parameters if not each.is_optional]
    optional = [each for each in parameters if each.is_optional]
    for count in range(len(optional) + 1):
        yield [*required, *optional[:count]]
    for each in optional:
        if not each.by_position:
            yield [*required, each]


def function_of(name: str) -> Callable[..., Any]:
    if name in ORDER:
        return ORDER[name]
    if name in BUILTINS:
        return BUILTINS[name]
    module, _, rest = _module_of(name)
    return operator.attrgetter(rest)(importlib.import_module(module))


def _module_of(name: str) -> tuple[str, str, str]:
    module = max((each for each in signatures.modules() if name.startswith(f"{each}.")), key=len)
    return module, ".", name.removeprefix(f"{module}.")


def check(
    signature: Signature, function: Callable[..., Any], args: Sequence[Any], **named: Any
) -> None:
    errors = tuple(ERRORS.get(each) or getattr(builtins, each) for each in signature.raises)
    try:
        value = function(*args, **named)
    except errors:
        return
    except Exception as error:  # noqa: BLE001 -- the test tells which
        told = _spelled(signature, args, named)
        pytest.fail(f"{told} raises {error!r}, and the table has {signature.raises}")
    if not is_given(signature.given, value):
        told = _spelled(signature, args, named)
        pytest.fail(f"{told} gives {value!r}, not {signature.given}")


def _spelled(signature: Signature, args: Sequence[Any], named: Mapping[str, Any]) -> str:
    try:
        return f"{signature.name} of {args}, {named}"
    except ValueError:
        return f"{signature.name} of an int of too many digits"


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_gives_what_the_table_says(name: str) -> None:
    for signature in MEMBERS[name]:
        if not signature.is_called:
            check(signature, lambda: function_of(name), [])
            continue
        for args, named in calls(signature):
            check(signature, function_of(name), args, **named)


@pytest.mark.parametrize("name", [each for each in OF_OBJECTS if "." in each])
def test_an_object_has_what_the_table_says(name: str) -> None:
    kind, _, attribute = name.partition(".")
    for signature, value in itertools.product(OF_OBJECTS[name], SAMPLES[Kind(kind)]):
        if not signature.is_called:
            check(signature, getattr, [value, attribute])
            continue
        for args, named in calls(signature):

            def method(*args: Any, of: Any = value, **named: Any) -> Any:
                return getattr(of, attribute)(*args, **named)

            check(signature, method, args, **named)


@pytest.mark.parametrize("name", [each for each in OF_OBJECTS if "." not in each])
def test_operators_and_builtins_give_what_the_table_says(name: str) -> None:
    for signature in OF_OBJECTS[name]:
        for args, named in calls(signature):
            if name != "order":
                check(signature, function_of(name), args, **named)
                continue
            for order in (operator.lt, operator.le):
                check(signature, order, args)
            for order in (operator.gt, operator.ge):
                check(signature, order, args[::-1])


@pytest.mark.parametrize("kind", [*CLASSES, Kind.JSON])
def test_equality_truth_and_text_of_an_object_are_what_they_are_taken_for(kind: Kind) -> None:
    for value in SAMPLES[kind]:
        for others in SAMPLES.values():
            for other in others:
                try:
                    assert type(value == other) is bool
                    assert type(other != value) is bool
                except ArithmeticError:
                    assert kind == Kind.DECIMAL or isinstance(other, decimal.Decimal)
        assert type(str(value)) is type(repr(value)) is str
        assert type(bool(value)) is bool


WAYS_OUT: Final = (ModuleType, CodeType, FrameType)
FORBIDDEN: Final = (
    open,
    eval,
    exec,
    compile,
    getattr,
    setattr,
    globals,
    vars,
    input,
    __import__,
    type,
)


def test_nothing_that_programs_get_leads_out_of_them() -> None:
    """Every attribute that programs may read, four steps deep, of what modules bind and of what members give."""
    seen: list[Any] = []
    todo: list[tuple[str, Any, int]] = [
        (f"{module}.{name}", getattr(importlib.import_module(module), name), 0)
        for module, names in STANDARD.items()
        for name in names
    ]
    todo += [(kind, value, 0) for kind, values in SAMPLES.items() for value in values]
    known = set[int]()
    while todo:
        path, value, depth = todo.pop()
        assert not isinstance(value, WAYS_OUT), path
        assert not any(value is each for each in FORBIDDEN), path
        if id(value) in known or depth > 3 or isinstance(value, FunctionType):
            continue
        seen.append(value)  # so that no other object gets its id
        known.add(id(value))
        for name in dir(value):
            if not leads_out(name):
                try:
                    todo.append((f"{path}.{name}", getattr(value, name), depth + 1))
                except Exception:  # noqa: BLE001 -- what can't be read leads nowhere
                    continue


def test_no_line_names_what_looks_behind_a_value() -> None:
    for full in (*MEMBERS, *OF_OBJECTS):
        assert not any(map(leads_out, full.split("."))), full


def test_functions_that_a_program_gets_are_those_of_the_table() -> None:
    """No other function of these modules is bound, whatever a module imports."""
    for module, names in STANDARD.items():
        for name in names:
            held = getattr(importlib.import_module(module), name)
            assert not callable(held) or f"{module}.{name}" in {*_EXACT, *MEMBERS}, name


_EXACT: Final = (
    *("math.isnan", "math.isinf", "math.isfinite", "math.fabs", "math.floor", "math.ceil"),
    *("math.trunc", "math.sqrt", "re.match", "re.fullmatch", "re.search", "re.compile"),
    *("dataclasses.asdict", "dataclasses.dataclass", "dataclasses.field", "dataclasses.replace"),
    *("collections.Counter", "collections.defaultdict"),
    *("contextlib.nullcontext", "contextlib.suppress"),
)


def test_lines_are_read_as_they_stand() -> None:
    (line,) = MEMBERS["datetime.date.fromisoformat"]
    assert line.raises == ("ValueError",)
    assert line.given == Given("object", kind=Kind.DATE)
