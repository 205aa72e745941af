"""Deadlines and budgets that run out by themselves: by timers of the broker, also while no sealer runs."""

import asyncio

from governing_bus import SPREAD, Asker, bundle_of, governing_bus, governing_services

from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_on_subjects
from lictor_local.embedded_servers import Endpoints
from lictor_supervisor.drift.sightings import BELL

BUDGETS = {"context": 100, "plan": 200, "act": 100, "verify": 100}
SHORT = bundle_of(deadlineMs=1200, stageBudgetsMs=BUDGETS)
# Long enough for a sealer to stop before it rings.
LONGER = bundle_of(deadlineMs=2500, stageBudgetsMs=BUDGETS)


async def begun(asker: Asker) -> Asker:
    await asker.start()
    assert (await asker.ask("begin"))["ok"]
    return asker


async def test_a_stage_and_then_the_deadline_run_out_and_are_told_once(
    clean_infra: Endpoints,
) -> None:
    """Contract scenario 16: a deadline that has passed abstains."""
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra, SHORT):
        await begun(asker)
        await asker.report("stage_begun", stage="plan")
        await asker.until("stage_overrun")
        await asker.until("deadline_passed")
        plan = await asker.until_sighted("time", "stage plan over its budget")
        late = await asker.until_sighted("time", "deadline exceeded")
        assert (plan.severity, late.severity) == ("yellow", "red")
        denied = await asker.act()
        assert denied["decision"] == "deny"
        assert denied["rung"]["step"] == "abstain"
        kinds = await asker.kinds()
        assert (kinds.count("stage_overrun"), kinds.count("deadline_passed")) == (1, 1)


async def test_a_timer_that_rings_while_no_sealer_runs_is_heard_by_the_next(
    clean_infra: Endpoints,
) -> None:
    async with governing_bus(clean_infra) as asker:
        async with governing_services(clean_infra, LONGER):
            await begun(asker)
            # Only a timer that the broker has been told of can ring without us.
            schedule = subjects.schedule(BELL.kind, asker.key)
            async with asyncio.timeout(60):
                while not await last_on_subjects(asker.client, streams.TIMERS, [schedule]):
                    await asyncio.sleep(0.01)
        await asyncio.sleep(2.6)
        assert "deadline_passed" not in await asker.kinds()
        async with governing_services(clean_infra, LONGER):
            await asker.until("deadline_passed")
            await asker.until_sighted("time", "deadline exceeded")


async def test_the_end_of_a_decision_cancels_its_timer(clean_infra: Endpoints) -> None:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra, SHORT):
        await begun(asker)
        assert (await asker.report("decision_ended"))["ok"]
        await asyncio.sleep(1.4)
        assert await asker.kinds() == ["decision_begun", "decision_ended"]


async def test_ticks_that_come_early_again_or_from_elsewhere_change_nothing(
    clean_infra: Endpoints,
) -> None:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        await begun(asker)
        await asker.report("spread_counted", **SPREAD)
        subject = subjects.tick(BELL.kind, asker.key)
        body = b'{"decision":"%b","due_us":1}' % asker.key.encode()
        bad = [b"", b"{}", body.replace(b'"due_us":1', b'"due_us":9000000000000000'), b"\xff"]
        for each in (body, body, *bad):
            await publish_one(asker.client, streams.TIMERS, Outgoing(subject, each))
        async with asyncio.timeout(60):
            while len([each async for each in list_dead(asker.client)]) < len(bad):
                await asyncio.sleep(0.02)
        assert await asker.kinds() == ["decision_begun", "spread_counted"]
