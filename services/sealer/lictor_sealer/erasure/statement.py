"""What the sealer signs where messages of an episode were erased, and which were; pure."""

from collections.abc import Callable, Sequence

from lictor_schema.seals.erasure import Erasure, ErasureEntry
from lictor_seal import (
    ERASURE,
    Entry,
    Part,
    SigningKey,
    entries_hash,
    erased_by,
    parse_note,
    sign_statement,
)

Place = tuple[str, int]


def told_in(statement: str) -> Erasure:
    """What a signed statement of the sealer's says."""
    return Erasure.from_json(parse_note(statement).text.partition("\n")[2].encode())


def state(order: ErasureEntry, entries: Sequence[Entry], key: SigningKey) -> str:
    """The statement that these entries were erased by an order."""
    erasure = Erasure(
        request_id=order.entry_id,
        episode_id=order.episode_id,
        by=order.by,
        reason=order.reason,
        erased_at=order.erased_at,
        count=len(entries),
        entries=entries_hash(entries),
    )
    return sign_statement(ERASURE, erasure, key)


def erased_places(part: Part) -> dict[Place, str]:
    """The messages that were erased from a part, each with the order, as text."""
    places: dict[Place, str] = {}
    for statement, entries in erased_by(part):
        told = told_in(statement)
        order = ErasureEntry(
            entry_id=told.request_id,
            episode_id=told.episode_id,
            by=told.by,
            reason=told.reason,
            erased_at=told.erased_at,
        )
        places |= {each.place: order.to_json().decode() for each in entries}
    return places


def restated(key: SigningKey) -> Callable[[str, Sequence[Entry]], str]:
    """States the same orders for other parts."""
    return lambda order, entries: state(ErasureEntry.from_json(order.encode()), entries, key)


def chosen(parts: Sequence[str]) -> Callable[[Place], bool]:
    """Whether an order names a message; one that names none names all."""
    strands = {each for each in parts if ":" not in each}
    places = {(name, int(at)) for name, _, at in (each.partition(":") for each in parts) if at}
    return lambda place: not parts or place[0] in strands or place in places
