"""Answers that keep what their calls promise: a value, changed where it breaks a promise.

Values that are drawn at random hardly ever keep a promise about every item of a list, and a solver names only the
items that its question reads. So what breaks a promise is looked at part by part: a column, an item or a length gets
another value, mostly one that the promises name. Nothing here has to succeed: a run whose answers break promises is
dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
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
        if path[-1:] == [LENGTH]:
            over = cast(Any, term).args[0]
            sizes = self._named(term.type, steps, inside) or [0, 1, 2, 3]
            size = min(max(0, random.choice(sizes)), MAX_ITEMS)
            return _with(value, path[:-1], lambda held: _sized(held, size, over.type, draw))
        return _with(value, path, lambda held: self._other(held, term, steps, inside, draw, random))

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


def _with(value: Any, path: Path, change: Callable[[Any], Value]) -> Value:
    """The value with the part at the end of the path changed."""
    if not path:
        return change(value)
    first, *rest = path
    if isinstance(value, RowValue):
        column = str(first)
        return RowValue(
            value.schema, {**value.columns, column: _with(value.columns[column], rest, change)}
        )
    items = list(value)
    items[cast(int, first)] = _with(items[cast(int, first)], rest, change)
    return items


def _sized(held: Any, size: int, type_: Type, draw: Draw) -> Value:
    """The list with so many items: those that it has, then new ones."""
    assert isinstance(type_, ListOf)
    items = list(held)[:size]
    return [*items, *(draw(type_.item) for _ in range(size - len(items)))]
