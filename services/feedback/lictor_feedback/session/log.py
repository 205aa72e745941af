"""The logs of sessions on the stream SESSIONS: the truth about what happened in each."""

from collections.abc import AsyncIterator
from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.session_log import read_session_entry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.publish import Outgoing
from lictor_bus.wire.read import last_sequence, stored_from
from lictor_schema.sessions.session_log import AnySessionEntry, SessionBegun

CHUNK = 256
"""Entries that are read at once."""

_ASK_WITHIN_S = 1.0


class LoggedEntry(NamedTuple):
    """An entry and where it stands."""

    sequence: int
    entry: AnySessionEntry | None
    """None for what is foreign."""


class Chunk(list[LoggedEntry]):
    """Entries that follow each other, and how many come after them."""

    left: int = 0


class SessionLog:
    """Appends to and reads the logs."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._appends = Appends(client)

    async def append(
        self, stream: str, message: Outgoing, after: int | None, *, log: str | None = None
    ) -> int:
        """Store a message right after the one at that sequence (0: as the first; None: wherever) and return its own."""
        return await self._appends.append(stream, message, after, log=log)

    def message(self, key: str, entry: AnySessionEntry) -> Outgoing:
        """An entry as it is stored."""
        return Outgoing(subjects.session_log(key), entry.to_json(), entry.entry_id)

    async def last(self, key: str) -> int:
        """The sequence of the last entry; 0 when there is none."""
        return await last_sequence(
            self._client,
            streams.SESSIONS,
            subjects.session_log(key),
            timeout_s=_ASK_WITHIN_S,
        )

    async def begun(self, key: str) -> tuple[int, SessionBegun] | None:
        """The first entry of a session; None when it never began."""
        after = 0
        while chunk := await self.read(key, after):
            for sequence, entry in chunk:
                if isinstance(entry, SessionBegun):
                    return sequence, entry
                if entry is not None:
                    raise BusError(f"SESSIONS {sequence}: a session's log begins with {entry.kind}")
            after = chunk[-1].sequence
        return None

    async def read(self, key: str, after: int, limit: int = CHUNK, *, known: int = 0) -> Chunk:
        """Some entries after a sequence, in their order; none when there are no more.

        ``known`` is the sequence of an entry that is known to be there.
        """
        found = await stored_from(
            self._client, streams.SESSIONS, subjects.session_log(key), after + 1, limit, known=known
        )
        chunk = Chunk(LoggedEntry(each.sequence, read_session_entry(each)) for each in found)
        if found:
            chunk.left = int(found[-1].headers.get("Nats-Num-Pending", 0))
        return chunk

    async def until(self, key: str, sequence: int) -> AsyncIterator[tuple[int, AnySessionEntry]]:
        """All entries up to one that is known to be there."""
        after = 0
        while after < sequence:
            chunk = await self.read(key, after, known=sequence)
            if not chunk:
                raise BusError(f"{sequence} of {key} can't be read in SESSIONS")
            for logged in chunk:
                if logged.sequence > sequence:
                    return
                if logged.entry is not None:
                    yield logged.sequence, logged.entry
            after = chunk[-1].sequence
