"""Which decision counts: for whom, about what, signed by whom, and until when."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from approval_samples import (
    ALICE,
    APPROVERS,
    BOB,
    LIMITS,
    MACHINE,
    NOW,
    approved,
    proof,
    request,
    statement,
    submission,
)
from hypothesis import given
from hypothesis import strategies as st

from lictor_approval.decision_validity import (
    decided,
    is_over,
    permission,
    ran,
    requested,
    withdrawn,
)
from lictor_approval.errors import (
    BrokenLog,
    ConfigRefused,
    NotApprovable,
    StepRefused,
)
from lictor_approval.request_binding import asked, bound, is_of
from lictor_approval.request_counts import counts
from lictor_approval.request_life import RequestLife, after, folded
from lictor_approval.signed_decisions import Approvers, sign_decision
from lictor_schema.approvals.approval import (
    ApprovalBinding,
    ApprovalExecution,
    ApprovalRequest,
    ApprovalState,
    PolicyGround,
)
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.proof import ProofReason, ProofVerdict
from lictor_seal import SigningKey, TrustedKey, TrustStore, sign_note

SOON = NOW + timedelta(seconds=2)
EXECUTION = ApprovalExecution(
    execution_id="00000000-0000-4000-8000-0000000000ee",
    runner="runner-1",
    binding_hash=content_hash("x"),
)


def open_request(**changes: Any) -> RequestLife:
    life = folded([requested(request(**changes))])
    assert life is not None
    return life


def said(life: RequestLife, key: SigningKey = ALICE, **changes: Any) -> str:
    return sign_decision(statement(life.request, key, **changes), key)


def test_a_signed_approval_in_time_makes_the_request_approved() -> None:
    life = open_request()
    entry = decided(life, said(life), APPROVERS, SOON, LIMITS)
    assert (entry.state, entry.by) == (ApprovalState.APPROVED, ALICE.name)
    assert permission(after(life, entry), APPROVERS, SOON).nonce


def test_a_request_has_the_same_id_however_often_it_is_made() -> None:
    one = submission()
    later = asked(one, 3, proof(one), 5, at=NOW + timedelta(hours=2), within=LIMITS.decide_within)
    assert later.request_id == request().request_id


@pytest.mark.parametrize("field", ApprovalBinding.model_fields)
def test_a_decision_about_a_binding_with_one_thing_changed_does_not_count(field: str) -> None:
    mine = request()
    value = getattr(mine.binding, field)
    other: Any = {"limit": 50}
    if field != "inputs":
        other = (
            content_hash("other") if value is None or value.startswith("sha256:") else value + "x"
        )
    binding = mine.binding.model_copy(update={field: other})
    signed = sign_decision(statement(mine, binding_hash=content_hash(binding)), ALICE)
    with pytest.raises(StepRefused, match="the request is about"):
        decided(open_request(), signed, APPROVERS, SOON, LIMITS)


def test_a_decision_about_another_request_does_not_count_here() -> None:
    other = open_request(submission_id="s-2")
    with pytest.raises(StepRefused, match=other.request.request_id):
        decided(open_request(), said(other), APPROVERS, SOON, LIMITS)


@pytest.mark.parametrize(
    "name", ["agent-7", "AGENT-7", " agent-7", "\uff41gent-7", "agent\u200b-7", "a gent-7"]
)
def test_the_submitting_agent_never_approves_however_its_name_is_spelled(name: str) -> None:
    key = SigningKey.from_seed("agent-7", b"7" * 32)
    trusting = Approvers(TrustStore.of([key.verifying_key]))
    life = open_request(agent_id=name)
    with pytest.raises(StepRefused, match="the agent that submitted"):
        decided(life, said(life, key), trusting, SOON, LIMITS)


def test_an_agent_named_like_the_id_of_a_key_does_not_approve_by_that_key() -> None:
    life = open_request(agent_id=ALICE.key_id.upper())
    with pytest.raises(StepRefused, match="the agent that submitted"):
        decided(life, said(life), APPROVERS, SOON, LIMITS)


def test_the_submitting_agent_may_hold_back_its_own_program() -> None:
    life = open_request(agent_id=ALICE.name)
    entry = decided(life, said(life, decision="reject"), APPROVERS, SOON, LIMITS)
    assert entry.state is ApprovalState.REJECTED


def test_an_unknown_key_does_not_count() -> None:
    stranger = SigningKey.from_seed(ALICE.name, b"x" * 32)
    life = open_request()
    with pytest.raises(StepRefused, match="not signed by an approver"):
        decided(life, said(life, stranger), APPROVERS, SOON, LIMITS)


@pytest.mark.parametrize("limit", [{"revoked": True}, {"not_after": "2026-01-31T11:00:00.000Z"}])
def test_a_revoked_or_retired_key_does_not_count_even_after_it_approved(limit: Any) -> None:
    life = approved(request())
    later = Approvers(TrustStore((TrustedKey(ALICE.verifying_key, **limit),)))
    with pytest.raises(StepRefused, match=r"revoked|trusted only until"):
        permission(life, later, SOON)


def test_one_approver_can_not_decide_in_the_name_of_another() -> None:
    life = open_request()
    with pytest.raises(StepRefused, match="decide in one's own name"):
        decided(life, said(life, BOB, by=ALICE.name), APPROVERS, SOON, LIMITS)


def test_a_person_can_not_decide_as_a_policy_nor_a_policy_as_a_person() -> None:
    life = open_request()
    ground = PolicyGround(policy_hash=content_hash("p"), rule="r", why="so")
    with pytest.raises(StepRefused, match="not signed by a policy"):
        decided(life, said(life, ALICE, automatic=ground), APPROVERS, SOON, LIMITS)
    with pytest.raises(StepRefused, match="not signed by an approver"):
        decided(life, said(life, MACHINE), APPROVERS, SOON, LIMITS)
    entry = decided(life, said(life, MACHINE, automatic=ground), APPROVERS, SOON, LIMITS)
    assert entry.state is ApprovalState.APPROVED


def test_a_signature_over_another_kind_of_note_does_not_count() -> None:
    life = open_request()
    text = said(life).split("\n")[1]
    with pytest.raises(StepRefused, match="no decision about an approval"):
        decided(
            life, sign_note(f"lictor-pack-release/v1\n{text}\n", ALICE), APPROVERS, SOON, LIMITS
        )


@given(st.data())
def test_no_changed_byte_of_a_signed_decision_counts(data: st.DataObject) -> None:
    life = open_request()
    signed = said(life)
    place = data.draw(st.integers(0, len(signed) - 1))
    changed = signed[:place] + data.draw(st.characters(codec="utf-8")) + signed[place + 1 :]
    if changed != signed:
        with pytest.raises(StepRefused):
            decided(life, changed, APPROVERS, SOON, LIMITS)


@pytest.mark.parametrize("apart", [timedelta(minutes=6), -timedelta(minutes=6)])
def test_a_decision_from_a_clock_that_is_far_off_does_not_count(apart: timedelta) -> None:
    life = open_request()
    with pytest.raises(StepRefused, match=r"future|longer ago"):
        decided(life, said(life, at=SOON + apart), APPROVERS, SOON, LIMITS)


@pytest.mark.parametrize("apart", [timedelta(minutes=4), -timedelta(minutes=4)])
def test_a_decision_from_a_clock_that_is_a_little_off_counts(apart: timedelta) -> None:
    life = open_request()
    assert decided(life, said(life, at=SOON + apart), APPROVERS, SOON, LIMITS)


def test_a_decision_after_the_time_to_decide_does_not_count_though_no_timer_rang() -> None:
    life = open_request()
    late = NOW + LIMITS.decide_within
    with pytest.raises(StepRefused, match="time was up"):
        decided(life, said(life, at=late), APPROVERS, late, LIMITS)
    assert is_over(life, late)


def test_an_approval_that_would_be_good_for_too_long_does_not_count() -> None:
    life = open_request()
    signed = said(life, expires_at=utc_millis(NOW + timedelta(days=2)))
    with pytest.raises(StepRefused, match="longer than"):
        decided(life, signed, APPROVERS, SOON, LIMITS)


def test_an_approval_is_over_when_its_time_is_and_no_sooner() -> None:
    life = approved(request())
    end = NOW + timedelta(seconds=1, minutes=10)
    assert permission(life, APPROVERS, end - timedelta(milliseconds=1))
    assert not is_over(life, end - timedelta(milliseconds=1))
    with pytest.raises(StepRefused, match="good until"):
        permission(life, APPROVERS, end)
    assert is_over(life, end)


def test_a_request_is_approved_once_and_may_be_taken_back_until_it_starts() -> None:
    life = approved(request())
    with pytest.raises(StepRefused, match="already"):
        decided(life, said(life, BOB), APPROVERS, SOON, LIMITS)
    back = decided(life, said(life, BOB, decision="reject"), APPROVERS, SOON, LIMITS)
    assert after(life, back).state is ApprovalState.REJECTED
    started = after(life, ran(life, ApprovalState.EXECUTING, EXECUTION, SOON, None))
    with pytest.raises(StepRefused, match="already"):
        decided(started, said(life, BOB, decision="reject"), APPROVERS, SOON, LIMITS)


def test_an_approval_is_used_once() -> None:
    life = approved(request())
    started = after(life, ran(life, ApprovalState.EXECUTING, EXECUTION, SOON, None))
    with pytest.raises(StepRefused, match="runs once"):
        ran(started, ApprovalState.EXECUTING, EXECUTION, SOON, None)
    with pytest.raises(StepRefused, match="only what is approved"):
        permission(started, APPROVERS, SOON)
    ended = after(started, ran(started, ApprovalState.EXECUTED, EXECUTION, SOON, None))
    assert ended.state.is_final


@pytest.mark.parametrize("state", ApprovalState)
def test_only_an_approved_request_may_run(state: ApprovalState) -> None:
    life = approved(request())
    if state is ApprovalState.APPROVED:
        assert permission(life, APPROVERS, SOON)
        return
    with pytest.raises(StepRefused, match="only what is approved"):
        permission(replace(life, state=state), APPROVERS, SOON)


def test_a_log_that_jumps_is_broken_and_nothing_runs_by_it() -> None:
    life = open_request()
    with pytest.raises(BrokenLog):
        folded([requested(life.request), requested(life.request)])
    with pytest.raises(BrokenLog, match="nothing was asked"):
        folded([withdrawn(life, ApprovalState.STALE, SOON, "so")])
    rejection = decided(life, said(life, decision="reject"), APPROVERS, SOON, LIMITS)
    forged = rejection.model_copy(update={"state": ApprovalState.APPROVED})
    with pytest.raises(BrokenLog, match="to reject"):
        after(life, forged)
    unsigned = forged.model_copy(update={"signed": "yes, do it"})
    with pytest.raises(BrokenLog, match="no signed note"):
        after(life, unsigned)


def test_the_runner_believes_no_approval_that_the_log_holds_without_a_trusted_signature() -> None:
    life = open_request()
    stranger = SigningKey.from_seed("mallory", b"y" * 32)
    gullible = Approvers(TrustStore.of([stranger.verifying_key]))
    forged = after(life, decided(life, said(life, stranger), gullible, SOON, LIMITS))
    with pytest.raises(StepRefused, match="not signed by an approver"):
        permission(forged, APPROVERS, SOON)


def test_a_request_that_shows_other_guarantees_than_it_binds_can_not_be_made() -> None:
    mine = request()
    fields = {**dict(mine), "guarantees": ()}
    with pytest.raises(ValueError, match="hashes must be those"):
        ApprovalRequest(**fields)


@pytest.mark.parametrize(
    ("submitted", "proved", "why"),
    [
        ({"language": "ir"}, {}, "nothing executes it"),
        (
            {},
            {"cannot_run": ProofReason(code="inputs.not_run", message="main takes n", remedy="r")},
            "main takes n",
        ),
        (
            {},
            {
                "verdict": ProofVerdict.UNKNOWN,
                "reasons": (ProofReason(code="c", message="m", remedy="r"),),
            },
            "verdict is `unknown`",
        ),
        ({}, {"program_hash": content_hash("other")}, "about program"),
        ({}, {"submission_id": "s-9"}, "about submission"),
        ({}, {"task_id": "t-9"}, "about task"),
        ({"layer_hash": content_hash("named")}, {}, "names layer"),
        ({}, {"ir_hash": None}, "does not name"),
        ({}, {"layer_hash": None}, "does not name"),
        ({}, {"engine": None}, "does not name"),
    ],
)
def test_nobody_is_asked_about(submitted: Any, proved: Any, why: str) -> None:
    one = submission(**submitted)
    with pytest.raises(NotApprovable, match=why):
        bound(one, proof(one, **proved))


@pytest.mark.parametrize(
    "change",
    [
        {"program": "x"},
        {"target": "other"},
        {"source_name": "o.py"},
        {"agent_id": "o"},
        {"task_id": "o"},
        {"submission_id": "o"},
        {"language": "ir"},
    ],
)
def test_a_submission_with_anything_changed_is_not_the_one_asked_about(change: Any) -> None:
    assert is_of(request(), submission())
    assert not is_of(request(), submission(**change))


def test_approvers_are_told_apart_by_name_and_key() -> None:
    twin = SigningKey.from_seed("ALICE@example.org", b"z" * 32)
    with pytest.raises(ConfigRefused, match="one name"):
        Approvers(TrustStore.of([ALICE.verifying_key, twin.verifying_key]))
    with pytest.raises(ConfigRefused, match=r"one name|a person's and a policy's"):
        Approvers(TrustStore.of([ALICE.verifying_key]), TrustStore.of([ALICE.verifying_key]))


def test_a_missing_file_of_approvers_is_refused_and_none_means_nobody(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match="no trust store"):
        Approvers.load(tmp_path / "nowhere.json", None)
    life = open_request()
    with pytest.raises(StepRefused, match="not signed by an approver"):
        decided(life, said(life), Approvers.load(None, None), SOON, LIMITS)


def test_an_inbox_is_counted_by_what_people_and_policies_decided() -> None:
    rejected = open_request(submission_id="s-2")
    entry = decided(rejected, said(rejected, decision="reject"), APPROVERS, SOON, LIMITS)
    ground = PolicyGround(policy_hash=content_hash("p"), rule="r", why="so")
    told = counts(
        [
            open_request(submission_id="s-1"),
            after(rejected, entry),
            approved(request(submission_id="s-3"), at=NOW + timedelta(seconds=2)),
            approved(request(submission_id="s-4"), MACHINE, automatic=ground),
        ]
    )
    assert (told.waiting, told.approved, told.rejected, told.automatic) == (1, 1, 1, 1)
    assert (told.rate, told.median_s) == (0.5, 1.5)
    assert counts([]).rate is None


def test_an_approval_that_went_stale_or_expired_counts_as_what_it_is_and_not_as_approved() -> None:
    ground = PolicyGround(policy_hash=content_hash("p"), rule="r", why="so")
    lives = [
        approved(request(submission_id="s-1")),
        approved(request(submission_id="s-2")),
        approved(request(submission_id="s-3"), MACHINE, automatic=ground),
    ]
    ended = [
        after(life, withdrawn(life, state, SOON, "nothing ran"))
        for life, state in zip(
            lives,
            (ApprovalState.STALE, ApprovalState.EXPIRED, ApprovalState.STALE),
            strict=True,
        )
    ]
    told = counts([*ended, approved(request(submission_id="s-4"))])
    assert (told.approved, told.rejected, told.automatic) == (1, 0, 0)
    assert (told.stale, told.expired, told.lapsed) == (2, 1, 3)
    assert told.rate == 1.0
