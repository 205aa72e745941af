"""Governed decisions on a real bus: the action gate, reports, verification, approvals, and the kill-switch."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from governing_bus import (
    CONTRACT,
    ENVELOPE,
    RESULT,
    SPREAD,
    Asker,
    bundle_of,
    governing_bus,
    governing_services,
    record,
)
from task_messages import RUNTIME, SESSION, call_finished, store, tool_allowed

from lictor_bus.logs.allowed_calls import SeenCalls
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.logs.governed_decisions import Decisions
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.core.ids import episode_id
from lictor_schema.seals.episode import OutcomeCode
from lictor_sealer.episode.decision_closing import FOLDS, Closings
from lictor_sealer.episode.task_records import RecordsSeen


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        yield asker


async def test_a_decision_runs_from_its_begin_to_its_end_and_everything_is_in_its_log(
    asker: Asker,
) -> None:
    begun = await asker.begin()
    assert begun["episode_id"] == episode_id("task-1", "task-1-started")
    assert begun["pack"]["pack_id"] == "refunds"
    await asker.report("stage_begun", stage="context")
    await asker.capture("balance")
    await asker.report("stage_ended", stage="context")
    await asker.report("spread_counted", **SPREAD)
    allowed = await asker.act()
    assert (allowed["decision"], allowed["reasons"]) == ("allow", [])
    assert (await asker.dispatched(action_hash=allowed["action_hash"]))["ok"]
    assert (await asker.finished())["ok"]
    verified = await asker.ask(
        "verify",
        action_id="a-1",
        method="read_after_write",
        expected={"status": "refunded"},
        observed={"status": "refunded"},
        took_ms=3,
    )
    assert verified["verification"]["result"] == "pass"
    assert (await asker.report("decision_ended"))["ok"]
    assert await asker.kinds() == [
        "decision_begun",
        "stage_begun",
        "context_captured",
        "stage_ended",
        "spread_counted",
        "action_judged",
        "action_dispatched",
        "action_finished",
        "action_verified",
        "decision_ended",
    ]
    shown = await asker.ask("show")
    assert shown["standing"]["state"] == "active"
    assert shown["standing"]["actions"][0]["outcome"] == "success"
    assert await asker.sightings() == []


async def test_nothing_is_allowed_without_a_begin_an_envelope_or_a_task(asker: Asker) -> None:
    denied = await asker.act()
    assert (denied["decision"], denied["policy_id"]) == ("deny", "lictor.contract.not-begun")
    assert denied["remedy"]
    nobody = await asker.ask("begin")
    assert (nobody["ok"], nobody["policy_id"]) == (False, "lictor.contract.no-task")
    await asker.of("other").start(decision_type="unknown")
    refused = await asker.of("other").ask("begin")
    assert (refused["ok"], refused["policy_id"]) == (False, "lictor.contract.no-envelope")
    await asker.decided(record("theirs", "e-1", runtime="codex"))
    theirs = await asker.of("theirs").ask("begin")
    assert (theirs["ok"], theirs["policy_id"]) == (False, "lictor.contract.other-runtime")
    assert await asker.entries() == []


async def test_a_foreign_message_behind_the_decisions_on_a_task_keeps_its_decision_from_nothing(
    asker: Asker,
) -> None:
    """Read again and again, it took all the time that there is for an answer."""
    await asker.start()
    subject = subjects.decision(asker.runtime, "allow", asker.task)
    await asker.client.jetstream().publish(subject, b"{}")
    answer = await asker.ask("begin")
    assert answer["ok"], answer


async def test_stale_context_is_refused_at_the_gate_and_sighted(asker: Asker) -> None:
    """Contract scenario 11: fresh at the plan, stale at dispatch."""
    await asker.begin()
    await asker.capture("balance", age_ms=28_500)
    await asker.report("spread_counted", **SPREAD)
    await asker.report("stage_begun", stage="plan")
    await asker.report("stage_ended", stage="plan")
    await asyncio.sleep(1.6)
    waiting = await asker.act()
    assert waiting["decision"] == "wait"
    assert waiting["violations"][0]["field"] == "freshness.featureTtls.balance"
    assert waiting["rung"]["step"] == "hitl"
    assert not (await asker.dispatched())["ok"]
    event = await asker.until_sighted("freshness", "balance fresh at plan, stale at use")
    assert event.severity == "red"
    assert event.episode_id == episode_id("task-1", "task-1-started")


async def test_too_little_time_for_a_stage_takes_a_rung_before_it_begins(
    clean_infra: Endpoints,
) -> None:
    """Contract scenario 10: too little time for the next stage."""
    budgets = {"context": 100, "plan": 59_800, "act": 50, "verify": 50}
    tight = bundle_of(stageBudgetsMs=budgets)
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra, tight):
        await asker.begin()
        await asyncio.sleep(0.25)
        begun = await asker.report("stage_begun", stage="plan")
        assert (begun["ok"], begun["rung"]["step"]) == (True, "cache_bundle")
        assert begun["rung"]["rationale"]["reason"] == "time_pressure"
        await asker.until_sighted("time", "too little time left for stage plan")
        await asker.until_sighted("fallback", "rung cache_bundle used")


async def test_an_exhausted_ladder_abstains_and_is_sighted(clean_infra: Endpoints) -> None:
    """Contract scenario 20: an exhausted ladder abstains, and drifts."""
    ladder = [{"step": "cache_bundle", "maxExtraMs": 60_000}, {"step": "abstain"}]
    budgets = {"context": 100, "plan": 59_800, "act": 50, "verify": 50}
    tight = bundle_of(stageBudgetsMs=budgets, degradeLadder=ladder)
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra, tight):
        await asker.begin()
        await asyncio.sleep(0.25)
        stopped = await asker.report("stage_begun", stage="plan")
        assert (stopped["ok"], stopped["policy_id"]) == (False, "lictor.contract.degraded")
        assert (stopped["rung"]["step"], stopped["rung"]["exhausted"]) == ("abstain", True)
        assert (await asker.until_sighted("fallback", "ladder exhausted")).severity == "yellow"
        assert (await asker.kinds())[-1] == "degraded"


async def test_an_action_is_done_once_and_a_key_is_not_used_for_another(asker: Asker) -> None:
    """Contract scenario 26: same key: same body or conflict."""
    await asker.ready()
    first = await asker.act("r-1")
    assert first["decision"] == "allow"
    again = await asker.act("r-1")
    assert (again["decision"], again["action_hash"]) == ("allow", first["action_hash"])
    assert (await asker.kinds()).count("action_judged") == 1
    other = await asker.act(actionId="a-2", targetRefs=[{"type": "order", "id": "o-2"}])
    assert (other["decision"], other["standing"]) == ("deny", "conflict")
    flying = await asker.act("r-2", actionId="a-3")
    assert (flying["decision"], flying["standing"]) == ("wait", "in_flight")
    await asker.dispatched()
    await asker.finished()
    done = await asker.act("r-3", actionId="a-3")
    assert (done["decision"], done["standing"], done["result_hash"]) == ("deny", "done", RESULT)


async def test_one_of_many_that_ask_at_once_under_one_key_is_allowed(asker: Asker) -> None:
    """Contract scenario 26: same key: same body or conflict."""
    await asker.ready()
    answers = await asyncio.gather(*(asker.act(f"r-{n}", actionId=f"a-{n}") for n in range(12)))
    assert sorted(each["decision"] for each in answers) == ["allow"] + ["wait"] * 11


async def test_people_approve_the_exact_action_and_two_of_them_the_largest(asker: Asker) -> None:
    """Contract scenarios 27 and 29: a human in the loop; blocked; two people for the largest tier."""
    await asker.ready()
    blocked = await asker.act(
        actionId="b-1", idempotencyKey="b-1", authorization={"mode": "blocked"}
    )
    assert (blocked["decision"], blocked["policy_id"]) == ("deny", "lictor.contract.blocked")
    large = {"actionId": "l-1", "idempotencyKey": "l-1", "blastRadiusTier": "large"}
    waiting = await asker.act(**large)
    assert waiting["decision"] == "wait"
    name = waiting["action_hash"]
    assert not (await asker.order("approve", "agent", action_hash=name))["ok"]
    assert (await asker.order("approve", "ada", action_hash=name))["ok"]
    assert (await asker.order("approve", "ADA", action_hash=name))["ok"]
    assert (await asker.act(**large))["decision"] == "wait"
    assert (await asker.order("approve", "bob", action_hash=name))["ok"]
    assert (await asker.act(**large))["decision"] == "allow"


async def test_a_bypass_needs_its_approver_and_is_red(asker: Asker) -> None:
    """Contract scenario 21: bypass needs its named approver."""
    await asker.ready()
    assert not (await asker.order("approve", "ada", action_hash=None))["ok"]
    assert (await asker.order("approve", "duty-officer", action_hash=None))["ok"]
    await asker.act()
    await asker.dispatched()
    failed = await asker.ask(
        "verify",
        action_id="a-1",
        method="invariant_check",
        invariants=[{"fact": "status", "operator": "equals", "value": "refunded"}],
        observed=None,
        took_ms=1,
    )
    assert failed["verification"]["result"] == "inconclusive"
    bypassed = await asker.act(actionId="a-2", idempotencyKey="k-2")
    assert (bypassed["decision"], bypassed["rung"]["step"]) == ("allow", "bypass")
    assert (await asker.until_sighted("bypass", "rung bypass used")).severity == "red"


async def test_a_dispatch_that_no_allowance_covers_is_recorded_and_sighted_once(
    asker: Asker,
) -> None:
    await asker.ready()
    answer = await asker.dispatched("a-9")
    assert (answer["ok"], answer["policy_id"]) == (False, "lictor.contract.bypass")
    event = await asker.until_sighted("bypass", "refund dispatched: no contract")
    assert event.severity == "red"
    await asker.dispatched("a-8")
    await asker.report("decision_ended")
    await asyncio.sleep(0.3)
    assert len(await asker.sightings()) == 1


async def test_a_verifier_out_of_time_is_inconclusive_and_red(asker: Asker) -> None:
    """Contract scenario 33: a verifier that takes too long."""
    await asker.ready()
    await asker.act()
    await asker.dispatched()
    late = await asker.ask(
        "verify",
        action_id="a-1",
        method="read_after_write",
        expected={"status": "refunded"},
        observed={"status": "refunded"},
        took_ms=5001,
    )
    assert late["verification"]["result"] == "inconclusive"
    assert late["rung"]["step"] == "hitl"
    cause = "verification read_after_write timed out"
    assert (await asker.until_sighted("verify", cause)).severity == "red"


async def test_the_kill_switch_freezes_what_runs_and_refuses_what_would_begin(
    asker: Asker,
) -> None:
    """Contract scenario 61: the kill-switch."""
    await asker.ready()
    assert (await asker.order("halt"))["ok"]
    frozen = await asker.act()
    assert (frozen["decision"], frozen["policy_id"]) == ("deny", "lictor.contract.frozen")
    await asker.of("late").start()
    halted = await asker.of("late").ask("begin")
    assert (halted["ok"], halted["policy_id"]) == (False, "lictor.contract.halted")
    assert not (await asker.order("resume"))["ok"]
    assert (await asker.order("release", "bob"))["ok"]
    assert (await asker.act())["policy_id"] == "lictor.contract.frozen"
    assert (await asker.of("late").ask("begin"))["ok"]
    assert not (await asker.order("resume", "agent"))["ok"]
    assert not (await asker.order("resume", "bob", reason=" "))["ok"]
    assert (await asker.order("resume", "bob"))["ok"]
    assert (await asker.act())["decision"] == "allow"
    resumed = (await asker.entries())[-2]
    assert (resumed.kind, getattr(resumed, "by", None)) == ("decision_resumed", "bob")


async def test_a_frozen_decision_waits_for_somebody_else(asker: Asker) -> None:
    await asker.ready()
    assert (await asker.order("freeze"))["ok"]
    assert (await asker.act())["decision"] == "deny"
    assert (await asker.ask("show"))["standing"]["state"] == "frozen"
    assert (await asker.order("resume"))["ok"]
    assert (await asker.act())["decision"] == "allow"


async def test_what_is_no_entry_in_a_log_stops_nothing(asker: Asker) -> None:
    await asker.ready()
    log = subjects.decision_log(asker.key)
    await asker.client.publish("$JS.API.STREAM.INFO.DRIFT", b"", reply=log)
    async with asyncio.timeout(60):
        while len(await read_from(asker.client, streams.ACTIONS, log, 1, 100)) < 4:
            await asyncio.sleep(0.02)
    assert (await asker.act())["decision"] == "allow"


GOOD: dict[str, Any] = {
    "request_id": "q",
    "runtime": "rt",
    "agent_id": "agent",
    "task_id": "task-1",
    "requested_at": "2026-01-31T12:00:00Z",
    "contract": CONTRACT,
}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"not json",
        json.dumps(GOOD)[:-1].encode(),
        json.dumps({**GOOD, "surplus": 1}).encode(),
        json.dumps({**GOOD, "contract": {**CONTRACT, "blastRadiusTier": "huge"}}).encode(),
        json.dumps({**GOOD, "contract": {**CONTRACT, "idempotencyKey": ""}}).encode(),
        json.dumps({**GOOD, "contract": {**CONTRACT, "targetRefs": []}}).encode(),
        json.dumps(GOOD).replace('"q"', '"q", "request_id": "p"').encode(),
        json.dumps({**GOOD, "facts": {"amount": float("nan")}}).encode(),
        json.dumps({**GOOD, "runtime": "codex"}).encode(),
        json.dumps({**GOOD, "facts": {"a": "x" * 600_000}}).encode(),
    ],
    ids=lambda body: body[:24].decode("utf-8", "replace"),
)
async def test_a_broken_question_is_denied_with_reason_and_remedy(
    asker: Asker, body: bytes
) -> None:
    answer = await asker.raw("lictor.gate.action.rt", body)
    assert answer["decision"] == "deny"
    assert answer["policy_id"] == "sealer.malformed-request"
    assert answer["reason"]
    assert answer["remedy"]
    refused = await asker.raw("lictor.contract.report.rt", body)
    assert (refused["ok"], refused["policy_id"]) == (False, "sealer.malformed-request")
    order = await asker.raw("lictor.contract.halt", body)
    assert (order["ok"], order["policy_id"]) == (False, "sealer.malformed-request")
    assert (await asker.client.jetstream().stream_info(streams.ACTIONS)).state.messages == 0


async def test_a_log_that_does_not_answer_denies(clean_infra: Endpoints) -> None:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        await asker.ready()
        await asker.client.jetstream().delete_stream(streams.ACTIONS)
        answer = await asker.act()
        assert (answer["decision"], answer["policy_id"]) == ("deny", "lictor.unavailable")
        await streams.declare(asker.client, streams.ACTIONS)


async def test_an_envelope_stays_that_of_the_begin(clean_infra: Endpoints) -> None:
    async with governing_bus(clean_infra) as asker:
        async with governing_services(clean_infra):
            before = await asker.begin()
        tighter = bundle_of(version="4", deadlineMs=60_001)
        async with governing_services(clean_infra, tighter):
            again = await asker.ask("begin")
    assert (again["duplicate"], again["dte_hash"]) == (True, before["dte_hash"])


async def test_an_entry_of_another_log_changes_nothing(asker: Asker) -> None:
    await asker.ready()
    other = asker.of("task-2")
    await other.ready()
    await other.order("freeze")
    frozen = (await other.entries())[-1].model_copy(update={"entry_id": str(uuid.uuid4())})
    log = subjects.decision_log(asker.key)
    copy = Outgoing(log, frozen.to_json(), frozen.entry_id)
    assert await publish_one(asker.client, streams.ACTIONS, copy) is not None
    assert (await asker.act())["decision"] == "allow"


async def test_calls_that_the_tool_gate_saw_count_whatever_the_agent_tells(asker: Asker) -> None:
    """Those that were allowed and those that ended, each once; at most 10 are allowed."""
    asker = Asker(asker.client, "task-1", RUNTIME)
    await asker.start(session_id=SESSION)
    assert (await asker.ask("begin"))["ok"]
    await asker.capture("balance")
    await asker.report("spread_counted", **{**SPREAD, "tool_calls": 2})
    await store(asker.client, *(tool_allowed("task-1", n) for n in range(1, 8)))
    await store(asker.client, *(call_finished("task-1", n) for n in range(5, 11)))
    await store(asker.client, tool_allowed("other", 50), call_finished("other", 51))
    assert (await asker.act())["decision"] == "allow"
    # One more than is allowed, in a session that nobody but the gate's record names.
    await store(asker.client, tool_allowed("task-1", 12, session="another"))
    over = await asker.act(actionId="a-2", idempotencyKey="k-2")
    assert (over["decision"], over["rung"]["step"]) == ("deny", "abstain")
    (violation,) = over["violations"]
    assert (violation["field"], violation["actual"], violation["limit"]) == (
        "limits.maxToolCalls",
        11,
        10,
    )
    judged = [each for each in await asker.entries() if each.kind == "action_judged"]
    assert [each.calls_seen for each in judged] == [10, 11]
    # What was allowed before is not sent any more either.
    assert not (await asker.dispatched())["ok"]
    await asker.until_sighted("fanout", "maxToolCalls exceeded")


async def test_calls_after_the_last_question_count_when_the_decision_is_closed(
    asker: Asker,
) -> None:
    """At most 10 are allowed, and nobody asks the action gate, or counts, after the eleventh."""
    asker = Asker(asker.client, "task-1", RUNTIME)
    await asker.start(session_id=SESSION)
    assert (await asker.ask("begin"))["ok"]
    await store(asker.client, *(tool_allowed("task-1", n) for n in range(1, 12)))
    await asker.close()
    episode = await asker.until_sealed()
    assert episode.outcome.code is OutcomeCode.PARTIAL
    assert "tool_calls is 11 and at most 10 is allowed" in str(episode.outcome.reason)
    await asker.until_sighted("fanout", "maxToolCalls exceeded")


async def test_calls_after_the_decision_ended_are_none_of_its_own(asker: Asker) -> None:
    asker = Asker(asker.client, "task-1", RUNTIME)
    await asker.start(session_id=SESSION)
    assert (await asker.ask("begin"))["ok"]
    assert (await asker.report("decision_ended"))["ok"]
    await store(asker.client, *(tool_allowed("task-1", n) for n in range(1, 12)))
    await asker.close()
    assert (await asker.until_sealed()).outcome.code is OutcomeCode.SUCCESS


async def test_calls_of_a_guard_that_names_only_the_session_count_for_its_task(
    asker: Asker,
) -> None:
    asker = Asker(asker.client, "task-1", RUNTIME)
    await asker.start(session_id=SESSION)
    assert (await asker.ask("begin"))["ok"]
    await asker.capture("balance")
    await asker.report("spread_counted", **SPREAD)
    await store(asker.client, *(tool_allowed(SESSION, n) for n in range(1, 7)))
    await store(asker.client, *(call_finished(SESSION, n) for n in range(6, 12)))
    over = await asker.act()
    assert (over["decision"], over["violations"][0]["actual"]) == ("deny", 11)


async def test_calls_before_the_decision_began_do_not_count(asker: Asker) -> None:
    asker = Asker(asker.client, "task-1", RUNTIME)
    await asker.start(session_id=SESSION)
    await store(asker.client, *(tool_allowed("task-1", n) for n in range(1, 20)))
    assert (await asker.ask("begin"))["ok"]
    await asker.capture("balance")
    await asker.report("spread_counted", **SPREAD)
    assert (await asker.act())["decision"] == "allow"


async def test_the_gate_remembers_the_rung_of_the_stage(clean_infra: Endpoints) -> None:
    budgets = {"context": 100, "plan": 59_800, "act": 50, "verify": 50}
    tight = bundle_of(stageBudgetsMs=budgets)
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra, tight):
        await asker.ready()
        await asyncio.sleep(0.25)
        begun = await asker.report("stage_begun", stage="plan")
        assert (begun["ok"], begun["rung"]["step"]) == (True, "cache_bundle")
        gate = await asker.act()
        assert (gate["decision"], gate["rung"]["step"]) == ("allow", "cache_bundle")
        assert gate["rung"]["rationale"]["since_stage"] == "plan"


async def test_no_key_is_needed_where_the_envelope_demands_none(clean_infra: Endpoints) -> None:
    rule = {**ENVELOPE["safeAction"], "requireIdempotency": False}
    async with governing_bus(clean_infra) as asker:
        async with governing_services(clean_infra, bundle_of(safeAction=rule)):
            await asker.ready()
            assert (await asker.act(idempotencyKey=None))["decision"] == "allow"
            other = await asker.act(actionId="a-2", idempotencyKey=None)
            assert other["decision"] == "allow"
            again = await asker.act(idempotencyKey=None)
            assert (again["decision"], again["standing"]) == ("wait", "in_flight")
        async with governing_services(clean_infra, bundle_of()):
            demanding = await asker.of("task-2").ready()
            refused = await demanding.act(idempotencyKey=None)
            assert (refused["decision"], refused["policy_id"]) == (
                "deny",
                "lictor.contract.idempotency-key",
            )


async def test_a_person_answers_for_stale_context_after_it_went_stale(asker: Asker) -> None:
    """Contract scenario 12: stale context goes no further, unless a person who saw it stale approves it."""
    await asker.ready()
    hitl: dict[str, Any] = {"authorization": {"mode": "hitl"}}
    name = (await asker.act(**hitl))["action_hash"]
    assert (await asker.order("approve", "ada", action_hash=name))["ok"]
    await asker.capture("balance", age_ms=30_001)
    waiting = await asker.act(**hitl)
    assert (waiting["decision"], waiting["rung"]["step"]) == ("wait", "hitl")
    assert (await asker.order("approve", "bob", action_hash=name))["ok"]
    allowed = await asker.act(**hitl)
    assert (allowed["decision"], allowed["rung"]["step"]) == ("allow", "hitl")
    assert (await asker.dispatched())["ok"]


async def test_who_is_asked_to_approve_sees_what_the_action_waits_for(asker: Asker) -> None:
    await asker.ready()
    await asker.capture("balance", age_ms=30_001)
    await asker.act()
    (shown,) = (await asker.ask("show"))["standing"]["actions"]
    assert shown["decision"] == "wait"
    assert "balance is" in shown["reasons"][0]["message"]
    assert "counts as fresh for 30000 ms" in shown["reasons"][0]["message"]


async def test_no_decision_begins_of_a_task_that_is_closed_or_has_not_started(asker: Asker) -> None:
    """Whatever is told of a task before its start or after its end opens nothing."""
    before = record("task-1", "early", event_type="report_anchor_missing", decision_type="other")
    await asker.decided(before)
    assert (await asker.ask("begin"))["policy_id"] == "lictor.contract.no-task"
    begun = await asker.begin()
    # Its episode is named by the first record, and its envelope is that of the task's own decision type.
    assert begun["episode_id"] == episode_id("task-1", "early")
    assert begun["decision_type"] == "refund"
    await asker.close()
    assert (await asker.until_sealed()).episode_id == begun["episode_id"]
    await asker.decided(record("task-1", "late", event_type="subagent_completed"))
    refused = await asker.ask("begin")
    assert (refused["ok"], refused["policy_id"]) == (False, "lictor.contract.no-task")


async def test_a_decision_governs_its_run_also_when_a_correction_took_up_the_run_s_first_record(
    asker: Asker,
) -> None:
    await asker.start()
    await asker.close()
    await asker.until_sealed()
    await asker.decided(record("task-1", "late", event_type="subagent_completed"))
    again = record("task-1", "again")
    await asker.decided(again)
    assert (await asker.ask("begin"))["ok"]
    # The correction has left these two to the episode.
    seen = RecordsSeen()
    for each in (again, record("task-1", "end", closes=True)):
        seen.take(each)
    now = Delivery("lictor.dec.rt.allow.task-1", b"", {}, 9, time.time_ns())
    closings = Closings(Decisions(DecisionLog(asker.client), FOLDS), SeenCalls(asker.client))
    closed = await closings.close(seen, now)
    assert closed is not None
    assert closed.begun.episode_id == episode_id("task-1", "late")
