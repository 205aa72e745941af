"""The messages that an episode covers, on their way into the stream CONTENTS: stored as they come, before the leaf."""

from nats.aio.client import Client

from lictor_bus.logs.episode_contents import PartToStore, store_parts
from lictor_bus.wire.delivery import Delivery
from lictor_schema.seals.episode_sources import EpisodeSources, StrandName
from lictor_seal import ContentsWriter, Erased, Message, SigningKey, last_part_id


class EpisodeContents:
    """Takes messages in and stores each part when it is full; holds no more than one."""

    def __init__(
        self,
        client: Client,
        episode_id: str,
        key: SigningKey,
        *,
        erased: Erased | None = None,
        only_look: bool = False,
    ) -> None:
        self._client = client
        self._episode_id = episode_id
        self._writer = ContentsWriter(episode_id, key, erased)
        self._only_look = only_look

    def take(self, name: StrandName, stored: Delivery) -> str:
        """One message of a strand; returns the commitment to it."""
        return self._writer.add(
            Message(name, stored.sequence, stored.stored_at_ns // 1000, stored.subject, stored.body)
        )

    def count(self, name: StrandName) -> int:
        """How many messages of a strand there are."""
        return self._writer.strands.counts.get(name, 0)

    def root(self, name: StrandName) -> str:
        """The root over the commitments of a strand."""
        return self._writer.strands.root(name)

    async def store(self) -> None:
        """Store what is complete."""
        full, self._writer.full = self._writer.full, []
        if full and not self._only_look:
            await store_parts(
                self._client,
                (PartToStore(self._episode_id, each.id, each.to_bytes()) for each in full),
            )

    def last(self, sources: EpisodeSources) -> PartToStore:
        """The last part, to be stored when everything else is; it is found by the roots."""
        part_id = last_part_id(sources.model_dump(mode="json", by_alias=True))
        return PartToStore(self._episode_id, part_id, self._writer.finish().to_bytes())
