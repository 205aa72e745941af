"""Governed decisions: what begins, what an action needs, and what comes of it; every step an entry of the log."""

from dataclasses import replace
from typing import Any

import pytest

from libs.contracts.tests.decision_play import HASH, PACK, SPREAD, Play
from libs.contracts.tests.strategies_contracts import DTE_FIELDS, action, dte
from lictor_contracts.action.gate import MAX_ENTRIES
from lictor_contracts.decision.state import fold_all
from lictor_contracts.envelope.bounds import EnvelopeBound
from lictor_schema.contracts.decision_questions import DecisionBeginAnswer, VerifyAnswer
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.core.base_model import MAX_ITEMS
from lictor_schema.seals.episode import EpisodeState, OutcomeCode


def codes(answer: Any) -> list[str]:
    return [each.code for each in answer.reasons]


def test_a_decision_begins_once_and_keeps_its_envelope() -> None:
    play = Play()
    answer = play.begin()
    assert isinstance(answer, DecisionBeginAnswer)
    assert (answer.ok, answer.episode_id, answer.pack) == (True, "episode-1", PACK)
    again = play.begin(dte=dte(version="2.0.0"))
    assert (again.ok, again.duplicate, len(play.log)) == (True, True, 1)
    assert play.state is not None
    assert play.state.envelope.dte.version == "1.0.0"


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ({"dte": None, "pack": None}, "lictor.contract.no-envelope"),
        ({"runtime": "another"}, "lictor.contract.other-runtime"),
    ],
)
def test_a_decision_without_an_envelope_or_of_another_runtime_does_not_begin(
    changes: dict[str, Any], policy: str
) -> None:
    play = Play()
    answer = play.begin(**changes)
    assert (answer.ok, answer.policy_id, play.log) == (False, policy, [])
    assert answer.remedy


def test_nothing_is_allowed_before_a_decision_begins() -> None:
    play = Play()
    answer = play.judge()
    assert (answer.decision, answer.policy_id) == ("deny", "lictor.contract.not-begun")
    assert not play.tell(what="stage_begun", stage="plan").ok
    assert not play.verify().ok
    assert not play.approve("ada", HASH).ok


def test_an_action_within_its_envelope_is_allowed_and_carried_through() -> None:
    play = Play().ready()
    answer = play.judge()
    assert (answer.decision, answer.reasons, answer.standing) == ("allow", (), "first")
    assert play.dispatched(action_hash=answer.action_hash).ok
    assert play.finished().ok
    assert play.verify().ok
    assert play.tell(what="decision_ended").ok
    assert play.close().ok
    assert play.state is not None
    assert play.state.closed is not None
    assert play.state.closed.outcome is OutcomeCode.SUCCESS
    assert play.drift == []


def test_what_was_never_captured_or_counted_refuses() -> None:
    play = Play()
    play.begin()
    answer = play.judge()
    assert answer.decision == "deny"
    assert [each.field for each in answer.violations] == [
        "freshness.featureTtls.priceFeed",
        "limits",
    ]


def test_context_fresh_at_plan_and_stale_at_dispatch_is_refused() -> None:
    play = Play(dte(deadlineMs=1000)).ready()
    play.stage("plan", 10)
    play.wait(240)
    assert play.judge().decision == "allow"
    play.wait(0.001)
    refused = play.judge(action(actionId="a-2", idempotencyKey="k-2"))
    assert refused.decision == "wait"
    assert refused.violations[0].gate == EnvelopeBound.FEATURE_TTL
    assert refused.rung is not None
    assert refused.rung.step is DegradeStep.HITL
    assert ("freshness", "priceFeed fresh at plan, stale at use", "red") in play.causes
    assert play.capture("priceFeed").ok
    assert play.judge(action(actionId="a-2", idempotencyKey="k-2")).decision == "allow"


def test_context_that_was_stale_at_plan_already_is_another_cause() -> None:
    play = Play(dte(deadlineMs=1000)).ready()
    play.wait(300)
    play.stage("plan", 1)
    assert play.judge().decision == "wait"
    assert ("freshness", "priceFeed stale at use", "red") in play.causes


def test_a_capture_from_the_future_is_not_noted() -> None:
    play = Play()
    play.begin()
    assert not play.capture("priceFeed", age_ms=-1).ok
    assert play.capture("priceFeed", age_ms=0).ok


