"""A submission, its proof, and the people about it, for tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

from lictor_approval.decision_validity import ApprovalLimits, decided, requested
from lictor_approval.request_binding import asked
from lictor_approval.request_life import RequestLife, folded
from lictor_approval.signed_decisions import Approvers, sign_decision
from lictor_schema.approvals.approval import AnyApprovalRequest, ApprovalDecision, ApprovalRequest
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.coverage import CoverageReport
from lictor_schema.proofs.inputs import InputParameter, read_inputs
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import (
    GuaranteeResult,
    ProofRehearsal,
    ProofResult,
    ProofVerdict,
)
from lictor_schema.proofs.proof_strength import ProofStrength
from lictor_seal import SigningKey, TrustStore

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
LAYER = content_hash("a layer")
PROGRAM = "def main() -> None:\n    pass\n"
LIMITS = ApprovalLimits()
ALICE = SigningKey.from_seed("alice@example.org", b"a" * 32)
BOB = SigningKey.from_seed("bob@example.org", b"b" * 32)
MACHINE = SigningKey.from_seed("approvals.example.org", b"m" * 32)
APPROVERS = Approvers(
    TrustStore.of([ALICE.verifying_key, BOB.verifying_key]), TrustStore.of([MACHINE.verifying_key])
)
REHEARSED = ProofRehearsal(
    runs=5,
    sites=4,
    sites_reached=4,
    sites_unreachable=0,
    outcomes=8,
    outcomes_reached=4,
    outcomes_unreachable=2,
    seed="a" * 32,
)
"""Eight of ten places that a run can reach."""


def submission(**changes: Any) -> ProgramSubmission:
    """What an agent submitted."""
    fields: dict[str, Any] = {
        "submission_id": "s-1",
        "task_id": "t-1",
        "agent_id": "agent-7",
        "correlation_id": "c-1",
        "submitted_at": NOW,
        "language": "python",
        "source_name": "program.py",
        "program": PROGRAM,
    }
    return ProgramSubmission(**{**fields, **changes})


def proof(of: ProgramSubmission, **changes: Any) -> ProofResult:
    """What the prover said about it."""
    layer = changes.get("layer_hash", LAYER)
    fields: dict[str, Any] = {
        "submission_id": of.submission_id,
        "task_id": of.task_id,
        "program_hash": program_hash(of.program),
        "program_hash_of": "bytes",
        "ir_hash": content_hash(["ir", of.program]),
        "layer_hash": layer,
        "verdict": ProofVerdict.PROVED,
        "guarantees": (
            GuaranteeResult(
                name="nothing is sent",
                verdict=ProofVerdict.PROVED,
                strength=ProofStrength.EVERY_PREFIX,
            ),
        ),
        "coverage": CoverageReport(
            program_hash=program_hash(of.program),
            layer_hash=layer,
            level="entailment",
            domains=(),
        ),
        **(
            {
                "certificate_hash": content_hash(["certificate", of.program]),
                "certificate_level": "c",
                "rehearsal": REHEARSED,
            }
            if changes.get("verdict", ProofVerdict.PROVED) is ProofVerdict.PROVED
            else {}
        ),
        "parameters": tuple(
            InputParameter(name=name, type=type(value).__name__)
            for name, value in read_inputs(of.inputs).items()
        ),
        "decided_at": NOW,
        "elapsed_ms": 1,
        "engine": "prover-1",
        "python": "cpython 3.11",
    }
    return ProofResult(**{**fields, **changes})


def request(**changes: Any) -> ApprovalRequest:
    """The request about them."""
    submitted = submission(**changes)
    within = LIMITS.decide_within
    return asked(submitted, 3, proof(submitted), 5, at=NOW, within=within)


def statement(
    about: AnyApprovalRequest, key: SigningKey = ALICE, **changes: Any
) -> ApprovalDecision:
    """What somebody says about a request, a second after it was made."""
    at: datetime = changes.pop("at", NOW + timedelta(seconds=1))
    fields: dict[str, Any] = {
        "request_id": about.request_id,
        "binding_hash": about.binding_hash,
        "decision": "approve",
        "by": key.name,
        "decided_at": utc_millis(at),
        "expires_at": utc_millis(at + timedelta(minutes=10)),
        "nonce": "00000000-0000-4000-8000-000000000001",
        "reason": "looked at it",
    }
    return ApprovalDecision(**{**fields, **changes})


def approved(about: AnyApprovalRequest, key: SigningKey = ALICE, **changes: Any) -> RequestLife:
    """A request after somebody approved it."""
    asked_for = folded([requested(about)])
    assert asked_for is not None
    signed = sign_decision(statement(about, key, **changes), key)
    entry = decided(asked_for, signed, APPROVERS, NOW + timedelta(seconds=2), LIMITS)
    life = folded([requested(about), entry])
    assert life is not None
    return life
