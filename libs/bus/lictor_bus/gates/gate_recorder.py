"""Records what gates answered, without letting one answer's record hold up another's answer.

The broker syncs every write to disk, one after the other. So an answer that holds something back is written at once,
and of all the others one is written at a time: at most one stands before it. Only when many wait are they written
together; an atomic batch costs the broker as much as ten single writes, whatever is in it.

Where a gate must answer in a fraction of what a write takes, records of harmless answers may linger, and are then
written together: a process that is killed takes with it what it allowed in that time.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nats.aio.client import Client

from lictor_bus.names import streams
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.publish import MAX_BATCH, Outgoing, publish_all, publish_one
from lictor_schema.gates.gate import GateAnswer

log = logging.getLogger("lictor.gate")

_MANY = 32
_PAUSES_S = (0.2, 1.0)
# Each holds its question; beyond so many the broker has been away for long, and memory must not run out.
_MAX_WAITING = 20_000


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """An answer on its way to a stream."""

    gate: str
    task_id: str
    answer: GateAnswer
    message: Outgoing
    stream: str = streams.GATES


MakeRecord = Callable[[], PendingRecord]


class GateRecorder:
    """Writes records of answers; those that can't be written are counted and logged."""

    def __init__(
        self, client: Client, telemetry: ServiceTelemetry, *, linger_s: float = 0.0
    ) -> None:
        self._client = client
        self._telemetry = telemetry
        self._linger_s = linger_s
        self._closing = asyncio.Event()
        self._waiting: list[MakeRecord] = []
        self._writing: asyncio.Task[None] | None = None
        self._urgent: set[asyncio.Task[None]] = set()

    def write_soon(self, make: MakeRecord) -> None:
        """Write a record when those before it are written; it is made then, when nobody waits for an answer."""
        if len(self._waiting) >= _MAX_WAITING:
            self._give_up(self._made([make]), "too many records wait for the broker")
            return
        self._waiting.append(make)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def write_now(self, make: MakeRecord, timeout_s: float) -> None:
        """Write a record; returns when it is stored, or when the time is up and it goes on being tried."""
        writing = asyncio.create_task(self._store(self._made([make])))
        self._urgent.add(writing)
        writing.add_done_callback(self._urgent.discard)
        await asyncio.wait((writing,), timeout=timeout_s)

    async def stored_in(self, make: MakeRecord, timeout_s: float) -> bool:
        """Whether a record was stored in time; else it is given up, because its answer will not be given."""
        try:
            record = make()
            async with asyncio.timeout(timeout_s):
                await publish_one(self._client, record.stream, record.message)
        except Exception as error:  # noqa: BLE001 -- whatever it was, there is no record
            log.warning("an answer can't be recorded: %s: %s", type(error).__name__, error)
            return False
        return True

    async def close(self) -> None:
        """Wait until everything is written, or known not to be."""
        self._closing.set()
        if self._writing is not None:
            await self._writing
        await asyncio.gather(*self._urgent, return_exceptions=True)

    async def _write(self) -> None:
        while self._waiting:
            await self._linger()
            alone = len(self._waiting) < _MANY and not self._linger_s
            count = 1 if alone else MAX_BATCH
            batch, self._waiting = self._waiting[:count], self._waiting[count:]
            made = self._made(batch)
            for stream in dict.fromkeys(record.stream for record in made):
                await self._store([record for record in made if record.stream == stream])
        self._writing = None

    async def _linger(self) -> None:
        if self._linger_s:
            try:
                async with asyncio.timeout(self._linger_s):
                    await self._closing.wait()
            except TimeoutError:
                pass

    def _made(self, batch: Sequence[MakeRecord]) -> list[PendingRecord]:
        made: list[PendingRecord] = []
        for make in batch:
            try:
                made.append(make())
            except Exception:
                # One that can't be made must not keep the others from being written.
                self._telemetry.gate_unrecorded("unknown", "unknown")
                log.exception("the record of an answer can't be made")
        return made

    async def _store(self, batch: Sequence[PendingRecord]) -> None:
        """Store records of one stream."""
        if not batch:
            return
        for pause in (*_PAUSES_S, None):
            try:
                await publish_all(self._client, batch[0].stream, [each.message for each in batch])
                return
            except Exception as error:  # noqa: BLE001 -- whatever it was, it is counted and reported
                if pause is not None:
                    log.warning("gates: %d answers are not recorded yet: %s", len(batch), error)
                    await asyncio.sleep(pause)
                elif len(batch) == 1:
                    self._give_up(batch, f"{type(error).__name__}: {error}")
                else:
                    await self._store_each(batch)

    async def _store_each(self, batch: Sequence[PendingRecord]) -> None:
        """A batch is refused whole for the sake of one of its members."""
        for each in batch:
            try:
                await publish_one(self._client, each.stream, each.message)
            except Exception as error:  # noqa: BLE001 -- as above
                self._give_up([each], f"{type(error).__name__}: {error}")

    def _give_up(self, batch: Sequence[PendingRecord], why: str) -> None:
        for record in batch:
            answer = record.answer
            self._telemetry.gate_unrecorded(record.gate, answer.decision)
            log.error(
                "gate %s: the answer to request %s of task %s was not recorded (%s): %s by %s, %s",
                record.gate,
                answer.request_id,
                record.task_id,
                why,
                answer.decision,
                answer.policy_id,
                answer.reason,
            )