def test_too_little_time_for_a_stage_degrades_before_it_begins() -> None:
    play = Play(dte(deadlineMs=120)).ready()
    play.wait(85)
    answer = play.tell(what="stage_begun", stage="plan")
    assert answer.ok
    assert answer.rung is not None
    assert answer.rung.step is DegradeStep.CACHE_BUNDLE
    assert ("time", "too little time left for stage plan", "yellow") in play.causes
    assert ("fallback", "rung cache_bundle used", "green") in play.causes


def test_a_stage_does_not_begin_after_the_deadline() -> None:
    play = Play().ready()
    play.wait(121)
    answer = play.tell("r-1", what="stage_begun", stage="act")
    assert not answer.ok
    assert answer.rung is not None
    assert answer.rung.step is DegradeStep.ABSTAIN
    assert play.state is not None
    assert play.state.stage is None
    again = play.tell("r-1", what="stage_begun", stage="act")
    assert (again.ok, again.policy_id) == (False, "lictor.contract.degraded")


def test_a_ladder_without_a_rung_that_fits_is_exhausted_and_told() -> None:
    ladder = [{"step": "cache_bundle", "maxExtraMs": 90}, {"step": "abstain"}]
    play = Play(dte(degradeLadder=ladder)).ready()
    play.wait(85)
    answer = play.tell(what="stage_begun", stage="plan")
    assert not answer.ok
    assert answer.rung is not None
    assert (answer.rung.step, answer.rung.exhausted) == (DegradeStep.ABSTAIN, True)
    assert ("fallback", "ladder exhausted", "yellow") in play.causes
    assert ("fallback", "rung abstain used", "green") in play.causes


def test_only_the_named_approver_can_bypass_and_it_is_told_as_one() -> None:
    play = Play(dte(deadlineMs=120)).ready()
    assert not play.approve("ada", None).ok
    assert play.approve("head-of-ops", None).ok
    play.tell(what="stage_begun", stage="context")
    play.wait(41)
    answer = play.judge()
    assert answer.decision == "allow"
    assert answer.rung is not None
    assert (answer.rung.step, answer.rung.approved_by) == (DegradeStep.BYPASS, "head-of-ops")
    assert ("bypass", "rung bypass used", "red") in play.causes
    play.dispatched()
    play.finished()
    play.close()
    assert play.state is not None
    assert play.state.closed is not None
    assert play.state.closed.outcome is OutcomeCode.BYPASSED


def test_a_bypass_does_not_lift_a_hard_violation() -> None:
    play = Play().ready()
    play.approve("head-of-ops", None)
    play.wait(121)
    assert play.judge().decision == "deny"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"blastRadiusTier": "large"}, "blast_radius"),
        ({"actionType": "wire"}, "action_type"),
        ({"authorization": {"mode": "blocked"}}, "blocked"),
        ({"blastRadiusTier": "medium", "rollbackPlan": {"type": "none"}}, "rollback_missing"),
    ],
)
def test_an_action_beyond_its_envelope_is_refused(fields: dict[str, Any], code: str) -> None:
    rule = {**DTE_FIELDS["safeAction"], "blastRadiusMax": "medium"}
    play = Play(dte(safeAction=rule)).ready()
    answer = play.judge(action(**fields))
    assert answer.decision == "deny"
    assert code in codes(answer)
    assert all(each.remedy for each in answer.reasons)


def test_an_action_for_people_waits_for_an_approval_of_exactly_it() -> None:
    play = Play().ready()
    careful = action(authorization={"mode": "hitl"})
    waiting = play.judge(careful, request_id="r-1")
    assert (waiting.decision, codes(waiting)) == ("wait", ["approvals"])
    assert waiting.retry_after_ms
    assert play.approve("agent-7", waiting.action_hash).policy_id == "lictor.contract.own-approver"
    assert play.approve(" AGENT-7", waiting.action_hash).policy_id == "lictor.contract.own-approver"
    assert not play.approve("ada", HASH).ok
    assert play.approve("ada", waiting.action_hash).ok
    assert play.judge(careful, request_id="r-1").decision == "allow"


def test_the_largest_needs_two_people_who_are_not_the_requester() -> None:
    play = Play().ready()
    large = action(blastRadiusTier="large")
    name = play.judge(large).action_hash
    play.approve("ada", name)
    assert play.judge(large).decision == "wait"
    play.approve("ADA ", name)
    assert play.judge(large).decision == "wait"
    play.approve("bob", name)
    assert play.judge(large, agent_id="bob").decision == "wait"
    assert play.judge(large).decision == "allow"


