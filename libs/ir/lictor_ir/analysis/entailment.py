"""Whether contracts imply another, over every trace of a signature.

`implied` rests on goals that have no model (`Entailment.goals`), and on the argument of
`lictor_ir.analysis.trace_length` or `lictor_ir.analysis.domination` that they speak for traces of any length.
`not_implied` comes with a trace that the evaluator confirmed: the premises hold of it and the contract does not.
Everything else is `unknown`, with the reason; whoever asks must take it for a no.

In a trace of the signature every argument has a value. A call that leaves one to its default has that value; the proof
of a premise that reads it is refused anyway, so nothing is taken for granted about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from lictor_ir.analysis.contract_formulas import at_end, formula, violated, zero
from lictor_ir.analysis.contract_parts import Leaf, Quiet, most_rows, parts_of
from lictor_ir.analysis.domination import bounded, exceeded, mixtures
from lictor_ir.analysis.guesses import FEW_TRIED, FRESH, guessed
from lictor_ir.analysis.signature import Signature
from lictor_ir.analysis.solver_budget import Budget, plainly_holds
from lictor_ir.analysis.trace_length import MAX_STEPS, TraceBound, is_hereditary, plan, relations_of
from lictor_ir.analysis.trace_variables import SignatureScope, SymbolicTrace
from lictor_ir.analysis.witnesses import (
    breaks,
    empty_trace,
    keeps,
    plain_trace,
    repeated,
    shortened,
    trace_of,
)
from lictor_ir.contracts import (
    UPPER,
    All,
    AtEnd,
    Comparison,
    Contract,
    Count,
    Distinct,
    Empty,
    Relation,
    Sum,
    terms_of,
)
from lictor_ir.document import Fluent
from lictor_ir.errors import IrError, TermError, UnsupportedError
from lictor_ir.evaluation import Trace
from lictor_ir.goals.aggregates import compared
from lictor_ir.goals.builder import Builder
from lictor_ir.goals.goal import Goal, GoalKind
from lictor_ir.solver.answers import Answer, Conclusion
from lictor_ir.terms import FALSE, Const, Term, and_, apply, const, not_, postorder, var
from lictor_ir.types import INT, STR, Type
from lictor_ir.values import Value

ASKED_KEY: Final = "asked key"
"""The variable for a key whose value in the end breaks a contract."""
MORE_STEPS: Final = 2
"""How much longer traces are tried for a witness than are needed for the argument."""

MOST_ALONE: Final = 4
"""Effects of which a trace is looked for that calls nothing else."""
MOST_PLAIN: Final = 2
"""Of how many effects a call with plain values is tried, and how many values."""
MOST_READINGS: Final = 8
"""How many arguments are tried for calls that return rows."""
MOST_REPEATED: Final = 300
"""How often one call is made in a witness."""


class EntailmentVerdict(StrEnum):
    """Whether a contract is implied."""

    IMPLIED = "implied"
    NOT_IMPLIED = "not_implied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Entailment:
    """Whether contracts imply another one, and why."""

    verdict: EntailmentVerdict
    reason: str
    """The argument, or what is not known."""
    witness: Trace | None = None
    """Of `not_implied`: the premises hold of it, and the contract does not."""
    goals: tuple[Goal, ...] = ()
    """Of `implied`: what has no model. None are needed where the contract is stated as it is."""

    @property
    def is_implied(self) -> bool:
        """Whether it may be relied on."""
        return self.verdict is EntailmentVerdict.IMPLIED


def entails(
    signature: Signature,
    proved: Sequence[Contract],
    wanted: Contract,
    budget: Budget | None = None,
) -> Entailment:
    """Whether every trace that keeps all of `proved` keeps `wanted`. Never raises for contracts of the signature.

    DocumentError when a contract does not fit the signature.
    """
    signature.check([*proved, wanted])
    return implication(signature, proved, wanted, budget or Budget())


def implication(
    signature: Signature, proved: Sequence[Contract], wanted: Contract | Quiet, budget: Budget
) -> Entailment:
    """The same for contracts that were checked."""
    question = _Question(signature, tuple(proved), wanted, budget)
    empty = question.refuted_by(empty_trace(signature))
    if empty is not None:
        return empty
    unknown: list[str] = []
    goals: list[Goal] = []
    reasons: list[str] = []
    for leaf in [wanted] if isinstance(wanted, Quiet) else parts_of([wanted]):
        found = question.leaf(leaf)
        if found.verdict is EntailmentVerdict.NOT_IMPLIED:
            return found
        if found.verdict is EntailmentVerdict.UNKNOWN:
            unknown.append(found.reason)
        goals += found.goals
        reasons.append(found.reason)
    if unknown:
        return Entailment(EntailmentVerdict.UNKNOWN, "; ".join(dict.fromkeys(unknown)))
    argument = "; ".join(dict.fromkeys(reasons)) or "it promises nothing"
    return Entailment(EntailmentVerdict.IMPLIED, argument, goals=tuple(goals))


class _Question:
    """One set of premises and what they may imply."""

    def __init__(
        self,
        signature: Signature,
        proved: tuple[Contract, ...],
        wanted: Contract | Quiet,
        budget: Budget,
    ) -> None:
        self._signature = signature
        self._proved = proved
        self._premises = tuple(parts_of(proved))
        self._wanted = wanted
        self._budget = budget
        self._lasting = tuple(each for each in self._premises if is_hereditary(each))

    @cached_property
    def _builder(self) -> Builder:
        """Most questions are answered without goals."""
        return Builder(self._signature.document())

    def refuted_by(self, trace: Trace) -> Entailment | None:
        """The trace as a witness, if it is one."""
        if not self._is_witness(trace):
            return None
        return _broken_by(shortened(trace, self._is_witness))

    def _is_witness(self, trace: Trace) -> bool:
        wanted = self._wanted
        broken = (
            not _is_quiet(wanted, trace) if isinstance(wanted, Quiet) else breaks(wanted, trace)
        )
        return broken and keeps(self._proved, trace)

    def leaf(self, leaf: Leaf) -> Entailment:
        """Whether this part is implied."""
        if leaf in self._premises:
            return Entailment(EntailmentVerdict.IMPLIED, "it is stated")
        if self._budget.is_spent:
            return _too_late()
        plain = self._plain(leaf)
        if plain is not None:
            return plain
        if isinstance(leaf, Count | Sum):
            found = self._dominated(leaf)
            if found is None and isinstance(leaf, Count):
                found = self._repeated(leaf)
            if found is not None:
                return found
        return self._bounded(leaf)

    def _plain(self, leaf: Leaf) -> Entailment | None:
        """A witness that makes one call with plain values or constants of the contracts, if there is such a one."""
        if self._signature.is_free:
            return None
        scope = SignatureScope.of(self._signature, [leaf])
        steps = 2 if isinstance(leaf, Distinct) else 1
        if isinstance(leaf, Count):
            steps = (most_rows(leaf) or 0) + 1
        if steps > MAX_STEPS:
            return None
        for effect in scope.effects[:MOST_PLAIN]:
            for values in self._plain_values:
                made = plain_trace(scope, effect, steps, values)
                found = self.refuted_by(made) if made is not None else None
                if found is not None:
                    return found
        return None

    @cached_property
    def _plain_values(self) -> Sequence[Mapping[Type, Value]]:
        wanted = () if isinstance(self._wanted, Quiet) else (self._wanted,)
        stated = postorder(*(term for each in (*self._proved, *wanted) for term in terms_of(each)))
        found = [each.value for each in stated if isinstance(each, Const)]
        texts = [FRESH, *(each for each in found if isinstance(each, str))]
        numbers = [1, *(each + 1 for each in found if type(each) is int)]
        return [
            {STR: texts[at % len(texts)], INT: numbers[at % len(numbers)]}
            for at in range(min(MOST_PLAIN, max(len(texts), len(numbers))))
        ]

    # -- traces of a known length ----------------------------------------------------------------

    def _bounded(self, leaf: Leaf) -> Entailment:
        scope = SignatureScope.of(self._signature, [leaf, *self._premises])
        key = self._asked_key(leaf, scope)
        goals: list[Goal] = []
        shrinking = self._shrinking(goals)
        limits = self._limits([leaf, *self._premises], goals)
        planned = plan(scope, leaf, self._premises, shrinking=shrinking, limits=limits, key=key)
        reason = "no number of steps is known that would show a violation"
        if planned is not None:
            alone = self._alone(scope, leaf, planned, key)
            found = alone or self._searched(scope, leaf, planned, key, goals)
            if found.verdict is not EntailmentVerdict.UNKNOWN:
                return found
            reason = found.reason
        if self._budget.is_spent:
            return Entailment(EntailmentVerdict.UNKNOWN, reason)
        # A longer trace that has to keep everything may still be a witness.
        steps = (planned.steps if planned is not None else 2) + MORE_STEPS
        wider = TraceBound(steps, self._premises, (), planned.keys if planned is not None else {})
        alone = self._alone(scope, leaf, wider, key)
        found = alone or self._searched(scope, leaf, wider, key, None)
        if found.verdict is EntailmentVerdict.NOT_IMPLIED:
            return found
        return Entailment(EntailmentVerdict.UNKNOWN, reason)

    def _alone(
        self, scope: SignatureScope, leaf: Leaf, planned: TraceBound, key: Term | None
    ) -> Entailment | None:
        """A witness that calls a single effect, if one is guessed: most do, and then formulas are short."""
        if len(scope.effects) == 1 or self._signature.is_free:
            return None
        for effect in SignatureScope.of(self._signature, [leaf]).effects[:MOST_ALONE]:
            one = replace(scope, effects=(effect,), has_other=True)
            found = self._searched(one, leaf, planned, key, None, is_guess=True)
            if found.verdict is EntailmentVerdict.NOT_IMPLIED:
                return found
        return None

    def _searched(
        self,
        scope: SignatureScope,
        leaf: Leaf,
        planned: TraceBound,
        key: Term | None,
        goals: Sequence[Goal] | None,
        *,
        is_guess: bool = False,
    ) -> Entailment:
        """What a solver says about traces of that length; without goals, it is only asked for a witness.

        `is_guess`: it is not asked at all.
        """
        settings = max([1, *(len(keys) for keys in planned.keys.values())])
        trace = SymbolicTrace(scope, planned.steps, planned.steps, settings)
        left_out = list(planned.left_out)
        given: list[Term] = []
        for premise in planned.premises:
            try:
                given.append(self._kept(premise, planned, trace, everywhere=goals is None))
            except (UnsupportedError, TermError):
                left_out.append(premise)
        try:
            broken = _broken(leaf, key, trace)
        except (UnsupportedError, TermError) as why:
            return Entailment(EntailmentVerdict.UNKNOWN, str(why))
        goal = self._goal("bounded", [*trace.always, *given], broken)
        if is_guess:
            # Most often, an effect that no trace may call is one that a premise rules out by itself.
            ruled_out = any(not_(row.present) in goal.given for row in trace.rows[:1])
            hopeless = goal.refute is FALSE or ruled_out
            tried = None if hopeless else guessed(goal, trace, self._budget, FEW_TRIED)
        else:
            tried = None if plainly_holds(goal) else guessed(goal, trace, self._budget)
        if tried is not None:
            answer = Answer(Conclusion.FAILS, tried)
            found = self._witnessed(answer, trace, settings)
            if found.verdict is EntailmentVerdict.NOT_IMPLIED:
                return found
        if is_guess:
            return Entailment(EntailmentVerdict.UNKNOWN, "no trace was guessed that shows it")
        answer = self._budget.decide(goal)
        if answer.conclusion is Conclusion.HOLDS:
            if goals is None:
                return Entailment(
                    EntailmentVerdict.UNKNOWN, f"no trace of {planned.steps} steps shows it"
                )
            steps = f"{planned.steps} step{'s' if planned.steps != 1 else ''}"
            return Entailment(
                EntailmentVerdict.IMPLIED, f"no trace of {steps} breaks it", goals=(*goals, goal)
            )
        return self._witnessed(answer, trace, settings)

    def _witnessed(self, answer: Answer, trace: SymbolicTrace, settings: int) -> Entailment:
        if answer.model is None:
            return Entailment(
                EntailmentVerdict.UNKNOWN, answer.reason or "the solver does not know"
            )
        for reading in self._readings(trace):
            made = trace_of(trace, trace.steps, settings, answer.model, reading)
            found = self.refuted_by(made) if made is not None else None
            if found is not None:
                return found
        return Entailment(
            EntailmentVerdict.UNKNOWN,
            "a solver found values that may break it, and no trace does with them",
        )

    def _readings(self, trace: SymbolicTrace) -> Iterator[Mapping[Type, Const]]:
        """What calls that return rows may be given: the premises may say something about them too."""
        yield {}
        if trace.origins.single:
            stated = postorder(*(term for each in self._premises for term in terms_of(each)))
            found = [each for each in stated if isinstance(each, Const)]
            texts = [each for each in found if each.type == STR] or [const("")]
            numbers = [each for each in found if each.type == INT] or [const(0)]
            for at in range(min(MOST_READINGS, max(len(texts), len(numbers)))):
                yield {STR: texts[at % len(texts)], INT: numbers[at % len(numbers)]}

    def _kept(
        self, premise: Contract, planned: TraceBound, trace: SymbolicTrace, *, everywhere: bool
    ) -> Term:
        if not isinstance(premise, AtEnd) or premise.key is not None:
            return formula(premise, trace)
        keys = list(planned.keys.get(premise.fluent, ()))
        if everywhere:
            keys += [each.key for each in trace.changes if each.fluent == premise.fluent]
        return and_(*(at_end(premise, key, trace) for key in keys))

    def _asked_key(self, leaf: Leaf, scope: SignatureScope) -> Term | None:
        if not isinstance(leaf, AtEnd):
            return None
        if leaf.key is not None:
            return leaf.key
        fluent: Fluent = next(each for each in scope.fluents if each.name == leaf.fluent)
        return var(ASKED_KEY, fluent.key)

    def _goal(self, name: str, given: Sequence[Term], refute: Term) -> Goal:
        made = Goal(f"analysis.{name}", GoalKind.GUARANTEE, 0, tuple(given), refute)
        return self._builder.finished(made)

    # -- amounts ---------------------------------------------------------------------------------

    def _dominated(self, leaf: Count | Sum) -> Entailment | None:
        """Whether its bound follows from others step by step."""
        wanted = bounded(leaf)
        if wanted is None:
            return self._same_sum(leaf)
        amounts = [found for each in self._premises if (found := bounded(each)) is not None]
        for mixture in mixtures(wanted, amounts):
            goal = self._of_every_step(leaf, lambda trace: exceeded(wanted, mixture, trace))  # noqa: B023
            if goal is not None:
                return Entailment(
                    EntailmentVerdict.IMPLIED,
                    "step by step, no more is added than is bounded",
                    goals=(goal,),
                )
        return None

    def _same_sum(self, leaf: Contract) -> Entailment | None:
        """Floats: the same rows add up to the same sum, however it rounds."""
        for each in self._premises:
            if (
                isinstance(leaf, Sum)
                and isinstance(each, Sum)
                and (each.relation, each.of) == (leaf.relation, leaf.of)
            ):
                amount = var("amount", leaf.of.type)
                refute = not_(_held(amount, leaf))
                goal = self._goal("same", [_held(amount, each)], refute)
                if self._budget.decide(goal).conclusion is Conclusion.HOLDS:
                    return Entailment(
                        EntailmentVerdict.IMPLIED,
                        "the same sum has a stricter bound",
                        goals=(goal,),
                    )
        return None

    def _shrinking(self, goals: list[Goal]) -> frozenset[Contract]:
        """Sums that hold of every sub-trace, because what is added never has the other sign."""
        found: set[Contract] = set()
        for premise in self._premises:
            if not isinstance(premise, Sum):
                continue
            signed = _signed(premise)
            goal = self._of_every_step(signed, lambda trace: not_(formula(signed, trace)))  # noqa: B023
            if goal is not None:
                goals.append(goal)
                found.add(premise)
        return frozenset(found)

    def _limits(self, leaves: Sequence[Leaf], goals: list[Goal]) -> dict[Relation, int]:
        """How many rows the relations of sums have at most."""
        limits: dict[Relation, int] = {}
        sums = [leaf for leaf in leaves if isinstance(leaf, Sum)]
        for relation in relations_of(sums):
            tops = sorted(
                ((most, each) for each in self._premises if (most := most_rows(each)) is not None),
                key=lambda top: top[0],
            )
            for most, _ in tops:
                counted = Count(relation, Comparison.AT_MOST, const(max(most, 0)))
                if counted in self._premises:
                    limits[relation] = max(most, 0)
                    break
                found = self._dominated(counted)
                if found is not None:
                    goals += found.goals
                    limits[relation] = max(most, 0)
                    break
        return limits

    def _of_every_step(self, leaf: Leaf, refute: Callable[[SymbolicTrace], Term]) -> Goal | None:
        """The goal that something can't be said of any one step, if it holds."""
        made = self._of_one_step(leaf, refute)
        if made is None:
            return None
        goal, trace = made
        if plainly_holds(goal):
            return goal
        if guessed(goal, trace, self._budget) is not None:
            return None
        return goal if self._budget.decide(goal).conclusion is Conclusion.HOLDS else None

    def _of_one_step(
        self, leaf: Leaf, refute: Callable[[SymbolicTrace], Term]
    ) -> tuple[Goal, SymbolicTrace] | None:
        """A goal about one step of a trace, of which the premises hold that hold of every sub-trace."""
        scope = SignatureScope.of(self._signature, [leaf, *self._premises])
        trace = SymbolicTrace(scope, 1, 1, 1)
        given: list[Term] = []
        for premise in self._lasting:
            try:
                given.append(formula(premise, trace))
            except (UnsupportedError, TermError):
                continue
        try:
            broken = refute(trace)
            return self._goal("step", [*given, *trace.always], broken), trace
        except IrError:
            return None

    def _repeated(self, leaf: Count) -> Entailment | None:
        """One call that keeps the premises, made so often that there are too many."""
        most = most_rows(leaf)
        if most is None or not MAX_STEPS <= most <= MOST_REPEATED:
            return None
        happens = Empty(leaf.relation)
        made = self._of_one_step(happens, lambda trace: not_(formula(happens, trace)))
        if made is None:
            return None
        goal, trace = made
        model = guessed(goal, trace, self._budget) or self._budget.decide(goal).model
        if model is None:
            return None
        for reading in self._readings(trace):
            once = trace_of(trace, 1, 1, model, reading)
            if once is None or not keeps(self._lasting, once):
                continue
            for varied in (False, True):
                often = repeated(once, most + 1, varied=varied)
                if often is not None and self._is_witness(often):
                    return _broken_by(often)
        return None


def _too_late() -> Entailment:
    return Entailment(EntailmentVerdict.UNKNOWN, "the time is up")


def _broken_by(trace: Trace) -> Entailment:
    return Entailment(
        EntailmentVerdict.NOT_IMPLIED, "a trace keeps the one and breaks the other", trace
    )


def _broken(leaf: Leaf, key: Term | None, trace: SymbolicTrace) -> Term:
    if isinstance(leaf, AtEnd) and key is not None:
        return not_(at_end(leaf, key, trace))
    return violated(leaf, trace)


def _held(amount: Term, contract: Sum) -> Term:
    return compared(contract.comparison, amount, contract.bound)


def _signed(contract: Sum) -> All:
    """That what is added keeps the sum's bound the better the less is added."""
    none, added = zero(contract.of.type), contract.of
    sides = (none, added) if contract.comparison in UPPER else (added, none)
    return All(contract.relation, apply("le", *sides))


def _is_quiet(wanted: Quiet, trace: Trace) -> bool:
    if any(breaks(Empty(relation), trace) for relation in wanted.relations):
        return False
    return not any(
        fluent in wanted.fluents for step in trace.steps for fluent, _, _ in step.updates
    )
