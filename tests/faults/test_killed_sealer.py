"""Kill the sealer while it seals: every closed task is sealed once, and the log neither forks nor skips."""

import asyncio
import json
from base64 import b64encode
from contextlib import AsyncExitStack
from pathlib import Path

import nats
import pytest
from closing_bus import record
from lossy_wire import LossyWire
from reporting import publish_events, reach, service_process, sized_stream, wait_until_ready
from workload import story_events

from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_seal import SealBundle, TrustStore, leaf_data, tree_root, verify_bundle
from lictor_sealer.log.head_file import Remembered

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


@pytest.mark.parametrize("is_stored", [False, True], ids=["not published", "not confirmed"])
async def test_a_kill_between_remembering_and_confirming_an_append_seals_it_once(
    own_servers: EmbeddedServers, tmp_path: Path, is_stored: bool
) -> None:
    environment = {"LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"), "LICTOR_SEAL_KEY_CREATE": "1"}
    direct = own_servers.endpoints
    async with LossyWire(direct.nats_url).running() as wire, AsyncExitStack() as stack:
        client = await nats.connect(direct.nats_url)
        stack.push_async_callback(client.close)

        async def start(endpoints: Endpoints) -> asyncio.subprocess.Process:
            sealer = await stack.enter_async_context(
                service_process("lictor_sealer", endpoints, **environment)
            )
            await wait_until_ready(client, "sealer")
            return sealer

        sealer = await start(Endpoints(wire.url, direct.redis_url))
        await close_task(client, "first")
        async with asyncio.timeout(60):
            # The answer to this one is not the one to be lost.
            while not is_confirmed(tmp_path / "signed-head"):
                await asyncio.sleep(0.02)
        if is_stored:
            wire.lose_answers(that_hold=b'"stream":"EPISODES","seq"', hang=True)
        else:
            wire.lose_questions(that_hold=b"HPUB lictor.log.checkpoint", hang=True)
        await close_task(client, "second")
        async with asyncio.timeout(60):
            await wire.lost.wait()
        if is_stored:
            await reach(client, "EPISODES", 4)
        sealer.kill()
        await sealer.wait()
        remembered = Remembered.from_bytes((tmp_path / "signed-head").read_bytes())
        assert remembered.pending is not None
        assert remembered.pending.tree.frontier.size == 2
        assert await sized_stream(client, "EPISODES") == (4 if is_stored else 2)
        await start(direct)
        await close_task(client, "third")
        bundles = await sealed_bundles(client, 3)

    trust = TrustStore.load(tmp_path / "trust.json")
    assert all(verify_bundle(body, trust).ok for body in bundles)
    parsed = [SealBundle.from_bytes(body) for body in bundles]
    assert [each.sealed_episode["taskId"] for each in parsed] == ["first", "second", "third"]
    root = tree_root([leaf_data(each.sealed_episode) for each in parsed])
    assert parsed[-1].checkpoint.splitlines()[2] == b64encode(root).decode()


def is_confirmed(file: Path) -> bool:
    return file.exists() and Remembered.from_bytes(file.read_bytes()).pending is None


async def close_task(client, task: str) -> None:
    closing = record("e1", closes=True, task=task)
    message = Outgoing(subjects.decision(closing.runtime, "allow", task), closing.to_json())
    await publish_one(client, "DECISIONS", message)


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
