"""Deadlines and budgets that run out by themselves: by timers of the broker, also while no sealer runs."""

import asyncio

from governing_bus import SPREAD, Asker, bundle_of, governing_bus, governing_services

from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_on_subjects
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import Bundled
from lictor_supervisor.drift.sightings import BELL

BUDGETS = {"context": 100, "plan": 200, "act": 100, "verify": 100}
# One of them is long enough for the service to stop before the timer rings, however busy the machine is.
DEADLINES_MS = (2_500, 10_000, 40_000)


def with_deadline(deadline_ms: int) -> Bundled:
    return bundle_of(deadlineMs=deadline_ms, stageBudgetsMs=BUDGETS)


SHORT = with_deadline(1200)


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


async def stopped_before_it_rings(endpoints: Endpoints, bus: Asker) -> tuple[Asker, int]:
    """A decision whose timer rings with nobody there, and its deadline."""
    for deadline_ms in DEADLINES_MS:
        asker = bus.of(f"task of {deadline_ms}")
        async with governing_services(endpoints, with_deadline(deadline_ms)):
            await begun(asker)
            # Only a timer that the broker has been told of can ring without us.
            schedule = subjects.schedule(BELL.kind, asker.key)
            async with asyncio.timeout(60):
                while not await last_on_subjects(asker.client, streams.TIMERS, [schedule]):
                    await asyncio.sleep(0.01)
        if "deadline_passed" not in await asker.kinds():
            return asker, deadline_ms
    raise AssertionError("the services stop too slowly for every deadline")


async def test_a_timer_that_rings_while_no_sealer_runs_is_heard_by_the_next(
    clean_infra: Endpoints,
) -> None:
    async with governing_bus(clean_infra) as bus:
        asker, deadline_ms = await stopped_before_it_rings(clean_infra, bus)
        await asyncio.sleep(deadline_ms / 1000 + 0.1)
        assert "deadline_passed" not in await asker.kinds()
        async with governing_services(clean_infra, with_deadline(deadline_ms)):
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