def test_the_same_key_and_body_is_done_once() -> None:
    play = Play().ready()
    first = play.judge(request_id="r-1")
    assert play.judge(request_id="r-1") == first
    assert len([1 for _, each in play.log if each.kind == "action_judged"]) == 1
    second = play.judge(action(actionId="a-2"), request_id="r-2")
    assert (second.decision, second.standing) == ("wait", "in_flight")
    play.dispatched()
    play.finished()
    third = play.judge(action(actionId="a-2"), request_id="r-3")
    assert (third.decision, third.standing, third.result_hash) == ("deny", "done", HASH)


def test_the_same_key_for_another_body_is_a_conflict() -> None:
    play = Play().ready()
    play.judge()
    other = play.judge(action(actionId="a-2", targetRefs=[{"type": "order", "id": "o-2"}]))
    assert (other.decision, other.standing) == ("deny", "conflict")
    assert other.policy_id == "lictor.contract.idempotency-conflict"
    assert play.state is not None
    assert list(play.state.actions) == ["a-1"]


def test_an_allowance_that_was_lost_on_the_way_is_judged_anew() -> None:
    play = Play(dte(deadlineMs=1000)).ready()
    assert play.judge(request_id="r-1").decision == "allow"
    play.wait(251)
    assert play.judge(request_id="r-1").decision == "wait"
    assert play.dispatched().policy_id == "lictor.contract.bypass"


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"action_id": "a-9"}, "no contract"),
        ({"action_hash": "sha256:" + "b" * 64}, "another contract than the one judged"),
        ({"action_type": "wire"}, "another action type than its contract"),
    ],
)
def test_a_dispatch_that_nothing_allowed_is_recorded_as_a_bypass(
    told: dict[str, Any], problem: str
) -> None:
    play = Play().ready()
    play.judge()
    fields = {"action_id": "a-1", "action_type": "refund", **told}
    answer = play.tell(what="action_dispatched", **fields)
    assert (answer.ok, answer.policy_id) == (False, "lictor.contract.bypass")
    cause = f"{fields['action_type']} dispatched: {problem}"
    assert ("bypass", cause, "red") in play.causes
    play.close()
    assert play.state is not None
    assert play.state.closed is not None
    assert play.state.closed.outcome is OutcomeCode.BYPASSED


def test_a_refused_or_repeated_or_late_dispatch_is_a_bypass() -> None:
    play = Play().ready()
    play.judge(action(actionType="wire"))
    assert not play.dispatched(action(actionType="wire")).ok
    again = action(
        actionId="a-2", idempotencyKey="k-2", execution={"retryPolicy": {"maxRetries": 1}}
    )
    play.judge(again)
    assert play.dispatched(again).ok
    assert play.dispatched(again).ok
    assert "more often" in play.dispatched(again).reason
    play.tell(what="decision_ended")
    assert "after the decision ended" in play.dispatched(again).reason


@pytest.mark.parametrize("waited_ms", [251, 1001])
def test_a_dispatch_after_what_it_was_allowed_on_had_run_out_is_a_bypass(waited_ms: int) -> None:
    """Stale since, or too late: asked at one moment and sent at another."""
    play = Play(dte(deadlineMs=1000)).ready()
    assert play.judge().decision == "allow"
    play.wait(waited_ms)
    answer = play.dispatched()
    assert (answer.ok, answer.policy_id) == (False, "lictor.contract.bypass")
    assert "had run out" in answer.reason
    assert ("bypass", "refund dispatched: after what it was allowed on had run out", "red") in (
        play.causes
    )


def test_the_id_of_another_question_is_no_answer_to_an_order() -> None:
    play = Play().ready()
    answer = play.judge()
    used = play.log[-1][1].request_id
    entries = len(play.log)
    approved = play.approve("ada", answer.action_hash, request_id=used)
    frozen = play.freeze("ada", request_id=used)
    verified = play.verify(request_id=used)
    for told in (approved, frozen, verified):
        assert (told.ok, told.policy_id) == (False, "lictor.contract.request-id")
    assert len(play.log) == entries


