"""What a patch made is recognised as that, and nothing else is."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.patch.document import PolicyDocument, edited, read_document
from lictor_contracts.patch.operations import PatchConflict
from lictor_contracts.patch.proposal import Applied, apply, propose
from lictor_contracts.patch.undo import is_result_of
from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.contracts.patch import PatchApproval, PatchOperation, PatchProposal
from lictor_schema.core.canonical_json import content_hash

MOMENT = "2026-01-01T00:00:00.000Z"
ENVELOPE = """\
decisionType: refund
version: 1.2.0
deadlineMs: 1000
stageBudgetsMs: {context: 100, plan: 300, act: 400, verify: 200}
freshness: {defaultTtlMs: 500, featureTtls: {price: 100, stock: 200}}
limits: {maxHops: 2, maxFanout: 3, maxToolCalls: 10, maxChainDepth: 4}
degradeLadder:
  - {step: rules_only}
  - {step: abstain}
verification: {requiredAboveBlastRadius: small, methods: [a, b]}
safeAction: {requireIdempotency: true, requireRollbackAbove: small, blastRadiusMax: small}
"""
DOCUMENT = read_document("dte", "refund.yaml", ENVELOPE)

CHANGES: list[tuple[dict[str, Any], ...]] = [
    ({"op": "set", "path": "/deadlineMs", "old": 1000, "new": 2000},),
    ({"op": "insert", "path": "/description", "new": "why"},),
    ({"op": "remove", "path": "/freshness/featureTtls/price", "old": 100},),
    ({"op": "insert", "path": "/degradeLadder/-", "new": {"step": "hitl"}},),
    ({"op": "insert", "path": "/degradeLadder/0", "new": {"step": "hitl"}},),
    ({"op": "remove", "path": "/degradeLadder/0", "old": {"step": "rules_only"}},),
    (
        {"op": "insert", "path": "/verification/methods/-", "new": "c"},
        {"op": "remove", "path": "/verification/methods/0", "old": "a"},
        {"op": "set", "path": "/verification/methods/1", "old": "c", "new": "d"},
    ),
]


def proposed(changes: tuple[dict[str, Any], ...]) -> PatchProposal:
    return propose(
        DOCUMENT,
        [PatchOperation.model_validate(each) for each in changes],
        reason="so",
        severity=DriftSeverity.RED,
        proposed_by="ada",
        proposed_at=MOMENT,
    )


def applied(proposal: PatchProposal) -> PolicyDocument:
    approval = PatchApproval(
        proposal_hash=content_hash(proposal),
        decision="approved",
        actor_type="human",
        actor_id="bob",
        decided_at=MOMENT,
    )
    result = apply(DOCUMENT, proposal, [approval])
    assert isinstance(result, Applied)
    return result.document


@pytest.mark.parametrize("changes", CHANGES)
def test_what_a_patch_made_is_recognised(changes: tuple[dict[str, Any], ...]) -> None:
    proposal = proposed(changes)
    assert is_result_of(applied(proposal), proposal)
    assert not is_result_of(DOCUMENT, proposal)


@given(st.sampled_from(CHANGES), st.sampled_from(CHANGES))
def test_what_another_patch_made_or_changed_afterwards_is_not(
    one: tuple[dict[str, Any], ...], other: tuple[dict[str, Any], ...]
) -> None:
    if one is other:
        return
    first, second = proposed(one), proposed(other)
    assert not is_result_of(applied(second), first)
    with suppress(PatchConflict):
        # Changes that exclude each other make nothing to look at.
        assert not is_result_of(edited(applied(first), second.operations), first)
