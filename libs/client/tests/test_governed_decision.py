"""The SDK for governed decisions, against a sealer on a real bus; silence denies."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from governing_bus import CONTRACT, SPREAD, Asker, governing_bus, governing_services

import lictor
from lictor.governed_decision import ActionDenied, DecisionRefused, GovernedDecision
from lictor_local.embedded_servers import Endpoints


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        yield asker


def deciding(asker: Asker, **more: Any) -> GovernedDecision:
    return GovernedDecision(
        asker.client, runtime="rt", agent_id="agent", task_id=asker.task, **more
    )


async def refund() -> dict[str, str]:
    return {"status": "refunded"}


async def test_a_decision_is_begun_carried_out_verified_and_ended(asker: Asker) -> None:
    await asker.start()
    async with deciding(asker) as decision:
        async with decision.stage("context"):
            assert (await decision.capture("balance", value={"cents": 1200})).ok
            too_large = await decision.capture("balance", value="x" * 20_000)
            assert (too_large.ok, "more than 16384" in too_large.reason) == (False, True)
        assert (await decision.count(**SPREAD)).ok
        async with decision.stage("act"):
            assert await decision.carry_out(CONTRACT, refund) == {"status": "refunded"}
        verified = await decision.verify("a-1", expected={"status": "refunded"}, observed=refund)
        assert verified.verification is not None
        assert verified.verification.result == "pass"
        shown = await decision.show()
        assert shown.standing is not None
        assert shown.standing.actions[0].outcome == "success"
    assert (await asker.kinds())[-1] == "decision_ended"
    (captured,) = [each for each in await asker.entries() if each.kind == "context_captured"]
    assert captured.value == {"cents": 1200}


async def test_an_action_that_is_denied_is_not_carried_out(asker: Asker) -> None:
    await asker.start()
    done: list[str] = []

    async def work() -> None:
        done.append("done")

    async with deciding(asker) as decision:
        with pytest.raises(ActionDenied, match="balance was not captured") as caught:
            await decision.carry_out(CONTRACT, work)
        assert caught.value.answer.decision == "deny"
    assert done == []
    assert "action_dispatched" not in await asker.kinds()


async def test_an_action_that_raises_is_told_as_failed(asker: Asker) -> None:
    await asker.ready()
    decision = deciding(asker)

    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await decision.carry_out(CONTRACT, work)
    shown = await decision.show()
    assert shown.standing is not None
    assert shown.standing.actions[0].outcome == "fail"


async def test_a_state_that_can_t_be_read_back_is_inconclusive(asker: Asker) -> None:
    await asker.ready()
    decision = deciding(asker)
    await decision.carry_out(CONTRACT, refund)

    async def broken() -> dict[str, str]:
        raise OSError

    answer = await decision.verify("a-1", expected={"status": "refunded"}, observed=broken)
    assert answer.verification is not None
    assert answer.verification.result == "inconclusive"


async def test_silence_denies_and_nothing_happens(clean_infra: Endpoints) -> None:
    async with governing_bus(clean_infra) as asker:
        decision = deciding(asker, timeout_s=0.2)
        with pytest.raises(DecisionRefused):
            await decision.__aenter__()
        answer = await decision.act(CONTRACT)
        assert (answer.decision, answer.policy_id) == ("deny", "lictor.client.unanswered")
        assert not (await decision.capture("balance")).ok
        with pytest.raises(DecisionRefused):
            async with decision.stage("plan"):
                pytest.fail("a stage that may not begin runs")


async def test_a_question_that_can_t_be_asked_is_refused_here(asker: Asker) -> None:
    decision = deciding(asker)
    broken = await decision.act({**CONTRACT, "blastRadiusTier": "huge"})
    assert (broken.decision, broken.policy_id) == ("deny", "lictor.client.malformed-question")
    assert not (await decision.report("nonsense")).ok
    assert not (await decision.count(hops=-1, fanout=0, tool_calls=0, chain_depth=0)).ok


async def test_the_governor_gives_the_decision_of_a_task(clean_infra: Endpoints) -> None:
    async with (
        governing_bus(clean_infra) as asker,
        governing_services(clean_infra),
        lictor.connect(clean_infra.nats_url, runtime="rt", agent_id="agent") as governor,
    ):
        await asker.start()
        async with governor.task("task-1").decision() as decision:
            answer = await decision.act(CONTRACT)
    assert answer.decision == "deny"
