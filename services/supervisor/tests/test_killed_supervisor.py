"""Kill the supervisor while it judges: nothing that was answered is lost, nothing is told or done twice."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import nats
from governing_bus import CONTRACT, RESULT, Asker, put_in_force
from nats.errors import Error as NatsError
from reporting import service_process, wait_until_ready

from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.contracts.drift import DriftType

TASKS = 12
KILLS = 3


async def test_kills_in_the_middle_lose_nothing_and_double_nothing(
    own_servers: EmbeddedServers,
) -> None:
    async with AsyncExitStack() as stack:
        client = await nats.connect(own_servers.endpoints.nats_url)
        stack.push_async_callback(client.close)
        supervisor = await stack.enter_async_context(
            service_process("lictor_supervisor", own_servers.endpoints)
        )
        await wait_until_ready(client, "supervisor")
        await put_in_force(client)
        askers = [Asker(client, f"task-{number}") for number in range(TASKS)]
        for each in askers:
            await each.start()
        done: list[str] = []
        working = asyncio.gather(*(work(each, done) for each in askers))
        for number in range(KILLS):
            async with asyncio.timeout(60):
                while len(done) < (number + 1) * TASKS:
                    await asyncio.sleep(0.005)
            supervisor.kill()
            await supervisor.wait()
            supervisor = await stack.enter_async_context(
                service_process("lictor_supervisor", own_servers.endpoints)
            )
        await working
        for each in askers:
            assert await each.kinds() == [
                "decision_begun",
                "context_captured",
                "spread_counted",
                "action_judged",
                "action_dispatched",
                "action_finished",
                "action_dispatched",
                "decision_ended",
            ]
        async with asyncio.timeout(30):
            while len(await dispatched_again(askers[0])) < TASKS:
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        ids = Counter(await dispatched_again(askers[0]))
        assert (len(ids), set(ids.values())) == (TASKS, {1})
        assert [each async for each in list_dead(client)] == []
        stored = await read_from(client, streams.ACTIONS, subjects.DECISION_LOG.any, 1, 1000)
        assert len(stored) == TASKS * 8


async def dispatched_again(asker: Asker) -> list[str]:
    """Ids of the sightings, without those that only tell how slow this machine was."""
    slow = (DriftType.TIME, DriftType.FRESHNESS)
    return [event.drift_id for event in await asker.sightings() if event.drift_type not in slow]


async def work(asker: Asker, done: list[str]) -> None:
    """One decision, each step asked again until it is answered, as a client would after silence."""
    contract = {"contract": {**CONTRACT, "actionId": "a-1", "idempotencyKey": "k-1"}}
    spread = {"what": "spread_counted", "hops": 0, "fanout": 0, "tool_calls": 0, "chain_depth": 0}
    dispatched = {"what": "action_dispatched", "action_id": "a-1", "action_type": "refund"}
    finished = {
        "what": "action_finished",
        "action_id": "a-1",
        "outcome": "success",
        "result_hash": RESULT,
    }
    steps: list[tuple[str, dict[str, Any]]] = [
        ("begin", {}),
        ("report", {"report": {"what": "context_captured", "feature": "balance"}}),
        ("report", {"report": spread}),
        ("action", contract),
        ("report", {"report": dispatched}),
        ("report", {"report": finished}),
        # Sent again after it was finished: recorded, and the one sighting of this task.
        ("report", {"report": dispatched}),
        ("report", {"report": {"what": "decision_ended"}}),
    ]
    for number, (operation, fields) in enumerate(steps):
        report = fields.get("report")
        if isinstance(report, dict) and report["what"] == "context_captured":
            report["captured_at"] = datetime.now(UTC).isoformat()
        await insist(asker, operation, f"{asker.task}-{number}", fields)
        done.append(operation)


async def insist(asker: Asker, operation: str, request_id: str, fields: dict[str, Any]) -> None:
    while True:
        try:
            answer = await asker.ask(operation, request_id=request_id, **fields)
        except (NatsError, TimeoutError):
            await asyncio.sleep(0.02)
            continue
        if answer.get("policy_id") not in ("lictor.unavailable", "lictor.contract.no-task"):
            return
