"""The state store: the fold of a stream so far, in Redis, one hash a key.

Redis is a cache of a fold, never the truth: the cursor says how far the fold has come, it is committed together
with the states, and it is compared before it is set. So a worker that lost its partition can't overwrite the
new owner's work, and a Redis that lost its data simply sends the worker back to the start of the stream.

All keys of one partition share a hash tag, so one script may touch them on a Redis cluster too. A task's hash holds
its record under ``s`` and, under ``e:<id>``, the stream sequence of every message handled for it. A record is the state
with the sequence of the last message in it and the broker's time after which the fold forgets it. Redis removes it only
a week later, by its own clock: what is forgotten when must follow from the stream alone, or a fold from the start would
come to something else.

Nor is Redis believed. Records, sequences of handled messages and the cursor carry tags (``state_tags``), and positions
must agree: no record lies past the cursor, and none before the one that was committed for its key last. Whatever does
not fit is a ForgedState, upon which the worker starts over.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# redis-py leaves some of its answers untyped.

import json
import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from lictor_bus.errors import CursorConflict, ForgedState, StaleState
from lictor_bus.fold.state_records import StateRecords
from lictor_bus.fold.state_tags import StateTags
from lictor_schema.core.time import DAY_S

# KEYS[1]: the cursor; KEYS[2]: its check; KEYS[3..]: the tasks' hashes. ARGV: for each message asked about the index of
# its key and its id, as one JSON array (packing thousands of arguments costs more than decoding it); then the cursors
# expected. The cursor is compared on loading too: states of a store that lost its data, or that another worker has
# moved on, must not even be folded, because results are published before the commit.
_LOAD = """
local cursor = redis.call('GET', KEYS[1]) or '0'
local expected = false
for i = 2, #ARGV do expected = expected or cursor == ARGV[i] end
if not expected then return {cursor} end
local states, seen = {}, {}
for i = 3, #KEYS do states[i - 2] = redis.call('HGET', KEYS[i], 's') end
for i, message in ipairs(cjson.decode(ARGV[1])) do
  seen[i] = redis.call('HGET', KEYS[message[1] + 2], 'e:' .. message[2])
end
return {cursor, redis.call('GET', KEYS[2]), states, seen}
"""

# KEYS as above. ARGV: expected cursor, new cursor and its check; as JSON the keys that were forgotten, the seconds
# after which Redis may remove the tasks (0: never) and for each message the index of its key, its id and its sequence
# with its tag; then the tasks' records.
_COMMIT = """
local cursor = redis.call('GET', KEYS[1]) or '0'
if cursor ~= ARGV[1] then return cursor end
local changes = cjson.decode(ARGV[4])
for _, i in ipairs(changes.forgotten) do redis.call('DEL', KEYS[i + 2]) end
for i, life in ipairs(changes.lives) do
  redis.call('HSET', KEYS[i + 2], 's', ARGV[i + 4])
  if life ~= 0 then redis.call('EXPIRE', KEYS[i + 2], life)
  else redis.call('PERSIST', KEYS[i + 2]) end
end
for _, message in ipairs(changes.handled) do
  redis.call('HSET', KEYS[message[1] + 2], 'e:' .. message[2], message[3])
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[1] .. ':at', ARGV[2] .. ' ' .. changes.at)
redis.call('SET', KEYS[2], ARGV[3])
return false
"""


# KEYS: the generation and, of the generation that ARGV says was read last, the cursor, its check and a task's hash. All
# keys share a hash tag, and the generation rarely moves; when it has, the answer says so and the reader asks again.
_PEEK = """
local generation = redis.call('GET', KEYS[1]) or '0'
if generation ~= ARGV[1] then return {generation} end
return {
  generation, redis.call('GET', KEYS[2]) or '0', redis.call('GET', KEYS[3]), redis.call('HGET', KEYS[4], 's')
}
"""

# So many keys a partition whose last position a worker remembers.
_MAX_REMEMBERED = 20_000
_MAX_GENERATION = 10**15
# Redis may remove what the fold has forgotten for so long: no worker is that far behind the stream.
_REMOVE_AFTER_S = 7 * DAY_S


class Peeked(NamedTuple):
    """How far a fold has come, and the state of one key there."""

    cursor: int
    state: bytes | None
    until_us: int | None = None
    """The broker's time, in microseconds since 1970, after which the fold takes the state for forgotten."""
    position: int = 0
    """The sequence of the last message that is in the state."""


@dataclass(frozen=True, slots=True)
class LoadedStates:
    """What the store knew: the states by key, and the sequence under which an id was handled before."""

    states: Mapping[str, bytes]
    seen: Mapping[tuple[str, str], int]
    until_us: Mapping[str, int]
    """By key, the broker's time after which it is forgotten; without those that are kept."""


class Lifetime(NamedTuple):
    """How long a state is kept after its last message, and until when that is by the broker's time."""

    keep_s: int
    until_us: int


