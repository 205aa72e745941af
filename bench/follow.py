"""How soon a follower has a decision that was stored, beside a bare nats-py consumer measured in the same run.

`heard` is the time from when the broker stored a decision (by its own clock, on the same machine) to when a follower
that waits for it has it: the SDK's, which is rung by the live copy and asks the evaluator; the operators', which has a
JetStream consumer of its own; and a bare nats-py pull subscription. `decision_on` is the time from the acknowledged
event to the SDK's answer, evaluation included, read in the two ways of the SDK; the bare consumer waits from the same
moment. Rounds alternate, one event at a time, medians are compared.

`copies_ratio` is the events per second of `bench/pipeline.py` with live copies of decisions by those without, the
stream being changed between rounds.

    python bench/follow.py [--events 300] [--rounds 3] [--pipeline 10000] [--json]
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.js.api import ConsumerConfig, DeliverPolicy

import lictor
from lictor.governor import Governor
from lictor.history.everyones_history import EveryonesHistory
from lictor.history.own_history import OwnHistory
from lictor.history.stored_history import StoredHistory
from lictor_bus.gates.history import DECISIONS
from lictor_bus.names import streams, subjects
from lictor_local.embedded_servers import EmbeddedServers

sys.path.insert(0, str(Path(__file__).parent))
from pipeline import timed
from reporting import emit, service_process, wait_until_ready
from workload import story_events

RUNTIME = "bench"
WARM_UP = 20

Heard = AsyncGenerator[int, None]
"""Nanoseconds from stored to heard, for each decision."""


async def by(history: StoredHistory) -> Heard:
    """As the SDK follows."""
    async with aclosing(history.follow(DECISIONS, from_start=False)) as stored:
        async for delivery in stored:
            yield time.time_ns() - delivery.stored_at_ns


async def bare(client: Client) -> Heard:
    """The floor: one pull subscription, one message at a time."""
    config = ConsumerConfig(deliver_policy=DeliverPolicy.NEW)
    subscription = await client.jetstream().pull_subscribe(
        subjects.DECISION.where(runtime=RUNTIME), stream=streams.DECISIONS, config=config
    )
    while True:
        for message in await subscription.fetch(1, timeout=60):
            yield time.time_ns() - int(message.metadata.timestamp.timestamp() * 1e9)


async def heard(follow: Callable[[], Heard], governor: Governor, events: int) -> list[int]:
    """How late each of so many decisions was, one after the other."""
    found: list[int] = []
    async with aclosing(follow()) as late:
        for number in range(events + WARM_UP):
            waiting = asyncio.ensure_future(anext(late))
            # A follower that has not begun would miss it.
            await asyncio.sleep(0.2 if number == 0 else 0.005)
            await begin_task(governor)
            found.append(await waiting)
    return found[WARM_UP:]


async def decided(governor: Governor, events: int) -> list[int]:
    """From the acknowledged event to the SDK's answer."""
    found: list[int] = []
    for _ in range(events + WARM_UP):
        published = await begin_task(governor)
        started = time.perf_counter_ns()
        await governor.decision_on(published, timeout_s=60)
        found.append(time.perf_counter_ns() - started)
    return found[WARM_UP:]


async def decided_bare(client: Client, governor: Governor, events: int) -> list[int]:
    """From the acknowledged event to the bare consumer's message."""
    found: list[int] = []
    async with aclosing(bare(client)) as late:
        for number in range(events + WARM_UP):
            waiting = asyncio.ensure_future(anext(late))
            await asyncio.sleep(0.2 if number == 0 else 0.005)
            await begin_task(governor)
            started = time.perf_counter_ns()
            await waiting
            found.append(time.perf_counter_ns() - started)
    return found[WARM_UP:]


async def begin_task(governor: Governor) -> lictor.Published:
    """One small event: each has a task of its own, whose history is short."""
    start = {
        "title": "t",
        "mode": "interactive",
        "workflow_shape": "single-agent",
        "channel": "terminal",
    }
    return await governor.task(str(uuid.uuid4())).emit("task_started", start)


async def copies(client: Client, events: int, rounds: int) -> list[float]:
    """Events per second with live copies by those without, in rounds that alternate."""
    js = client.jetstream()
    config = (await js.stream_info(streams.DECISIONS)).config
    copied = config.republish
    ratios: list[float] = []
    for number in range(rounds + 1):
        seconds: dict[bool, float] = {}
        for is_copied in (bool(number % 2), not number % 2):
            config.republish = copied if is_copied else None
            await js.update_stream(config)
            told = story_events(events, prefix=f"copies{number}{is_copied}")
            seconds[is_copied] = await timed(client, streams.DECISIONS, told)
        if number:  # the first round warms up
            ratios.append(seconds[False] / seconds[True])
    return ratios


async def measure(events: int, rounds: int, pipeline: int) -> dict[str, object]:
    """All of it on one pair of servers."""
    heards: dict[str, list[float]] = {}
    decisions: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        async with EmbeddedServers(Path(folder)) as servers:
            url = servers.endpoints.nats_url
            client = await nats.connect(url)
            async with service_process("lictor_policy_evaluator", servers.endpoints):
                await wait_until_ready(client, "policy-evaluator")
                async with (
                    lictor.connect(url, runtime=RUNTIME) as governor,
                    lictor.connect(url, runtime=RUNTIME, reads_all=True) as operator,
                ):
                    followers: dict[str, Callable[[], Heard]] = {
                        "sdk": lambda: by(OwnHistory(client, RUNTIME)),
                        "operators": lambda: by(EveryonesHistory(client)),
                        "bare": lambda: bare(client),
                    }
                    waits: dict[str, Callable[[], Awaitable[list[int]]]] = {
                        "sdk": lambda: decided(governor, events),
                        "operators": lambda: decided(operator, events),
                        "bare": lambda: decided_bare(client, governor, events),
                    }
                    for _ in range(rounds):
                        for name, follow in followers.items():
                            found = await heard(follow, governor, events)
                            heards.setdefault(name, []).append(statistics.median(found) / 1e6)
                        for name, wait in waits.items():
                            found = await wait()
                            decisions.setdefault(name, []).append(statistics.median(found) / 1e6)
                ratios = await copies(client, pipeline, rounds)
            await client.close()
    ms = {name: statistics.median(found) for name, found in heards.items()}
    on_ms = {name: statistics.median(found) for name, found in decisions.items()}
    return {
        "events": events,
        "rounds": rounds,
        **{f"heard_{name}_ms": round(value, 2) for name, value in ms.items()},
        "heard_ratio": round(ms["sdk"] / ms["bare"], 2),
        "heard_ratio_operators": round(ms["operators"] / ms["bare"], 2),
        **{f"decision_on_{name}_ms": round(value, 2) for name, value in on_ms.items()},
        "decision_on_ratio": round(on_ms["sdk"] / on_ms["bare"], 2),
        "decision_on_ratio_operators": round(on_ms["operators"] / on_ms["bare"], 2),
        "copies_ratio": round(statistics.median(ratios), 3),
        "copies_ratios_by_round": [round(each, 3) for each in ratios],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="From a stored decision to its follower.")
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pipeline", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    emit(
        "follow: from a stored decision to its follower",
        asyncio.run(measure(options.events, options.rounds, options.pipeline)),
        options.json,
    )


if __name__ == "__main__":
    main()
