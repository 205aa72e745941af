"""The log of sealed episodes on the stream EPISODES: its head, appending to it, and the versions that stand in it."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import BatchRefused, BusError
from lictor_bus.ledger import OutOfDate
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.error_codes import DUPLICATE_IN_BATCH, WRONG_LAST_SEQUENCE
from lictor_bus.wire.provenance import is_foreign, is_named, pass_over
from lictor_bus.wire.publish import MAX_BATCH, Outgoing, publish_batch
from lictor_bus.wire.read import PAGE, last_on_subjects, read_all, stored_from
from lictor_bus.wire.stream_leader import leader_view
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import (
    Frontier,
    SealBundle,
    SealError,
    SigningKey,
    StoredCheckpoint,
    checkpoint_in,
    position_line,
)
from lictor_sealer.log.signed_head import SignedHead
from lictor_sealer.log.tree import Draft, Head, LogError, append, read_head

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
        """Seal the drafts and store them with the checkpoint that covers them, as one atomic batch each."""
        # A batch also carries the checkpoint.
        for start in range(0, len(entries), MAX_BATCH - 1):
            await self._append(entries[start : start + MAX_BATCH - 1])

    async def _append(self, entries: Sequence[DraftMessage]) -> None:
        head = self._head or await self._load_head()
        appended = append(head, [each.draft for each in entries], self.key)
        messages = [
            Outgoing(
                _subject(each.draft),
                bundle,
                each.message_id,
                each.headers,
            )
            for each, bundle in zip(entries, appended.bundles, strict=True)
        ]
        messages.append(Outgoing(subjects.LOG_CHECKPOINT, appended.checkpoint))
        first = messages[0]
        messages[0] = Outgoing(
            first.subject,
            first.body,
            first.message_id,
            {**first.headers, "Nats-Expected-Last-Sequence": str(head.sequence)},
        )
        # Whatever happens from here on, what we knew of the head may be wrong.
        self._head = None
        try:
            sequence = await self._publish(messages)
        except BatchRefused as error:
            if error.code == WRONG_LAST_SEQUENCE:
                raise LogOvertaken(
                    "another sealer appended to the log; reading its head again"
                ) from error
            raise
        self._signed.remember(appended.checkpoint)
        self._head = Head(appended.frontier, sequence)

    async def _load_head(self) -> Head:
        await self._signed.refuse_another_log(self._client)
        return await load_head(self._client, self.key)

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
