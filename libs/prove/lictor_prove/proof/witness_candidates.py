"""What a trusted call might return so that it keeps its promises: plain values first, then terms that they name.

A promise that compares the result with something names a candidate: the value with which both sides are equal, and its
neighbours. Nothing here has to be right: candidates that do not fit are dropped when their goal is derived or decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Final

from lictor_ir.document import Assumption, Document, Schema
from lictor_ir.errors import IrError
from lictor_ir.goals.witness import Witness
from lictor_ir.places import LENGTH, place
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Const,
    Result,
    Term,
    apply,
    children,
    const,
    postorder,
    substitute,
)
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
from lictor_ir.values import EnumValue, RowValue, Value

Steps = tuple[str, ...]
NUMBERS: Final = (0, 1, -1, 2, 10, 100)
TEXTS: Final = ("", "a", "a@example.com", "/a/b", "1")
MAX_WRITTEN: Final = 64
"""Lists and strings that are written out are not longer."""
MAX_ITEMS: Final = 24
"""Candidates for an item of a list."""
MAX_ROWS: Final = 18
MAX_PARTS: Final = 3
"""Beginnings, ends and parts of a text that are tried."""


def candidates(
    document: Document, promises: Sequence[Assumption], returned: Result
) -> Iterator[Witness]:
    """Results that may keep the promises, the plainest first."""
    return PromisedValues(document, promises, returned).witnesses()


def conjuncts(formula: Term) -> Iterator[Term]:
    """The parts that all have to hold."""
    if isinstance(formula, App) and formula.op == "and":
        for part in formula.args:
            yield from conjuncts(part)
    else:
        yield formula


def value_term(value: Value) -> Term | None:
    """A value as a term; None where none is needed."""
    match value:
        case bool() | int() | float() | str() | Fraction() | EnumValue() | None:
            return const(value)
        case RowValue(schema, columns):
            parts = {name: value_term(part) for name, part in columns.items()}
            given = [part for part in parts.values() if part is not None]
            if len(given) < len(parts) or not parts:
                return None
            return apply("row", *given, param=f"{schema}:{','.join(parts)}")
        case list() | tuple():
            items = [value_term(part) for part in value]
            given = [part for part in items if part is not None]
            if len(given) < len(items) or len(items) > MAX_WRITTEN:
                return None
            return apply("list" if isinstance(value, list) else "tuple", *given)
        case _:
            return None


class PromisedValues:
    """What promises name for a result and for each part of it; a part is known by the way to it from the result."""

    def __init__(
        self, document: Document, promises: Sequence[Assumption], returned: Result
    ) -> None:
        self._returned = returned
        self._schemas: Mapping[str, Schema] = {each.name: each for each in document.schemas}
        self._members = {each.name: each.members for each in document.enums}
        self._named: dict[Steps, dict[Term, None]] = {}
        self._near: dict[Steps, dict[Term, None]] = {}
        self._starts: dict[Steps, list[Term]] = {}
        self._ends: dict[Steps, list[Term]] = {}
        self._inside: dict[Steps, list[Term]] = {}
        self._tests: dict[Steps, list[tuple[Term, list[Term]]]] = {}
        """Promises about one part alone, with the terms that read it."""
        self._fits: dict[Steps, list[Term]] = {}
        self._look(promises)

    def witnesses(self) -> Iterator[Witness]:
        """One after the other."""
        if not isinstance(self._returned.type, ListOf):
            for value in self._values(self._returned.type, ()):
                yield Witness(value)
            return
        yield Witness(apply("list"))
        for value in self._told(()):
            yield Witness(value)
        items = self._values(self._returned.type.item, ("[]",))[:MAX_ITEMS]
        lengths = [const(1), *self._told((LENGTH,))]
        for length in lengths:
            for item in items:
                known = length.value if isinstance(length, Const) else None
                if isinstance(known, int) and 0 <= known <= MAX_WRITTEN:
                    yield Witness(apply("list", *[item] * known))
                else:
                    yield Witness(item, length)

    # -- values of a type --------------------------------------------------------------------------

    def named(self, type_: Type, steps: Steps) -> list[Term]:
        """What promises name for a part, as far as it may keep those that are about this part alone."""
        if steps not in self._fits:
            self._fits[steps] = self._fitting(self._named_values(type_, steps), steps)
        return self._fits[steps]

    def _named_values(self, type_: Type, steps: Steps) -> list[Term]:
        return [*(self._texts(steps) if type_ == STR else ()), *self._told(steps)]

    def around(self, text: Term, steps: Steps) -> list[Term]:
        """A text with what promises want it to begin with, to hold and to end with."""
        made = [
            *(apply("concat", part, text) for part in self._starts.get(steps, [])[:MAX_PARTS]),
            *(apply("concat", text, part) for part in self._inside.get(steps, [])[:MAX_PARTS]),
            *(apply("concat", text, part) for part in self._ends.get(steps, [])[:MAX_PARTS]),
        ]
        return self._fitting(made, steps)

    def _values(self, type_: Type, steps: Steps) -> list[Term]:
        """Plain values, then what promises name for this part."""
        values = [*self._plain(type_, steps), *self._named_values(type_, steps)]
        return self._fitting(list(dict.fromkeys(values)), steps)

    def _fitting(self, values: Sequence[Term], steps: Steps) -> list[Term]:
        """The values without those that break a promise about this part alone; one of them, if all do."""
        fitting = [value for value in values if not self._is_broken_by(value, steps)]
        return fitting or list(values[:1])

    def _is_broken_by(self, value: Term, steps: Steps) -> bool:
        for test, places in self._tests.get(steps, ()):
            try:
                if substitute(test, dict.fromkeys(places, value)) is FALSE:
                    return True
            except (IrError, ArithmeticError):
                return True
        return False

    def _plain(self, type_: Type, steps: Steps) -> list[Term]:
        match type_:
            case ListOf(item):
                items = self._values(item, (*steps, "[]"))
                sizes = dict.fromkeys([1, *self._sizes((*steps, LENGTH))])
                return [
                    apply("list"),
                    *(apply("list", *[each] * n) for n in sizes for each in items),
                ]
            case RowOf(schema):
                return self._rows(schema, steps)
            case TupleOf(items):
                return [apply("tuple", *(self._values(each, ("?",))[0] for each in items))]
            case SetOf():
                return [apply("set")]
            case MapOf():
                return [apply("dict")]
            case EnumOf(name):
                return [const(EnumValue(name, each)) for each in self._members.get(name, ())]
            case _:
                return _plain(type_)

    def _rows(self, schema: str, steps: Steps) -> list[Term]:
        """Rows of what promises name for each column, then of plain values."""
        columns = self._schemas[schema].columns if schema in self._schemas else ()
        ways = [(each.type, (*steps, each.name)) for each in columns]
        plain = [self._plain(*each) for each in ways]
        named = [
            self._fitting([*found, *part], each[1])
            if (found := self._named_values(*each))
            else part[:1]
            for each, part in zip(ways, plain, strict=True)
        ]
        if not columns or not all(plain):
            return []
        param = f"{schema}:{','.join(each.name for each in columns)}"
        together = islice(product(*named), MAX_ROWS)
        in_turn = (
            tuple(each[min(at, len(each) - 1)] for each in plain)
            for at in range(max(map(len, plain)))
        )
        return [apply("row", *parts, param=param) for parts in (*together, *in_turn)]

    def _texts(self, steps: Steps) -> Iterator[Term]:
        starts, ends, inside = (
            found.get(steps, [])[:MAX_PARTS] for found in (self._starts, self._ends, self._inside)
        )
        if starts or ends or inside:
            nothing: list[Term] = [const("")]
            for parts in product(starts or nothing, [*nothing, *inside], [*ends, *nothing]):
                yield apply("concat", *parts)
        yield from (const("a" * size) for size in self._sizes((*steps, LENGTH)))

    def _sizes(self, steps: Steps) -> Iterator[int]:
        """The lengths that promises name, as far as they can be written out."""
        for length in self._told(steps):
            known = length.value if isinstance(length, Const) else None
            if isinstance(known, int) and 0 <= known <= MAX_WRITTEN:
                yield known

    def _told(self, steps: Steps) -> list[Term]:
        """What promises name for this part, then the numbers next to that."""
        return [*self._named.get(steps, ()), *self._near.get(steps, ())]

    # -- what promises name ------------------------------------------------------------------------

    def _look(self, promises: Sequence[Assumption]) -> None:
        for part in (part for promise in promises for part in conjuncts(promise.formula)):
            read = self.places(part)
            if len(set(read.values())) == 1:
                self._tests.setdefault(next(iter(read.values())), []).append((part, list(read)))
        reading: set[Term] = set()
        for term in postorder(*(each.formula for each in promises)):
            if term is self._returned or any(part in reading for part in children(term)):
                reading.add(term)
                if isinstance(term, App):
                    self._look_at(term, reading)

    def _look_at(self, term: App, reading: set[Term]) -> None:
        match term.op, term.args:
            case (("eq" | "lt" | "le"), (left, right)):
                for one, other in ((left, right), (right, left)):
                    if one in reading and other not in reading:
                        self._solve(one, other, reading)
            case (("startswith" | "endswith" | "contains"), (text, part)) if part not in reading:
                found = {"startswith": self._starts, "endswith": self._ends}
                steps = self._steps(text)
                if steps is not None:
                    found.get(term.op, self._inside).setdefault(steps, []).append(part)
            case "in", (item, App(op="list" | "tuple" | "set" | "dict") as made):
                step = 2 if made.op == "dict" else 1
                for each in made.args[::step]:
                    self._name(item, each)
            case "in", (item, held) if held is self._returned and item not in reading:
                self._name(held, apply("list", item))
            case "not", (text,):
                self._name(text, FALSE)
            case _:
                pass

    def _solve(self, side: Term, value: Term, reading: set[Term]) -> None:
        """The value of the place inside of the side with which it equals the other; and its neighbours."""
        try:
            while self._steps(side) is None and isinstance(side, App):
                inner = [part for part in side.args if part in reading]
                others = [part for part in side.args if part not in reading]
                if len(inner) != 1:
                    return
                match side.op:
                    case "add":
                        value = apply("sub", value, apply("add", *others))
                    case "sub" if inner[0] is side.args[0]:
                        value = apply("add", value, others[0])
                    case "sub":
                        value = apply("sub", others[0], value)
                    case "neg":
                        value = apply("neg", value)
                    case "mul" if side.type == INT and len(others) == 1:
                        value = apply("floordiv", value, others[0])
                    case _:
                        return
                side = inner[0]
            if isinstance(value, Const) and side.type == FLOAT and isinstance(value.value, int):
                value = const(float(value.value))
            self._name(side, value)
            if value.type in (INT, REAL):
                ones = (-1, 1) if value.type == INT else (Fraction(-1), Fraction(1))
                near = self._near.setdefault(self._steps(side) or (), {})
                near |= {apply("add", value, const(one)): None for one in ones}
        except (IrError, OverflowError):
            return

    def _name(self, leaf: Term, value: Term) -> None:
        steps = self._steps(leaf)
        if steps is not None:
            self._named.setdefault(steps, {})[value] = None

    def places(self, formula: Term) -> dict[Term, Steps]:
        """The parts of the result that a formula reads: not what they are parts of."""
        found: dict[Term, Steps] = {}
        stack = [formula]
        while stack:
            term = stack.pop()
            steps = (
                None if (at := place(term)) is None or at.root is not self._returned else at.steps
            )
            if steps is None:
                stack.extend(children(term))
            else:
                found[term] = steps
        return found

    def _steps(self, term: Term) -> Steps | None:
        """The way from the result to a part of it, or to the length of one; None for all other terms."""
        text = term.args[0] if isinstance(term, App) and term.op == "len" else None
        if text is not None and text.type == STR:
            inner = self._steps(text)
            return None if inner is None else (*inner, LENGTH)
        found = place(term)
        return found.steps if found is not None and found.root is self._returned else None


def _plain(type_: Type) -> list[Term]:
    if type_ == STR:
        return [const(each) for each in TEXTS]
    if type_ == BOOL:
        return [FALSE, TRUE]
    if type_ == INT:
        return [const(each) for each in NUMBERS]
    if type_ == REAL:
        return [const(Fraction(each)) for each in NUMBERS]
    if type_ == FLOAT:
        return [const(float(each)) for each in NUMBERS]
    if type_ == ANY:
        return [const(None), const(0), const("")]
    return [const(None)] if type_ == NONE else []
