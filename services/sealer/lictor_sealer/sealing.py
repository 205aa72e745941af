"""From the record that closes a task to its sealed episode in the log: DECISIONS in, EPISODES out."""

from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from nats.aio.client import Client

from lictor_bus import streams, subjects
from lictor_bus.dead import DeadLetters
from lictor_bus.delivery import Delivery
from lictor_bus.errors import BusError, Refused
from lictor_bus.processor import (
    SOURCE_SEQUENCE,
    CountingState,
    Parsed,
    Sourced,
    Stepped,
    read_or_refuse,
)
from lictor_bus.read import read_from
from lictor_schema import DecisionRecord, utc_millis
from lictor_schema.episode_sources import StrandName
from lictor_schema.ids import episode_id
from lictor_sealer.closing import Closings
from lictor_sealer.episode import EpisodeError, StoredRecord, assemble, covered
from lictor_sealer.episode_log import Entry, EpisodeLog, sealed_episode_of
from lictor_sealer.gathering import Gathering, Window
from lictor_sealer.log import Draft
from lictor_sealer.sources import Weaver

TASK_HEADER = "Lictor-Task"
KEEP_STATE_S = 30 * 24 * 3600

_PAGE = 500
# So many closings are looked up together; their records are in memory at once.
_TOGETHER = 64
# Room in a message for its headers.
HEADER_ROOM = 16 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClosedTask:
    """A task whose records are complete: seal them."""

    delivery: Delivery


@dataclass(frozen=True, slots=True)
class _Closing:
    """A closing with the records of its episode, and up to when an episode before it covers."""

    sourced: Sourced[ClosedTask]
    records: Sequence[StoredRecord]
    after_us: int

    @property
    def weaver(self) -> Weaver:
        weaver = Weaver(self.records[0].record.task_id)
        weaver.events(each.record for each in self.records)
        return weaver


