"""Makes certificates: for each goal of a proved document, evidence as strong as can be had in the time given.

Z3 has decided the goals. cvc5 is asked each that is not settled by derivation alone, and for a proof; for what must be
possible, Z3's model is taken. All that is done in a child process, goal by goal, and gone through there by the checker
itself: the level of a goal is what `lictor_ir.certificate.check` establishes, never what somebody hopes. What runs out
of time has a lower level. Solvers that contradict each other leave nothing proved.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from importlib.metadata import version
from typing import Final

from lictor_ir.certificate.check import (
    established,
    interpreted,
    satisfied,
    script_of,
    weakest,
)
from lictor_ir.certificate.format import (
    MAX_BYTES,
    By,
    Certificate,
    Evidence,
    FrontEnd,
    Level,
    evidence_json,
    name_of,
    read_evidence,
    write,
)
from lictor_ir.errors import CertificateError, IrError
from lictor_ir.forked_child import Forked, Tell
from lictor_ir.goals import Goal, GoalKind, goals, never_reached
from lictor_ir.places import Place
from lictor_ir.solver.answers import Conclusion, SolverModel
from lictor_ir.solver.z3_lowering import NAME as FIRST
from lictor_ir.solver.z3_lowering import decide
from lictor_ir.terms import Const, Result, const
from lictor_ir.values import EnumValue
from lictor_prove.certificate.second_solver import NAME as SECOND
from lictor_prove.certificate.second_solver import ask, solver_version
from lictor_prove.errors import ProveError
from lictor_prove.proof.result import CertificateFile, Proof, unknown
from lictor_prove.proof.settings import DEFAULT, ENGINE, ProofSettings
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.proofs.proof import ProofVerdict

_SLACK_S: Final = 1.0
"""What a solver gets beyond its own time limit before it is killed."""


class NotCertified(ProveError):
    """No certificate could be made; the verdict stands without one."""


class SolversDisagree(ProveError):
    """One solver says that a goal holds and another that it does not: nothing is proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateLimits:
    """What making one certificate may cost. What does not fit lowers its level."""

    goal_ms: int = 5_000
    """For the second solver and the check of its proof, for one goal."""
    total_ms: int = 15_000
    memory_mb: int = 1_024
    max_bytes: int = MAX_BYTES

    @property
    def key(self) -> str:
        """What of an answer's key comes from here."""
        return f"certificate goal={self.goal_ms} total={self.total_ms} memory={self.memory_mb} bytes={self.max_bytes}"


def certified(
    proof: Proof,
    front_end: FrontEnd,
    settings: ProofSettings = DEFAULT,
    limits: CertificateLimits = CertificateLimits(),  # noqa: B008 -- frozen
) -> Proof:
    """The proof with its certificate, if it proved anything; `unknown` when solvers contradict each other."""
    if proof.verdict is not ProofVerdict.PROVED:
        return proof
    begun = time.perf_counter()
    try:
        outcome = replace(proof, certificate=certify(proof, front_end, settings, limits))
    except SolversDisagree as error:
        remedy = "report this program; it must not run until it is known which solver is wrong"
        nothing = unknown("prover.disagreement", str(error), remedy)
        outcome = replace(nothing, ir=proof.ir, layer_hash=proof.layer_hash, timings=proof.timings)
    except NotCertified as error:
        outcome = replace(proof, uncertified=str(error))
    taken_ms = (time.perf_counter() - begun) * 1000
    return replace(outcome, timings=replace(outcome.timings, certify_ms=taken_ms))


