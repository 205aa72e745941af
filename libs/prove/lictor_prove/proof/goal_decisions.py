"""Decides goals: by evaluation, by solvers, and by runs that evaluation confirms."""

from __future__ import annotations

import time
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final

from lictor_ir.document import Document
from lictor_ir.goals import Goal, completed
from lictor_ir.solver.answers import HOLDS, Answer, Conclusion, SolverModel, undecided
from lictor_ir.terms import results
from lictor_prove.proof.counterexamples import Candidate
from lictor_prove.proof.portfolio import answers
from lictor_prove.proof.result import Counterexample
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.proof.witness_search import FoundPromise
from lictor_schema.proofs.proof import ProofVerdict

MAX_READ: Final = 3
"""Values that a reason names."""
MAX_GUESSED: Final = 2_000
"""Documents up to so many atoms are run once with plain values, in case that breaks something."""


@dataclass(frozen=True, slots=True)
class GoalFinding:
    """What was found out about one goal."""

    verdict: ProofVerdict
    how: str | None
    reason: str
    counterexample: Counterexample | None
    ms: float
    needs_promises: bool = False
    """It was proved with what trusted calls promise."""


def shown_finding(goal: Goal) -> GoalFinding:
    """What is known of a goal that a certificate shows."""
    return GoalFinding(ProofVerdict.PROVED, "evaluation" if goal.folded else "proof", "", None, 0.0)


def promise_finding(each: FoundPromise) -> GoalFinding:
    """What was found about the promises of a call: `proved` when it can always keep them."""
    if each.is_kept:
        return GoalFinding(ProofVerdict.PROVED, each.answer.how, "", None, 0.0)
    reason = "; ".join(each.goal.undecided) or each.answer.reason
    return GoalFinding(ProofVerdict.UNKNOWN, None, reason, None, 0.0)


class GoalDecisions:
    """Decides the goals of one document, one after the other, within its time."""

    def __init__(
        self, document: Document, settings: ProofSettings, begun: float, unread: Set[str]
    ) -> None:
        self._document = document
        self._unread = unread
        """The calls that promise more than the document says."""
        self._settings = settings
        self._end = begun + settings.total_ms / 1000
        self._guess: Candidate | None = None
        self._guessed = len(document.atoms) > MAX_GUESSED
        self.waiting = 0
        """Goals that share the time that is left, the one at hand among them; 0 while that is not known."""

    def found(self, goal: Goal) -> GoalFinding:
        """The verdict on one goal."""
        begun = time.perf_counter()
        if goal.folded and not goal.undecided:
            return GoalFinding(
                ProofVerdict.PROVED,
                "evaluation",
                "",
                None,
                since(begun),
                needs_promises=goal.rests_on_promises,
            )
        tried = None if goal.folded else self._plain_run(goal)
        if tried is not None:
            return GoalFinding(
                ProofVerdict.REFUTED, "evaluation", tried.summary, tried, since(begun)
            )
        answer, run, is_doubted = self._asked(goal, goal)
        if answer.conclusion is Conclusion.HOLDS:
            if goal.undecided:
                return GoalFinding(
                    ProofVerdict.UNKNOWN, None, "; ".join(goal.undecided), None, since(begun)
                )
            return GoalFinding(
                ProofVerdict.PROVED, answer.how, "", None, since(begun), needs_promises=True
            )
        if answer.conclusion is Conclusion.UNDECIDED:
            return GoalFinding(ProofVerdict.UNKNOWN, None, answer.reason, None, since(begun))
        if run is None and not is_doubted:
            # With every promise of every call, the model is more likely to be a run.
            answer, run, is_doubted = self._asked(completed(self._document, goal), goal)
        if run is None:
            reason = "; ".join(goal.undecided) or (
                "a run that may break it makes a call whose promise can't be read"
                if is_doubted
                else "a solver found values that may break it, and no run of the program does it with them"
                f"{self._read(goal)}"
            )
            return GoalFinding(ProofVerdict.UNKNOWN, None, reason, None, since(begun))
        return GoalFinding(ProofVerdict.REFUTED, answer.how, run.summary, run, since(begun))

    def _read(self, goal: Goal) -> str:
        """The values that it reads and nobody knows, the last computed first: they are the nearest."""
        read = {each.call for each in results(goal.refute)}
        told = dict.fromkeys(
            each.text for each in reversed(self._document.unknowns) if each.id in read
        )
        if not told:
            return ""
        more = f", and {len(told) - MAX_READ} more" if len(told) > MAX_READ else ""
        return f"; it reads what is not known: {'; '.join(list(told)[:MAX_READ])}{more}"

    def _plain_run(self, goal: Goal) -> Counterexample | None:
        if not self._guessed:
            self._guessed = True
            self._guess = self._candidate(SolverModel())
        return self._guess.breaks(goal) if self._guess is not None else None

    def _asked(self, question: Goal, goal: Goal) -> tuple[Answer, Counterexample | None, bool]:
        """What solvers say of a question, and the run that breaks the goal, as soon as a model is one.

        And whether a model would be one, if a call did not promise more than the document says.
        """
        last, is_doubted = undecided("no solver was asked", ""), False
        for last in self._answers(question):
            if last.model is None:
                continue
            candidate = self._candidate(last.model)
            run = candidate.breaks(goal)
            if run is not None:
                return last, run, False
            is_doubted |= candidate.is_doubted
        return last, None, is_doubted

    def _candidate(self, model: SolverModel) -> Candidate:
        return Candidate(self._document, model, self._unread)

    def decide(self, goal: Goal) -> Answer:
        """What solvers say of a goal, in the time that is left."""
        return list(self._answers(goal))[-1]

    def _answers(self, goal: Goal) -> Iterator[Answer]:
        if goal.folded:
            return iter((HOLDS,))
        left = int((self._end - time.perf_counter()) * 1000)
        if left <= 0:
            return iter((undecided(f"the time of {self._settings.total_ms} ms is up", "z3"),))
        share = left // self.waiting if self.waiting else 0
        allowed = min(left, max(self._settings.goal_ms, share))
        return answers(goal, allowed, self._settings.memory_mb)


def since(begun: float) -> float:
    """Milliseconds that have passed."""
    return (time.perf_counter() - begun) * 1000
