"""A cycle says how far it came, and never further: a patch that failed was not applied."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lictor_contracts.cerpa.cycle import (
    ACTION_FOR,
    CycleRefused,
    applied,
    begun,
    patch,
    review,
    with_patch,
    with_result,
)
from lictor_contracts.patch.document import read_document
from lictor_contracts.patch.proposal import propose
from lictor_schema.contracts.cerpa_cycle import (
    Assumption,
    CerpaApplyResult,
    CerpaClaim,
    CerpaCycle,
    CerpaDomain,
    CerpaEvent,
    CerpaPatch,
    CerpaReview,
    CycleStatus,
    Measurement,
    PatchAction,
    Verdict,
)
from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.contracts.patch import PatchApproval, PatchOperation, PatchProposal
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
YELLOW, RED = DriftSeverity.YELLOW, DriftSeverity.RED
REFUND = read_document(
    "dte",
    "refund.yaml",
    """\
decisionType: refund
version: 1.2.0
deadlineMs: 100
stageBudgetsMs: {context: 10, plan: 20, act: 30, verify: 20}
freshness: {defaultTtlMs: 500}
limits: {maxHops: 3, maxFanout: 4, maxToolCalls: 20, maxChainDepth: 5}
degradeLadder: [{step: abstain}]
verification: {requiredAboveBlastRadius: small}
safeAction: {requireIdempotency: true, requireRollbackAbove: small, blastRadiusMax: medium}
""",
)


def claim() -> CerpaClaim:
    """A claim about refunds."""
    return CerpaClaim(
        id="claim-1",
        domain=CerpaDomain.ACTIONOPS,
        timestamp=NOON,
        source="ops",
        text="refunds take less than 100 ms",
        subject="refund",
        assumptions=(Assumption(metric="p99_ms", operator="lt", bound="100"),),
    )


def event(value: str = "900", **fields: Any) -> CerpaEvent:
    """What was measured of them."""
    return CerpaEvent(
        id="event-1",
        domain=CerpaDomain.ACTIONOPS,
        timestamp=NOON,
        source="monitor",
        text="measured",
        subject="refund",
        measurements=(Measurement(metric="p99_ms", value=value, measured_at=NOON),),
        **fields,
    )


def reviewed(what: CerpaEvent, at_least: DriftSeverity = DriftSeverity.GREEN) -> CerpaReview:
    """A review, which must be possible."""
    result = review(claim(), what, NOON, at_least=at_least)
    assert isinstance(result, CerpaReview)
    return result


def proposal(new: int = 90, severity: DriftSeverity = YELLOW) -> PatchProposal:
    """A change of the deadline."""
    operation = PatchOperation(op="set", path="/deadlineMs", old=100, new=new)
    return propose(
        REFUND,
        [operation],
        reason="the claim did not hold",
        severity=severity,
        proposed_by="sealer",
        proposed_at=utc_millis(NOON),
    )


def patched(new: int = 90) -> tuple[CerpaCycle, CerpaPatch]:
    """A cycle whose review found a mismatch and whose patch changes the deadline."""
    found = reviewed(event())
    wanted = patch(found, NOON, proposal=proposal(new))
    assert wanted is not None
    return with_patch(begun(claim(), event(), found), wanted), wanted


def approved(wanted: CerpaPatch) -> PatchApproval:
    """A human's word for it."""
    return PatchApproval(
        proposal_hash=content_hash(wanted.proposal),
        decision="approved",
        actor_type="human",
        actor_id="ada",
        decided_at=utc_millis(NOON),
    )


def test_every_verdict_has_its_patch_action() -> None:
    """Contract scenario 53: four verdicts and their patches."""
    assert dict(ACTION_FOR) == {
        Verdict.ALIGNED: None,
        Verdict.MISMATCH: PatchAction.ADJUST,
        Verdict.EXPIRED: PatchAction.EXPIRE,
        Verdict.VIOLATION: PatchAction.STRENGTHEN,
    }
    assert patch(reviewed(event("20")), NOON) is None


@pytest.mark.parametrize("verdict", [each for each in Verdict if each != "aligned"])
@pytest.mark.parametrize("severity", DriftSeverity)
def test_red_escalates_and_a_human_who_takes_it_on_does_what_the_verdict_asks_for(
    verdict: Verdict, severity: DriftSeverity
) -> None:
    """Contract scenario 60: red escalates."""
    found = reviewed(event()).model_copy(update={"verdict": verdict, "severity": severity})
    alone, taken = patch(found, NOON), patch(found, NOON, taken_by="ada")
    assert alone is not None
    assert taken is not None
    assert alone.action is (PatchAction.ESCALATE if severity is RED else ACTION_FOR[verdict])
    assert taken.action is ACTION_FOR[verdict]
    assert taken.related_ids == ("ada",)
    blank = patch(found, NOON, taken_by=" ")
    assert blank is not None
    assert blank.action is alone.action


def test_a_patch_shows_the_diff_of_its_proposal_and_what_it_loosens() -> None:
    found = reviewed(event())
    looser = patch(found, NOON, proposal=proposal(150))
    assert looser is not None
    assert "+deadlineMs: 150" in (looser.diff or "")
    assert (looser.target, looser.loosens_safety) == ("refund", True)


def test_an_aligned_cycle_is_complete_and_takes_no_patch() -> None:
    cycle = begun(claim(), event("20"), reviewed(event("20")))
    assert (cycle.status, cycle.completed_at) == (CycleStatus.ALIGNED, NOON)
    wanted = patched()[1].model_copy(update={"review_id": cycle.review.id})
    with pytest.raises(CycleRefused, match="takes no patch"):
        with_patch(cycle, wanted)


