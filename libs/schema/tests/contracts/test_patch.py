"""A patch, a cycle and a report can't say more than their parts do."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from lictor_schema.contracts.cerpa_cycle import CerpaCycle, CerpaPatch
from lictor_schema.contracts.coherence_report import CoherenceReport, Share, SloName, SloResult
from lictor_schema.contracts.patch import PatchOperation, PatchProposal
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import CanonicalError

BASE = {"domain": "actionops", "timestamp": "2026-01-31T12:00:00Z", "source": "test"}
HASH = "sha256:" + "0" * 64
SET: dict[str, Any] = {"op": "set", "path": "/deadlineMs", "old": 100, "new": 90}
PROPOSAL: dict[str, Any] = {
    "proposal_id": "94a0e7d1-5c38-4be2-a6f9-0d82c71b5e43",
    "target": {"kind": "dte", "id": "refund", "version": "1", "content_hash": HASH},
    "operations": [SET],
    "new_version": "2",
    "reason": "late",
    "severity": "green",
    "proposed_by": "sealer",
    "proposed_at": "2026-01-31T12:00:00.000Z",
    "approval": "auto",
    "diff": "-a\n+b\n",
}
PATCH: dict[str, Any] = {
    **BASE,
    "id": "p",
    "review_id": "r",
    "action": "adjust",
    "target": "refund",
    "description": "later",
    "diff": "-a\n+b\n",
    "proposal": PROPOSAL,
}
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
CYCLE: dict[str, Any] = {
    "cycle_id": "y",
    "domain": "actionops",
    "claim": {**BASE, "id": "c", "text": "fast", "subject": "api"},
    "event": {**BASE, "id": "e", "text": "slow", "subject": "api"},
    "review": REVIEW,
    "patch": PATCH,
    "status": "patched",
    "started_at": "2026-01-31T12:00:00Z",
}
FAILED = {**BASE, "id": "a", "patch_id": "p", "success": False, "reason": "moved on"}
ALIGNED = {**REVIEW, "verdict": "aligned", "drift_detected": False, "severity": None}
SHARE: dict[str, Any] = {"part": 1, "whole": 1}
SLO: dict[str, Any] = {
    "slo": "deadline",
    "target": "99 %",
    "verdict": "pass",
    "share": SHARE,
    "explanation": "1 of 1",
}
REPORT: dict[str, Any] = {
    "measured_from": "2026-01-31T12:00:00.000Z",
    "measured_to": "2026-01-31T13:00:00.000Z",
    "episodes": 1,
    "drift": [],
    "patch_times": {"patched": 0, "waiting": 0},
    "rungs": [],
    "slos": [{**SLO, "slo": name.value} for name in SloName],
}


@pytest.mark.parametrize(
    ("model", "good", "change", "words"),
    [
        (PatchOperation, SET, {"op": "insert"}, "leave out old"),
        (PatchOperation, SET, {"op": "remove"}, "leave out new"),
        (PatchOperation, SET, {"path": ""}, "path"),
        (PatchOperation, SET, {"path": "deadlineMs"}, "path"),
        (PatchOperation, SET, {"path": "/a~2"}, "path"),
        (PatchProposal, PROPOSAL, {"operations": []}, "operations"),
        (PatchProposal, PROPOSAL, {"loosens": ["a limit"]}, "must be `human`"),
        (CerpaPatch, PATCH, {"diff": "-a\n+c\n"}, "those of the proposal"),
        (CerpaPatch, PATCH, {"loosens_safety": True}, "those of the proposal"),
        (CerpaCycle, CYCLE, {"review": ALIGNED}, "exactly when the review found that"),
        (CerpaCycle, CYCLE, {"status": "aligned"}, "exactly when the review found that"),
        (CerpaCycle, CYCLE, {"status": "escalated"}, "needs a patch that escalates"),
        (
            CerpaCycle,
            CYCLE,
            {"patch": None, "status": "mismatched", "apply_result": FAILED},
            "needs the patch it is about",
        ),
        (Share, SHARE, {"part": 2}, "more than whole"),
        (Share, SHARE, {"part": 0, "whole": 0}, "whole"),
        (SloResult, SLO, {"share": None}, "exactly when something was measured"),
        (SloResult, SLO, {"verdict": "not_measured"}, "exactly when something was measured"),
        (CoherenceReport, REPORT, {"slos": REPORT["slos"][::-1]}, "in their order"),
        (CoherenceReport, REPORT, {"slos": REPORT["slos"][:7]}, "slos"),
        (CoherenceReport, REPORT, {"measured_to": "2026-01-30T13:00:00.000Z"}, "before"),
    ],
)
def test_a_story_its_parts_deny_is_refused(
    model: type[Model], good: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    assert model.from_json(json.dumps(good))
    with pytest.raises(ValidationError, match=words):
        model.from_json(json.dumps({**good, **change}))


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999"])
def test_no_operation_carries_a_number_that_is_none(text: str) -> None:
    with pytest.raises(CanonicalError):
        PatchOperation.from_json(f'{{"op": "insert", "path": "/a", "new": {text}}}')
