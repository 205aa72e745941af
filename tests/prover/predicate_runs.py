"""Holds a layer's predicates, and proofs that rest on them, against the real lambdas and the real decorators.

Three comparisons: what a predicate was read as, value by value; whether proved programs run through; whether proved
guarantees hold of the calls that a run made, as the contract's own lambdas judge them.
"""

from __future__ import annotations

import copy
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from generated_predicates import ACTS, ASKS, VALUES, Case

from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation import Environment, value
from lictor_ir.evaluation.steps import each_iteration
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.terms import TRUE, Term, var
from lictor_ir.types import INT, STR, ListOf
from lictor_layer import PreconditionError, specs
from lictor_layer.declarations import declaration
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.layer_model import Predicate
from lictor_prove.layers.files import read_files
from lictor_prove.layers.load import LivingLayer, load_living
from lictor_prove.proof.prover import ProofSettings, prove
from lictor_prove.python.machine.symbolic_values import Sym
from lictor_prove.python.predicates import Promised, condition, promised

QUICK = ProofSettings(goal_ms=1_000, total_ms=2_000, analysis_ms=0)
TYPES = {"int": INT, "str": STR, "list[int]": ListOf(INT), "list[str]": ListOf(STR)}
RUNS = 12
MOST_TUPLES = 40
ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NameError,
    TypeError,
    ValueError,
)
"""What a predicate may raise."""


class Misread(AssertionError):
    """A predicate was read as something that its lambda does not say."""


class FalseProof(AssertionError):
    """Something was proved, and a run breaks it."""


class _NoAnswer(Exception):
    """No value that we try keeps the promise."""


@dataclass
class _Run:
    calls: list[tuple[str, dict[str, Any]]]
    raised: Exception | None


@dataclass
class Predicates:
    """Checks cases, and counts what became of them."""

    folder: Path
    tally: Counter[str] = field(default_factory=Counter[str])

    def check(self, case: Case, seed: int) -> None:
        """One case."""
        self.tally["cases"] += 1
        try:
            living = self._load(case)
        except ProverConfigError:
            self.tally["layers refused"] += 1
            return
        self._read(living)
        try:
            proof = prove(case.program, name="made.py", layer=living.layer, settings=QUICK)
        except ProverConfigError:
            self.tally["contracts refused"] += 1
            return
        self.tally[str(proof.verdict)] += 1
        specs_ = self._specs(living, case.guarantees)
        for run in _runs(living, case.main, seed):
            self.tally["runs"] += 1
            if str(proof.verdict) == "proved" and run.raised is not None:
                raise FalseProof(f"proved, and a run raises {run.raised!r}: {run.calls}")
            for result, spec in zip(proof.guarantees, specs_, strict=False):
                if str(result.verdict) == "proved" and run.raised is None:
                    self.tally["guarantees held"] += 1
                    if spec is not None and not _kept(spec, run.calls):
                        raise FalseProof(f"{result.name} is proved, and broken by {run.calls}")

    def _load(self, case: Case) -> LivingLayer:
        root = self.folder / "tools/made/trusted"
        root.mkdir(parents=True, exist_ok=True)
        (root / "effects.py").write_text(case.effects, "utf-8")
        (root / "contracts.py").write_text(case.contracts, "utf-8")
        return load_living(read_files([root], [self.folder]))

    def _specs(self, living: LivingLayer, names: Sequence[str]) -> list[specs.Spec | None]:
        module = living.runtime.modules["tools.made.trusted.contracts"]
        return [getattr(module, name)() for name in names]

    # -- what predicates were read as --------------------------------------------------------------

    def _read(self, living: LivingLayer) -> None:
        for name, function in living.layer.functions.items():
            declared = declaration(living.function(name))
            assert declared is not None
            for read, real in zip(function.requires, declared.requires, strict=True):
                taken = {p: ACTS[name][p] for p in _parameters(read)}
                self._compare(read, real.predicate, taken)
            for read, real in zip(function.ensures, declared.ensures, strict=True):
                self._compare_promise(read, real.predicate, ASKS[name])

    def _compare(
        self, read: Predicate, real: Callable[..., object], taken: Mapping[str, str]
    ) -> None:
        try:
            given = {name: Sym(var(name, TYPES[kind])) for name, kind in taken.items()}
            term = condition(read, given)
        except ProveError as refused:
            self._note_refusal(refused)
            return
        self.tally["predicates read"] += 1
        for values in _tuples(taken.values()):
            said = dict(zip(taken, values, strict=True))
            happens = _happens(lambda said=said: real(**said))
            found = _value(term, said)
            self.tally["values"] += 1
            if found is not None and found != happens:
                raise Misread(f"{read.text} of {said} is {happens}, and was read as {term}")

    def _compare_promise(self, read: Predicate, real: Callable[..., object], kind: str) -> None:
        """Of a promise that is not relied on as a whole, what is relied on follows from it."""
        try:
            (name,) = _parameters(read)
            found = promised(read, {name: Sym(var("result", TYPES[kind]))})
        except ProveError as refused:
            self._note_refusal(refused)
            return
        self.tally["predicates read"] += 1
        self.tally["about items"] += any(clause.binders for clause in found.clauses)
        for (answer,) in _tuples([kind]):
            kept = _happens(lambda answer=answer: real(answer))
            said = _said_of(found, answer)
            self.tally["values"] += 1
            if said is not None and (kept if not said else not kept and not found.unused):
                raise Misread(f"{read.text} of {answer} is {kept}, and was read as {found}")

    def _note_refusal(self, refused: ProveError) -> None:
        self.tally["predicates refused"] += 1
        self.tally[f"  {str(refused).partition(': ')[2][:60]}"] += 1


