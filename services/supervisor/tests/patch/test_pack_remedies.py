"""The remedy of an envelope as a proposal for the pack that holds it: a real change that never loosens the envelope."""

import pytest
from learning_bus import PACK

from lictor_contracts.patch.document import PolicyDocument
from lictor_contracts.patch.envelope_loosening import loosens
from lictor_contracts.patch.proposal import Applied, apply
from lictor_contracts.patch.remedies import (
    envelopes_in,
    pack_documents,
    pack_remedy,
    suggested_operations,
)
from lictor_schema.contracts.drift import DriftSeverity, DriftType, Fingerprint, PatchType
from lictor_schema.contracts.patch import ApprovalRule, PatchApproval, PatchProposal, PatchRequest
from lictor_schema.core.canonical_json import content_hash

MOMENT = "2026-01-01T00:00:00.000Z"
DOCUMENTS = pack_documents([("refunds/policy.yaml", PACK), ("broken/policy.yaml", "{")])
ENVELOPES = envelopes_in(DOCUMENTS)


def remedy(kind: DriftType, decision_type: str = "refund") -> PatchProposal | None:
    request = PatchRequest(
        request_id="00000000-0000-5000-8000-000000000001",
        decision_type=decision_type,
        drift_type=kind,
        cause="a cause",
        fingerprint=Fingerprint.of(decision_type, kind, "a cause"),
        recommended_patch_type=PatchType.MANUAL_REVIEW,
        severity=DriftSeverity.RED,
        occurrences=3,
        attempt=1,
        drift_ids=("d",),
    )
    return pack_remedy(request, ENVELOPES, proposed_by="lictor", proposed_at=MOMENT)


def applied(proposal: PatchProposal) -> PolicyDocument:
    approval = PatchApproval(
        proposal_hash=content_hash(proposal),
        decision="approved",
        actor_type="human",
        actor_id="ada",
        decided_at=MOMENT,
    )
    result = apply(DOCUMENTS[0], proposal, [approval])
    assert isinstance(result, Applied)
    return result.document


@pytest.mark.parametrize("kind", DriftType)
def test_every_type_has_a_remedy_that_applies_and_tightens_or_waits_for_a_human(
    kind: DriftType,
) -> None:
    proposal = remedy(kind)
    before = ENVELOPES["refund"].envelope
    assert (proposal is not None) == bool(suggested_operations(kind, before))
    if proposal is None:
        return
    after = envelopes_in([applied(proposal)])["refund"].envelope
    assert after.version == "4"
    assert loosens(before, after) == ()
    assert proposal.approval is ApprovalRule.HUMAN


def test_a_decision_type_without_an_envelope_waits_for_a_human() -> None:
    assert remedy(DriftType.BYPASS, "another") is None
    assert set(ENVELOPES) == {"refund"}


def test_the_change_is_spliced_into_the_pack_and_its_comments_stay() -> None:
    proposal = remedy(DriftType.BYPASS)
    assert proposal is not None
    text = applied(proposal).text
    assert "degradeLadder: # in this order" in text
    assert "bypass" not in text
    assert "version: 1.4.1" in text
