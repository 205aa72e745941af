"""Compares what was acknowledged with what came of it: decisions, episodes, gates, and a replay."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

from installation import Agents
from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor.history.stream_replay import replay
from lictor_bus.errors import BusError
from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import read_all
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import SealBundle

# When nothing comes for so long, on a machine however loaded, then it does not come.
QUIET_S = 180.0


@dataclass
class Found:
    """What the streams hold."""

    events: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By event id, where it is stored."""
    decisions: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By event id, the sequences that decisions on it name."""
    closed: Counter[str] = field(default_factory=Counter)
    """How often each task was closed."""
    episodes: dict[str, list[SealedEpisode]] = field(default_factory=lambda: defaultdict(list))
    gates: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By task, when records of gates were stored, in microseconds."""
    seen: Counter[str] = field(default_factory=Counter)
    """By stream, up to where it was read."""

    @property
    def unfinished(self) -> tuple[int, int]:
        """Events without a decision, and closings without an episode."""
        undecided = sum(not self.decisions.get(each) for each in self.events)
        return undecided, sum(
            times > len(self.episodes.get(task, ())) for task, times in self.closed.items()
        )


async def look(client: Client, found: Found) -> None:
    """Read what is new since the last look."""
    async for stored in _new(client, found, "EVENTS", "lictor.ev.*.bench.*"):
        found.events[json.loads(stored.body)["event_id"]].append(stored.sequence)
    async for stored in _new(client, found, "DECISIONS", subjects.DECISION.any):
        record = json.loads(stored.body)
        if record["runtime"] == "bench":
            found.decisions[record["event_id"]].append(record["event_sequence"])
            found.closed[record["task_id"]] += record["task_closed"]
    async for stored in _new(client, found, "EPISODES", subjects.EPISODE.any):
        episode = _episode(stored)
        found.episodes[episode.task_id].append(episode)
    async for stored in _new(client, found, "GATES", subjects.GATED.any):
        found.gates[stored.subject.rpartition(".")[2]].append(stored.stored_at_ns // 1000)


async def _new(client: Client, found: Found, stream: str, subject: str) -> AsyncIterator[Delivery]:
    async for stored in read_all(client, stream, subject, 500, after=found.seen[stream]):
        yield stored
        found.seen[stream] = stored.sequence


async def until_settled(client: Client) -> Found:
    """Wait until all is decided and sealed, or until nothing has come for long."""
    found = Found()
    before: Counter[str] | None = None
    since = time.monotonic()
    while found.seen != before or time.monotonic() - since < QUIET_S:
        if found.seen != before:
            before, since = found.seen.copy(), time.monotonic()
        with suppress(BusError, NatsError):
            await look(client, found)
            if found.events and found.unfinished == (0, 0):
                break
        await asyncio.sleep(0.5)
    return found


async def check(client: Client, agents: Agents) -> None:
    """Everything that was promised, in the order in which it breaks."""
    found = await until_settled(client)
    lost = agents.acknowledged.keys() - found.events.keys()
    assert not lost, f"acknowledged and not stored: {sorted(lost)}"
    moved = {
        event: (sequence, found.events[event])
        for event, sequence in agents.acknowledged.items()
        if sequence and sequence not in found.events[event]
    }
    assert not moved, f"stored elsewhere than confirmed: {moved}"
    undecided = {event: at for event, at in found.events.items() if not found.decisions.get(event)}
    assert not undecided, f"without a decision: {undecided}"
    wrong = {
        event: (found.events.get(event), named)
        for event, named in found.decisions.items()
        if len(named) != 1 or named[0] not in found.events.get(event, ())
    }
    assert not wrong, f"decided more than once, or of another sequence (stored, named): {wrong}"
    letters = [
        (each.letter.service, each.letter.stream, each.letter.sequence, each.letter.reason)
        async for each in list_dead(client)
    ]
    assert not letters, letters
    unsealed = {
        task: (times, len(found.episodes.get(task, ())))
        for task, times in found.closed.items()
        if times != len(found.episodes.get(task, ()))
    }
    assert not unsealed, f"closed otherwise than sealed (closed, sealed): {unsealed}"
    gated = {task: _gates(found, task) for task in agents.gated & found.episodes.keys()}
    assert any(on_record for _, on_record in gated.values())
    short = {task: counted for task, counted in gated.items() if counted[0] != counted[1]}
    assert not short, f"episodes without all gate records (sealed, on record): {short}"
    report = await replay(client)
    assert (report.differing, report.undecided) == (0, 0), report
    assert report.same == len(found.decisions)


def _episode(stored: Delivery) -> SealedEpisode:
    bundle = SealBundle.from_bytes(stored.body)
    return SealedEpisode.from_json(canonical_json(dict(bundle.sealed_episode)))


def _gates(found: Found, task: str) -> tuple[int, int]:
    """How many records of gates are sealed with a task, and how many were on record when it was closed last."""
    sources = [episode.sources for episode in found.episodes[task] if episode.sources is not None]
    until_us = max(each.covered_until_us for each in sources)
    strands = [strand for each in sources for strand in each.strands if strand.name == "gates"]
    return sum(each.count for each in strands), sum(at <= until_us for at in found.gates[task])
