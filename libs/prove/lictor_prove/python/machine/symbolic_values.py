"""What an expression of a program may be while it is executed symbolically.

Scalars and rows are terms. Lists, dicts and sets live in the store and are referred to, so that an alias is an alias.
What can't be one term (None or a string, by path) is a union whose guards exclude each other and leave nothing out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from lictor_ir.document import Schema
from lictor_ir.records import record
from lictor_ir.terms import (
    FALSE,
    HIGHEST_CHARACTER,
    TRUE,
    Const,
    Term,
    Var,
    apply,
    const,
    ite,
    substitute,
)
from lictor_ir.types import BOOL, FLOAT, INT, NONE, STR, Type
from lictor_prove.layer_model import ContractBuilder, TrustedFunction
from lictor_prove.python.refusals import MAX_ITERATIONS, refuse, unmodelled

SCALARS: Final = (BOOL, INT, FLOAT, STR)
_KNOWN: Final = (*SCALARS, NONE)
KEYED: Final = ("dict", "defaultdict", "Counter")
"""Kinds of containers whose entries have keys."""


class SymbolicValue:
    """Base of everything an expression may be."""

    __slots__ = ()


@record(eq=False)
class Sym(SymbolicValue):
    """A term: a scalar, None, a row, or a container that a trusted call returned."""

    term: Term

    @property
    def type(self) -> Type:
        return self.term.type


@dataclass(frozen=True, slots=True, eq=False)
class ObjectV(SymbolicValue):
    """An object of the standard library: a date, a template, what JSON holds. It never changes."""

    kind: str
    term: Term
    """Stands for all that it is made of; nothing but the table of the library says what may be read of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Composite(SymbolicValue):
    """A value that is made of others, and stays as it is: a tuple, or an instance whose fields nobody assigns."""

    items: tuple[SymbolicValue, ...]
    size: int = field(init=False)
    """How many items it has, with those of the tuples in it: `t = (t, t)` doubles what has to be looked at."""

    def __post_init__(self) -> None:
        size = sum(item.size + 1 if isinstance(item, Composite) else 1 for item in self.items)
        if size > MAX_ITERATIONS:
            refuse(
                "limits.items",
                f"a tuple here has more than {MAX_ITERATIONS} items, with those in its items",
                "Make it smaller.",
            )
        object.__setattr__(self, "size", size)

    def of(self, items: Iterable[SymbolicValue]) -> Composite:
        """The same, made of other values."""
        raise NotImplementedError

    @property
    def shape(self) -> object:
        """Equal for those that differ in nothing but what they are made of."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class TupleV(Composite):
    """A tuple."""

    def of(self, items: Iterable[SymbolicValue]) -> TupleV:
        """A tuple of these."""
        return TupleV(tuple(items))

    @property
    def shape(self) -> object:
        """How long it is."""
        return len(self.items)


@dataclass(frozen=True, slots=True, eq=False)
class DataClass:
    """A dataclass of the program."""

    name: str
    fields: tuple[DataField, ...]
    is_frozen: bool
    is_assigned: bool
    """Whether the program assigns to an attribute that has the name of a field."""
    methods: Mapping[str, FunctionV]

    @property
    def is_value(self) -> bool:
        """Whether its instances stay as they are made: then it makes no difference which of two equal ones it is."""
        return self.is_frozen or not self.is_assigned

    def place(self, name: str) -> int | None:
        """The place of a field among the others."""
        return next((at for at, each in enumerate(self.fields) if each.name == name), None)


@dataclass(frozen=True, slots=True, eq=False)
class DataField:
    """A field of a dataclass."""

    name: str
    default: SymbolicValue | None = None
    factory: str = ""
    """`list`, `dict` or `set`: what is made anew for each instance that is given none."""
    is_named: bool = False
    """Whether it is passed by name only."""

    @property
    def is_optional(self) -> bool:
        """Whether an instance may be made without it."""
        return self.default is not None or bool(self.factory)


@dataclass(frozen=True, slots=True, eq=False)
class DataClassV(SymbolicValue):
    """A dataclass, where the program names it."""

    made: DataClass


@dataclass(frozen=True, slots=True, eq=False)
class InstanceV(Composite):
    """An instance of a dataclass whose fields nobody assigns, with what they hold."""

    made: DataClass

    def of(self, items: Iterable[SymbolicValue]) -> InstanceV:
        """An instance of the class with these fields."""
        return InstanceV(tuple(items), self.made)

    @property
    def shape(self) -> object:
        """What it is an instance of."""
        return self.made


class FieldKey(NamedTuple):
    """Where the store holds a field of an instance, as it holds the names of a frame."""

    instance: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class InstanceRef(SymbolicValue):
    """An instance of a dataclass whose fields are assigned, by its place in the store."""

    id: int
    made: DataClass

    @property
    def keys(self) -> Iterator[FieldKey]:
        """Where its fields are."""
        return (FieldKey(self.id, each.name) for each in self.made.fields)


@dataclass(frozen=True, slots=True, eq=False)
class Ref(SymbolicValue):
    """A list, dict or set, by its place in the store."""

    id: int


@dataclass(frozen=True, slots=True, eq=False)
class UnionV(SymbolicValue):
    """One of these. Where the path is taken exactly one guard holds."""

    alternatives: tuple[tuple[Term, SymbolicValue], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unbound(SymbolicValue):
    """A name that has no value."""


@dataclass(frozen=True, slots=True, eq=False)
class Poison(SymbolicValue):
    """What is unknown after, or in the next round of, a loop over a list of unknown length."""

    name: str
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class Hole(SymbolicValue):
    """Any value of a type, in a template of what a loop leaves; no expression is one."""

    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class ObjectHole(SymbolicValue):
    """Any object of the standard library of a kind, in such a template: it is a value of no type."""

    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(SymbolicValue):
    """Something that may be passed around in silence, and not looked at."""

    what: str


@dataclass(frozen=True, slots=True, eq=False)
class HintV(Opaque):
    """A name of `typing`, for annotations."""

    hint: Any


@dataclass(frozen=True, slots=True, eq=False)
class FunctionV(SymbolicValue):
    """A function or lambda of the program, with the frame it was defined in."""

    node: ast.FunctionDef | ast.Lambda
    frame: int
    defaults: Mapping[str, SymbolicValue]

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "lambda"


@dataclass(frozen=True, slots=True, eq=False)
class TrustedV(SymbolicValue):
    """A function of the trusted layer."""

    function: TrustedFunction


@dataclass(frozen=True, slots=True, eq=False)
class ContractV(SymbolicValue):
    """A contract of the trusted layer: for guarantees only."""

    builder: ContractBuilder


@dataclass(frozen=True, slots=True, eq=False)
class LiteralV(SymbolicValue):
    """A class of the layer whose instances may be written in the arguments of a guarantee."""

    made: type


@dataclass(frozen=True, slots=True, eq=False)
class LanguageV(SymbolicValue):
    """`guarantee` or `Row`, of the package that programs are written with."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class SchemaV(SymbolicValue):
    """A row class."""

    schema: Schema


