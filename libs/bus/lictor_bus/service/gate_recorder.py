"""Keeps what gates answered, without letting one answer's record hold up another's answer.

The broker syncs every write to disk, one after the other. So an answer that holds something back is written at once,
and of all the others one is written at a time: at most one stands before it. Only when many wait are they written
together; an atomic batch costs the broker as much as ten single writes, whatever is in it.

Where a gate must answer in a fraction of what a write takes, records of harmless answers may linger, and are then
written together: a process that is killed takes with it what it allowed in that time.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from nats.aio.client import Client

from lictor_bus.names import streams
from lictor_bus.service.telemetry import Telemetry
from lictor_bus.wire.publish import MAX_BATCH, Outgoing, publish_all, publish_one
from lictor_schema.gates.gate import GateAnswer

log = logging.getLogger("lictor.gate")

_MANY = 32
_PAUSES_S = (0.2, 1.0)


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """An answer on its way to the stream."""

    gate: str
    task_id: str
    answer: GateAnswer
    message: Outgoing
    stream: str = streams.GATES


class GateRecorder:
    """Writes records of answers to GATES, or where they say; what can't be written is counted and told."""

    def __init__(self, client: Client, telemetry: Telemetry, *, linger_s: float = 0.0) -> None:
        self._client = client
        self._telemetry = telemetry
        self._linger_s = linger_s
        self._closing = asyncio.Event()
        self._waiting: list[Callable[[], PendingRecord]] = []
        self._writing: asyncio.Task[None] | None = None
        self._urgent: set[asyncio.Task[None]] = set()

    def write_soon(self, kept: Callable[[], PendingRecord]) -> None:
        """Write a record when those before it are written; it is made then, when nobody waits for an answer."""
        self._waiting.append(kept)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def write_now(self, kept: PendingRecord, timeout_s: float) -> None:
        """Write a record; returns when it is stored, or when the time is up and it goes on being tried."""
        writing = asyncio.create_task(self._store([kept]))
        self._urgent.add(writing)
        writing.add_done_callback(self._urgent.discard)
        await asyncio.wait((writing,), timeout=timeout_s)

    async def stored_in(self, kept: PendingRecord, timeout_s: float) -> bool:
        """Whether a record was stored in time; else it is given up, because its answer will not be given."""
        try:
            async with asyncio.timeout(timeout_s):
                await publish_one(self._client, kept.stream, kept.message)
        except Exception as error:  # noqa: BLE001 -- whatever it was, there is no record
            log.warning("gate %s: an answer can't be recorded: %s", kept.gate, error)
            return False
        return True

    async def close(self) -> None:
        """Wait until everything is written, or known not to be."""
        self._closing.set()
        if self._writing is not None:
            await self._writing
        await asyncio.gather(*self._urgent)

    async def _write(self) -> None:
        while self._waiting:
            await self._linger()
            alone = len(self._waiting) < _MANY and not self._linger_s
            count = 1 if alone else MAX_BATCH
            batch, self._waiting = self._waiting[:count], self._waiting[count:]
            await self._store([make() for make in batch])
        self._writing = None

    async def _linger(self) -> None:
        if self._linger_s:
            try:
                async with asyncio.timeout(self._linger_s):
                    await self._closing.wait()
            except TimeoutError:
                pass

    async def _store(self, batch: list[PendingRecord]) -> None:
        for pause in (*_PAUSES_S, None):
            try:
                if len(batch) == 1:
                    await publish_one(self._client, batch[0].stream, batch[0].message)
                else:
                    await publish_all(self._client, streams.GATES, [each.message for each in batch])
                return
            except Exception as error:  # noqa: BLE001 -- whatever it was, it is counted and told
                if pause is None:
                    self._give_up(batch, error)
                    return
                log.warning("gates: %d answers are not recorded yet: %s", len(batch), error)
                await asyncio.sleep(pause)

    def _give_up(self, batch: list[PendingRecord], error: Exception) -> None:
        for kept in batch:
            answer = kept.answer
            self._telemetry.gate_unrecorded(kept.gate, answer.decision)
            log.error(
                "gate %s: the answer to request %s of task %s was not recorded (%s: %s): %s by %s, %s",
                kept.gate,
                answer.request_id,
                kept.task_id,
                type(error).__name__,
                error,
                answer.decision,
                answer.policy_id,
                answer.reason,
            )
