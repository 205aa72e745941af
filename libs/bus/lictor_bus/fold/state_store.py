"""The state store: the fold of a stream so far, in Redis, one hash a key.

Redis is a cache of a fold, never the truth: the cursor says how far the fold has come, it is committed together
with the states, and it is compared before it is set. So a worker that lost its partition can't overwrite the
new owner's work, and a Redis that lost its data simply sends the worker back to the start of the stream.

All keys of one partition share a hash tag, so one script may touch them on a Redis cluster too. A task's hash holds
its state under ``s`` and, under ``e:<id>``, the stream sequence of every message handled for it. Under ``x`` stands the
broker's time after which the fold forgets it. Redis removes it only a week later, by its own clock: what is forgotten
when must follow from the stream alone, or a fold from the start would come to something else.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# redis-py leaves some of its answers untyped.

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from redis.asyncio import Redis

from lictor_bus.errors import CursorConflict, StaleState
from lictor_schema.core.time import DAY_S

# KEYS[1]: the cursor; KEYS[2..]: the tasks' hashes. ARGV: for each message asked about the index of its key and its
# id, as one JSON array (packing thousands of arguments costs more than decoding it); then the cursors expected.
# The cursor is compared on loading too: states of a store that lost its data, or that another worker has moved
# on, must not even be folded, because results are published before the commit.
_LOAD = """
local cursor = redis.call('GET', KEYS[1]) or '0'
local expected = false
for i = 2, #ARGV do expected = expected or cursor == ARGV[i] end
if not expected then return {cursor} end
local states, seen = {}, {}
for i = 2, #KEYS do states[i - 1] = redis.call('HMGET', KEYS[i], 's', 'x') end
for i, message in ipairs(cjson.decode(ARGV[1])) do
  seen[i] = redis.call('HGET', KEYS[message[1] + 1], 'e:' .. message[2])
end
return {cursor, states, seen}
"""

# KEYS as above. ARGV: expected cursor, new cursor; as JSON the keys that were forgotten, the tasks' times to live in
# seconds with the moment when they are forgotten (0: keep) and for each message the index of its key, its id and its
# sequence; then the tasks' states.
_COMMIT = """
local cursor = redis.call('GET', KEYS[1]) or '0'
if cursor ~= ARGV[1] then return cursor end
local changes = cjson.decode(ARGV[3])
for _, i in ipairs(changes.forgotten) do redis.call('DEL', KEYS[i + 1]) end
for i, life in ipairs(changes.lives) do
  if life ~= 0 then
    redis.call('HSET', KEYS[i + 1], 's', ARGV[i + 3], 'x', life[2])
    redis.call('EXPIRE', KEYS[i + 1], life[1])
  else
    redis.call('HSET', KEYS[i + 1], 's', ARGV[i + 3])
    if redis.call('PERSIST', KEYS[i + 1]) == 1 then redis.call('HDEL', KEYS[i + 1], 'x') end
  end
end
for _, message in ipairs(changes.handled) do
  redis.call('HSET', KEYS[message[1] + 1], 'e:' .. message[2], message[3])
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[1] .. ':at', ARGV[2] .. ' ' .. changes.at)
return false
"""


# KEYS: the generation and, of the generation that ARGV says was read last, the cursor and a task's hash. All keys share
# a hash tag, and the generation rarely moves; when it has, the answer says so and the reader asks again.
_PEEK = """
local generation = redis.call('GET', KEYS[1]) or '0'
if generation ~= ARGV[1] then return {generation} end
return {generation, redis.call('GET', KEYS[2]) or '0', redis.call('HMGET', KEYS[3], 's', 'x')}
"""

# Redis may remove what the fold has forgotten for so long: no worker is that far behind the stream.
_REMOVE_AFTER_S = 7 * DAY_S


class Peeked(NamedTuple):
    """How far a fold has come, and the state of one key there."""

    cursor: int
    state: bytes | None
    until_us: int | None = None
    """The broker's time, in microseconds since 1970, after which the fold takes the state for forgotten."""


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

    def __init__(self, redis: "Redis", service: str, partition: str) -> None:
        self._root = fold_root(service, partition)
        self._generation = b"0"
        self._peek: Any = redis.register_script(_PEEK)

    async def peek(self, key: str) -> Peeked:
        """Cursor and state of one moment, in one round trip."""
        while True:
            prefix = f"{self._root}:{self._generation.decode()}"
            found, *rest = await self._peek(
                keys=(f"{self._root}:generation", f"{prefix}:cursor", f"{prefix}:t:{key}"),
                args=(self._generation,),
            )
            if rest:
                state, until = rest[1]
                return Peeked(int(rest[0]), state, None if until is None else int(until))
            self._generation = bytes(found)


