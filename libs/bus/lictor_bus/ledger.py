"""Ledgers: whatever is its log. Read it, fold it, judge, append if nothing came between; else judge again.

A judge gets the state that the log folds to, and returns the entry to append, or None. The broker stores the entry only
if the log still ends where the judge saw it end. So every entry was judged on exactly the state that it follows,
whoever else writes to the log.

How a log is read is its own matter (``Log``): whole, by a ``WholeLedger``; or from a store or a memory that a service
keeps up to date. The loop, and how often and how long it is gone through, is here and nowhere else.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Generic, Protocol, TypeVar

from nats.aio.client import Client

from lictor_bus.errors import BusError, MessageRefused, SequenceConflict
from lictor_bus.logs.entry_logs import read_log
from lictor_bus.wire.publish import HEADER_ROOM, Outgoing

# As many tries as fit into the time for an answer under load, each after a longer pause than the one before.
_TRIES = 24
_LEAST_TRIES = 3
_LONGEST_PAUSE_S = 0.1
_GIVE_UP_AFTER_S = 5.0

LEDGERS: "dict[str, Ledger[Any, Any]]" = {}
"""Every ledger there is, by its name; the law test goes through them."""


class Overtaken(BusError):
    """Others changed a log each time that we were about to."""


class OutOfDate(SequenceConflict):
    """What was read does not count any more: it is to be read and judged again."""


class LedgerEntry(Protocol):
    """What a log holds."""

    @property
    def entry_id(self) -> str:
        """Its id, which is its message id too."""
        ...

    def to_json(self) -> bytes:
        """How it is stored."""
        ...


E = TypeVar("E", bound=LedgerEntry)
S = TypeVar("S")
R = TypeVar("R")
Judge = Callable[[S], E | Awaitable[E | None] | None]


@dataclass(frozen=True, slots=True)
class Reading(Generic[E, S]):
    """A log as it was read."""

    state: S
    last: int
    """The sequence of whatever is last in it; 0 when there is nothing."""
    entries: tuple[tuple[int, E], ...] = ()
    """Each with its sequence in the stream, where the log was read whole."""

    def find(self, entry_id: str | None) -> tuple[int, E] | None:
        """The entry of that id, and its sequence."""
        return next((each for each in self.entries if each[1].entry_id == entry_id), None)


@dataclass(frozen=True, slots=True)
class LedgerChange(Generic[E, S]):
    """The result of judging a log."""

    state: S
    """What was judged: the log before the entry."""
    sequence: int
    """Where the entry stands; where the log ends, if there is none."""
    entry: E | None = None
    """What stands in the log: our entry, or the first one of its id."""
    is_new: bool = False
    """Whether this change appended it."""


class Log(Protocol[E, S]):
    """One log, as whoever changes it reads it."""

    subjects: str | None = None
    """The filter of subjects that the log stands on; None when all of it is on the subject of its messages."""

    async def read(self) -> Reading[E, S] | None:
        """What the log holds; None when that has to be asked again."""
        ...

    def message(self, entry: E) -> Outgoing:
        """An entry as it is stored."""
        ...

    async def is_current(self, reading: Reading[E, S]) -> bool:  # noqa: ARG002 -- for those who need it
        """Nothing is to be appended to what was read; False when it may be out of date, and is read again."""
        return True

    async def appended(self, reading: Reading[E, S], entry: E, sequence: int) -> None:
        """An entry was appended to what was read."""

    async def overtaken(self, reading: Reading[E, S]) -> None:
        """Somebody else appended to what was read."""


class Appender(Protocol):
    """Stores entries: ``lictor_bus.wire.appends.Appends``."""

    async def append(
        self, stream: str, message: Outgoing, after: int | None, *, log: str | None = None
    ) -> int:
        """Store a message as the next of its log and return its sequence, or raise SequenceConflict."""
        ...


class Ledger(Generic[E, S]):
    """All logs of one kind."""

    def __init__(self, name: str, stream: str) -> None:
        self.name = name
        self.stream = stream
        if name in LEDGERS:
            raise ValueError(f"there are two ledgers named {name!r}")
        LEDGERS[name] = self

    async def change(
        self,
        appends: Appender,
        log: Log[E, S],
        judge: "Judge[S, E]",
        *,
        entry_id: str | None = None,
    ) -> LedgerChange[E, S]:
        """Have a log judged and keep what comes of it; Overtaken when others were always faster.

        A log that holds the entry ``entry_id`` is not judged again: the first answer stands.
        """

        async def attempt() -> LedgerChange[E, S]:
            reading = await log.read()
            if reading is None:
                raise OutOfDate
            if found := reading.find(entry_id):
                return LedgerChange(reading.state, *found)
            judged = judge(reading.state)
            entry = await judged if isawaitable(judged) else judged
            if entry is None:
                if await log.is_current(reading):
                    return LedgerChange(reading.state, reading.last)
                raise OutOfDate
            if found := reading.find(entry.entry_id):
                return LedgerChange(reading.state, *found)
            message = log.message(entry)
            try:
                sequence = await appends.append(
                    self.stream, message, reading.last, log=log.subjects
                )
            except SequenceConflict:
                await log.overtaken(reading)
                raise
            if sequence <= reading.last:
                # The log had it before, though the reading does not show it.
                return LedgerChange(reading.state, sequence, entry)
            await log.appended(reading, entry, sequence)
            return LedgerChange(reading.state, sequence, entry, is_new=True)

        return await self.again(attempt)

    async def again(self, attempt: Callable[[], Awaitable[R]]) -> R:
        """Try again as long as others are faster (SequenceConflict); Overtaken when they always were.

        For what changes more than one entry at a time; whatever changes one entry is judged by ``change``.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + _GIVE_UP_AFTER_S
        for number in range(_TRIES):
            if number:
                # The longer, the more often we were overtaken: let others finish.
                await asyncio.sleep(random.random() * min(_LONGEST_PAUSE_S, 0.002 * 2**number))
            if number >= _LEAST_TRIES and clock() >= until:
                break
            with suppress(SequenceConflict):
                return await attempt()
        raise Overtaken(f"others changed the {self.name} all the time; ask again")


