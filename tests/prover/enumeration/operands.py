"""The values that enumerated programs compute with, by kind: written out, or answers of trusted calls.

Nothing here is taken from the front-end: its tables are what is tried.
"""

from __future__ import annotations

import enum
import importlib.util
import math
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from lictor_layer import Row

HOME = Path(__file__).parent / "layers" / "tools" / "probe" / "trusted"
VAST = 10**400
"""More than any float is."""
LONG = 2**53 + 1
"""The first whole number that no float is."""


def _loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"enumeration_{name}", HOME / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_schemas, _constants = _loaded("schemas"), _loaded("constants")
PairRow, WiderRow = _schemas.PairRow, _schemas.WiderRow
SCHEMAS: Mapping[str, Any] = {"PairRow": PairRow, "WiderRow": WiderRow}
CONSTANTS: Mapping[str, Any] = {
    name: held for name, held in vars(_constants).items() if name.isupper()
}


def _row(text: str = "a", count: int = 1, size: float = 1.5) -> Row:
    return PairRow(text=text, count=count, flag=count > 0, size=size)


ANSWERS: Mapping[str, tuple[Any, ...]] = {
    "observe": (None,),
    "nothing": (None,),
    "a_bool": (True, False),
    "an_int": (0, 1, -1, 2, LONG, -(2**70), VAST),
    "a_count": (0, 1, 3, -2),
    "a_vast": (2**63 - 1, 2**63, 2**64 + 1, VAST),
    "a_float": (0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 1.0, 1e300),
    "a_str": ("", "a", "1", "é", "ab", "aab", "\n", "a\n", "ß", "٣"),
    "a_row": (_row(), _row("b", 0), _row("", -1, math.nan)),
    "a_wider_row": (WiderRow(text="a", count=1, flag=True, size=1.5, note="n"),),
    "bools": ([], [True], [False, True]),
    "ints": ([], [1], [2, 1, 2], [VAST, -1]),
    "floats": ([], [1.5], [math.nan, 0.0], [-0.0, 0.0]),
    "strs": ([], ["a"], ["b", "a", "b"], ["", "1"]),
    "rows": ([], [_row()], [_row("b", 0), _row()]),
}
"""What each trusted function answers: within what it is annotated with."""

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    name: ("value",) if name == "observe" else () for name in ANSWERS
}


@dataclass(frozen=True)
class Operand:
    """One way to write a value of a kind."""

    kind: str
    text: str
    type: type
    before: str = ""
    """A statement that makes `{name}`; `{name} = {text}` where there is none."""
    passable: bool = True
    """Whether it is something that a trusted function could take."""
    shown: str = "{name}"
    """What a trusted function is given to show it."""

    def bound(self, name: str) -> list[str]:
        """Statements that bind it."""
        if not self.before:
            return [f"{name} = {self.text}"]
        return self.before.format(name=name).splitlines()

    def read(self, name: str) -> str:
        """An expression of what it holds."""
        return self.shown.format(name=name)


def _of(kind: str, type_: type, *texts: str, passable: bool = True) -> list[Operand]:
    return [Operand(kind, text, type_, passable=passable) for text in texts]


def _either(type_: type, one: str, other: str) -> Operand:
    text = f"({one} if a_bool() else {other})"
    return Operand("either", text, type_)


@dataclass(frozen=True)
class Cold:
    """Like the frozen dataclass of enumerated programs."""

    text: str
    count: int = 1


@dataclass
class Warm:
    """Like the one whose fields are assigned."""

    text: str
    count: int = 1


def _function() -> None:
    """Stands for functions of programs."""


