"""Where `lictor runs` finds runs, and how a journal reads."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.ids import RUN, NoSuchId, whole_id
from lictor.stored import extent, streams_at
from lictor_bus import subjects
from lictor_bus.entry_logs import all_entries
from lictor_bus.streams import RUNS
from lictor_schema import (
    AnyRunEntry,
    EffectDone,
    EffectFailed,
    EffectStarted,
    RunFinished,
    RunStarted,
    RunTakenOver,
    UndoDone,
    UndoFailed,
    UndoStarted,
    canonical_json,
    parse_run_entry,
)

EVERY_RUN = "lictor.run.*.*"
_HAPPENED = {"no": "not done", "yes": "done, unusable", "unknown": "in doubt"}


@asynccontextmanager
async def runs_at(url: str | None) -> AsyncGenerator[Client, None]:
    """A connection to a broker that has runs."""
    async with streams_at(url, "runs") as client:
        await extent(client, RUNS)
        yield client


async def all_runs(client: Client) -> dict[str, list[AnyRunEntry]]:
    """The journal of every run by its id, in the order they began."""
    journals: dict[str, list[AnyRunEntry]] = {}
    async for _, entry in all_entries(client, RUNS, EVERY_RUN, parse_run_entry):
        journals.setdefault(entry.run_id, []).append(entry)
    return journals


async def find_run(client: Client, given: str) -> list[AnyRunEntry]:
    """The journal of a run; its first characters name it where they are enough."""
    try:
        run_id = await whole_id(client, RUN, given)
    except NoSuchId as error:
        raise NoSuchId(
            f"{error} `lictor approvals show` tells why a request did not run."
        ) from None
    subject = f"lictor.run.*.{subjects.token(run_id)}"
    entries = [entry async for _, entry in all_entries(client, RUNS, subject, parse_run_entry)]
    if not entries:
        raise LictorError(f"there is nothing about run {run_id} that can be read.")
    return entries


def begun(entries: Sequence[AnyRunEntry]) -> RunStarted | None:
    """How it began; None when its runner was gone before it was written."""
    return next((each for each in entries if isinstance(each, RunStarted)), None)


def ended(entries: Sequence[AnyRunEntry]) -> RunFinished | None:
    """How it ended, if it did."""
    return next((each for each in entries if isinstance(each, RunFinished)), None)


@dataclass(frozen=True)
class Line:
    """One effect, for people."""

    call: int
    effect: str
    became: str
    told: str


def lines(entries: Sequence[AnyRunEntry]) -> list[Line]:
    """Every effect, with what became of it."""
    found: dict[int, Line] = {}
    for entry in entries:
        match entry:
            case EffectStarted():
                found[entry.call] = Line(entry.call, entry.effect, "started", _given(entry))
            case EffectDone():
                old = found[entry.call]
                told = canonical_json(entry.result).decode() if entry.kept else entry.result_hash
                found[entry.call] = replace(old, became="done", told=f"{old.told} -> {told}")
            case EffectFailed():
                old = found[entry.call]
                told = f"{old.told} !! {entry.reason.code}: {entry.reason.message}"
                found[entry.call] = replace(old, became=_HAPPENED[entry.happened], told=told)
            case UndoStarted():
                found[entry.call] = replace(found[entry.call], became="being undone")
            case UndoDone():
                found[entry.call] = replace(found[entry.call], became="undone")
            case UndoFailed():
                old = found[entry.call]
                told = f"{old.told} !! {entry.reason.code}: {entry.reason.message}"
                found[entry.call] = replace(old, became="not undone", told=told)
            case RunStarted() | RunTakenOver() | RunFinished():
                pass
    return list(found.values())


def _given(entry: EffectStarted) -> str:
    parts = (f"{name}={canonical_json(value).decode()}" for name, value in entry.arguments.items())
    return f"({', '.join(parts)})"
