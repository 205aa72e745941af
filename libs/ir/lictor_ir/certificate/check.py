"""The checker: whether a certificate shows that every goal of its Effect IR holds, and how strongly.

Nothing that a certificate says about goals is believed. They are derived anew from the Effect IR it carries; each must
be there, in order, with the hash of the script that is written for it here. Then the evidence is gone through: a goal
of which nothing is left holds, a proof is checked step by step. A witness that trusted calls can keep their promises is
only put into its goal. No program is looked at, nothing is executed symbolically, and no solver is asked.

What only solvers said is reported as that. A certificate that claims more than is found here is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lictor_ir.certificate import cpc
from lictor_ir.certificate.format import By, Certificate, Evidence, FrontEnd, Level, name_of, read
from lictor_ir.document import Document
from lictor_ir.errors import CertificateError, IrError, UnsupportedError
from lictor_ir.goals import Goal, GoalKind, goals
from lictor_ir.json.document import from_json
from lictor_ir.solver.smtlib_lowering import script
from lictor_schema.core.canonical_json import hash_bytes


@dataclass(frozen=True, slots=True)
class Established:
    """What the checker found out about one goal."""

    goal: str
    kind: GoalKind
    by: By
    level: Level
    reason: str = ""
    """Why it is not level c."""
    unknown_rule: str | None = None
    """The first rule of its proof that the kernel does not know."""
    steps: int = 0
    rules: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Report:
    """What a certificate shows."""

    hash: str
    level: Level
    certificate: Certificate
    document: Document
    derived: tuple[Goal, ...]
    goals: tuple[Established, ...]
    size: int
    """Bytes of the file."""

    @property
    def rules(self) -> Mapping[str, int]:
        """How often each rule was used in the proofs that were checked."""
        return dict(sum((Counter(each.rules) for each in self.goals), Counter[str]()))


def check(data: bytes) -> Report:
    """What the certificate in a file shows; FormError when it is none, CertificateError when it must be refused."""
    certificate = read(data)
    document = _document(certificate)
    derived, found = shown(document, certificate)
    level = weakest(each.level for each in found)
    return Report(name_of(data), level, certificate, document, derived, found, len(data))


def shown(
    document: Document, certificate: Certificate
) -> tuple[tuple[Goal, ...], tuple[Established, ...]]:
    """The goals of a document, and what the certificate shows about each; CertificateError when it is not enough."""
    if document.facts and certificate.front_end is FrontEnd.DOCUMENT:
        # A fact may say anything, also that there is no run: only a front-end is believed, about what it read.
        raise CertificateError(
            "facts: the Effect IR was handed in, and says what only a program could show of its unknowns"
        )
    try:
        derived = goals(document, dict(certificate.witnesses))
    except IrError as error:
        raise CertificateError(f"its goals can't be derived: {error}") from None
    _compare_witnesses(derived, [call for call, _ in certificate.witnesses])
    _compare_goals(derived, certificate.goals)
    found: list[Established] = []
    for goal, evidence in zip(derived, certificate.goals, strict=True):
        outcome = established(goal, evidence)
        if outcome.level < evidence.level:
            raise CertificateError(
                f"{goal.id}: level {evidence.level} is claimed, and {outcome.level} is shown: {outcome.reason}"
            )
        found.append(outcome)
    claimed = weakest(each.level for each in certificate.goals)
    if certificate.level is not claimed:
        raise CertificateError(
            f"level: {certificate.level} is claimed, and the weakest goal claims {claimed}"
        )
    asked = {name for each in certificate.goals for name in each.solvers}
    if asked != {name for name, _ in certificate.solvers}:
        raise CertificateError("solvers: they are not those that the goals name")
    return derived, tuple(found)


def weakest(levels: Iterable[Level]) -> Level:
    """The level of the whole; nothing to decide is decided."""
    return min(levels, default=Level.C)


def established(goal: Goal, evidence: Evidence) -> Established:
    """What the evidence shows about a goal; CertificateError when it shows nothing."""
    if goal.undecided:
        raise CertificateError(f"{goal.id} can't be decided: {'; '.join(goal.undecided)}")
    text = script_of(goal)
    wanted = None if text is None else hash_bytes(text.encode())
    if wanted != evidence.script_hash:
        raise CertificateError(
            f"{goal.id}: the script of the goal is {wanted or 'none'}, not {evidence.script_hash or 'none'}"
        )
    told = Established(goal.id, goal.kind, evidence.by, Level.C)
    match evidence.by:
        case By.EVALUATION:
            if not goal.folded:
                raise CertificateError(f"{goal.id}: evaluation alone does not decide it")
            return told
        case By.PROOF:
            return _proved(goal, text, evidence, told)
        case By.SOLVER:
            if goal.folded or (text is None and "cvc5" in evidence.solvers):
                raise CertificateError(
                    f"{goal.id}: there is nothing that they could have been asked"
                )
            return _believed(evidence, told, "nothing is carried that could be checked")


def script_of(goal: Goal) -> str | None:
    """The goal as a script; None when nothing is left of it, or it can't be written."""
    if goal.folded:
        return None
    try:
        return script(goal)
    except UnsupportedError:
        return None


