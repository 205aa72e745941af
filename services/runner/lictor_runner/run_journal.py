"""The journal of a run on the RUNS stream: one writer at a time, by the broker's own count.

Every entry names the one that it expects to follow. A runner that was thought to be gone, and wakes up while another
takes back what it did, can't write any more; and what it can't write down, it does not do.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from lictor_bus.errors import SequenceConflict
from lictor_bus.logs.entry_logs import EntryLog, append_entry, run_journal
from lictor_bus.loops.concurrent_loop import OUTAGES
from lictor_bus.names import streams
from lictor_bus.wire.connection import TolerantClient
from lictor_run.errors import EntryTooLarge, Fenced
from lictor_schema.approvals.run import AnyRunEntry

log = logging.getLogger("lictor.runner")

_PAUSE_S = 0.5
_HEADER_ROOM = 16 * 1024


class StreamJournal:
    """The journal of one run."""

    def __init__(
        self, client: TolerantClient, task_id: str, run_id: str, found: EntryLog[AnyRunEntry]
    ) -> None:
        self._client = client
        self._task_id = task_id
        self._run_id = run_id
        self._log = found
        self._entries = [entry for _, entry in found.entries]

    @classmethod
    async def read(cls, client: TolerantClient, task_id: str, run_id: str) -> "StreamJournal":
        """The journal as it stands."""
        return cls(client, task_id, run_id, await run_journal(client, task_id, run_id))

    @property
    def entries(self) -> Sequence[AnyRunEntry]:
        """All of it so far."""
        return self._entries

    async def append(self, entry: AnyRunEntry) -> None:
        """Add an entry: it is stored when this returns. Outages are waited out; Fenced when another writes here."""
        size = len(entry.to_json())
        if size + _HEADER_ROOM > self._client.max_payload:
            # The broker's answer to it looks like an outage, and would be waited out for ever.
            raise EntryTooLarge(
                f"an entry of the journal has {size} bytes, more than the broker takes; pass less, or"
                " raise max_payload"
            )
        while True:
            try:
                last = await self._stored(entry)
            except OUTAGES as error:
                log.warning("run %s: %s; its journal waits", self._run_id, error)
                await asyncio.sleep(_PAUSE_S)
                continue
            if last is not None:
                self._log = replace(self._log, last=last)
                self._entries.append(entry)
                return

    async def _stored(self, entry: AnyRunEntry) -> int | None:
        """The place of the entry in the stream; None when it must be tried again."""
        try:
            return await append_entry(
                self._client,
                streams.RUNS,
                self._log,
                self._log.subjects,
                entry.entry_id,
                entry.to_json(),
            )
        except SequenceConflict:
            found = await run_journal(self._client, self._task_id, self._run_id)
        if [each.entry_id for _, each in found.entries[:-1]] == self._ids and (
            found.entries[-1][1].entry_id == entry.entry_id
        ):
            # It was stored, and the answer got lost.
            return found.last
        if [each.entry_id for _, each in found.entries] != self._ids:
            raise Fenced(f"another runner writes the journal of run {self._run_id}")
        # Something that is no entry got onto the subject; it is passed over.
        self._log = replace(self._log, last=found.last)
        return None

    @property
    def _ids(self) -> list[str]:
        return [entry.entry_id for entry in self._entries]
