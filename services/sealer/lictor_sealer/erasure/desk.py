"""The desk where the messages of a sealed episode are erased: from every part of every version, for good.

The order is recorded first, where nothing can be erased. Then each part is replaced by one without the messages, and
the broker overwrites the old one. Interrupted anywhere, the same order given again completes it. The log is not
touched: the commitments stay, and every seal still verifies.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from nats.aio.client import Client

from lictor_bus.errors import BusError, Refused, SequenceConflict
from lictor_bus.gates.desk import ERASE
from lictor_bus.gates.gate_runner import BoundGate
from lictor_bus.logs.entry_logs import append_entry, read_log
from lictor_bus.logs.episode_contents import erase_message
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_after
from lictor_bus.wire.read import read_all
from lictor_schema.core.base_model import utc_millis
from lictor_schema.seals.erasure import ErasureAnswer, ErasureEntry, ErasureOrder, NamedStrand
from lictor_seal import BundleError, Entry, Part, SigningKey, with_erased
from lictor_sealer.erasure.statement import Place, chosen, state, told_in
from lictor_sealer.erasure.stored_parts import listed, missing, named, stock_of
from lictor_sealer.log.stream import EpisodeLog, sealed_episode_of
from lictor_sealer.order_authority import objection_to

log = logging.getLogger("lictor.sealer")

_TRIES = 5


class Erasures:
    """Erases messages of sealed episodes."""

    def __init__(
        self,
        client: Client,
        episodes: EpisodeLog,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._episodes = episodes
        self._now = now

    def bound(self) -> BoundGate[ErasureOrder, ErasureAnswer]:
        """The gate with its handler."""
        return BoundGate(gate=ERASE, handle=self.erase)

    async def erase(self, order: ErasureOrder) -> ErasureAnswer:
        """Erase what the order names; raises Refused when that can't be."""
        # We seal no version meanwhile, so none keeps what this order erases.
        async with self._episodes.writing:
            versions = await self._episodes.versions(order.episode_id)
            if not versions:
                raise Refused(
                    f"there is no sealed episode {order.episode_id}",
                    remedy="name an episode by its id",
                )
            objection = objection_to(order.by, sealed_episode_of(versions[-1]), "erase")
            if objection is not None:
                raise Refused(objection.reason, remedy=objection.remedy)
            stock = await stock_of(self._client, order.episode_id)
            if not stock:
                raise Refused(
                    f"no messages of episode {order.episode_id} are stored: an older sealer sealed it",
                    remedy="there is nothing to erase; its streams hold what it covers",
                )
            if unknown := missing(order.parts, stock):
                raise Refused(
                    f"the episode has no {', '.join(unknown[:10])}; nothing was erased",
                    remedy=f"name what there is: {listed(stock)}",
                )
            strands = named(order.parts, stock)
            if order.dry_run:
                return _looked(order, strands)
            entry = await self._recorded(order)
            # Once it is recorded, another sealer that corrects the episode sees it; what that stored before, we do.
            places = await part_subjects(self._client, order.episode_id)
            erased = await carry_out(self._client, self._episodes.key, entry, places)
        log.info(
            "episode %s: %d messages erased, by %s: %s",
            order.episode_id,
            erased,
            order.by,
            order.reason,
        )
        count = sum(each.carried + each.erased for each in strands)
        return ErasureAnswer(
            request_id=order.request_id,
            outcome="done",
            state="erased" if erased else "already erased",
            erased=erased,
            already=max(0, count - erased),
        )

    async def _recorded(self, order: ErasureOrder) -> ErasureEntry:
        """The order in the record of erasures, as it was first given."""
        subject = subjects.erasures(order.episode_id)
        for _ in range(_TRIES):
            known = await read_log(self._client, streams.ERASURES, subject, ErasureEntry.from_json)
            for _, entry in known.entries:
                if entry.entry_id == order.request_id:
                    if (entry.by, entry.reason, entry.parts) != (
                        order.by,
                        order.reason,
                        order.parts,
                    ):
                        raise Refused(
                            "request_id: another erasure was ordered with it",
                            remedy="give this order an id of its own",
                        )
                    return entry
            entry = ErasureEntry(
                entry_id=order.request_id,
                episode_id=order.episode_id,
                by=order.by,
                reason=order.reason,
                parts=order.parts,
                erased_at=utc_millis(self._now()),
            )
            try:
                await append_entry(
                    self._client,
                    streams.ERASURES,
                    known,
                    subject,
                    entry.entry_id,
                    entry.to_json(),
                )
            except SequenceConflict:
                continue
            return entry
        raise BusError("others keep ordering erasures of this episode")


async def part_subjects(client: Client, episode_id: str) -> list[str]:
    """Where parts of the episode stand, of whatever version, and of attempts that never were sealed."""
    found: dict[str, None] = {}
    async for stored in read_all(client, streams.CONTENTS, subjects.contents_of(episode_id), 20):
        found[stored.subject] = None
    return list(found)


async def carry_out(
    client: Client, key: SigningKey, order: ErasureEntry, places: Sequence[str]
) -> int:
    """Erase what a recorded order names from the parts that stand there; tells how many messages it has erased."""
    erased: set[Place] = set()
    for subject in places:
        erased |= await _erase_part(client, key, subject, order)
    return len(erased)


async def _erase_part(
    client: Client, key: SigningKey, subject: str, order: ErasureEntry
) -> set[Place]:
    for _ in range(_TRIES):
        # Another sealer may carry out the same order.
        with suppress(SequenceConflict):
            return await _try_to_erase(client, key, subject, order)
    raise BusError("others keep writing to the parts of this episode")


async def _try_to_erase(
    client: Client, key: SigningKey, subject: str, order: ErasureEntry
) -> set[Place]:
    """Leave only one message there: the part without what the order names; tells what is erased by the order."""
    stored = [each async for each in read_all(client, streams.CONTENTS, subject, 4)]
    parts = [(each, part) for each in stored if (part := _part(each, order)) is not None]
    if not parts:
        return set()
    newest, part = parts[-1]
    names = chosen(order.parts)

    def sign(_: str, entries: Sequence[Entry]) -> str:
        return state(order, entries, key)

    cleaned = with_erased(part, lambda place: "order" if names(place) else None, sign)
    if cleaned is not part:
        after = stored[-1].sequence
        await publish_after(client, streams.CONTENTS, Outgoing(subject, cleaned.to_bytes()), after)
    # What was left by an interrupted erasure, too.
    for each in stored if cleaned is not part else [e for e in stored if e != newest]:
        await erase_message(client, each)
    return {
        each.place
        for each in cleaned.entries
        if each.erasure is not None
        and told_in(cleaned.erasures[each.erasure]).request_id == order.entry_id
    }


def _looked(order: ErasureOrder, strands: tuple[NamedStrand, ...]) -> ErasureAnswer:
    return ErasureAnswer(
        request_id=order.request_id,
        outcome="done",
        state="not erased: only looked",
        erased=sum(each.carried for each in strands),
        already=sum(each.erased for each in strands),
        strands=strands,
    )


def _part(stored: Delivery, order: ErasureEntry) -> Part | None:
    try:
        part = Part.from_bytes(stored.body)
    except BundleError:
        return None  # NATS puts answers wherever a question says, and so here too.
    return part if part.episode_id == order.episode_id else None