def certify(
    proof: Proof,
    front_end: FrontEnd,
    settings: ProofSettings = DEFAULT,
    limits: CertificateLimits = CertificateLimits(),  # noqa: B008 -- frozen
) -> CertificateFile:
    """The certificate of a `proved`, however it was found. Raises NotCertified and SolversDisagree."""
    if proof.verdict is not ProofVerdict.PROVED or proof.ir is None:
        raise NotCertified(f"the verdict is {proof.verdict}; only what is proved has a certificate")
    document = proof.ir.document
    derived = goals(document)
    found = {goal.id: _derived_alone(goal) for goal in derived if _holds_by_itself(goal)}
    waiting = [goal for goal in derived if goal.id not in found]
    found |= {evidence.goal: evidence for evidence in _asked(waiting, limits)}
    for goal in waiting:
        if goal.id not in found:
            found[goal.id] = _told_by_first(goal)
    evidence = [found[goal.id] for goal in derived]
    ir = proof.ir.json
    solvers = {name for each in evidence for name in each.solvers}
    versions = {FIRST: lambda: version("z3-solver"), SECOND: solver_version}
    certificate = Certificate(
        ir=ir,
        ir_hash=hash_bytes(ir),
        layer_hash=document.layer_hash,
        program_hash=None if front_end is FrontEnd.DOCUMENT else document.source_hash,
        front_end=front_end,
        level=Level.C,
        goals=tuple(evidence),
        engine=ENGINE,
        settings=settings.key,
        solvers=tuple((name, versions[name]()) for name in sorted(solvers)),
    )
    return _fitting(certificate, limits)


def _holds_by_itself(goal: Goal) -> bool:
    return goal.folded and not goal.undecided and goal.kind is not GoalKind.CONSISTENCY


def _derived_alone(goal: Goal) -> Evidence:
    return Evidence(goal.id, goal.kind, By.EVALUATION, Level.C)


def _told_by_first(goal: Goal) -> Evidence:
    """What is left when the second solver was not heard: the first has decided it."""
    if goal.kind is GoalKind.CONSISTENCY:
        raise NotCertified(f"{goal.id}: there was no time to find values that make it possible")
    return Evidence(goal.id, goal.kind, By.SOLVER, Level.A, _script_hash(goal), (FIRST,))


def _script_hash(goal: Goal) -> str | None:
    text = script_of(goal)
    return None if text is None else hash_bytes(text.encode())


def _fitting(certificate: Certificate, limits: CertificateLimits) -> CertificateFile:
    """The certificate as a file; without its longest proofs where it would be too large."""
    while True:
        whole = replace(certificate, level=weakest(each.level for each in certificate.goals))
        try:
            data = write(whole)
        except IrError as error:
            raise NotCertified(str(error)) from None
        if len(data) <= min(limits.max_bytes, MAX_BYTES):
            return CertificateFile(name_of(data), whole.level, data)
        longest = max(certificate.goals, key=lambda each: len(each.proof or ""), default=None)
        if longest is None or longest.proof is None:
            raise NotCertified(f"the certificate has {len(data)} bytes, more than are kept")
        level = Level.B if len(longest.solvers) > 1 else Level.A
        shorter = replace(longest, by=By.SOLVER, proof=None, level=min(level, longest.level))
        kept = (shorter if each is longest else each for each in certificate.goals)
        certificate = replace(certificate, goals=tuple(kept))


# -- in a child ------------------------------------------------------------------------------------


def _asked(waiting: Sequence[Goal], limits: CertificateLimits) -> Iterator[Evidence]:
    """The evidence for each goal that could be had in time; a goal that hangs costs only itself."""
    if not waiting:
        return
    import_module(SECOND)  # before the fork, so that it is loaded once
    end = time.monotonic() + limits.total_ms / 1000
    begun = 0
    while begun < len(waiting) and time.monotonic() < end:
        todo = waiting[begun:]
        with Forked(lambda tell, todo=todo: _answer(todo, tell, limits), limits.memory_mb) as child:
            for _ in todo:
                patience = min(2 * limits.goal_ms / 1000 + _SLACK_S, end - time.monotonic())
                try:
                    frame = child.told(max(0.0, patience))
                except TimeoutError:
                    frame = None
                begun += 1
                if frame is None:
                    break  # it hangs or is gone; the goals after this one get a child of their own
                told = json.loads(frame)
                if isinstance(told, str):
                    raise SolversDisagree(told)
                if told is not None:
                    yield read_evidence(told, ())