class WholeLedger(Ledger[E, S]):
    """Logs that are read whole each time: few entries each, of which some message may be somebody else's."""

    def __init__(
        self,
        name: str,
        stream: str,
        *,
        parse: Callable[[bytes], E],
        fold: Callable[[Iterable[E]], S],
        subject_of: Callable[[E], str],
        too_large: str = "send it in smaller pieces",
    ) -> None:
        super().__init__(name, stream)
        self.parse = parse
        self.fold = fold
        self.subject_of = subject_of
        self.too_large = too_large

    def log(self, client: Client, subjects: str) -> "WholeLog[E, S]":
        """The log that stands on these subjects."""
        return WholeLog(self, client, subjects)


class WholeLog(Log[E, S]):
    """One of them."""

    def __init__(self, ledger: WholeLedger[E, S], client: Client, subjects: str) -> None:
        self._ledger = ledger
        self._client = client
        self._filter = subjects
        self.subjects = subjects

    async def read(self) -> Reading[E, S]:
        """All of it; UnreadableEntry for an entry that this version can't read: it must not be left out."""
        ledger = self._ledger
        found = await read_log(
            self._client, ledger.stream, self._filter, ledger.parse, ledger.subject_of
        )
        return Reading(ledger.fold(entry for _, entry in found.entries), found.last, found.entries)

    def message(self, entry: E) -> Outgoing:
        """An entry as it is stored; MessageRefused when the broker does not take as much."""
        body = entry.to_json()
        if len(body) + HEADER_ROOM > self._client.max_payload:
            raise MessageRefused(
                f"the {self._ledger.name} has {len(body)} bytes, more than the broker takes",
                remedy=self._ledger.too_large,
            )
        return Outgoing(self._ledger.subject_of(entry), body, entry.entry_id)
