"""What an expression of a program may be while it is executed symbolically.

Scalars and rows are terms. Lists, dicts and sets live in the store and are referred to, so that an alias is an alias.
What can't be one term (None or a string, by path) is a union whose guards exclude each other and leave nothing out.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lictor_ir.document import Schema
from lictor_ir.terms import (
    FALSE,
    HIGHEST_CHARACTER,
    TRUE,
    Const,
    Term,
    Var,
    and_,
    const,
    ite,
    not_,
    or_,
    substitute,
)
from lictor_ir.types import BOOL, FLOAT, INT, NONE, STR, Type
from lictor_prove.layer_model import ContractBuilder, TrustedFunction
from lictor_prove.python.limits import MAX_ALTERNATIVES
from lictor_prove.python.refusals import refuse

SCALARS: Final = (BOOL, INT, FLOAT, STR)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """Base of everything an expression may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Sym(Value):
    """A term: a scalar, None, a row, or a container that a trusted call returned."""

    term: Term

    @property
    def type(self) -> Type:
        return self.term.type


@dataclass(frozen=True, slots=True, eq=False)
class TupleV(Value):
    """A tuple."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ref(Value):
    """A list, dict or set, by its place in the store."""

    id: int


@dataclass(frozen=True, slots=True, eq=False)
class UnionV(Value):
    """One of these. Where the path is taken exactly one guard holds."""

    alternatives: tuple[tuple[Term, Value], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unbound(Value):
    """A name that has no value."""


@dataclass(frozen=True, slots=True, eq=False)
class Poison(Value):
    """What can't be told after, or in the next round of, a loop over a list of unknown length."""

    name: str
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Value):
    """Something that may be passed around in silence, and not looked at."""

    what: str


@dataclass(frozen=True, slots=True, eq=False)
class FunctionV(Value):
    """A function or lambda of the program, with the frame it was defined in."""

    node: ast.FunctionDef | ast.Lambda
    frame: int
    defaults: Mapping[str, Value]

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "lambda"


@dataclass(frozen=True, slots=True, eq=False)
class TrustedV(Value):
    """A function of the trusted layer."""

    function: TrustedFunction


@dataclass(frozen=True, slots=True, eq=False)
class ContractV(Value):
    """A contract of the trusted layer: for guarantees only."""

    builder: ContractBuilder


@dataclass(frozen=True, slots=True, eq=False)
class LiteralV(Value):
    """A class of the layer whose instances may be written in the arguments of a guarantee."""

    made: type


@dataclass(frozen=True, slots=True, eq=False)
class LanguageV(Value):
    """`guarantee` or `Row`, of the package that programs are written with."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class SchemaV(Value):
    """A row class."""

    schema: Schema


@dataclass(frozen=True, slots=True, eq=False)
class BuiltinV(Value):
    """A builtin function, or one of a modelled standard module: `len`, `re.match`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class MethodV(Value):
    """A method of a value."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ModuleV(Value):
    """A module, or a package on the way to one."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class PatternV(Value):
    """A compiled regular expression."""

    pattern: str


@dataclass(frozen=True, slots=True, eq=False)
class MatchV(Value):
    """A match; `whole` is the matched text where it is known to be the whole string."""

    whole: Value | None


@dataclass(frozen=True, slots=True, eq=False)
class RangeV(Value):
    """A range with known bounds."""

    known: range


@dataclass(frozen=True, slots=True, eq=False)
class SequenceV(Value):
    """A list of unknown length that was made from one: an item for each index, where `keep` holds of it."""

    over: Term
    """A list that a trusted call returned, or a count."""
    index: Var
    item: Value
    keep: Term
    reusable: bool = True
    """False for what Python gives only once, as `enumerate` does."""


@dataclass(frozen=True, slots=True, eq=False)
class OnceV(Value):
    """An iterator over known items, to be used where it stands: `zip`, `dict.items`."""

    items: tuple[Entry, ...]
    watched: tuple[tuple[int, Content], ...]


