"""Waiting for somebody to let a proved program run.

    proved, = await task.prove(source)
    entry = await task.approval(proved)
    if entry.state != "approved":
        print(entry.reason)

An agent can wait here and nothing more: it can neither decide nor hurry anybody.
"""

import asyncio
from contextlib import aclosing

from nats.aio.client import Client

from lictor.errors import LictorError, NotInTime
from lictor.follow import follow
from lictor_bus import streams
from lictor_bus.entry_logs import read_entry
from lictor_schema import ApprovalEntry, ApprovalState, ProofResult, ProofVerdict

APPROVAL_TIMEOUT_S = 600.0
_EVERY_CHANGE = "lictor.appr.*.*"


class NotProved(LictorError):
    """Only what is proved can be approved."""


async def approval_of(client: Client, result: ProofResult, timeout_s: float) -> ApprovalEntry:
    """What was decided about a proved submission: `approved`, `rejected`, `expired`, or what came of it since.

    A request that became stale is passed over for the one in its place. Raises NotInTime when nothing was decided.
    """
    if result.verdict is not ProofVerdict.PROVED:
        raise NotProved(f"submission {result.submission_id} is {result.verdict.value}, not proved.")
    mine: set[str] = set()
    stored = follow(client, streams.APPROVALS, _EVERY_CHANGE, from_start=True)
    async with aclosing(stored):
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    entry = read_entry(await anext(stored), ApprovalEntry.from_json)
                    if entry is None:
                        continue
                    if entry.request is not None and is_about(entry, result):
                        mine.add(entry.request_id)
                    elif entry.request_id in mine and entry.state is not ApprovalState.STALE:
                        return entry
        except TimeoutError:
            asked = "nobody decided" if mine else "nobody was asked"
            raise NotInTime(
                f"{asked} about submission {result.submission_id} within {timeout_s:g} s: it must not run;"
                " `lictor approvals list` shows what waits, `lictor doctor` whether the service runs"
            ) from None


def is_about(entry: ApprovalEntry, result: ProofResult) -> bool:
    """Whether the request that an entry opens is about this proof."""
    binding = entry.request.binding if entry.request is not None else None
    return binding is not None and (
        binding.task_id,
        binding.submission_id,
        binding.program_hash,
    ) == (result.task_id, result.submission_id, result.program_hash)
