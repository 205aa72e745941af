"""Which runs of a proved program are rehearsed, and what each of them must do.

Runs are chosen cheaply first: plain and boundary values, what stands in the program, random values from a seed that
nobody knew when the program was written. A run that breaks a promise of a trusted call is none that a proof speaks
about. It is kept when it reaches a call site or a branch outcome that no run before it did. Only for what is left a
solver is asked. Last come early ends: for each call in the text a run in which it fails.
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Final

from lictor_ir.document import Document, Obligation, ObligationKind, Span
from lictor_ir.errors import IrError, UnspecifiedError
from lictor_ir.evaluation.contract_monitor import ContractMonitor
from lictor_ir.evaluation.steps import Trace
from lictor_ir.evaluation.traces import run
from lictor_ir.goals import Goal, GoalKind, completed, stated_goals
from lictor_ir.goals.builder import Builder
from lictor_ir.solver.answers import Conclusion
from lictor_ir.solver.z3_process import decide
from lictor_ir.terms import FALSE, Const, postorder
from lictor_prove.errors import ValueRefused
from lictor_prove.python.machine.program_shape import ProgramShape
from lictor_prove.python.machine.raised_errors import ERRORS
from lictor_prove.python.syntax.walking import nodes_below
from lictor_prove.rehearsal.chosen_values import (
    MAX_CONSTANTS,
    ChosenRun,
    SolvedRun,
    ValuePool,
    Values,
)
from lictor_prove.rehearsal.orders import Answer, ObservedCall, PlannedRun, StageOrder
from lictor_prove.rehearsal.other_runs import without_others
from lictor_prove.rehearsal.outcome_points import OutcomePoints
from lictor_prove.rehearsal.planning_time import PlanningTime
from lictor_prove.rehearsal.reached_places import Place, Places, first_broken
from lictor_prove.rehearsal.sample_texts import number_texts, sample_texts
from lictor_prove.written_values import shortened, written

if TYPE_CHECKING:
    from lictor_prove.proof.settings import ProofSettings

SEED_BYTES: Final = 16
"""Of a seed, which is written in hexadecimal digits."""
MAX_RUNS: Final = 48
MAX_KEPT: Final = 36
"""Of them, runs to the end."""
FIRST: Final = 5
"""Runs that are kept whatever they reach, if they differ."""
FIRST_IF_UNCERTAIN: Final = 24
"""The same, where a site or an outcome folded away: no run of the document aims there, and if that is wrong, Python
comes there with values that stand in the program."""
FIRST_IF_UNKNOWN: Final = 34
"""The same, where unknowns decide what a run reaches: nobody can say beforehand."""
LONG: Final = 8
"""Items of a list that is long: where unknowns decide, each item multiplies the ways that a run may go."""
TOO_LONG: Final = 20
"""Items of a list that is too long for a run that is planned for nothing but being another one."""
MAX_LONG: Final = 4
"""Runs with such lists that are kept for nothing but being other ones; more are looked for where they are needed."""
LEAST: Final = 3
"""What a rehearsal needs of them, unless there are no others."""
TRIES: Final = 40
"""Runs that are tried before a solver is asked, or so many for each place that is to be reached."""
TRIES_EACH: Final = 6
MAX_TERMS: Final = 2_000
MAX_LETTERS: Final = 100
"""Solvers lose themselves in longer texts, and forget the time."""
QUESTION_MS: Final = 500
"""For one question to the solver."""
SEARCH_MS: Final = 1_500
"""For a counterexample: what is undecided has taken long already, and would have to be looked at by somebody."""
MAX_SEARCH_MS: Final = 2_000
MAX_WAYS: Final = 8
"""Paths to one place that a solver is asked about."""
MAX_BYTES: Final = 640 * 1024
"""Of an order: it must fit into one message."""
MAX_OBSERVED: Final = 640 * 1024
"""Of what is reported of all runs: a run that a limit ends is not compared, and then nothing counts as rehearsed."""
_NO_RUN: Final = (IrError, ArithmeticError, TypeError, ValueRefused)
"""Why values may make no run: something is left open, or can't cross to a program."""


