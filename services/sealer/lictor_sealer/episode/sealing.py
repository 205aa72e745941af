"""From the record that closes a task to its sealed episode in the log: DECISIONS in, EPISODES out."""

from collections import Counter
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeVar

from nats.aio.client import Client

from lictor_bus.errors import MessageRefused, UnreadableEntry
from lictor_bus.fold.processor import (
    KEEP_QUIET_S,
    SOURCE_SEQUENCE,
    CountingState,
    Parsed,
    Sourced,
    Stepped,
    sequence_in_header,
)
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.logs.episode_contents import PartToStore, store_parts
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import HEADER_ROOM
from lictor_bus.wire.read import PAGE, read_from
from lictor_contracts.decision.state import Deciding
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.seals.episode_sources import StrandName
from lictor_sealer.episode.assembly import assemble
from lictor_sealer.episode.contents import EpisodeContents
from lictor_sealer.episode.decision_closing import Closings
from lictor_sealer.episode.gathering import Gathering, TaskOfRuntime, Window
from lictor_sealer.episode.leaf_size import fitted
from lictor_sealer.episode.sources import Weaver
from lictor_sealer.episode.task_records import (
    EpisodeError,
    RecordsSeen,
    StoredRecord,
    TaskRecords,
    covered,
    episode_of,
    read_record,
    task_records,
)
from lictor_sealer.log.stream import DraftMessage, EpisodeLog, sealed_episode_of
from lictor_sealer.log.tree import Draft

TASK_HEADER = "Lictor-Task"

# So many closings are looked up together.
_TOGETHER = 64

# About half a minute: a sealer of the version that wrote the entry may take over meanwhile.
_UNREADABLE_TRIES = 10

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClosedTask:
    """A task whose records are complete: seal them."""

    delivery: Delivery


