"""A program in commands, as it is read: what is lowered to Effect IR, and what is executed.

Its terms are terms of the Effect IR over the program's own names: inputs, `let`s, results of calls, items of loops. No
name is bound twice where it can be seen, so a name means one thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lictor_ir.document import Guarantee, Parameter, Span
from lictor_ir.terms import Term
from lictor_ir.types import Type
from lictor_prove.coverage.report import Stated
from lictor_prove.layer_model import Layer, TrustedFunction


@dataclass(frozen=True, slots=True)
class TermPrecondition:
    """What must hold for an operation of a term to have a value, where the operation is needed."""

    when: Term
    holds: Term
    text: str


@dataclass(frozen=True, slots=True)
class WrittenTerm:
    """A term as it is written, with what its operations demand, in the order in which they are needed."""

    term: Term
    demands: tuple[TermPrecondition, ...]


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = term`."""

    name: str
    value: WrittenTerm
    span: Span


@dataclass(frozen=True, slots=True)
class CallCommand:
    """`call f(arg = term)`, or `name = call f(arg = term)`."""

    function: TrustedFunction
    arguments: Mapping[str, WrittenTerm]
    """In the order in which they are written."""
    name: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class When:
    """`when term { … } else { … }`."""

    condition: WrittenTerm
    then: Block
    otherwise: Block
    span: Span


@dataclass(frozen=True, slots=True)
class ForEach:
    """`for each item in term { … }`: over a list, in order."""

    name: str
    over: WrittenTerm
    body: Block
    span: Span


@dataclass(frozen=True, slots=True)
class ForCount:
    """`for i in 0..term { … }`: i is 0, 1, … below the count; never for a count below 1."""

    name: str
    count: WrittenTerm
    body: Block
    span: Span


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert term`: it must be proved to hold."""

    condition: WrittenTerm
    span: Span


@dataclass(frozen=True, slots=True)
class Stop:
    """`stop`: the program ends here."""

    span: Span


Command = Let | CallCommand | When | ForEach | ForCount | Assert | Stop
Block = tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """A program in commands that was read under a trusted layer."""

    source: str
    layer: Layer
    inputs: tuple[Parameter, ...]
    body: Block
    guarantees: tuple[Guarantee, ...]
    stated: tuple[Stated, ...]
    """The contracts of the layer that guarantees name."""
    called: frozenset[str]
    """The trusted functions that stand in it, also where no path leads."""

    @property
    def layer_hash(self) -> str:
        """The layer that it was read under; under another one its calls mean something else."""
        return self.layer.hash


def result_type(function: TrustedFunction) -> Type:
    """What a call of the function gives; calls of functions without a model of their result are not read."""
    assert function.result is not None
    return function.result


def without_guarantees(commands: Commands) -> str:
    """The text of the program without what it promises, which has no meaning while it runs; every place stays."""
    lines = commands.source.split("\n")
    for guarantee in commands.guarantees:
        span = guarantee.span
        if span is None:
            continue
        for number in range(span.line, span.end_line + 1):
            line = lines[number - 1]
            start = span.column - 1 if number == span.line else 0
            end = span.end_column - 1 if number == span.end_line else len(line)
            lines[number - 1] = line[:start] + " " * (end - start) + line[end:]
    return "\n".join(lines)
