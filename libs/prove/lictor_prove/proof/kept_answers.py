"""Answers that keep what their calls promise: a value, changed where it breaks a promise.

Values that are drawn at random hardly ever keep a promise about every item of a list, and a solver names only the
items that its question reads. So what breaks a promise is looked at part by part: a column, an item or a length gets
another value, mostly one that the promises name. Nothing here has to succeed: a run whose answers break promises is
dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import cycle, islice
from random import Random
from typing import Any, Final, cast

from lictor_ir.document import Assumption, Document
from lictor_ir.errors import IrError, UnspecifiedError
from lictor_ir.evaluation.steps import each_iteration
from lictor_ir.evaluation.term_values import Environment, Evaluation
from lictor_ir.evaluation.traces import Results
from lictor_ir.goals.promises import returned_by
from lictor_ir.places import LENGTH, place
from lictor_ir.solver.answers import Filled
from lictor_ir.terms import Term, const
from lictor_ir.types import STR, ListOf, Type
from lictor_ir.values import RowValue, Value
from lictor_prove.proof.witness_candidates import PromisedValues, Steps, conjuncts

MAX_CHANGES: Final = 60
"""Of one answer."""
MAX_ITEMS: Final = 60
"""Longer lists make no run that a person reads, and take long to look through."""
TOGETHER: Final = 0.8
"""How often items that are alike are changed together: one after the other takes too many changes, and items that must
not be alike never come apart otherwise."""

NEW: Final = 3
"""Items that differ, of those that make a list longer."""

Draw = Callable[[Type], Value]
Path = Sequence[int | str]


def promised_answers(document: Document) -> Mapping[str, PromisedAnswers]:
    """What each call promises, by its id."""
    promises: dict[str, list[Assumption]] = {}
    for each in document.assumptions:
        promises.setdefault(each.call, []).append(each)
    return {call: PromisedAnswers(document, call, each) for call, each in promises.items()}


def kept_results(document: Document, filled: Filled) -> Results:
    """What calls return in a model, changed where it breaks what they promise; for one run."""
    promised = promised_answers(document)
    returned: dict[tuple[str, tuple[int, ...]], Value] = {}
    random = Random(0)

    def result(
        call: str, indices: tuple[int, ...], effect: str, arguments: Mapping[str, Value]
    ) -> Value:
        value = filled.result(call, indices, effect, arguments)
        if call in promised:
            value = promised[call].kept(
                value, indices, filled.inputs, returned, filled.plain, random
            )
        returned[call, indices] = value
        return value

    return result


class PromisedAnswers:
    """What one call promises of its answers."""

    def __init__(self, document: Document, call: str, promises: Sequence[Assumption]) -> None:
        atom = next(each for each in document.atoms if each.id == call)
        self._call = call
        self._around = [binder.index.name for binder in atom.binders]
        self._promises = promises
        self._document = document

    @cached_property
    def _values(self) -> PromisedValues | None:
        returned = returned_by(self._promises, self._call)
        return (
            None if returned is None else PromisedValues(self._document, self._promises, returned)
        )

    def kept(
        self,
        value: Value,
        indices: tuple[int, ...],
        inputs: Mapping[str, Value],
        returned: Mapping[tuple[str, tuple[int, ...]], Value],
        draw: Draw,
        random: Random,
    ) -> Value:
        """The value, changed until it keeps what is promised; as it is then, if that takes too long."""
        for _ in range(MAX_CHANGES):
            answers = {**returned, (self._call, indices): value}
            variables = {**inputs, **dict(zip(self._around, indices, strict=True))}
            outside = Evaluation(Environment(variables, lambda call, at: answers[call, at]))  # noqa: B023
            try:
                found = self._broken(outside)
                if found is None or self._values is None:
                    return value
                value = self._changed(value, *found, draw, random)
            except (KeyError, IndexError, UnspecifiedError):
                return value  # it rests on what is not there yet
        return value

    def _broken(self, outside: Evaluation) -> tuple[Term, Evaluation] | None:
        """The first part of a promise that is not kept, and where."""
        for promise in self._promises:
            inner = promise.binders[len(self._around) :]
            for inside, _ in each_iteration(inner, outside, promise.guard):
                for part in conjuncts(promise.formula):
                    if not _holds(part, inside):
                        return part, inside
        return None

    def _changed(
        self, value: Value, broken: Term, inside: Evaluation, draw: Draw, random: Random
    ) -> Value:
        """The value with another one in a part that the broken promise reads."""
        assert self._values is not None
        places = self._values.places(broken)
        if not places:
            raise UnspecifiedError("the promise reads nothing of the answer")
        term, steps = random.choice(list(places.items()))
        found = place(term)
        assert found is not None
        own = len(self._around)
        at = [inside.value(index) for index in found.indices[own:]]
        path = [at.pop(0) if step == "[]" else step for step in steps]
        together = "[]" in steps and random.random() < TOGETHER
        if path[-1:] == [LENGTH]:
            over = cast(Any, term).args[0]
            sizes = self._named(term.type, steps, inside) or [0, 1, 2, 3]
            size = min(max(0, random.choice(sizes)), MAX_ITEMS)
            return _with(value, path[:-1], lambda held: _sized(held, size, over.type, draw))
        other = self._other(_part(value, path), term, steps, inside, draw, random)
        return _with(value, path, lambda _: other, together=together)

    def _other(
        self,
        held: Value,
        term: Term,
        steps: Steps,
        inside: Evaluation,
        draw: Draw,
        random: Random,
    ) -> Value:
        assert self._values is not None
        ways = [self._named(term.type, steps, inside)]
        if term.type == STR and isinstance(held, str):
            ways.append(_seen(self._values.around(const(held), steps), inside))
        offered = random.choice([way for way in ways if way] or [[]])
        return random.choice(offered) if offered and random.random() < 0.8 else draw(term.type)

    def _named(self, type_: Type, steps: Steps, inside: Evaluation) -> list[Any]:
        assert self._values is not None
        return _seen(self._values.named(type_, steps), inside)


def _holds(term: Term, evaluation: Evaluation) -> bool:
    """Whether a part of a promise is kept, as far as can be told: it may rest on what nobody knows yet."""
    try:
        return evaluation.holds(term)
    except (KeyError, UnspecifiedError):
        return True
    except (IrError, ArithmeticError, TypeError):
        return False


def _seen(terms: Sequence[Term], evaluation: Evaluation) -> list[Any]:
    """The values of the terms that have one here."""
    values: list[Any] = []
    for term in terms:
        try:
            values.append(evaluation.value(term))
        except (IrError, KeyError, IndexError, ArithmeticError, TypeError):
            continue
    return values


def _part(value: Any, path: Path) -> Any:
    """The part at the end of the path."""
    for step in path:
        value = value.columns[str(step)] if isinstance(value, RowValue) else value[step]
    return value


def _with(
    value: Any, path: Path, change: Callable[[Any], Value], *, together: bool = False
) -> Value:
    """The value with the part at the end of the path changed; `together`: in all items that are alike in it."""
    if not path:
        return change(value)
    first, *rest = path
    if isinstance(value, RowValue):
        column = str(first)
        changed = _with(value.columns[column], rest, change, together=together)
        return RowValue(value.schema, {**value.columns, column: changed})
    items = list(value)
    changing = {cast(int, first)}
    if together:
        before = _part(items[cast(int, first)], rest)
        changing |= {
            at for at, item in enumerate(items) if _is_alike(_part_or_none(item, rest), before)
        }
    for at in changing:
        items[at] = _with(items[at], rest, change, together=together)
    return items


def _part_or_none(value: Any, path: Path) -> Any:
    """The part at the end of the path; None where lists inside are too short for it."""
    try:
        return _part(value, path)
    except IndexError:
        return None


def _is_alike(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and one == other)


def _sized(held: Any, size: int, type_: Type, draw: Draw) -> Value:
    """The list with so many items: those that it has, then new ones. Many are alike, to be changed together."""
    assert isinstance(type_, ListOf)
    items = list(held)[:size]
    missing = size - len(items)
    return [*items, *islice(cycle([draw(type_.item) for _ in range(min(missing, NEW))]), missing)]