@dataclass(frozen=True, slots=True, eq=False)
class RecordV(Value):
    """The effect that a contract's lambda speaks about."""

    fields: Mapping[str, Term]
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class ColumnV(Value):
    """A column of a row class, in a contract's lambda."""

    schema: str
    column: str


@dataclass(frozen=True, slots=True, eq=False)
class ForeignV(Value):
    """A Python object that a lambda of the layer refers to."""

    object: Any


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One item of a container, which is there where `present` holds. For dicts, with its key."""

    present: Term
    value: Value
    key: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a list, dict or set holds, in order. Keys of a dict and items of a set differ where both are present."""

    kind: str
    """`list`, `dict` or `set`."""
    entries: tuple[Entry, ...]


NONE_VALUE: Final = Sym(const(None))
TRUE_VALUE: Final = Sym(TRUE)
FALSE_VALUE: Final = Sym(FALSE)
UNBOUND: Final = Unbound()


def known(value: bool | int | float | str | None) -> Sym:
    """A value that is known."""
    if (
        isinstance(value, str)
        and not value.isascii()
        and (
            ord(max(value)) > HIGHEST_CHARACTER
            or any("\ud800" <= char <= "\udfff" for char in value)
        )
    ):
        refuse(
            "string.character",
            f"a string here holds a surrogate or a character above U+{HIGHEST_CHARACTER:X}",
            "Leave such characters out.",
        )
    return Sym(const(value))


def boolean(term: Term) -> Sym:
    """A bool."""
    return Sym(term)


def is_none(value: Value) -> bool:
    """Whether it is None, whatever the path."""
    return isinstance(value, Sym) and value.type == NONE


def is_known(value: Value) -> bool:
    """Whether it is a scalar whose value is known."""
    return isinstance(value, Sym) and isinstance(value.term, Const)


def known_scalar(value: Value) -> bool | int | float | str | None:
    """The value of a known scalar."""
    assert isinstance(value, Sym)
    assert isinstance(value.term, Const)
    held = value.term.value
    assert held is None or isinstance(held, bool | int | float | str)
    return held


def alternatives(value: Value) -> Sequence[tuple[Term, Value]]:
    """What it may be."""
    return value.alternatives if isinstance(value, UnionV) else ((TRUE, value),)


def merge(condition: Term, then: Value, otherwise: Value) -> Value:
    """One where the condition holds, else the other."""
    if then is otherwise or condition is TRUE:
        return then
    if condition is FALSE:
        return otherwise
    one = _one(condition, then, otherwise)
    if one is not None:
        return one
    negated = not_(condition)
    return union(
        [
            *((and_(condition, guard), value) for guard, value in alternatives(then)),
            *((and_(negated, guard), value) for guard, value in alternatives(otherwise)),
        ]
    )


def choose(options: Sequence[tuple[Term, Value]]) -> Value:
    """The first whose guard holds; the last one where none of the others' does."""
    value = options[-1][1]
    for guard, earlier in reversed(options[:-1]):
        value = merge(guard, earlier, value)
    return value


def union(options: Sequence[tuple[Term, Value]]) -> Value:
    """One of these, by guards that exclude each other; what can be one term becomes one."""
    kept: list[tuple[Term, Value]] = []
    for guard, value in options:
        if guard is FALSE:
            continue
        for at, (other_guard, other) in enumerate(kept):
            one = other if other is value else _one(other_guard, other, value)
            if one is not None:
                kept[at] = (or_(other_guard, guard), one)
                break
        else:
            kept.append((guard, value))
    if len(kept) > MAX_ALTERNATIVES:
        refuse(
            "limits.alternatives",
            f"a value here may be more than {MAX_ALTERNATIVES} different things, depending on the path",
            "Decide earlier what it is: make the call in each branch, or use values of one type.",
        )
    if not kept:
        return options[0][1]
    return kept[0][1] if len(kept) == 1 else UnionV(tuple(kept))


