"""What a run shows of declared unknowns: the value of one that was passed, and which way a branch on one went.

A proof takes an unknown for one value, the same wherever it is read. So does whoever compares a run with its document:
what was seen once must fit everything that is seen later, and what the document says of its unknowns. Contradictions
are found by evaluation, not by a solver: two facts that only arithmetic tells to exclude each other are not seen to,
until the value itself is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from lictor_ir.evaluation.partial_values import may_be_text
from lictor_ir.evaluation.seen_values import key_of
from lictor_ir.evaluation.term_values import Evaluation, has_nan
from lictor_ir.evaluation.value_types import is_same
from lictor_ir.terms import App, Result, Term, apply, postorder, results
from lictor_ir.types import BOOL, INT, NONE, STR
from lictor_ir.values import Open, Value

MAX_UNSETTLED: Final = 10_000
"""Facts that later ones may contradict; each is looked at again when something new is seen of what it reads. Beyond
that, nothing more is admitted, and what the document says is forgotten, the oldest first."""

_NOTHING: Final = Open("nothing is known of it", declared=True)


@dataclass(frozen=True, slots=True)
class _Apart:
    """Not a value, but that it is another one than at every other place of a group."""

    group: Hashable
    place: int


@dataclass(frozen=True, slots=True)
class _Unsettled:
    term: Term
    value: Value | _Apart
    parts: frozenset[Term]
    """All that stands in it: only what is seen of one of them says more of it."""
    is_said: bool
    """The document says so; nothing that happened shows it."""


class LearnedFacts:
    """Facts about terms that rest on declared unknowns, each settled in the iteration that it was seen in."""

    def __init__(self) -> None:
        self.fixed: set[Term] = set()
        """Terms that are settled in every iteration, as evaluation found; the same set in all copies."""
        self._values: dict[Term, Value] = {}
        self._unsettled: dict[int, _Unsettled] = {}
        """By their numbers, in the order in which they were learned."""
        self._reading: dict[Result, tuple[int, ...]] = {}
        """Which of them read an unknown; some may be settled by now."""
        self._number = 0
        self._apart: dict[Hashable, int] = {}
        """Where which value was of a group in which all are different; and what is known to be in one."""

    def copy(self) -> LearnedFacts:
        """The same facts, to be learned on separately."""
        made = LearnedFacts()
        made.fixed = self.fixed
        made._values = dict(self._values)
        made._unsettled = dict(self._unsettled)
        made._reading = dict(self._reading)
        made._number = self._number
        made._apart = dict(self._apart)
        return made

    def value(self, term: Term) -> Any:
        """The value of a settled term; Open when it is not known."""
        return self._values.get(term, _NOTHING)

    def learn(
        self, term: Term, value: Value, evaluation: Evaluation, *, is_said: bool = False
    ) -> bool:
        """Whether the term can have this value, given all that is known; if so, it is known from now on.

        `is_said`: the document says so, and nothing that happened shows it.
        """
        environment = evaluation.environment
        root = evaluation.settled(term)
        todo = [(root, value, is_said)]
        while todo:
            new: set[Term] = set()
            while todo:
                part, seen, said = todo.pop()
                here = Evaluation(environment, self)
                # What became known since may settle more of its indices.
                part = here.settled(part)
                known = here.found(part)
                if isinstance(known, Open):
                    if not may_be_text(part, seen, here) or (not known.declared and part is root):
                        return False
                    if not known.declared:
                        # What is known since leaves it open; what will be known may decide it, or contradict it.
                        self._note(part, seen, is_said=said)
                        continue
                    self._values[part] = seen
                    new.add(part)
                    if not isinstance(part, Result):
                        self._note(part, seen, is_said=said)
                elif not is_same(known, seen):
                    return False
            # What is known now may settle what was open before, or contradict it.
            again = Evaluation(environment, self)
            for number in self._touched(new):
                fact = self._unsettled[number]
                if again.settled(fact.term) is not fact.term:
                    # An index in it is known now: what is known of the term that it is may be more.
                    del self._unsettled[number]
                    if isinstance(fact.value, _Apart):
                        self._note(again.settled(fact.term), fact.value, is_said=True)
                    else:
                        todo.append((fact.term, fact.value, fact.is_said))
                    continue
                known = again.by_parts(fact.term)
                if isinstance(fact.value, _Apart):
                    if not isinstance(known, Open):
                        del self._unsettled[number]
                        if not self._is_apart(fact.value, known):
                            return False
                elif isinstance(known, Open):
                    if not may_be_text(fact.term, fact.value, again):
                        return False
                    implied = _implied(fact.term, fact.value, again)
                    todo += ((part, seen, fact.is_said) for part, seen in implied)
                else:
                    del self._unsettled[number]
                    if not is_same(known, fact.value):
                        return False
        return self._fits()

    def set_apart(
        self, group: Hashable, place: int, when: Term, term: Term, evaluation: Evaluation
    ) -> bool:
        """Whether the term can be another one than at every other place of the group, if the condition holds."""
        if (group, place) in self._apart:
            return True
        self._apart[group, place] = place
        both = evaluation.settled(apply("tuple", when, term))
        known = evaluation.found(both)
        if not isinstance(known, Open):
            return self._is_apart(_Apart(group, place), known)
        self._note(both, _Apart(group, place), is_said=True)
        return self._fits()

    def _is_apart(self, where: _Apart, known: tuple[bool, Any]) -> bool:
        holds, value = known
        if not holds or has_nan(value):
            return True
        key = (where.group, "value", key_of(value))
        return self._apart.setdefault(key, where.place) == where.place

    def _note(self, term: Term, value: Value | _Apart, *, is_said: bool) -> None:
        number = self._number = self._number + 1
        self._unsettled[number] = _Unsettled(term, value, frozenset(postorder(term)), is_said)
        for read in results(term):
            self._reading[read] = (*self._reading.get(read, ()), number)

    def _touched(self, new: set[Term]) -> list[int]:
        """What is not settled and reads something of this."""
        numbers = {number for read in results(*new) for number in self._reading.get(read, ())}
        return sorted(
            number
            for number in numbers
            if number in self._unsettled and not self._unsettled[number].parts.isdisjoint(new)
        )

    def _fits(self) -> bool:
        """Whether it is not too much; what only the document says is forgotten first, for an honest run may be long."""
        while len(self._unsettled) > MAX_UNSETTLED:
            oldest = next((at for at, each in self._unsettled.items() if each.is_said), None)
            if oldest is None:
                return False
            del self._unsettled[oldest]
        return True


def _implied(term: Term, value: Value, evaluation: Evaluation) -> Iterator[tuple[Term, Value]]:
    """What else must be so, of parts that are open, when the term has this value."""
    if not isinstance(term, App):
        return
    unknown = [each for each in term.args if isinstance(evaluation.found(each), Open)]
    if any(not evaluation.found(each).declared for each in unknown):
        return
    match term.op:
        case "not":
            yield from ((each, not value) for each in unknown)
        case "and" | "or" if value is (term.op == "and") or len(unknown) == 1:
            # All of them are as the whole is; or the one that is left decides it.
            yield from ((each, value) for each in unknown)
        case "ite":
            condition, then, otherwise = (evaluation.found(each) for each in term.args)
            first, second, third = term.args
            if isinstance(condition, bool):
                yield (second if condition else third), value
            elif not isinstance(otherwise, Open) and not is_same(otherwise, value):
                yield first, True
                yield second, value
            elif not isinstance(then, Open) and not is_same(then, value):
                yield first, False
                yield third, value
        case "concat" if len(unknown) == 1 and isinstance(value, str):
            at = term.args.index(unknown[0])
            before, after = (
                sum(len(evaluation.found(each)) for each in known)
                for known in (term.args[:at], term.args[at + 1 :])
            )
            yield unknown[0], value[before : len(value) - after]
        case "eq" if value is True and len(unknown) == 1:
            one, other = term.args
            # Of these types, equal values are the same.
            if one.type == other.type and one.type in (BOOL, INT, STR, NONE):
                yield unknown[0], evaluation.found(other if unknown[0] is one else one)
        case _:
            pass