def _answer(todo: Sequence[Goal], tell: Tell, limits: CertificateLimits) -> None:
    for goal in todo:
        try:
            evidence = evidence_of(goal, limits)
            told = None if evidence is None else evidence_json(evidence)
        except SolversDisagree as error:
            told = str(error)
        except (MemoryError, RecursionError):
            told = None
        tell(json.dumps(told).encode())


def evidence_of(goal: Goal, limits: CertificateLimits) -> Evidence | None:
    """The best evidence for a goal that solvers must be asked about; None when there is none."""
    if goal.kind is not GoalKind.CONSISTENCY:
        return _refuted(goal, goal, limits)
    answer = decide(goal, limits.goal_ms, limits.memory_mb)
    if answer.conclusion is Conclusion.FAILS and answer.model is not None:
        return _possible(goal, answer.model, limits)
    unreached = never_reached(goal)
    if answer.conclusion is not Conclusion.HOLDS or unreached is None:
        return None
    if decide(unreached, limits.goal_ms, limits.memory_mb).conclusion is not Conclusion.HOLDS:
        return None
    return _refuted(goal, unreached, limits)


def _refuted(goal: Goal, asked: Goal, limits: CertificateLimits) -> Evidence:
    """Evidence that the formula can't be true; the first solver has said so."""
    if asked.folded:
        return Evidence(goal.id, asked.kind, By.EVALUATION, Level.C)
    alone = Evidence(goal.id, asked.kind, By.SOLVER, Level.A, _script_hash(asked), (FIRST,))
    text = script_of(asked)
    if text is None:
        return alone
    said = ask(text, limits.goal_ms)
    if said.answer == "sat":
        raise SolversDisagree(
            f"{asked.id}: {FIRST} says that it holds, and {SECOND} that it does not"
        )
    if said.answer == "unknown":
        return alone
    both = replace(alone, solvers=(SECOND, FIRST), level=Level.B)
    if said.proof is None:
        return both
    carried = replace(both, by=By.PROOF, proof=said.proof, level=Level.A)
    try:
        return replace(carried, level=established(goal, carried).level)
    except CertificateError:
        return both


def _possible(goal: Goal, model: SolverModel, limits: CertificateLimits) -> Evidence:
    """Evidence that the formula can be true; the first solver has said so."""
    alone = Evidence(goal.id, goal.kind, By.SOLVER, Level.A, _script_hash(goal), (FIRST,))
    values = model_values(goal, model)
    if values is not None and satisfied(goal, values):
        return replace(alone, by=By.MODEL, model=values, level=Level.C)
    text = script_of(goal)
    said = None if text is None else ask(text, limits.goal_ms)
    if said is not None and said.answer == "unsat":
        raise SolversDisagree(
            f"{goal.id}: {FIRST} says that it is possible, and {SECOND} that it is not"
        )
    if said is None or said.answer == "unknown":
        return alone
    return replace(alone, solvers=(SECOND, FIRST), level=Level.B)


def model_values(goal: Goal, model: SolverModel) -> tuple[Const, ...] | None:
    """A solver's model as a certificate carries it; None where it leaves something out."""
    told = {
        (each.root, each.is_result, each.steps, each.indices): each.value for each in model.reads
    }
    values: list[Const] = []

    def value_of(found: Place, indices: tuple[Const, ...]) -> Const | None:
        root = found.root
        numbers = tuple(index.value for index in indices if isinstance(index.value, int))
        is_result = isinstance(root, Result)
        key = (root.call if is_result else root.name, is_result, found.steps, numbers)
        value = told.get(key)
        if not isinstance(value, bool | int | float | str | Fraction | EnumValue):
            return None
        values.append(const(value))
        return values[-1]

    return tuple(values) if interpreted(goal, value_of) is not None else None