@dataclass(frozen=True, slots=True, eq=False)
class BuiltinV(SymbolicValue):
    """A builtin function, or one of a modelled standard module: `len`, `re.match`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class MethodV(SymbolicValue):
    """A method of a value."""

    owner: SymbolicValue
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ModuleV(SymbolicValue):
    """A module, or a package on the way to one."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class PatternV(SymbolicValue):
    """A compiled regular expression."""

    pattern: str


@dataclass(frozen=True, slots=True, eq=False)
class MatchV(SymbolicValue):
    """A match; `whole` is the matched text where it is known to be the whole string."""

    whole: SymbolicValue | None


@dataclass(frozen=True, slots=True, eq=False)
class RangeV(SymbolicValue):
    """A range with known bounds."""

    known: range


@dataclass(frozen=True, slots=True, eq=False)
class SequenceV(SymbolicValue):
    """A list, range or iterator of unknown length: an item for each index, where `keep` holds of it."""

    over: Term
    """A list that a trusted call returned, or a count."""
    index: Var
    item: SymbolicValue
    keep: Term
    kind: str = "list"
    """`list`, `range`, or `iterator` for what Python gives only once, as `enumerate` does."""
    watched: tuple[tuple[int, Content], ...] = ()
    """Objects that must not change while it is looped over: it is a view of them."""
    picked: SequenceV | None = None
    """The same list by an unknown number of unknown indices, where not all are kept: for whoever asks for its length or
    an item."""
    tells_length: bool = False
    """Whether it is a range, or an iterator over one: it tells whoever makes a list of it how long that will be."""

    def at(self, index: Term) -> SequenceV:
        """The same, by another index; where that is no variable, only its item counts."""
        if index is self.index:
            return self
        names: Mapping[Term, Term] = {self.index: index}
        named = index if isinstance(index, Var) else self.index
        keep = substitute(self.keep, names)
        item = renamed(self.item, names)
        return replace(self, index=named, item=item, keep=keep)


