"""What a run shows of declared unknowns: the value of one that was passed, and which way a branch on one went.

A proof takes an unknown for one value, the same wherever it is read. So does whoever compares a run with its document:
what was seen once must fit everything that is seen later. Contradictions are found by evaluation, not by a solver: two
facts that only arithmetic tells to exclude each other are not seen to, until the value itself is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lictor_ir.evaluation.partial_values import may_be_text
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.evaluation.value_types import is_same
from lictor_ir.terms import App, Result, Term, postorder
from lictor_ir.types import BOOL, INT, NONE, STR
from lictor_ir.values import Open, Value

MAX_UNSETTLED: Final = 10_000
"""Facts that later ones may contradict; each is looked at again when something new is seen of what it reads."""

_NOTHING: Final = Open("nothing is known of it", declared=True)


class LearnedFacts:
    """Facts about terms that rest on declared unknowns, each settled in the iteration that it was seen in."""

    def __init__(self) -> None:
        self.fixed: set[Term] = set()
        """Terms that are settled in every iteration, as evaluation found; the same set in all copies."""
        self._values: dict[Term, Value] = {}
        self._unsettled: list[tuple[Term, Value, frozenset[Term]]] = []
        """With all terms that stand in it: only what is seen of one of them says more of it."""

    def copy(self) -> LearnedFacts:
        """The same facts, to be learned on separately."""
        made = LearnedFacts()
        made.fixed = self.fixed
        made._values = dict(self._values)
        made._unsettled = list(self._unsettled)
        return made

    def value(self, term: Term) -> Any:
        """The value of a settled term; Open when it is not known."""
        return self._values.get(term, _NOTHING)

    def learn(self, term: Term, value: Value, evaluation: Evaluation) -> bool:
        """Whether the term can have this value, given all that is known; if so, it is known from now on."""
        environment = evaluation.environment
        todo = [(evaluation.settled(term), value)]
        while todo:
            new: set[Term] = set()
            while todo:
                part, seen = todo.pop()
                here = Evaluation(environment, self)
                # What became known since may settle more of its indices.
                part = here.settled(part)
                known = here.found(part)
                if isinstance(known, Open):
                    if not known.declared or not may_be_text(part, seen, here):
                        return False
                    self._values[part] = seen
                    new.add(part)
                    if not isinstance(part, Result):
                        self._unsettled.append((part, seen, frozenset(postorder(part))))
                elif not is_same(known, seen):
                    return False
            # What is known now may settle what was open before, or contradict it.
            left, self._unsettled = self._unsettled, []
            again = Evaluation(environment, self)
            for fact in left:
                part, seen, parts = fact
                if parts.isdisjoint(new):
                    self._unsettled.append(fact)
                    continue
                if again.settled(part) is not part:
                    # An index in it is known now: what is known of the term that it is may be more.
                    todo.append((part, seen))
                    continue
                known = again.by_parts(part)
                if isinstance(known, Open):
                    if not may_be_text(part, seen, again):
                        return False
                    self._unsettled.append(fact)
                    todo += _implied(part, seen, again)
                elif not is_same(known, seen):
                    return False
        return len(self._unsettled) <= MAX_UNSETTLED


def _implied(term: Term, value: Value, evaluation: Evaluation) -> Iterator[tuple[Term, Value]]:
    """What else must be so, of parts that are open, when the term has this value."""
    if not isinstance(term, App):
        return
    unknown = [each for each in term.args if isinstance(evaluation.found(each), Open)]
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