def test_what_must_be_verified_is_no_success_without_a_pass() -> None:
    play = Play().ready()
    medium = action(blastRadiusTier="medium")
    play.judge(medium)
    play.dispatched(medium)
    play.finished(medium)
    play.close()
    assert play.state is not None
    assert play.state.closed is not None
    assert play.state.closed.outcome is OutcomeCode.PARTIAL
    assert play.state.closed.verification.required
    assert ("verify", "verification without a method required and not run", "red") in play.causes


def test_a_verifier_that_took_too_long_is_inconclusive_and_red() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    answer = play.verify(took_ms=9)
    assert isinstance(answer, VerifyAnswer)
    assert answer.verification is not None
    assert answer.verification.result == "inconclusive"
    assert ("verify", "verification read_after_write timed out", "red") in play.causes
    later = play.judge(action(actionId="a-2", idempotencyKey="k-2"))
    assert (later.decision, codes(later)) == ("wait", ["hitl"])


def test_the_time_that_the_log_measured_counts_for_a_verifier() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    play.tell(what="stage_begun", stage="verify")
    play.wait(9)
    answer = play.verify(took_ms=0)
    assert isinstance(answer, VerifyAnswer)
    assert answer.verification is not None
    assert answer.verification.result == "inconclusive"


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "guess"},
        {"expectation": {}},
        {"expectation": {"a": None, "": 1}},
        {"action_id": "x"},
    ],
)
def test_a_verification_that_says_nothing_is_refused(changes: dict[str, Any]) -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    before = len(play.log)
    assert not play.verify(**changes).ok
    assert len(play.log) == before


def test_a_failed_verification_is_told_and_asks_for_a_person() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    answer = play.verify(observed={"status": "open"})
    assert answer.rung is not None
    assert answer.rung.step is DegradeStep.HITL
    assert ("verify", "verification read_after_write failed", "yellow") in play.causes


def test_results_that_differ_and_retries_beyond_the_contract_are_told() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    play.finished(
        expected={"status": "refunded"},
        observed={"status": "open"},
        retries=[{"kind": "lock", "resource": "orders", "count": 3}],
    )
    assert ("outcome", "effect status differs", "red") in play.causes
    assert ("contention", "lock of orders: too many retries", "yellow") in play.causes


def test_spreading_too_far_is_told_when_it_is_counted() -> None:
    play = Play()
    play.begin()
    answer = play.tell(what="spread_counted", **{**SPREAD, "fanout": 5})
    assert answer.violations[0].field == "limits.maxFanout"
    assert ("fanout", "maxFanout exceeded", "yellow") in play.causes
    play.tell(what="spread_counted", **SPREAD)
    play.capture("priceFeed")
    assert play.judge().decision == "deny", "what was counted once does not become less"


def test_a_report_told_again_counts_once_and_its_id_is_no_other_s() -> None:
    play = Play().ready()
    before = len(play.log)
    play.tell("r-1", what="stage_begun", stage="plan")
    again = play.tell("r-1", what="stage_begun", stage="plan")
    assert (again.ok, again.duplicate, len(play.log)) == (True, True, before + 1)
    assert not play.tell("r-1", what="decision_ended").ok


def test_stages_do_not_overlap_and_end_as_they_began() -> None:
    play = Play().ready()
    play.tell(what="stage_begun", stage="plan")
    assert not play.tell(what="stage_begun", stage="act").ok
    assert not play.tell(what="stage_ended", stage="act").ok
    play.wait(30)
    assert play.tell(what="stage_ended", stage="plan").ok
    assert play.state is not None
    assert play.state.stage_ms(play.now_us) == {"plan": 30}


def test_a_task_that_is_opened_again_begins_anew_and_remembers_what_was_done() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    play.finished()
    assert not replace(play, episode="episode-2").begin().ok
    play.close()
    play.episode = "episode-2"
    assert play.begin().ok
    play.capture("priceFeed")
    play.tell(what="spread_counted", **SPREAD)
    assert play.judge(action(actionId="a-5")).standing == "done"
    assert fold_all(play.log) == play.state


def test_after_the_end_nothing_is_judged_and_the_life_is_over() -> None:
    play = Play().ready()
    play.tell(what="decision_ended")
    assert play.judge().policy_id == "lictor.contract.ended"
    play.close()
    assert play.state is not None
    assert play.state.standing.state is EpisodeState.SEALED
    assert not play.freeze().ok
    assert not play.tell(what="stage_begun", stage="plan").ok


