"""What a policy says about a request: allow, reject, or ask somebody.

Every condition is true, false, or unknown: what can't be evaluated, for whatever reason, is unknown. A rule holds when
all its conditions are true, and does not when one is false. A `reject` or `ask` rule for which that is unknown has
somebody asked, an `allow` rule for which it is unknown allows nothing: so nothing unknown ever helps to approve.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from lictor_approval.errors import ConfigRefused
from lictor_approval.named_values import has_one_type
from lictor_approval.truth import Truth
from lictor_approval.value_conditions import values_as_wanted, why_not_all_named
from lictor_policy.packs.strict_yaml import YamlDocument, YamlError, read_yaml
from lictor_schema.approvals.approval import ApprovalRequest
from lictor_schema.approvals.approval_policy import (
    ApprovalPolicy,
    ContractCall,
    PolicyConditions,
    PolicyRule,
)
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.errors import describe_validation_error
from lictor_schema.proofs.proof import CertificateLevel
from lictor_schema.proofs.proof_strength import ProofStrength

Decision = Literal["allow", "ask", "reject"]


@dataclass(frozen=True, slots=True)
class ProofFindings:
    """What was found by reading the program again: its effects, and what is implied by what is proved."""

    effects: frozenset[str] | None = None
    """The trusted functions it may call; None when it could not be read."""
    entailed: Mapping[str, Truth] = field(default_factory=dict[str, Truth])
    """By the contract's text."""
    problem: str = "nobody looked at the program"
    """Why something is not here."""
    certificate_level: CertificateLevel | None = None
    """What the certificate was found to show when it was checked again."""
    certificate_problem: str = "nobody checked the certificate again"
    """Why that is not here."""


def findings(
    contracts: Sequence[ContractCall],
    effects: Iterable[str],
    implied: Sequence[tuple[str, str]],
    problem: str | None,
) -> ProofFindings:
    """What an answer about a program comes to; whatever is not said to be `implied` or `not_implied` is unknown."""
    if problem is not None or len(implied) != len(contracts):
        return ProofFindings(problem=problem or "not every contract was looked at")
    words = {"implied": True, "not_implied": False}
    found = {
        str(contract): Truth(words.get(word), why)
        for contract, (word, why) in zip(contracts, implied, strict=True)
    }
    return ProofFindings(frozenset(effects), found, "it was not looked at")


@dataclass(frozen=True, slots=True)
class RuleJudgement:
    """What one rule came to."""

    rule: PolicyRule
    truth: Truth


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """What the policy says, by which rule, and what every rule came to."""

    decision: Decision
    rule: str | None
    why: str
    judged: tuple[RuleJudgement, ...] = ()


def read_policy(source: bytes, name: str) -> ApprovalPolicy:
    """The policy in a YAML file; ConfigRefused names the line."""
    remedy = "correct it, and check it with `lictor approvals policy lint`"
    try:
        document = read_yaml(source)
    except YamlError as error:
        at = f":{error.line}" if error.line else ""
        raise ConfigRefused(f"{name}{at} {error.problem}", remedy) from None
    try:
        return ApprovalPolicy.from_json(json.dumps(document.data))
    except ValidationError as error:
        told = [
            f"line {_line(document, each.path)}: {each.path} {each.problem}"
            for each in describe_validation_error(error)[:5]
        ]
        raise ConfigRefused(f"{name}: {'; '.join(told)}", remedy) from None


def _line(document: YamlDocument, path: str) -> int:
    parts = tuple(int(part) if part.isdecimal() else part for part in path.split("."))
    return document.line_of(parts) or 1


