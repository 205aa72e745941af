"""Where `lictor runs` finds runs, and how a journal reads."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.id_prefixes import REQUEST, RUN, NoSuchId, whole_id
from lictor.history.stream_contents import extent, streams_at
from lictor_approval.errors import BrokenLog
from lictor_approval.request_binding import why_not_journal_of
from lictor_approval.request_life import RequestLife, folded, kind_of
from lictor_bus.logs.entry_logs import all_entries, approval_log
from lictor_bus.names import subjects
from lictor_bus.names.streams import RUNS
from lictor_cli.output.terminal import at_terminal, warn
from lictor_schema.approvals.approval import ApprovalState
from lictor_schema.approvals.run import (
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
    parse_run_entry,
)
from lictor_schema.core.canonical_json import canonical_json

EVERY_RUN = subjects.RUN.any
_SOON_S = 30.0
"""A run begins within this time of its approval, unless the runner is away or has much to do."""
_LOOK_S = 0.2
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
    """The journal of a run; its first characters name it where they are enough.

    A run whose approval is a moment old is waited for until it has ended: the runner starts it by itself.
    """
    run_id = await _run_named(client, given)
    told = False
    deadline = time.monotonic() + _SOON_S
    while True:
        # In this order: the end of a run is in its journal before the request says so.
        life, entries = await _request(client, run_id), await _journal(client, run_id)
        waits = _is_fresh(life) and time.monotonic() < deadline
        if entries and (ended(entries) is not None or not waits):
            return _believed(entries, life)
        if not waits:
            raise _did_not_run(run_id, life)
        if not told and at_terminal():
            warn("it was approved a moment ago; waiting for it to run")
            told = True
        await asyncio.sleep(_LOOK_S)


def _believed(entries: list[AnyRunEntry], life: RequestLife | None) -> list[AnyRunEntry]:
    """The journal, if it is that of what was approved; a request that is not kept any more says nothing against it."""
    foreign = None if life is None else why_not_journal_of(life.request, entries)
    if foreign is not None:
        raise LictorError(
            f"run {entries[0].run_id}: {foreign}; nothing in it is believed. Find out who else wrote to stream RUNS."
        )
    return entries


async def _run_named(client: Client, given: str) -> str:
    """The id of a request, or of a run whose request is not kept any more."""
    try:
        return await whole_id(client, REQUEST, given)
    except NoSuchId:
        pass
    return await whole_id(client, RUN, given)


async def _journal(client: Client, run_id: str) -> list[AnyRunEntry]:
    subject = subjects.RUN.where(request=subjects.token(run_id))
    return [entry async for _, entry in all_entries(client, RUNS, subject, parse_run_entry)]


async def _request(client: Client, run_id: str) -> RequestLife | None:
    try:
        return folded(entry for _, entry in (await approval_log(client, run_id)).entries)
    except BrokenLog:
        return None


def _is_fresh(life: RequestLife | None) -> bool:
    """Whether it may be about to run, or to end: what was approved long ago is shown as it stands."""
    if (
        life is None
        or kind_of(life) == "call"
        or life.state not in (ApprovalState.APPROVED, ApprovalState.EXECUTING)
    ):
        return False
    since = datetime.now(UTC) - datetime.fromisoformat(life.changed_at)
    return since.total_seconds() < _SOON_S


def _did_not_run(run_id: str, life: RequestLife | None) -> LictorError:
    if life is None:
        return LictorError(f"there is nothing about run {run_id} that can be read.")
    state = life.state.value
    if kind_of(life) == "call":
        return LictorError(
            f"request {run_id} is about a tool call, which its runtime makes; see `lictor approvals show {run_id}`."
        )
    if life.state is ApprovalState.REQUESTED:
        return LictorError(
            f"request {run_id} has not run: nobody has decided it yet; see `lictor approvals show {run_id}`."
        )
    if life.state is ApprovalState.APPROVED:
        return LictorError(
            f"request {run_id} is approved and has not begun to run; it may begin until {life.due}."
            " `lictor doctor` tells whether the runner works."
        )
    return LictorError(
        f"request {run_id} has no journal: it is {state}; `lictor approvals show {run_id}` tells why."
    )


def begun(entries: Sequence[AnyRunEntry]) -> RunStarted | None:
    """How it began; None when its runner was gone before it was written."""
    return next((each for each in entries if isinstance(each, RunStarted)), None)


def ended(entries: Sequence[AnyRunEntry]) -> RunFinished | None:
    """How it ended, if it did."""
    return next((each for each in entries if isinstance(each, RunFinished)), None)


@dataclass(frozen=True)
class RunLine:
    """One effect, for people."""

    call: int
    effect: str
    became: str
    told: str


def lines(entries: Sequence[AnyRunEntry]) -> list[RunLine]:
    """Every effect, with what became of it."""
    found: dict[int, RunLine] = {}
    for entry in entries:
        match entry:
            case EffectStarted():
                found[entry.call] = RunLine(entry.call, entry.effect, "started", _given(entry))
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
