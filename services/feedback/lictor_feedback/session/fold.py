"""Folding a session's log into the store, from wherever the store stands."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from lictor_bus.errors import BusError
from lictor_feedback.session.log import Chunk, LoggedEntry, SessionLog
from lictor_feedback.session.store import STORE_TROUBLE, CursorMoved, SessionStore
from lictor_guard.facts.fact import Changes, Fact, Facts, decode_fact
from lictor_guard.facts.state_document import state_of
from lictor_guard.log.fold import WHOLE
from lictor_guard.log.replay import Replay
from lictor_guard.session.judge import SessionJudge
from lictor_guard.session.snapshots import changed
from lictor_schema.sessions.session_log import StateKept, StateReset, StateRestored

log = logging.getLogger("lictor.feedback")


def encoded(changes: Changes) -> dict[str, bytes | None]:
    """Changed facts in their stored form."""
    return {name: None if fact is None else fact.encode() for name, fact in changes.items()}


class LogFolder:
    """Brings what is stored of a session up to its log."""

    def __init__(
        self,
        log: SessionLog,
        store: SessionStore,
        session_for: Callable[[str], Awaitable[SessionJudge]],
    ) -> None:
        self._log = log
        self._store = store
        self._session_for = session_for
        self._progress: dict[str, tuple[int, int]] = {}

    async def catch_up(self, key: str) -> int:
        """Fold everything up to the entry that is the last now; its sequence, 0 when there is no such session."""
        last = await self._log.last(key)
        try:
            while True:
                cursor = (await self._store.load(key, ())).cursor
                if cursor is not None and cursor >= last:
                    # The log may have grown since; but one that ends earlier is another log.
                    last = await self._log.last(key)
                    if cursor > last:
                        await self._store.forget(key)
                        continue
                    if cursor == last:
                        return cursor
                if not last:
                    return 0
                try:
                    if cursor is None:
                        await self._fold_anew(key, last)
                    else:
                        chunk = await self._entries(key, cursor, last)
                        await self._fold(key, cursor, chunk, last)
                except CursorMoved:
                    continue
        finally:
            self._progress.pop(key, None)

    def progress(self, key: str) -> str:
        """How far a session's log has been read that is being folded now."""
        done, left = self._progress.get(key, (0, 0))
        if not left:
            return "the session's log is being read again"
        return (
            f"the session's log is being read again: {done:,} of {done + left:,} entries".replace(
                ",", " "
            )
        )

    async def _fold_anew(self, key: str, last: int) -> None:
        """Fold the log from its begin, in memory: what it says of snapshots on the way is at hand for restores."""
        cursor: int | None = None
        replay: Replay | None = None
        while (cursor or 0) < last:
            chunk = await self._entries(key, cursor or 0, last)
            changes: dict[str, Fact | None] = {}
            for sequence, entry in chunk:
                if entry is None:
                    continue
                if replay is None:
                    replay = Replay((await self._session_for(entry.definition_hash)).folder)
                changes |= replay.add(sequence, entry)
                if isinstance(entry, StateKept):
                    await self._keep(key, sequence, replay.facts)
            end = chunk[-1].sequence
            await self._store.commit(key, cursor, end, encoded(changes), more_to_come=end < last)
            cursor = end

    async def _keep(self, key: str, sequence: int, whole: Mapping[str, Fact]) -> None:
        state = {name: fact.encode() for name, fact in state_of(whole).items()}
        try:
            await self._store.keep_state(key, sequence, state)
        except STORE_TROUBLE as error:
            # It only saves time: a restore reads the log where it finds none.
            log.warning("session %s: the state as of %d is not kept: %s", key, sequence, error)

    async def _entries(self, key: str, after: int, last: int) -> Chunk:
        """The next entries of a log that goes on until `last`."""
        chunk = await self._log.read(key, after, known=last)
        if not chunk:
            raise BusError(
                f"SESSIONS ends at {last} for session {key}, but can't be read after {after}"
            )
        done, _ = self._progress.get(key, (0, 0))
        self._progress[key] = done + len(chunk), chunk.left
        return chunk

    async def _fold(
        self, key: str, cursor: int | None, chunk: Sequence[LoggedEntry], last: int
    ) -> None:
        """Fold entries in one step; one that concerns every fact in a step of its own."""
        first = next((logged for logged in chunk if logged.entry is not None), None)
        changes: Changes = {}
        sequence = chunk[-1].sequence
        if first is not None and first.entry is not None:
            session = await self._session_for(first.entry.definition_hash)
            if isinstance(first.entry, StateRestored | StateReset):
                sequence = first.sequence
                changes = await self._whole(key, cursor, session, first.entry)
            else:
                ordinary = _in_one_step(chunk)
                sequence = ordinary[-1].sequence
                changes = await self._ordinary(key, session, ordinary)
                if isinstance(ordinary[-1].entry, StateKept):
                    whole = await self._all_facts(key, cursor)
                    await self._keep(key, sequence, changed(whole, changes))
        await self._store.commit(
            key, cursor, sequence, encoded(changes), more_to_come=sequence < last
        )

    async def _ordinary(
        self, key: str, session: SessionJudge, chunk: Sequence[LoggedEntry]
    ) -> Changes:
        entries = [(each, entry) for each, entry in chunk if entry is not None]
        names = {name for _, entry in entries for name in session.names_to_fold(entry)}
        stored = await self._store.load(key, sorted(names))
        facts = Facts(
            {
                name: None if value is None else decode_fact(value)
                for name, value in stored.facts.items()
            }
        )
        all_changes: dict[str, Fact | None] = {}
        for sequence, entry in entries:
            changes = session.fold(entry, sequence, facts)
            facts = facts.changed(changes)
            all_changes |= changes
        return all_changes

    async def _whole(
        self, key: str, cursor: int | None, session: SessionJudge, entry: StateRestored | StateReset
    ) -> Changes:
        whole = await self._all_facts(key, cursor)
        kept: Mapping[str, Fact] = {}
        if isinstance(entry, StateRestored) and entry.to_sequence is not None:
            kept = await self.state_at(key, session, entry.to_sequence)
        return session.fold_whole(entry, whole, kept)

    async def _all_facts(self, key: str, cursor: int | None) -> dict[str, Fact]:
        stored = await self._store.whole(key)
        if stored.cursor != cursor:
            raise CursorMoved(f"session {key} stands at {stored.cursor}, not at {cursor}")
        return {name: decode_fact(value) for name, value in stored.facts.items() if value}

    async def state_at(self, key: str, session: SessionJudge, sequence: int) -> Mapping[str, Fact]:
        """The STATE of a session as of a snapshot's entry; from its log where it is not kept any more."""
        kept = await self._store.kept_state(key, sequence)
        if kept is not None:
            return {name: decode_fact(value) for name, value in kept.items()}
        replay = Replay(session.folder)
        async for each, entry in self._log.until(key, sequence):
            replay.add(each, entry)
        return replay.state_at(sequence)


def _in_one_step(chunk: Sequence[LoggedEntry]) -> Sequence[LoggedEntry]:
    """The entries before the first that concerns every fact, and up to the first that keeps them."""
    for number, logged in enumerate(chunk):
        if isinstance(logged.entry, WHOLE):
            return chunk[:number]
        if isinstance(logged.entry, StateKept):
            return chunk[: number + 1]
    return chunk