@dataclass(frozen=True, slots=True)
class _ClosedRecords:
    """A closing with the records of its episode, and up to when an episode before it covers."""

    sourced: Sourced[ClosedTask]
    found: TaskRecords
    records: Sequence[StoredRecord]
    after_us: int

    @property
    def episode_id(self) -> str:
        return episode_of(self.records)

    @property
    def task(self) -> TaskOfRuntime:
        return TaskOfRuntime.decided(self.sourced.output.delivery.subject)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A closing whose records and events are taken in."""

    closing: _ClosedRecords
    contents: EpisodeContents
    weaver: Weaver
    seen: RecordsSeen


class _Ready(NamedTuple):
    """An episode to be sealed, and the last part of its messages."""

    entry: DraftMessage
    last: PartToStore


class SealerProcessor(CountingState):
    """Counts the records of each task and notices when one closes it."""

    def parse(self, delivery: Delivery) -> Parsed[DecisionRecord]:
        """Bytes to a decision record."""
        record = read_record(delivery)
        task = delivery.subject.rpartition(".")[2]
        if subjects.token(record.task_id) != task:
            raise MessageRefused(
                f"task_id: {record.task_id!r} is not the task of subject {delivery.subject}",
                remedy="only the policy evaluator may write decisions; find out who wrote this one",
            )
        return Parsed(task, record.record_id, record)

    def step(
        self, state: int | None, message: Parsed[DecisionRecord], delivery: Delivery
    ) -> Stepped[int, ClosedTask]:
        """One more record; the closing one leads to an episode."""
        count = (state or 0) + 1
        if message.value.task_closed:
            return Stepped(count, (ClosedTask(delivery),), "closed", keep_state_s=KEEP_QUIET_S)
        return Stepped(count, (), "recorded")


class SealingOutbox:
    """Makes closed tasks durable as sealed episodes: one atomic append to the log."""

    def __init__(
        self,
        client: Client,
        log: EpisodeLog,
        dead: DeadLetters,
        *,
        closings: Closings | None = None,
    ) -> None:
        self._client = client
        self._log = log
        self._dead = dead
        self._closings = closings
        self._gathering = Gathering(client)
        self._unreadable = Counter[int]()

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:  # noqa: ARG002
        """Nothing to leave out: ``publish`` asks the log about every episode, restart or not."""
        return {}

    async def publish(self, outputs: Sequence[Sourced[ClosedTask]]) -> None:
        """Assemble, seal and append; what is in the log already stays as it is.

        The messages that an episode covers are stored before its leaf: a leaf never stands without them. Whoever
        starts over after a crash in between finds the same salts, so the same parts, stored already.
        """
        # One worker seals what closes, one what is resumed, a desk what is corrected: one after the other.
        async with self._log.writing:
            ready: list[_Ready] = []
            sealed: dict[str, int] = {}
            for start in range(0, len(outputs), _TOGETHER):
                ready += await self._drafts(outputs[start : start + _TOGETHER], sealed)
            await store_parts(self._client, (each.last for each in ready))
            await self._log.append([each.entry for each in ready])

    async def _drafts(
        self, outputs: Sequence[Sourced[ClosedTask]], sealed: dict[str, int]
    ) -> list[_Ready]:
        closings = [
            closing
            for sourced in outputs
            if (closing := await self._or_dead_letter(sourced, self._closing(sourced))) is not None
        ]
        begun = [
            begun
            for closing in await self._without_sealed(closings, sealed)
            if (begun := await self._or_dead_letter(closing.sourced, self._begin(closing)))
            is not None
        ]
        if not begun:
            return []
        present = await self._gathering.present([each.closing.task for each in begun])
        sessions = await self._gathering.present_sessions(
            {session for each in begun for session in each.weaver.sessions}
        )
        return [
            ready
            for each in begun
            if (
                ready := await self._or_dead_letter(
                    each.closing.sourced, self._ready(each, present, sessions)
                )
            )
            is not None
        ]

    async def _closing(self, sourced: Sourced[ClosedTask]) -> _ClosedRecords:
        found = await task_records(self._client, sourced.key, sourced.output.delivery.sequence)
        records = covered(found.found)
        earlier = found.found[: len(found.found) - len(records)]
        if not earlier:
            return _ClosedRecords(sourced, found, records, 0)
        closing_us = earlier[-1].stored_us
        after_us = await covered_until(self._log, covered(earlier))
        if after_us > closing_us:
            # A correction of the episode before covers what came late to it, records too.
            records = [each for each in records if each.stored_us > after_us] or records[-1:]
        return _ClosedRecords(sourced, found, records, after_us)

    async def _begin(self, closing: _ClosedRecords) -> _Begun:
        contents = EpisodeContents(self._client, closing.episode_id, self._log.key)
        weaver = Weaver(closing.records[0].task_id, contents)
        seen = await self._gathering.weave_records(weaver, closing.found, closing.records)
        await self._gathering.weave_events(weaver, closing.records)
        return _Begun(closing, contents, weaver, seen)

    async def _ready(
        self,
        begun: _Begun,
        present: Mapping[StrandName, set[TaskOfRuntime]],
        sessions: set[tuple[str, str]],
    ) -> _Ready:
        closing, weaver, seen = begun.closing, begun.weaver, begun.seen
        delivery, task = closing.sourced.output.delivery, closing.task
        governed = None
        window = Window(closing.after_us, delivery.stored_at_ns // 1000)
        if self._closings is not None:
            governed = await self._closings.close(seen, delivery)
            if governed is not None:
                await weave_decision(self._closings, weaver, governed, window)
        told = set(weaver.sessions)
        await self._gathering.weave(
            weaver, task, window, [name for name, tasks in present.items() if task in tasks]
        )
        # A task's own session was looked for together with the others; what else was named may have a log.
        await weave_sessions(
            self._gathering,
            weaver,
            (sessions & told) | (set(weaver.sessions) - told),
            seen.first,
            closing.records[0],
            window,
        )
        sources = weaver.sources(window.until_us)
        episode = fitted(weaver.woven(assemble(seen, weaver.records, governed, sources)))
        size = len(episode.to_json())
        if size + HEADER_ROOM > self._client.max_payload:
            raise EpisodeError(
                f"the episode has {size} bytes, more than the broker takes ({self._client.max_payload})"
            )
        # What waited through a change of keys is sealed when the new key is trusted, not before; these times sort as
        # text.
        draft = Draft(episode, max(utc_millis(delivery.stored_at), self._log.sealed_from))
        return _Ready(_entry(closing.sourced, draft), begun.contents.last(sources))

    async def _or_dead_letter(
        self, sourced: Sourced[ClosedTask], attempt: Awaitable[T]
    ) -> T | None:
        """What comes of it; None when that can't be, and the closing record is a dead letter that says why."""
        try:
            return await attempt
        except MessageRefused as refusal:
            reason = refusal
        except UnreadableEntry as error:
            self._unreadable[sourced.sequence] += 1
            if self._unreadable[sourced.sequence] < _UNREADABLE_TRIES:
                raise
            reason = MessageRefused(str(error), remedy="run the version that wrote the entry")
        except EpisodeError as error:
            reason = MessageRefused(
                f"task_id: {error}", remedy="split long work into several tasks"
            )
        await self._dead.store(streams.DECISIONS, sourced.output.delivery, reason)
        return None

    async def seal_closed(self, task: str) -> None:
        """Seal every closing of a task that is not sealed yet and can be."""
        closings: list[Sourced[ClosedTask]] = []
        sequence = 1
        while page := await read_from(
            self._client, streams.DECISIONS, subjects.DECISION.where(task=task), sequence, PAGE
        ):
            closings += [
                Sourced(task, stored.sequence, ClosedTask(stored))
                for stored in page
                if _closes(stored)
            ]
            sequence = page[-1].sequence + 1
        await self.publish(closings)

    async def _without_sealed(
        self, closings: Sequence[_ClosedRecords], sealed: dict[str, int]
    ) -> list[_ClosedRecords]:
        """Those that are in no log yet; ``sealed`` says of which closings episodes are, and is added to."""
        newest = await self._log.newest([each.episode_id for each in closings])
        for token, stored in newest.items():
            sealed.setdefault(token, sequence_in_header(stored))
        fresh: list[_ClosedRecords] = []
        for closing in closings:
            token, sequence = subjects.token(closing.episode_id), closing.sourced.sequence
            closed_at = sealed.get(token)
            if closed_at is None:
                sealed[token] = sequence
                fresh.append(closing)
            elif closed_at != sequence:
                await self._dead_letter_namesake(closing, closed_at)
        return fresh

    async def _dead_letter_namesake(self, closing: _ClosedRecords, closed_at: int) -> None:
        """Two episodes of one id can't both be in the log, and none may be left out of it silently."""
        await self._dead.store(
            streams.DECISIONS,
            closing.sourced.output.delivery,
            MessageRefused(
                f"task_id: episode {closing.episode_id} is sealed already, of the closing at DECISIONS "
                f"{closed_at}; the task was run again under the same event ids",
                remedy="give every run of a task an id of its own",
            ),
        )


