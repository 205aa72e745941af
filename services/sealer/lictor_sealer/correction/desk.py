"""The desk where a sealed episode is corrected: sealed once more, as the next version, linked to the one before.

What is decided is decided on the log as it is, and appended on the condition that the log has not changed since. The
order stands in the version that it made: given again, it is answered by that, also after a crash.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from nats.aio.client import Client

from lictor_bus.errors import MessageRefused
from lictor_bus.fold.processor import SOURCE_SEQUENCE
from lictor_bus.gates.desk import CORRECT
from lictor_bus.gates.gate_runner import BoundGate
from lictor_bus.ledger import Ledger
from lictor_bus.logs.entry_logs import read_log
from lictor_bus.logs.episode_contents import PartToStore, parts_of, store_parts
from lictor_bus.names import streams, subjects
from lictor_bus.names.older_subjects import without_runtime
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import HEADER_ROOM
from lictor_bus.wire.read import last_on_subjects
from lictor_schema.core.base_model import MAX_SAFE_INTEGER, utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.seals.correction import CorrectionAnswer, CorrectionOrder
from lictor_schema.seals.episode import DecisionEpisode
from lictor_schema.seals.episode_sources import EpisodeSources
from lictor_schema.seals.erasure import ErasureEntry
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import Erased, Part, SealBundle, TrustStore, is_part, last_part_id, verify_bundle
from lictor_sealer.correction.next_version import (
    CorrectionRefused,
    Split,
    check_authority,
    corrected,
    late_messages,
    lost_records,
    split_records,
)
from lictor_sealer.episode.contents import EpisodeContents
from lictor_sealer.episode.decision_closing import Closings
from lictor_sealer.episode.gathering import Gathering, TaskOfRuntime, Window
from lictor_sealer.episode.leaf_size import fitted
from lictor_sealer.episode.sealing import TASK_HEADER, covered_until, weave_decision, weave_sessions
from lictor_sealer.episode.sources import Weaver
from lictor_sealer.episode.task_records import StoredRecord, TaskRecords, covered, task_records
from lictor_sealer.erasure.desk import carry_out, part_subjects
from lictor_sealer.erasure.statement import Place, erased_places, restated
from lictor_sealer.log.stream import DraftMessage, EpisodeLog, LogOvertaken, sealed_episode_of
from lictor_sealer.log.tree import Draft

log = logging.getLogger("lictor.sealer")

EPISODES = Ledger[Any, Any]("log of episodes", streams.EPISODES)


class _Next(NamedTuple):
    """The next version, and the last part of its messages."""

    episode: DecisionEpisode
    late: int
    last: PartToStore


class Corrections:
    """Corrects sealed episodes."""

    def __init__(
        self,
        client: Client,
        episodes: EpisodeLog,
        trust: TrustStore,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        closings: Closings | None = None,
    ) -> None:
        self._client = client
        self._episodes = episodes
        self._trust = trust
        self._now = now
        self._closings = closings
        self._gathering = Gathering(client)

    def bound(self) -> BoundGate[CorrectionOrder, CorrectionAnswer]:
        """The gate with its handler."""
        refusing = (MessageRefused, CorrectionRefused)
        return BoundGate(gate=CORRECT, handle=self.correct, refusing=refusing)

    async def correct(self, order: CorrectionOrder) -> CorrectionAnswer:
        """Seal the next version of an episode; raises CorrectionRefused when that can't be."""

        async def attempt() -> CorrectionAnswer:
            async with self._episodes.writing:
                return await self._correct(order)

        return await EPISODES.again(attempt)

    async def _correct(self, order: CorrectionOrder) -> CorrectionAnswer:
        versions = await self._episodes.versions(order.episode_id)
        if not versions:
            raise CorrectionRefused(
                f"there is no sealed episode {order.episode_id}",
                "name an episode by its id; an open task is sealed when it closes",
            )
        sealed = [sealed_episode_of(each) for each in versions]
        for each, stored in zip(sealed, versions, strict=True):
            if each.correction is not None and each.correction.request_id == order.request_id:
                return _sealed(order, each, stored.sequence)
        previous = sealed[-1]
        check_authority(order, previous)
        self._check_seal(versions[-1])
        ordered = await self._last_erasure(order.episode_id)
        following = await self._next(order, versions[-1], sealed)
        if order.dry_run:
            return CorrectionAnswer(
                request_id=order.request_id,
                outcome="done",
                state="not sealed: only looked",
                version=previous.seal.version + 1,
                late=following.late,
            )
        # Before the leaf: a leaf never stands without the messages that it covers.
        await store_parts(self._client, [following.last])
        await self._erase_what_was_ordered_since(order.episode_id, ordered)
        return await self._seal(order, versions[-1], previous, following.episode)

    def _check_seal(self, newest: Delivery) -> None:
        """Nothing is built on a seal that does not hold."""
        report = verify_bundle(newest.body, self._trust)
        if not report.ok:
            failed = report.failures[0]
            raise CorrectionRefused(
                f"the newest version does not verify ({failed.name}: {failed.detail})",
                "give the sealer a trust store with the key that sealed it (LICTOR_SEAL_TRUST), or restore the stream",
            )

    async def _next(
        self, order: CorrectionOrder, newest: Delivery, sealed: Sequence[SealedEpisode]
    ) -> "_Next":
        first, previous = sealed[0], sealed[-1]
        task = newest.headers.get(TASK_HEADER, subjects.token(previous.task_id))
        known_us = 0 if previous.sources is None else previous.sources.covered_until_us
        found = await task_records(self._client, task)
        split = split_records(first, found.found, known_us)
        await self._check_records(first, found, split.own)
        contents = EpisodeContents(
            self._client,
            first.episode_id,
            self._episodes.key,
            erased=await self._erased(newest, previous),
            only_look=order.dry_run,
        )
        weaver = Weaver(first.task_id, contents)
        sources = await self._sources(task, found, split, known_us, first, weaver)
        late = late_messages(previous, [*split.own, *split.late], sources)
        episode = fitted(
            corrected(
                previous,
                weaver.records,
                sources,
                order,
                ordered_at=utc_millis(self._now()),
                late=late,
            )
        )
        if len(episode.to_json()) + HEADER_ROOM > self._client.max_payload:
            raise CorrectionRefused(
                "the corrected episode is larger than the broker takes",
                "what came late can't be sealed; the sealed versions stay valid",
            )
        return _Next(episode, late, contents.last(sources))

    async def _check_records(
        self, first: SealedEpisode, found: TaskRecords, own: Sequence[StoredRecord]
    ) -> None:
        """Raises CorrectionRefused when the stream holds other records than those that were sealed."""
        if first.sources is None or first.sources.contents is None:
            hashes = [content_hash(record) async for _, record in found.whole(own)]
            if hashes != [each.record_hash for each in first.records]:
                raise lost_records()
            return
        if first.seal.key_id != self._episodes.key.key_id:
            # Their salts follow from a key that we have not got; they were found by their ids.
            return
        key = self._episodes.key
        now, then = (
            EpisodeContents(self._client, first.episode_id, key, only_look=True) for _ in range(2)
        )
        async for stored, _ in found.whole(own):
            now.take("records", stored)
            # What was sealed before streams were migrated was sealed under the subject of then.
            then.take("records", stored._replace(subject=without_runtime(stored.subject)))
            await now.store()
            await then.store()
        roots = {each.name: each.root for each in first.sources.strands}
        if roots.get("records") not in (now.root("records"), then.root("records")):
            raise lost_records()

    async def _last_erasure(self, episode_id: str) -> int:
        subject = subjects.erasures(episode_id)
        found = await last_on_subjects(self._client, streams.ERASURES, [subject])
        return found[-1].sequence if found else 0

    async def _erase_what_was_ordered_since(self, episode_id: str, known: int) -> None:
        """Another sealer may have erased from the parts that there were when it looked: not from those stored since."""
        subject = subjects.erasures(episode_id)
        found = await read_log(self._client, streams.ERASURES, subject, ErasureEntry.from_json)
        orders = [entry for sequence, entry in found.entries if sequence > known]
        if not orders:
            return
        places = await part_subjects(self._client, episode_id)
        for each in orders:
            await carry_out(self._client, self._episodes.key, each, places)
        raise LogOvertaken("messages of the episode were erased meanwhile")

    async def _erased(self, newest: Delivery, previous: SealedEpisode) -> Erased | None:
        """What was erased from the version before: it is not stored again, though streams may still hold it."""
        ordered = await self._last_erasure(previous.episode_id)
        sources = SealBundle.from_bytes(newest.body).sealed_episode.get("sources")
        if not ordered or previous.sources is None or previous.sources.contents is None:
            return None
        last = last_part_id(cast(dict[str, object], sources))
        places: dict[Place, str] = {}
        async for each in parts_of(self._client, previous.episode_id, last, is_part):
            places |= erased_places(Part.from_bytes(each.body))
        return Erased(places, restated(self._episodes.key)) if places else None

    async def _sources(
        self,
        task: str,
        found: TaskRecords,
        split: Split,
        known_us: int,
        first: SealedEpisode,
        weaver: Weaver,
    ) -> EpisodeSources:
        """What the streams hold now; covered up to the newest message that was found, not up to a clock's now."""
        records = [*split.own, *split.late]
        after_us = 0
        if split.earlier:
            after_us = await covered_until(self._episodes, covered(split.earlier))
        window = Window(after_us, MAX_SAFE_INTEGER if split.until_us is None else split.until_us)
        seen = await self._gathering.weave_records(weaver, found, records)
        await self._gathering.weave_events(weaver, records)
        if self._closings is not None and first.dte_ref is not None:
            closing = split.own[-1]
            closed = await self._closings.closed(first.runtime, first.task_id, closing.record_id)
            if closed is not None:
                until = Window(after_us, closing.stored_us)
                await weave_decision(self._closings, weaver, closed, until)
        of_runtime = TaskOfRuntime(subjects.token(seen.runtime), task)
        await self._gathering.weave(weaver, of_runtime, window)
        await weave_sessions(
            self._gathering, weaver, weaver.sessions, seen.first, records[0], window
        )
        newest_us = max(each.stored_us for each in records)
        return weaver.sources(max(known_us, newest_us, weaver.newest_us))

    async def _seal(
        self,
        order: CorrectionOrder,
        newest: Delivery,
        previous: SealedEpisode,
        episode: DecisionEpisode,
    ) -> CorrectionAnswer:
        # These times sort as text; no version is older than the one before it.
        sealed_at = max(
            utc_millis(self._now()), previous.seal.sealed_at, self._episodes.sealed_from
        )
        bundle = SealBundle.from_bytes(newest.body)
        # By these a closing that is delivered again finds its episode sealed.
        headers = {
            name: newest.headers[name]
            for name in (SOURCE_SEQUENCE, TASK_HEADER)
            if name in newest.headers
        }
        message_id = f"{episode.episode_id}:{previous.seal.version + 1}"
        draft = Draft(episode, sealed_at, bundle.sealed_episode)
        await self._episodes.append([DraftMessage(draft, message_id, headers)])
        stored = (await self._episodes.versions(episode.episode_id))[-1]
        sealed = sealed_episode_of(stored)
        log.info(
            "episode %s: version %d, by %s: %s",
            episode.episode_id,
            sealed.seal.version,
            order.by,
            order.reason,
        )
        return _sealed(order, sealed, stored.sequence)


def _sealed(order: CorrectionOrder, sealed: SealedEpisode, sequence: int) -> CorrectionAnswer:
    return CorrectionAnswer(
        request_id=order.request_id,
        outcome="done",
        state=f"version {sealed.seal.version}",
        sequence=sequence,
        version=sealed.seal.version,
        hash=sealed.seal.hash,
        late=0 if sealed.correction is None else sealed.correction.late,
    )
