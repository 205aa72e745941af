"""Contracts, episodes and the models after them refuse what cannot hold."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.cerpa_cycle import Verdict
from lictor_schema.contracts.drift import DriftType, Fingerprint, TriageState
from lictor_schema.contracts.envelope import DTE
from lictor_schema.contracts.verification import Verification
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.gates.gate import GateAnswer
from lictor_schema.proofs.coverage import CoverageReport, CoverageStatus, DomainCoverage
from lictor_schema.proofs.proof import ProofResult
from lictor_schema.seals.episode import DecisionEpisode, EpisodeState
from lictor_schema.seals.seal import Seal

HASH = "sha256:" + "0" * 64

ENVELOPE: dict[str, Any] = {
    "decisionType": "task_completion",
    "version": "1.0.0",
    "deadlineMs": 1000,
    "stageBudgetsMs": {"context": 250, "plan": 250, "act": 250, "verify": 250},
    "freshness": {"defaultTtlMs": 500, "featureTtls": {"stockLevel": 50}},
    "limits": {"maxHops": 3, "maxFanout": 2, "maxToolCalls": 10, "maxChainDepth": 4},
    "degradeLadder": [{"step": "cache_bundle", "maxExtraMs": 20}, {"step": "abstain"}],
    "verification": {"requiredAboveBlastRadius": "small", "methods": ["read_after_write"]},
    "safeAction": {
        "requireIdempotency": True,
        "requireRollbackAbove": "tiny",
        "blastRadiusMax": "medium",
    },
}

ACTION: dict[str, Any] = {
    "actionId": "act-1",
    "actionType": "refund",
    "blastRadiusTier": "small",
    "targetRefs": [{"type": "order", "id": "o-1"}],
    "constraints": {},
    "authorization": {"mode": "auto"},
    "idempotencyKey": "refund-o-1",
    "rollbackPlan": {"type": "compensate"},
}

SEAL: dict[str, Any] = {
    "sealedAt": "2026-01-31T12:00:00.000Z",
    "version": 1,
    "previousHash": None,
    "keyId": "ed25519:" + "0" * 64,
    "hash": HASH,
    "signature": "A" * 86 + "==",
}

EPISODE: dict[str, Any] = {
    "episodeId": "ep-1",
    "decisionType": "task_completion",
    "taskId": "task-1",
    "runtime": "openclaw",
    "correlationId": "corr-1",
    "startedAt": "2026-01-31T12:00:00.000Z",
    "endedAt": "2026-01-31T12:00:00.000Z",
    "decisionWindowMs": None,
    "actor": {"type": "agent", "id": "agent-1"},
    "dteRef": None,
    "context": {
        "snapshotId": "snap-1",
        "capturedAt": "2026-01-31T12:00:00.000Z",
        "ttlMs": 0,
        "maxFeatureAgeMs": 0,
        "ttlBreachesCount": 0,
        "evidenceRefs": [],
    },
    "plan": {"planner": "rules", "summary": "packs"},
    "actions": [ACTION],
    "verification": {"required": False, "result": "na"},
    "outcome": {"code": "success"},
    "telemetry": {"endToEndMs": 1, "hopCount": 0, "fanout": 0, "fallbackUsed": False},
    "policy": {"configHash": HASH, "packs": []},
    "degrade": {"step": None, "rationale": {}, "ladder": []},
    "records": [{"recordId": "5b1c0a3e-1111-5222-8333-444455556666", "recordHash": HASH}],
}

PROVED = {
    "submission_id": "s", "task_id": "t", "program_hash": HASH, "verdict": "proved",
    "decided_at": "2026-01-31T12:00:00Z", "elapsed_ms": 1,
}  # fmt: skip
REFUSED: list[tuple[type[Model], dict[str, Any], dict[str, Any], str]] = [
    (DTE, ENVELOPE, {"stageBudgetsMs": {"context": 1001, "plan": 0, "act": 0, "verify": 0}},
     "add up to 1001, more than deadlineMs 1000"),
    (DTE, ENVELOPE, {"degradeLadder": [{"step": "hitl"}]}, "must contain `abstain`"),
    (DTE, ENVELOPE, {"degradeLadder": []}, "at least 1 item"),
    (DTE, ENVELOPE, {"degradeLadder": [{"step": "abstain"}, {"step": "abstain"}]}, "twice"),
    (DTE, ENVELOPE, {"degradeLadder": [{"step": "bypass"}, {"step": "abstain"}]}, "approver"),
    (DTE, ENVELOPE, {"degradeLadder": [{"step": "guess"}, {"step": "abstain"}]}, "step"),
    (DTE, ENVELOPE, {"deadlineMs": 0}, "deadlineMs"),
    (DTE, ENVELOPE, {"deadline_ms": 5}, "deadline_ms"),
    (DTE, ENVELOPE, {"limits": {"maxHops": 3}}, "maxFanout"),
    (DTE, ENVELOPE, {"verification": {"requiredAboveBlastRadius": "huge"}}, "huge"),
    (DTE, ENVELOPE, {"freshness": {"defaultTtlMs": -1}}, "defaultTtlMs"),
    (SafeActionContract, ACTION, {"blastRadiusTier": "high"}, "blastRadiusTier"),
    (SafeActionContract, ACTION, {"targetRefs": []}, "targetRefs"),
    (SafeActionContract, ACTION, {"idempotencyKey": ""}, "idempotencyKey"),
    (SafeActionContract, ACTION, {"authorization": {"mode": "yes"}}, "mode"),
    (SafeActionContract, ACTION, {"rollbackPlan": {"type": "hope"}}, "rollbackPlan"),
    (SafeActionContract, ACTION, {"preconditions": [{"fact": "a", "operator": "in", "value": 1}]},
     "exactly for the operator `in`"),
    (SafeActionContract, ACTION, {"constraints": {"rate": 0.5}}, "constraints.rate"),
    (Seal, SEAL, {"version": 2}, "previousHash must be null for version 1"),
    (Seal, SEAL, {"previousHash": HASH}, "previousHash must be null for version 1"),
    (Seal, SEAL, {"hash": "scaffold"}, "hash"),
    (Seal, SEAL, {"signature": "AAAA"}, "signature"),
    (Seal, SEAL, {"keyId": "mine"}, "keyId"),
    (DecisionEpisode, EPISODE, {"endedAt": "2026-01-31T11:59:59.999Z"}, "before startedAt"),
    (DecisionEpisode, EPISODE, {"records": []}, "records"),
    (DecisionEpisode, EPISODE, {"seal": SEAL}, "seal"),
    (DecisionEpisode, EPISODE, {"degrade": {"step": "abstain", "rationale": {}, "ladder": []}},
     "must be `abstain`"),
    (DecisionEpisode, EPISODE, {"verification": {"required": True, "result": "na"}},
     "can't be `success`"),
    (DecisionEpisode, EPISODE, {"telemetry": {**EPISODE["telemetry"], "fallbackUsed": True}},
     "fallbackStep"),
    (DecisionEpisode, EPISODE, {"telemetry": {**EPISODE["telemetry"], "endToEndMs": 1.5}},
     "endToEndMs"),
    (Verification, {"required": True, "result": "pass"}, {}, "must name its method"),
    (GateAnswer, {"request_id": "r", "decision": "deny", "reason": "x", "policy_id": "p"}, {},
     "need a remedy"),
    (GateAnswer, {"request_id": "r", "decision": "rewrite", "reason": "x", "policy_id": "p"}, {},
     "message must be given exactly"),
    (ProofResult, {"submission_id": "s", "task_id": "t", "program_hash": HASH,
                   "verdict": "unknown", "decided_at": "2026-01-31T12:00:00Z", "elapsed_ms": 1},
     {}, "reasons must be given exactly"),
    (ProofResult, PROVED, {"certificate_hash": HASH}, "together with its level"),
    (ProofResult, PROVED, {"certificate_level": "c"}, "together with its level"),
    (ProofResult, PROVED, {"certificate_hash": HASH, "certificate_level": "d"}, "certificate_level"),
    (ProofResult, PROVED, {"certificate_hash": HASH, "certificate_level": "c", "verdict": "unknown",
                           "reasons": [{"code": "c", "message": "m", "remedy": "r"}]},
     "only what is `proved`"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "good", "change", "words"), REFUSED)
def test_what_cannot_hold_is_refused(
    model: type[Model], good: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        model.from_json(json.dumps({**good, **change}))


@pytest.mark.parametrize(
    ("model", "good"),
    [(DTE, ENVELOPE), (SafeActionContract, ACTION), (Seal, SEAL), (DecisionEpisode, EPISODE)],
)
def test_the_unchanged_documents_are_accepted(model: type[Model], good: dict[str, Any]) -> None:
    assert model.from_json(json.dumps(good))


def test_stage_budgets_may_use_the_whole_deadline() -> None:
    assert DTE.from_json(json.dumps(ENVELOPE)).stage_budgets_ms.total == 1000


def test_feature_names_keep_their_spelling() -> None:
    envelope = DTE.from_json(json.dumps(ENVELOPE))
    assert envelope.freshness.feature_ttls == {"stockLevel": 50}


def test_an_episode_moves_only_along_its_life() -> None:
    legal = {(a.value, b.value) for a in EpisodeState for b in EpisodeState if a.may_become(b)}
    assert legal == {
        ("pending", "active"),
        ("active", "sealed"),
        ("active", "frozen"),
        ("frozen", "active"),
        ("sealed", "archived"),
    }


def test_triage_moves_one_step_forward_at_a_time() -> None:
    assert TriageState.NEW.may_become(TriageState.TRIAGED)
    assert not TriageState.VERIFIED.may_become(TriageState.NEW)
    assert not TriageState.NEW.may_become(TriageState.PATCHED)


def test_one_cause_has_one_fingerprint() -> None:
    first = Fingerprint.of("refund", DriftType.VERIFY, "read_after_write mismatch")
    assert first == Fingerprint.of("refund", DriftType.VERIFY, "read_after_write mismatch")
    assert first != Fingerprint.of("refund", DriftType.OUTCOME, "read_after_write mismatch")


def test_a_violation_outranks_every_other_verdict() -> None:
    ranked = sorted(Verdict, key=lambda verdict: verdict.precedence, reverse=True)
    assert ranked == ["violation", "expired", "mismatch", "aligned"]


def test_the_loudest_domain_is_the_badge_of_a_coverage_report() -> None:
    def domain(status: CoverageStatus) -> DomainCoverage:
        return DomainCoverage(domain="email", when_used=(), used_calls=(), status=status)

    statuses = (CoverageStatus.COVERED, CoverageStatus.SILENT_GAP, CoverageStatus.RECOMMENDED_GAP)
    report = CoverageReport(
        program_hash=HASH, level="mention", domains=tuple(map(domain, statuses))
    )
    assert report.worst is CoverageStatus.SILENT_GAP


def test_a_report_without_what_is_covered_by_name_has_the_hash_it_always_had() -> None:
    domain = DomainCoverage(
        domain="mail",
        when_used=("send",),
        used_calls=("send",),
        status=CoverageStatus.COVERED,
        stated=("only",),
    )
    report = CoverageReport(program_hash=HASH, level="entailment", domains=(domain,))
    assert content_hash(report) == (
        "sha256:a5b9e8afd2d6b34b41a1429ff36c86426632cf884ca65e8915a6faeecea7198a"
    )
    by_name = domain.model_copy(update={"by_name": ("only",)})
    assert DomainCoverage.from_json(by_name.to_json()) == by_name


def test_a_gate_answer_is_made_by_name() -> None:
    assert GateAnswer.allow("r", "p", "fine").decision == "allow"
    assert GateAnswer.deny("r", "p", "no anchor", "set one").remedy == "set one"
    assert GateAnswer.rewrite("r", "p", "no evidence", "Status: unknown").message is not None
    assert GateAnswer.wait("r", "p", "approval", "ask the lead", 500).retry_after_ms == 500
