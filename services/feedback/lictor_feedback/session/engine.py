"""Questions about sessions, between the log and the store: load what a question needs, decide, append, fold, commit.

The log is the truth, the store a fold of it. Entries are appended only right after the one that the facts end with, so
whatever was decided on facts that are out of date is refused by the broker, and decided again. What changes nothing has
nobody to refuse it; so it is answered from the store alone only if the facts can't be out of date:

* whoever appends sets a mark in the store before, and takes it away together with committing the result;
* an instance compares each session with the log once, and again when Redis is another process than it was then;
* an instance that appended while the store was away notifies the others.

Nobody is answered before what he reported is committed, or found missing by one of these.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from lictor_bus.ledger import Ledger
from lictor_bus.names import streams
from lictor_feedback.session.changes import (
    Beginning,
    CachedSession,
    EveryFact,
    QuestionFacts,
    SomeFacts,
)
from lictor_feedback.session.fold import LogFolder, encoded
from lictor_feedback.session.log import SessionLog
from lictor_feedback.session.store import (
    STORE_TROUBLE,
    Behind,
    CursorMoved,
    SessionStore,
    StoreAway,
    StoredFacts,
)
from lictor_guard.facts.fact import Fact, Facts
from lictor_guard.session.judge import SessionJudge
from lictor_schema.sessions.session_log import AnySessionEntry, SessionBegun

log = logging.getLogger("lictor.feedback")

A = TypeVar("A")

SESSIONS = Ledger[AnySessionEntry, QuestionFacts]("session", streams.SESSIONS)
BEGINNINGS = Ledger[AnySessionEntry, bool]("beginning of the session", streams.SESSIONS)

_MAX_KNOWN = 100_000
# Long enough for most logs; short enough for a report to be appended blindly in the time that is left.
_CATCH_UP_WITHIN_S = 0.8


class UnknownSession(Exception):
    """No session of that name ever began."""


@dataclass(frozen=True)
class SessionOperation(Generic[A]):
    """A question: which facts it needs, and what comes of it."""

    names: Callable[[SessionJudge], Iterable[str]]
    decide: Callable[[SessionJudge, Facts, int], tuple[AnySessionEntry | None, A]]


@dataclass(frozen=True, slots=True)
class DecidedAnswer(Generic[A]):
    """An answer, and what it stands on."""

    answer: A
    cursor: int
    """Sequence of the last entry that it takes into account, its own included."""
    records_first: bool = False
    """Whether the definition wants the answer on record before it is given."""
    changed: bool = False
    """Whether an entry says what was decided."""


class Engine:
    """All sessions, for one instance of the service."""

    def __init__(
        self,
        log: SessionLog,
        store: SessionStore,
        session_for: Callable[[str], Awaitable[SessionJudge]],
        *,
        tell_doubt: Callable[[str], Awaitable[None]],
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.log = log
        self._store = store
        self._session_for = session_for
        self._tell_doubt = tell_doubt
        self._now_ns = now_ns
        self._known: OrderedDict[str, CachedSession] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.ours: set[str] = set()
        self._folding: dict[str, tuple[asyncio.Task[int], float]] = {}
        """Folds under way, and since when."""
        self._folder = LogFolder(log, store, session_for)

    async def known(self, key: str) -> CachedSession:
        """What never changes of a session: read from its log once, and then remembered."""
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
            return found
        first = await self.log.begun(key)
        if first is None:
            raise UnknownSession(key)
        sequence, begun = first
        found = CachedSession(await self._session_for(begun.definition_hash), begun, sequence)
        self._remember(key, found)
        return found

    def _remember(self, key: str, known: CachedSession) -> None:
        self._known[key] = known
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)

    def doubt(self, key: str) -> None:
        """The store may lack something of this session: compare it with the log before it is believed again."""
        found = self._known.get(key)
        if found is not None:
            found.verified_at = -1
            found.doubts += 1

    async def look(
        self,
        key: str,
        operation: SessionOperation[A],
        beside: "asyncio.Future[Any] | None" = None,
    ) -> DecidedAnswer[A]:
        """Answer a question that rarely changes anything; costs one round trip to the store when it doesn't.

        What is asked ``beside`` the facts is there when it is decided.
        """
        known = await self.known(key)
        names = list(operation.names(known.session))
        stored = await self._trustworthy(key, known, names)
        if beside is not None:
            await beside
        # Read as they are asked for; what is to be written is decided again, on facts that could all be read.
        entry, answer = operation.decide(known.session, Facts(stored.facts), self.now_us())
        if entry is None:
            return DecidedAnswer(answer, stored.cursor or 0)
        return await self.change(key, operation)

    async def change(self, key: str, operation: SessionOperation[A]) -> DecidedAnswer[A]:
        """Answer a question that is expected to change the session."""
        known = await self.known(key)
        answers: list[A] = []

        def judge(found: QuestionFacts) -> AnySessionEntry | None:
            entry, answer = operation.decide(known.session, found.facts, self.now_us())
            answers.append(answer)
            return entry

        async with self._alone(key), self._marks() as marks:
            names = list(operation.names(known.session))
            log = SomeFacts(self, key, known, names, marks)
            changed = await SESSIONS.change(self.log, log, judge)
        return DecidedAnswer(answers[-1], changed.sequence, changed=changed.entry is not None)

    async def change_whole(
        self,
        key: str,
        decide: Callable[
            [SessionJudge, StoredFacts, int], Awaitable[tuple[AnySessionEntry | None, A]]
        ],
        within_s: float = _CATCH_UP_WITHIN_S,
    ) -> DecidedAnswer[A]:
        """Answer a question that concerns every fact of a session; waits for its fold as long as `within_s`."""
        known = await self.known(key)
        answers: list[A] = []

        async def judge(found: QuestionFacts) -> AnySessionEntry | None:
            entry, answer = await decide(known.session, found.stored, self.now_us())
            answers.append(answer)
            return entry

        async with self._alone(key), self._marks() as marks:
            log = EveryFact(self, key, known, (), marks, within_s)
            changed = await SESSIONS.change(self.log, log, judge)
        return DecidedAnswer(answers[-1], changed.sequence)

    async def begin(self, key: str, session: SessionJudge, entry: SessionBegun) -> bool:
        """Store the first entry of a session; False when it has begun already."""
        age = self._store.age
        begun = Beginning(self.log, key)
        changed = await BEGINNINGS.change(
            self.log, begun, lambda has_begun: None if has_begun else entry
        )
        if changed.entry is None:
            return False
        sequence = changed.sequence
        nothing = Facts(dict.fromkeys(session.names_to_fold(entry)))
        changes = session.fold(entry, sequence, nothing)
        try:
            await self._store.commit(key, None, sequence, encoded(changes))
        except (CursorMoved, *STORE_TROUBLE) as error:
            log.warning("session %s: its begin is not folded yet: %s", key, error)
            age = -1
        self._remember(key, CachedSession(session, entry, sequence, age))
        return True

    async def append_blindly(
        self, key: str, operation: SessionOperation[A], stand_in: SessionJudge | None = None
    ) -> DecidedAnswer[A]:
        """Store what a report says while the store is away: it counts as soon as the log is folded again.

        Whether it was reported before is unknown; folding finds out. Where the session's own definition can't be
        had, a stand-in writes the entry: what a report says does not depend on it.
        """
        known = await self.known(key) if stand_in is None else await self._begun_by(key, stand_in)
        nothing = Facts(dict.fromkeys(operation.names(known.session)))
        facts = nothing.changed(dict(self.begun_facts(known).items()))
        entry, answer = operation.decide(known.session, facts, self.now_us())
        if entry is None:
            return DecidedAnswer(answer, 0)
        entry = entry.model_copy(update={"definition_hash": known.begun.definition_hash})
        # Before, too: an instance that dies after appending notifies nobody.
        await self._doubt_everywhere(key)
        sequence = await self.log.append(streams.SESSIONS, self.log.message(key, entry), None)
        await self._doubt_everywhere(key)
        return DecidedAnswer(answer, sequence)

    async def _begun_by(self, key: str, session: SessionJudge) -> CachedSession:
        first = await self.log.begun(key)
        if first is None:
            raise UnknownSession(key)
        sequence, begun = first
        return CachedSession(session, begun, sequence)

    async def not_folded(self, key: str, sequence: int, error: Exception) -> None:
        """It is in the log, where everybody must look now, even if the store lost the mark that says so."""
        log.warning("session %s: %d is not folded yet: %s", key, sequence, error)
        await self._doubt_everywhere(key)

    async def _doubt_everywhere(self, key: str) -> None:
        self.doubt(key)
        await self._tell_doubt(key)

    def begun_facts(self, known: CachedSession) -> Facts:
        """The facts of a session as it began."""
        session = known.session
        nothing = Facts(dict.fromkeys(session.names_to_fold(known.begun)))
        return nothing.changed(session.fold(known.begun, known.sequence, nothing))

    async def state_at(self, key: str, session: SessionJudge, sequence: int) -> Mapping[str, Fact]:
        """The STATE of a session as of a snapshot's entry."""
        return await self._folder.state_at(key, session, sequence)

    def now_us(self) -> int:
        """The time, in microseconds since 1970."""
        return self._now_ns() // 1000

    async def close(self) -> None:
        """Give up folds that are under way, for which nobody waits any more, and the store."""
        folds = [task for task, _ in self._folding.values()]
        for fold in folds:
            # Whoever folds the session next goes on where this one was committed.
            fold.cancel()
        await asyncio.gather(*folds, return_exceptions=True)
        self._store.close()

    async def _trustworthy(self, key: str, known: CachedSession, names: list[str]) -> StoredFacts:
        """Facts that hold everything which was answered before now."""
        before = self.moment(known)
        stored = await self._guarded(self._store.load(key, names))
        if self.is_complete(known, stored):
            return stored
        last = await self.log.last(key)
        if stored.cursor is None or stored.cursor != last:
            await self.catch_up(key, at_least=last)
            stored = await self._guarded(self._store.load(key, names))
            if stored.cursor is None or stored.cursor < last:
                raise StoreAway("the store lost the session again; ask again")
            return stored
        self.verified(known, before)
        return stored

    def moment(self, known: CachedSession) -> tuple[int, int]:
        return self._store.age, known.doubts

    def verified(self, known: CachedSession, before: tuple[int, int]) -> None:
        """What was loaded after that moment was found complete; unless it is in doubt again, so it stays."""
        if self.moment(known) == before:
            known.verified_at = before[0]

    def is_complete(self, known: CachedSession, stored: StoredFacts) -> bool:
        """Whether nothing that was answered can be missing in these facts.

        The age is asked after loading: a connection made for it reports the age before it answers.
        """
        return (
            stored.cursor is not None
            and known.verified_at == self._store.age
            and stored.pending <= self.ours
        )

    async def load_for_write(self, key: str, names: Iterable[str], mark: str) -> StoredFacts:
        """Some facts of a session, and leave a mark; StoreAway when the store does not answer."""
        return await self._guarded(self._store.load_for_write(key, list(names), mark))

    async def whole(self, key: str) -> StoredFacts:
        """All facts of a session."""
        return await self._guarded(self._store.whole(key))

    async def unmark(self, key: str, mark: str) -> None:
        """Take a mark away."""
        await self._guarded(self._store.unmark(key, mark))

    async def commit(
        self, key: str, after: int | None, sequence: int, changes: Mapping[str, Fact | None]
    ) -> None:
        """Keep what an entry changed that is in the log already, if the store can."""
        try:
            await self._store.commit(key, after, sequence, encoded(changes))
        except CursorMoved:
            # Somebody found our entry in the log and folded it before us.
            pass
        except STORE_TROUBLE as error:
            await self.not_folded(key, sequence, error)

    async def _guarded(self, loading: Awaitable[A]) -> A:
        try:
            return await loading
        except STORE_TROUBLE as error:
            raise StoreAway(f"{type(error).__name__}: {error}") from error

    async def catch_up(
        self, key: str, within_s: float = _CATCH_UP_WITHIN_S, *, at_least: int = 0
    ) -> None:
        """Fold what the log has and the store lacks; concurrent callers share it. Behind when it takes long.

        A fold that we join may have looked at the log before the entry that we know of: then another follows.
        """
        began = asyncio.get_running_loop().time()
        while await self._join_fold(key, began, within_s) < at_least:
            pass

    async def _join_fold(self, key: str, began: float, within_s: float) -> int:
        """Wait for the fold under way, or for a new one; the sequence that it came to."""
        now = asyncio.get_running_loop().time()
        found = self._folding.get(key)
        if found is None:
            found = asyncio.create_task(self._fold(key)), now
            self._folding[key] = found
            found[0].add_done_callback(lambda task: self._folded(key, task))
        under_way, since = found
        # Of many that come one after the other each would wait anew, and the last too long. Who gives up leaves the
        # fold to go on: it would be begun again.
        until = min(since, began) + within_s
        await asyncio.wait((under_way,), timeout=max(0.0, until - now))
        if not under_way.done():
            raise Behind(self._folder.progress(key))
        return under_way.result()

    def _folded(self, key: str, task: "asyncio.Task[int]") -> None:
        del self._folding[key]
        if not task.cancelled() and task.exception() is not None:
            log.warning("session %s can't be folded now: %s", key, task.exception())

    async def _fold(self, key: str) -> int:
        known = self._known.get(key)
        before = (-1, -1) if known is None else self.moment(known)
        reached = await self._guarded(self._folder.catch_up(key))
        if not reached:
            self._known.pop(key, None)
            raise UnknownSession(key)
        if known is not None:
            self.verified(known, before)
        return reached

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncGenerator[None, None]:
        """One change of a session at a time within this instance; the log settles it between instances."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            yield

    @asynccontextmanager
    async def _marks(self) -> AsyncGenerator[list[str], None]:
        """Marks of our own; what they stand for is nobody's any more when we are done, however that ended."""
        marks: list[str] = []
        try:
            yield marks
        finally:
            self.ours.difference_update(marks)
