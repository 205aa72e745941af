"""Episodes of tasks under an envelope: sealed with what their decision's log measured, and not while frozen."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from governing_bus import (
    CONTRACT,
    ENVELOPE,
    PACK,
    Asker,
    bundle_of,
    governing_bus,
    governing_services,
)

from lictor_bus.logs.dead_letters import list_dead
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.contracts.verification import VerificationResult
from lictor_schema.seals.episode import OutcomeCode


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        yield asker


async def acted(asker: Asker, *, verified: bool, **changes: Any) -> None:
    """A decision with one action, to its end."""
    await asker.begin()
    await asker.report("stage_begun", stage="context")
    await asker.capture("balance", age_ms=50)
    await asker.report("spread_counted", hops=1, fanout=2, tool_calls=3, chain_depth=4)
    await asker.report("stage_ended", stage="context")
    assert (await asker.act(**changes))["decision"] == "allow"
    await asker.dispatched()
    await asker.finished()
    if verified:
        answer = await asker.ask(
            "verify",
            action_id="a-1",
            method="read_after_write",
            expected={"status": "refunded"},
            observed={"status": "refunded"},
            took_ms=3,
        )
        assert answer["verification"]["result"] == "pass"
    await asker.report("decision_ended")


async def test_a_governed_episode_holds_its_envelope_and_what_was_measured(asker: Asker) -> None:
    await acted(asker, verified=True, blastRadiusTier="medium")
    await asker.close()
    episode = await asker.until_sealed()
    begun = (await asker.entries())[0]
    assert episode.episode_id == begun.episode_id  # type: ignore[union-attr]
    assert episode.decision_window_ms == 60_000
    assert episode.dte_ref is not None
    assert episode.dte_ref.dte_hash == begun.dte_hash  # type: ignore[union-attr]
    assert episode.dte_ref.policy_pack_hash == PACK.pack_hash
    assert [each.policy_pack_id for each in episode.policy.packs] == ["refunds"]
    assert (episode.context.ttl_ms, episode.context.ttl_breaches_count) == (30_000, 0)
    assert episode.context.max_feature_age_ms is not None
    assert episode.context.max_feature_age_ms >= 50
    assert [each.action_id for each in episode.actions] == ["a-1"]
    assert (episode.verification.required, episode.verification.result) == (
        True,
        VerificationResult.PASS,
    )
    assert episode.outcome.code is OutcomeCode.SUCCESS
    assert episode.telemetry.stage_ms is not None
    assert episode.telemetry.stage_ms.context >= 1
    assert (episode.telemetry.hop_count, episode.telemetry.fanout) == (1, 2)
    assert not episode.telemetry.fallback_used
    assert episode.degrade.ladder[-1] is DegradeStep.ABSTAIN
    assert episode.context.evidence_refs[0].startswith("lictor:act:sha256:")
    assert (await asker.kinds())[-1] == "decision_closed"
    late = await asker.dispatched()
    assert (late["ok"], late["policy_id"]) == (False, "lictor.contract.bypass")


async def test_no_success_is_sealed_without_a_mandatory_pass(asker: Asker) -> None:
    """Contract scenario 31: unverified is no success."""
    await acted(asker, verified=False, blastRadiusTier="medium")
    await asker.close()
    episode = await asker.until_sealed()
    assert (episode.verification.required, episode.verification.result) == (
        True,
        VerificationResult.NA,
    )
    assert episode.outcome.code is OutcomeCode.PARTIAL
    cause = "verification without a method required and not run"
    assert (await asker.until_sighted("verify", cause)).severity == "red"


async def test_a_bypassed_decision_is_sealed_as_one(asker: Asker) -> None:
    await asker.ready()
    await asker.dispatched("a-9")
    await asker.close()
    assert (await asker.until_sealed()).outcome.code is OutcomeCode.BYPASSED


async def test_an_abstaining_decision_is_sealed_as_one(asker: Asker) -> None:
    """Contract scenario 22: abstained is abstained."""
    await asker.begin()
    assert (await asker.act())["rung"]["step"] == "abstain"
    await asker.close()
    episode = await asker.until_sealed()
    assert episode.outcome.code is OutcomeCode.ABSTAIN
    assert (episode.telemetry.fallback_used, episode.degrade.step) == (True, DegradeStep.ABSTAIN)
    assert episode.degrade.rationale["reason"] == "stale_context"


async def test_a_task_without_an_envelope_is_sealed_as_before(asker: Asker) -> None:
    await asker.start()
    await asker.close()
    episode = await asker.until_sealed()
    assert (episode.dte_ref, episode.decision_window_ms, episode.actions) == (None, None, ())
    assert episode.outcome.code is OutcomeCode.SUCCESS


async def test_a_frozen_task_is_not_sealed_until_somebody_resumes_it(asker: Asker) -> None:
    await asker.ready()
    await asker.order("freeze")
    await asker.close()
    async with asyncio.timeout(60):
        while not (dead := [each async for each in list_dead(asker.client)]):
            await asyncio.sleep(0.02)
    assert "frozen" in dead[0].letter.reason
    assert "lictor contract resume" in dead[0].letter.remedy
    assert await asker.sealed() == []
    assert (await asker.order("resume"))["ok"]
    episode = await asker.until_sealed()
    assert episode.dte_ref is not None
    assert not (await asker.order("resume"))["ok"]
    assert len(await asker.sealed()) == 1


async def test_the_kill_switch_keeps_closed_tasks_from_being_sealed(asker: Asker) -> None:
    await asker.ready()
    await asker.order("halt")
    await asker.close()
    async with asyncio.timeout(60):
        while not [each async for each in list_dead(asker.client)]:
            await asyncio.sleep(0.02)
    assert await asker.sealed() == []
    await asker.order("release")
    await asker.order("resume", "bob")
    assert (await asker.until_sealed()).dte_ref is not None


REFUSED: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "tier above blastRadiusMax": ({"blastRadiusTier": "large"}, "blast_radius", "hitl"),
    "mode blocked": ({"authorization": {"mode": "blocked"}}, "blocked", "hitl"),
    "type not allowed": ({"actionType": "wire"}, "action_type", None),
    "no rollback plan": (
        {"blastRadiusTier": "medium", "rollbackPlan": {"type": "none"}},
        "rollback_missing",
        None,
    ),
    "precondition false": (
        {"preconditions": [{"fact": "open", "operator": "equals", "value": True}]},
        "precondition",
        None,
    ),
    "hitl never approved": ({"authorization": {"mode": "hitl"}}, "approvals", None),
}


async def test_a_refused_or_never_approved_action_stands_in_the_episode_with_reason_and_rung(
    clean_infra: Endpoints,
) -> None:
    rule = {**ENVELOPE["safeAction"], "blastRadiusMax": "medium", "allowedActionTypes": ["refund"]}
    narrow = bundle_of(safeAction=rule)
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra, narrow):
        for cause, (changes, code, rung) in REFUSED.items():
            task = await asker.of(cause).ready()
            answer = await task.act(**changes)
            assert answer["decision"] in ("deny", "wait"), cause
            await task.close()
            episode = await task.until_sealed()
            assert (episode.outcome.code, episode.actions) == (OutcomeCode.FAIL, ()), cause
            (refused,) = episode.refused_actions
            assert code in refused.codes
            assert refused.status == ("never_approved" if code == "approvals" else "refused")
            assert (refused.rung, refused.action_hash) == (rung, answer["action_hash"])
            assert episode.degrade.step == rung
            assert episode.telemetry.fallback_used == (rung is not None)
            assert str(episode.outcome.reason).startswith("nothing was done; ")
            assert refused.reason in str(episode.outcome.reason)
            event = await asker.until_sighted("outcome", "outcome success instead of fail")
            assert event.severity == "red"
        await asker.until_sighted("outcome", "wire refused: action type")
        await asker.until_sighted("outcome", "an action was never approved")


async def test_the_episode_tells_its_features_who_approved_and_who_stopped_it(
    asker: Asker,
) -> None:
    await asker.begin()
    assert (await asker.capture("balance", age_ms=50, value={"cents": 1250.5}))["ok"]
    assert (await asker.report("spread_counted", hops=0, fanout=0, tool_calls=0, chain_depth=0))[
        "ok"
    ]
    waiting = await asker.act(authorization={"mode": "hitl"})
    name = waiting["action_hash"]
    assert (await asker.order("approve", "bob", action_hash=name, reason="it is owed"))["ok"]
    await asker.order("freeze", "ada", reason="a second look")
    await asker.order("resume", "bob", reason="looked at")
    await asker.order("halt", "cy", reason="a fire drill")
    await asker.order("release", "cy", reason="it is over")
    await asker.order("resume", "bob", reason="after the drill")
    assert (await asker.act("r-2", authorization={"mode": "hitl"}))["decision"] == "allow"
    await asker.dispatched()
    await asker.finished()
    await asker.close()
    episode = await asker.until_sealed()
    assert [(each.by, each.reason, each.action_id) for each in episode.approvals] == [
        ("bob", "it is owed", "a-1")
    ]
    assert [(each.what, each.by, each.reason) for each in episode.interventions] == [
        ("frozen", "ada", "a second look"),
        ("resumed", "bob", "looked at"),
        ("halted", "cy", "a fire drill"),
        ("released", "cy", "it is over"),
        ("resumed", "bob", "after the drill"),
    ]
    (balance,) = episode.context.features
    assert (balance.name, balance.ttl_ms, balance.breach) == ("balance", 30_000, False)
    assert balance.captured_at is not None
    assert balance.age_ms is not None
    assert balance.age_ms >= 50
    # The value stands in the log alone, whose hash is among the evidence.
    assert b"1250.5" not in episode.to_json()
    captured = [each for each in await asker.entries() if each.kind == "context_captured"]
    assert [each.value for each in captured] == [{"cents": 1250.5}]
    assert episode.outcome.code is OutcomeCode.SUCCESS
    assert episode.outcome.reason == (
        "1 sent: refund (a-1); the task was reported completed, and no rule stood against it"
    )


async def test_a_value_that_is_too_large_or_no_json_is_not_noted(asker: Asker) -> None:
    await asker.begin()
    large = await asker.capture("balance", value="x" * 17_000)
    assert (large["ok"], large["policy_id"]) == (False, "sealer.malformed-request")
    assert "more than 16384" in large["reason"]


async def test_expected_5_observed_50_is_sealed_as_a_failure(asker: Asker) -> None:
    await asker.ready()
    await asker.act()
    await asker.dispatched()
    await asker.finished(expected={"amount": 5}, observed={"amount": 50})
    passed = await asker.ask(
        "verify",
        action_id="a-1",
        method="read_after_write",
        expected={"status": "refunded"},
        observed={"status": "refunded"},
        took_ms=1,
    )
    assert passed["verification"]["result"] == "pass"
    await asker.close()
    episode = await asker.until_sealed()
    assert episode.outcome.code is OutcomeCode.FAIL
    assert "observed is not what was expected of amount" in str(episode.outcome.reason)


@pytest.mark.parametrize("governed", [True, False])
async def test_a_task_reported_failed_is_sealed_as_failed(asker: Asker, governed: bool) -> None:
    if governed:
        await acted(asker, verified=False)
    else:
        await asker.start()
    await asker.close(status="failed", event_type="task_status_changed")
    episode = await asker.until_sealed()
    assert episode.outcome.code is OutcomeCode.FAIL
    assert "the task was reported failed" in str(episode.outcome.reason)


async def test_an_action_that_could_not_even_be_read_is_no_success(asker: Asker) -> None:
    """A contract without any rollback plan is denied as malformed, which no decision's log holds."""
    await asker.ready()
    contract = {name: value for name, value in CONTRACT.items() if name != "rollbackPlan"}
    denied = await asker.ask("action", contract=contract)
    assert denied["policy_id"] == "sealer.malformed-request"
    await asker.close()
    outcome = (await asker.until_sealed()).outcome
    assert outcome.code is OutcomeCode.FAIL
    assert "nothing was done" in str(outcome.reason)
    assert "an action was denied: the question is malformed" in str(outcome.reason)
