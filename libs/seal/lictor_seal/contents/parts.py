r"""The messages that an episode covers, carried beside its seal: committed to one by one, stored in parts.

An episode's leaf holds, for each strand of messages, the RFC 6962 root over their commitments:

    commitment = SHA-256(salt + header + "\n" + body)
    header     = RFC 8785 JSON of {"at", "piece", "pieces", "storedUs", "strand", "subject"}

The salt has 32 bytes, which only the sealer can derive, so nobody can find a message by trying what it may have said.
A body longer than a piece is committed to piece by piece. An erased entry has neither salt nor body: its commitment
stays, so every root is still found, and a statement that the sealer signed says who had it erased and why.

A part is one line of RFC 8785 JSON, far below what a broker takes as one message. Parts may be cut anywhere between
entries: only the roots count.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from lictor_schema.core.canonical_json import (
    CanonicalError,
    canonical_json,
    content_hash,
    hash_bytes,
)
from lictor_schema.errors import describe_validation_error
from lictor_schema.seals.episode_part import EpisodePart, PartEntry
from lictor_schema.seals.episode_sources import CONTENTS_FORMAT
from lictor_seal import base64_text
from lictor_seal.errors import BundleError
from lictor_seal.keys import SigningKey
from lictor_seal.log.merkle import Frontier, tree_root

MAX_PART_SIZE: Final = 1024 * 1024
"""No part is longer; those that we make have less than half of it."""

PIECE: Final = 128 * 1024
MAX_PIECES: Final = 1024
"""No message has more; a broker takes none that has half of it."""
_FULL: Final = 192 * 1024
NAMED: Final = 2000
"""So many ids stand in one part; a longer list goes on in the first part that it names."""
_SALT_SIZE: Final = 32
_PURPOSE: Final = b"lictor.contents.salt.v1"


class Message(NamedTuple):
    """A message that an episode covers, as its stream holds it."""

    strand: str
    at: int
    """Its sequence in its stream."""
    stored_us: int
    subject: str
    body: bytes


class Entry(NamedTuple):
    """One piece of a message in a part; erased when it has neither salt nor body."""

    strand: str
    at: int
    piece: int
    pieces: int
    stored_us: int
    subject: str
    salt: bytes
    body: bytes
    commitment: str
    erasure: int | None = None
    """Which of the part's erasures it was, if it was erased."""

    @property
    def place(self) -> tuple[str, int]:
        """Which message it belongs to."""
        return self.strand, self.at


@dataclass(frozen=True, slots=True)
class Part:
    """Some of an episode's entries, in their order."""

    episode_id: str
    entries: tuple[Entry, ...]
    erasures: tuple[str, ...] = ()
    """Signed statements, in the order of the first entry that each stands for."""
    before: tuple[str, ...] | None = None
    """Ids of the parts before it, in the last one and in every so-manieth; None in the others."""

    @property
    def id(self) -> str:
        """The same whether its entries are erased or not."""
        return tree_root([each.commitment.encode() for each in self.entries]).hex()

    def to_bytes(self) -> bytes:
        """The line, without its newline."""
        part = EpisodePart(
            format=CONTENTS_FORMAT,
            episode_id=self.episode_id,
            entries=tuple(_to_wire(each) for each in self.entries),
            erasures=self.erasures or None,
            before=self.before,
        )
        return canonical_json(part.model_dump(mode="json", by_alias=True, exclude_none=True))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Part":
        """The part in a line; raises BundleError unless it is exactly one."""
        if len(data) > MAX_PART_SIZE:
            raise BundleError(f"a part is longer than {MAX_PART_SIZE} bytes")
        try:
            wire = EpisodePart.from_json(data)
        except ValidationError as error:
            problem = describe_validation_error(error)[0]
            raise BundleError(f"no part: {problem.path}: {problem.problem}") from error
        except CanonicalError as error:
            raise BundleError(f"no part: {error}") from error
        entries = tuple(map(_from_wire, wire.entries))
        part = cls(wire.episode_id, entries, wire.erasures or (), wire.before)
        # A part has exactly one spelling.
        seen = dict.fromkeys(each.erasure for each in entries if each.erasure is not None)
        if list(seen) != list(range(len(part.erasures))) or part.to_bytes() != data:
            raise BundleError(
                "a part is not the canonical JSON (RFC 8785) of its content; it was changed or re-formatted"
            )
        return part


