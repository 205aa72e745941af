"""What a service gives the batch loop: how to read a message, fold it, and where its results go.

The values here are named tuples, not frozen dataclasses: several are made for every message, and a frozen
dataclass takes five times as long to make.
"""

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.errors import MessageRefused, NewerState, StaleState
from lictor_bus.fold.timers import Timer
from lictor_bus.wire.delivery import NO_HEADERS, Delivery
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_bus.wire.read import last_on_subjects, read_since, stored_from
from lictor_bus.wire.stream_leader import leader_view
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.core.time import DAY_S, SECOND_NS, from_micros
from lictor_schema.errors import WHOLE_DOCUMENT, FieldProblem, describe_validation_error

log = logging.getLogger("lictor.worker")

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")

# On every result: the stream sequence of the message that caused it. After a crash a worker asks the output
# stream for it, to know what was published before the crash.
SOURCE_SEQUENCE = "Lictor-Source-Sequence"
_CLOCKS_APART_NS = SECOND_NS // 2
KEEP_QUIET_S = 30 * DAY_S
"""What was quiet for so long is forgotten, and folded anew from its log, should it go on."""


class Parsed(NamedTuple, Generic[T]):
    """A message read into its canonical model."""

    key: str
    """The subject token of what the state belongs to (a task): messages of one key are folded in order."""
    message_id: str
    """Unique within the key; a second message with it is refused as a duplicate."""
    value: T


class Stepped(NamedTuple, Generic[S, R]):
    """What one message led to."""

    state: S
    outputs: tuple[R, ...]
    outcome: str
    """A word for the metrics: ``allow``, ``block``, ``sealed`` …"""
    keep_state_s: int = 0
    """Forget the state, and the ids handled for it, this long after the last message; 0 keeps them.

    Counted by the broker's times, so a fold from the start forgets at the same place.
    """
    rules: tuple[tuple[str, str, str, str], ...] = ()
    """For the metrics: pack, version and id of each rule that matched, and what became of it."""


class Sourced(NamedTuple, Generic[R]):
    """An output and where it came from."""

    key: str
    sequence: int
    output: R
    headers: Mapping[str, str] = NO_HEADERS


def read_or_refuse(read: Callable[[bytes], T], body: bytes, remedy: str) -> T:
    """Read a body into its canonical model; what is wrong with it becomes a Refused that names the fields."""
    try:
        return read(body)
    except ValidationError as error:
        problems = describe_validation_error(error)
        told = "; ".join(f"{problem.path} {problem.problem}" for problem in problems[:5])
        raise MessageRefused(told, remedy=remedy, problems=problems) from None
    except CanonicalError as error:
        problem = FieldProblem(path=WHOLE_DOCUMENT, problem=str(error)[:1000], excerpt="")
        raise MessageRefused(str(error), remedy=remedy, problems=(problem,)) from None


class Processor(Protocol[T, S, R]):
    """A service's meaning, as the batch loop sees it. ``step`` must be pure; both may raise MessageRefused."""

    def parse(self, delivery: Delivery) -> Parsed[T]:
        """Bytes to canonical model."""
        ...

    def step(self, state: S | None, message: Parsed[T], delivery: Delivery) -> Stepped[S, R]:
        """Fold one message into the state of its key."""
        ...

    def timers(self, before: S | None, after: S, certain: bool) -> Sequence[Timer]:
        """What to set and cancel for a key whose state went from one to the other in a batch.

        Unless it is certain that what ``before`` asks for was ordered, everything is ordered anew.
        """
        ...

    def decode_state(self, raw: bytes) -> S:
        """Bytes from the store to state; StaleState when another engine wrote them."""
        ...

    def encode_state(self, state: S) -> bytes:
        """State to bytes for the store."""
        ...


