"""Reading a stream itself, beside any consumer: ranges by sequence, last messages by subject.

**Nothing here concludes from a replica that something is not there.** Messages come by direct gets, which any replica
answers, also one that lags. What it has is the beginning of what the leader has: what comes is right and in order, and
only its end may be missing. So where an answer ends, and the stream has replicas, its leader is asked how far it goes
(``leader_view``); then the last message of each subject is asked for until a replica answers that has come as far, as
its answer says. An empty result therefore rests on the leader. If there is no such answer in time, BusError is raised,
which is an outage like any other: nothing moves. Of a stream with one replica, whoever answers has all there is.

**Foreign messages are passed over** (``provenance``). Only ``stored_from`` and ``last_sequence`` show what stands in
the stream, whoever put it there: for those who append after it.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from nats.aio.client import Client

from lictor_bus.errors import TooManySubjects
from lictor_bus.wire.delivery import Delivery, nanoseconds
from lictor_bus.wire.direct_get import BYTES_PER_ANSWER, DirectAnswer, direct_get, direct_last
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.stream_leader import (
    READ_WITHIN_S,
    LeaderView,
    Patience,
    is_alone,
    leader_finds,
    leader_view,
)

# The server answers at most 1 024 messages to one request; eight dispositions a task leave room.
_SUBJECTS_PER_REQUEST = 100

PAGE = 500
"""How many messages a reader of a whole stream asks for at once, where nothing else counts."""

# By connection and stream, a subject with a message: whoever is asked for it too can't answer that there is nothing at
# all, which would not say how far that replica has come.
_landmarks: "WeakKeyDictionary[Client, dict[str, str]]" = WeakKeyDictionary()


async def read_from(
    client: Client, stream: str, subject: str, sequence: int, limit: int, *, known: int = 0
) -> list[Delivery]:
    """Up to ``limit`` messages on ``subject``, at ``sequence`` or later, in stream order; none when there are no more.

    An answer is cut by bytes too, and where a replica lags: fewer than ``limit`` don't mean that there are no more.
    ``known`` is a sequence that the caller knows to be stored on ``subject``: who has less is not believed.
    """
    while found := await stored_from(client, stream, subject, sequence, limit, known=known):
        if ours := [stored for stored in found if not is_foreign(stored)]:
            return ours
        sequence = found[-1].sequence + 1
    return []


async def stored_from(
    client: Client, stream: str, subject: str, sequence: int, limit: int, *, known: int = 0
) -> list[Delivery]:
    """The same with what is foreign."""
    return (await stored_page(client, stream, subject, sequence, limit, known=known)).found


async def stored_page(
    client: Client,
    stream: str,
    subject: str,
    sequence: int,
    limit: int,
    *,
    known: int = 0,
    max_bytes: int = BYTES_PER_ANSWER,
) -> DirectAnswer:
    """The same with whether more is known to be there; of about so many bytes, but of one message at least."""
    first = max(1, sequence)
    request = {"seq": first, "next_by_subj": subject, "batch": limit, "max_bytes": max_bytes}
    patience = Patience(READ_WITHIN_S)
    while True:
        answer = await direct_get(client, stream, request, patience.left_s)
        if answer.found or await is_alone(client, stream, patience):
            return answer
        if not await _any_after(client, stream, subject, first, known, patience):
            return answer
        await patience.pause(_lags(stream))


async def read_all(
    client: Client, stream: str, subject: str, page: int = 200, *, after: int = 0
) -> AsyncIterator[Delivery]:
    """Every message on ``subject`` after a sequence, in stream order, until there are no more."""
    sequence = after + 1
    while found := await read_from(client, stream, subject, sequence, page):
        for stored in found:
            yield stored
        sequence = found[-1].sequence + 1


async def stored_all(
    client: Client, stream: str, subject: str, page: int = 200
) -> AsyncIterator[Delivery]:
    """The same with what is foreign, for who has to lose nothing."""
    sequence = 1
    while found := await stored_from(client, stream, subject, sequence, page):
        for stored in found:
            yield stored
        sequence = found[-1].sequence + 1


async def read_since(
    client: Client, stream: str, subject: str, moment: datetime, limit: int
) -> list[Delivery]:
    """Up to ``limit`` messages on ``subject`` that were stored at ``moment`` or later; none when there are none."""
    start = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    patience = Patience(READ_WITHIN_S)

    async def since(on: str, most: int) -> list[Delivery]:
        request = {"start_time": start, "next_by_subj": on, "batch": most}
        return (await direct_get(client, stream, request, patience.left_s)).found

    if found := await since(subject, limit):
        ours = [stored for stored in found if not is_foreign(stored)]
        return ours or await read_from(client, stream, subject, found[-1].sequence + 1, limit)
    if await is_alone(client, stream, patience):
        return []
    view = await leader_view(client, stream, patience=patience)
    if not view.messages or view.last_at_ns < nanoseconds(start):
        return []
    # Something was stored since then: from that on, whatever it is, is looked for.
    while not (anything := await since(">", 1)):
        await patience.pause(_lags(stream))
    return await read_from(client, stream, subject, anything[0].sequence, limit)


async def last_on_subjects(
    client: Client,
    stream: str,
    subjects: Sequence[str],
    is_ours: Callable[[Delivery], bool] = lambda _: True,
) -> list[Delivery]:
    """The last message on each subject that the given filters match.

    ``is_ours`` looks at its body: of messages that are unnamed, nothing else tells who wrote them.
    """
    patience = Patience(READ_WITHIN_S)
    found = [
        stored
        for start in range(0, len(subjects), _SUBJECTS_PER_REQUEST)
        for stored in await _lasts(
            client, stream, subjects[start : start + _SUBJECTS_PER_REQUEST], patience
        )
    ]
    ours: list[Delivery] = []
    for stored in found:
        if not is_foreign(stored) and is_ours(stored):
            ours.append(stored)
            continue
        # The broker finds the last message only: what stands before a foreign one is read from the start.
        before = [each async for each in read_all(client, stream, stored.subject) if is_ours(each)]
        ours += before[-1:]
    return ours


async def any_on_subjects(client: Client, stream: str, subjects: Sequence[str]) -> set[str]:
    """Which subjects have a message, of those that these filters match; a filter that matches too many stands for all.

    Much cheaper than reading each: the broker answers for a hundred filters at once.
    """
    found: set[str] = set()
    for start in range(0, len(subjects), _SUBJECTS_PER_REQUEST):
        found |= await _any_of(client, stream, subjects[start : start + _SUBJECTS_PER_REQUEST])
    return found


async def last_sequence(client: Client, stream: str, subject: str, *, timeout_s: float) -> int:
    """The sequence of the last message on a subject, which may hold wildcards; 0 when there is none.

    Raises BusError when the broker does not say.
    """
    patience = Patience(timeout_s)
    if await is_alone(client, stream, patience):
        last = await direct_last(client, stream, subject, patience.left_s)
        return last.sequence if last else 0
    try:
        found = await _lasts(client, stream, [subject], patience)
    except TooManySubjects:
        return await leader_finds(client, stream, {"last_by_subj": subject}, patience)
    return max((stored.sequence for stored in found), default=0)


async def _any_of(client: Client, stream: str, filters: Sequence[str]) -> set[str]:
    try:
        return {stored.subject for stored in await last_on_subjects(client, stream, filters)}
    except TooManySubjects:
        if len(filters) == 1:
            return set(filters)
    half = len(filters) // 2
    return await _any_of(client, stream, filters[:half]) | await _any_of(
        client, stream, filters[half:]
    )


async def _any_after(
    client: Client, stream: str, subject: str, first: int, known: int, patience: Patience
) -> bool:
    """Whether the stream has a message on a subject at a sequence or later, as far as its leader goes."""
    while (view := await leader_view(client, stream, patience=patience)).last < known:
        await patience.pause(_lags(stream))
    if not view.messages or view.last < first:
        return False
    if first <= known and view.surely_has(known):
        return True
    try:
        return bool(await _lasts(client, stream, [subject], patience, first=first, view=view))
    except TooManySubjects:
        # No replica shows how far it has come where that many subjects match: the leader says what is there.
        request = {"seq": first, "next_by_subj": subject}
        return bool(await leader_finds(client, stream, request, patience))


async def _lasts(
    client: Client,
    stream: str,
    filters: Sequence[str],
    patience: Patience,
    *,
    first: int = 1,
    view: LeaderView | None = None,
) -> list[Delivery]:
    """The last message of each subject, if it is at a sequence or later, of all that the leader has."""
    asked, needed = list(filters), 0
    is_replicated = view is not None or not await is_alone(client, stream, patience)
    if is_replicated:
        view = view or await leader_view(client, stream, patience=patience)
        if not view.messages or view.last < first:
            return []
        needed = view.last
    found: list[Delivery] = []
    sequence, left = first, True
    while left:
        if is_replicated:
            asked = [*filters, await _landmark(client, stream, patience)]
        request: dict[str, Any] = {"multi_last": asked, "seq": sequence}
        answer: DirectAnswer = await direct_get(client, stream, request, patience.left_s)
        if answer.upto < needed:
            _landmarks.get(client, {}).pop(stream, None)
            await patience.pause(_lags(stream))
            continue
        found += answer.found
        left = answer.is_cut
        sequence = answer.found[-1].sequence + 1 if answer.found else sequence
    if not is_replicated:
        return found
    return [each for each in found if any(_is_on(each.subject, name) for name in filters)]


async def _landmark(client: Client, stream: str, patience: Patience) -> str:
    known = _landmarks.setdefault(client, {})
    while stream not in known:
        last = await direct_last(client, stream, ">", patience.left_s)
        if last is not None:
            known[stream] = last.subject
            break
        await patience.pause(_lags(stream))
    return known[stream]


def _is_on(subject: str, pattern: str) -> bool:
    """Whether a filter matches a subject."""
    names, wanted = subject.split("."), pattern.split(".")
    if wanted[-1] == ">":
        wanted = wanted[:-1]
        if len(names) <= len(wanted):
            return False
        names = names[: len(wanted)]
    return len(names) == len(wanted) and all(
        want in ("*", name) for name, want in zip(names, wanted, strict=True)
    )


def _lags(stream: str) -> str:
    return f"reading {stream} failed: no replica answers that has all its leader has"
