"""A task with any number of decision records is sealed whole, and the sealer's memory hardly grows with them."""

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from closing_bus import record
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

from lictor.history.episode_bundle import bundle_lines
from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_batch
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.seals.episode import LISTED_RECORDS
from lictor_seal import SealBundle, TrustStore, verify_file
from lictor_sealer.episode import gathering

TASK = "long"
_BATCH = 500


async def test_a_task_with_more_records_than_a_leaf_names_is_sealed_whole(
    own_servers: EmbeddedServers, tmp_path: Path
) -> None:
    await seal_long_task(own_servers, tmp_path, 1_500)


@pytest.mark.slow
async def test_a_task_with_fifty_thousand_records_is_sealed_in_bounded_memory(
    own_servers: EmbeddedServers, tmp_path: Path
) -> None:
    short = await seal_long_task(own_servers, tmp_path, 1_000, "short")
    peak = await seal_long_task(own_servers, tmp_path, 50_000)
    # 20 000 records once took a gigabyte more than few did, and more than that were not sealed at all.
    assert peak < short + 150


async def seal_long_task(
    servers: EmbeddedServers, folder: Path, count: int, task: str = TASK
) -> int:
    """Have a sealer of its own seal a task, check what it made, and tell the most memory it had in MiB."""
    environment = {
        "LICTOR_SEAL_KEY": str(folder / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
    }
    async with AsyncExitStack() as stack:
        client = await connect_nats(servers.endpoints.nats_url, name="test")
        stack.push_async_callback(close_nats, client)
        await streams.declare(client, streams.DECISIONS, streams.EPISODES, *gathering.STREAMS)
        await fill(client, task, count)
        sealer = await stack.enter_async_context(
            service_process("lictor_sealer", servers.endpoints, **environment)
        )
        await wait_until_ready(client, "sealer")
        stored = await sealed(client, task)
        peak = peak_mb(sealer.pid)
        episode = SealBundle.from_bytes(stored.body).sealed_episode
        assert len(stored.body) < 100_000
        assert len(episode["records"]) == LISTED_RECORDS  # type: ignore[arg-type]
        file = folder / f"{task}.seal"
        with file.open("wb") as output:
            async for line in bundle_lines(client, stored.body):
                output.write(line)
        with file.open("rb") as exported:
            report = verify_file(exported, TrustStore.load(folder / "trust.json"))
        assert report.verified is not None, report.failures
        assert report.verified.contents is not None
        assert [(each.name, each.count) for each in report.verified.contents.strands] == [
            ("records", count),
            ("events", count),
        ]
        return peak


async def fill(client: Client, task: str, count: int) -> None:
    """The events of a task, and a record for each; the last one closes it."""
    first = (await client.jetstream().stream_info(streams.EVENTS)).state.last_seq + 1
    plain = record("e0", task=task)
    for start in range(0, count, _BATCH):
        numbers = range(start, min(start + _BATCH, count))
        events = {number: b'{"n":%d,"text":"%b"}' % (number, b"x" * 800) for number in numbers}
        subject = subjects.event("test", task)
        batch = [Outgoing(subject, body) for body in events.values()]
        await publish_batch(client, streams.EVENTS, batch)
        records = [
            (record("e0", task=task, closes=True) if number + 1 == count else plain).model_copy(
                update={
                    "record_id": f"00000000-0000-5000-8000-{number:012}",
                    "event_id": f"e{number}",
                    "event_sequence": first + number,
                    "event_sha256": hash_bytes(body),
                }
            )
            for number, body in events.items()
        ]
        subject = subjects.decision(records[0].runtime, "allow", task)
        await publish_batch(
            client, streams.DECISIONS, [Outgoing(subject, each.to_json()) for each in records]
        )


async def sealed(client: Client, task: str) -> Delivery:
    async with asyncio.timeout(540):
        while True:
            for stored in await read_from(client, streams.EPISODES, subjects.EPISODE.any, 1, 10):
                if f'"taskId":"{task}"'.encode() in stored.body:
                    return stored
            assert [letter async for letter in list_dead(client)] == []
            await asyncio.sleep(0.2)


def peak_mb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) // 1024