@dataclass(frozen=True, slots=True)
class PredictedRun:
    """What a run must do, as the document says."""

    calls: tuple[ObservedCall, ...]
    sites: frozenset[int]
    """The call sites that it reaches, by their numbers."""
    outcomes: frozenset[int]
    """The branch outcomes that it was chosen for, by their numbers."""
    is_guess: bool = False
    """Whether it rests on values that the document declares unknown: Python may do something else that the document
    says, too."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An order for a stage, and what must come of it."""

    order: StageOrder
    predicted: tuple[PredictedRun, ...]
    """Run by run."""
    sites: tuple[str, ...]
    """The lines of all call sites, with those of the calls that lead into their helpers: `12 via 20`."""
    sites_unreachable: frozenset[int]
    """By their numbers."""
    outcomes: int
    outcomes_unreachable: int
    too_few: str = ""
    """Why less was planned than a rehearsal needs: a long program must not get by with a single run."""
    contradiction: str = ""
    """A run that evaluation takes to break what is proved: then the prover contradicts itself."""
    site_of: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of the site that each atom stands at."""
    raising: tuple[Span, ...] = ()
    """Where a value is computed that is declared unknown, and may raise."""
    outcome_points: OutcomePoints = field(default_factory=OutcomePoints)
    """How outcomes are taken, where unknowns decide which."""
    seed: str = ""
    """Where its random values come from: with it, the same runs can be planned again."""
    ms: float = 0.0
    literals: tuple[object, ...] = ()
    """What stands in the program, and texts that it can read."""
    errors: tuple[str, ...] = ()
    """The classes of errors that it handles."""
    unread: frozenset[str] = frozenset()
    """The calls that promise more than the document says."""
    search_ms: float = 0.0
    """What looking for more runs may take."""

    @property
    def whole_runs(self) -> int:
        """How many of its runs go on to the end."""
        return sum(run.fails_at is None for run in self.order.runs)


def planned(
    document: Document,
    shape: ProgramShape,
    order: StageOrder,
    settings: ProofSettings,
    *,
    seed: str,
    literals: Sequence[object] = (),
    solved_ms: float = 0.0,
    is_proved: bool = True,
) -> Plan:
    """The plan for a program; `order` is without runs. `literals`: what stands in the program.

    `is_proved`: every place is to be reached; else the runs are what a counterexample is looked for with.
    """
    begun = time.perf_counter()
    most_ms = max(settings.rehearsal_ms, solved_ms)
    # What is undecided may have taken all the time that there was.
    time_left = PlanningTime(most_ms if is_proved else min(most_ms, SEARCH_MS))
    planning = _Planning(document, shape, settings, time_left)
    planning.try_values(literals, Random(seed))
    if is_proved:
        planning.ask_solver()
        planning.find_others()
    return replace(
        planning.plan(order, with_early_ends=is_proved),
        seed=seed,
        ms=(time.perf_counter() - begun) * 1000,
        literals=tuple(literals),
        errors=tuple(each for each in shape.handled if each in ERRORS),
        unread=frozenset(each.call for each in shape.unread),
        search_ms=min(most_ms if is_proved else max(most_ms, SEARCH_MS), MAX_SEARCH_MS),
    )


def literals_of(tree: ast.Module) -> tuple[object, ...]:
    """The numbers and texts that stand in a program, and texts that it can read."""
    nodes = nodes_below(tree)
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    stated = (
        node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in said
    )
    return (*stated, *number_texts(tree), *sample_texts(tree))


@dataclass(frozen=True, slots=True)
class _Kept:
    trace: Trace
    run: PlannedRun
    calls: tuple[ObservedCall, ...]
    reached: frozenset[Place]
    size: int
    """Of its inputs and answers, as JSON."""
    observed: tuple[int, ...]
    """The same of what is reported of each call."""


class _Planning:
    def __init__(
        self,
        document: Document,
        shape: ProgramShape,
        settings: ProofSettings,
        time_left: PlanningTime,
    ) -> None:
        self._document = document
        self._shape = shape
        self._settings = settings
        self._time = time_left
        self._places = Places(document, shape)
        self._monitor = ContractMonitor(document)
        self._pool = ValuePool(document, (), ())
        self._errors = cycle([each for each in shape.handled if each in ERRORS] or ["RuntimeError"])
        self._kept: list[_Kept] = []
        self._long = 0
        """Of them, runs with long lists."""
        self._made: set[str] = set()
        self._is_narrow = False
        """Whether some of the chosen values made no run: there may be more runs than were found."""
        self._too_few = ""
        self._contradiction = ""

    @property
    def _is_late(self) -> bool:
        return self._time.left_ms < 0

    # -- cheap runs ------------------------------------------------------------------------------

    def try_values(self, literals: Sequence[object], random: Random) -> None:
        """Runs with chosen values, until everything is reached or nothing new comes."""
        document = self._document
        conditions = [each.condition for each in self._shape.branches[:1_000]]
        pool = self._pool = ValuePool(document, conditions, literals)
        first = FIRST_IF_UNCERTAIN if self._places.has_folded else FIRST
        if document.unknowns:
            first = FIRST_IF_UNKNOWN
        for number in range(max(TRIES, TRIES_EACH * len(self._places.open()))):
            if number and self._is_late:
                if number < LEAST:
                    self._too_few = f"there was time to plan {number} of at least {LEAST} runs"
                return
            missing = self._places.open()
            if number >= first and not missing and not self._has_too_few:
                return
            constants = ()
            if number >= FIRST and number % 4:
                aimed = missing[number % len(missing)] if missing else None
                # Where unknowns decide, a place that looks reached may not be, and conditions don't name its constants.
                if aimed is None or (document.unknowns and number % 2):
                    constants = literals[:MAX_CONSTANTS]
                else:
                    constants = self._constants(aimed)
            chosen = ChosenRun(pool, number, random, constants)
            keep = number < first or self._has_too_few
            is_run = self._try(chosen, keep=keep)
            self._is_narrow |= chosen.is_changed or not is_run
            if is_run and not chosen.is_open:
                # Nothing was chosen: all runs are alike.
                return

    @property
    def _has_too_few(self) -> bool:
        return self._is_narrow and len(self._kept) < LEAST

    def _constants(self, place: Place) -> Sequence[object]:
        """What the conditions on the way to a place compare with."""
        ways = islice(self._places.ways_to(place), 1)
        terms = islice(postorder(*(guard for guard, _, _ in ways)), MAX_TERMS)
        return [term.value for term in terms if isinstance(term, Const)]

    def _try(self, chosen: Values, *, keep: bool) -> bool:
        """Keep the run of these values, if it is one and is worth it; whether it is one."""
        document = self._document
        try:
            trace = run(
                document,
                chosen.inputs,
                chosen.result,
                chosen=chosen.unknown if document.unknowns else None,
            )
            if self._is_broken(trace):
                return False
            places = frozenset(self._places.of(trace))
            longest = _longest(trace) if document.unknowns else 0
            is_long = longest > LONG
            if len(self._kept) >= FIRST:
                keep = keep and longest <= (LONG if self._long >= MAX_LONG else TOO_LONG)
            if len(self._kept) >= MAX_KEPT or not (keep or places - self._places.reached):
                return True
            planned_run, calls = _written(trace, self._errors)
            if document.unknowns:
                more = chosen.more_answers()
                planned_run = replace(
                    planned_run, answers=(*planned_run.answers, *more), in_order=False
                )
        except _NO_RUN:
            return False
        spelled = _spelled(planned_run)
        if spelled in self._made:
            return True
        self._made.add(spelled)
        if not document.unknowns:
            self._check_guarantees(trace)
        self._places.reached |= places
        self._long += is_long
        observed = tuple(map(_observed_bytes, calls))
        self._kept.append(_Kept(trace, planned_run, calls, places, len(spelled), observed))
        return True

    def _is_broken(self, trace: Trace) -> bool:
        """Whether a call breaks a promise in it, so that no proof speaks about it; or the prover contradicts itself."""
        document = self._document
        if document.unknowns:
            # The run is imagined: what it breaks shows in what Python does, or not at all.
            with suppress(UnspecifiedError):
                return first_broken(trace, document.assumptions) is not None
            return False
        if first_broken(trace, document.assumptions) is not None:
            return True
        failed = first_broken(trace, document.obligations)
        if failed is not None:
            self._contradict(trace, f"{failed.text} does not hold")
        return failed is not None

    def _check_guarantees(self, trace: Trace) -> None:
        """As the runner does it: with every call, and at the end. What is open is no contradiction."""
        with suppress(*_NO_RUN):
            broken = self._monitor.broken_by(trace)
            if broken is not None:
                guarantee, calls = broken
                self._contradict(trace, f"{guarantee.name} is broken after {calls} calls")

    def _contradict(self, trace: Trace, what: str) -> None:
        if not self._contradiction:
            calls = "; ".join(step.effect for step in trace.steps[:20]) or "none"
            self._contradiction = f"{what} in a run that keeps every promise (calls: {calls})"

    # -- what a solver finds ---------------------------------------------------------------------

    def ask_solver(self) -> None:
        """Runs to what is not reached yet; what no run can reach is noted."""
        missing = self._places.open()
        if not missing or self._is_late:
            return
        ways_to = {
            place: list(islice(self._places.ways_to(place), MAX_WAYS + 1)) for place in missing
        }
        ways = [(place, way) for place, each in ways_to.items() for way in each[:MAX_WAYS]]
        # A goal that a place is never reached: its counterexample is a run that does.
        never = tuple(
            Obligation(ObligationKind.ASSERTION, FALSE, "", guard, binders, call)
            for _, (guard, binders, call) in ways
        )
        asked = replace(self._document, obligations=never, guarantees=())
        found = [each for each in stated_goals(Builder(asked)) if each.kind is GoalKind.ASSERTION]
        possible = {place for place, each in ways_to.items() if len(each) > MAX_WAYS}
        for (place, _), goal in zip(ways, found, strict=True):
            if place in self._places.reached:
                continue
            if _has_long_texts(goal) or not self._is_never(goal, asked):
                possible.add(place)
        self._places.unreachable |= set(missing) - possible - self._places.reached

    def find_others(self) -> None:
        """More runs, where few of the chosen values made one: a single run shows little."""
        while self._has_too_few and not self._too_few:
            found = len(self._kept)
            with suppress(IrError):
                asked = without_others(self._document, [each.trace for each in self._kept])
                (goal,) = (
                    each for each in stated_goals(Builder(asked)) if each.kind is GoalKind.ASSERTION
                )
                if not _has_long_texts(goal) and self._is_never(goal, asked, keep=True):
                    return
            if len(self._kept) == found:
                self._too_few = f"{found} of at least {LEAST} runs were found that keep the promises of trusted calls"

    def _is_never(self, goal: Goal, asked: Document, *, keep: bool = False) -> bool:
        """Whether nothing leads there; else a run that does is kept, if one is found."""
        for question in (lambda: goal, lambda: completed(asked, goal)):
            left = int(self._time.left_ms)
            if left <= 0:
                return False
            with self._time.waiting():
                answer = decide(question(), min(left, QUESTION_MS), self._settings.memory_mb)
            if answer.conclusion is Conclusion.HOLDS:
                return not goal.undecided
            if answer.model is None:
                return False
            if self._try(SolvedRun(self._pool, answer.model), keep=keep):
                return False
        return False

    # -- the plan --------------------------------------------------------------------------------

    def plan(self, order: StageOrder, *, with_early_ends: bool) -> Plan:
        """The order with its runs, as many as fit into it; `with_early_ends`: also those in which a call fails."""
        sites: dict[Place, int] = {site: at for at, site in enumerate(self._places.sites)}
        outcomes: dict[Place, int] = {
            outcome: at for at, outcome in enumerate(self._places.outcomes)
        }
        runs: list[PlannedRun] = []
        predicted: list[PredictedRun] = []
        left = MAX_BYTES - len(json.dumps([order.source, order.outline]))
        observed = MAX_OBSERVED
        early = self._early_ends() if with_early_ends else ()
        for each in (*self._kept, *early):
            left -= each.size + 64 + 32 * len(each.run.answers)
            observed -= sum(each.observed)
            if left < 0 or observed < 0 or len(runs) >= MAX_RUNS:
                break
            runs.append(each.run)
            predicted.append(
                PredictedRun(
                    each.calls,
                    frozenset(sites[place] for place in each.reached if place in sites),
                    frozenset(outcomes[place] for place in each.reached if place in outcomes),
                    bool(self._document.unknowns),
                )
            )
        wanted = min(LEAST, len(self._kept))
        if len(runs) < wanted:
            self._too_few = f"{len(runs)} of at least {wanted} runs fit into an order"
        unreachable = self._places.unreachable
        return Plan(
            replace(order, runs=tuple(runs)),
            tuple(predicted),
            tuple(site.lines for site in self._places.sites),
            frozenset(sites[place] for place in unreachable if place in sites),
            len(outcomes),
            sum(1 for place in unreachable if place in outcomes),
            self._too_few,
            self._contradiction,
            {call: sites[site] for call, site in self._places.site_of.items()},
            self._shape.raising,
            OutcomePoints(tuple(self._places.outcome_points()) if self._document.unknowns else ()),
        )

    def _early_ends(self) -> Iterator[_Kept]:
        """For each call in the text a run in which it fails: Python must end there, too."""
        ended: set[Span] = set()
        for kept in self._kept:
            for step in kept.trace.steps:
                span = step.atom.span
                if span is None or span in ended:
                    continue
                ended.add(span)
                at = step.number
                answers = kept.run.answers[:at] if kept.run.in_order else kept.run.answers
                early = replace(kept.run, answers=answers, fails_at=at)
                calls, observed = kept.calls[: at + 1], kept.observed[: at + 1]
                yield _Kept(kept.trace, early, calls, frozenset(), len(_spelled(early)), observed)


def _spelled(run: PlannedRun) -> str:
    """What a run is given."""
    return json.dumps([run.inputs, [[each.result, each.error] for each in run.answers]])


def _longest(trace: Trace) -> int:
    """The items of the longest list that a call returned."""
    returned = (step.result for step in trace.steps)
    return max((len(each) for each in returned if isinstance(each, list)), default=0)


def _observed_bytes(call: ObservedCall) -> int:
    arguments = {name: shortened(value) for name, value in call.arguments.items()}
    return len(json.dumps([call.effect, arguments]))


def _has_long_texts(goal: Goal) -> bool:
    return any(
        isinstance(term, Const) and isinstance(term.value, str) and len(term.value) > MAX_LETTERS
        for term in postorder(*goal.given, goal.refute)
    )


def _written(trace: Trace, errors: Iterator[str]) -> tuple[PlannedRun, tuple[ObservedCall, ...]]:
    """A run as it is ordered, and the calls that it must make; `errors`: the next that is raised where a call fails."""
    inputs = {name: written(value) for name, value in trace.inputs.items()}
    answers = tuple(
        Answer(step.effect, None, next(errors))
        if step.atom.fails
        else Answer(step.effect, written(step.result))
        for step in trace.steps
    )
    calls = tuple(
        ObservedCall(step.effect, {name: written(value) for name, value in step.arguments.items()})
        for step in trace.steps
    )
    return PlannedRun(inputs, answers), calls
