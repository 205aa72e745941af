"""What became of a program that was approved: waited for, and told as values.

    proved, = await task.prove(Program(source, inputs={"limit": 50}))
    entry = await task.approval(proved)
    run = await task.result(entry)
    print(run.outcome, run.value)

A runtime reads the runs of its own programs, and no others.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Literal

from lictor.errors import LictorError, NotInTime
from lictor.history.stored_history import StoredHistory, messages_of
from lictor_approval.request_binding import why_not_journal_of
from lictor_bus.gates.history import APPROVAL_ENTRIES, RUNS
from lictor_bus.logs.entry_logs import read_entry
from lictor_schema.approvals.approval import AnyApprovalRequest, ApprovalEntry, ApprovalState
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.approvals.plain_values import UnreadableValue, plain
from lictor_schema.approvals.run import (
    AnyRunEntry,
    EffectDone,
    EffectFailed,
    EffectStarted,
    RunFinished,
    RunOutcome,
    RunReason,
    UndoDone,
    UndoFailed,
    UndoStarted,
    parse_run_entry,
)

RUN_TIMEOUT_S = 600.0
CallStage = Literal[
    "started", "done", "not_done", "unusable", "in_doubt", "undoing", "undone", "not_undone"
]
_FAILED: Mapping[str, CallStage] = {"no": "not_done", "yes": "unusable", "unknown": "in_doubt"}
_NEVER_RAN = (ApprovalState.REJECTED, ApprovalState.EXPIRED, ApprovalState.STALE)


class NotRun(LictorError):
    """A request that was rejected, expired or went stale: nothing ran by it, and nothing will."""


class JournalRefused(LictorError):
    """The journal of a run is not that of what was approved, so nothing in it is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCall:
    """A trusted call of a run."""

    number: int
    effect: str
    arguments: Mapping[str, Any]
    stage: CallStage = "started"
    result: Any = None
    has_result: bool = False
    """Whether `result` is what it returned; one that is too large is not kept."""
    reason: RunReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run that has ended."""

    request_id: str
    outcome: RunOutcome
    value: Any
    """What the target returned: the program's own word, of which nothing is proved. None where it is not kept."""
    value_problem: RunReason | None
    """Why `value` is not what was returned: too large, or nothing that can be written down."""
    reason: RunReason | None
    """Why it did not do what was approved; None exactly for `executed`."""
    calls: tuple[RunCall, ...]
    left: tuple[int, ...]
    """The numbers of calls that somebody has to look at."""
    printed: str

    @property
    def ok(self) -> bool:
        """Whether it did what was approved, to its end."""
        return self.outcome is RunOutcome.EXECUTED


async def result_of(history: StoredHistory, request_id: str, timeout_s: float | None) -> RunReport:
    """What became of the run by a request, once it has ended.

    Raises NotRun when there will be none, and NotInTime when it has not ended by then: it goes on without us.
    """
    return report_of(request_id, await journal_of(history, request_id, timeout_s))


async def journal_of(
    history: StoredHistory,
    request_id: str,
    timeout_s: float | None,
    on_change: Callable[[ApprovalEntry], None] | None = None,
) -> list[AnyRunEntry]:
    """The journal of the run by a request, once it has ended; `on_change` is told how far the request is."""
    request: AnyApprovalRequest | None = None
    latest: ApprovalEntry | None = None
    only = messages_of(id_=request_id)
    stored = history.follow(APPROVAL_ENTRIES, only, from_start=True)
    async with aclosing(stored):
        try:
            async with asyncio.timeout(timeout_s):
                while latest is None or not latest.state.is_final:
                    entry = read_entry(await anext(stored), ApprovalEntry.from_json)
                    if entry is not None and entry.request_id == request_id:
                        request, latest = request or entry.request, entry
                        if isinstance(request, CallApprovalRequest):
                            raise NotRun(
                                f"request {request_id} is about a tool call: nothing runs by it, and the tool gate"
                                " says whether the call may be made."
                            )
                        if on_change is not None:
                            on_change(entry)
                if latest.state in _NEVER_RAN:
                    raise NotRun(
                        f"request {request_id} is {latest.state.value}, nothing ran: {latest.reason}."
                    )
                entries = [
                    each
                    async for one in history.read(RUNS, only)
                    if (each := read_entry(one, parse_run_entry)) is not None
                ]
        except TimeoutError:
            where = "is not known here" if latest is None else f"is {latest.state.value}"
            raise NotInTime(
                f"request {request_id} {where} after {timeout_s:g} s and has no result yet; ask again later:"
                " what is approved runs whether anybody waits or not"
            ) from None
    foreign = "nobody asked for it" if request is None else why_not_journal_of(request, entries)
    if foreign is not None:
        raise JournalRefused(f"request {request_id}: {foreign}; nothing in it is believed.")
    return entries


def report_of(request_id: str, entries: list[AnyRunEntry]) -> RunReport:
    """What a journal says, as values; JournalRefused for one without an end, or that can't be read."""
    ended = next((each for each in entries if isinstance(each, RunFinished)), None)
    if ended is None:
        raise JournalRefused(
            f"the run of request {request_id} ended, and its journal is not kept any more."
        )
    try:
        result = ended.result
        return RunReport(
            request_id=request_id,
            outcome=ended.outcome,
            value=None if result is None else plain(result.value),
            value_problem=None if result is None else result.problem,
            reason=ended.reason,
            calls=_calls(entries),
            left=ended.left,
            printed=ended.output,
        )
    except (UnreadableValue, KeyError) as error:
        raise JournalRefused(f"the journal of request {request_id} is broken: {error}.") from None


def _calls(entries: list[AnyRunEntry]) -> tuple[RunCall, ...]:
    found: dict[int, RunCall] = {}
    for entry in entries:
        match entry:
            case EffectStarted():
                given = {name: plain(value) for name, value in entry.arguments.items()}
                found[entry.call] = RunCall(number=entry.call, effect=entry.effect, arguments=given)
            case EffectDone():
                found[entry.call] = replace(
                    found[entry.call],
                    stage="done",
                    result=plain(entry.result),
                    has_result=entry.kept,
                )
            case EffectFailed():
                stage = _FAILED[entry.happened]
                found[entry.call] = replace(found[entry.call], stage=stage, reason=entry.reason)
            case UndoStarted():
                found[entry.call] = replace(found[entry.call], stage="undoing")
            case UndoDone():
                found[entry.call] = replace(found[entry.call], stage="undone")
            case UndoFailed():
                found[entry.call] = replace(
                    found[entry.call], stage="not_undone", reason=entry.reason
                )
            case _:
                pass
    return tuple(found[number] for number in sorted(found))