def _closes(stored: Delivery) -> bool:
    """Whether a record closes its task; what can't be read does not, and is a dead letter already."""
    try:
        return read_record(stored).task_closed
    except MessageRefused:
        return False


def _entry(sourced: Sourced[ClosedTask], draft: Draft) -> DraftMessage:
    headers = {
        **sourced.headers,
        SOURCE_SEQUENCE: str(sourced.sequence),
        TASK_HEADER: sourced.key,
    }
    return DraftMessage(draft, draft.episode.episode_id, headers)


async def covered_until(log: EpisodeLog, records: Sequence[StoredRecord]) -> int:
    """Up to when the episode of these records covers, in its newest version; else until it was closed."""
    newest = await log.newest([episode_of(records)])
    sealed = [sealed_episode_of(stored).sources for stored in newest.values()]
    known = (each.covered_until_us for each in sealed if each is not None)
    return max([records[-1].stored_us, *known])


async def weave_decision(
    closings: Closings, weaver: Weaver, closed: Deciding, window: Window
) -> None:
    """The log of the decision that governed the task, the envelope in it, and how the kill-switch stood meanwhile."""
    async for stored in closings.entries(closed):
        weaver.entry("decision", stored)
        await weaver.store()
    async for stored in closings.switched(closed.begun.at_us, window.until_us):
        weaver.entry("switch", stored)


async def weave_sessions(
    gathering: Gathering,
    weaver: Weaver,
    sessions: Collection[tuple[str, str]],
    first: DecisionRecord,
    stored: StoredRecord,
    window: Window,
) -> None:
    """What the logs of these sessions hold of the weaver's task: nothing of it is before the task's first event."""
    began = datetime.fromisoformat(first.recorded_at)
    began_us = min(stored.stored_us, to_micros(began)) - 1
    narrowed = Window(max(window.after_us, began_us, 0), window.until_us)
    await gathering.weave_sessions(weaver, sessions, narrowed)
