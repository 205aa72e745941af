"""What is asked of a stage about one program, round by round.

What is proved is rehearsed: the planned runs first. Where they leave a call site out, runs are looked for that reach
it. Where a guarantee is undecided, runs are looked for that break it. All of it is bounded, and whoever has the stage
performs the orders: in this process, or over the bus.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from lictor_ir.contracts import terms_of
from lictor_ir.terms import Term
from lictor_prove.proof.result import Proof
from lictor_prove.rehearsal.comparison import Comparison, not_rehearsed
from lictor_prove.rehearsal.followed_runs import FollowedRun, followed
from lictor_prove.rehearsal.orders import Observation, ObservedRun, PlannedRun, StageOrder
from lictor_prove.rehearsal.plan import Plan
from lictor_prove.rehearsal.refutation import BrokenGuarantee, broken_by, refuted
from lictor_prove.rehearsal.run_search import RunSearch
from lictor_prove.rehearsal.stage import Stage
from lictor_schema.proofs.proof import ProofVerdict

RUNS: Final = 48
"""Of one round."""
MAX_ROUNDS: Final = 20
WAITED: Final = 3
"""How much longer than it computes a search may wait for a stage."""
OTHERS: Final = 8
"""Runs of a round that are followed and did nothing new."""
MAX_LOOKED_AT: Final = 700
"""Ways that one run is followed in."""


def rehearse(proof: Proof, stage: Stage) -> Proof:
    """The proof after its rehearsal; as it is, where there is nothing to run."""
    rounds = Rounds(proof)
    while rounds.order is not None:
        begun = time.perf_counter()
        rounds.see(stage.perform(rounds.order), ms=(time.perf_counter() - begun) * 1000)
    return rounds.result(proof)


class Rounds:
    """The orders about one program, and what was seen of them."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof
        self._ms = self._computed_ms = self._since = self._waited_ms = 0.0
        self._made = 0
        self._search: RunSearch | None = None
        self._broken: BrokenGuarantee | None = None
        self._comparison: Comparison | None = None
        plan = proof.plan if proof.rehearsal is None else None
        self.order: StageOrder | None = None
        """What the stage is to perform next; None at the end."""
        if plan is None:
            return
        if proof.verdict is ProofVerdict.PROVED:
            self._comparison = Comparison(proof, plan)
        self.order = plan.order if plan.order.runs else None
        if self.order is None and self._comparison is not None:
            self._comparison.see(Observation(()))

    def see(self, observation: Observation, *, ms: float = 0.0) -> None:
        """What the stage observed of the order, in so many milliseconds."""
        begun = time.perf_counter()
        self._since = time.thread_time() - self._computed_ms / 1000
        order, plan = self.order, self._proof.plan
        assert order is not None
        assert plan is not None
        self.order = None
        found = self._found(plan, order, observation)
        self._made += 1
        if self._made == 1 and self._comparison is not None:
            # The search has its own time: what was planned is compared in any case.
            self._since = time.thread_time()
        else:
            self._waited_ms += ms
        if not self._is_over(observation):
            self.order = self._next(plan, found)
        self._computed_ms = self._spent_ms
        self._ms += ms + (time.perf_counter() - begun) * 1000

    def result(self, proof: Proof) -> Proof:
        """The proof with what was found; it may have got a certificate meanwhile."""
        if proof.verdict is ProofVerdict.PROVED and proof.rehearsal is None:
            if self._comparison is None:
                return not_rehearsed(proof, "nothing was planned")
            return self._comparison.result(proof, self._ms)
        if proof.plan is None:
            return proof
        timings = replace(proof.timings, rehearse_ms=proof.timings.rehearse_ms + self._ms)
        proof = replace(proof, plan=None, timings=timings)
        return proof if self._broken is None else refuted(proof, self._broken)

    def _found(
        self, plan: Plan, order: StageOrder, observation: Observation
    ) -> list[tuple[PlannedRun, ObservedRun, FollowedRun]]:
        """The runs with what they are by the document."""
        if self._comparison is not None and not self._made:
            return self._comparison.see(observation)
        if observation.python != self._proof.python:
            return []
        found: list[tuple[PlannedRun, ObservedRun, FollowedRun]] = []
        made = zip(order.runs, observation.runs, strict=False)
        if self._search is not None:
            # For a place that was not reached, a run that does nothing new is of no use.
            others = OTHERS if self._comparison is None else 0
            made = self._search.new_first(made, most_others=others)
        for planned, observed in made:
            run = self._followed(plan, planned, observed)
            found.append((planned, observed, run))
            if self._comparison is not None:
                self._comparison.see_more(planned, observed, run)
            else:
                self._broken = broken_by(self._proof, plan.unread, run)
            if self._is_over(observation) or self._spent_ms > plan.search_ms:
                break
        return found

    def _followed(self, plan: Plan, planned: PlannedRun, observed: ObservedRun) -> FollowedRun:
        assert self._proof.ir is not None, "what has a plan has a document"
        return followed(
            self._proof.ir.document,
            planned,
            observed,
            plan.raising,
            plan.site_of,
            most=MAX_LOOKED_AT,
            monitored=self._comparison is not None,
        )

    def _is_over(self, observation: Observation) -> bool:
        if observation.refused or self._broken is not None:
            return True
        return self._comparison is not None and (
            self._comparison.is_over or not self._comparison.missing
        )

    @property
    def _spent_ms(self) -> float:
        """What this process computed for it so far; stages are waited for in another time."""
        return (time.thread_time() - self._since) * 1000

    def _next(
        self, plan: Plan, found: Sequence[tuple[PlannedRun, ObservedRun, FollowedRun]]
    ) -> StageOrder | None:
        is_late = self._spent_ms > plan.search_ms or self._waited_ms > WAITED * plan.search_ms
        if is_late or self._made >= MAX_ROUNDS:
            return None
        if self._search is None:
            assert self._proof.ir is not None, "what has a plan has a document"
            document = self._proof.ir.document
            self._search = RunSearch(document, plan.literals, plan.errors, Random(plan.seed))
        for planned, observed, run in found:
            self._search.learn(planned, observed, run)
        self._search.aim_at(self._aims(plan))
        runs = self._search.runs(RUNS)
        return replace(plan.order, runs=runs) if runs else None

    def _aims(self, plan: Plan) -> Iterator[Term]:
        """What values are compared with on the way to what is looked for."""
        assert self._proof.ir is not None, "what has a plan has a document"
        document = self._proof.ir.document
        if self._comparison is not None:
            missing = self._comparison.missing
            for atom in document.atoms:
                if plan.site_of.get(atom.id) in missing:
                    yield atom.guard
            return
        for stated, found in zip(document.guarantees, self._proof.guarantees, strict=True):
            if found.verdict is ProofVerdict.UNKNOWN:
                yield from terms_of(stated.contract)
