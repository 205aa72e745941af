"""The checker: whether a certificate shows that every goal of its Effect IR holds, and how strongly.

Nothing that a certificate says about goals is believed. They are derived anew from the Effect IR it carries; each must
be there, in order, with the hash of the script that is written for it here. Then the evidence is gone through: a goal
of which nothing is left holds, a proof is checked step by step, a model is put into the formula. No program is looked
at, nothing is executed symbolically, and no solver is asked.

What only solvers said is reported as that. A certificate that claims more than is found here is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lictor_ir.certificate import cpc
from lictor_ir.certificate.format import By, Certificate, Evidence, FrontEnd, Level, name_of, read
from lictor_ir.document import Document
from lictor_ir.errors import CertificateError, IrError, UnsupportedError
from lictor_ir.goals import Goal, GoalKind, goals, never_reached
from lictor_ir.json.document import from_json
from lictor_ir.places import Place, place, solver_order
from lictor_ir.solver.smtlib_lowering import script
from lictor_ir.terms import TRUE, Const, Term, and_, substitute
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
    try:
        derived = goals(document)
    except IrError as error:
        raise CertificateError(f"ir: its goals can't be derived: {error}") from None
    found = shown(derived, certificate)
    level = weakest(each.level for each in found)
    return Report(name_of(data), level, certificate, document, derived, found, len(data))


def shown(derived: Sequence[Goal], certificate: Certificate) -> tuple[Established, ...]:
    """What the certificate shows about these goals; CertificateError when it does not decide exactly them."""
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
    return tuple(found)


def weakest(levels: Iterable[Level]) -> Level:
    """The level of the whole; nothing to decide is decided."""
    return min(levels, default=Level.C)


def established(goal: Goal, evidence: Evidence) -> Established:
    """What the evidence shows about a goal; CertificateError when it shows nothing."""
    if goal.undecided:
        raise CertificateError(f"{goal.id} can't be decided: {'; '.join(goal.undecided)}")
    asked = asked_goal(goal, evidence)
    text = script_of(asked)
    wanted = None if text is None else hash_bytes(text.encode())
    if wanted != evidence.script_hash:
        raise CertificateError(
            f"{goal.id}: the script of the goal is {wanted or 'none'}, not {evidence.script_hash or 'none'}"
        )
    told = Established(asked.id, asked.kind, evidence.by, Level.C)
    match evidence.by:
        case By.EVALUATION:
            if not asked.folded or asked.kind is GoalKind.CONSISTENCY:
                raise CertificateError(f"{goal.id}: evaluation alone does not decide it")
            return told
        case By.MODEL:
            if not satisfied(asked, evidence.model or ()):
                raise CertificateError(f"{goal.id}: its formula is not true of the values given")
            return told
        case By.PROOF:
            return _proved(asked, text, evidence, told)
        case By.SOLVER:
            if asked.folded or (text is None and "cvc5" in evidence.solvers):
                raise CertificateError(
                    f"{goal.id}: there is nothing that they could have been asked"
                )
            return _believed(evidence, told, "nothing is carried that could be checked")


def asked_goal(goal: Goal, evidence: Evidence) -> Goal:
    """The goal itself, or that its call is never made."""
    if evidence.kind is not GoalKind.UNREACHED:
        return goal
    unreached = never_reached(goal) if goal.kind is GoalKind.CONSISTENCY else None
    if unreached is None:
        raise CertificateError(f"{goal.id}: there is no call that might never be made")
    return unreached


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


def _compare_goals(derived: Sequence[Goal], carried: Sequence[Evidence]) -> None:
    wanted = [(goal.id, goal.kind) for goal in derived]
    found = [
        (each.goal, GoalKind.CONSISTENCY if each.kind is GoalKind.UNREACHED else each.kind)
        for each in carried
    ]
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
    if text is None or evidence.proof is None or goal.kind is GoalKind.CONSISTENCY:
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


# -- models ----------------------------------------------------------------------------------------


def satisfied(goal: Goal, values: Sequence[Const]) -> bool:
    """Whether the formula is true of the values, one for each place in turn, and none is left over."""
    if goal.kind is not GoalKind.CONSISTENCY or goal.approximate:
        return False
    left = iter(values)
    replaced = interpreted(goal, lambda _place, _indices: next(left, None))
    if replaced is None or next(left, None) is not None:
        return False
    return substitute(and_(*goal.given, goal.refute), replaced) is TRUE


def interpreted(
    goal: Goal, value_of: Callable[[Place, tuple[Const, ...]], Const | None]
) -> dict[Term, Term] | None:
    """The value of each place in the formula; it is asked for once, however often the place is read.

    None when one has no value, or none of its type.
    """
    known: dict[tuple[str, tuple[Const, ...]], Const] = {}
    replaced: dict[Term, Term] = {}
    for term in solver_order(*goal.given, goal.refute):
        found = place(term)
        if found is None:
            continue
        # Equal indices name the same place; they stand before what they lead to.
        indices = [substitute(index, replaced) for index in found.indices]
        numbers = tuple(index for index in indices if isinstance(index, Const))
        if len(numbers) < len(indices):
            return None
        key = (f"{found.name}:{term.type}", numbers)
        value = known.get(key) or value_of(found, numbers)
        if value is None or value.type != term.type:
            return None
        known[key] = replaced[term] = value
    return replaced
