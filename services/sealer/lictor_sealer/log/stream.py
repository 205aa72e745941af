"""The log of sealed episodes on the stream EPISODES: its head, appending to it, and the versions that stand in it."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, cast

from nats.aio.client import Client

from lictor_bus.errors import BatchRefused, BusError, PartMissing
from lictor_bus.ledger import OutOfDate
from lictor_bus.logs.episode_contents import parts_of
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.error_codes import DUPLICATE_IN_BATCH, WRONG_LAST_SEQUENCE
from lictor_bus.wire.provenance import is_foreign, is_named, pass_over
from lictor_bus.wire.publish import MAX_BATCH, Outgoing, publish_batch
from lictor_bus.wire.read import PAGE, last_on_subjects, read_all, stored_from
from lictor_bus.wire.stream_leader import leader_view
from lictor_schema.core.canonical_json import canonical_json, parse_json
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import (
    Frontier,
    SealBundle,
    SealError,
    SigningKey,
    StoredCheckpoint,
    TrustStore,
    checkpoint_in,
    committed_strands,
    extend,
    is_part,
    last_part_id,
    position_line,
    verify_bundle,
)
from lictor_sealer.log.head_file import PendingAppend, SealedLeaf, SignedTree
from lictor_sealer.log.signed_head import SignedHead
from lictor_sealer.log.tree import Draft, Head, LogError, append_leaves, read_head, seal_in_runs

log = logging.getLogger("lictor.sealer")

# Longer than a cluster needs to elect a leader and to apply what it acknowledged or took.
_TAKEN_AFTER_S = 30.0


class LogOvertaken(OutOfDate):
    """Another sealer appended first; nothing was stored."""


class DraftMessage(NamedTuple):
    """A draft on its way into the log."""

    draft: Draft
    message_id: str
    headers: Mapping[str, str]


class EpisodeLog:
    """Appends to the log. A caller that decides on the content of the log holds ``writing`` until it has appended."""

    def __init__(
        self,
        client: Client,
        key: SigningKey,
        *,
        sealed_from: str = "",
        signed: SignedHead | None = None,
    ) -> None:
        self._client = client
        self._signed = signed or SignedHead()
        self.key = key
        self._head: Head | None = None
        self.sealed_from = sealed_from
        """Nothing is sealed as of an earlier time: the key is not trusted before."""
        self.writing = asyncio.Lock()
        self._refused_since: dict[tuple[str | None, ...], float] = {}
        """Since when appends with these ids have been refused because the stream knows an id of them."""

    async def append(self, entries: Sequence[DraftMessage]) -> None:
        """Seal the drafts and store them with the checkpoint that covers them, as one atomic batch each.

        Raises LogOvertaken when the log is not as the caller may have found it, and is to be looked at again.
        """
        # A batch also carries the checkpoint.
        for start in range(0, len(entries), MAX_BATCH - 1):
            await self._append(self._sealed(entries[start : start + MAX_BATCH - 1]))

    async def check(self) -> None:
        """Raise BusError where the log can't be gone on with; nothing is stored."""
        async with self._signed.held():
            await self._look()

    async def settled(self) -> Head:
        """The log's head, once an append that was under way is in the log."""
        async with self._signed.held():
            return await self._settle()

    def _sealed(self, entries: Sequence[DraftMessage]) -> tuple[SealedLeaf, ...]:
        leaves = chain.from_iterable(seal_in_runs((each.draft for each in entries), self.key))
        return tuple(
            SealedLeaf(_subject(each.draft), each.message_id, dict(each.headers), leaf)
            for each, leaf in zip(entries, leaves, strict=True)
        )

    async def _append(self, leaves: tuple[SealedLeaf, ...]) -> None:
        async with self._signed.held() as is_as_we_left_it:
            head = self._head if is_as_we_left_it else None
            if head is None:
                pending = self._signed.remembered.pending
                head = await self._settle()
                if pending is not None:
                    if pending.leaves == leaves and head.frontier == pending.tree.frontier:
                        return
                    # The caller looked at the log before it was settled what became of that.
                    raise LogOvertaken(
                        "an append was under way; now it is settled, and the log is looked at again"
                    )
            await self._store(head, leaves)

    async def _settle(self) -> Head:
        self._head = None
        head, under_way = await self._look()
        if under_way:
            head = await self._store(head, under_way)
        self._head = head
        return head

    async def _look(self) -> tuple[Head, tuple[SealedLeaf, ...]]:
        """The head, and the leaves that have to be appended before anything else: they may have been seen there."""
        await self._signed.refuse_another_log(self._client)
        head = await load_head(self._client, self.key)
        remembered = self._signed.remembered
        pending, confirmed = remembered.pending, remembered.confirmed
        if confirmed is not None and head.frontier.size < confirmed.frontier.size:
            raise self._signed.older_log(confirmed, "a smaller tree stands behind it")
        if pending is None:
            return head, ()
        count = head.frontier.size - remembered.base.size
        there, missing = pending.leaves[:count], pending.leaves[count:]
        as_signed, _ = extend(remembered.base, [each.leaf for each in there])
        sealers = {_seal_in(_episode_in(each))["keyId"] for each in missing}
        if not head.checkpoint and sealers != {self.key.key_id}:
            raise BusError(
                f"the first append to the log was sealed with another key ({', '.join(map(str, sealers))}), and may be "
                "stored: start the sealer with that key once, then hand the log over"
            )
        # Only what our key signed shows that the append was never stored; the broker's word for it would not.
        if as_signed != head.frontier or sealers - {self.key.key_id}:
            self._drop(pending, head, "another sealer appended to the log first")
            return head, ()
        if await self._is_any_sealed(missing, head.frontier.size):
            self._drop(pending, head, "another sealer has sealed some of it already")
            return head, ()
        if not missing:
            self._signed.found(SignedTree.read(head.checkpoint))
        await self._refuse_lost_messages(pending, missing)
        return head, missing

    def _drop(self, pending: PendingAppend, head: Head, why: str) -> None:
        log.warning(
            "%s: the append of %d leaves that was to end at EPISODES %d is dropped, and what of it is not sealed yet "
            "is sealed anew",
            why,
            len(pending.leaves),
            pending.tree.place,
        )
        self._signed.drop(SignedTree.read(head.checkpoint))

    async def _is_any_sealed(self, leaves: Sequence[SealedLeaf], size: int) -> bool:
        """Whether the tree of that size has a version that is to be appended: who had looked would not append it."""
        episodes = [_episode_in(each) for each in leaves]
        wanted = {
            subjects.token(str(each["episodeId"])): cast(int, _seal_in(each)["version"])
            for each in episodes
        }
        trust = TrustStore.of([self.key.verifying_key])
        newest = await self.newest([str(each["episodeId"]) for each in episodes])
        return any(
            sealed_episode_of(stored).seal.version >= wanted[token]
            and SealBundle.from_bytes(stored.body).leaf_index < size
            and verify_bundle(stored.body, trust).ok
            for token, stored in newest.items()
        )

    async def _refuse_lost_messages(
        self, pending: PendingAppend, leaves: Sequence[SealedLeaf]
    ) -> None:
        """A leaf never stands without its messages. They were stored before it, so who lost them restored a backup."""
        for each in leaves:
            episode = _episode_in(each)
            if committed_strands(episode) is None:
                continue
            last = last_part_id(cast(dict[str, object], episode["sources"]))
            try:
                async for _ in parts_of(self._client, str(episode["episodeId"]), last, is_part):
                    pass
            except PartMissing as error:
                raise self._signed.older_log(pending.tree, str(error)) from None

    async def _store(self, head: Head, leaves: tuple[SealedLeaf, ...]) -> Head:
        appended = append_leaves(head, [each.leaf for each in leaves], self.key)
        messages = [
            Outgoing(each.subject, bundle, each.message_id, each.headers)
            for each, bundle in zip(leaves, appended.bundles, strict=True)
        ]
        messages.append(Outgoing(subjects.LOG_CHECKPOINT, appended.checkpoint))
        expected = {**messages[0].headers, "Nats-Expected-Last-Sequence": str(head.sequence)}
        messages[0] = messages[0]._replace(headers=expected)
        # Whatever happens from here on, what we knew of the head may be wrong.
        self._head = None
        self._signed.write_ahead(
            SignedTree.read(head.checkpoint) if head.checkpoint else None,
            PendingAppend(SignedTree.read(appended.checkpoint), leaves),
        )
        try:
            sequence = await self._publish(messages)
        except BatchRefused as error:
            # That nothing of it is stored we have from the broker alone: it stays pending until the log shows it.
            if error.code == WRONG_LAST_SEQUENCE:
                raise LogOvertaken(
                    "another sealer appended to the log; reading its head again"
                ) from error
            raise
        self._signed.confirm()
        self._head = Head(appended.frontier, sequence, appended.checkpoint)
        return self._head

    async def _publish(self, messages: Sequence[Outgoing]) -> int:
        ids = tuple(each.message_id for each in messages)
        try:
            sequence = await publish_batch(self._client, streams.EPISODES, messages)
        except BatchRefused as error:
            if error.code != DUPLICATE_IN_BATCH:
                raise
            # Most likely it is our own append whose answer got lost, and which a cluster may show only later: the log
            # is looked at again. Only what is not in the log for so long has its id taken by somebody's copy.
            since = self._refused_since.setdefault(ids, time.monotonic())
            if time.monotonic() - since < _TAKEN_AFTER_S:
                raise LogOvertaken(
                    "an id of the append is known; looking at the log again"
                ) from None
            anew = [each._replace(message_id=None) for each in messages]
            sequence = await publish_batch(self._client, streams.EPISODES, anew)
        self._refused_since.clear()
        return sequence

    async def newest(self, episode_ids: Sequence[str]) -> dict[str, Delivery]:
        """The newest version of each episode that is in the log, by the token of its id."""
        filters = [subjects.episodes_with_id(each) for each in episode_ids]
        found: dict[str, Delivery] = {}
        for stored in await last_on_subjects(self._client, streams.EPISODES, filters, _is_episode):
            token = stored.subject.rpartition(".")[2]
            if token not in found or found[token].sequence < stored.sequence:
                found[token] = stored
        return found

    async def versions(self, episode_id: str) -> list[Delivery]:
        """Every version of an episode, in the order they were sealed."""
        subject = subjects.episodes_with_id(episode_id)
        stored = read_all(self._client, streams.EPISODES, subject)
        return [each async for each in stored if _is_episode(each)]


