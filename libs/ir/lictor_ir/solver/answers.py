"""What a solver says about a goal, and models as the inputs and results of a run.

A model is only a candidate until `lictor_ir.evaluation` has run the document with it: it names values where the goal
read them, and everything else is filled in here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from lictor_ir.document import Document, Enumeration, Schema
from lictor_ir.places import LENGTH, Place
from lictor_ir.records import record
from lictor_ir.terms import Result, results
from lictor_ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    REAL,
    STR,
    EnumOf,
    ListOf,
    MapOf,
    RowOf,
    SetOf,
    TupleOf,
    Type,
)
from lictor_ir.values import EnumValue, Open, RowValue, Value

MAX_ITEMS: Final = 10_000
"""Longer lists than this are not made for a counterexample."""


class Conclusion(StrEnum):
    """How a goal came out."""

    HOLDS = "holds"
    FAILS = "fails"
    """There is a model; whether a run is like it, evaluation must say."""
    UNDECIDED = "undecided"


@record()
class Read:
    """A value that the model names: where it stands, and the indices on the way."""

    root: str
    """An input's name, or a call's id."""
    is_result: bool
    steps: tuple[str, ...]
    indices: tuple[int, ...]
    """The call's own, then one for each `[]`."""
    value: Value


@dataclass(frozen=True, slots=True)
class SolverModel:
    """Values under which a goal's formula holds."""

    reads: tuple[Read, ...] = ()

    def variables(self) -> dict[str, Value]:
        """The scalar variables by name: inputs, indices, keys."""
        return {
            read.root: read.value for read in self.reads if not read.is_result and not read.steps
        }


def model_of(told: Iterable[tuple[Place, Any, Sequence[Any]]]) -> SolverModel:
    """The model that a solver tells: places, their values and their indices; None where it does not say."""
    reads: dict[tuple[Any, ...], Read] = {}
    for found, value, indices in told:
        if value is None or None in indices:
            continue
        root = found.root
        name = root.call if isinstance(root, Result) else root.name
        read = Read(name, isinstance(root, Result), found.steps, tuple(indices), value)
        reads[read.root, read.is_result, read.steps, read.indices] = read
    return SolverModel(tuple(reads.values()))


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found out about a goal."""

    conclusion: Conclusion
    model: SolverModel | None = None
    reason: str = ""
    how: str = "evaluation"
    """`evaluation` or the solver's name."""
    candidate: bool = False
    """The solver was told less than is true: its model may be none."""


HOLDS: Final = Answer(Conclusion.HOLDS)


def undecided(reason: str, how: str) -> Answer:
    """Nothing was found out."""
    return Answer(Conclusion.UNDECIDED, reason=reason, how=how)


def result_types(document: Document) -> dict[str, Type]:
    """What each call returns: as its effect declares it, or where that says `any`, as the document reads it."""
    effects = {effect.name: effect.result for effect in document.effects}
    # Goals read of a call that fails whether it had its effect.
    types = {
        atom.id: BOOL if atom.fails else effects.get(atom.effect, NONE) for atom in document.atoms
    }
    if any(type_ in (ANY, ListOf(ANY)) for type_ in types.values()):
        stated = (*document.atoms, *document.assumptions, *document.obligations)
        read = [
            *(term for atom in document.atoms for term in atom.arguments.values()),
            *(each.guard for each in stated),
            *(each.formula for each in (*document.assumptions, *document.obligations)),
            *(binder.over for each in stated for binder in each.binders),
        ]
        types.update((term.call, term.type) for term in results(*read) if term.call in types)
    return types


# -- from a model to a run -------------------------------------------------------------------------


@dataclass
class _Node:
    """What the model says about one value and its parts."""

    value: Any = None
    known: bool = False
    length: int | None = None
    items: dict[int, _Node] = field(default_factory=dict[int, "_Node"])
    columns: dict[str, _Node] = field(default_factory=dict[str, "_Node"])


