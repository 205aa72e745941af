"""Finds witnesses: for each trusted call that promises something, a result that keeps it in every run.

Candidates are plain values, and terms that the promises themselves name: what the result equals, what bounds it, what
it begins with. Most of them need no solver to be judged. Where no candidate fits all runs, several are joined: the
first that keeps the promises, else the next; and a solver is asked for one more wherever all of them fail. What is
found here is only proposed: the goal (`lictor_ir.goals.promises`) is what is decided, and what a certificate shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from lictor_ir.errors import IrError
from lictor_ir.goals.builder import Builder
from lictor_ir.goals.goal import Goal
from lictor_ir.goals.promises import broken_promises, promise_goal, returned_by
from lictor_ir.goals.witness import Witness, Witnesses
from lictor_ir.solver.answers import HOLDS, Answer, Conclusion, Filled, SolverModel
from lictor_ir.terms import (
    FALSE,
    TRUE,
    Result,
    Term,
    and_,
    implies,
    ite,
    results,
    substitute,
    variables,
)
from lictor_prove.proof.witness_candidates import candidates, value_term

MAX_TRIED: Final = 200
"""Candidates that are judged without a solver."""
MAX_ASKED: Final = 12
"""Candidates that a solver is asked about one by one."""
MAX_JOINED: Final = 6
MAX_ROUNDS: Final = 4
"""How often a solver is asked for one more candidate."""

Decide = Callable[[Goal], Answer]


@dataclass(frozen=True, slots=True)
class FoundPromise:
    """What was found about the promises of one call."""

    call: str
    goal: Goal
    answer: Answer
    witness: Witness | None = None

    @property
    def is_kept(self) -> bool:
        """Whether it was shown that they can always be kept."""
        return self.answer.conclusion is Conclusion.HOLDS and not self.goal.undecided


def found_promises(builder: Builder, decide: Decide) -> list[FoundPromise]:
    """Each call that promises something, in order, with a witness where one was found."""
    return [_Search(builder, call, decide).found() for call in builder.assumed.calls]


def witnesses_of(found: Sequence[FoundPromise]) -> Witnesses:
    """The witnesses that keep their promises."""
    return {each.call: each.witness for each in found if each.is_kept and each.witness is not None}


class _Search:
    """The search for one call."""

    def __init__(self, builder: Builder, call: str, decide: Decide) -> None:
        self._builder = builder
        self._call = call
        self._decide = decide
        self._promises = builder.assumed.of(call)
        self._returned = returned_by(self._promises, call)

    def found(self) -> FoundPromise:
        """A witness, or that none was found."""
        if self._returned is None:
            return self._asked(None)
        open_: list[Witness] = []
        never: list[Witness] = []
        why = ("no result is known that keeps it",)
        tried = candidates(self._builder.document, self._promises, self._returned)
        for witness in islice(tried, MAX_TRIED):
            try:
                broken, undecided = broken_promises(self._builder, self._call, witness)
            except IrError:
                continue  # it has another type, or reads what is not there yet
            if undecided:
                why = undecided
            elif broken is FALSE:
                goal = promise_goal(self._builder, self._call, witness)
                return FoundPromise(self._call, goal, HOLDS, witness)
            else:
                (never if broken is TRUE else open_).append(witness)
        # A value that does not fit every run by itself hardly fits them all.
        open_.sort(key=lambda each: (not _varies(each), each.length is None))
        last: FoundPromise | None = None
        for witness in open_[:MAX_ASKED]:
            last = self._asked(witness)
            if last.is_kept:
                return last
        joined = self._joined(open_ or never[:1], self._returned) or last
        if joined is not None:
            return joined
        goal = promise_goal(self._builder, self._call, None)
        return FoundPromise(self._call, replace(goal, undecided=why), HOLDS)

    def _asked(self, witness: Witness | None) -> FoundPromise:
        goal = promise_goal(self._builder, self._call, witness)
        return FoundPromise(self._call, goal, self._decide(goal), witness)

    # -- several candidates in one -----------------------------------------------------------------

    def _joined(self, open_: list[Witness], returned: Result) -> FoundPromise | None:
        own = len(self._builder.assumed.point(self._call).binders)
        if any(len(promise.binders) > own for promise in self._promises):
            return None  # whether each item is right can't be said in a term
        values = [each.value for each in open_ if each.length is None][:MAX_JOINED]
        kept = and_(*(implies(each.guard, each.formula) for each in self._promises))
        try:
            possible = self._builder.expand(kept)
        except IrError:
            return None
        for _ in range(MAX_ROUNDS):
            outcome = self._asked_of(values, kept, returned)
            if outcome is None:
                return None
            if outcome.answer.conclusion is Conclusion.HOLDS:
                return self._shortened(outcome, values, kept, returned)
            if outcome.answer.conclusion is not Conclusion.FAILS:
                return outcome
            # Where the candidates fail: is there a value that does not?
            goal = outcome.goal
            wanted = replace(goal, given=(*goal.given, goal.refute), refute=possible)
            answer = self._decide(self._builder.finished(wanted))
            if answer.conclusion is Conclusion.HOLDS:
                return replace(outcome, answer=replace(outcome.answer, reason="no result keeps it"))
            value = None if answer.model is None else self._value(answer.model)
            if value is None or value in values:
                return outcome
            values.append(value)
        return None

    def _asked_of(
        self, values: Sequence[Term], kept: Term, returned: Result
    ) -> FoundPromise | None:
        """What a solver says of the first of the values that keeps the promises; None when that is no witness."""
        if not values:
            return None
        try:
            chosen = values[-1]
            for value in reversed(values[:-1]):
                chosen = ite(substitute(kept, {returned: value}), value, chosen)
            return self._asked(Witness(chosen))
        except IrError:
            return None

    def _shortened(
        self, found: FoundPromise, values: Sequence[Term], kept: Term, returned: Result
    ) -> FoundPromise:
        """The same without the values that are not needed: a shorter proof can be carried."""
        needed = list(values)
        for value in reversed(values):
            fewer = [each for each in needed if each is not value]
            outcome = self._asked_of(fewer, kept, returned)
            if outcome is not None and outcome.is_kept:
                found, needed = outcome, fewer
        return found

    def _value(self, model: SolverModel) -> Term | None:
        """What the call returns in the model, in an iteration that it speaks of."""
        filled = Filled(self._builder.document, model)
        return value_term(filled.result(self._call, (), "", {}))


def _varies(witness: Witness) -> bool:
    terms = [witness.value] if witness.length is None else [witness.value, witness.length]
    return bool(variables(*terms) or results(*terms))
