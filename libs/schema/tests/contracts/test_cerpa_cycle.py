"""A CERPA cycle can't tell a better story than its parts."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from lictor_schema.contracts.cerpa_cycle import (
    CerpaApplyResult,
    CerpaClaim,
    CerpaCycle,
    CerpaReview,
)
from lictor_schema.core.base_model import Model
from lictor_schema.proofs.proof import ProofResult

BASE = {"domain": "actionops", "timestamp": "2026-01-31T12:00:00Z", "source": "test"}
CLAIM: dict[str, Any] = {**BASE, "id": "c", "text": "fast", "subject": "api"}
EVENT: dict[str, Any] = {**BASE, "id": "e", "text": "slow", "subject": "api"}
REVIEW: dict[str, Any] = {
    **BASE,
    "id": "r",
    "claim_id": "c",
    "event_id": "e",
    "verdict": "mismatch",
    "rationale": "900 is not below 200",
    "drift_detected": True,
    "severity": "yellow",
}
APPLIED: dict[str, Any] = {**BASE, "id": "a", "patch_id": "p", "success": True}
CYCLE: dict[str, Any] = {
    "cycle_id": "y",
    "domain": "actionops",
    "claim": CLAIM,
    "event": EVENT,
    "review": REVIEW,
    "status": "mismatched",
    "started_at": "2026-01-31T12:00:00Z",
}
PROOF: dict[str, Any] = {
    "submission_id": "s",
    "task_id": "t",
    "program_hash": "sha256:" + "0" * 64,
    "verdict": "proved",
    "decided_at": "2026-01-31T12:00:00Z",
    "elapsed_ms": 1,
}


@pytest.mark.parametrize(
    ("model", "good", "change", "words"),
    [
        (CerpaReview, REVIEW, {"severity": None}, "exactly when verdict is not `aligned`"),
        (CerpaReview, REVIEW, {"drift_detected": False}, "exactly when verdict"),
        (CerpaReview, REVIEW, {"verdict": "aligned"}, "exactly when verdict"),
        (CerpaApplyResult, APPLIED, {"success": False}, "must give its reason"),
        (CerpaCycle, CYCLE, {"status": "applied"}, "exactly when apply_result succeeded"),
        (CerpaCycle, CYCLE, {"apply_result": APPLIED}, "exactly when apply_result succeeded"),
        (CerpaCycle, CYCLE, {"status": "patched"}, "needs a patch"),
        (
            CerpaClaim,
            CLAIM,
            {"assumptions": [{"metric": "p99", "operator": "lt", "bound": "2e2"}]},
            "bound",
        ),
        (
            ProofResult,
            PROOF,
            {"guarantees": [{"name": "only", "verdict": "unknown"}]},
            "while a guarantee is not",
        ),
    ],
)
def test_a_story_its_parts_deny_is_refused(
    model: type[Model], good: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    assert model.from_json(json.dumps(good))
    with pytest.raises(ValidationError, match=words):
        model.from_json(json.dumps({**good, **change}))
