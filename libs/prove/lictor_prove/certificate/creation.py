"""Makes certificates: for each goal of a proved document, evidence as strong as can be had in the time given.

Solvers have decided the goals, and found the witnesses of what trusted calls promise. cvc5 is asked each goal that is
not settled by derivation alone, and for a proof, in a child process, goal by goal. What it says is gone through there
by the checker itself: the level of a goal is what `lictor_ir.certificate.check` establishes, never what somebody hopes.
What runs out of time has a lower level. Solvers that contradict each other leave nothing proved.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from typing import Final

from lictor_ir.certificate.check import established, script_of, weakest
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
from lictor_ir.goals import Goal, GoalKind, goals
from lictor_ir.solver import z3_process
from lictor_ir.solver.answers import Conclusion
from lictor_ir.solver.z3_lowering import NAME as FIRST
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
    derived = goals(document, proof.witnesses)
    for goal in derived:
        if goal.undecided:
            raise NotCertified(f"{goal.id} can't be decided: {'; '.join(goal.undecided)}")
    found = {goal.id: _derived_alone(goal) for goal in derived if goal.folded}
    waiting = [goal for goal in derived if goal.id not in found]
    by = {goal.id: proof.decided_by.get(goal.id, FIRST) for goal in waiting}
    found |= {evidence.goal: evidence for evidence in _asked(waiting, by, limits)}
    for goal in waiting:
        if goal.id not in found:
            found[goal.id] = _told_by(by[goal.id], goal)
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
        witnesses=tuple(
            (each.atoms[0], proof.witnesses[each.atoms[0]])
            for each in derived
            if each.kind is GoalKind.PROMISE and each.atoms[0] in proof.witnesses
        ),
        goals=tuple(evidence),
        engine=ENGINE,
        settings=settings.key,
        solvers=tuple((name, versions[name]()) for name in sorted(solvers)),
    )
    return _fitting(certificate, limits)


def _derived_alone(goal: Goal) -> Evidence:
    return Evidence(goal.id, goal.kind, By.EVALUATION, Level.C)


def _told_by(solver: str, goal: Goal) -> Evidence:
    """What is left when nobody else was heard: the solver that has decided it."""
    return Evidence(goal.id, goal.kind, By.SOLVER, Level.A, _script_hash(goal), (solver,))


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


def _asked(
    waiting: Sequence[Goal], by: Mapping[str, str], limits: CertificateLimits
) -> Iterator[Evidence]:
    """The evidence for each goal that could be had in time; a goal that hangs costs only itself."""
    if not waiting:
        return
    import_module(SECOND)  # before the fork, so that it is loaded once
    end = time.monotonic() + limits.total_ms / 1000
    begun = 0
    while begun < len(waiting) and time.monotonic() < end:
        todo = waiting[begun:]
        with Forked(
            lambda tell, todo=todo: _answer(todo, by, tell, limits), limits.memory_mb
        ) as child:
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


def _answer(
    todo: Sequence[Goal], by: Mapping[str, str], tell: Tell, limits: CertificateLimits
) -> None:
    for goal in todo:
        try:
            told = evidence_json(evidence_of(goal, limits, by[goal.id]))
        except SolversDisagree as error:
            told = str(error)
        except (MemoryError, RecursionError):
            told = None
        tell(json.dumps(told).encode())


def evidence_of(goal: Goal, limits: CertificateLimits, decided_by: str = FIRST) -> Evidence:
    """The best evidence for a goal of which a solver has said that it holds."""
    alone = _told_by(decided_by, goal)
    text = script_of(goal)
    if text is None:
        return alone
    said = ask(text, limits.goal_ms)
    if said.answer == "sat":
        raise SolversDisagree(
            f"{goal.id}: {decided_by} says that it holds, and {SECOND} that it does not"
        )
    if said.answer == "unknown":
        return alone
    agreed = _agreed(alone, {SECOND, decided_by})
    if said.proof is not None:
        carried = replace(agreed, by=By.PROOF, proof=said.proof, level=Level.A)
        try:
            carried = replace(carried, level=established(goal, carried).level)
        except CertificateError:
            carried = agreed
        if carried.level is Level.C:
            return carried
        agreed = carried
    if decided_by == SECOND and _z3_agrees(goal, limits):
        # Which solver was the first to answer says more about the machine than about the goal.
        return _agreed(agreed, {FIRST, SECOND})
    return agreed


def _agreed(evidence: Evidence, solvers: Set[str]) -> Evidence:
    return replace(
        evidence,
        solvers=tuple(sorted(solvers)),
        level=Level.B if len(solvers) > 1 else Level.A,
    )


def _z3_agrees(goal: Goal, limits: CertificateLimits) -> bool:
    answer = z3_process.decide(goal, limits.goal_ms, limits.memory_mb)
    if answer.conclusion is Conclusion.FAILS and not answer.candidate:
        raise SolversDisagree(
            f"{goal.id}: {SECOND} says that it holds, and {FIRST} that it does not"
        )
    return answer.conclusion is Conclusion.HOLDS
