"""Appends to logs that share the broker's sync: a lone one goes out at once, many that wait go as one atomic batch.

The broker syncs each single write to disk before it takes the next of the stream. An atomic batch is synced as a whole,
but the broker first stages it in files of its own, which it syncs too: that costs as much as about ten single writes,
however many members it has. So a few appends are under way at once, each by itself; what comes meanwhile waits, goes
together as soon as there is enough of it for a batch to pay, and else by itself when another is done.

* A batch is of one stream, and a log stands in it at most once: the broker compares each member with the log as it was
  before the batch.
* The broker refuses a batch whole. Then its members go one by one, and each gets its own answer.
* An append whose answer got lost is repeated. The broker compares it with the log before it looks at its message id, so
  it calls that a conflict. What it was stored as can only be the next message of the log: that is looked at. A message
  of the same id that somebody else stored meanwhile is a conflict unless it says the same, byte for byte. So is our own
  when the log has gone on since.
* Whoever gives up has been told a denial: an append is not sent, or sent again, after that.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nats.aio.client import Client

from lictor_bus.errors import BatchRefused, BusError, IdTaken, MessageRefused, SequenceConflict
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, expecting, publish_batch, publish_expecting
from lictor_bus.wire.read import stored_from

log = logging.getLogger("lictor.appends")

# Enough for the broker always to have the next one.
AT_ONCE = 4
# From so many on a batch is stored sooner than its members one after the other: `python bench/appends.py` said 12 to 16
# (batch_pays_from; nats-server 2.15, ext4, a sync of 0.1 ms) and 12 where a sync takes 2 ms. Of 32 appends it takes 0.5
# and 0.2 of the time, of 64 it takes 0.3 and 0.2.
BATCH_FROM = 12
# More than ever wait together; what a batch holds up is bounded all the same.
_MOST_MEMBERS = 256
_MOST_BYTES = 4 * 1024 * 1024
_TRIES = 3
_ANSWER_WITHIN_S = 1.0
_ONCE_WITHIN_S = 5.0


@dataclass(slots=True, eq=False)
class _Append:
    log: str
    message: Outgoing
    after: int | None
    stored: "asyncio.Future[int]"
    is_perhaps_stored: bool = False
    """Whether it was sent and nothing is known of it."""


@dataclass(slots=True)
class _Line:
    """The appends of one stream."""

    name: str
    under_way: set[str] = field(default_factory=set[str])
    """Logs with an append that the broker has not answered."""
    in_batch: bool = False
    waiting: deque[_Append] = field(default_factory=deque[_Append])

    @property
    def is_open(self) -> bool:
        """Whether one more append may go by itself."""
        return not self.in_batch and len(self.under_way) < AT_ONCE

    def ready(self) -> list[_Append]:
        """Those whose log has nothing under way, the first of each log."""
        seen = set(self.under_way)
        found: list[_Append] = []
        for each in self.waiting:
            if each.log not in seen:
                seen.add(each.log)
                found.append(each)
        return found

    def take(self, chosen: Sequence[_Append]) -> None:
        """Put those under way."""
        taken = set(map(id, chosen))
        self.waiting = deque(each for each in self.waiting if id(each) not in taken)
        self.under_way.update(each.log for each in chosen)


class Appends:
    """Appends of one connection."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._lines: dict[str, _Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def append(
        self, stream: str, message: Outgoing, after: int | None, *, log: str | None = None
    ) -> int:
        """Store a message as the next of its log and return its sequence; of one that the log had before, its own.

        Raises SequenceConflict unless ``after`` is the sequence of the last message of the log (0: there is none);
        None stores it wherever. ``log`` is the filter of subjects that the log stands on, unless it is the message's
        own subject alone. Appends to one log are stored in the order they were made.
        """
        if after is not None:
            message = expecting(message, after, log)
        if message.message_id is None:
            # Nobody would know it again if its answer got lost: it goes by itself, once.
            stored = await publish_expecting(self.client, stream, message, _ONCE_WITHIN_S)
            return stored.sequence
        line = self._lines.get(stream)
        if line is None:
            line = self._lines[stream] = _Line(stream)
        log = log or message.subject
        waiting = _Append(log, message, after, asyncio.get_running_loop().create_future())
        if line.is_open and not line.waiting and log not in line.under_way:
            line.under_way.add(log)
            try:
                return await self._store(stream, waiting)
            finally:
                self._done(line, [log])
        line.waiting.append(waiting)
        if len(line.waiting) >= BATCH_FROM:
            # A little later: what else is about to be appended goes along.
            asyncio.get_running_loop().call_soon(self._go_on, line)
        try:
            return await waiting.stored
        except asyncio.CancelledError:
            # Whoever gave up before it was sent does not want it any more.
            if waiting in line.waiting:
                line.waiting.remove(waiting)
            raise

    def _done(self, line: _Line, logs: Iterable[str]) -> None:
        line.under_way.difference_update(logs)
        self._go_on(line)

    def _go_on(self, line: _Line) -> None:
        """Send what waits and may go now."""
        if line.in_batch or not line.waiting:
            return
        ready = line.ready()
        if len(ready) >= BATCH_FROM:
            chosen = _fitting(ready)
            line.take(chosen)
            line.in_batch = True
            self._start(self._together(line, chosen))
            return
        chosen = ready[: max(0, AT_ONCE - len(line.under_way))]
        line.take(chosen)
        for each in chosen:
            self._start(self._alone(line, each))

    def _start(self, sending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(sending)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _together(self, line: _Line, members: Sequence[_Append]) -> None:
        try:
            last = await publish_batch(
                self.client, line.name, [each.message for each in members], _ANSWER_WITHIN_S
            )
        except Exception as error:  # noqa: BLE001 -- each learns its own; the line must not stay closed
            # MessageRefused whole, or nobody knows: each for itself finds out.
            for each in members:
                each.is_perhaps_stored = not isinstance(error, BatchRefused)
            log.info("%s: %d appends go one by one: %s", line.name, len(members), error)
            line.in_batch = False
            for each in members:
                self._start(self._alone(line, each))
            return
        line.in_batch = False
        for number, each in enumerate(members, last - len(members) + 1):
            if not each.stored.done():
                each.stored.set_result(number)
        self._done(line, [each.log for each in members])

    async def _alone(self, line: _Line, each: _Append) -> None:
        try:
            if each.stored.done():
                return
            sequence = await self._store(line.name, each)
        except Exception as error:  # noqa: BLE001 -- it is raised where the entry is appended
            if not each.stored.done():
                each.stored.set_exception(error)
        else:
            if not each.stored.done():
                each.stored.set_result(sequence)
        finally:
            self._done(line, [each.log])

    async def _store(self, stream: str, append: _Append) -> int:
        """Store one by itself; an answer that does not come is asked for again."""
        for tries_left in reversed(range(_TRIES)):
            try:
                return await self._tried(stream, append)
            except (SequenceConflict, BatchRefused, MessageRefused):
                raise
            except BusError:
                append.is_perhaps_stored = True
                if not tries_left or append.stored.done():
                    raise
        raise AssertionError("the last try returns or raises")

    async def _tried(self, stream: str, append: _Append) -> int:
        message, after = append.message, append.after
        try:
            stored = await publish_expecting(self.client, stream, message, _ANSWER_WITHIN_S)
        except SequenceConflict:
            if not append.is_perhaps_stored:
                raise
            following = await stored_from(self.client, stream, append.log, (after or 0) + 1, 1)
            if not following or not _is_stored_as(message, following[0]):
                raise
            sequence = following[0].sequence
            if await stored_from(self.client, stream, append.log, sequence + 1, 1):
                # Whoever appended has to see what came after it before going on.
                raise
            return sequence
        if stored.is_duplicate:
            found = await stored_from(self.client, stream, append.log, stored.sequence, 1)
            if not found or found[0].sequence != stored.sequence:
                raise IdTaken(
                    f"{stream} has a message {message.message_id}, but not on {append.log}",
                    remedy="give this one an id of its own",
                )
            is_ours = append.is_perhaps_stored and _is_stored_as(message, found[0])
            if after is not None and stored.sequence > after and not is_ours:
                raise SequenceConflict(f"somebody else stored {message.message_id} meanwhile")
        return stored.sequence


def _is_stored_as(message: Outgoing, stored: Delivery) -> bool:
    """Whether that is this message; one of the same id may be another's, judged otherwise."""
    is_named_so = stored.headers.get("Nats-Msg-Id") == message.message_id
    return is_named_so and stored.body == message.body


def _fitting(ready: Sequence[_Append]) -> Sequence[_Append]:
    """As many as one batch may hold."""
    size = 0
    for count, each in enumerate(ready[:_MOST_MEMBERS]):
        size += len(each.message.body)
        if size > _MOST_BYTES and count:
            return ready[:count]
    return ready[:_MOST_MEMBERS]
