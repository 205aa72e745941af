"""The kill-switch of governed decisions reaches the tool gates."""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from reporting import service_process, wait_until_ready


async def turned(asker, verb: str) -> dict[str, Any]:
    order = {
        "request_id": str(uuid.uuid4()),
        "by": "ada",
        "reason": "the market is closed",
        "requested_at": datetime.now(UTC).isoformat(),
    }
    return await asker.raw(f"lictor.contract.{verb}", json.dumps(order).encode())


@pytest.mark.timeout(120)
async def test_while_the_kill_switch_is_engaged_every_tool_call_is_denied_with_its_reason(
    clean_infra, agents, start
):
    async with (
        start(clean_infra, agents, 2) as asker,
        service_process("lictor_supervisor", clean_infra),
    ):
        await wait_until_ready(asker.client, "supervisor")
        await asker.begin()
        for number in range(5):
            assert (await asker.check("note", f"a{number}"))["decision"] == "allow"
            engaged = await turned(asker, "halt")
            assert engaged["ok"]
            assert "confirmed" not in str(engaged["reason"])
            # Either instance, at once.
            for again in range(4):
                denied = await asker.check("note", f"b{number}.{again}")
                assert denied["policy_id"] == "lictor.halted"
                assert "ada halted everything with the kill-switch" in denied["reason"]
                assert "the market is closed" in denied["reason"]
                assert "lictor contract release" in denied["remedy"]
            assert (await turned(asker, "release"))["ok"]
        assert (await asker.check("note", "c"))["decision"] == "allow"
        await turned(asker, "halt")
    # It holds over restarts, also when nobody is there who could be asked about it.
    async with start(clean_infra, agents) as later:
        assert (await later.check("note", "d"))["policy_id"] == "lictor.halted"


async def test_without_a_tool_gate_the_kill_switch_is_engaged_and_says_so(
    clean_infra, agents, start
):
    async with (
        start(clean_infra, agents, 0) as asker,
        service_process("lictor_supervisor", clean_infra),
    ):
        await wait_until_ready(asker.client, "supervisor")
        engaged = await turned(asker, "halt")
        assert engaged["ok"]
        assert "no tool gate is open" in engaged["reason"]