OPERANDS: tuple[Operand, ...] = (
    *_of("none", type(None), "None", "nothing()"),
    *_of("bool", bool, "True", "False", "a_bool()", "ON"),
    *_of("int", int, "0", "1", "-1", str(LONG), str(VAST), "an_int()", "LIMIT"),
    *_of(
        "float", float, "0.0", "-0.0", "1.5", 'float("nan")', 'float("inf")', "a_float()", "SHARE"
    ),
    *_of("str", str, '""', '"a"', '"1"', '"é"', '"a b"', "a_str()", "NAME"),
    *_of("tuple", tuple, "()", "(1,)", '("a", 1)', "(an_int(), a_str())", "((1, 2), [3])"),
    *_of("list", list, "[]", "[1]", '["b", "a"]', "[an_int()]", "[1.5, True]", "[[1], [1]]"),
    *_of("list", list, "ints()", "strs()", "floats()", "rows()", "bools()", "strs()[1:]"),
    *_of("list", list, '[s + "x" for s in strs()]', "[n for n in ints() if n > 0]"),
    Operand("list", "", list, '{name} = ["a"]\nif a_bool():\n    {name}.append("b")'),
    *_of("dict", dict, "{}", '{"a": 1}', '{1: "x", 2: "y"}', '{"a": an_int()}', "{an_int(): 1}"),
    Operand("dict", "", dict, '{name} = {{"a": 1}}\nif a_bool():\n    {name}["b"] = 2'),
    *(
        Operand("defaultdict", text, defaultdict, shown="dict({name})")
        for text in (
            *("defaultdict(int)", "defaultdict(list)", "defaultdict(lambda: 5)"),
            *("defaultdict(helper)", '(defaultdict(int) | {"a": 1})'),
        )
    ),
    *(
        Operand("Counter", text, Counter, shown="dict({name})")
        for text in (
            *("Counter()", 'Counter(["b", "a", "a"])', "Counter(strs())", "Counter([an_int()])"),
            *('Counter("aab")', 'Counter(s + "x" for s in strs())'),
        )
    ),
    *(
        Operand("Counter", "", Counter, f"{{name}} = {text}", shown="dict({name})")
        for text in (
            'Counter()\n{name}[a_str()] += 1\n{name}["a"] += 1',
            "Counter()\nfor s in strs():\n    {name}[s] += 1",
            'Counter(["a"])\nif a_bool():\n    {name}["b"] += 2',
        )
    ),
    *(
        Operand("defaultdict", "", defaultdict, f"{{name}} = {text}", shown="dict({name})")
        for text in (
            'defaultdict(int)\n{name}["a"] += 1',
            "defaultdict(list)\n{name}[an_int()].append(2)",
            'defaultdict(int)\nif a_bool():\n    {name}["a"]',
            'defaultdict(str)\n{name}[a_str()] += "x"',
            "defaultdict(int)\nfor s in strs():\n    {name}[s] += 1",
            "defaultdict(list)\nfor r in rows():\n    {name}[r.count].append(r.text)",
        )
    ),
    *_of("set", set, "set()", "{1}", '{"a", "b"}', "{an_int()}", "{1.5, 2}"),
    *_of("range", range, "range(0)", "range(3)", "range(5, 0, -2)", passable=False),
    *_of("range", range, "range(a_count())", "range(a_count(), 3)", passable=False),
    *_of("row", PairRow, "a_row()", 'PairRow(text="a", count=1, flag=True, size=1.5)'),
    *_of("row", WiderRow, "a_wider_row()"),
    *_of(
        "dataclass", Cold, 'Cold("a")', "Cold(a_str(), an_int())", "Cold(1.5, [1])", passable=False
    ),
    *_of("dataclass", Warm, 'Warm("a")', "Warm(a_str(), count=a_bool())", passable=False),
    Operand("dataclass", "", Warm, '{name} = Warm("a")\n{name}.count = an_int()', passable=False),
    _either(Warm, 'Warm("a", 2)', "None"),
    *_of("class of the program", type, "Cold", "Warm", passable=False),
    *_of("row class", type(PairRow), "PairRow", "Own", passable=False),
    *_of("enum", enum.Enum, "RED", passable=False),
    *_of("enum", enum.IntEnum, "ONE", "ZERO", passable=False),
    *_of("enum", enum.IntFlag, "FLAG", passable=False),
    *_of("enum", enum.StrEnum, "ANN", "NOBODY", "OLD_ANN", passable=False),
    *_of("subclass", str, "LOUD", passable=False),
    *_of("subclass", float, "DOUBT", passable=False),
    *_of("tuple", tuple, "PAIR"),
    *_of("function", type(_function), "(lambda: 1)", "helper", "observe", passable=False),
    *_of("builtin", type(len), "len", "print", "math.floor", "re.match", passable=False),
    *_of("class", type, "int", "str", "list", passable=False),
    *_of("method", type("".upper), '"a".upper', "[1].append", "a_str().upper", passable=False),
    *_of("pattern", re.Pattern, 're.compile("a+")', passable=False),
    *_of("match", re.Match, 're.match("a+", "aab")', 're.fullmatch("a|b", "a")', passable=False),
    *_of(
        "match", re.Match, 're.search("a", a_str())', 're.fullmatch("a+", a_str())', passable=False
    ),
    *_of("iterator", type(iter([])), "reversed([1, 2])", "iter([1])", passable=False),
    *_of("iterator", enumerate, 'enumerate(["a"])', "enumerate(strs())", passable=False),
    *_of("iterator", zip, "zip([1], [2])", "zip(strs(), [1])", passable=False),
    *_of("iterator", reversed, "reversed(strs())", "(n for n in [1, 2])", passable=False),
    *_of("view", type({}.keys()), '{"a": 1}.keys()', "{1: 2}.values()", passable=False),
    *_of("view", type({}.items()), '{"a": 1}.items()', passable=False),
    *_of("bytes", bytes, 'b"a"', passable=False),
    *_of("complex", complex, "1j", passable=False),
    *_of("ellipsis", type(...), "...", passable=False),
    *_of("frozenset", frozenset, "frozenset({1})", passable=False),
    *_of("module", ModuleType, "math", "re", "string", passable=False),
    _either(str, "a_str()", "None"),
    _either(str, '"a"', "None"),
    _either(int, "1", "True"),
    _either(int, "an_int()", '"a"'),
    _either(list, "[1]", "(1,)"),
    _either(set, '{"a"}', '{"a": 1}'),
    Operand("either", '(defaultdict(int) if a_bool() else {"a": 1})', dict, shown="dict({name})"),
    _either(float, "1.5", "1"),
)

