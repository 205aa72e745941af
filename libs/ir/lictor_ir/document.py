"""An Effect IR document: everything a program may do, and what is promised about it.

A document is closed: whoever holds it can decide its guarantees without the program, the layer's code or the front-end
that made it. The world it describes is closed too: an effect that is not among the atoms does not happen. Its name is
the SHA-256 of its canonical JSON (`lictor_ir.json.document`).

Atoms stand in the order in which they happen. An atom happens when its guard holds, once for each choice of its
binders' indices. Atoms that share their outermost binder are the body of one loop: they happen iteration by iteration.

What a program computes in a way that nobody models is declared unknown: proofs hold for every value that it may have,
and whoever compares a run with its document admits any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from lictor_ir.contracts import Contract
from lictor_ir.terms import TRUE, Term, Var
from lictor_ir.types import Type

FORMAT: Final = "lictor/effect-ir/v1"


@dataclass(frozen=True, slots=True)
class Span:
    """Where in the source something stands; lines and columns count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a trusted function, or an input of the program."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Effect:
    """A trusted function: the signature of its atoms."""

    name: str
    """Its name within the layer; unique there."""
    parameters: tuple[Parameter, ...]
    result: Type
    markers: tuple[str, ...] = ()
    """What the layer says it does: `read`, `net`."""
    module: str = ""
    """Where it is defined, for the runner and for people."""


@dataclass(frozen=True, slots=True)
class Event:
    """A class of events that effects perform, with what it is a kind of, itself first."""

    name: str
    kinds: tuple[str, ...]
    fields: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table's rows."""

    name: str
    columns: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The members of an enum."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fluent:
    """State that effects set, key by key; a key that nobody set has the initial value."""

    name: str
    key: Type
    value: Type
    initial: Term


@dataclass(frozen=True, slots=True)
class Binder:
    """The index of a loop: it runs over the indices of a list, or over those below a count."""

    index: Var
    over: Term
    """A list that a trusted call returned, or an int."""


def shared_loops(one: Sequence[Binder], other: Sequence[Binder]) -> int:
    """How many loops stand around both."""
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours.index is not theirs.index:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class Performed:
    """An event that an atom performs."""

    event: str
    fields: Mapping[str, Term]


@dataclass(frozen=True, slots=True)
class Update:
    """What an atom sets a fluent to."""

    fluent: str
    key: Term
    value: Term


@dataclass(frozen=True, slots=True)
class Atom:
    """One guarded trusted call."""

    id: str
    """`c1`, `c2`, … in order; results of the call are `Result(id, …)`."""
    effect: str
    arguments: Mapping[str, Term]
    """What the call passes. A parameter left to its default is not here: predicates can't read it."""
    guard: Term = TRUE
    binders: tuple[Binder, ...] = ()
    events: tuple[Performed, ...] = ()
    updates: tuple[Update, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For each argument, whence it came: `c2.email` for a column or `c2` for a result of that call, `input:x`; sorted.
    What was only written out has no label. `lictor_ir.provenance` computes them, and validation compares."""
    span: Span | None = None
    fails: bool = False
    """The call raises and the program goes on. Whether it had its effect before is not known: guarantees hold of
    either. It returns nothing that could be read, and promises nothing."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that nobody models: any value of its type, and in each iteration of its loops another.

    It is read as `Result(id, …)`, like what a call returned. Wherever it is read it is the same value.
    """

    id: str
    """`u1`, `u2`, …; no atom has it."""
    type: Type
    text: str
    """Why it is unknown, for people."""
    binders: tuple[Binder, ...] = ()
    """The loops around the place where it is computed."""
    labels: tuple[str, ...] = ()
    """All that it is made of, as labels of arguments say it: calls, their columns, inputs; sorted."""
    carried: tuple[str, ...] = ()
    """What it is made of besides, and comes later in the list of atoms: calls of earlier iterations of its loops, or of
    the loop whose rounds it counts. Said and sorted in the same way."""
    may_raise: bool = False
    """Computing it may raise: then the run ends there, as it does when a trusted call fails."""


class FactKind(StrEnum):
    """What a program shows of a value that nobody models."""

    NEXT = "next"
    """What the next round of its innermost loop finds there, and what the first does."""
    DISTINCT = "distinct"
    """A term is another one in each iteration of its innermost loop in which the condition holds."""
    HOLDS = "holds"
    """A formula holds in each iteration."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of an unknown besides its type, in every iteration of its loops that a run comes to.

    Whoever compares a run with its document holds it: a run in which it is seen to be false is none of the document.
    """

    about: str
    """The unknown, whose indices the terms read."""
    kind: FactKind
    term: Term
    """What the unknown is one round later; what differs; what holds."""
    guard: Term = TRUE
    """Of `distinct`: where it does."""
    first: Term | None = None
    """Of `next`, and only there: what the unknown is in the first round."""

    def terms(self) -> Iterator[Term]:
        """The terms that it is said with."""
        if self.first is not None:
            yield self.first
        yield self.guard
        yield self.term


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a trusted call promises about its result: it may be relied on where its guard holds."""

    call: str
    formula: Term
    guard: Term = TRUE
    binders: tuple[Binder, ...] = ()
    text: str = ""


class ObligationKind(StrEnum):
    """Why something must hold besides the guarantees."""

    PRECONDITION = "precondition"
    """A trusted function demands it of its arguments."""
    NO_ERROR = "no_error"
    """Otherwise the program would raise there."""
    ASSERTION = "assertion"
    """The program asserts it."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """What must hold wherever its guard does."""

    kind: ObligationKind
    formula: Term
    text: str
    guard: Term = TRUE
    binders: tuple[Binder, ...] = ()
    call: str | None = None
    """The atom whose precondition it is."""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A contract that the program states, or that the layer requires."""

    name: str
    """As stated: `only(["bob@example.com"])`."""
    contract: Contract
    description: str = ""
    required_by: str = ""
    """The domain whose policy demands it; empty when the program states it itself."""
    span: Span | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Document:
    """A program's effects, what they rest on, and what is guaranteed."""

    program: str
    """The name of the program, for people."""
    source_hash: str | None
    layer_hash: str | None
    target: str = "main"
    effects: tuple[Effect, ...] = ()
    events: tuple[Event, ...] = ()
    schemas: tuple[Schema, ...] = ()
    enums: tuple[Enumeration, ...] = ()
    fluents: tuple[Fluent, ...] = ()
    inputs: tuple[Parameter, ...] = ()
    atoms: tuple[Atom, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    facts: tuple[Fact, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    guarantees: tuple[Guarantee, ...] = ()