def _is_episode(stored: Delivery) -> bool:
    """Whether a leaf stands on the subject of its episode."""
    try:
        episode = SealBundle.from_bytes(stored.body).sealed_episode
    except SealError:
        pass_over(stored, "no leaf of the log")
        return False
    runtime, *names = (
        str(episode.get(name) or "-") for name in ("runtime", "decisionType", "episodeId")
    )
    # A migration that could not tell the runtime of an older episode names nobody.
    named = (subjects.token(runtime), subjects.NOBODY)
    tokens = [subjects.token(name) for name in names]
    return stored.subject in [subjects.EPISODE.at(each, *tokens) for each in named]


def _episode_in(leaf: SealedLeaf) -> dict[str, object]:
    return cast(dict[str, object], parse_json(leaf.leaf))


def _seal_in(episode: Mapping[str, object]) -> dict[str, object]:
    return cast(dict[str, object], episode["seal"])


def _subject(draft: Draft) -> str:
    episode = draft.episode
    return subjects.episode(episode.runtime, episode.decision_type, episode.episode_id)


def sealed_episode_of(stored: Delivery) -> SealedEpisode:
    """The episode in a bundle of the log."""
    bundle = SealBundle.from_bytes(stored.body)
    return SealedEpisode.from_json(canonical_json(dict(bundle.sealed_episode)))