@dataclass(frozen=True, slots=True)
class Commit:
    """What a batch changed: states (with a lifetime, None to keep) and the ids it handled."""

    states: Mapping[str, tuple[bytes, Lifetime | None]]
    handled: Sequence[tuple[str, str, int]]
    forgotten: Collection[str] = ()
    """Of the keys, those that were forgotten before they got this state."""
    last_at_ns: int = 0
    """When the broker stored the last message of the batch: by this it is known again."""


def literally(text: str) -> str:
    """A Redis match pattern for exactly this text."""
    return re.sub(r"([\\\[\]*?])", r"\\\1", text)


def fold_root(service: str, partition: str) -> str:
    """What the keys of a fold begin with: a hash tag."""
    return f"lictor:{{{service}:{partition}}}"


class StateReader:
    """Reads states that a worker, here or elsewhere, folds; never changes any."""

    def __init__(
        self, redis: "Redis", service: str, partition: str, tags: StateTags | None = None
    ) -> None:
        self._redis = redis
        self._root = fold_root(service, partition)
        self._records = StateRecords(tags or StateTags(b"", service), self._root)
        self._generation = b"0"
        self._peek: Any = redis.register_script(_PEEK)

    async def peek(self, key: str) -> Peeked:
        """Cursor and state of one moment, in one round trip; ForgedState when one is not as it was left."""
        while True:
            prefix = f"{self._root}:{_whole(self._generation)}"
            keys = (
                f"{self._root}:generation",
                f"{prefix}:cursor",
                f"{prefix}:check",
                f"{prefix}:t:{key}",
            )
            try:
                found, *rest = await self._peek(keys=keys, args=(self._generation,))
            except ResponseError as error:
                if not _is_of_wrong_type(error):
                    raise
                await self._redis.unlink(*keys)
                raise self._records.not_as_left(key) from None
            if rest:
                return await self._read(prefix, key, *rest)
            self._generation = bytes(found)

    async def _read(
        self, prefix: str, key: str, raw_cursor: bytes, check: bytes | None, raw: bytes | None
    ) -> Peeked:
        try:
            cursor = _whole(raw_cursor)
            self._records.stream_of(prefix, cursor, check)
            if raw is None:
                return Peeked(cursor, None)
            record = self._records.read(prefix.encode(), key, raw, cursor)
        except ForgedState:
            await self._disown(prefix)
            raise
        return Peeked(cursor, record.state, record.until_us, record.position)

    async def doubt(self, key: str) -> ForgedState:
        """The error for a state that is older than the log says; its worker is going to fold everything again."""
        await self._disown(f"{self._root}:{_whole(self._generation)}")
        return self._records.not_as_left(key)

    async def _disown(self, prefix: str) -> None:
        """Take the check away: the worker, wherever it runs, notices and starts over."""
        await self._redis.unlink(f"{prefix}:check")