class SealerProcessor(CountingState):
    """Counts the records of each task and notices when one closes it."""

    def parse(self, delivery: Delivery) -> Parsed[DecisionRecord]:
        """Bytes to a decision record."""
        record = read_record(delivery)
        task = delivery.subject.rpartition(".")[2]
        if subjects.token(record.task_id) != task:
            raise Refused(
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
            return Stepped(count, (ClosedTask(delivery),), "closed", keep_state_s=KEEP_STATE_S)
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

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:  # noqa: ARG002
        """Nothing to leave out: ``publish`` asks the log about every episode, restart or not."""
        return {}

    async def publish(self, outputs: Sequence[Sourced[ClosedTask]]) -> None:
        """Assemble, seal and append; what is in the log already stays as it is."""
        # The worker seals what closes, and desks what is resumed or corrected: one after the other.
        async with self._log.writing:
            ready: list[tuple[Sourced[ClosedTask], Draft]] = []
            for start in range(0, len(outputs), _TOGETHER):
                ready += await self._drafts(outputs[start : start + _TOGETHER])
            await self._log.append(
                [_entry(sourced, draft) for sourced, draft in await self._without_sealed(ready)]
            )

    async def _drafts(
        self, outputs: Sequence[Sourced[ClosedTask]]
    ) -> list[tuple[Sourced[ClosedTask], Draft]]:
        closings = [
            closing
            for sourced in outputs
            if (closing := await self._or_bury(sourced, self._closing(sourced))) is not None
        ]
        if not closings:
            return []
        present = await self._gathering.present([each.sourced.key for each in closings])
        sessions = await self._gathering.present_sessions(
            {session for each in closings for session in each.weaver.sessions}
        )
        return [
            (closing.sourced, draft)
            for closing in closings
            if (
                draft := await self._or_bury(
                    closing.sourced, self._draft(closing, present, sessions)
                )
            )
            is not None
        ]

    async def _closing(self, sourced: Sourced[ClosedTask]) -> _Closing:
        found = await task_records(self._client, sourced.key, sourced.output.delivery.sequence)
        records = covered(found)
        earlier = found[: len(found) - len(records)]
        if not earlier:
            return _Closing(sourced, records, 0)
        closing_us = earlier[-1].stored_us
        after_us = await covered_until(self._log, covered(earlier))
        if after_us > closing_us:
            # A correction of the episode before covers what came late to it, records too.
            records = [each for each in records if each.stored_us > after_us] or records[-1:]
        return _Closing(sourced, records, after_us)

    async def _draft(
        self,
        closing: _Closing,
        present: Mapping[StrandName, set[str]],
        sessions: set[tuple[str, str]],
    ) -> Draft:
        delivery, task = closing.sourced.output.delivery, closing.sourced.key
        governed = None
        if self._closings is not None:
            governed = await self._closings.close(closing.records, delivery)
        window = Window(closing.after_us, delivery.stored_at_ns // 1000)
        weaver = closing.weaver
        told = set(weaver.sessions)
        await self._gathering.weave(
            weaver, task, window, [name for name, tasks in present.items() if task in tasks]
        )
        # A task's own session was looked for together with the others; what else was named may have a log.
        await weave_sessions(
            self._gathering,
            weaver,
            (sessions & told) | (set(weaver.sessions) - told),
            closing.records[0],
            window,
        )
        episode = assemble(closing.records, governed, weaver.sources(window.until_us))
        size = len(episode.to_json())
        if size + HEADER_ROOM > self._client.max_payload:
            raise EpisodeError(
                f"the episode has {size} bytes, more than the broker takes ({self._client.max_payload})"
            )
        # What waited through a change of keys is sealed when the new key is trusted, not before; these times sort as
        # text.
        return Draft(episode, max(utc_millis(delivery.stored_at), self._log.sealed_from))

    async def _or_bury(self, sourced: Sourced[ClosedTask], attempt: Awaitable[T]) -> T | None:
        """What comes of it; None when that can't be, and the closing record is a dead letter that says why."""
        try:
            return await attempt
        except Refused as refusal:
            reason = refusal
        except EpisodeError as error:
            reason = Refused(f"task_id: {error}", remedy="split long work into several tasks")
        await self._dead.bury(streams.DECISIONS, sourced.output.delivery, reason)
        return None

    async def seal_closed(self, task: str) -> int:
        """Seal every closing of a task that is not sealed yet and can be; tells how many closings there are."""
        closings: list[Sourced[ClosedTask]] = []
        sequence = 1
        while page := await read_from(
            self._client, streams.DECISIONS, f"lictor.dec.*.{task}", sequence, _PAGE
        ):
            closings += [
                Sourced(task, stored.sequence, ClosedTask(stored))
                for stored in page
                if read_record(stored).task_closed
            ]
            sequence = page[-1].sequence + 1
        await self.publish(closings)
        return len(closings)

    async def _without_sealed(
        self, ready: list[tuple[Sourced[ClosedTask], Draft]]
    ) -> list[tuple[Sourced[ClosedTask], Draft]]:
        if not ready:
            return ready
        newest = await self._log.newest([draft.episode.episode_id for _, draft in ready])
        sealed = {
            token: int(stored.headers.get(SOURCE_SEQUENCE, 0)) for token, stored in newest.items()
        }
        fresh: list[tuple[Sourced[ClosedTask], Draft]] = []
        for sourced, draft in ready:
            episode = subjects.token(draft.episode.episode_id)
            closed_at = sealed.get(episode)
            if closed_at is None:
                sealed[episode] = sourced.sequence
                fresh.append((sourced, draft))
            elif closed_at != sourced.sequence:
                await self._bury_namesake(sourced, draft, closed_at)
        return fresh

    async def _bury_namesake(
        self, sourced: Sourced[ClosedTask], draft: Draft, closed_at: int
    ) -> None:
        """Two episodes of one id can't both be in the log, and none may be left out of it silently."""
        await self._dead.bury(
            streams.DECISIONS,
            sourced.output.delivery,
            Refused(
                f"task_id: episode {draft.episode.episode_id} is sealed already, of the closing at DECISIONS "
                f"{closed_at}; the task was run again under the same event ids",
                remedy="give every run of a task an id of its own",
            ),
        )


def _entry(sourced: Sourced[ClosedTask], draft: Draft) -> Entry:
    headers = {
        **sourced.headers,
        SOURCE_SEQUENCE: str(sourced.sequence),
        TASK_HEADER: sourced.key,
    }
    return Entry(draft, draft.episode.episode_id, headers)


async def covered_until(log: EpisodeLog, records: Sequence[StoredRecord]) -> int:
    """Up to when the episode of these records covers, in its newest version; else until it was closed."""
    first, closing_us = records[0].record, records[-1].stored_us
    newest = await log.newest([episode_id(first.task_id, first.event_id)])
    sealed = [sealed_episode_of(stored).sources for stored in newest.values()]
    return max([closing_us, *(each.covered_until_us for each in sealed if each is not None)])


async def weave_sessions(
    gathering: Gathering,
    weaver: Weaver,
    sessions: Collection[tuple[str, str]],
    first: StoredRecord,
    window: Window,
) -> None:
    """What the logs of these sessions hold of the weaver's task: nothing of it is before the task's first event."""
    began = datetime.fromisoformat(first.record.recorded_at)
    began_us = min(first.stored_us, (began - _EPOCH) // timedelta(microseconds=1)) - 1
    narrowed = Window(max(window.after_us, began_us, 0), window.until_us)
    await gathering.weave_sessions(weaver, sessions, narrowed)


async def task_records(client: Client, task: str, last: int | None = None) -> list[StoredRecord]:
    """Every record of a task, up to the one at a sequence if that is given, read from the stream itself."""
    found: list[StoredRecord] = []
    sequence = 1
    while True:
        page = await read_from(
            client, streams.DECISIONS, f"lictor.dec.*.{task}", sequence, _PAGE, known=last or 0
        )
        found += (
            StoredRecord.of(read_record(stored), stored.stored_at_ns // 1000)
            for stored in page
            if last is None or stored.sequence <= last
        )
        # A short page is not the end: the broker also cuts by bytes.
        if last is not None and not page:
            # Known to be there, as it was delivered: an episode without it would be another one.
            raise BusError(f"{last} of task {task} can't be read in DECISIONS")
        if not page or (last is not None and page[-1].sequence >= last):
            return found
        sequence = page[-1].sequence + 1


def read_record(delivery: Delivery) -> DecisionRecord:
    """A decision record; Refused for what is none."""
    return read_or_refuse(
        DecisionRecord.from_json,
        delivery.body,
        "only the policy evaluator may write decisions; find out who wrote this one",
    )
