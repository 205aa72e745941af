"""Dead letters: what a service could not process, whole, with the reason, ready to be replayed.

The body of a dead letter is the original body, byte for byte; what is known about it travels in one header. Each has
a subject of its own (service, stream, sequence) on a stream that keeps one message a subject and refuses a second,
so dead-lettering the same message twice leaves one letter. Where the subject holds something else, a foreign message or
the letter of a stream that was restored since, the letter goes to the next subject: it is neither hidden nor replaced.
"""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from nats.aio.client import Client
from pydantic import TypeAdapter, ValidationError

from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.names import subjects
from lictor_bus.names.streams import DEAD, STREAMS
from lictor_bus.names.subjects import dead_letter
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_foreign, pass_over
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_on_subjects, stored_from
from lictor_schema.services.dead_letter import DeadLetter

_INFO = "Lictor-Dead"
_ORIGINAL_HEADERS = "Lictor-Original-Headers"
_REPLAY_OF = "Lictor-Replay-Of"
_PAGE = 200
# The limit for the stored headers of the original: the broker takes 64 KiB of headers, and a letter must
# never be refused.
_MOST_HEADER_BYTES = 8 * 1024
_PLAIN_HEADER = re.compile(r"[A-Za-z0-9_-]{1,128}")
_MOST_PROBLEMS = 20
_LONGEST_ID = 512
_LONGEST_TEXT = 4096
_LONGEST_SUBJECT = 4096
_MOST_TAKEN = 16
_HEADERS = TypeAdapter(dict[str, str])


@dataclass(frozen=True, slots=True)
class StoredLetter:
    """A dead letter as stored: what is known about it, and the original body."""

    sequence: int
    letter: DeadLetter
    body: bytes
    headers: dict[str, str]
    is_readable: bool = True
    """False for a message on the stream that is no dead letter; ``letter`` says so."""


class DeadLetters:
    """One service's access to the dead-letter stream."""

    def __init__(self, client: Client, service: str, *, formerly: str | None = None) -> None:
        self._client = client
        self._service = service
        self._formerly = formerly
        """The service that handled the same messages before: what it dead-lettered is not dead-lettered again."""

    async def store(self, stream: str, delivery: Delivery, refusal: MessageRefused) -> None:
        """Store the message whole, with why; once, however often it is called."""
        letter = DeadLetter(
            service=self._service,
            stream=stream,
            subject=delivery.subject[:_LONGEST_SUBJECT],
            sequence=delivery.sequence,
            message_id=delivery.headers.get("Nats-Msg-Id", "")[:_LONGEST_ID] or None,
            received_at=delivery.stored_at,
            problems=refusal.problems[:_MOST_PROBLEMS],
            reason=refusal.reason[:_LONGEST_TEXT] or "no reason given",
            remedy=refusal.remedy[:_LONGEST_TEXT] or "none known",
            body_size=len(delivery.body),
            body_sha256="sha256:" + hashlib.sha256(delivery.body).hexdigest(),
        )
        # JSON with every non-ASCII character escaped: a header is one line of ASCII.
        info = letter.model_dump_json(by_alias=True, ensure_ascii=True)
        kept = json.dumps(_bounded(delivery.headers))
        headers = {_INFO: info, _ORIGINAL_HEADERS: kept}
        if self._formerly is not None:
            before = dead_letter(self._formerly, stream, delivery.sequence)
            if await self._holds(before, letter):
                return
        place = dead_letter(self._service, stream, delivery.sequence)
        for subject in _places(place):
            message = Outgoing(subject, delivery.body, None, headers)
            if await publish_one(self._client, DEAD, message) is not None:
                return
            if await self._holds(subject, letter):
                return
        raise BusError(f"no subject is left for the dead letter {place}; see who writes to DEAD")

    async def _holds(self, subject: str, letter: DeadLetter) -> bool:
        """Whether the letter about that message is stored there, whatever reason it names."""
        found = [_unwrap(each) for each in await stored_from(self._client, DEAD, subject, 1, 1)]
        return any(
            each.is_readable
            and (each.letter.received_at, each.letter.body_sha256)
            == (letter.received_at, letter.body_sha256)
            for each in found
        )


