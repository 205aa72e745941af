"""The service as a process, killed while calls wait: each is asked about once, decided once, and nothing is lost."""

import asyncio
from datetime import UTC, datetime

from approval_bus import Bus
from approval_samples import ALICE, BOB
from call_samples import ask, said
from reporting import ROOT, service_process, wait_until_ready
from session_samples import asked, cancelled, ended, now_asked, used
from test_killed_approvals_service import until_requests

MANY = 40
TWO = ask(approvers=("finance",), needed=2)


async def test_killed_again_and_again_it_asks_about_each_call_once_and_keeps_every_decision(
    bus: Bus,
) -> None:
    environment = {
        "LICTOR_LAYERS": str(ROOT / "examples/layers"),
        "LICTOR_APPROVERS": str(bus.trust(ALICE, BOB)),
    }
    requests = [now_asked(TWO, number=number + 1) for number in range(MANY)]
    for request in requests:
        await bus.log(asked(request))
    # Killed between what a session logged and the request about it.
    for least in (1, MANY // 3, MANY):
        async with service_process("lictor_approvals", bus.endpoints, **environment) as process:
            await until_requests(bus, least)
            process.kill()
            await process.wait()
    endorsed, approved, dropped = requests[:3]
    first = said(endorsed, at=datetime.now(UTC))
    async with service_process("lictor_approvals", bus.endpoints, **environment) as process:
        await wait_until_ready(bus.client, "approvals")
        # Killed between a decision and its answer: it is handed in again, and counts once.
        handing_in = asyncio.create_task(bus.hand_in(endorsed.request_id, first))
        assert (await bus.say(approved)).state == "endorsed"
        assert (await bus.say(approved, BOB)).state == "approved"
        process.kill()
        await process.wait()
        handing_in.cancel()
        await asyncio.gather(handing_in, return_exceptions=True)
    await bus.log(used(approved))
    await bus.log(ended(approved))
    await bus.log(cancelled(dropped))
    async with service_process("lictor_approvals", bus.endpoints, **environment) as process:
        await wait_until_ready(bus.client, "approvals")
        assert (await bus.hand_in(endorsed.request_id, first)).state == "endorsed"
        process.kill()
        await process.wait()
    async with service_process("lictor_approvals", bus.endpoints, **environment):
        await wait_until_ready(bus.client, "approvals")
        await bus.until_sessions_handled()
        lives = {life.request.request_id: life for life in await bus.lives()}
        states = [lives[request.request_id].state.value for request in requests]
        assert states == ["endorsed", "called", "cancelled"] + ["requested"] * (MANY - 3)
        entries = [(entry.request_id, entry.state) for entry in await bus.entries()]
        # Nothing twice: 40 asked, one endorsed, one endorsed, approved, used and ended, and one cancelled.
        assert len(entries) == len(set(entries)) == MANY + 1 + 4 + 1
        assert (await bus.say(endorsed, BOB)).state == "approved"
        assert await bus.dead() == []
