"""Where `lictor drift` finds drift and its handling."""

import json
from argparse import ArgumentParser
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client

from lictor.history.stream_contents import extent, streams_at
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import subjects
from lictor_bus.names.streams import DRIFT
from lictor_schema.contracts.drift import DriftEvent, TriageEntry, TriageState


@dataclass(frozen=True, slots=True)
class Handled:
    """A drift event and the steps of its handling."""

    event: DriftEvent
    steps: tuple[TriageEntry, ...]

    @property
    def state(self) -> TriageState:
        """Where it stands."""
        return self.steps[-1].state if self.steps else TriageState.NEW


def drift_argument(parser: ArgumentParser) -> None:
    """The drift event's id."""
    parser.add_argument("drift", metavar="DRIFT_ID", help="its id, or its first characters")


@asynccontextmanager
async def drift_at(url: str | None) -> AsyncGenerator[Client, None]:
    """A connection to a broker that has drift."""
    async with streams_at(url, "drift") as client:
        await extent(client, DRIFT)
        yield client


async def handled_drift(client: Client) -> list[Handled]:
    """Every drift event with its handling, in the order they were published."""
    entries = [
        entry
        async for _, entry in all_entries(client, DRIFT, subjects.TRIAGE.any, TriageEntry.from_json)
    ]
    return handled(entries)


def handled(entries: Iterable[TriageEntry]) -> list[Handled]:
    """The drift events that entries tell of, in their order."""
    events: dict[str, DriftEvent] = {}
    steps: dict[str, list[TriageEntry]] = {}
    for entry in entries:
        if entry.event is not None:
            # Published again, because it was seen worse, it keeps its place.
            known = events.setdefault(entry.drift_id, entry.event)
            if entry.event.severity.rank > known.severity.rank:
                events[entry.drift_id] = entry.event
            steps.setdefault(entry.drift_id, [entry])
        elif entry.drift_id in steps:
            steps[entry.drift_id].append(entry)
    return [Handled(event, tuple(steps[drift_id])) for drift_id, event in events.items()]


def handled_as_json(each: Handled) -> dict[str, Any]:
    """For `--json`."""
    return {
        "state": each.state.value,
        "event": json.loads(each.event.to_json()),
        "steps": [
            {**json.loads(step.to_json()), "event": None}
            for step in each.steps
            if step.state is not TriageState.NEW
        ],
    }
