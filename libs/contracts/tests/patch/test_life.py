"""The life of a patch: what may follow what, and that nothing is applied that nobody else approved."""

import uuid
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.patch.document import read_document
from lictor_contracts.patch.life import Patch, PatchStepRefused, folded, stepped
from lictor_contracts.patch.proposal import propose
from lictor_schema.contracts.drift import DriftSeverity, DriftType, Fingerprint, PatchType
from lictor_schema.contracts.patch import (
    AppliedPatch,
    ApprovalRule,
    PatchEntry,
    PatchOperation,
    PatchProposal,
    PatchRequest,
    PatchState,
    PatchStep,
)
from lictor_schema.core.canonical_json import content_hash

Step = Literal["propose", "approve", "reject", "applied", "failed"]
MOMENT = "2026-01-01T00:00:00.000Z"
ENVELOPE = """\
decisionType: refund
version: "3"
deadlineMs: 1000
stageBudgetsMs: {context: 100, plan: 300, act: 400, verify: 200}
freshness: {defaultTtlMs: 500}
limits: {maxHops: 2, maxFanout: 3, maxToolCalls: 10, maxChainDepth: 4}
degradeLadder: [{step: abstain}]
verification: {requiredAboveBlastRadius: small}
safeAction: {requireIdempotency: true, requireRollbackAbove: small, blastRadiusMax: small}
"""
DOCUMENT = read_document("dte", "refund.yaml", ENVELOPE)


def proposal(deadline: int = 2000, by: str = "ada") -> PatchProposal:
    """Above 1 000 it loosens, so a human must approve; below, it applies by itself."""
    change = PatchOperation(op="set", path="/deadlineMs", old=1000, new=deadline)
    return propose(
        DOCUMENT,
        [change],
        reason="deadline",
        severity=DriftSeverity.GREEN,
        proposed_by=by,
        proposed_at=MOMENT,
    )


LOOSE = proposal()


def step(
    what: Step, by: str = "bob", about: PatchProposal | None = LOOSE, **more: Any
) -> PatchStep:
    if what == "propose":
        more.setdefault("proposal", about)
    else:
        more.setdefault("proposal_hash", None if about is None else content_hash(about))
    if what == "applied" and about is not None:
        made = AppliedPatch(
            before=about.target.content_hash, after=content_hash("new"), version=about.new_version
        )
        more.setdefault("applied", made)
    if what in ("reject", "failed"):
        more.setdefault("reason", "so it is")
    return PatchStep(
        request_id=str(uuid.uuid4()), patch_id=LOOSE.proposal_id, step=what, by=by, **more
    )


def taken(*steps: PatchStep) -> Patch:
    entries: list[PatchEntry] = []
    for each in steps:
        entries.append(stepped(folded(entries), each, entry_id=str(uuid.uuid4()), at=MOMENT))
    patch = folded(entries)
    assert patch is not None
    return patch


def test_proposed_approved_and_applied() -> None:
    patch = taken(step("propose", "ada"), step("approve"), step("applied"))
    assert patch.state is PatchState.APPLIED
    assert patch.approvers == ("bob",)


