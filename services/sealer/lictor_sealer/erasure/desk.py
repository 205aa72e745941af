"""The desk where the messages of a sealed episode are erased: from every part of every version, for good.

The order is recorded first, where nothing can be erased. Then each part is replaced by one without the messages, and
the broker overwrites the old one. Interrupted anywhere, the same order given again completes it. The log is not
touched: the commitments stay, and every seal still verifies.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from nats.aio.client import Client

from lictor_bus.errors import MessageRefused
from lictor_bus.gates.desk import ERASE
from lictor_bus.gates.gate_runner import BoundGate
from lictor_bus.ledger import Ledger, Log, Reading, WholeLedger
from lictor_bus.logs.episode_contents import erase_message
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.publish import Outgoing
from lictor_bus.wire.read import read_all, stored_from
from lictor_schema.core.base_model import utc_millis
from lictor_schema.seals.erasure import ErasureAnswer, ErasureEntry, ErasureOrder, NamedStrand
from lictor_seal import BundleError, Entry, Part, SigningKey, with_erased
from lictor_sealer.erasure.statement import Place, chosen, state, told_in
from lictor_sealer.erasure.stored_parts import listed, missing, named, stock_of
from lictor_sealer.log.stream import EpisodeLog, sealed_episode_of
from lictor_sealer.order_authority import objection_to

log = logging.getLogger("lictor.sealer")

ERASURES = WholeLedger[ErasureEntry, tuple[ErasureEntry, ...]](
    "erasures of the episode",
    streams.ERASURES,
    parse=ErasureEntry.from_json,
    fold=tuple,
    subject_of=lambda entry: subjects.erasures(entry.episode_id),
)


class Erasures:
    """Erases messages of sealed episodes."""

    def __init__(
        self,
        client: Client,
        episodes: EpisodeLog,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._appends = Appends(client)
        self._episodes = episodes
        self._now = now

    def bound(self) -> BoundGate[ErasureOrder, ErasureAnswer]:
        """The gate with its handler."""
        return BoundGate(gate=ERASE, handle=self.erase)

    async def erase(self, order: ErasureOrder) -> ErasureAnswer:
        """Erase what the order names; raises MessageRefused when that can't be."""
        # We seal no version meanwhile, so none keeps what this order erases.
        async with self._episodes.writing:
            versions = await self._episodes.versions(order.episode_id)
            if not versions:
                raise MessageRefused(
                    f"there is no sealed episode {order.episode_id}",
                    remedy="name an episode by its id",
                )
            objection = objection_to(order.by, sealed_episode_of(versions[-1]), "erase")
            if objection is not None:
                raise MessageRefused(objection.reason, remedy=objection.remedy)
            stock = await stock_of(self._client, order.episode_id)
            if not stock:
                raise MessageRefused(
                    f"no messages of episode {order.episode_id} are stored: an older sealer sealed it",
                    remedy="there is nothing to erase; its streams hold what it covers",
                )
            if unknown := missing(order.parts, stock):
                raise MessageRefused(
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
        entry = ErasureEntry(
            entry_id=order.request_id,
            episode_id=order.episode_id,
            by=order.by,
            reason=order.reason,
            parts=order.parts,
            erased_at=utc_millis(self._now()),
        )
        log = ERASURES.log(self._client, subjects.erasures(order.episode_id))
        changed = await ERASURES.change(
            self._appends, log, lambda _: entry, entry_id=order.request_id
        )
        first = changed.entry or entry
        if (first.by, first.reason, first.parts) != (order.by, order.reason, order.parts):
            raise MessageRefused(
                "request_id: another erasure was ordered with it",
                remedy="give this order an id of its own",
            )
        return first


async def part_subjects(client: Client, episode_id: str) -> list[str]:
    """Where parts of the episode stand, of whatever version, and of attempts that never were sealed."""
    found: dict[str, None] = {}
    async for stored in read_all(client, streams.CONTENTS, subjects.contents_of(episode_id), 20):
        found[stored.subject] = None
    return list(found)


async def carry_out(
    client: Client, key: SigningKey, order: ErasureEntry, places: Sequence[str]
) -> int:
    """Erase what a recorded order names from the stored parts; returns how many messages it has erased."""
    erased: set[Place] = set()
    appends = Appends(client)
    for subject in places:
        erased |= await _erase_part(appends, key, subject, order)
    return len(erased)


@dataclass(frozen=True, slots=True)
class _Cleaned:
    """A part without what an order names."""

    entry_id: str
    part: Part

    def to_json(self) -> bytes:
        return self.part.to_bytes()


PARTS = Ledger[_Cleaned, Sequence[Delivery]]("part of the episode", streams.CONTENTS)


class _PartLog(Log[_Cleaned, Sequence[Delivery]]):
    """What stands where one part of an episode is stored: the last one counts."""

    def __init__(self, client: Client, subject: str) -> None:
        self._client = client
        self._subject = subject

    async def read(self) -> Reading[_Cleaned, Sequence[Delivery]]:
        stored: list[Delivery] = []
        last = 0
        while page := await stored_from(self._client, streams.CONTENTS, self._subject, last + 1, 4):
            stored += page
            last = page[-1].sequence
        return Reading(stored, last)

    def message(self, entry: _Cleaned) -> Outgoing:
        return Outgoing(self._subject, entry.to_json())


async def _erase_part(
    appends: Appends, key: SigningKey, subject: str, order: ErasureEntry
) -> set[Place]:
    """Leave only one message there: the part without what the order names; returns what is erased by the order."""
    names = chosen(order.parts)

    def sign(_: str, entries: Sequence[Entry]) -> str:
        return state(order, entries, key)

    def judge(stored: Sequence[Delivery]) -> _Cleaned | None:
        newest = _newest(stored, order)
        if newest is None:
            return None
        part = newest[1]
        cleaned = with_erased(part, lambda place: "order" if names(place) else None, sign)
        return None if cleaned is part else _Cleaned(order.entry_id, cleaned)

    # Another sealer may carry out the same order.
    changed = await PARTS.change(appends, _PartLog(appends.client, subject), judge)
    newest = _newest(changed.state, order)
    if newest is None:
        return set()
    kept = newest[1] if changed.entry is None else changed.entry.part
    # What was left by an interrupted erasure, too.
    for each in changed.state:
        if changed.entry is not None or each != newest[0]:
            await erase_message(appends.client, each)
    return {
        each.place
        for each in kept.entries
        if each.erasure is not None
        and told_in(kept.erasures[each.erasure]).request_id == order.entry_id
    }


def _newest(stored: Sequence[Delivery], order: ErasureEntry) -> tuple[Delivery, Part] | None:
    """The part that counts, and where it stands."""
    for each in reversed(stored):
        if (part := _part(each, order)) is not None:
            return each, part
    return None


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
    if is_foreign(stored):
        return None
    try:
        part = Part.from_bytes(stored.body)
    except BundleError:
        return None
    return part if part.episode_id == order.episode_id else None