@dataclass(frozen=True, slots=True, eq=False)
class OnceV(SymbolicValue):
    """An iterator over known items, or a view of a dict, to be used where it stands: `zip`, `dict.items`."""

    items: tuple[ContainerItem, ...]
    watched: tuple[tuple[int, Content], ...]
    kind: str = "iterator"
    """`iterator`, or `dict_keys`, `dict_values`, `dict_items` for the views of a dict."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordV(SymbolicValue):
    """The effect that a contract's lambda speaks about."""

    fields: Mapping[str, Term]
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class ColumnV(SymbolicValue):
    """A column of a row class, in a contract's lambda."""

    schema: str
    column: str


@dataclass(frozen=True, slots=True, eq=False)
class ErrorV(SymbolicValue):
    """An error that is being handled."""

    text: SymbolicValue


@dataclass(frozen=True, slots=True, eq=False)
class ForeignV(SymbolicValue):
    """A Python object that a lambda of the layer refers to."""

    object: Any


@dataclass(frozen=True, slots=True, eq=False)
class ContainerItem:
    """One item of a container, which is there where `present` holds. For dicts, with its key."""

    present: Term
    value: SymbolicValue
    key: SymbolicValue | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a list, dict or set holds, in order. Keys of a dict and items of a set differ where both are present."""

    kind: str
    """`list`, `dict`, `defaultdict`, `Counter`, `set` or `frozenset`."""
    held: tuple[ContainerItem, ...] | SequenceV
    """Its entries; or how many there are, which nobody knows, and what stands at each index: of a dict, pairs."""
    appended: Appended | None = None
    """Of a list of unknown length to which only `append` put something since some moment."""

    @property
    def is_dict(self) -> bool:
        """Whether it has keys."""
        return self.kind in KEYED

    @property
    def entries(self) -> tuple[ContainerItem, ...]:
        """What it holds, where that is known."""
        if isinstance(self.held, SequenceV):
            unmodelled(
                "list.symbolic",
                "what this container holds is not known",
                "Loop over it, or ask for its length.",
            )
        return self.held


@dataclass(frozen=True, slots=True, eq=False)
class Appended:
    """What a list held at some moment, and what was appended since."""

    before: Content
    items: tuple[ContainerItem, ...]

    @staticmethod
    def since(content: Content, *items: ContainerItem) -> Appended:
        """What was appended to a list that holds this, and now these."""
        known = content.appended
        return (
            Appended(content, items)
            if known is None
            else Appended(known.before, (*known.items, *items))
        )


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


def is_none(value: SymbolicValue) -> bool:
    """Whether it is None, whatever the path."""
    return isinstance(value, Sym) and value.type == NONE


def is_known(value: SymbolicValue) -> bool:
    """Whether it is None, or a bool, number or string, whose value is known."""
    return isinstance(value, Sym) and isinstance(value.term, Const) and value.type in _KNOWN


def known_scalar(value: SymbolicValue) -> bool | int | float | str | None:
    """The value of a known scalar."""
    assert isinstance(value, Sym)
    assert isinstance(value.term, Const)
    held = value.term.value
    assert held is None or isinstance(held, bool | int | float | str)
    return held


def alternatives(value: SymbolicValue) -> Sequence[tuple[Term, SymbolicValue]]:
    """What it may be."""
    return value.alternatives if isinstance(value, UnionV) else ((TRUE, value),)


def renamed(value: SymbolicValue, names: Mapping[Term, Term]) -> SymbolicValue:
    """The value with indices replaced."""
    match value:
        case Sym(term):
            return Sym(substitute(term, names))
        case ObjectV(kind, term):
            return ObjectV(kind, substitute(term, names))
        case Composite(items):
            return value.of(renamed(item, names) for item in items)
        case UnionV(options):
            return UnionV(
                tuple((substitute(guard, names), renamed(item, names)) for guard, item in options)
            )
        case _:
            return value


def count(sequence: SequenceV) -> Term:
    """How many items it has, if all are kept."""
    over = sequence.over
    if over.type != INT:
        return apply("len", over)
    return ite(apply("lt", over, const(0)), const(0), over)


def described(value: SymbolicValue) -> str:
    """What it is, for messages."""
    match value:
        case Sym():
            return "None" if value.type == NONE else f"a value of type {value.type}"
        case ObjectV(kind):
            return f"a value of type {kind}"
        case TupleV():
            return "a tuple"
        case InstanceV(made=made) | InstanceRef(made=made):
            return f"an instance of {made.name}"
        case DataClassV(made):
            return f"the dataclass {made.name}"
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
        case ErrorV():
            return "an error"
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