class Steering(Protocol):
    """Messages among the others that steer the fold of a partition instead of being folded."""

    async def begin(self) -> None:
        """The partition is opened, perhaps again: learn what has been steered so far."""
        ...

    async def sift(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """Heed the messages that steer, before any of the batch is folded; returns the others."""
        ...


class NoSteering:
    """For a stream in which every message is folded."""

    async def begin(self) -> None:
        """Nothing to learn."""

    async def sift(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """All of them."""
        return deliveries


class CountingState:
    """The half of a processor that keeps no more of a key than how many messages it had, and sets no timers."""

    def timers(self, before: int | None, after: int, certain: bool) -> Sequence[Timer]:  # noqa: ARG002
        """None: nothing here waits for anything."""
        return ()

    def decode_state(self, raw: bytes) -> int:
        """Bytes from the store to a count."""
        try:
            return int(raw)
        except ValueError:
            raise StaleState(f"{raw[:40]!r} is no count of messages") from None

    def encode_state(self, state: int) -> bytes:
        """A count to bytes for the store."""
        return str(state).encode()


class Outbox(Protocol[R]):
    """Where results become durable: all of a batch, or none."""

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:
        """By key, the last source sequence whose results are durable already; asked after a restart."""
        ...

    async def publish(self, outputs: Sequence[Sourced[R]]) -> None:
        """Store the results exactly once."""
        ...


def sequence_in_header(stored: Delivery) -> int:
    """The source sequence of a result; 0 for a message that names none, which is none of ours."""
    named = stored.headers.get(SOURCE_SEQUENCE, "")
    return int(named) if named.isascii() and named.isdecimal() else 0


def _latest_ns(result: Delivery) -> int:
    """No source of a result is stored later, by the clocks of two servers."""
    return result.stored_at_ns + _CLOCKS_APART_NS


class StreamOutbox:
    """Results that are messages: one atomic batch to one stream.

    ``source_of`` reads the source sequence off a stored result whose body contains it, 0 off anything else; without it,
    the sequence travels in a header. ``source`` is the stream that the results come from.
    """

    def __init__(
        self,
        client: Client,
        stream: str,
        subjects_of_key: str,
        source_of: Callable[[Delivery], int] | None = None,
        *,
        source: str,
    ) -> None:
        self._client = client
        self._source = source
        self._stream = stream
        self._subjects_of_key = subjects_of_key
        self._source_of = source_of or sequence_in_header
        self._in_header = source_of is None

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:
        """By key, the last source sequence whose results are durable already."""
        filters = [self._subjects_of_key.format(key=key) for key in sorted(keys)]
        last: dict[str, Delivery] = {}
        for stored in await last_on_subjects(
            self._client, self._stream, filters, lambda stored: self._source_of(stored) > 0
        ):
            key = stored.subject.rpartition(".")[2]
            known = last.get(key)
            if known is None or self._source_of(known) < self._source_of(stored):
                last[key] = stored
        newest = max(last.values(), key=self._source_of, default=None)
        if newest is None or await self._is_of_this_past(newest):
            return {key: self._source_of(stored) for key, stored in last.items()}
        log.warning(
            "%s was restored from an older backup than %s: results of messages that are gone stay, those of new"
            " messages are published",
            self._source,
            self._stream,
        )
        return {key: await self._source_before(stored) for key, stored in last.items()}

    async def _is_of_this_past(self, result: Delivery) -> bool:
        """Whether the message that a result came from is in the stream: one under its number may be newer than it."""
        sequence = self._source_of(result)
        found = await stored_from(self._client, self._source, ">", sequence, 1)
        if not found:
            return (await leader_view(self._client, self._source)).last >= sequence
        return found[0].sequence != sequence or found[0].stored_at_ns <= _latest_ns(result)

    async def _source_before(self, result: Delivery) -> int:
        """The last source that was there when a result was stored: what came later has none."""
        moment = from_micros(_latest_ns(result) // 1000)
        later = await read_since(self._client, self._source, ">", moment, 1)
        if later:
            return later[0].sequence - 1
        return (await leader_view(self._client, self._source)).last

    async def publish(self, outputs: Sequence[Sourced[Outgoing]]) -> None:
        """Store the results exactly once."""
        await publish_all(self._client, self._stream, [self._message(each) for each in outputs])

    def _message(self, sourced: Sourced[Outgoing]) -> Outgoing:
        output = sourced.output
        if not self._in_header and not sourced.headers:
            return output
        headers = {**output.headers, **sourced.headers}
        if self._in_header:
            headers[SOURCE_SEQUENCE] = str(sourced.sequence)
        return Outgoing(output.subject, output.body, output.message_id, headers)


def refuse_newer_state(what: str, found: object, known: int) -> None:
    """Raise NewerState when the format that was found is newer than the one that is known here."""
    if type(found) is int and found > known:
        raise NewerState(
            f"{what} were stored in format {found}, and this version reads {known}: a newer version"
            " is at work; stop this one, or, to go back to it, stop the newer and empty Redis"
        )


def leading_format(raw: bytes) -> object:
    """The format of a state that is an array with its format in front; None for anything else."""
    try:
        value: Any = json.loads(raw)
        return value[0]
    except (ValueError, TypeError, LookupError):
        return None
