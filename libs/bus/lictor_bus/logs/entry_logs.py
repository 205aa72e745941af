"""Append-only logs of entries, one for each drift event, patch or approval request: read whole, added to one by one.

NATS puts an answer wherever the question says, so whoever may ask anything can get a message of the server into any
log. Such a message has not the id of its own entry for its message id; it is passed over.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.errors import BusError
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import read_all
from lictor_schema.approvals.approval import ApprovalEntry
from lictor_schema.contracts.drift import TriageEntry
from lictor_schema.contracts.patch import PatchEntry
from lictor_schema.core.canonical_json import CanonicalError


class LogEntry(Protocol):
    """What a log holds."""

    @property
    def entry_id(self) -> str:
        """Its id, which is its message id too."""
        ...


E = TypeVar("E", bound=LogEntry)


@dataclass(frozen=True, slots=True)
class EntryLog(Generic[E]):
    """A log as it was read: its entries, and what has to be last when the next one is added."""

    subjects: str
    entries: tuple[tuple[int, E], ...] = ()
    """Each with its sequence in the stream."""
    last: int = 0
    """The sequence of whatever is last in it."""


def read_entry(stored: Delivery, read: Callable[[bytes], E]) -> E | None:
    """The entry in a stored message; None for what somebody else got there."""
    message_id = stored.headers.get("Nats-Msg-Id")
    if message_id is None or not stored.body.startswith(
        b'{"entry_id":"%b"' % message_id.encode("utf-8", "replace")
    ):
        return None
    try:
        return read(stored.body)
    except (ValidationError, CanonicalError) as error:
        raise BusError(
            f"the entry {message_id} on {stored.subject} can't be read by this version: {error}"
        ) from None


async def read_log(
    client: Client, stream: str, subject: str, read: Callable[[bytes], E]
) -> EntryLog[E]:
    """Every entry on a subject, which may hold wildcards."""
    found: list[tuple[int, E]] = []
    last = 0
    async for stored in read_all(client, stream, subject):
        entry = read_entry(stored, read)
        if entry is not None:
            found.append((stored.sequence, entry))
        last = stored.sequence
    return EntryLog(subject, tuple(found), last)


async def patch_log(client: Client, patch_id: str) -> EntryLog[PatchEntry]:
    """The life of one patch so far."""
    subject = subjects.patch_entries(patch_id)
    return await read_log(client, streams.PATCHES, subject, PatchEntry.from_json)


async def triage_log(client: Client, drift_id: str) -> EntryLog[TriageEntry]:
    """The handling of one drift event so far."""
    return await read_log(client, streams.DRIFT, subjects.triage(drift_id), TriageEntry.from_json)


async def approval_log(client: Client, request_id: str) -> EntryLog[ApprovalEntry]:
    """The life of one approval request so far."""
    subject = subjects.approval_entries(request_id)
    return await read_log(client, streams.APPROVALS, subject, ApprovalEntry.from_json)


async def all_entries(
    client: Client, stream: str, subject: str, read: Callable[[bytes], E], *, after: int = 0
) -> AsyncIterator[tuple[Delivery, E]]:
    """Every entry of many logs after a place in the stream, in the order they were stored."""
    async for stored in read_all(client, stream, subject, after=after):
        entry = read_entry(stored, read)
        if entry is not None:
            yield stored, entry
