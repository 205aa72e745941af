"""A question to a gate that fails leaves nothing at work: its service may be about to close its connections."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis.asyncio

from lictor_bus.gates import task
from lictor_bus.names import streams
from lictor_bus.service.service import connected
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import bundle_directory
from lictor_policy_evaluator.app import NAME, SPEC, make_gates
from lictor_policy_evaluator.packs.configs_in_force import NoConfig
from lictor_policy_evaluator.packs.partition_configs import Library
from lictor_schema.gates.gate import ReportGateRequest

PACKS = Path(__file__).parents[3] / "policy-packs"


def question() -> ReportGateRequest:
    return ReportGateRequest(
        request_id="r",
        runtime="openclaw",
        agent_id="agent",
        task_id="task",
        requested_at=datetime.now(UTC),
        message="done",
    )


async def test_what_is_asked_side_by_side_ends_together(clean_infra: Endpoints) -> None:
    settings = ServiceSettings(nats_url=clean_infra.nats_url, redis_url=clean_infra.redis_url)
    async with connected(NAME, settings, ServiceTelemetry(NAME)) as runtime:
        await streams.declare(runtime.client, *SPEC.streams, streams.DEAD)
        config = bundle_directory(PACKS, []).config
        runner = await make_gates(runtime, Library(runtime.client), config)
        gate = next(each for each in runner.gates if each.gate is task.REPORT)
        with pytest.raises(NoConfig):
            await gate.handle(question())
        before = asyncio.all_tasks()
        async with redis.asyncio.from_url(clean_infra.redis_url) as store:
            # No worker runs, so no packs are in force: that is known before Redis has answered.
            await store.client_pause(1_000)
            with pytest.raises(NoConfig):
                await gate.handle(question())
            assert asyncio.all_tasks() <= before
