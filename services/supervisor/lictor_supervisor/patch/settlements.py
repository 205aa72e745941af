"""Records among the sightings of a cause that its patch was applied or rejected: PATCHES in, DRIFT out."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from nats.aio.client import Client

from lictor_bus.fold.processor import (
    SOURCE_SEQUENCE,
    CountingState,
    Parsed,
    Sourced,
    Stepped,
    sequence_in_header,
)
from lictor_bus.logs.entry_logs import read_entry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_bus.wire.read import last_on_subjects
from lictor_schema.contracts.patch import PatchEntry, PatchSettled

PATCH_ENTRIES = subjects.PATCH.any
_SETTLED = "settled:"


class SettlingProcessor(CountingState):
    """Notices the end of each patch that drift asked for."""

    def parse(self, delivery: Delivery) -> Parsed[PatchEntry | None]:
        """Bytes to an entry; nothing for what somebody else got there."""
        entry = read_entry(delivery, PatchEntry.from_json)
        if entry is None or entry.fingerprint is None:
            return Parsed("other", str(delivery.sequence), entry)
        return Parsed(
            subjects.sighting(entry.fingerprint.key).rpartition(".")[2],
            f"{entry.entry_id}:{delivery.sequence}",
            entry,
        )

    def step(
        self,
        state: int | None,
        message: Parsed[PatchEntry | None],
        delivery: Delivery,  # noqa: ARG002
    ) -> Stepped[int, PatchSettled]:
        """An entry that ends a patch is passed on; any other is only counted."""
        count, entry = (state or 0) + 1, message.value
        if entry is None or entry.fingerprint is None or not entry.state.is_final:
            return Stepped(count, (), "other" if entry is None else entry.state.value)
        told = PatchSettled(
            request_id=entry.patch_id,
            fingerprint=entry.fingerprint,
            state=entry.state,
            at=datetime.fromisoformat(entry.at),
        )
        return Stepped(count, (told,), entry.state.value)


class SettlementOutbox:
    """Puts settlements among the sightings, each once."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:
        """By cause, the last entry that was passed on."""
        filters = [subjects.SETTLEMENT.at(key) for key in sorted(keys)]
        found = await last_on_subjects(
            self._client, streams.DRIFT, filters, lambda stored: _source(stored) > 0
        )
        return {stored.subject.split(".")[2]: _source(stored) for stored in found}

    async def publish(self, outputs: Sequence[Sourced[PatchSettled]]) -> None:
        """Store them exactly once."""
        messages = [
            Outgoing(
                subjects.settlement(each.output.fingerprint.key),
                each.output.to_json(),
                _SETTLED + each.output.request_id,
                {**each.headers, SOURCE_SEQUENCE: str(each.sequence)},
            )
            for each in outputs
        ]
        await publish_all(self._client, streams.DRIFT, messages)


def _source(stored: Delivery) -> int:
    """The entry that a settlement reports; 0 for a message from somebody else."""
    own = stored.headers.get("Nats-Msg-Id", "").removeprefix(_SETTLED)
    if not stored.body.startswith(b'{"request_id":"%b"' % own.encode()):
        return 0
    return sequence_in_header(stored)
