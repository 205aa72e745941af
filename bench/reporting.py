"""What the benchmarks share: one result as JSON or table, service processes, waiting."""

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor_bus.errors import BrokerUnreachable
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.read import last_sequence
from lictor_local.embedded_servers import Endpoints

ROOT = Path(__file__).resolve().parent.parent
BATCH = 500


def emit(title: str, result: Mapping[str, object], as_json: bool) -> None:
    """One JSON object, or a table for people."""
    if as_json:
        print(json.dumps(result))
        return
    print(title)
    width = max(map(len, result))
    for name, value in result.items():
        print(f"  {name:<{width}}  {value}")


async def start_cold(module: str, environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """A module of ours in a Python of its own."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, cwd=ROOT, env=environment
    )


start_module = start_cold
"""How services start; the tests have them start warm."""


async def apply_streams(nats_url: str, environment: Mapping[str, str] = os.environ) -> None:
    """Do what `lictor streams apply` does, where NATS runs already and has no users: else only `deploy` may."""
    if "@" in nats_url:
        return
    try:
        client = await connect_nats(nats_url, name="streams")
    except BrokerUnreachable:
        return
    partitions = int(environment.get("LICTOR_PARTITIONS") or streams.DEFAULT_PARTITIONS)
    try:
        await streams.declare(client, *streams.STREAMS, partitions=partitions)
    finally:
        await close_nats(client)


@asynccontextmanager
async def service_process(
    module: str, endpoints: Endpoints, **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A service as a child process, with the streams that it needs; ended at exit."""
    await apply_streams(endpoints.nats_url, environment)
    whole = {
        **os.environ,
        "LICTOR_NATS_URL": endpoints.nats_url,
        "LICTOR_REDIS_URL": endpoints.redis_url,
        "LICTOR_LOG_LEVEL": "WARNING",
        **environment,
    }
    process = await start_module(module, whole)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def wait_until_ready(client: Client, service: str, timeout_s: float = 30) -> None:
    """Ask the service's health until it says ready."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            answer = await client.request(subjects.health(service), b"", timeout=1)
            if json.loads(answer.data)["ready"]:
                return
        except NatsError:
            pass
        await asyncio.sleep(0.05)
    raise RuntimeError(f"{service} was not ready in {timeout_s} s")


async def sized_stream(client: Client, stream: str) -> int:
    """How many messages the stream holds."""
    return (await client.jetstream().stream_info(stream)).state.messages


async def reach(client: Client, stream: str, messages: int, timeout_s: float = 120) -> None:
    """Wait until the stream holds that many messages."""
    deadline = time.monotonic() + timeout_s
    while (found := await sized_stream(client, stream)) < messages:
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"{stream} holds {found} messages after {timeout_s} s, not {messages}"
            )
        await asyncio.sleep(0.02)


async def acknowledged(client: Client, stream: str, durable: str, timeout_s: float = 60) -> None:
    """Wait until the consumer's worker has acknowledged all that its stream holds for it now.

    By sequence: the broker counts a message as pending only a moment after it has said that it is stored.
    """
    js, deadline = client.jetstream(), time.monotonic() + timeout_s
    info = await js.consumer_info(stream, durable)
    newest = await last_sequence(
        client, stream, info.config.filter_subject or ">", timeout_s=timeout_s
    )
    while (done := info.ack_floor.stream_seq if info.ack_floor else 0) < newest:
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"{durable} acknowledged {done} of {stream} in {timeout_s} s, not {newest}"
            )
        await asyncio.sleep(0.02)
        info = await js.consumer_info(stream, durable)


async def publish_events(client: Client, events: list[tuple[str, bytes]]) -> None:
    """Store the events in atomic batches; returns when the last batch is durable."""
    for start in range(0, len(events), BATCH):
        chunk = events[start : start + BATCH]
        batch = uuid.uuid4().hex
        for number, (subject, body) in enumerate(chunk, 1):
            headers = {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
            if number < len(chunk):
                await client.publish(subject, body, headers=headers)
                continue
            headers["Nats-Batch-Commit"] = "1"
            answer = json.loads(
                (await client.request(subject, body, timeout=30, headers=headers)).data
            )
            if "error" in answer:
                raise RuntimeError(f"the broker refused a batch: {answer['error']}")
