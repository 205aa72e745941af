"""The service as a process: killed in the middle of its work, restarted, and with its broker gone for a while."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from approval_bus import PATIENCE_S, Bus, approval_bus
from approval_samples import ALICE, BOB
from reporting import ROOT, service_process, wait_until_ready

from lictor_approval.signed_decisions import sign_decision
from lictor_local.embedded_servers import EmbeddedServers
from lictor_prove.layers.installed import installed_layers

LAYERS = {"LICTOR_LAYERS": str(ROOT / "examples/layers")}
(LAYER, _) = installed_layers(LAYERS).named(None) or ("", None)
MANY = 40


def settings(bus: Bus) -> dict[str, str]:
    return {**LAYERS, "LICTOR_APPROVERS": str(bus.trust(ALICE, BOB))}


async def prove_many(bus: Bus) -> None:
    for number in range(MANY):
        submitted = await bus.submit(submission_id=f"s-{number}", source_name=f"p{number}.py")
        await bus.answer(submitted, layer_hash=LAYER)


async def until_requests(bus: Bus, least: int) -> list[Any]:
    end = time.monotonic() + 2 * PATIENCE_S
    while len(lives := await bus.lives()) < least:
        assert time.monotonic() < end, f"there are {len(lives)} requests, not {least}"
        await asyncio.sleep(0.02)
    return lives


async def test_killed_again_and_again_it_asks_about_each_program_once_and_keeps_decisions(
    bus: Bus,
) -> None:
    environment = settings(bus)
    await prove_many(bus)
    for asked in (1, MANY // 3, MANY):
        async with service_process("lictor_approvals", bus.endpoints, **environment) as process:
            await until_requests(bus, asked)
            process.kill()
            await process.wait()
    async with service_process("lictor_approvals", bus.endpoints, **environment) as process:
        await wait_until_ready(bus.client, "approvals")
        lives = await until_requests(bus, MANY)
        assert (await bus.decide(lives[0])).state == "approved"
        process.kill()
        await process.wait()
    async with service_process("lictor_approvals", bus.endpoints, **environment):
        await wait_until_ready(bus.client, "approvals")
        await bus.until_handled()
        states = await bus.states()
        assert states == ["approved"] + ["requested"] * (MANY - 1)
        assert len(await bus.entries()) == MANY + 1
        taken_back = await bus.decide(lives[0], BOB, decision="reject", reason="no")
        assert taken_back.state == "rejected"


async def test_a_broker_that_went_away_is_waited_for(tmp_path: Path) -> None:
    async with AsyncExitStack() as running:
        servers = await running.enter_async_context(EmbeddedServers(tmp_path / "servers"))
        bus = await running.enter_async_context(approval_bus(servers.endpoints, tmp_path))
        await running.enter_async_context(
            service_process("lictor_approvals", servers.endpoints, **settings(bus))
        )
        await wait_until_ready(bus.client, "approvals")
        submitted = await bus.submit()
        await bus.answer(submitted, layer_hash=LAYER)
        await until_requests(bus, 1)
        await servers.kill_nats()
        await servers.start_nats()
        await wait_until_ready(bus.client, "approvals")
        (life,) = await bus.lives()
        signed = sign_decision(bus.decision(life, ALICE), ALICE)
        async with asyncio.timeout(120):
            # What the service had asked when the broker died is given up after seconds, and a decision that waits
            # behind it is to be handed in again.
            while (answer := await bus.hand_in(life.request.request_id, signed)).state is None:
                assert "can't be reached" in (answer.reason or "")
        assert answer.state == "approved"
        other = await bus.submit(submission_id="s-2", source_name="other.py")
        await bus.answer(other, layer_hash=LAYER)
        await until_requests(bus, 2)