def _document(certificate: Certificate) -> Document:
    if hash_bytes(certificate.ir) != certificate.ir_hash:
        raise CertificateError("ir_hash: it is not that of the Effect IR; one of them was changed")
    try:
        document = from_json(certificate.ir)
    except IrError as error:
        raise CertificateError(f"ir: {error}") from None
    check_names(certificate, document)
    return document


def check_names(certificate: Certificate, document: Document) -> None:
    """Raise a CertificateError when the certificate names another program or layer than its Effect IR."""
    if certificate.layer_hash != document.layer_hash:
        raise CertificateError("layer_hash: the Effect IR names another layer")
    of_program = certificate.front_end is not FrontEnd.DOCUMENT
    if certificate.program_hash != (document.source_hash if of_program else None) or (
        of_program and document.source_hash is None
    ):
        raise CertificateError("program_hash: the Effect IR is not of this program")


def _compare_witnesses(derived: Sequence[Goal], carried: Sequence[str]) -> None:
    promising = [each.atoms[0] for each in derived if each.kind is GoalKind.PROMISE]
    if list(carried) != [call for call in promising if call in carried]:
        raise CertificateError(
            "witnesses: they do not stand in the order of the calls that promise something, once each"
        )


def _compare_goals(derived: Sequence[Goal], carried: Sequence[Evidence]) -> None:
    wanted = [(goal.id, goal.kind) for goal in derived]
    found = [(each.goal, each.kind) for each in carried]
    if wanted == found:
        return
    for goal, _ in set(wanted) ^ set(found):
        raise CertificateError(
            f"goals: {goal} is not decided"
            if goal in dict(wanted)
            else f"goals: there is no {goal}"
        )
    raise CertificateError("goals: they do not stand in the order of the document, once each")


# -- proofs and solvers ----------------------------------------------------------------------------


def _proved(goal: Goal, text: str | None, evidence: Evidence, told: Established) -> Established:
    if text is None or evidence.proof is None:
        raise CertificateError(f"{goal.id}: there is nothing that a proof could refute")
    try:
        refutation = cpc.check(text, evidence.proof)
    except cpc.UnknownRule as unknown:
        believed = _believed(evidence, told, f"the proof was not checked: {unknown}")
        return replace(believed, unknown_rule=unknown.rule)
    except cpc.InvalidProof as wrong:
        raise CertificateError(f"{goal.id}: its proof is wrong: {wrong}") from None
    return replace(told, steps=refutation.steps, rules=refutation.rules)


def _believed(evidence: Evidence, told: Established, reason: str) -> Established:
    if not evidence.solvers:
        raise CertificateError(f"{evidence.goal}: nobody says that it holds")
    said = " and ".join(evidence.solvers)
    level = Level.B if len(evidence.solvers) > 1 else Level.A
    return replace(told, level=level, reason=f"{reason}; {said} said so, whoever made this says")
