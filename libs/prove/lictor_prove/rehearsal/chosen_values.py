"""Inputs and answers for runs of a document: plain values, boundary values, what stands in the program, random ones.

Trusted calls keep their promises, so an answer is changed until it does (`lictor_prove.proof.kept_answers`); where
that fails the run is of no use, and a solver is asked instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Protocol

from lictor_ir.document import Document, Parameter
from lictor_ir.solver.answers import Filled, SolverModel, result_types
from lictor_ir.terms import Const, Term, postorder
from lictor_ir.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    RowOf,
    SetOf,
    TupleOf,
    Type,
)
from lictor_ir.values import EnumValue, RowValue, Value
from lictor_prove.proof.kept_answers import kept_results, promised_answers
from lictor_prove.rehearsal.orders import Answer
from lictor_prove.rehearsal.sample_texts import NumberText, SampleText
from lictor_prove.rehearsal.varied_texts import is_day, varied
from lictor_prove.written_values import written

MORE: Final = 4
"""Answers of one function, for calls that nobody foresees."""
MAX_CONSTANTS: Final = 40
MAX_LETTERS: Final = 200
"""Of a text that another one is joined to."""
_INTS: Final = (0, 1, -1, 2, 3, 7, 10, 100, -(2**31), 2**31, 2**53 + 1, 2**63, -(2**63) - 1)
_SIZES: Final = (0, 1, 1, 2, 3)
MAX_SIZE: Final = 60
"""Of a list whose length a program compares with a number."""
NUMBERS: Final = 0.4
"""How often a text is a number, in programs that read some."""
MAX_MADE: Final = 12
"""Rows that are made of another one and a text of the program."""
_FEW: Final = (0, 1, -1, 2, 3, 7)
"""Where numbers say how often a loop runs."""
_FLOATS: Final = (0.0, 1.0, -1.0, 0.5, -0.0, 0.1, 1e16, 1e308, math.inf, -math.inf, math.nan)
_MARKS: Final = frozenset(",;:|=/\t")
"""What programs split texts at."""
_TEXTS: Final = ("", "a", " ", "A", "0", "a b", "é", "\U0001f600", "\n", "/", "..", "a@b.c")


@dataclass(frozen=True, slots=True)
class Corner:
    """Values at a boundary: how many items, which number and text."""

    size: int
    number: int
    fraction: float
    text: str


CORNERS: Final = (
    Corner(0, 0, 0.0, ""),
    Corner(1, 1, 1.0, "a"),
    Corner(3, 2**63, math.inf, "\U0001f600 é"),
    Corner(2, -1, -0.0, " "),
)


Aims = Mapping[type, Sequence[Any]]
"""Values that a run should have, by their types."""


class ValuePool:
    """Values of every type that are worth trying in a document; the same ones each time."""

    def __init__(
        self, document: Document, conditions: Iterable[Term], written: Iterable[object]
    ) -> None:
        self.document = document
        written = tuple(written)
        self.samples = [each.text for each in written if isinstance(each, SampleText)]
        self._reads_numbers = any(isinstance(each, NumberText) for each in written)
        self.types: Mapping[str, Type] = result_types(document)
        self.promised = promised_answers(document)
        self.unknowns: Mapping[str, Type] = {each.id: each.type for each in document.unknowns}
        self._schemas = {each.name: each.columns for each in document.schemas}
        self._enums = {each.name: each.members for each in document.enums}
        stated = (
            term.value
            for term in postorder(*conditions, *(each.formula for each in document.assumptions))
            if isinstance(term, Const)
        )
        constants = dict.fromkeys((type(value), value) for value in (*written, *stated))
        self._ints: list[int] = []
        self._floats: list[float] = []
        self._texts: list[str] = []
        around = self.aimed(value for _, value in list(constants)[:MAX_CONSTANTS])
        self._ints += around.get(int, ())
        self._floats += around.get(float, ())
        self._texts += around.get(str, ())
        self._written = [each for each in dict.fromkeys(_written_texts(constants)) if each]
        """Texts of the program, of which others are made where unknowns decide what becomes of them."""
        self._marks = [each for each in self._written if each in _MARKS]
        counts = (value for _, value in constants if type(value) is int)
        self.many = [each + 1 for each in counts if 1 < each < MAX_SIZE] or [2]
        """Items in lists that are longer than a program counts to."""
        loops = (binder for atom in document.atoms for binder in atom.binders)
        self._few = any(binder.over.type == INT for binder in loops)
        self._ints += _FEW if self._few else _INTS
        self._floats += _FLOATS
        self._texts += _TEXTS

    def columns(self, schema: str) -> Sequence[Parameter]:
        """The columns of a row class that the document reads."""
        return self._schemas.get(schema, ())

    def plain(self, type_: Type, corner: Corner) -> Value:
        """The value of a type in one corner of all values."""
        match type_:
            case ListOf(item):
                return [self.plain(item, corner) for _ in range(corner.size)]
            case OptionalOf(item):
                return self.plain(item, corner) if corner.size else None
            case RowOf(schema):
                columns = self.columns(schema)
                return RowValue(
                    schema, {each.name: self.plain(each.type, corner) for each in columns}
                )
            case TupleOf(items):
                return tuple(self.plain(item, corner) for item in items)
            case SetOf(item):
                return frozenset([self.plain(item, corner)] if corner.size else ())
            case MapOf(key, member):
                held: dict[Any, Value] = {}
                if corner.size:
                    held[self.plain(key, corner)] = self.plain(member, corner)
                return held
            case EnumOf(name):
                return EnumValue(name, self._enums[name][0])
            case _:
                scalars: Mapping[Type, Value] = {
                    BOOL: bool(corner.size),
                    INT: corner.size if self._few else corner.number,
                    FLOAT: corner.fraction,
                    STR: corner.text,
                }
                return scalars.get(type_)

    def aimed(self, constants: Iterable[object]) -> Aims:
        """Values around these, by their types."""
        found: dict[type, list[Any]] = {}
        for value in constants:
            for each in _around(value):
                found.setdefault(type(each), []).append(each)
        return found

    def drawn(self, type_: Type, random: Random, seen: Sequence[Any], aims: Aims) -> Value:
        """A value of a type; often one that was seen in the same run, for programs compare values with each other."""
        match type_:
            case ListOf(item):
                if self.unknowns and random.random() < 0.5:
                    return self._alike(item, random, seen, aims)
                sizes = _SIZES
                if random.random() < 0.3:
                    sizes = [each for each in aims.get(int, ()) if 0 <= each <= MAX_SIZE] or _SIZES
                return [self.drawn(item, random, seen, aims) for _ in range(random.choice(sizes))]
            case OptionalOf(item):
                is_there = random.random() < 0.7
                return self.drawn(item, random, seen, aims) if is_there else None
            case RowOf(schema):
                columns = self.columns(schema)
                return RowValue(
                    schema,
                    {each.name: self.drawn(each.type, random, seen, aims) for each in columns},
                )
            case TupleOf(items):
                return tuple(self.drawn(item, random, seen, aims) for item in items)
            case SetOf(item):
                return frozenset(
                    self.drawn(item, random, seen, aims) for _ in range(random.choice((0, 1, 2)))
                )
            case MapOf(key, member):
                return {
                    self.drawn(key, random, seen, aims): self.drawn(member, random, seen, aims)
                    for _ in range(random.choice((0, 1, 2)))
                }
            case EnumOf(name):
                return EnumValue(name, random.choice(self._enums[name]))
            case _:
                return self._scalar(type_, random, seen, aims)

    def _scalar(self, type_: Type, random: Random, seen: Sequence[Any], aims: Aims) -> Any:
        if type_ == BOOL:
            return random.random() < 0.5
        kinds: Mapping[Type, type] = {INT: int, FLOAT: float, STR: str}
        kind = kinds.get(type_)
        if kind is None:
            return None
        samples = aims.get(SampleText) if kind is str else None
        if samples and random.random() < 0.85:
            # Programs read several in a row, and a single one that they can't read ends the run.
            sample = self._day(random, seen) or random.choice(samples)
            if random.random() < 0.5:
                return sample
            return varied(
                sample,
                lambda: self._scalar(INT, random, seen, aims),
                lambda: random.choice(aims.get(str, _TEXTS)),
                random,
            )
        if kind is str and self._reads_numbers and random.random() < NUMBERS:
            return str(self._scalar(INT, random, seen, aims))
        if kind is str and self.unknowns and random.random() < (0.4 if self._marks else 0.1):
            return self._lines(random, seen, aims)
        aimed = aims.get(kind)
        if aimed and random.random() < 0.6:
            return random.choice(aimed)
        known = [each for each in seen if type(each) is kind] if random.random() < 0.3 else []
        if known:
            return self._beside(random.choice(known), random, aimed or ())
        pool: Sequence[Value] = {int: self._ints, float: self._floats, str: self._texts}[kind]
        return random.choice(pool)

    def _day(self, random: Random, seen: Sequence[Any]) -> str | None:
        """A day that was seen in the run: programs compare days with that of today."""
        if random.random() < 0.5:
            return None
        days = [each for each in seen if type(each) is str and is_day(each)]
        return random.choice(days) if days else None

    def _alike(self, item: Type, random: Random, seen: Sequence[Any], aims: Aims) -> list[Value]:
        """Items that are alike in what conditions read, more than a program counts to; and some made of one of them."""
        first = self.drawn(item, random, seen, aims)
        sizes = (1, 2, 3) if random.random() < 0.5 else self.many
        items: list[Value] = [first for _ in range(random.choice(sizes))]
        if not isinstance(first, RowValue) or not isinstance(item, RowOf):
            return items
        columns = self.columns(item.schema)
        varied = [each for each in columns if random.random() < 0.3]
        rows: list[Value] = [first]
        for _ in items[1:]:
            changed = {each.name: self.drawn(each.type, random, seen, aims) for each in varied}
            rows.append(RowValue(first.schema, {**first.columns, **changed}))
        texts = [each.name for each in columns if each.type == STR]
        if texts and random.random() < 0.25:
            del rows[2:]
            for part in random.sample(self._written, min(MAX_MADE, len(self._written))):
                made = {name: str(first.columns[name])[:MAX_LETTERS] + part for name in texts}
                rows.append(RowValue(first.schema, {**first.columns, **made}))
        return rows

    def _lines(self, random: Random, seen: Sequence[Any], aims: Aims) -> str:
        """A text of lines and fields, as programs split them at what stands in them."""
        words = [each for each in (*seen, *aims.get(str, ()), *_TEXTS) if type(each) is str]
        mark = random.choice(self._marks or [","])
        width = random.choice((1, 2, 2, 3))
        lines = (
            mark.join(random.choice(words)[:MAX_LETTERS] for _ in range(width))
            for _ in range(random.choice((1, 2, 2, 3)))
        )
        return "\n".join(lines)

    def _beside(self, seen: Any, random: Random, aimed: Sequence[Any]) -> Value:
        """A value that was seen, or one that programs tell from it: a neighbour, a name with an ending."""
        if type(seen) is int:
            return seen if self._few else seen + random.choice((0, 1, -1))
        if type(seen) is str and aimed and len(seen) <= MAX_LETTERS and random.random() < 0.4:
            part = random.choice(aimed)
            return random.choice((seen + part, part + seen))
        return seen


def _written_texts(constants: Iterable[tuple[type, object]]) -> list[str]:
    """The short texts among constants."""
    return [value for _, value in constants if isinstance(value, str) and len(value) <= 40]


def _around(value: object) -> tuple[bool | int | float | str, ...]:
    match value:
        case bool():
            return (value,)
        case int() if abs(value) < 2**53:
            return (value, value + 1, value - 1, float(value))
        case int():
            return (value, value + 1, value - 1)
        case float():
            return (value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf))
        case str() if len(value) <= 1_000:
            return (value, f"{value}x", f"x{value}")
        case _:
            return ()


class Values(Protocol):
    """The inputs and answers of one run, and what unknowns may be in it."""

    inputs: dict[str, Value]

    def result(
        self, call: str, indices: tuple[int, ...], effect: str, arguments: Mapping[str, Value]
    ) -> Value:
        """What a call answers."""
        ...

    def unknown(self, name: str, indices: tuple[int, ...]) -> Value:
        """What a declared unknown may be: Python computes it."""
        ...

    def more_answers(self) -> tuple[Answer, ...]:
        """Answers for calls that nobody foresees."""
        ...


class ChosenRun:
    """The inputs and answers of one run."""

    def __init__(
        self, pool: ValuePool, number: int, random: Random, constants: Sequence[object] = ()
    ) -> None:
        self._pool = pool
        self._aimed = dict(pool.aimed(constants))
        if number % 4:
            self._aimed[SampleText] = pool.samples
        self._corner = CORNERS[number] if number < len(CORNERS) else None
        """Corners come first."""
        self._random = random
        self._seen: list[Any] = []
        self.is_open = False
        """Whether anything was chosen: else every run is like this one."""
        self.is_changed = False
        """Whether an answer that was chosen broke a promise: other runs may have been changed to the same one."""
        self._returned: dict[tuple[str, tuple[int, ...]], Value] = {}
        self.inputs: dict[str, Value] = {
            each.name: self._value(each.type) for each in pool.document.inputs
        }

    def result(
        self, call: str, indices: tuple[int, ...], effect: str, arguments: Mapping[str, Value]
    ) -> Value:
        """What a call answers."""
        del effect
        promised = self._pool.promised.get(call)
        if promised is not None:
            self._note(arguments.values())
        value = self._value(self._pool.types[call])
        if promised is not None:
            chosen = value
            value = promised.kept(
                value, indices, self.inputs, self._returned, self._drawn, self._random
            )
            self.is_changed |= value is not chosen
        self._returned[call, indices] = value
        self._note([value])
        return value

    def _drawn(self, type_: Type) -> Value:
        return self._pool.drawn(type_, self._random, self._seen, self._aimed)

    def unknown(self, name: str, indices: tuple[int, ...]) -> Value:
        """What a declared unknown may be: Python computes it."""
        del indices
        type_ = self._pool.unknowns[name]
        if type_ == INT:
            return self._random.choice(_FEW)
        return self._drawn(type_)

    def more_answers(self) -> tuple[Answer, ...]:
        """Answers for calls that nobody foresees: some for each function that the document calls."""
        made: list[Answer] = []
        for atom in {atom.effect: atom for atom in self._pool.document.atoms}.values():
            indices, before = tuple(0 for _ in atom.binders), self._corner
            # Something empty or false and something true are among them: a loop waits for one of them. Not always as
            # the first, for what is called once would get nothing else.
            for number in self._random.sample(range(MORE), MORE):
                self._corner = CORNERS[number] if number < 2 else before
                self._returned.pop((atom.id, indices), None)
                answer = self.result(atom.id, indices, atom.effect, {})
                made.append(Answer(atom.effect, written(answer)))
            self._corner = before
        return tuple(made)

    def _value(self, type_: Type) -> Value:
        self.is_open |= type_ != NONE
        value = (
            self._drawn(type_) if self._corner is None else self._pool.plain(type_, self._corner)
        )
        self._note([value])
        return value

    def _note(self, values: Iterable[Any]) -> None:
        for value in values:
            if isinstance(value, RowValue):
                self._note(value.columns.values())
            elif isinstance(value, list):
                self._seen.append(len(value))  # pyright: ignore[reportUnknownArgumentType]
            elif type(value) in (int, float, str):
                self._seen.append(value)


class SolvedRun:
    """The inputs and answers that a solver found."""

    def __init__(self, pool: ValuePool, model: SolverModel) -> None:
        self._filled = Filled(pool.document, model)
        self._others = ChosenRun(pool, 1, Random(0))
        self.inputs: dict[str, Value] = self._filled.inputs
        self._result = kept_results(pool.document, self._filled)

    def result(
        self, call: str, indices: tuple[int, ...], effect: str, arguments: Mapping[str, Value]
    ) -> Value:
        """What a call answers."""
        return self._result(call, indices, effect, arguments)

    def unknown(self, name: str, indices: tuple[int, ...]) -> Value:
        """What the solver takes a declared unknown for: Python computes it."""
        return self._filled.unknown(name, indices)

    def more_answers(self) -> tuple[Answer, ...]:
        """Answers for calls that nobody foresees."""
        return self._others.more_answers()
