"""What a replay has to remember, on disk beyond a bounded part in memory.

SQLite keeps it in a temporary file of its own that is gone with the connection.
"""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lictor_policy.offline.replay import ReplayedTask
from lictor_policy.task.state import TaskState

_IN_MEMORY = 20_000


class TaskShelf:
    """Tasks by id: the latest used in memory, the others on disk."""

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        self._near: OrderedDict[str, ReplayedTask] = OrderedDict()
        self._in_memory = in_memory
        self._far = sqlite3.connect("")
        self._far.execute("CREATE TABLE task (id TEXT PRIMARY KEY, state BLOB, handled, last_us)")
        self._put_away = 0

    def __getitem__(self, key: str) -> ReplayedTask:
        """The task; a fresh one when nothing is known of it."""
        found = self._near.get(key)
        if found is not None:
            self._near.move_to_end(key)
            return found
        found = self._near[key] = self._fetch(key)
        if len(self._near) > self._in_memory:
            self._put_oldest_away()
        return found

    def close(self) -> None:
        """Forget everything."""
        self._far.close()

    def _fetch(self, key: str) -> ReplayedTask:
        if not self._put_away:
            return ReplayedTask()
        row = self._far.execute(
            "DELETE FROM task WHERE id = ? RETURNING state, handled, last_us", (key,)
        ).fetchone()
        if row is None:
            return ReplayedTask()
        state, handled, last_us = row
        return ReplayedTask(
            None if state is None else TaskState.decode(state), set(json.loads(handled)), last_us
        )

    def _put_oldest_away(self) -> None:
        rows = [self._near.popitem(last=False) for _ in range(max(1, self._in_memory // 4))]
        self._far.executemany(
            "INSERT INTO task VALUES (?, ?, ?, ?)",
            (
                (
                    key,
                    None if task.state is None else task.state.encode(),
                    json.dumps(sorted(task.handled)),
                    task.last_us,
                )
                for key, task in rows
            ),
        )
        self._put_away += len(rows)


class RecordedDecision(NamedTuple):
    """A decision on record, in short."""

    event_sequence: int
    sequence: int
    digest: bytes


class RecordShelf:
    """Decisions on record, to be read in the order of the events that they are about."""

    def __init__(self) -> None:
        self._far = sqlite3.connect("")
        self._far.execute("CREATE TABLE record (event INTEGER, sequence INTEGER, digest BLOB)")

    def add(self, records: Iterable[RecordedDecision]) -> None:
        """Keep some."""
        self._far.executemany("INSERT INTO record VALUES (?, ?, ?)", records)

    def in_order(self) -> Iterator[RecordedDecision]:
        """All of them, by event."""
        self._far.execute("CREATE INDEX by_event ON record (event, sequence)")
        rows = self._far.execute("SELECT event, sequence, digest FROM record ORDER BY 1, 2")
        for row in rows:
            yield RecordedDecision(*row)

    def close(self) -> None:
        """Forget everything."""
        self._far.close()
