"""The prover's loop: many programs side by side, each answered once.

A proof takes milliseconds or minutes, and nothing is folded from one to the next, so this is no batch loop: every
submission is worked on by itself, kept from being delivered again while it is, and acknowledged when its result is
stored. A submission is answered only if PROOFS holds no result of its id: what was decided once stays decided when it
comes again (a crash, a lost acknowledgement, a sender's retry), even where a solver would need another time for it.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from redis.exceptions import RedisError

from lictor_bus import streams, subjects
from lictor_bus.connection import TolerantClient
from lictor_bus.dead import DeadLetters
from lictor_bus.delivery import Delivery
from lictor_bus.errors import BusError, Refused
from lictor_bus.processor import read_or_refuse
from lictor_bus.publish import Outgoing, publish_one
from lictor_bus.pull import PullConsumer, PullSettings
from lictor_bus.read import read_all
from lictor_bus.telemetry import Telemetry
from lictor_schema import ProgramSubmission, ProofResult

log = logging.getLogger("lictor.prover")

ACK_WAIT_S = 12.0
_STILL_AT_IT_S = ACK_WAIT_S / 3
_IDLE_S = 1.0
_PAUSE_S = 1.0
_OUTAGES = (BusError, NatsError, JetStreamError, RedisError, OSError, TimeoutError)

Judge = Callable[[ProgramSubmission, Delivery], Awaitable[ProofResult]]
"""Decides about one submission. Raises for outages only: whatever a program does to the prover is a verdict."""


class ProvingLoop:
    """Takes submissions from PROGRAMS and stores a result for each on PROOFS, for as long as it runs."""

    def __init__(
        self,
        client: TolerantClient,
        judge: Judge,
        result_id: Callable[[ProgramSubmission], str],
        *,
        at_once: int,
        dead: DeadLetters,
        telemetry: Telemetry,
        on_end: Callable[[], None],
    ) -> None:
        # What waits for a worker is held here too, so that finding room for it takes no round trip.
        settings = PullSettings(each_on_its_own=True, batch=2 * at_once, ack_wait_s=ACK_WAIT_S)
        self._consumer = PullConsumer(
            client, streams.PROGRAMS, "proving", "lictor.prog.>", settings
        )
        self._client = client
        self._judge = judge
        self._result_id = result_id
        self._room = asyncio.Semaphore(2 * at_once)
        self._dead = dead
        self._telemetry = telemetry
        self._on_end = on_end
        self._held: dict[int, Delivery] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self.trouble: str | None = "starting"

    def stop(self) -> None:
        """Take nothing more; what is in hand is finished, or delivered again to another."""
        self._stopping.set()
        self._consumer.interrupt()

    async def run(self) -> None:
        """Work until stopped; outages of NATS and Redis are waited out."""
        keeping = asyncio.create_task(self._keep_held())
        try:
            while not self._stopping.is_set():
                try:
                    await self._consumer.open()
                    self.trouble = None
                    while not self._stopping.is_set():
                        for delivery in await self._consumer.next_batch(_IDLE_S):
                            await self._begin(delivery)
                except _OUTAGES as error:
                    await self._wait_out(error)
            if self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            keeping.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(keeping, *self._tasks, return_exceptions=True)
            await asyncio.to_thread(self._on_end)
        await self._consumer.close()

    async def _wait_out(self, error: Exception) -> None:
        self.trouble = f"{type(error).__name__}: {error}"
        self._telemetry.reopened(type(error).__name__)
        log.warning("prover: %s; trying again", self.trouble)
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_S):
                await self._stopping.wait()

    async def _begin(self, delivery: Delivery) -> None:
        if delivery.sequence in self._held:
            # It came again while it is worked on: from now on this delivery is the one to acknowledge.
            self._held[delivery.sequence] = delivery
            return
        await self._room.acquire()
        self._held[delivery.sequence] = delivery
        task = asyncio.create_task(self._finish(delivery))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, delivery: Delivery) -> None:
        try:
            await self._answer(delivery)
            await self._consumer.acknowledge(self._held[delivery.sequence])
        except _OUTAGES as error:
            log.warning("program %d: %s; it comes again", delivery.sequence, error)
        finally:
            del self._held[delivery.sequence]
            self._room.release()

    async def _answer(self, delivery: Delivery) -> None:
        started = time.monotonic()
        try:
            submission = self._read(delivery)
            message_id = self._result_id(submission)
            if await self._is_answered(submission.task_id, message_id):
                return
            result = await self._judge(submission, delivery)
        except Refused as refusal:
            await self._dead.bury(streams.PROGRAMS, delivery, refusal)
            return
        except _OUTAGES:
            raise
        except Exception as error:
            # A defect that one program meets must not stop the others.
            log.exception("program %d", delivery.sequence)
            reason = f"{type(error).__name__}: {error}"
            remedy = "a defect of the prover: report it; the program must not run"
            await self._dead.bury(streams.PROGRAMS, delivery, Refused(reason, remedy=remedy))
            return
        subject = subjects.proof(result.verdict.value, result.task_id)
        await publish_one(
            self._client, streams.PROOFS, Outgoing(subject, result.to_json(), message_id)
        )
        outcomes = Counter([result.verdict.value])
        self._telemetry.batch_done(outcomes, started, delivery.stored_at_ns, time.time_ns())

    def _read(self, delivery: Delivery) -> ProgramSubmission:
        submission = read_or_refuse(
            ProgramSubmission.from_json,
            delivery.body,
            "correct the named fields and submit the program again",
        )
        if subjects.token(submission.task_id) != delivery.subject.rpartition(".")[2]:
            raise Refused(
                f"task_id: {submission.task_id!r} is not the task of subject {delivery.subject}",
                remedy="submit each program on the subject of its own task",
            )
        return submission

    async def _is_answered(self, task_id: str, message_id: str) -> bool:
        async for stored in read_all(self._client, streams.PROOFS, subjects.proof("*", task_id)):
            if stored.headers.get("Nats-Msg-Id") == message_id:
                return True
        return False

    async def _keep_held(self) -> None:
        """Tell the broker that what is held is still worked on."""
        while True:
            await asyncio.sleep(_STILL_AT_IT_S)
            with suppress(*_OUTAGES):
                for held in list(self._held.values()):
                    await self._client.publish(held.ack_subject, b"+WPI")
