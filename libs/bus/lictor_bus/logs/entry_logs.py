"""Append-only logs of entries, one for each drift event, patch or approval request: read whole, added to one by one.

What is foreign is passed over (``lictor_bus.wire.provenance``): so is an unnamed message that has not the id of its own
entry for its message id, or that this version can't read. An id counts once: the first entry that has it.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.errors import UnreadableEntry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_foreign, is_named, pass_over
from lictor_bus.wire.read import PAGE, read_all, stored_from
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
T = TypeVar("T")


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
    return entry_in(stored, b'{"entry_id":"', lambda: read(stored.body))


def body_in(stored: Delivery, read: Callable[[bytes], T]) -> T | None:
    """What is read of a message for people to look at; None, and reported, for what this version can't read."""
    try:
        return read(stored.body)
    except (ValidationError, CanonicalError) as error:
        pass_over(stored, f"can't be read: {str(error)[:200]}")
        return None


def is_entry(stored: Delivery, beginning: bytes) -> bool:
    """Whether an entry of ours stands there, which begins so; no statement on whether this version can read it."""
    if is_foreign(stored):
        return False
    message_id = stored.headers.get("Nats-Msg-Id", "").encode("utf-8", "replace")
    has_its_id = message_id != b"" and b'"entry_id":"%b"' % message_id in stored.body
    return stored.body.startswith(beginning) and (has_its_id or is_named(stored))


def entry_in(stored: Delivery, beginning: bytes, read: Callable[[], T]) -> T | None:
    """What is read of a stored message, None for what is foreign; UnreadableEntry for an entry of a newer version."""
    if not is_entry(stored, beginning):
        pass_over(stored, "no entry of this log")
        return None
    return judged_in(stored, lambda _: read())


def judged_in(stored: Delivery, read: Callable[[bytes], T]) -> T | None:
    """What a judgement needs of a message, None for what is foreign; UnreadableEntry for one of a newer version."""
    if is_foreign(stored):
        return None
    try:
        return read(stored.body)
    except (ValidationError, CanonicalError) as error:
        if not is_named(stored):
            pass_over(stored, "no message that any version wrote")
            return None
        raise UnreadableEntry(
            f"the message at {stored.sequence} on {stored.subject} can't be read by this version: {error}"
        ) from None


async def read_log(
    client: Client,
    stream: str,
    subject: str,
    read: Callable[[bytes], E],
    subject_of: Callable[[E], str] | None = None,
) -> EntryLog[E]:
    """Every entry on a subject, which may hold wildcards; ``subject_of`` says where an unnamed one belongs."""
    found: dict[str, tuple[int, E]] = {}
    last = 0
    while page := await stored_from(client, stream, subject, last + 1, PAGE):
        for stored in page:
            entry = read_entry(stored, read)
            if entry is None:
                continue
            if subject_of is None or is_named(stored) or subject_of(entry) == stored.subject:
                found.setdefault(entry.entry_id, (stored.sequence, entry))
        last = page[-1].sequence
    return EntryLog(subject, tuple(found.values()), last)


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
    """Every entry of many logs after a place in the stream, in the order they were stored.

    An entry of a newer version is passed over too: one log must not keep the others from being seen. Whoever judges a
    log reads that log by itself.
    """
    async for stored in read_all(client, stream, subject, after=after):
        try:
            entry = read_entry(stored, read)
        except UnreadableEntry as error:
            pass_over(stored, str(error))
            continue
        if entry is not None:
            yield stored, entry
