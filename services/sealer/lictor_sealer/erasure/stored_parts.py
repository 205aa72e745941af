"""What messages of an episode are stored, and which of them an order to erase names."""

from collections.abc import Mapping, Sequence
from itertools import islice

from nats.aio.client import Client

from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_all
from lictor_schema.seals.erasure import NamedStrand
from lictor_seal import BundleError, Part
from lictor_sealer.erasure.statement import Place, chosen

_SHOWN = 20

Stock = Mapping[Place, bool]
"""Every message that the parts of an episode name: whether one of them still carries it."""


async def stock_of(client: Client, episode_id: str) -> Stock:
    """The messages of an episode in all its versions, as the parts are now."""
    parts: dict[str, dict[Place, bool]] = {}
    async for stored in read_all(client, streams.CONTENTS, subjects.contents_of(episode_id), 20):
        try:
            part = Part.from_bytes(stored.body)
        except BundleError:
            continue  # NATS puts answers wherever a question says, and so here too.
        if part.episode_id == episode_id:
            # Where an erasure was interrupted, only the newest counts.
            parts[stored.subject] = {each.place: each.erasure is None for each in part.entries}
    found: dict[Place, bool] = {}
    for places in parts.values():
        for place, carried in places.items():
            found[place] = found.get(place, False) or carried
    return dict(sorted(found.items()))


def missing(parts: Sequence[str], stock: Stock) -> list[str]:
    """What an order names that the episode has not got."""
    known = {strand for strand, _ in stock} | {f"{strand}:{at}" for strand, at in stock}
    return [each for each in parts if each not in known]


def named(parts: Sequence[str], stock: Stock) -> tuple[NamedStrand, ...]:
    """What an order names, by strand."""
    names = chosen(parts)
    counts: dict[str, list[int]] = {}
    for place, carried in stock.items():
        if names(place):
            counts.setdefault(place[0], [0, 0])[0 if carried else 1] += 1
    return tuple(
        NamedStrand(strand=strand, carried=carried, erased=erased)
        for strand, (carried, erased) in counts.items()
    )


def listed(stock: Stock) -> str:
    """The parts that there are, for whoever named another."""
    strands: dict[str, list[int]] = {}
    for strand, at in stock:
        strands.setdefault(strand, []).append(at)
    return ", ".join(
        f"{strand} (at {', '.join(map(str, islice(places, _SHOWN)))}"
        f"{f', and {len(places) - _SHOWN} more' if len(places) > _SHOWN else ''})"
        for strand, places in strands.items()
    )
