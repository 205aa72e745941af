"""Compares what a program did on a stage with what its document says, event for event and argument for argument.

One difference and nothing is proved: the model of Python that the proof rests on is wrong about this program.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import Final, cast

from lictor_prove.errors import Reason
from lictor_prove.proof.result import Proof, Rehearsal
from lictor_prove.python.operations.whole_floats import SMALL
from lictor_prove.rehearsal.followed_runs import FollowedRun, followed
from lictor_prove.rehearsal.orders import (
    Answer,
    Observation,
    ObservedCall,
    ObservedRun,
    PlannedRun,
)
from lictor_prove.rehearsal.plan import LEAST, Plan, PredictedRun
from lictor_prove.written_values import Json, same, shortened
from lictor_schema.proofs.proof import ProofVerdict

DIFFERS: Final = "prover.differs"
MAX_TOLD: Final = 30
"""Calls of each trace that a difference shows."""
MAX_CALL: Final = 160
MAX_LOOKED_AT: Final = 5_000
"""Ways that the runs of one rehearsal are followed in, where unknowns decide: a verdict must not wait for more."""
_TOO_MANY: Final = "declared unknowns leave too many ways to follow in the others"
_REMEDY: Final = "report this program: the prover and Python disagree about it; it must not run"
_NOT_FORESEEN: Final = PredictedRun((), frozenset(), frozenset(), is_guess=True)
"""Of a run that was not planned beforehand."""
_NO_ERRORS: Final = ("MemoryError", "RecursionError", "ValueError: Exceeds the limit (")
"""What ends a run early and is no error of the program (docs/python-subset.md)."""


class Comparison:
    """What was observed of one program so far, held against its plan."""

    def __init__(self, proof: Proof, plan: Plan) -> None:
        self._proof = proof
        self._plan = plan
        self._observation = Observation(())
        self._compared: list[PredictedRun] = []
        self._outcomes = frozenset[int]()
        self._ended = 0
        """Planned runs that were compared."""
        self._whole = 0
        """Of all that were compared, those in which no call was told to fail."""
        self._outside = 0
        self._looked_at = 0
        self._too_many = ""
        self._difference = (
            plan.contradiction and f"the prover contradicts itself: {plan.contradiction}"
        )

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to be found out."""
        return bool(self._difference or self._observation.refused)

    @property
    def missing(self) -> set[int]:
        """The call sites that no run reached and that may be reachable, by their numbers."""
        sites = frozenset[int]().union(*(each.sites for each in self._compared))
        return set(range(len(self._plan.sites))) - sites - self._plan.sites_unreachable

    def see(self, observation: Observation) -> list[tuple[PlannedRun, ObservedRun, FollowedRun]]:
        """Compare the planned runs; those in which unknowns decide, with the runs of the document that they are."""
        proof, plan = self._proof, self._plan
        if observation.runs and observation.python != proof.python:
            # What another Python does shows nothing about this one, neither for the proof nor against it.
            observation = replace(observation, runs=(), refused=_other_python(proof, observation))
        self._observation = observation
        found: list[tuple[PlannedRun, ObservedRun, FollowedRun]] = []
        for number, (planned, predicted, observed) in enumerate(
            zip(plan.order.runs, plan.predicted, observation.runs, strict=False), 1
        ):
            if self._difference:
                break
            if predicted.is_guess:
                most = MAX_LOOKED_AT - self._looked_at
                run = _followed(proof, plan, number, planned, predicted, observed, most)
                self._difference = run.difference
                self._looked_at += run.looked_at
                self._too_many = self._too_many or (_TOO_MANY if run.is_open else "")
                found.append((planned, observed, run))
                if run.is_outside:
                    self._outside += 1
                elif not _is_cut(observed) and not run.is_open:
                    self._ended += 1
                    self._add(planned, predicted, run)
                continue
            self._difference = _difference(number, planned, predicted, observed, plan.order.outline)
            if not _is_cut(observed):
                self._ended += 1
                self._compared.append(predicted)
        return found

    def see_more(self, planned: PlannedRun, observed: ObservedRun, run: FollowedRun) -> None:
        """A run that was not planned beforehand, and was followed."""
        if run.difference:
            number = len(self._compared) + 1
            self._difference = _with_traces(
                run.difference, number, planned, _NOT_FORESEEN, observed
            )
        elif not (run.is_outside or run.is_open or _is_cut(observed)):
            self._add(planned, _NOT_FORESEEN, run)

    def _add(self, planned: PlannedRun, predicted: PredictedRun, run: FollowedRun) -> None:
        reached = _as_reached(self._plan, predicted, run, self._outcomes)
        self._compared.append(reached)
        self._outcomes |= reached.outcomes
        self._whole += planned.fails_at is None

    def result(self, proof: Proof, ms: float) -> Proof:
        """The proof with all of it; `ms`: how long that took."""
        timings = replace(proof.timings, rehearse_ms=proof.timings.rehearse_ms + ms)
        if self._difference:
            return _distrusted(replace(proof, timings=timings), self._difference)
        return replace(proof, plan=None, timings=timings, rehearsal=self._rehearsal())

    def _rehearsal(self) -> Rehearsal:
        plan, observation, compared = self._plan, self._observation, self._compared
        limit = _first_limit(observation) or (self._too_many and f": {self._too_many}")
        sites = frozenset[int]().union(*(each.sites for each in compared))
        outcomes = frozenset[int]().union(*(each.outcomes for each in compared))
        refused = observation.refused
        if not refused and not plan.predicted:
            refused = (
                "no values were found with which it runs and trusted calls keep their promises"
            )
        elif not refused and plan.too_few:
            refused = plan.too_few
        elif not refused and not compared:
            refused = f"no run came to its end{limit}"
        elif not refused and self._outside and self._whole < min(LEAST, plan.whole_runs):
            refused = f"in only {self._whole} of {plan.whole_runs} runs, trusted calls kept their promises"
        elif not refused and (missing := self.missing):
            lines = ", ".join(list(dict.fromkeys(plan.sites[at] for at in sorted(missing)))[:10])
            refused = f"no run reached the call in line {lines}"
        elif not refused and self._ended + self._outside < len(plan.predicted):
            # What would have come is not known, and a program can arrange that it is just what differs.
            ended = f"{self._ended} of {len(plan.predicted)}"
            refused = f"only {ended} runs came to their end{limit}"
        return Rehearsal(
            runs=len(compared),
            sites=len(plan.sites),
            sites_reached=len(sites),
            sites_unreachable=len(plan.sites_unreachable),
            outcomes=plan.outcomes,
            outcomes_reached=len(outcomes),
            outcomes_unreachable=plan.outcomes_unreachable,
            refused=refused,
            seed=plan.seed,
            python=observation.python,
        )


