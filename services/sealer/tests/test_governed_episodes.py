"""Episodes of tasks under an envelope: sealed with what their decision's log measured, and not while frozen."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from governing_bus import PACK, Asker, governing_bus, governing_sealer

from lictor.embedded import Endpoints
from lictor_bus.dead import list_dead
from lictor_schema import DegradeStep, OutcomeCode, VerificationResult


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as asker, governing_sealer(clean_infra):
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
    async with asyncio.timeout(15):
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
    async with asyncio.timeout(15):
        while not [each async for each in list_dead(asker.client)]:
            await asyncio.sleep(0.02)
    assert await asker.sealed() == []
    await asker.order("release")
    await asker.order("resume", "bob")
    assert (await asker.until_sealed()).dte_ref is not None
