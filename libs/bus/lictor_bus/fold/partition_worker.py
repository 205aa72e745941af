"""The batch loop: pull a batch, load its states, fold it, publish, commit, acknowledge.

How each message takes effect exactly once, whatever dies whenever:

* The **cursor** (last sequence whose effects are committed) lives in the store, beside the states, and moves by
  compare-and-set. Messages at or before it are done; two workers on one partition can't both move it.
* Messages are folded **in stream order without holes**. The consumer numbers its deliveries, and what it delivers for
  the first time it delivers in order; when a number is missing or a message comes again (a crash, a reconnect, a
  redelivery) the worker reads the stream itself from the cursor on, instead of trusting what happens to arrive.
* Results carry the sequence that caused them. After a restart, the worker asks the output stream which of them are
  **published already** and publishes only the rest; ids catch the short overlaps.
* The order is publish, commit, acknowledge: a crash between any two repeats work and never loses it.

While one batch is being published and committed the next one is folded already, on the states the first will
leave behind. Batches finish strictly one after the other, and if one fails, the one ahead of it is thrown away.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic

from nats.aio.client import Client

from lictor_bus.errors import CursorConflict, ForgedState, MessageRefused, StaleState
from lictor_bus.fold.processor import (
    NoSteering,
    Outbox,
    Parsed,
    Processor,
    R,
    S,
    Sourced,
    Steering,
    T,
)
from lictor_bus.fold.state_store import Commit, Lifetime, StateStore
from lictor_bus.fold.take_over import TakeOver
from lictor_bus.fold.timers import Timer, timer_messages
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.loops.outages import OUTAGES
from lictor_bus.loops.stall_watch import StallWatch
from lictor_bus.names.streams import TIMERS
from lictor_bus.service.telemetry import (
    TRACEPARENT,
    TRACEPARENT_FORM,
    MessageSpan,
    ServiceTelemetry,
)
from lictor_bus.wire.delivery import NO_HEADERS, Delivery, WireHeaders
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.publish import publish_all
from lictor_bus.wire.pull import PullConsumer
from lictor_bus.wire.read import stored_from
from lictor_bus.wire.stream_leader import leader_view
from lictor_schema.core.time import SECOND_US
from lictor_schema.errors import FieldProblem

log = logging.getLogger("lictor.worker")

_TRACEPARENT = TRACEPARENT.encode()
_IDLE_S = 1.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


@dataclass(slots=True)
class _Fold(Generic[S, R]):
    """What one batch amounts to before anything of it is published."""

    after: int
    """The cursor before the batch."""
    first: Delivery
    last: int
    last_at_ns: int
    started: float
    started_ns: int
    before: dict[str, S] = field(default_factory=dict[str, S])
    states: dict[str, S] = field(default_factory=dict[str, S])
    encoded: dict[str, bytes] = field(default_factory=dict[str, bytes])
    lifetimes: dict[str, Lifetime] = field(default_factory=dict[str, Lifetime])
    """Of the states that are not kept for good."""
    forgotten: set[str] = field(default_factory=set[str])
    """Keys whose former state and ids were forgotten, and that got a new one."""
    handled: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    outputs: list[Sourced[R]] = field(default_factory=list[Sourced[R]])
    refused: list[tuple[Delivery, MessageRefused]] = field(
        default_factory=list[tuple[Delivery, MessageRefused]]
    )
    spans: list[MessageSpan] = field(default_factory=list[MessageSpan])
    outcomes: "Counter[str]" = field(default_factory=Counter[str])
    rules: "Counter[tuple[str, str, str, str]]" = field(
        default_factory=Counter[tuple[str, str, str, str]]
    )


class PartitionWorker(Generic[T, S, R]):
    """Folds one partition of a stream, for as long as it runs."""

    def __init__(
        self,
        client: Client,
        consumer: PullConsumer,
        store: StateStore,
        processor: Processor[T, S, R],
        outbox: Outbox[R],
        dead: DeadLetters,
        telemetry: ServiceTelemetry,
        batch: int = 500,
        steering: Steering | None = None,
        take_over: TakeOver | None = None,
    ) -> None:
        self._client = client
        self._consumer = consumer
        self._store = store
        self._processor = processor
        self._outbox = outbox
        self._dead = dead
        self._telemetry = telemetry
        self._batch = batch
        self._steering = steering or NoSteering()
        self._take_over = take_over
        self._stall = StallWatch(consumer)
        self._stopping = asyncio.Event()
        self._cursor = 0
        self._expected_delivery = 0
        self._published_until = 0
        # How far the broker's consumer was when we opened: the store is as far, unless it lost something.
        self._acknowledged = 0
        # The batch folded last, and the task that makes it durable while the next one is folded.
        self._ahead: _Fold[S, R] | None = None
        self._finishing: asyncio.Task[None] | None = None
        self.trouble: str | None = "starting"

    def stop(self) -> None:
        """Finish the batch in hand, then return from ``run``."""
        self._stopping.set()
        self._consumer.interrupt()

    async def run(self) -> None:
        """Work until stopped; outages of NATS and Redis are waited out."""
        try:
            await self._run()
        finally:
            await self._abandon()
        await self._consumer.close()

    async def _run(self) -> None:
        pause = _FIRST_PAUSE_S
        # After a failure we are not well again because we could start again, but because a batch got through.
        failed = False
        while not self._stopping.is_set():
            try:
                await self._open()
                if not failed:
                    self.trouble = None
                while not self._stopping.is_set():
                    deliveries = await self._consumer.next_batch(_IDLE_S)
                    if self._finishing is not None and self._finishing.done():
                        await self._finished()
                        pause, failed, self.trouble = _FIRST_PAUSE_S, False, None
                    elif failed and not deliveries and await self._consumer.is_idle():
                        failed, self.trouble = False, None
                    elif not failed and not deliveries and self._finishing is None:
                        self.trouble = await self._stall.look()
                        await self._look_at_store()
                    if deliveries:
                        await self._handle(deliveries)
                await self._finished()
            except StaleState as error:
                log.warning("%s: %s; folding the stream anew", self._consumer.durable, error)
                self._telemetry.reopened(type(error).__name__)
                # Whoever forges once may do it again: we are well when a batch got through, or none is left.
                if isinstance(error, ForgedState):
                    failed, self.trouble = True, f"{error}; it is folded again from the stream"
                await self._start_over()
            except OUTAGES as error:
                failed = True
                cause = type(error).__name__
                self.trouble = f"{cause}: {error}"
                self._telemetry.reopened(cause)
                log.warning(
                    "%s: %s; trying again in %.1f s", self._consumer.durable, self.trouble, pause
                )
                await self._pause(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)

    async def _look_at_store(self) -> None:
        """While nothing comes: see whether the store is as it was left, and fold what it lacks.

        What was acknowledged is not delivered again. If the store lost it, or had to be emptied, and nobody moves the
        cursor, it is for us to read it: gates wait for it.
        """
        stored = await self._store.verify()
        if stored < self._cursor:
            raise CursorConflict(f"{self._consumer.durable}: Redis lost data")
        if stored == self._cursor < self._acknowledged:
            await self._catch_up(self._acknowledged)
            await self._finished()
            self._acknowledged = 0

    async def _start_over(self) -> None:
        try:
            await self._store.start_over()
        except OUTAGES as error:
            log.warning("%s: %s; trying again", self._consumer.durable, error)
            await self._pause(_FIRST_PAUSE_S)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass

    async def _open(self) -> None:
        await self._abandon()
        if self._take_over is not None:
            await self._take_over.finish()
        await self._consumer.open()
        self._expected_delivery = 0
        await self._look_around()
        self._acknowledged = (await self._consumer.backlog()).done

    async def _look_around(self) -> None:
        """Where the fold stands, and how far another worker may have come before us."""
        stream = self._consumer.stream
        view = await leader_view(self._client, stream)
        # A stream that was removed and made again has other messages under the same numbers.
        self._cursor = await self._store.open(str(view.created))
        if self._cursor > view.last:
            # Another worker may have committed, in between, what was stored since.
            view = await leader_view(self._client, stream)
        self._ahead = None
        # Whatever is in the stream now may have been decided by a worker that died, or lost its pin, before it
        # could commit; whatever comes later can't have been.
        self._published_until = view.last
        if self._cursor > view.last:
            raise StaleState(
                f"the store stands at {self._cursor}, the stream ends at {view.last}: "
                "the stream was restored from an older backup"
            )
        await self._refuse_another_past()
        await self._steering.begin()

    async def _refuse_another_past(self) -> None:
        """A stream that was restored from a backup, and grew since, has other messages under the same numbers."""
        sequence, at_ns = await self._store.folded_last()
        if not at_ns or sequence != self._cursor:
            return
        stream = self._consumer.stream
        # On whatever subject: the number may be that of another partition now.
        for stored in await stored_from(self._client, stream, ">", sequence, 1):
            if stored.sequence == sequence and stored.stored_at_ns != at_ns:
                raise StaleState(
                    f"{stream} {sequence} is another message than the one that was folded: "
                    "the stream was restored from an older backup"
                )

    async def _handle(self, deliveries: Sequence[Delivery]) -> None:
        last = max(deliveries, key=lambda delivery: delivery.sequence)
        if self._is_contiguous(deliveries):
            await self._process(deliveries, acknowledge=last)
            return
        await self._finished()
        await self._look_around()
        if last.sequence > self._cursor:
            await self._catch_up(last.sequence)
        left = sorted((d for d in deliveries if d.sequence > self._cursor), key=_by_sequence)
        if left:
            # Not to be read any more, but we have it in hand.
            await self._process(left, acknowledge=None)
        # What is behind the cursor may still be on its way into the store.
        await self._finished()
        await self._consumer.acknowledge(last)

    def _is_contiguous(self, deliveries: Sequence[Delivery]) -> bool:
        """Whether these follow upon the last delivery with nothing between, in the stream as in their numbers.

        Messages delivered again come in the order in which their time ran out: numbers without a hole say nothing
        about those between them, and nothing about what follows upon one of them.
        """
        first, last = deliveries[0], deliveries[-1]
        expected = self._expected_delivery
        self._expected_delivery = 0 if last.redelivered else last.delivery_number + 1
        return (
            first.delivery_number == expected
            and last.delivery_number - first.delivery_number == len(deliveries) - 1
            and first.sequence > self._cursor
            and not any(delivery.redelivered for delivery in deliveries)
            and all(a.sequence < b.sequence for a, b in pairwise(deliveries))
        )

    async def _catch_up(self, until: int) -> None:
        """Fold everything after the cursor up to a sequence, read from the stream itself."""
        started_at = self._cursor
        while self._cursor < until:
            stored = await stored_from(
                self._client,
                self._consumer.stream,
                self._consumer.filter_subject,
                self._cursor + 1,
                self._batch,
                known=until,
            )
            stored = [delivery for delivery in stored if delivery.sequence <= until]
            if not stored:
                # The stream's leader has none of them any more: they were deleted in between.
                break
            await self._process(stored, acknowledge=None)
        if self._cursor - started_at > 10 * self._batch:
            log.info(
                "%s: caught up from %d to %d", self._consumer.durable, started_at, self._cursor
            )

    async def _process(self, deliveries: Sequence[Delivery], acknowledge: Delivery | None) -> None:
        """Fold a batch, then let it become durable on its own while the caller goes on to the next."""
        fold = await self._fold(deliveries)
        await self._finished()
        self._cursor = fold.last
        self._ahead = fold
        self._finishing = asyncio.create_task(self._finish(fold, acknowledge))
        self._finishing.add_done_callback(lambda _: self._consumer.wake())

    async def _finished(self) -> None:
        """Wait for the batch on its way; raises what stopped it."""
        if self._finishing is not None:
            await self._finishing
            self._finishing = None

    async def _abandon(self) -> None:
        """Give up the batch on its way, wherever it is: it will be found out and done again."""
        if self._finishing is not None:
            self._finishing.cancel()
            await asyncio.gather(self._finishing, return_exceptions=True)
        self._finishing = self._ahead = None

    async def _finish(self, fold: _Fold[S, R], acknowledge: Delivery | None) -> None:
        """Publish, commit, acknowledge: in this order."""
        timers = await self._leave_out_published(fold)
        for delivery, refusal in fold.refused:
            await self._dead.store(self._consumer.stream, delivery, refusal)
        if timers:
            await publish_all(self._client, TIMERS, timer_messages(timers))
        if fold.outputs:
            await self._outbox.publish(fold.outputs)
        states = {key: (raw, fold.lifetimes.get(key)) for key, raw in fold.encoded.items()}
        changes = Commit(states, fold.handled, fold.forgotten, fold.last_at_ns)
        await self._store.commit(fold.after, fold.last, changes)
        if acknowledge is not None:
            await self._consumer.acknowledge(acknowledge)
        for span in fold.spans:
            span.end()
        self._telemetry.batch_done(
            fold.outcomes, fold.started, fold.first.stored_at_ns, time.time_ns()
        )
        self._telemetry.rules_matched(fold.rules)

    async def _fold(self, deliveries: Sequence[Delivery]) -> _Fold[S, R]:
        fold: _Fold[S, R] = _Fold(
            self._cursor,
            deliveries[0],
            deliveries[-1].sequence,
            deliveries[-1].stored_at_ns,
            time.monotonic(),
            time.time_ns(),
        )
        readable: list[tuple[Parsed[T], Delivery]] = []
        ours = [delivery for delivery in deliveries if not is_foreign(delivery)]
        for delivery in await self._steering.sift(ours):
            try:
                readable.append((self._parse(delivery), delivery))
            except MessageRefused as refusal:
                fold.refused.append((delivery, refusal))
        seen, until = await self._load(fold, [(item.key, item.message_id) for item, _ in readable])
        known = dict(fold.before)
        for item, delivery in readable:
            identity = (item.key, item.message_id)
            is_forgotten = item.key in until and delivery.stored_at_ns // 1000 > until[item.key]
            try:
                if identity in seen and not is_forgotten:
                    raise _duplicate(item.message_id, seen[identity])
                state = None if is_forgotten else known.get(item.key)
                known[item.key] = self._step(fold, until, state, item, delivery)
            except MessageRefused as refusal:
                fold.refused.append((delivery, refusal))
                continue
            if is_forgotten:
                # Only now: a message that is refused changes nothing.
                _forget(fold, seen, item.key)
            seen[identity] = delivery.sequence
            fold.handled.append((*identity, delivery.sequence))
        fold.outcomes["dead"] += len(fold.refused)
        encode = self._processor.encode_state
        fold.encoded = {key: encode(state) for key, state in fold.states.items()}
        return fold

    async def _load(
        self, fold: _Fold[S, R], messages: Sequence[tuple[str, str]]
    ) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
        """Known ids and when keys are forgotten: from the store, and from the batch that is on its way there."""
        ahead = self._ahead
        on_its_way = self._finishing is not None and not self._finishing.done()
        cursors = (ahead.after, ahead.last) if ahead and on_its_way else (self._cursor,)
        loaded = await self._store.load(cursors, messages)
        decode = self._processor.decode_state
        if ahead is None:
            fold.before = {key: decode(raw) for key, raw in loaded.states.items()}
            return dict(loaded.seen), dict(loaded.until_us)
        fold.before = {
            key: ahead.states[key] if key in ahead.states else decode(raw)
            for key, raw in loaded.states.items()
        }
        seen = {each: at for each, at in loaded.seen.items() if each[0] not in ahead.forgotten}
        until = dict(loaded.until_us)
        for key, message_id, sequence in ahead.handled:
            seen[key, message_id] = sequence
        for key, _ in messages:
            if key in ahead.states:
                fold.before[key] = ahead.states[key]
                until.pop(key, None)
                if key in ahead.lifetimes:
                    until[key] = ahead.lifetimes[key].until_us
        return seen, until

    def _parse(self, delivery: Delivery) -> Parsed[T]:
        try:
            return self._processor.parse(delivery)
        except MessageRefused:
            raise
        except Exception as error:
            raise self._defect(error, delivery) from error

    def _defect(self, error: Exception, delivery: Delivery) -> MessageRefused:
        """A defect of ours must neither stop the partition nor lose the message."""
        log.error("%s: failed at %d", self._consumer.durable, delivery.sequence, exc_info=error)
        return MessageRefused(
            f"internal error: {type(error).__name__}: {error}",
            remedy="report it; once mended, `lictor dead replay` handles the message again",
        )

    def _step(
        self,
        fold: _Fold[S, R],
        until: dict[str, int],
        before: S | None,
        item: Parsed[T],
        delivery: Delivery,
    ) -> S:
        try:
            stepped = self._processor.step(before, item, delivery)
        except MessageRefused:
            raise
        except Exception as error:
            raise self._defect(error, delivery) from error
        state, outputs, outcome, keep_state_s, rules = stepped
        key, sequence = item.key, delivery.sequence
        headers = self._trace_headers(fold, outcome, key, delivery)
        fold.states[key] = state
        if keep_state_s:
            until[key] = delivery.stored_at_ns // 1000 + keep_state_s * SECOND_US
            fold.lifetimes[key] = Lifetime(keep_state_s, until[key])
        elif until:
            until.pop(key, None)
            fold.lifetimes.pop(key, None)
        for output in outputs:
            fold.outputs.append(Sourced(key, sequence, output, headers))
        fold.outcomes[outcome] += 1
        for rule in rules:
            fold.rules[rule] += 1
        return state

    def _trace_headers(
        self, fold: _Fold[S, R], outcome: str, key: str, delivery: Delivery
    ) -> Mapping[str, str]:
        """The trace context for what a message causes: of a span of its own, or the one it came with."""
        if not self._telemetry.tracing:
            headers = delivery.headers
            if isinstance(headers, WireHeaders) and not headers.mention(_TRACEPARENT):
                return NO_HEADERS
            parent = headers.get(TRACEPARENT)
            # It came from outside, and goes into a header of ours.
            valid = parent is not None and TRACEPARENT_FORM.fullmatch(parent)
            return {TRACEPARENT: parent} if parent and valid else NO_HEADERS
        span = self._telemetry.span(
            f"{self._consumer.stream.lower()} {outcome}",
            delivery.headers,
            {"lictor.key": key, "lictor.sequence": delivery.sequence},
            start_ns=fold.started_ns,
        )
        fold.spans.append(span)
        return span.headers()

    async def _leave_out_published(self, fold: _Fold[S, R]) -> list[Timer]:
        """The timers to set; after a restart, without what the output stream holds already."""
        changed, certain = set(fold.states), True
        if fold.first.sequence <= self._published_until:
            keys = {sourced.key for sourced in fold.outputs}
            published = await self._outbox.published(keys)
            fold.outputs = [
                sourced
                for sourced in fold.outputs
                if sourced.sequence > published.get(sourced.key, 0)
            ]
            # Timers are set before results are published, so a key whose last message has its result there has its
            # timers. What was set for the others, by batches cut in another way, is not known.
            changed = {key for key, _, sequence in fold.handled if sequence > published.get(key, 0)}
            certain = False
        orders = self._processor.timers
        return [
            timer
            for key in changed
            for timer in orders(fold.before.get(key), fold.states[key], certain)
        ]


def _forget(fold: _Fold[S, R], seen: dict[tuple[str, str], int], key: str) -> None:
    """Let go of the ids that were handled for what a key was before."""
    fold.forgotten.add(key)
    fold.handled = [each for each in fold.handled if each[0] != key]
    for identity in [each for each in seen if each[0] == key]:
        del seen[identity]


def _by_sequence(delivery: Delivery) -> int:
    return delivery.sequence


def _duplicate(message_id: str, first: int) -> MessageRefused:
    return MessageRefused(
        f"id {message_id!r} was handled already, as sequence {first} of the stream",
        remedy="give every event an id of its own; a retry of the same event needs no replay",
        problems=(
            FieldProblem(
                path="event_id",
                problem=f"is a duplicate of sequence {first}",
                excerpt=message_id[:80],
            ),
        ),
    )