class Filled:
    """A model filled up to inputs and results of a document; plain values where it says nothing."""

    def __init__(self, document: Document, model: SolverModel) -> None:
        self._schemas: Mapping[str, Schema] = {each.name: each for each in document.schemas}
        self._enums: Mapping[str, Enumeration] = {each.name: each for each in document.enums}
        self._types = result_types(document)
        read = (*document.atoms, *document.unknowns)
        self._depths = {each.id: len(each.binders) for each in read}
        self._unknowns = {each.id: each.type for each in document.unknowns}
        self._nodes: dict[tuple[str, bool, tuple[int, ...]], _Node] = {}
        for read in model.reads:
            self._place(read)
        self.inputs: dict[str, Value] = {
            each.name: self._value(self._nodes.get((each.name, False, ())), each.type)
            for each in document.inputs
        }

    def result(
        self, call: str, indices: tuple[int, ...], effect: str, arguments: Mapping[str, Value]
    ) -> Value:
        """What the call returns in that iteration."""
        del effect, arguments
        node = self._nodes.get((call, True, indices))
        if node is None:
            # Iterations that the model does not speak of are like one that it does.
            likes = sorted(key for key in self._nodes if key[0] == call and key[1])
            node = self._nodes[likes[0]] if likes else None
        return self._value(node, self._types[call])

    def unknown(self, name: str, indices: tuple[int, ...]) -> Value:
        """What the model takes a declared unknown for; Python may never compute that."""
        return self._value(self._nodes.get((name, True, indices)), self._unknowns[name])

    def plain(self, type_: Type) -> Value:
        """A value of which the model says nothing."""
        return self._value(None, type_)

    def read(self, call: str, indices: tuple[int, ...]) -> Value | Open:
        """What terms read there; of a declared unknown nothing: Python may never give it the model's value."""
        if call in self._unknowns:
            return Open(f"{call} is unknown", declared=True)
        return self.result(call, indices, "", {})

    def _place(self, read: Read) -> None:
        depth = self._depths.get(read.root, 0) if read.is_result else 0
        own, rest = read.indices[:depth], list(read.indices[depth:])
        node = self._nodes.setdefault((read.root, read.is_result, own), _Node())
        for step in read.steps:
            if step == "[]":
                node = node.items.setdefault(rest.pop(0), _Node())
            elif step == LENGTH:
                node.length = read.value if isinstance(read.value, int) else None
                return
            else:
                node = node.columns.setdefault(step, _Node())
        node.value, node.known = read.value, True

    def _value(self, node: _Node | None, type_: Type) -> Value:
        if node is not None and node.known:
            return node.value
        match type_:
            case ListOf(item):
                return self._items(node, item)
            case RowOf(schema):
                columns = self._schemas[schema].columns if schema in self._schemas else ()
                inside = node.columns if node is not None else {}
                return RowValue(
                    schema,
                    {each.name: self._value(inside.get(each.name), each.type) for each in columns},
                )
            case TupleOf(items):
                return tuple(self._value(None, item) for item in items)
            case SetOf():
                return frozenset[Value]()
            case MapOf():
                return dict[Value, Value]()
            case EnumOf(name):
                members = self._enums[name].members if name in self._enums else ("",)
                return EnumValue(name, members[0])
            case _:
                return _plain(type_)

    def _items(self, node: _Node | None, item: Type) -> Sequence[Value]:
        if node is None:
            return list[Value]()
        valid = {at: each for at, each in node.items.items() if at >= 0}
        length = node.length if node.length is not None else max(valid, default=-1) + 1
        length = max(0, min(length, MAX_ITEMS))
        like = valid[min(valid)] if valid else None
        return [self._value(valid.get(at, like), item) for at in range(length)]


def _plain(type_: Type) -> Value:
    if type_ == BOOL:
        return False
    if type_ == INT:
        return 0
    if type_ == REAL:
        return Fraction(0)
    if type_ == FLOAT:
        return 0.0
    return "" if type_ == STR else None