@pytest.mark.parametrize(
    ("before", "refused", "why"),
    [
        ((), step("approve"), "there is no patch"),
        ((), step("propose", "eve"), "in one's own name"),
        ((step("propose", "ada"),), step("approve", "ada"), "have somebody else approve"),
        ((step("propose", "ada"),), step("approve", "Ada "), "have somebody else approve"),
        ((step("propose", "ada"),), step("approve", " "), "nobody is named"),
        ((step("propose", "ada"),), step("approve", about=None), "is not the proposal"),
        ((step("propose", "ada"),), step("approve", about=proposal(3000)), "is not the proposal"),
        ((step("propose", "ada"),), step("reject", about=proposal(3000)), "is not the proposal"),
        ((step("propose", "ada"),), step("applied"), "no human other than ada"),
        ((step("propose", "ada"),), step("reject", reason=None), "gives no reason"),
        ((step("propose", "ada"), step("approve")), step("applied", applied=None), "is missing"),
        ((step("propose", "ada"), step("reject")), step("approve"), "rejected already"),
        (
            (step("propose", "ada"), step("approve"), step("applied")),
            step("propose", "ada"),
            "applied already",
        ),
        # A new proposal takes what was said about the old one with it.
        (
            (step("propose", "ada"), step("approve"), step("propose", "ada", proposal(3000))),
            step("applied", about=proposal(3000)),
            "no human other than ada",
        ),
    ],
)
def test_what_may_not_be_done_says_why(before, refused, why) -> None:
    entries: list[PatchEntry] = []
    for each in before:
        entries.append(stepped(folded(entries), each, entry_id=str(uuid.uuid4()), at=MOMENT))
    with pytest.raises(PatchStepRefused, match=why) as told:
        stepped(folded(entries), refused, entry_id=str(uuid.uuid4()), at=MOMENT)
    assert told.value.remedy


def test_what_failed_can_be_tried_again_or_proposed_anew() -> None:
    begun = (step("propose", "ada"), step("approve"), step("failed"))
    assert taken(*begun).state is PatchState.FAILED
    assert taken(*begun, step("applied")).state is PatchState.APPLIED
    assert taken(*begun, step("propose", "ada", proposal(3000))).state is PatchState.PROPOSED


def test_whatever_a_proposal_says_of_itself_a_pack_and_red_drift_need_a_human() -> None:
    tight = proposal(1001)
    for target, severity in (("policy_pack", DriftSeverity.GREEN), ("dte", DriftSeverity.RED)):
        said = tight.model_copy(
            update={
                "target": tight.target.model_copy(update={"kind": target}),
                "severity": severity,
                "approval": ApprovalRule.AUTO,
            }
        )
        assert Patch("p", PatchState.PROPOSED, MOMENT, MOMENT, proposal=said).needs_human


def test_a_proposal_can_not_belittle_the_drift_it_answers() -> None:
    cause = Fingerprint.of("refund", DriftType.TIME, "late")
    request = PatchRequest(
        request_id=LOOSE.proposal_id,
        decision_type="refund",
        drift_type=DriftType.TIME,
        cause="late",
        fingerprint=cause,
        recommended_patch_type=PatchType.DTE_CHANGE,
        severity=DriftSeverity.RED,
        occurrences=3,
        attempt=1,
        drift_ids=("d1", "d2", "d3"),
    )
    asked = Patch(request.request_id, PatchState.PROPOSED, MOMENT, MOMENT, request=request)
    with pytest.raises(PatchStepRefused, match="answers green drift, and it is red"):
        stepped(asked, step("propose", "ada"), entry_id=str(uuid.uuid4()), at=MOMENT)


STEPS = st.builds(
    step,
    st.sampled_from(get_args(Step)),
    st.sampled_from(["ada", "bob", "eve"]),
    st.sampled_from([LOOSE, proposal(3000), proposal(4000, "bob"), proposal(1500, "eve"), None]),
)


@given(st.lists(STEPS, max_size=25))
def test_no_order_of_steps_applies_what_no_other_human_approved_or_leaves_an_end(
    steps: list[PatchStep],
) -> None:
    entries: list[PatchEntry] = []
    for each in steps:
        before = folded(entries)
        try:
            entries.append(stepped(before, each, entry_id=str(uuid.uuid4()), at=MOMENT))
        except PatchStepRefused:
            continue
        assert before is None or not before.state.is_final
    patch = folded(entries)
    if patch is not None and patch.state is PatchState.APPLIED:
        assert patch.proposal is not None
        approved = [
            said.approval
            for said in entries
            if said.approval is not None and said.approval.decision == "approved"
        ]
        assert any(
            said.proposal_hash == content_hash(patch.proposal)
            and said.actor_id != patch.proposal.proposed_by
            for said in approved
        )