class StateStore:
    """States of one service's partition of one stream."""

    def __init__(self, redis: "Redis", service: str, partition: str) -> None:
        self._redis = redis
        self._root = fold_root(service, partition)
        self._prefix = f"{self._root}:0"
        self._load: Any = redis.register_script(_LOAD)
        self._commit: Any = redis.register_script(_COMMIT)

    async def open(self, stream: str) -> int:
        """Read the cursor: the last stream sequence whose effects are committed; 0 at the start.

        Raises StaleState when the states were folded from another stream than this one.
        """
        generation = cast(bytes | None, await self._redis.get(f"{self._root}:generation"))
        self._prefix = f"{self._root}:{int(generation or 0)}"
        await self._redis.set(f"{self._prefix}:stream", stream, nx=True)
        folded = cast(bytes, await self._redis.get(f"{self._prefix}:stream"))
        if folded.decode() != stream:
            raise StaleState(
                f"the store was folded from a stream made {folded.decode()}, this one was made {stream}"
            )
        cursor = cast(bytes | None, await self._redis.get(f"{self._prefix}:cursor"))
        return int(cursor or 0)

    async def folded_last(self) -> tuple[int, int]:
        """The message at the cursor: its sequence, and when the broker stored it; zeros when that is not known."""
        raw = cast(bytes | None, await self._redis.get(f"{self._prefix}:cursor:at"))
        sequence, _, at = (raw or b"0 0").partition(b" ")
        return int(sequence), int(at)

    async def start_over(self) -> None:
        """Forget every state of the partition: in one step for the fold, then the old keys are removed."""
        old = self._prefix
        await self._redis.incr(f"{self._root}:generation")
        async for key in self._redis.scan_iter(match=literally(old) + ":*", count=1000):
            await self._redis.unlink(key)

    async def load(
        self, expected: Sequence[int], messages: Sequence[tuple[str, str]]
    ) -> LoadedStates:
        """States and duplicates for (key, id) pairs, in one round trip.

        Raises CursorConflict unless the cursor is one of those expected.
        """
        index: dict[str, int] = {}
        asked = [
            (index.setdefault(key, len(index) + 1), message_id) for key, message_id in messages
        ]
        found, *answers = await self._load(
            keys=self._keys(index), args=(json.dumps(asked), *expected)
        )
        if not answers:
            raise self._conflict(expected, found)
        states, seen = answers
        return LoadedStates(
            {
                key: state
                for key, (state, _) in zip(index, states, strict=True)
                if state is not None
            },
            {pair: int(at) for pair, at in zip(messages, seen, strict=True) if at is not None},
            {key: int(at) for key, (_, at) in zip(index, states, strict=True) if at is not None},
        )

    async def commit(self, expected: int, new: int, changes: Commit) -> None:
        """Move the cursor and store the states in one step, or raise CursorConflict and change nothing."""
        index = {key: number for number, key in enumerate(changes.states, 1)}
        rest = {
            "at": str(changes.last_at_ns),
            "forgotten": [index[key] for key in changes.forgotten],
            "lives": [
                0 if life is None else (life.keep_s + _REMOVE_AFTER_S, str(life.until_us))
                for _, life in changes.states.values()
            ],
            # The sequence as text: Lua's numbers print large ones with an exponent.
            "handled": [(index[key], id_, str(sequence)) for key, id_, sequence in changes.handled],
        }
        states = (state for state, _ in changes.states.values())
        found = await self._commit(
            keys=self._keys(index), args=(expected, new, json.dumps(rest), *states)
        )
        if found is not None:
            raise self._conflict((expected,), found)

    def _keys(self, tasks: Iterable[str]) -> list[str]:
        return [f"{self._prefix}:cursor", *(f"{self._prefix}:t:{task}" for task in tasks)]

    def _conflict(self, expected: Sequence[int], found: bytes) -> CursorConflict:
        return CursorConflict(
            f"{self._prefix} stands at {int(found)}, not at {' or '.join(map(str, expected))}: "
            "another worker moved it, or Redis lost data"
        )