async def load_head(client: Client, key: SigningKey) -> Head:
    """The log's head from its last checkpoint, and where the stream ends; refused unless the checkpoint is ours.

    Foreign messages behind it are passed over. A leaf of ours there belongs to an append that is not complete.
    """
    last = (await leader_view(client, streams.EPISODES)).last
    found = await last_on_subjects(
        client, streams.EPISODES, [subjects.LOG_CHECKPOINT], _is_checkpoint
    )
    head = Head(Frontier(), 0)
    if found:
        try:
            head = read_head(found[0].body, found[0].sequence, key)
        except LogError as error:
            raise BusError(str(error)) from error
    await _refuse_uncovered_leaves(client, head, last)
    return replace(head, sequence=last)


async def _refuse_uncovered_leaves(client: Client, head: Head, last: int) -> None:
    sequence = head.sequence
    while sequence < last:
        page = await stored_from(client, streams.EPISODES, ">", sequence + 1, PAGE, known=last)
        for stored in page:
            if is_foreign(stored):
                continue
            if is_named(stored) or _extends(stored, head):
                raise BusError(
                    f"EPISODES holds a leaf after the log's last checkpoint (at {stored.sequence}); if the broker's "
                    "disk was full, make room and start NATS again, which completes the append; else somebody else "
                    "wrote there: restore the stream"
                )
            pass_over(stored, "neither a leaf nor a checkpoint of the log")
        sequence = page[-1].sequence if page else last


def _is_checkpoint(stored: Delivery) -> bool:
    """Whether a checkpoint of the log stands there, whoever signed it: each names its own place."""
    if is_named(stored):
        return True
    try:
        stated = checkpoint_in(StoredCheckpoint.from_bytes(stored.body).note)
    except SealError:
        return False
    return stated.extensions[:1] == (position_line(stored.sequence),)


def _extends(stored: Delivery, head: Head) -> bool:
    """Whether a leaf without a name would come next."""
    try:
        return SealBundle.from_bytes(stored.body).leaf_index >= head.frontier.size
    except SealError:
        return False
