"""The lines of the library's table, read: what each member takes, what it gives, and what it may raise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lictor_ir.types import BOOL, FLOAT, INT, NONE, STR, Type
from lictor_prove.python.kinds import NUMERIC, OBJECTS, WHOLE, Kind
from lictor_prove.python.library import members

_TYPES: Final[Mapping[str, Type]] = {
    "bool": BOOL,
    "int": INT,
    "float": FLOAT,
    "str": STR,
    "None": NONE,
}
_GROUPS: Final[Mapping[str, tuple[Kind, ...]]] = {
    "bool": (Kind.BOOL,),
    "int": WHOLE,
    "number": NUMERIC,
    "float": (Kind.FLOAT,),
    "str": (Kind.STR,),
    "None": (Kind.NONE,),
    "dict": (Kind.DICT,),
    "tuple": (Kind.TUPLE,),
    "Pattern": (Kind.PATTERN,),
    "text_class": (Kind.CLASS,),
}


@dataclass(frozen=True, slots=True)
class Taken:
    """What an argument may be: of these kinds, or a container of items of just such kinds; anything where nothing is
    said."""

    kinds: frozenset[Kind] = frozenset()
    items: frozenset[Kind] = frozenset()

    @property
    def is_any(self) -> bool:
        return not self.kinds and not self.items


@dataclass(frozen=True, slots=True)
class Given:
    """What a member gives: a value of a type or an object, a list, an iterator, a tuple, or one of several."""

    form: str
    """`type`, `object`, `list`, `iterator`, `tuple` or `either`."""
    type: Type | None = None
    kind: Kind | None = None
    parts: tuple[Given, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a member."""

    name: str
    taken: Taken
    by_position: bool
    by_name: bool
    is_optional: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """A line of the table."""

    name: str
    parameters: tuple[Parameter, ...]
    more: Taken | None
    """What any number of further arguments may be."""
    named: Taken | None
    """What any number of further keywords may be."""
    given: Given
    raises: tuple[str, ...]
    is_called: bool = True
    """Whether it is a function; else it is read."""


_OPERATOR: Final = re.compile(r"(.+?) (\+|-|\*|//|/|%|<|in) (.+)")


def _lines(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for line in filter(None, text.replace("\n    ", " ").splitlines()):
        told, _, raises = line.partition(" ! ")
        what, _, gives = told.rpartition(" -> ")
        yield what, gives, tuple(filter(None, raises.split(", ")))


def _read(text: str) -> dict[str, list[Signature]]:
    found: dict[str, list[Signature]] = {}
    for what, gives, raises in _lines(text):
        name, signature = _signature(what, _given(_expression(gives)), raises)
        found.setdefault(name, []).append(signature)
    return found


def _signature(what: str, given: Given, raises: tuple[str, ...]) -> tuple[str, Signature]:
    operator = _OPERATOR.fullmatch(what) if ": " not in what else None
    if operator is not None:
        left, symbol, right = operator.groups()
        name = "order" if symbol == "<" else f"`{symbol}`"
        operands = (left, right)
    elif what.endswith("]"):
        owner, _, index = what[:-1].partition("[")
        name, operands = "an item", (owner, index)
    elif what.endswith(")"):
        name, _, parameters = what[:-1].partition("(")
        return name, _function(name, parameters, given, raises)
    else:
        return what, Signature(what, (), None, None, given, raises, is_called=False)
    taken = [_taken(_expression(each.strip("()"))) for each in operands]
    made = tuple(Parameter("", each, True, False, False) for each in taken)
    return name, Signature(name, made, None, None, given, raises)


def _function(name: str, parameters: str, given: Given, raises: tuple[str, ...]) -> Signature:
    lambda_ = ast.parse(f"def f({parameters}): ...").body[0]
    assert isinstance(lambda_, ast.FunctionDef)
    told = lambda_.args
    positional = [*told.posonlyargs, *told.args]
    required = len(positional) - len(told.defaults)
    made = [
        Parameter(
            each.arg,
            _annotation(each),
            True,
            at >= len(told.posonlyargs),
            is_optional=at >= required,
        )
        for at, each in enumerate(positional)
    ]
    made += [Parameter(each.arg, _annotation(each), False, True, True) for each in told.kwonlyargs]
    return Signature(
        name,
        tuple(made),
        None if told.vararg is None else _annotation(told.vararg),
        None if told.kwarg is None else _annotation(told.kwarg),
        given,
        raises,
    )


def _annotation(argument: ast.arg) -> Taken:
    assert argument.annotation is not None
    return _taken(argument.annotation)


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _options(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _options(node.left)
        yield from _options(node.right)
    else:
        yield node


def _taken(node: ast.expr) -> Taken:
    kinds, items = set[Kind](), set[Kind]()
    for each in _options(node):
        if isinstance(each, ast.Subscript):
            items |= {Kind(ast.unparse(item)) for item in _options(each.slice)}
            continue
        name = ast.unparse(each)
        if name == "any":
            return Taken()
        kinds |= set(_GROUPS.get(name) or (Kind(name),))
    return Taken(frozenset(kinds), frozenset(items))


def _given(node: ast.expr) -> Given:
    options = list(_options(node))
    if len(options) > 1:
        return Given("either", parts=tuple(map(_given, options)))
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return Given(ast.unparse(node.value), parts=tuple(map(_given, inner)))
    name = ast.unparse(node)
    if name in _TYPES:
        return Given("type", type=_TYPES[name])
    kind = Kind(name)
    assert kind in OBJECTS, f"{name} is no object of the library"
    return Given("object", kind=kind)


MEMBERS: Final = _read(members.MEMBERS)
"""Members of modules, by their full names."""
OF_OBJECTS: Final = _read(members.OBJECTS)
"""Attributes and methods by `kind.name`, builtins by name, operators by the names that messages have for them."""


def modules() -> Mapping[str, Sequence[str]]:
    """The names that each module binds."""
    found: dict[str, dict[str, None]] = {}
    for full in MEMBERS:
        module = max((each for each in _MODULES if full.startswith(f"{each}.")), key=len)
        found.setdefault(module, {})[full.removeprefix(f"{module}.").partition(".")[0]] = None
    return {name: tuple(held) for name, held in found.items()}


_MODULES: Final = frozenset(
    [
        *(
            "base64",
            "datetime",
            "decimal",
            "fractions",
            "functools",
            "hashlib",
            "html",
            "itertools",
        ),
        *(
            "json",
            "math",
            "operator",
            "os.path",
            "random",
            "re",
            "statistics",
            "string",
            "textwrap",
        ),
        *("time", "urllib.parse", "uuid"),
    ]
)