def commitment_of(
    message: Message, salt: bytes, piece: int, pieces: int, body: bytes | None = None
) -> str:
    """What an episode holds of a piece of a message."""
    header = canonical_json(
        {
            "at": message.at,
            "piece": piece,
            "pieces": pieces,
            "storedUs": message.stored_us,
            "strand": message.strand,
            "subject": message.subject,
        }
    )
    return hash_bytes(salt + header + b"\n" + (message.body if body is None else body))


def _to_wire(entry: Entry) -> PartEntry:
    place: dict[str, Any] = {"strand": entry.strand, "at": entry.at}
    if entry.pieces > 1:
        place |= {"piece": entry.piece, "pieces": entry.pieces}
    if entry.erasure is not None:
        return PartEntry(**place, commitment=entry.commitment, erasure=entry.erasure)
    text = _as_text(entry.body)
    return PartEntry(
        **place,
        stored_us=entry.stored_us,
        subject=entry.subject,
        salt=base64_text.encode(entry.salt),
        body=text,
        base64=base64_text.encode(entry.body) if text is None else None,
    )


def _as_text(body: bytes) -> str | None:
    """The body as text; None where Base64 is shorter, or it is no text."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(canonical_json(text)) <= len(body) * 4 // 3 + 4 else None


def _from_wire(wire: PartEntry) -> Entry:
    piece, pieces = wire.piece or 0, wire.pieces or 1
    if piece >= pieces:
        raise BundleError(f"{wire.strand} {wire.at}: there is no piece {piece} of {pieces}")
    if pieces > MAX_PIECES:
        raise BundleError(f"{wire.strand} {wire.at}: no message has {pieces} pieces")
    if wire.erasure is not None:
        if wire.commitment is None:
            raise BundleError(f"{wire.strand} {wire.at}: it is erased and has no commitment")
        known = wire.commitment
        return Entry(wire.strand, wire.at, piece, pieces, 0, "", b"", b"", known, wire.erasure)
    try:
        salt = base64_text.decode(wire.salt or "")
        body = (wire.body or "").encode()
        body = body if wire.base64 is None else base64_text.decode(wire.base64)
    except ValueError as error:
        raise BundleError(f"{wire.strand} {wire.at}: {error}") from error
    if len(salt) != _SALT_SIZE:
        raise BundleError(f"{wire.strand} {wire.at}: a salt has {_SALT_SIZE} bytes")
    if len(body) > PIECE:
        raise BundleError(f"{wire.strand} {wire.at}: a piece has at most {PIECE} bytes")
    message = Message(wire.strand, wire.at, wire.stored_us or 0, wire.subject or "", body)
    made = commitment_of(message, salt, piece, pieces)
    place = (wire.strand, wire.at, piece, pieces)
    return Entry(*place, message.stored_us, message.subject, salt, body, made)


@dataclass(slots=True)
class Strands:
    """The roots over the entries of each strand, in the order that the strands began."""

    frontiers: dict[str, Frontier] = field(default_factory=dict[str, Frontier])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, entry: Entry) -> None:
        """One more entry."""
        frontier = self.frontiers.get(entry.strand, Frontier())
        self.frontiers[entry.strand] = frontier.append(entry.commitment.encode())
        if entry.piece == 0:
            self.counts[entry.strand] = self.counts.get(entry.strand, 0) + 1

    def root(self, strand: str) -> str:
        """The root of a strand as a content hash."""
        return f"sha256:{self.frontiers.get(strand, Frontier()).root().hex()}"


class Erased(NamedTuple):
    """Messages that were erased before: they are not stored again, whoever still has them."""

    places: Mapping[tuple[str, int], str]
    """The statement for each."""
    restate: Callable[[str, Sequence[Entry]], str]
    """A statement of the same erasure for these entries."""


class ContentsWriter:
    """Commits to messages, strand by strand, and cuts them into parts; holds no more than one part."""

    def __init__(self, episode_id: str, key: SigningKey, erased: Erased | None = None) -> None:
        self._episode_id = episode_id
        self._secret = key.secret_for(_PURPOSE)
        self._erased = erased
        self._entries: list[Entry] = []
        self._size = 0
        self._named: list[str] = []
        self.strands = Strands()
        self.full: list[Part] = []
        """Parts that are complete; the caller stores them and takes them out."""

    def add(self, message: Message) -> str:
        """Take a message in; returns the commitment to it, or to its first piece."""
        pieces = max(1, -(-len(message.body) // PIECE))
        first = ""
        for number in range(pieces):
            body = message.body[number * PIECE : (number + 1) * PIECE]
            salt = self._salt(message, number)
            made = commitment_of(message, salt, number, pieces, body)
            first = first or made
            entry = Entry(
                message.strand,
                message.at,
                number,
                pieces,
                message.stored_us,
                message.subject,
                salt,
                body,
                made,
            )
            if self._size >= _FULL:
                self._cut()
            self.strands.add(entry)
            self._entries.append(entry)
            # At most a third more in Base64, and the members beside it.
            self._size += len(body) + len(body) // 3 + 400 + len(message.subject)
        return first

    def finish(self) -> Part:
        """The last part, which names those before it."""
        part = self._part()
        self._entries, self._size = [], 0
        return Part(part.episode_id, part.entries, part.erasures, tuple(self._named))

    def _cut(self) -> None:
        part = self._part()
        self._entries, self._size = [], 0
        if len(self._named) >= NAMED:
            part = Part(part.episode_id, part.entries, part.erasures, tuple(self._named))
            self._named = []
        self._named.append(part.id)
        self.full.append(part)

    def _part(self) -> Part:
        part = Part(self._episode_id, tuple(self._entries))
        if self._erased is None:
            return part
        places, restate = self._erased
        return with_erased(part, places.get, restate)

    def _salt(self, message: Message, piece: int) -> bytes:
        place = [self._episode_id, message.strand, message.at, piece]
        return hmac.digest(self._secret, canonical_json(place), hashlib.sha256)


def with_erased(
    part: Part,
    order_for: Callable[[tuple[str, int]], str | None],
    state: Callable[[str, Sequence[Entry]], str],
) -> Part:
    """The part without the messages for which there is an order; ``state`` makes the signed statement of it."""
    chosen = [order_for(each.place) if each.erasure is None else None for each in part.entries]
    if not any(chosen):
        return part
    statements: dict[str, str] = {}
    for order in dict.fromkeys(filter(None, chosen)):
        erased = [each for each, by in zip(part.entries, chosen, strict=True) if by == order]
        statements[order] = state(order, erased)
    numbers: dict[str, int] = {}
    entries: list[Entry] = []
    for each, order in zip(part.entries, chosen, strict=True):
        statement = (
            statements[order]
            if order
            else None
            if each.erasure is None
            else part.erasures[each.erasure]
        )
        if statement is None:
            entries.append(each)
            continue
        number = numbers.setdefault(statement, len(numbers))
        entries.append(each._replace(stored_us=0, subject="", salt=b"", body=b"", erasure=number))
    return Part(part.episode_id, tuple(entries), tuple(numbers), part.before)


def entries_hash(entries: Sequence[Entry]) -> str:
    """How a statement names the entries that it stands for."""
    return content_hash([[e.strand, e.at, e.piece, e.commitment] for e in entries])


def last_part_id(sources: Mapping[str, object]) -> str:
    """The id by which the last part of an episode is found: by its roots, as the leaf holds them."""
    return content_hash(sources.get("strands")).removeprefix("sha256:")


def is_part(data: bytes, episode_id: str, part_id: str) -> bool:
    """Whether the bytes are the part of an episode that stands under this id.

    The last one stands under another id than its own; whether it is the one is shown by the episode's roots.
    """
    try:
        part = Part.from_bytes(data)
    except BundleError:
        return False
    return part.episode_id == episode_id and (part.before is not None or part.id == part_id)


def erased_by(part: Part) -> Iterator[tuple[str, list[Entry]]]:
    """Each statement in a part with the entries that it stands for."""
    erased = sorted(
        (each for each in part.entries if each.erasure is not None),
        key=lambda each: each.erasure or 0,
    )
    for number, entries in groupby(erased, key=lambda each: each.erasure or 0):
        yield part.erasures[number], list(entries)