def test_a_mismatch_is_patched_and_applied_for_real() -> None:
    found = reviewed(event())
    assert begun(claim(), event(), found).status is CycleStatus.MISMATCHED
    cycle, wanted = patched()
    assert cycle.status is CycleStatus.PATCHED
    result, made = applied(wanted, REFUND, [], LATER)
    assert made is not None
    assert made.document.data["deadlineMs"] == 90
    assert result.new_state == {
        "kind": "dte",
        "id": "refund",
        "version": "1.2.1",
        "content_hash": made.document.content_hash,
    }
    done = with_result(cycle, result)
    assert (done.status, done.completed_at) == (CycleStatus.APPLIED, LATER)
    assert with_result(done, result) == done
    assert CerpaCycle.from_json(done.to_json()) == done


def test_a_failed_apply_leaves_the_cycle_patched_with_its_reason() -> None:
    """Contract scenario 59: a failed apply."""
    cycle, wanted = patched()
    moved = read_document("dte", "refund.yaml", REFUND.text.replace("1.2.0", "1.3.0"))
    result, made = applied(wanted, moved, [], LATER)
    assert made is None
    assert not result.success
    assert "moved on" in (result.reason or "")
    after = with_result(cycle, result)
    assert (after.status, after.completed_at) == (CycleStatus.PATCHED, None)
    assert after.apply_result == result


def test_a_failed_apply_can_be_tried_again_once_its_reason_is_gone() -> None:
    cycle, wanted = patched(150)
    refused, made = applied(wanted, REFUND, [], LATER)
    assert made is None
    assert "no human" in (refused.reason or "")
    cycle = with_result(cycle, refused)
    result, made = applied(wanted, REFUND, [approved(wanted)], LATER + timedelta(minutes=1))
    assert made is not None
    assert with_result(cycle, result).status is CycleStatus.APPLIED


def test_a_red_cycle_is_escalated_until_a_human_takes_it_on() -> None:
    what = event(violation="left the region")
    found = reviewed(what)
    escalation = patch(found, NOON, proposal=proposal(severity=RED))
    assert escalation is not None
    cycle = with_patch(begun(claim(), what, found), escalation)
    assert cycle.status is CycleStatus.ESCALATED
    result, made = applied(escalation, REFUND, [approved(escalation)], LATER)
    assert made is None
    assert "a human must take it on" in (result.reason or "")
    assert with_result(cycle, result).status is CycleStatus.ESCALATED
    lying = result.model_copy(update={"success": True})
    with pytest.raises(CycleRefused, match="escalated"):
        with_result(cycle, lying)
    taken = patch(found, LATER, proposal=proposal(severity=RED), taken_by="ada")
    assert taken is not None
    assert with_patch(cycle, taken).status is CycleStatus.PATCHED


def test_a_proposal_that_belittles_what_it_answers_is_no_patch_of_it() -> None:
    found = reviewed(event(violation="refunded twice"))
    assert found.severity is RED
    with pytest.raises(CycleRefused, match=r"answers yellow drift, and review .* found red"):
        patch(found, NOON, proposal=proposal(), taken_by="ada")
    assert patch(reviewed(event()), NOON, proposal=proposal(severity=RED)) is not None


def test_a_red_cycle_takes_no_patch_that_only_says_that_nobody_has_to_look() -> None:
    what = event(violation="left the region")
    found = reviewed(what)
    cycle = begun(claim(), what, found)
    taken = patch(found, NOON, proposal=proposal(severity=RED), taken_by="ada")
    assert taken is not None
    for nobody in ((), ("\u200b",)):
        with pytest.raises(CycleRefused, match="nobody is named"):
            with_patch(cycle, taken.model_copy(update={"related_ids": nobody}))
    with pytest.raises(CycleRefused, match="answers yellow drift"):
        with_patch(cycle, taken.model_copy(update={"proposal": proposal()}))


def test_a_patch_without_a_change_or_without_its_document_is_not_applied() -> None:
    found = reviewed(event())
    empty = patch(found, NOON)
    assert empty is not None
    result, made = applied(empty, REFUND, [], LATER)
    assert (made, result.success) == (None, False)
    assert "propose one" in (result.reason or "")
    result, made = applied(patched()[1], None, [], LATER)
    assert (made, result.success) == (None, False)
    assert "no dte refund" in (result.reason or "")


def test_steps_of_another_cycle_are_refused() -> None:
    cycle, wanted = patched()
    other = wanted.model_copy(update={"review_id": "another"})
    with pytest.raises(CycleRefused, match="answers review another"):
        with_patch(cycle, other)
    result = applied(wanted, REFUND, [], LATER)[0]
    with pytest.raises(CycleRefused, match="about patch"):
        with_result(begun(claim(), event(), reviewed(event())), result)
    with pytest.raises(CycleRefused, match="begin the cycle"):
        begun(claim().model_copy(update={"id": "another"}), event(), reviewed(event()))


def test_an_applied_cycle_stays_as_it_is() -> None:
    cycle, wanted = patched()
    result = applied(wanted, REFUND, [], LATER)[0]
    done = with_result(cycle, result)
    assert with_patch(done, wanted) == done
    failure = CerpaApplyResult(
        **{**dict(result), "id": "again", "success": False, "reason": "too late"}
    )
    with pytest.raises(CycleRefused, match="is applied"):
        with_result(done, failure)
    taken = patch(reviewed(event()), LATER, proposal=proposal(80))
    assert taken is not None
    with pytest.raises(CycleRefused, match="takes no patch"):
        with_patch(done, taken)
