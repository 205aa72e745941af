"""The journal of a run on the RUNS stream: one writer at a time, by the broker's own count.

Every entry names the one that it expects to follow. A runner that was thought to be gone, and wakes up while another
takes back what it did, can't write any more; and what it can't write down, it does not do.
"""

import asyncio
import logging
from collections.abc import Sequence

from nats.aio.client import Client

from lictor_bus.errors import UnreadableEntry
from lictor_bus.ledger import Reading, WholeLedger, WholeLog
from lictor_bus.loops.outages import OUTAGES
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.publish import HEADER_ROOM
from lictor_run.errors import EntryTooLarge, Fenced
from lictor_schema.approvals.run import AnyRunEntry, parse_run_entry

log = logging.getLogger("lictor.runner")

_PAUSE_S = 0.5


JOURNALS = WholeLedger[AnyRunEntry, Sequence[AnyRunEntry]](
    "journal of the run",
    streams.RUNS,
    parse=parse_run_entry,
    fold=tuple,
    subject_of=lambda entry: subjects.run_journal(entry.runtime, entry.task_id, entry.run_id),
)


class _Journal(WholeLog[AnyRunEntry, Sequence[AnyRunEntry]]):
    """The journal as its writer knows it: read again only when the broker holds something else to be its end."""

    def __init__(self, client: Client, subject: str) -> None:
        super().__init__(JOURNALS, client, subject)
        self.written: list[AnyRunEntry] = []
        self.last: int | None = None

    async def read(self) -> Reading[AnyRunEntry, Sequence[AnyRunEntry]]:
        return await super().read() if self.last is None else Reading(self.written, self.last)

    async def appended(
        self,
        reading: Reading[AnyRunEntry, Sequence[AnyRunEntry]],  # noqa: ARG002 -- it is ours
        entry: AnyRunEntry,
        sequence: int,
    ) -> None:
        self.written.append(entry)
        self.last = sequence

    async def overtaken(self, reading: Reading[AnyRunEntry, Sequence[AnyRunEntry]]) -> None:  # noqa: ARG002
        self.last = None


class StreamJournal:
    """The journal of one run."""

    def __init__(self, client: TolerantClient, run_id: str, log: _Journal) -> None:
        self._client = client
        self._appends = Appends(client)
        self._run_id = run_id
        self._log = log

    @classmethod
    async def read(
        cls, client: TolerantClient, runtime: str | None, task_id: str, run_id: str
    ) -> "StreamJournal":
        """The journal as it stands."""
        log = _Journal(client, subjects.run_journal(runtime, task_id, run_id))
        found = await log.read()
        log.written, log.last = list(found.state), found.last
        return cls(client, run_id, log)

    @property
    def entries(self) -> Sequence[AnyRunEntry]:
        """All of it so far."""
        return self._log.written

    async def append(self, entry: AnyRunEntry) -> None:
        """Add an entry: it is stored when this returns. Outages are waited out; Fenced when another writes here."""
        size = len(entry.to_json())
        if size + HEADER_ROOM > self._client.max_payload:
            # The broker's answer to it looks like an outage, and would be waited out for ever.
            raise EntryTooLarge(
                f"an entry of the journal has {size} bytes, more than the broker takes; pass less, or"
                " raise max_payload"
            )

        def judge(found: Sequence[AnyRunEntry]) -> AnyRunEntry:
            self._refuse_another(found, self._log.written)
            return entry

        while True:
            try:
                changed = await JOURNALS.change(
                    self._appends, self._log, judge, entry_id=entry.entry_id
                )
            except UnreadableEntry as error:
                raise Fenced(f"another runner writes this journal: {error}") from None
            except OUTAGES as error:
                log.warning("run %s: %s; its journal waits", self._run_id, error)
                self._log.last = None
                await asyncio.sleep(_PAUSE_S)
                continue
            if not changed.is_new:
                # It was stored, and the answer got lost.
                self._refuse_another(changed.state, [*self._log.written, entry])
                self._log.written.append(entry)
            return

    def _refuse_another(self, found: Sequence[AnyRunEntry], ours: Sequence[AnyRunEntry]) -> None:
        if found is not ours and [each.entry_id for each in found] != [
            each.entry_id for each in ours
        ]:
            raise Fenced(f"another runner writes the journal of run {self._run_id}")
