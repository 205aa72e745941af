"""Waiting for somebody to let a proved program run, or a tool call be made.

    proved, = await task.prove(source)
    entry = await task.approval(proved)
    if entry.state != "approved":
        print(entry.reason)

An agent can wait here and nothing more: it can neither decide nor hurry anybody.
"""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing

from lictor.errors import LictorError, NotInTime
from lictor.history.stored_history import StoredHistory, messages_of
from lictor_bus.gates.history import APPROVAL_ENTRIES
from lictor_bus.logs.entry_logs import read_entry
from lictor_bus.wire.delivery import Delivery
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalRequest, ApprovalState
from lictor_schema.proofs.proof import ProofResult, ProofVerdict

APPROVAL_TIMEOUT_S = 600.0


class NotProved(LictorError):
    """Only what is proved can be approved."""


class NotApprovable(LictorError):
    """Nobody is asked about it: no runner would run it, whoever approved it."""


async def approval_of(
    history: StoredHistory, result: ProofResult, timeout_s: float
) -> ApprovalEntry:
    """Where a proved submission stands once it was decided about: the last entry about it, as it is now.

    `approved`, `rejected`, `expired`, `stale`, or what came of it since. A request that became stale is passed over
    for one in its place. Raises NotInTime when nothing was decided.
    """
    if result.verdict is not ProofVerdict.PROVED:
        raise NotProved(f"submission {result.submission_id} is {result.verdict.value}, not proved.")
    if result.cannot_run is not None:
        raise NotApprovable(f"{result.cannot_run.message}; {result.cannot_run.remedy}.")
    mine: dict[str, ApprovalEntry] = {}
    stored = history.follow(APPROVAL_ENTRIES, from_start=True)
    async with aclosing(stored):
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    each = await anext(stored)
                    entry = read_entry(each, ApprovalEntry.from_json)
                    if entry is None or not _concerns(entry, mine, result):
                        continue
                    mine[entry.request_id] = entry
                    if entry.request is None:
                        # It was so once: an approval may have become stale, expired or been used since.
                        async for more in history.read(APPROVAL_ENTRIES, after=each.sequence):
                            later = read_entry(more, ApprovalEntry.from_json)
                            if later is not None and _concerns(later, mine, result):
                                mine[later.request_id] = later
                        latest = _latest(mine)
                        if latest.state is not ApprovalState.REQUESTED:
                            return latest
        except TimeoutError:
            asked = "nobody decided" if mine else "nobody was asked"
            raise NotInTime(
                f"{asked} about submission {result.submission_id} within {timeout_s:g} s: it must not run;"
                " `lictor approvals list` shows what waits, `lictor doctor` whether the service runs"
            ) from None


def _concerns(entry: ApprovalEntry, mine: Mapping[str, ApprovalEntry], result: ProofResult) -> bool:
    return entry.request_id in mine or (entry.request is not None and is_about(entry, result))


def _latest(mine: Mapping[str, ApprovalEntry]) -> ApprovalEntry:
    """Where the newest of our requests stands; one that is stale only when there is none in its place."""
    alive = [entry for entry in mine.values() if entry.state is not ApprovalState.STALE]
    return (alive or list(mine.values()))[-1]


def is_about(entry: ApprovalEntry, result: ProofResult) -> bool:
    """Whether the request that an entry opens is about this proof."""
    if not isinstance(entry.request, ApprovalRequest):
        return False
    binding = entry.request.binding
    return (binding.task_id, binding.submission_id, binding.program_hash) == (
        result.task_id,
        result.submission_id,
        result.program_hash,
    )


async def call_decision_of(
    history: StoredHistory, request_id: str, timeout_s: float
) -> ApprovalEntry:
    """The entry by which people were no longer waited for about a tool call; NotInTime while they are.

    It is the last entry, of what was decided and used or taken back since. And it is a bell and no permission: the
    tool gate says whether the call may be made, when it is asked again.
    """
    only = messages_of(id_=request_id)
    latest: ApprovalEntry | None = None
    stored = history.follow(APPROVAL_ENTRIES, only, from_start=True)
    async with aclosing(stored):
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    each = await anext(stored)
                    latest = _of_call(each, request_id) or latest
                    if latest is None or latest.state.is_undecided:
                        continue
                    async for more in history.read(APPROVAL_ENTRIES, only, after=each.sequence):
                        latest = _of_call(more, request_id) or latest
                    return latest
        except TimeoutError:
            found = "is not known here" if latest is None else "was decided by nobody"
            raise NotInTime(
                f"request {request_id} {found} within {timeout_s:g} s: the call must not be made;"
                f" `lictor approvals show {request_id}` shows who may decide"
            ) from None


def _of_call(stored: Delivery, request_id: str) -> ApprovalEntry | None:
    entry = read_entry(stored, ApprovalEntry.from_json)
    if entry is None or entry.request_id != request_id:
        return None
    if isinstance(entry.request, ApprovalRequest):
        raise LictorError(
            f"request {request_id} is about a program, not a tool call: `task.approval` waits for the decision."
        )
    return entry
