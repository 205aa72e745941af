"""Kill the sealer while it seals: every closed task is sealed once, and the log neither forks nor skips."""

import asyncio
import json
from base64 import b64encode
from contextlib import AsyncExitStack
from pathlib import Path

import nats
from reporting import publish_events, reach, service_process, sized_stream, wait_until_ready
from workload import story_events

from lictor_bus.names import subjects
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers
from lictor_seal import SealBundle, TrustStore, leaf_data, tree_root, verify_bundle

EVENTS = 6_000
KILLS = 5


async def test_five_kills_leave_one_log_with_every_closed_task_in_it(tmp_path: Path):
    environment = {"LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"), "LICTOR_SEAL_KEY_CREATE": "1"}
    async with (
        EmbeddedServers(tmp_path / "servers", durable=False) as servers,
        AsyncExitStack() as stack,
    ):
        client = await nats.connect(servers.endpoints.nats_url)
        stack.push_async_callback(client.close)
        await stack.enter_async_context(
            service_process("lictor_policy_evaluator", servers.endpoints)
        )
        await wait_until_ready(client, "policy-evaluator")
        await publish_events(client, story_events(EVENTS, prefix="t", checkpoint_interval_s=None))
        await reach(client, "DECISIONS", EVENTS)
        closed = await closed_tasks(client)
        # Small batches, so that there is something left to do after each kill.
        environment["LICTOR_BATCH"] = "50"
        for number in range(KILLS):
            sealer = await stack.enter_async_context(
                service_process("lictor_sealer", servers.endpoints, **environment)
            )
            await wait_until_ready(client, "sealer")
            await reach(client, "EPISODES", len(closed) * number // (KILLS + 1) + 1)
            sealer.kill()
            await sealer.wait()
        before = await sized_stream(client, "EPISODES")
        await stack.enter_async_context(
            service_process("lictor_sealer", servers.endpoints, **environment)
        )
        bundles = await sealed_bundles(client, len(closed))
        assert before < len(closed)

    trust = TrustStore.load(tmp_path / "trust.json")
    assert all(verify_bundle(body, trust).ok for body in bundles)
    parsed = [SealBundle.from_bytes(body) for body in bundles]
    assert [bundle.leaf_index for bundle in parsed] == list(range(len(closed)))
    assert {bundle.sealed_episode["taskId"] for bundle in parsed} == closed
    # The root that the last checkpoint signs is the root of exactly these leaves.
    root = tree_root([leaf_data(bundle.sealed_episode) for bundle in parsed])
    assert parsed[-1].checkpoint.splitlines()[2] == b64encode(root).decode()


async def closed_tasks(client) -> set[str]:
    closed: set[str] = set()
    sequence = 1
    while page := await read_from(client, "DECISIONS", subjects.DECISION.all, sequence, 500):
        records = (json.loads(stored.body) for stored in page)
        closed |= {record["task_id"] for record in records if record["task_closed"]}
        sequence = page[-1].sequence + 1
    return closed


async def sealed_bundles(client, count: int) -> list[bytes]:
    """Wait for that many sealed episodes and return them in log order."""
    found: list[bytes] = []
    sequence = 1
    async with asyncio.timeout(120):
        while len(found) < count:
            page = await read_from(client, "EPISODES", subjects.EPISODE.all, sequence, 200)
            found += (stored.body for stored in page)
            if page:
                sequence = page[-1].sequence + 1
            else:
                await asyncio.sleep(0.02)
    return found