VAST_RANGE = Operand("range", "range(a_vast())", range, passable=False)
"""Only for what Python answers without counting."""


def arguments() -> tuple[Operand, ...]:
    """A few operands of each kind, for what takes several: written out, and unknown."""
    chosen = (
        "None", "True", "a_bool()", "0", "1", "-1", "an_int()", "1.5", "a_float()", '""', '"a"',
        "a_str()", '("a", 1)', "[1]", '["b", "a"]', "strs()", '{"a": 1}', "{1}", "defaultdict(int)", "range(3)",
        "range(a_count())", "a_row()", "ONE", "ANN", "(lambda: 1)", 're.compile("a+")',
        '{"a": 1}.keys()', "reversed([1, 2])", 'Cold("a")',
        "Warm(a_str(), count=a_bool())", '("a" if a_bool() else None)', "PairRow", "math",
    )  # fmt: skip
    known = {each.text: each for each in OPERANDS}
    return tuple(known[text] for text in chosen)


def fewer() -> tuple[Operand, ...]:
    """Still fewer, for three of them."""
    chosen = ("None", "1", "-1", "an_int()", '"a"', "a_str()", "[1]", "True", "1.5")
    known = {each.text: each for each in OPERANDS}
    return tuple(known[text] for text in chosen)


def names_of(types: Callable[[Any], list[str]] = dir) -> tuple[str, ...]:
    """Every name that a value of some kind has, and some that none has."""
    found = {name for each in OPERANDS for name in types(each.type)}
    for module in (math, re, string):
        found |= set(dir(module))
    found |= {"text", "count", "note", "nonsense", "Append", "value_", "email"}
    return tuple(sorted(found))