def test_who_asks_again_and_again_does_not_fill_the_log() -> None:
    play = Play(dte(deadlineMs=100_000)).ready()
    careful = action(authorization={"mode": "hitl"})
    before = len(play.log)
    for _ in range(5):
        assert play.wait(1).judge(careful).decision == "wait"
        assert play.judge(action(actionId="a-9", actionType="note")).standing == "conflict"
    assert len(play.log) == before + 2
    name = play.judge(careful).action_hash
    play.approve("ada", name)
    assert play.judge(careful).decision == "allow"
    play.wait(300)
    stale = action(actionId="a-2", idempotencyKey="k-2")
    assert play.judge(stale).decision == "wait"
    refused = len(play.log)
    assert play.wait(1).judge(stale).decision == "wait"
    assert len(play.log) == refused
    play.capture("priceFeed")
    assert play.judge(stale).decision == "allow"


def test_a_full_log_allows_nothing_and_still_tells_what_was_sent() -> None:
    play = Play(dte(deadlineMs=100_000)).ready()
    assert play.judge().decision == "allow"
    assert play.state is not None
    play.state = replace(play.state, entries=MAX_ENTRIES)
    other = action(actionId="a-2", idempotencyKey="k-2")
    assert play.judge(other).policy_id == "lictor.contract.too-long"
    assert not play.capture("priceFeed").ok
    assert play.dispatched().ok
    play.state = replace(play.state, entries=2 * MAX_ENTRIES)
    assert play.dispatched().policy_id == "lictor.contract.too-long"
    assert play.close().ok


def test_a_finding_told_again_is_the_first_and_none_is_told_while_frozen() -> None:
    play = Play().ready()
    play.judge()
    play.dispatched()
    play.verify(observed={"status": "open"})
    play.asked -= 1  # the same question again
    again = play.verify(observed={"status": "refunded"})
    assert isinstance(again, VerifyAnswer)
    assert again.verification is not None
    assert (again.duplicate, again.verification.result) == (True, "fail")
    play.freeze()
    assert play.verify().policy_id == "lictor.contract.frozen"


def test_a_result_needs_a_dispatch_and_the_first_one_stays() -> None:
    play = Play().ready()
    assert play.finished().policy_id == "lictor.contract.not-dispatched"
    play.judge()
    assert play.finished().policy_id == "lictor.contract.not-dispatched"
    play.dispatched()
    assert play.finished().ok
    assert play.finished().duplicate
    other = play.finished(result_hash="sha256:" + "c" * 64)
    assert (other.ok, other.policy_id) == (False, "lictor.contract.result-conflict")


def test_a_decision_has_so_many_actions_and_no_more() -> None:
    play = Play().ready()
    play.judge()
    assert play.state is not None
    known = play.state.actions["a-1"]
    many = {**play.state.actions, **{f"x-{n}": known for n in range(MAX_ITEMS - 1)}}
    play.state = replace(play.state, actions=many)
    other = action(actionId="a-2", idempotencyKey="k-2")
    assert play.judge(other).policy_id == "lictor.contract.too-long"
    assert play.judge(request_id="q-4").decision == "allow"


def test_what_nobody_verified_is_told_also_beside_what_failed() -> None:
    """Two causes are two events: the failure of one action hides nothing of another."""
    play = Play(dte(deadlineMs=1000)).ready()
    failed = action(blastRadiusTier="medium")
    unseen = action(actionId="a-2", idempotencyKey="k-2", blastRadiusTier="medium")
    for each in (failed, unseen):
        play.judge(each)
        play.dispatched(each)
        play.finished(each)
    play.verify(observed={"status": "open"})
    play.close()
    assert play.state is not None
    assert play.state.closed is not None
    assert play.state.closed.outcome is OutcomeCode.FAIL
    assert ("verify", "verification without a method required and not run", "red") in play.causes
    assert ("verify", "verification read_after_write failed", "yellow") in play.causes


def test_the_gate_remembers_the_stage_s_rung() -> None:
    play = Play(dte(deadlineMs=120)).ready()
    play.wait(85)
    begun = play.tell(what="stage_begun", stage="plan")
    assert begun.rung is not None
    assert begun.rung.step is DegradeStep.CACHE_BUNDLE
    answer = play.judge()
    assert answer.rung is not None
    assert (answer.decision, answer.rung.step) == ("allow", DegradeStep.CACHE_BUNDLE)
    assert answer.rung.rationale["since_stage"] == "plan"
    told = play.dispatched()
    assert told.rung is not None
    assert (told.ok, told.rung.step) == (True, DegradeStep.CACHE_BUNDLE)


