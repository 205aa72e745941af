"""A stored message as a worker sees it, whether it was delivered or read back from the stream."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from nats.aio.msg import Msg

from lictor_bus.errors import BusError
from lictor_schema.core.time import EPOCH, SECOND_NS, from_micros

NO_HEADERS: Mapping[str, str] = {}
COPIED = "Lictor-Copied"
"""Among the headers of a message that was read back: it was stored with headers that the broker gives to a copy."""


class WireHeaders(Mapping[str, str]):
    """Headers as they came, read when somebody asks: of most messages nobody does."""

    __slots__ = ("_parsed", "_raw")

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._parsed: dict[str, str] | None = None

    def mention(self, name: bytes) -> bool:
        """Whether a header of that name may be among them; False is certain."""
        return name in self._raw

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, str]:
        if self._parsed is None:
            self._parsed = _parse_headers(self._raw)
        return self._parsed


def _parse_headers(raw: bytes) -> dict[str, str]:
    """A header block, read as nats-py reads it; a status of the broker stands in its first line."""
    first, *lines = raw.split(b"\r\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        name = name.strip()
        if colon and name.isascii() and len(name.split()) == 1:
            headers[name.decode()] = value.strip().decode("utf-8", "replace")
    status, _, description = first.removeprefix(b"NATS/1.0").strip().partition(b" ")
    if status.isdigit():
        headers["Status"] = status.decode()
        headers["Description"] = description.strip().decode("utf-8", "replace")
    return headers


class Delivery(NamedTuple):
    """One message of a stream: what was stored, where, and when the broker stored it."""

    subject: str
    body: bytes
    headers: Mapping[str, str]
    sequence: int
    stored_at_ns: int
    # Counts this consumer's deliveries without holes, so a hole means that a message went elsewhere.
    # 0 for a message read back from the stream, which nobody delivered and nobody may acknowledge.
    delivery_number: int = 0
    ack_subject: str = ""
    redelivered: bool = False

    @property
    def times(self) -> int:
        """How often it was delivered; 0 for a message that nobody delivered."""
        return int(_ack_fields(self.ack_subject)[0]) if self.ack_subject else 0

    @property
    def stored_at(self) -> datetime:
        """The broker's own time for the message: the only clock the cores ever see."""
        return from_micros(self.stored_at_ns // 1000)


def from_delivery(message: Msg) -> Delivery:
    """Read the position out of the acknowledgement subject that JetStream puts on every delivery."""
    return delivered(message.subject, message.reply, message.data, message.headers or NO_HEADERS)


def delivered(subject: str, reply: str, body: bytes, headers: Mapping[str, str]) -> Delivery:
    """A delivery from its parts."""
    times, sequence, number, stored = _ack_fields(reply)
    return Delivery(
        subject, body, headers, int(sequence), int(stored), int(number), reply, times != "1"
    )


def _ack_fields(reply: str) -> list[str]:
    """How often a message was delivered, its sequence, the number of the delivery, and when it was stored."""
    parts = reply.split(".")
    # $JS.ACK.<stream>.<consumer>.<delivered>.<seq>.<number>.<time>.<pending>; behind a domain there are
    # <domain>.<account hash> before the stream and a random token at the end.
    if len(parts) == 9:
        return parts[4:8]
    if len(parts) >= 11:
        return parts[6:10]
    raise BusError(f"not a JetStream delivery: reply subject {reply!r}")


def from_direct_get(message: Msg) -> Delivery:
    """Read the position out of the headers of a direct-get answer."""
    headers = message.headers or {}
    return Delivery(
        headers["Nats-Subject"],
        message.data,
        headers,
        int(headers["Nats-Sequence"]),
        nanoseconds(headers["Nats-Time-Stamp"]),
    )


def nanoseconds(rfc3339: str) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time with up to nine fractional digits, in UTC."""
    whole, _, fraction = rfc3339.removesuffix("Z").partition(".")
    seconds = int((datetime.fromisoformat(whole).replace(tzinfo=UTC) - EPOCH).total_seconds())
    return seconds * SECOND_NS + int(fraction.ljust(9, "0") or 0)
