"""The log of sealed episodes on the stream EPISODES: its head, appending to it, and the versions that stand in it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import BatchRefused, BusError
from lictor_bus.ledger import OutOfDate
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.error_codes import WRONG_LAST_SEQUENCE
from lictor_bus.wire.publish import MAX_BATCH, Outgoing, publish_batch
from lictor_bus.wire.read import last_on_subjects, read_all
from lictor_bus.wire.stream_leader import leader_view
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import Frontier, SealBundle, SigningKey
from lictor_sealer.log.tree import Draft, Head, LogError, append, read_head


class LogOvertaken(OutOfDate):
    """Another sealer appended first; nothing was stored."""


class DraftMessage(NamedTuple):
    """A draft on its way into the log."""

    draft: Draft
    message_id: str
    headers: Mapping[str, str]


class EpisodeLog:
    """Appends to the log. A caller that decides on the content of the log holds ``writing`` until it has appended."""

    def __init__(self, client: Client, key: SigningKey, *, sealed_from: str = "") -> None:
        self._client = client
        self.key = key
        self._head: Head | None = None
        self.sealed_from = sealed_from
        """Nothing is sealed as of an earlier time: the key is not trusted before."""
        self.writing = asyncio.Lock()

    async def append(self, entries: Sequence[DraftMessage]) -> None:
        """Seal the drafts and store them with the checkpoint that covers them, as one atomic batch each."""
        # A batch also carries the checkpoint.
        for start in range(0, len(entries), MAX_BATCH - 1):
            await self._append(entries[start : start + MAX_BATCH - 1])

    async def _append(self, entries: Sequence[DraftMessage]) -> None:
        head = self._head or await load_head(self._client, self.key)
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
            sequence = await publish_batch(self._client, streams.EPISODES, messages)
        except BatchRefused as error:
            if error.code == WRONG_LAST_SEQUENCE:
                raise LogOvertaken(
                    "another sealer appended to the log; reading its head again"
                ) from error
            raise
        self._head = Head(appended.frontier, sequence)

    async def newest(self, episode_ids: Sequence[str]) -> dict[str, Delivery]:
        """The newest version of each episode that is in the log, by the token of its id."""
        filters = [subjects.episodes_with_id(each) for each in episode_ids]
        found: dict[str, Delivery] = {}
        for stored in await last_on_subjects(self._client, streams.EPISODES, filters):
            token = stored.subject.rpartition(".")[2]
            if token not in found or found[token].sequence < stored.sequence:
                found[token] = stored
        return found

    async def versions(self, episode_id: str) -> list[Delivery]:
        """Every version of an episode, in the order they were sealed."""
        subject = subjects.episodes_with_id(episode_id)
        return [each async for each in read_all(self._client, streams.EPISODES, subject)]


def _subject(draft: Draft) -> str:
    episode = draft.episode
    return subjects.episode(episode.runtime, episode.decision_type, episode.episode_id)


def sealed_episode_of(stored: Delivery) -> SealedEpisode:
    """The episode in a bundle of the log."""
    bundle = SealBundle.from_bytes(stored.body)
    return SealedEpisode.from_json(canonical_json(dict(bundle.sealed_episode)))


async def load_head(client: Client, key: SigningKey) -> Head:
    """The log's head from its last checkpoint; refused unless it is ours and nothing follows it."""
    last = (await leader_view(client, streams.EPISODES)).last
    if last == 0:
        return Head(Frontier(), 0)
    found = await last_on_subjects(client, streams.EPISODES, [subjects.LOG_CHECKPOINT])
    if not found or found[0].sequence != last:
        raise BusError(
            f"EPISODES holds messages after the log's last checkpoint (last is {last}); if the broker's disk "
            "was full, make room and start NATS again, which completes the append; else somebody else wrote "
            "there: restore the stream"
        )
    try:
        return read_head(found[0].body, last, key)
    except LogError as error:
        raise BusError(str(error)) from error