@pytest.mark.parametrize(
    ("rung", "decision"),
    [({"step": "hitl", "maxExtraMs": 1}, "wait"), ({"step": "cache_bundle"}, "allow")],
)
def test_a_stage_that_was_put_on_a_rung_leaves_the_action_on_it(
    rung: dict[str, Any], decision: str
) -> None:
    play = Play(dte(degradeLadder=[rung, {"step": "abstain"}])).ready()
    play.wait(85)
    play.tell(what="stage_begun", stage="plan")
    answer = play.judge()
    assert answer.rung is not None
    assert (answer.decision, answer.rung.step) == (decision, DegradeStep(rung["step"]))
    if decision == "wait":
        play.approve("ada", answer.action_hash)
        assert play.judge().decision == "allow"


def test_a_stage_that_did_not_begin_because_the_ladder_abstained_lets_no_action_through() -> None:
    play = Play(dte(degradeLadder=[{"step": "abstain"}])).ready()
    play.wait(85)
    assert not play.tell(what="stage_begun", stage="plan").ok
    assert play.judge().decision == "deny"
    assert play.tell(what="stage_begun", stage="verify").ok
    assert play.judge(action(actionId="a-2", idempotencyKey="k-2")).decision == "deny"


def test_an_approved_bypass_of_a_stage_holds_at_the_gate_but_for_what_must_not_go_on() -> None:
    play = Play(dte(deadlineMs=120)).ready()
    play.approve("head-of-ops", None)
    play.wait(85)
    play.tell(what="stage_begun", stage="plan")
    answer = play.judge()
    assert answer.rung is not None
    assert answer.rung.step is DegradeStep.BYPASS
    play.wait(36)
    assert play.judge(action(actionId="a-2", idempotencyKey="k-2")).decision == "deny"


def test_a_key_is_demanded_exactly_where_the_envelope_says_so() -> None:
    keyless = action(idempotencyKey=None)
    strict = Play().ready().judge(keyless)
    assert (strict.decision, strict.policy_id) == ("deny", "lictor.contract.idempotency-key")
    rule = {**DTE_FIELDS["safeAction"], "requireIdempotency": False}
    play = Play(dte(safeAction=rule)).ready()
    assert play.judge(keyless).decision == "allow"
    assert play.judge(action(actionId="a-2", idempotencyKey=None)).decision == "allow"
    # Without a key, what is done once is what has one id.
    again = play.judge(keyless)
    assert (again.decision, again.standing) == ("wait", "in_flight")
    other = play.judge(action(idempotencyKey=None, actionType="note"))
    assert (other.decision, other.standing) == ("deny", "conflict")
    play.dispatched(keyless)
    play.finished(keyless)
    done = play.judge(keyless)
    assert (done.decision, done.standing) == ("deny", "done")


def test_calls_that_the_tool_gate_saw_count_beside_those_that_were_told() -> None:
    play = Play().ready()
    assert play.judge(calls_seen=10).decision == "allow"
    over = play.judge(action(actionId="a-2", idempotencyKey="k-2"), calls_seen=11)
    assert over.decision == "deny"
    assert over.violations[0].field == "limits.maxToolCalls"
    # The log keeps it: a dispatch and a lower count do not forget it.
    assert not play.dispatched().ok
    told = play.tell(what="spread_counted", **SPREAD)
    assert [each.field for each in told.violations] == ["limits.maxToolCalls"]
    assert ("fanout", "maxToolCalls exceeded", "yellow") in play.causes


def test_the_value_of_a_feature_stands_in_the_log_and_is_told_once() -> None:
    play = Play()
    play.begin()
    fields = {"what": "context_captured", "feature": "priceFeed", "captured_at_us": play.now_us}
    assert play.tell("r-1", **fields, value={"cents": [1, 2.5, None]}).ok
    assert play.tell("r-1", **fields, value={"cents": [1, 2.5, None]}).duplicate
    assert play.tell("r-1", **fields, value=7).policy_id == "lictor.contract.request-id"
    entry = play.log[-1][1]
    assert entry.kind == "context_captured"
    assert entry.value == {"cents": [1, 2.5, None]}