def not_rehearsed(proof: Proof, why: str) -> Proof:
    """A proof that rests on the model alone."""
    return replace(proof, plan=None, rehearsal=Rehearsal(refused=why))


def _followed(
    proof: Proof,
    plan: Plan,
    number: int,
    planned: PlannedRun,
    predicted: PredictedRun,
    observed: ObservedRun,
    most: int,
) -> FollowedRun:
    """A run in which declared unknowns decide, held against the document; `most`: ways that are looked at."""
    assert proof.ir is not None, "what is proved has a document"
    run = followed(proof.ir.document, planned, observed, plan.raising, plan.site_of, most=most)
    if not run.difference:
        return run
    told = _with_traces(run.difference, number, planned, predicted, observed)
    return replace(run, difference=told)


def _with_traces(
    difference: str,
    number: int,
    planned: PlannedRun,
    predicted: PredictedRun,
    observed: ObservedRun,
) -> str:
    ends = "completed" if planned.fails_at is None else "failed"
    return f"{difference}\n{_told(number, len(observed.calls), planned, predicted, observed, ends)}"


def _as_reached(
    plan: Plan, predicted: PredictedRun, run: FollowedRun, outcomes: frozenset[int]
) -> PredictedRun:
    """What a run certainly reached: the sites of its calls, and the outcomes besides these that it took."""
    return replace(
        predicted,
        sites=run.sites,
        outcomes=plan.outcome_points.taken(run.traces, outcomes),
    )


def _other_python(proof: Proof, observation: Observation) -> str:
    return (
        f"the stage is {observation.python or 'a Python that it does not name'}, and the program was read by"
        f" {proof.python or 'a Python that is not named'}; run the prover and the rehearser with the same Python"
    )


def _first_limit(observation: Observation) -> str:
    errors = [each.error for each in observation.runs if _is_cut(each) and each.error]
    return f": {errors[0]}" if errors else ""


def _is_cut(observed: ObservedRun) -> bool:
    """Whether a limit ended it: what came before counts, what would have come is not known."""
    return observed.ended == "limit" or (
        observed.ended == "raised" and observed.error.startswith(_NO_ERRORS)
    )