def _one(condition: Term, then: Value, otherwise: Value) -> Value | None:
    """The two as one value, if they can be."""
    match then, otherwise:
        case Sym(), Sym():
            if then.term is otherwise.term:
                return then
            if then.type == otherwise.type and then.type in SCALARS:
                return Sym(ite(condition, then.term, otherwise.term))
        case Ref(), Ref():
            return then if then.id == otherwise.id else None
        case TupleV(), TupleV():
            if len(then.items) == len(otherwise.items):
                return TupleV(
                    tuple(
                        merge(condition, *pair)
                        for pair in zip(then.items, otherwise.items, strict=True)
                    )
                )
        case (Unbound(), Unbound()) | (Poison(), Poison()):
            return then
        case (BuiltinV(one), BuiltinV(other)) | (ModuleV(one), ModuleV(other)):
            return then if one == other else None
        case TrustedV(), TrustedV():
            return then if then.function is otherwise.function else None
        case _:
            return None
    return None


def merge_contents(condition: Term, then: Content, otherwise: Content) -> Content:
    """What a container holds after two paths that changed it."""
    if then is otherwise:
        return then
    one, other = then.entries, otherwise.entries
    shared: list[Entry] = []
    while len(shared) < min(len(one), len(other)):
        entry = _same_place(then.kind, condition, one[len(shared)], other[len(shared)])
        if entry is None:
            break
        shared.append(entry)
    at = len(shared)
    if then.kind == "list" and len(one) == len(other) and _all_present(one) and _all_present(other):
        return Content(
            "list",
            tuple(
                Entry(TRUE, merge(condition, a.value, b.value))
                for a, b in zip(one, other, strict=True)
            ),
        )
    negated = not_(condition)
    rest = [
        *(_under(condition, entry) for entry in one[at:]),
        *(_under(negated, entry) for entry in other[at:]),
    ]
    return Content(then.kind, (*shared, *(entry for entry in rest if entry.present is not FALSE)))


def _same_place(kind: str, condition: Term, one: Entry, other: Entry) -> Entry | None:
    if one is other:
        return one
    if one.present is not other.present:
        return None
    if kind == "dict":
        assert one.key is not None
        assert other.key is not None
        if _same(one.key, other.key):
            return Entry(one.present, merge(condition, one.value, other.value), one.key)
        return None
    return one if _same(one.value, other.value) else None


def _same(one: Value, other: Value) -> bool:
    return one is other or (
        isinstance(one, Sym) and isinstance(other, Sym) and one.term is other.term
    )


def _all_present(entries: Sequence[Entry]) -> bool:
    return all(entry.present is TRUE for entry in entries)


def _under(guard: Term, entry: Entry) -> Entry:
    return Entry(and_(guard, entry.present), entry.value, entry.key)


def renamed(value: Value, names: Mapping[Term, Term]) -> Value:
    """The value with indices replaced."""
    match value:
        case Sym(term):
            return Sym(substitute(term, names))
        case TupleV(items):
            return TupleV(tuple(renamed(item, names) for item in items))
        case UnionV(options):
            return UnionV(
                tuple((substitute(guard, names), renamed(item, names)) for guard, item in options)
            )
        case _:
            return value


def described(value: Value) -> str:
    """What it is, for messages."""
    match value:
        case Sym():
            return "None" if value.type == NONE else f"a value of type {value.type}"
        case TupleV():
            return "a tuple"
        case Ref():
            return "a list, dict or set"
        case FunctionV() | TrustedV() | BuiltinV() | MethodV():
            return "a function"
        case ModuleV(name):
            return f"the module {name}"
        case SchemaV(schema):
            return f"the row class {schema.name}"
        case ContractV(builder):
            return f"the contract {builder.name}"
        case MatchV():
            return "a match"
        case PatternV():
            return "a regular expression"
        case RangeV():
            return "a range"
        case SequenceV() | OnceV():
            return (
                "an iterable of unknown length" if isinstance(value, SequenceV) else "an iterator"
            )
        case Opaque(what):
            return what
        case _:
            return "this value"
