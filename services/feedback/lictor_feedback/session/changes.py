"""Sessions' logs as a question that changes one reads them: folded by the store, and marked before it is appended.

``engine`` says what the marks are for, and has the ledger that judges.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from lictor_bus.ledger import Log, Reading
from lictor_bus.wire.publish import Outgoing
from lictor_feedback.session.log import SessionLog
from lictor_feedback.session.store import StoreAway, StoredFacts
from lictor_guard.facts.fact import Fact, Facts, decode_fact
from lictor_guard.session.judge import SessionJudge
from lictor_schema.sessions.session_log import AnySessionEntry, SessionBegun


@dataclass(slots=True)
class CachedSession:
    """What never changes of a session, and since when its facts are known to be complete."""

    session: SessionJudge
    begun: SessionBegun
    sequence: int
    verified_at: int = -1
    """Age of the store when its facts were compared with the log; -1: not since they were last in doubt."""
    doubts: int = 0
    """How often they were in doubt: a comparison made meanwhile settles nothing."""


class FoldedSessions(Protocol):
    """All sessions of an instance, between their logs and the store: the engine."""

    log: SessionLog
    ours: set[str]
    """Marks of changes that are under way here."""

    def moment(self, known: CachedSession) -> tuple[int, int]: ...

    def verified(self, known: CachedSession, before: tuple[int, int]) -> None: ...

    def is_complete(self, known: CachedSession, stored: StoredFacts) -> bool: ...

    async def load_for_write(self, key: str, names: Iterable[str], mark: str) -> StoredFacts: ...

    async def whole(self, key: str) -> StoredFacts: ...

    async def unmark(self, key: str, mark: str) -> None: ...

    async def commit(
        self, key: str, after: int | None, sequence: int, changes: Mapping[str, Fact | None]
    ) -> None: ...

    async def catch_up(self, key: str, within_s: float = ..., *, at_least: int = 0) -> None: ...

    async def not_folded(self, key: str, sequence: int, error: Exception) -> None: ...


class QuestionFacts(NamedTuple):
    """What a question is judged on."""

    stored: StoredFacts
    facts: Facts
    mark: str


class SomeFacts(Log[AnySessionEntry, QuestionFacts]):
    """A session's log, folded by the store: those facts that a question needs."""

    def __init__(
        self,
        engine: FoldedSessions,
        key: str,
        known: CachedSession,
        names: Sequence[str],
        marks: list[str],
        within_s: float | None = None,
    ) -> None:
        self._engine = engine
        self._key = key
        self._known = known
        self._names = names
        self._marks = marks
        self._within_s = within_s
        self._before = engine.moment(known)

    async def read(self) -> Reading[AnySessionEntry, QuestionFacts] | None:
        self._before = self._engine.moment(self._known)
        found = await self._loaded(self._mark())
        if found is None:
            await self._catch_up()
            return None
        return Reading(found, found.stored.cursor or 0)

    async def _loaded(self, mark: str) -> QuestionFacts | None:
        stored = await self._engine.load_for_write(self._key, self._names, mark)
        return None if stored.cursor is None else QuestionFacts(stored, _facts(stored), mark)

    def message(self, entry: AnySessionEntry) -> Outgoing:
        return self._engine.log.message(self._key, entry)

    async def is_current(self, reading: Reading[AnySessionEntry, QuestionFacts]) -> bool:
        engine, (stored, _, mark) = self._engine, reading.state
        await engine.unmark(self._key, mark)
        if not engine.is_complete(self._known, stored):
            if await engine.log.last(self._key) != stored.cursor:
                await self._catch_up()
                return False
            engine.verified(self._known, self._before)
        return True

    async def appended(
        self,
        reading: Reading[AnySessionEntry, QuestionFacts],
        entry: AnySessionEntry,
        sequence: int,
    ) -> None:
        stored, facts, _ = reading.state
        changes = self._known.session.fold(entry, sequence, facts)
        await self._engine.commit(self._key, stored.cursor, sequence, changes)

    async def overtaken(self, reading: Reading[AnySessionEntry, QuestionFacts]) -> None:  # noqa: ARG002
        await self._catch_up()

    async def _catch_up(self, at_least: int = 0) -> None:
        within = () if self._within_s is None else (self._within_s,)
        await self._engine.catch_up(self._key, *within, at_least=at_least)

    def _mark(self) -> str:
        """A new mark: the one of the try before stands for nothing any more."""
        self._engine.ours.difference_update(self._marks)
        self._marks[:] = [uuid.uuid4().hex]
        self._engine.ours.update(self._marks)
        return self._marks[0]


class EveryFact(SomeFacts):
    """The same, all of it."""

    async def _loaded(self, mark: str) -> QuestionFacts | None:
        await self._engine.load_for_write(self._key, (), mark)
        stored = await self._engine.whole(self._key)
        # A fold that was committed since we set our mark took it away.
        if mark not in stored.pending or stored.cursor != await self._engine.log.last(self._key):
            return None
        return QuestionFacts(stored, Facts({}), mark)

    async def is_current(self, reading: Reading[AnySessionEntry, QuestionFacts]) -> bool:
        await self._engine.unmark(self._key, reading.state.mark)
        return True

    async def appended(
        self,
        reading: Reading[AnySessionEntry, QuestionFacts],  # noqa: ARG002
        entry: AnySessionEntry,  # noqa: ARG002
        sequence: int,
    ) -> None:
        self._engine.ours.difference_update(self._marks)
        try:
            # From the log, as everybody else would: it is rare, and there is one way to do it.
            await self._catch_up(at_least=sequence)
        except StoreAway as error:
            await self._engine.not_folded(self._key, sequence, error)


class Beginning(Log[AnySessionEntry, bool]):
    """The log of a session that most likely has not begun: whether it has is looked at when something is there."""

    def __init__(self, log: SessionLog, key: str) -> None:
        self._log = log
        self._key = key
        self._is_new = True

    async def read(self) -> Reading[AnySessionEntry, bool]:
        if self._is_new:
            return Reading(False, 0)
        # Only what is no entry may stand there.
        last = await self._log.last(self._key)
        return Reading(await self._log.begun(self._key) is not None, last)

    def message(self, entry: AnySessionEntry) -> Outgoing:
        return self._log.message(self._key, entry)

    async def overtaken(self, reading: Reading[AnySessionEntry, bool]) -> None:  # noqa: ARG002
        self._is_new = False


def _facts(stored: StoredFacts) -> Facts:
    return Facts(
        {
            name: None if value is None else decode_fact(value)
            for name, value in stored.facts.items()
        }
    )
