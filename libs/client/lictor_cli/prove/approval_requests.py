"""The approval requests of proved programs, which the next commands are about."""

import asyncio
from collections.abc import Collection

from lictor.approvals import is_about
from lictor.history.stream_contents import streams_at
from lictor_bus.errors import BusError
from lictor_bus.logs.entry_logs import read_entry
from lictor_bus.names import subjects
from lictor_bus.names.streams import APPROVALS
from lictor_bus.service.health import ask_health
from lictor_bus.wire.read import read_all
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalState
from lictor_schema.proofs.proof import ProofResult, ProofVerdict

EVERY_CHANGE = subjects.APPROVAL.any
_WITHIN_S = 10.0
_LOOK_S = 0.1


async def request_ids(url: str | None, results: Collection[ProofResult]) -> dict[str, str]:
    """The request about each proved submission, as far as the approval service has made one in time."""
    waiting = {each.submission_id: each for each in results if each.verdict is ProofVerdict.PROVED}
    found: dict[str, str] = {}
    if not waiting:
        return found
    async with streams_at(url, "prove") as client:
        try:
            await ask_health(client, "approvals")
        except BusError:
            return found
        after = 0
        deadline = asyncio.get_running_loop().time() + _WITHIN_S
        while asyncio.get_running_loop().time() < deadline:
            async for stored in read_all(client, APPROVALS, EVERY_CHANGE, after=after):
                after = stored.sequence
                entry = read_entry(stored, ApprovalEntry.from_json)
                if entry is not None:
                    _take(entry, waiting, found)
            if len(found) == len(waiting):
                break
            await asyncio.sleep(_LOOK_S)
    return found


def _take(entry: ApprovalEntry, waiting: dict[str, ProofResult], found: dict[str, str]) -> None:
    """A request that became stale is no longer the one; another takes its place."""
    for submission_id, result in waiting.items():
        if entry.request is not None and is_about(entry, result):
            found[submission_id] = entry.request_id
        elif found.get(submission_id) == entry.request_id and entry.state is ApprovalState.STALE:
            del found[submission_id]