def _difference(
    number: int,
    planned: PlannedRun,
    predicted: PredictedRun,
    observed: ObservedRun,
    outline: Json,
) -> str:
    """How a run differs from what was predicted; nothing when it does not."""
    ends = "completed" if planned.fails_at is None else "failed"
    for at, call in enumerate(observed.calls):
        if (
            at >= len(predicted.calls)
            or not _is_same(predicted.calls[at], call)
            or (at < len(planned.answers) and not _is_for(planned.answers[at], call, outline))
        ):
            return _told(number, at, planned, predicted, observed, ends)
    if _is_cut(observed):
        return ""
    if len(observed.calls) < len(predicted.calls) or observed.ended != ends:
        return _told(number, len(observed.calls), planned, predicted, observed, ends)
    return ""


def _is_same(predicted: ObservedCall, observed: ObservedCall) -> bool:
    # Documents don't have row classes: they decide the type of a result.
    given = {
        name: value
        for name, value in observed.arguments.items()
        if name in predicted.arguments or not _is_row_class(value)
    }
    return (
        predicted.effect == observed.effect
        and predicted.arguments.keys() == given.keys()
        and all(
            same(shortened(value), shortened(_as_declared(given[name], value)))
            for name, value in predicted.arguments.items()
        )
    )


def _is_for(answer: Answer, observed: ObservedCall, outline: Json) -> bool:
    """Whether the call asks for the rows that its document reads from it; of what is not read, none are planned."""
    parameter = outline.get("effects", {}).get(answer.effect, {}).get("of_schema")
    asked = observed.arguments.get(parameter) if parameter else None
    wanted = _schemas(answer.result)
    return asked is None or not wanted or wanted == {asked.get("rows")}


def _schemas(written: Json) -> set[str]:
    if isinstance(written, list):
        return set[str]().union(*map(_schemas, cast(list[Json], written)))
    row = cast(Json, written).get("row") if isinstance(written, dict) else None
    return set() if row is None else {row}


def _is_row_class(value: Json) -> bool:
    return isinstance(value, dict) and "rows" in value


def _as_declared(observed: Json, predicted: Json) -> Json:
    """As the runner has it: a small whole number stands for the equal float where one is declared."""
    is_float = isinstance(predicted, dict) and "float" in predicted
    if is_float and type(observed) is int and abs(observed) <= SMALL:
        return {"float": repr(float(observed))}
    return observed


# -- for people ------------------------------------------------------------------------------------


def _told(
    number: int,
    at: int,
    planned: PlannedRun,
    predicted: PredictedRun,
    observed: ObservedRun,
    ends: str,
) -> str:
    """Both traces side by side, around the first difference."""
    first = max(0, at - MAX_TOLD // 2)
    lines = [
        f"rehearsed in run {number}, Python does not do what the proof says; call by call, proof | Python:"
    ]
    if planned.inputs:
        lines.append(f"  inputs {_cut(repr(dict(planned.inputs)))}")
    pairs = list(zip_longest(predicted.calls, observed.calls))
    for place, (said, done) in enumerate(pairs[first : first + MAX_TOLD], first):
        mark = ">" if place == at else " "
        lines.append(f"{mark} {place + 1}: {_call(said)} | {_call(done)}")
        if place < len(planned.answers):
            lines.append(f"     answered {_cut(repr(planned.answers[place].result))}")
    error = f" ({_cut(observed.error)})" if observed.error else ""
    mark = ">" if at >= len(pairs) else " "
    lines.append(f"{mark} end: {ends} | {observed.ended}{error}")
    return "\n".join(lines)


def _call(call: ObservedCall | None) -> str:
    if call is None:
        return "-"
    given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return _cut(f"{call.effect}({given})")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CALL else f"{text[:MAX_CALL]}…"


def _distrusted(proof: Proof, difference: str) -> Proof:
    """Nothing that was found about a program counts when its model is wrong."""
    guarantees = tuple(
        replace(
            each,
            verdict=ProofVerdict.UNKNOWN,
            strength=None,
            parts=(),
            how=None,
            reason="Python does not do what the proof says",
        )
        for each in proof.guarantees
    )
    return replace(
        proof,
        verdict=ProofVerdict.UNKNOWN,
        reasons=(Reason(DIFFERS, difference, _REMEDY),),
        guarantees=guarantees,
        coverage=None,
        analysis=None,
        certificate=None,
        uncertified="",
        plan=None,
    )