async def list_dead(
    client: Client, *, service: str = "*", after: int = 0, limit: int = 1000
) -> AsyncIterator[StoredLetter]:
    """Dead letters, oldest first."""
    found = 0
    while found < limit:
        page = await stored_from(
            client,
            DEAD,
            subjects.DEAD_LETTER.where(service=service),
            after + 1,
            min(_PAGE, limit - found),
        )
        for stored in page:
            yield _unwrap(stored)
        # A page can be short of what was asked for: the broker also cuts by bytes.
        if not page:
            return
        found += len(page)
        after = page[-1].sequence


async def find_dead(client: Client, sequence: int) -> StoredLetter:
    """The dead letter stored under a sequence of the DEAD stream."""
    found = await stored_from(client, DEAD, subjects.DEAD_LETTER.all, sequence, 1)
    if not found or found[0].sequence != sequence:
        raise BusError(
            f"there is no dead letter {sequence}; `lictor dead list` shows what there is"
        )
    return _unwrap(found[0])


async def first_dead(client: Client, stream: str, sequence: int) -> StoredLetter | None:
    """The first dead letter about a message of a stream, of whichever service; None when there is none."""
    places = _places(dead_letter("*", stream, sequence))
    found = await last_on_subjects(client, DEAD, places, is_dead_letter)
    first = min(found, key=lambda stored: stored.sequence, default=None)
    return None if first is None else _unwrap(first)


def _places(first: str) -> list[str]:
    """Where a letter may stand: a foreign message that takes a subject must not keep it out."""
    return [first, *(f"{first}-{number}" for number in range(1, _MOST_TAKEN))]


async def replay_dead(client: Client, stored: StoredLetter) -> None:
    """Publish the original again where it was first published, as a new message; the letter stays as a record."""
    if not stored.is_readable or stored.letter.stream not in STREAMS:
        raise BusError(f"{stored.sequence} is no dead letter; see who wrote it")
    if STREAMS[stored.letter.stream].audit:
        raise BusError(
            f"dead letter {stored.sequence} comes from {stored.letter.stream}: publishing it again would double "
            "a decision; mend the cause and handle the task by hand"
        )
    subject = subjects.published_subject(stored.letter.subject)
    headers = {**stored.headers, _REPLAY_OF: str(stored.sequence)}
    await publish_one(client, stored.letter.stream, Outgoing(subject, stored.body, None, headers))


def _bounded(headers: Mapping[str, str]) -> dict[str, str]:
    """The sender's own headers, as many as fit, of names that can be sent again."""
    kept: dict[str, str] = {}
    room = _MOST_HEADER_BYTES
    for name, value in headers.items():
        if name.startswith(("Nats-", "Lictor-")) or not _PLAIN_HEADER.fullmatch(name):
            continue
        room -= len(json.dumps(name)) + len(json.dumps(value))
        if room < 0:
            break
        kept[name] = value
    return kept


def is_dead_letter(stored: Delivery) -> bool:
    """Whether a service of ours set something aside there."""
    return _unwrap(stored).is_readable


def _unwrap(stored: Delivery) -> StoredLetter:
    """The letter in a stored message; of any other message one that says what it is: nothing hides it."""
    if not is_foreign(stored):
        try:
            headers = _HEADERS.validate_json(stored.headers.get(_ORIGINAL_HEADERS, "{}"))
            letter = DeadLetter.model_validate_json(stored.headers.get(_INFO, ""))
            return StoredLetter(stored.sequence, letter, stored.body, headers)
        except ValidationError:
            pass_over(stored, "no dead letter")
    letter = DeadLetter(
        service="unknown",
        stream=DEAD,
        subject=stored.subject[:_LONGEST_SUBJECT],
        sequence=stored.sequence,
        received_at=stored.stored_at,
        reason="this is no dead letter: a copy, an answer of the broker, or somebody else's message",
        remedy="find out who may write to DEAD, or may ask the broker in this account",
        body_size=len(stored.body),
        body_sha256="sha256:" + hashlib.sha256(stored.body).hexdigest(),
    )
    return StoredLetter(stored.sequence, letter, stored.body, {}, is_readable=False)
