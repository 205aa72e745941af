"""Events per second through the evaluator, beside the floor: a bare nats-py echo, measured in the same run.

Both are measured the same way: this process publishes N events in atomic batches of 500 and waits until N decisions
are durable; one other process turns events into decisions. The floor's process (below, sharing no code with
``libs/bus``) does nothing else: overlapping raw pulls on an inbox of its own, one constant decision an event, atomic
batches of 500, one acknowledgement a batch; no parsing, no Redis, no telemetry. Rounds alternate, medians are compared.

    python bench/pipeline.py [--events 20000] [--rounds 3] [--json]
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import StreamConfig

from lictor_local.embedded_servers import EmbeddedServers, Endpoints

sys.path.insert(0, str(Path(__file__).parent))
from reporting import (
    BATCH,
    emit,
    publish_events,
    reach,
    service_process,
    sized_stream,
    wait_until_ready,
)
from workload import story_events

# As large as the average decision record that the evaluator writes for this workload.
DECISION = json.dumps(
    {"decision": "allow", "reason": "no rule matched this event", "pad": "x" * 1750}
)


async def floor_worker(url: str) -> None:
    """The floor: echo every event as one constant decision."""
    client = await nats.connect(url)
    arrived: asyncio.Queue[Msg] = asyncio.Queue()
    inbox = client.new_inbox()

    async def on_message(message: Msg) -> None:
        if message.reply:
            arrived.put_nowait(message)

    await client.subscribe(inbox, cb=on_message, pending_msgs_limit=-1, pending_bytes_limit=-1)
    pull = json.dumps({"batch": BATCH, "expires": 30_000_000_000}).encode()
    next_subject = "$JS.API.CONSUMER.MSG.NEXT.FLOOR_IN.floor"
    body = DECISION.encode()
    asked = 0
    for _ in range(3):
        await client.publish(next_subject, pull, reply=inbox)
        asked += BATCH
    while True:
        messages = [await arrived.get()]
        while not arrived.empty() and len(messages) < BATCH:
            messages.append(arrived.get_nowait())
        asked -= len(messages)
        while asked < 2 * BATCH:
            await client.publish(next_subject, pull, reply=inbox)
            asked += BATCH
        batch = uuid.uuid4().hex
        for number in range(1, len(messages)):
            await client.publish(
                "floor.out",
                body,
                headers={"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)},
            )
        answer = await client.request(
            "floor.out",
            body,
            timeout=30,
            headers={
                "Nats-Batch-Id": batch,
                "Nats-Batch-Sequence": str(len(messages)),
                "Nats-Batch-Commit": "1",
            },
        )
        if b'"error"' in answer.data:
            raise RuntimeError(answer.data.decode())
        await client.publish(messages[-1].reply, b"+ACK")


@asynccontextmanager
async def floor(client: Client, endpoints: Endpoints) -> AsyncIterator[None]:
    """Streams and process of the floor."""
    js = client.jetstream()
    await js.add_stream(StreamConfig(name="FLOOR_IN", subjects=["floor.in.*"], allow_atomic=True))
    await js.add_stream(StreamConfig(name="FLOOR_OUT", subjects=["floor.out"], allow_atomic=True))
    config = {
        "durable_name": "floor",
        "ack_policy": "all",
        "max_ack_pending": -1,
        "ack_wait": 60_000_000_000,
    }
    await client.request(
        "$JS.API.CONSUMER.DURABLE.CREATE.FLOOR_IN.floor",
        json.dumps({"stream_name": "FLOOR_IN", "config": config}).encode(),
        timeout=5,
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--floor-worker", endpoints.nats_url
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def timed(client: Client, stream: str, events: list[tuple[str, bytes]]) -> float:
    """Seconds from the first publish until every decision is durable."""
    before = await sized_stream(client, stream)
    started = time.perf_counter()
    await publish_events(client, events)
    await reach(client, stream, before + len(events), timeout_s=300)
    return time.perf_counter() - started


async def measure(count: int, rounds: int) -> dict[str, object]:
    """Alternate floor and evaluator on one pair of servers."""
    floors: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        async with EmbeddedServers(Path(folder)) as servers:
            client = await nats.connect(servers.endpoints.nats_url)
            async with (
                floor(client, servers.endpoints),
                service_process("lictor_policy_evaluator", servers.endpoints),
            ):
                await wait_until_ready(client, "policy-evaluator")
                for number in range(rounds + 1):
                    events = story_events(count, prefix=f"round{number}")
                    floor_events = [
                        (f"floor.in.{i % 64}", body) for i, (_, body) in enumerate(events)
                    ]
                    floor_rate = count / await timed(client, "FLOOR_OUT", floor_events)
                    our_rate = count / await timed(client, "DECISIONS", events)
                    if number:  # the first round warms up
                        floors.append(floor_rate)
                        ours.append(our_rate)
            await client.close()
    floor_rate, our_rate = statistics.median(floors), statistics.median(ours)
    return {
        "events": count,
        "rounds": rounds,
        "events_per_s": round(our_rate),
        "floor_per_s": round(floor_rate),
        "ratio_to_floor": round(our_rate / floor_rate, 3),
        "ratios_by_round": [round(a / b, 3) for a, b in zip(ours, floors, strict=True)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Events per second, beside a bare echo.")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--floor-worker", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor_worker:
        asyncio.run(floor_worker(options.floor_worker))
        return
    emit(
        "pipeline: events/s, publish -> durable event -> durable decision",
        asyncio.run(measure(options.events, options.rounds)),
        options.json,
    )


if __name__ == "__main__":
    main()