class StateStore:
    """States of one service's partition of one stream."""

    def __init__(
        self, redis: "Redis", service: str, partition: str, tags: StateTags | None = None
    ) -> None:
        self._redis = redis
        self._root = fold_root(service, partition)
        self._records = StateRecords(tags or StateTags(b"", service), self._root)
        self._prefix = f"{self._root}:0"
        self._stream = ""
        self._reached = 0
        # By key, where the record that we committed last stands: one that is found before it was put back.
        self._remembered: OrderedDict[str, int] = OrderedDict()
        self._load: Any = redis.register_script(_LOAD)
        self._commit: Any = redis.register_script(_COMMIT)

    async def open(self, stream: str) -> int:
        """Read the cursor: the last stream sequence whose effects are committed; 0 at the start.

        Raises StaleState when the states were folded from another stream than this one, or are not as they were left.
        """
        prefix = f"{self._root}:{await self._generation()}"
        self._stream = stream
        cursor, folded = await self._position(prefix)
        if prefix != self._prefix or cursor < self._reached:
            # All of it is another fold, or was lost: nothing of what we committed has to be there.
            self._remembered.clear()
        self._prefix, self._reached = prefix, cursor
        if folded is not None and folded != stream:
            raise StaleState(
                f"the store was folded from a stream made {folded}, this one was made {stream}"
            )
        return cursor

    async def verify(self) -> int:
        """The cursor, if all is as it was left; a reader may have found that it is not."""
        if f"{self._root}:{await self._generation()}" != self._prefix:
            raise CursorConflict(f"{self._root} was begun anew by another worker")
        cursor, _ = await self._position(self._prefix)
        return cursor

    async def _generation(self) -> int:
        (found,) = await self._get(f"{self._root}:generation")
        number = _whole(found or b"0")
        if found not in (None, b"%d" % number):
            raise self._records.not_as_left("generation")
        return number

    async def _position(self, prefix: str) -> tuple[int, str | None]:
        # In one step: another worker may be moving it.
        raw, check = await self._get(f"{prefix}:cursor", f"{prefix}:check")
        cursor = _whole(raw or b"")
        return cursor, self._records.stream_of(prefix, cursor, check)

    async def folded_last(self) -> tuple[int, int]:
        """The message at the cursor: its sequence, and when the broker stored it; zeros when that is not known."""
        raw = cast(bytes | None, await self._redis.get(f"{self._prefix}:cursor:at"))
        sequence, _, at = (raw or b"0 0").partition(b" ")
        return int(sequence), int(at)

    async def start_over(self) -> None:
        """Forget every state of the partition: in one step for the fold, then the old keys are removed."""
        old = self._prefix
        (found,) = await self._get(f"{self._root}:generation")
        last = max(_whole(found or b"0"), _number_of(old))
        await self._redis.set(f"{self._root}:generation", (last + 1) % _MAX_GENERATION)
        async for key in self._redis.scan_iter(match=literally(old) + ":*", count=1000):
            await self._redis.unlink(key)

    async def _get(self, *names: str) -> list[bytes | None]:
        # MGET passes over what is no string; GET makes an error of it.
        return cast("list[bytes | None]", await self._redis.mget(*names))

    async def load(
        self, expected: Sequence[int], messages: Sequence[tuple[str, str]]
    ) -> LoadedStates:
        """States and duplicates for (key, id) pairs, in one round trip.

        Raises CursorConflict unless the cursor is one of those expected, and ForgedState when something is not as it
        was left.
        """
        index: dict[str, int] = {}
        asked = [
            (index.setdefault(key, len(index) + 1), message_id) for key, message_id in messages
        ]
        # What is committed while we wait may not be in the answer yet.
        remembered = {key: self._remembered[key] for key in index if key in self._remembered}
        found, *answers = await self._run(self._load, index, json.dumps(asked), *expected)
        if not answers:
            raise self._conflict(expected, found)
        check, states, seen = answers
        cursor, prefix = int(found), self._prefix.encode()
        self._records.stream_of(self._prefix, cursor, check)
        read = self._records.read
        records = {
            key: read(prefix, key, raw, cursor)
            for key, raw in zip(index, states, strict=True)
            if raw is not None
        }
        for key, position in remembered.items():
            if key not in records or records[key].position < position:
                raise self._records.not_as_left(key)
        return LoadedStates(
            {key: record.state for key, record in records.items()},
            {
                pair: self._records.sequence_of(prefix, *pair, raw, cursor)
                for pair, raw in zip(messages, seen, strict=True)
                if raw is not None
            },
            {
                key: record.until_us
                for key, record in records.items()
                if record.until_us is not None
            },
        )

    async def commit(self, expected: int, new: int, changes: Commit) -> None:
        """Move the cursor and store the states in one step, or raise CursorConflict and change nothing."""
        index = {key: number for number, key in enumerate(changes.states, 1)}
        prefix, made = self._prefix.encode(), self._records
        positions = dict.fromkeys(index, new) | {key: at for key, _, at in changes.handled}
        rest = {
            "at": str(changes.last_at_ns),
            "forgotten": [index[key] for key in changes.forgotten],
            "lives": [
                0 if life is None else life.keep_s + _REMOVE_AFTER_S
                for _, life in changes.states.values()
            ],
            "handled": [
                (index[key], id_, made.handled(prefix, key, id_, sequence))
                for key, id_, sequence in changes.handled
            ],
        }
        records = (
            made.record(prefix, key, state, positions[key], life.until_us if life else 0)
            for key, (state, life) in changes.states.items()
        )
        check = made.check(self._prefix, self._stream, new)
        found = await self._run(
            self._commit, index, expected, new, check, json.dumps(rest), *records
        )
        if found is not None:
            raise self._conflict((expected,), found)
        self._reached = new
        for key, (_, life) in changes.states.items():
            self._remember(key, positions[key] if life is None else None)

    def _remember(self, key: str, position: int | None) -> None:
        """Keep in mind where a key stands; not one that Redis may remove."""
        self._remembered.pop(key, None)
        if position is not None:
            self._remembered[key] = position
            if len(self._remembered) > _MAX_REMEMBERED:
                self._remembered.popitem(last=False)

    async def _run(self, script: Any, tasks: Iterable[str], *args: str | bytes | int) -> Any:
        prefix = self._prefix
        keys = [f"{prefix}:cursor", f"{prefix}:check", *(f"{prefix}:t:{task}" for task in tasks)]
        try:
            return await script(keys=keys, args=args)
        except ResponseError as error:
            if not _is_of_wrong_type(error):
                raise
            raise self._records.not_as_left(", ".join(tasks)) from None

    def _conflict(self, expected: Sequence[int], found: bytes) -> CursorConflict:
        return CursorConflict(
            f"{self._prefix} stands at {found.decode('ascii', 'replace')}, not at"
            f" {' or '.join(map(str, expected))}: another worker moved it, or Redis lost data"
        )


def _number_of(prefix: str) -> int:
    return int(prefix.rpartition(":")[2])


def _whole(raw: bytes) -> int:
    """A number as we write them; 0 for what somebody else wrote in its place, which its check does not fit."""
    return int(raw) if raw.isdigit() and len(raw) < 20 else 0


def _is_of_wrong_type(error: ResponseError) -> bool:
    """Whether somebody put a value of another type in the place of ours."""
    return "WRONGTYPE" in str(error)