def load_policy(path: Path) -> ApprovalPolicy:
    """The policy in a file."""
    try:
        return read_policy(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigRefused(
            f"the approval policy {path} can't be read: {error.strerror}",
            "name a file that is there",
        ) from None


def policy_hash(policy: ApprovalPolicy) -> str:
    """The name of a policy."""
    return content_hash(policy)


def contracts_named(policy: ApprovalPolicy) -> tuple[ContractCall, ...]:
    """Every contract that a rule asks about, once."""
    named = [
        contract
        for rule in policy.rules
        for contract in (*(rule.when.entails or ()), *(rule.when.not_entailed or ()))
    ]
    return tuple({str(contract): contract for contract in named}.values())


def needs_findings(policy: ApprovalPolicy) -> bool:
    """Whether a rule asks about more than the request contains."""
    return any(
        rule.when.entails
        or rule.when.not_entailed
        or rule.when.only_effects
        or rule.when.any_effect
        for rule in policy.rules
    )


def needs_certificate(policy: ApprovalPolicy) -> bool:
    """Whether a rule asks what the certificate shows; every rule that allows does."""
    return any(certificate_level(rule) is not None for rule in policy.rules)


def certificate_level(rule: PolicyRule) -> CertificateLevel | None:
    """What the certificate has to show; unless a rule that allows says otherwise, that no solver is believed."""
    return rule.when.certificate_level_at_least or ("c" if rule.decision == "allow" else None)


def lifts_rehearsal(policy: ApprovalPolicy) -> tuple[str, ...]:
    """The rules that allow what was never compared with Python."""
    return tuple(
        rule.name
        for rule in policy.rules
        if rule.decision == "allow" and rule.when.rehearsed is False
    )


def _demanded_rehearsal(rule: PolicyRule) -> bool | None:
    """Whether a rule asks for a rehearsal; one that allows does, unless it says that it does not."""
    if rule.decision != "allow":
        return rule.when.rehearsed
    return None if rule.when.rehearsed is False else True


def judge(
    policy: ApprovalPolicy, request: ApprovalRequest, findings: ProofFindings
) -> PolicyVerdict:
    """What the policy says about a request."""
    judged = tuple(RuleJudgement(rule, _holds(rule, request, findings)) for rule in policy.rules)

    def first(decision: Decision, *truths: bool | None) -> RuleJudgement | None:
        return next(
            (
                each
                for each in judged
                if each.rule.decision == decision and each.truth.holds in truths
            ),
            None,
        )

    rejecting = first("reject", True)
    if rejecting is not None:
        return PolicyVerdict("reject", rejecting.rule.name, _told(rejecting), judged)
    unclear = first("reject", None) or first("ask", True, None)
    if unclear is not None:
        return PolicyVerdict("ask", unclear.rule.name, _told(unclear), judged)
    allowing = first("allow", True)
    if allowing is not None:
        return PolicyVerdict("allow", allowing.rule.name, _told(allowing), judged)
    return PolicyVerdict("ask", None, "no rule decides", judged)


def _told(judged: RuleJudgement) -> str:
    if judged.truth.holds is None:
        return f"whether rule {judged.rule.name} holds is not known: {judged.truth.why}"
    return f"{judged.rule.reason} ({judged.truth.why})"


def values_not_looked_at(policy: ApprovalPolicy) -> tuple[str, ...]:
    """The rules that allow some value whatever it is."""
    return tuple(
        rule.name
        for rule in policy.rules
        if rule.decision == "allow" and any(each.any for each in (rule.when.inputs or {}).values())
    )


def values_of_several_types(policy: ApprovalPolicy) -> tuple[tuple[str, str], ...]:
    """Rules and values of which `one_of` names what no one type has: nearly every value leaves such a rule unknown."""
    return tuple(
        (rule.name, name)
        for rule in policy.rules
        for name, wanted in (rule.when.inputs or {}).items()
        if not has_one_type(wanted.one_of or ())
    )


def _holds(rule: PolicyRule, request: ApprovalRequest, findings: ProofFindings) -> Truth:
    when = rule.when.model_copy(
        update={
            "certificate_level_at_least": certificate_level(rule),
            "rehearsed": _demanded_rehearsal(rule),
        }
    )
    truths = [
        why_not_all_named(rule, request),
        *(check(when, request, findings) for check in _CHECKS),
    ]
    asked = [truth for truth in truths if truth is not None]
    for wanted in (False, None):
        for truth in asked:
            if truth.holds is wanted:
                return truth
    # A rule without conditions can't be written; that none was looked at must not mean that all hold.
    if not asked:
        return Truth(None, "no condition was looked at")
    return Truth(True, "; ".join(truth.why for truth in asked))


def _among(what: str, value: str, allowed: tuple[str, ...] | None) -> Truth | None:
    if allowed is None:
        return None
    found = value in allowed
    return Truth(found, f"{what} {value} is {'one' if found else 'none'} of those named")


def _agent(when: PolicyConditions, request: ApprovalRequest, _: ProofFindings) -> Truth | None:
    return _among("agent", request.binding.agent_id, when.agents)


def _task(when: PolicyConditions, request: ApprovalRequest, _: ProofFindings) -> Truth | None:
    return _among("task", request.binding.task_id, when.tasks)


def _layer(when: PolicyConditions, request: ApprovalRequest, _: ProofFindings) -> Truth | None:
    return _among("layer", request.binding.layer_hash, when.layers)


def _only_effects(
    when: PolicyConditions, request: ApprovalRequest, findings: ProofFindings
) -> Truth | None:
    del request
    if when.only_effects is None:
        return None
    if findings.effects is None:
        return Truth(None, findings.problem)
    others = sorted(findings.effects - set(when.only_effects))
    if others:
        return Truth(False, f"it also calls {', '.join(others)}")
    return Truth(True, "it calls none but the functions named")


def _any_effect(
    when: PolicyConditions, request: ApprovalRequest, findings: ProofFindings
) -> Truth | None:
    del request
    if when.any_effect is None:
        return None
    if findings.effects is None:
        return Truth(None, findings.problem)
    called = sorted(findings.effects & set(when.any_effect))
    if called:
        return Truth(True, f"it calls {', '.join(called)}")
    return Truth(False, "it calls none of the functions named")


def _entails(
    when: PolicyConditions, request: ApprovalRequest, findings: ProofFindings
) -> Truth | None:
    del request
    if when.entails is None:
        return None
    found = list(_implied(when.entails, findings))
    for wanted in (False, None):
        for contract, truth in found:
            if truth.holds is wanted:
                what = "is not implied" if wanted is False else "may not be implied"
                return Truth(wanted, f"{contract} {what}: {truth.why}")
    return Truth(True, f"{', '.join(str(contract) for contract, _ in found)} implied")


def _not_entailed(
    when: PolicyConditions, request: ApprovalRequest, findings: ProofFindings
) -> Truth | None:
    del request
    if when.not_entailed is None:
        return None
    found = list(_implied(when.not_entailed, findings))
    for contract, truth in found:
        if truth.holds is False:
            return Truth(True, f"{contract} is not implied: {truth.why}")
    for contract, truth in found:
        if truth.holds is None:
            return Truth(None, f"{contract} may not be implied: {truth.why}")
    return Truth(False, "all of the contracts named are implied")


def _implied(
    contracts: tuple[ContractCall, ...], findings: ProofFindings
) -> Iterator[tuple[ContractCall, Truth]]:
    for contract in contracts:
        yield contract, findings.entailed.get(str(contract), Truth(None, findings.problem))


def _coverage_at_most(
    when: PolicyConditions, request: ApprovalRequest, _: ProofFindings
) -> Truth | None:
    if when.coverage_at_most is None:
        return None
    if request.coverage is None:
        return Truth(None, "the layer does not say what should be said about its domains")
    worst = request.coverage.worst
    return Truth(worst.loudness <= when.coverage_at_most.loudness, f"coverage is {worst.value}")


def _coverage_at_least(
    when: PolicyConditions, request: ApprovalRequest, _: ProofFindings
) -> Truth | None:
    if when.coverage_at_least is None:
        return None
    if request.coverage is None:
        return Truth(None, "the layer does not say what should be said about its domains")
    worst = request.coverage.worst
    return Truth(worst.loudness >= when.coverage_at_least.loudness, f"coverage is {worst.value}")


def _strength(when: PolicyConditions, request: ApprovalRequest, _: ProofFindings) -> Truth | None:
    if when.strength is None:
        return None
    for each in request.guarantees:
        if each.strength is None:
            return Truth(None, f"for which runs {each.name} holds is not told")
        if when.strength is ProofStrength.EVERY_PREFIX and each.strength is not when.strength:
            return Truth(False, f"{each.name} holds only for runs that complete")
    return Truth(True, f"every guarantee holds {when.strength.value.replace('_', ' ')}")


def _certificate(
    when: PolicyConditions, request: ApprovalRequest, _: ProofFindings
) -> Truth | None:
    if when.certificate is None:
        return None
    found = request.binding.certificate_hash is not None
    return Truth(found, "there is a certificate" if found else "there is no certificate")


def _certificate_level(
    when: PolicyConditions, request: ApprovalRequest, findings: ProofFindings
) -> Truth | None:
    wanted = when.certificate_level_at_least
    if wanted is None:
        return None
    if request.binding.certificate_hash is None:
        return Truth(False, "there is no certificate")
    found = findings.certificate_level
    if found is None:
        return Truth(None, findings.certificate_problem)
    return Truth(_LEVELS.index(found) >= _LEVELS.index(wanted), f"the certificate shows {found}")


def _rehearsed(when: PolicyConditions, request: ApprovalRequest, _: ProofFindings) -> Truth | None:
    if when.rehearsed is None:
        return None
    done = request.rehearsal is not None and request.rehearsal.is_done
    return Truth(done is when.rehearsed, _rehearsal_words(request))


def _rehearsal_coverage(
    when: PolicyConditions, request: ApprovalRequest, _: ProofFindings
) -> Truth | None:
    wanted = when.rehearsal_coverage_at_least
    if wanted is None:
        return None
    found = request.rehearsal
    if found is None or not found.is_done:
        return Truth(False, _rehearsal_words(request))
    covered = found.covered_percent
    return Truth(covered >= wanted, f"runs reached {covered} % of what they can")


def _rehearsal_words(request: ApprovalRequest) -> str:
    return "not rehearsed" if request.rehearsal is None else request.rehearsal.words


def _values(when: PolicyConditions, request: ApprovalRequest, _: ProofFindings) -> Truth | None:
    return None if when.inputs is None else values_as_wanted(when.inputs, request.binding.inputs)


_LEVELS: tuple[CertificateLevel, ...] = ("a", "b", "c")
_Check = Callable[[PolicyConditions, ApprovalRequest, ProofFindings], Truth | None]
_CHECKS: tuple[_Check, ...] = (
    _agent,
    _task,
    _layer,
    _coverage_at_most,
    _coverage_at_least,
    _strength,
    _certificate,
    _certificate_level,
    _rehearsed,
    _rehearsal_coverage,
    _values,
    _only_effects,
    _any_effect,
    _entails,
    _not_entailed,
)