def _happens(call: Callable[[], object]) -> bool:
    """Whether a predicate holds; one that raises does not."""
    try:
        return bool(call())
    except ERRORS:
        return False


def _said_of(found: Promised, answer: Any) -> bool | None:
    """Whether every clause holds of an answer; None when one leaves it open."""
    outside = Evaluation(Environment({"result": answer}))
    try:
        return all(
            inside.holds(clause.formula)
            for clause in found.clauses
            for inside, _ in each_iteration(clause.binders, outside, TRUE)
        )
    except UnspecifiedError:
        return None


def _parameters(read: Predicate) -> list[str]:
    return [each.arg for each in read.node.args.args]


def _value(term: Term, said: Mapping[str, Any]) -> bool | None:
    try:
        return bool(value(term, Environment(dict(said))))
    except UnspecifiedError:
        return None


def _tuples(kinds: Any) -> Iterator[tuple[Any, ...]]:
    whole = list(itertools.product(*(VALUES[kind] for kind in kinds)))
    step = max(1, len(whole) // MOST_TUPLES)
    return iter(copy.deepcopy(whole[::step]))


# -- runs ------------------------------------------------------------------------------------------


def _runs(living: LivingLayer, main: str, seed: int) -> Iterator[_Run]:
    code = compile(main, "<generated>", "exec", dont_inherit=True)
    module = living.runtime.modules["tools.made.trusted.effects"]
    for each in range(RUNS):
        calls: list[tuple[str, dict[str, Any]]] = []
        module.__dict__["outside"] = _outside(living, random.Random(f"{seed} {each}"), calls)
        names = {name: getattr(module, name) for name in (*ASKS, *ACTS)}
        exec(code, names)  # noqa: S102 -- the text is ours: generated_predicates wrote it
        try:
            names["main"]()
        except _NoAnswer:
            continue
        except (*ERRORS, PreconditionError) as error:
            yield _Run(calls, error)
        else:
            yield _Run(calls, None)


def _outside(
    living: LivingLayer, chosen: random.Random, calls: list[tuple[str, dict[str, Any]]]
) -> Callable[..., Any]:
    """What the bodies of trusted functions call."""

    def outside(effect: str, **given: Any) -> Any:
        if effect in ACTS:
            calls.append((effect, copy.deepcopy(given)))
            return None
        return _answer(living, effect, chosen)

    return outside


def _answer(living: LivingLayer, effect: str, chosen: random.Random) -> Any:
    """Something that keeps what the function promises."""
    declared = declaration(living.function(effect))
    assert declared is not None
    for answer in chosen.sample(VALUES[ASKS[effect]], len(VALUES[ASKS[effect]])):
        try:
            if all(promise.predicate(copy.deepcopy(answer)) for promise in declared.ensures):
                return copy.deepcopy(answer)
        except ERRORS:
            continue
    raise _NoAnswer


# -- contracts -------------------------------------------------------------------------------------


def _kept(spec: specs.Spec, calls: Sequence[tuple[str, dict[str, Any]]]) -> bool:
    """Whether the calls keep the contract, as its own lambdas say; one that raises is broken."""
    try:
        match spec:
            case specs.AllSpec():
                return all(spec.predicate(each) for each in _related(spec.relation, calls))
            case specs.EmptySpec():
                return not _related(spec.relation, calls)
            case specs.DistinctSpec():
                keys = [spec.key(each) for each in _related(spec.relation, calls)]
                return len(set(keys)) == len(keys)
            case specs.BoundSpec():
                of = spec.of
                related = _related(spec.relation, calls)
                total: Any = len(related) if of is None else sum(of(e) for e in related)  # type: ignore[misc]
                return total <= spec.bound
            case _:
                raise AssertionError(f"{spec} is not generated")
    except ERRORS:
        return False


def _related(
    relation: specs.Relation, calls: Sequence[tuple[str, dict[str, Any]]]
) -> list[SimpleNamespace]:
    effects = [
        SimpleNamespace(**copy.deepcopy(given)) for name, given in calls if name in relation.effects
    ]
    return [each for each in effects if all(holds(each) for holds in relation.conditions)]
