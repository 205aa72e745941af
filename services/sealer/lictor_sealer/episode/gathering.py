"""Reads what the streams hold about a task, up to a moment, page by page.

The moment is the broker's: so an episode is the same whoever assembles it, and whenever. What is stored later, or
becomes readable only after the sealer looked, is late: a correction covers it.
"""

import heapq
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from nats.aio.client import Client

from lictor_bus.names import streams, subjects
from lictor_bus.names.subject_pattern import SubjectPattern
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import any_on_subjects, read_from, read_since
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.core.time import from_micros
from lictor_schema.seals.episode_sources import StrandName
from lictor_sealer.episode.sources import Weaver
from lictor_sealer.episode.task_records import RecordsSeen, StoredRecord, TaskRecords

STREAMS: Final = (
    streams.CONTENTS,
    streams.ERASURES,
    streams.EVENTS,
    streams.PROOFS,
    streams.RUNS,
    streams.GATES,
    streams.RECEIPTS,
    streams.SESSIONS,
)

_PAGE = 200
# A session may hold the work of many tasks: so many entries of others are passed over.
_MAX_SCANNED = 50_000


class TaskOfRuntime(NamedTuple):
    """A task and the runtime that it belongs to, by their tokens: what others say under its name is not its own."""

    runtime: str
    task: str

    @classmethod
    def decided(cls, subject: str) -> "TaskOfRuntime":
        """Those of a decision record's subject."""
        tokens = subject.split(".")
        return cls(
            tokens[subjects.DECISION.place("runtime")], tokens[subjects.DECISION.place("task")]
        )


@dataclass(frozen=True, slots=True)
class _Kind:
    stream: str
    subjects: SubjectPattern
    """With the tokens of the task and its runtime as `{task}` and `{runtime}`."""

    def of(self, task: "TaskOfRuntime") -> str:
        return self.subjects.where(runtime=task.runtime, task=task.task)


_KINDS: Final[dict[StrandName, _Kind]] = {
    # Those of the tool and stop gates, and refusals outside of a session; not the records on events.
    "guard": _Kind(streams.DECISIONS, subjects.DECISION_OF_GATE),
    "proofs": _Kind(streams.PROOFS, subjects.PROOF),
    "runs": _Kind(streams.RUNS, subjects.RUN),
    "gates": _Kind(streams.GATES, subjects.GATED),
    "receipts": _Kind(streams.RECEIPTS, subjects.RECEIPT),
}


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when, in microseconds of the broker's time: after the first, up to and with the last."""

    after_us: int
    until_us: int


class Gathering:
    """Reads the streams."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._partitions: int | None = None

    async def present(
        self, tasks: Collection[TaskOfRuntime]
    ) -> dict[StrandName, set[TaskOfRuntime]]:
        """Of these tasks those that have any message of a kind: most have none."""
        return {
            name: {
                TaskOfRuntime(
                    *(subject.split(".")[kind.subjects.place(each)] for each in ("runtime", "task"))
                )
                for subject in await any_on_subjects(
                    self._client, kind.stream, [kind.of(task) for task in tasks]
                )
            }
            for name, kind in _KINDS.items()
        }

    async def present_sessions(self, sessions: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Of these sessions, those that have a log."""
        by_subject = {subjects.session_log(subjects.session_key(*each)): each for each in sessions}
        found = await any_on_subjects(self._client, streams.SESSIONS, [*by_subject])
        return {by_subject[subject] for subject in found}

    async def weave(
        self,
        weaver: Weaver,
        task: TaskOfRuntime,
        window: Window,
        kinds: Collection[StrandName] = tuple(_KINDS),
    ) -> None:
        """Give the weaver every message of these kinds."""
        for name, kind in _KINDS.items():
            if name not in kinds:
                continue
            async for page in self._pages(kind.stream, kind.of(task), window):
                for stored in page:
                    weaver.take(name, stored)
                await weaver.store()

    async def weave_records(
        self, weaver: Weaver, found: TaskRecords, records: Sequence[StoredRecord]
    ) -> RecordsSeen:
        """Give the weaver these records; returns what they say together."""
        seen = RecordsSeen()
        async for stored, record in found.whole(records):
            seen.take(record)
            weaver.record(stored, record)
            await weaver.store()
        return seen

    async def weave_events(self, weaver: Weaver, records: Sequence[StoredRecord]) -> None:
        """Give the weaver the events that these records decide on, as far as the stream still holds them."""
        wanted = {each.event_sequence: each.event_sha256 for each in records}
        subject = subjects.stored_events(await self._event_partitions(), records[0].task_id)
        sequence, last = min(wanted), max(wanted)
        while wanted and sequence <= last:
            page = await read_from(
                self._client, streams.EVENTS, subject, sequence, min(_PAGE, len(wanted))
            )
            if not page:
                break
            for stored in page:
                known = wanted.pop(stored.sequence, None)
                if known == hash_bytes(stored.body):
                    weaver.event(stored)
                elif known is not None:
                    weaver.cut("events")
            await weaver.store()
            sequence = page[-1].sequence + 1
        if wanted:
            weaver.cut("events")

    async def _event_partitions(self) -> int:
        if self._partitions is None:
            info = await self._client.jetstream().stream_info(streams.EVENTS)
            self._partitions = streams.partitions_of(info.config)
        return self._partitions

    async def weave_sessions(
        self, weaver: Weaver, sessions: Collection[tuple[str, str]], window: Window
    ) -> None:
        """Give the weaver what the logs of these sessions hold; it takes what is of its task."""
        logs = [
            self._messages(
                streams.SESSIONS, subjects.session_log(subjects.session_key(*session)), window
            )
            for session in sorted(sessions)
        ]
        passed_over = 0
        async for stored in _in_stream_order(logs):
            if not weaver.take("session", stored):
                passed_over += 1
            if passed_over > _MAX_SCANNED:
                weaver.cut("session")
                break
            await weaver.store()

    async def _messages(self, stream: str, subject: str, window: Window) -> AsyncIterator[Delivery]:
        async for page in self._pages(stream, subject, window):
            for stored in page:
                yield stored

    async def _pages(
        self, stream: str, subject: str, window: Window
    ) -> AsyncIterator[list[Delivery]]:
        if window.after_us:
            moment = from_micros(window.after_us + 1)
            page = await read_since(self._client, stream, subject, moment, _PAGE)
        else:
            page = await read_from(self._client, stream, subject, 1, _PAGE)
        while page:
            inside = [each for each in page if each.stored_at_ns // 1000 <= window.until_us]
            if inside:
                yield inside
            if len(inside) < len(page):
                return
            page = await read_from(self._client, stream, subject, page[-1].sequence + 1, _PAGE)


async def _in_stream_order(logs: Sequence[AsyncIterator[Delivery]]) -> AsyncIterator[Delivery]:
    """The messages of several logs of one stream: a task may have several sessions."""
    heads: list[tuple[int, int, Delivery]] = []
    for number, log in enumerate(logs):
        first = await anext(log, None)
        if first is not None:
            heapq.heappush(heads, (first.sequence, number, first))
    while heads:
        _, number, stored = heapq.heappop(heads)
        yield stored
        following = await anext(logs[number], None)
        if following is not None:
            heapq.heappush(heads, (following.sequence, number, following))
