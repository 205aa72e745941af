"""What sessions remember, in Redis: one hash a session, a field a fact.

Redis keeps a fold of the session's log and is never the truth. A session's hash holds its facts by full name; under
`@cursor` the sequence of the last entry that is in them, moved by compare-and-set; under `@pending` the marks of those
who are about to append an entry. Whoever finds a mark asks the log whether there is more than the facts cover: the one
who set it may have died in between. Beside it lies the state as of each snapshot, by the sequence of its entry.
"""

# pyright: reportUnknownMemberType=false
# redis-py leaves some of its answers untyped.

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from lictor_bus.errors import BusError
from lictor_bus.fold.processor import KEEP_QUIET_S
from lictor_bus.wire.quick_redis import QuickRedis, Script

STORE_TROUBLE = (RedisError, OSError, TimeoutError)
CURSOR = "@cursor"
PENDING = "@pending"

# Well within the time in which a question must be answered, so that a report can still be recorded without the store.
WITHIN_S = 0.8
_TIMES_FOR_WHOLE = 10
# More than any ordinary entry changes: a restore or reset of a large session, or a part of its fold from the begin.
_MANY_CHANGES = 2000

_REBUILDING = "rebuilding"
_NONE: frozenset[str] = frozenset()

# KEYS: the session. ARGV: our mark, then the fields. Only a session that is there is marked: of another there is
# nothing that could be out of date.
_LOAD_FOR_WRITE = Script("""
local cursor = redis.call('HGET', KEYS[1], '@cursor')
if cursor then
  local marks = redis.call('HGET', KEYS[1], '@pending') or ''
  redis.call('HSET', KEYS[1], '@pending', marks .. ' ' .. ARGV[1])
end
return redis.call('HMGET', KEYS[1], unpack(ARGV, 2))
""")

# KEYS: the session. ARGV: our mark.
_UNMARK = Script("""
local marks = redis.call('HGET', KEYS[1], '@pending')
if not marks then return end
local from, to = string.find(marks, ' ' .. ARGV[1], 1, true)
if not from then return end
marks = string.sub(marks, 1, from - 1) .. string.sub(marks, to + 1)
if marks == '' then redis.call('HDEL', KEYS[1], '@pending')
else redis.call('HSET', KEYS[1], '@pending', marks) end
""")

# KEYS: the session. ARGV: expected cursor ('' for none), new cursor, mark to leave ('' for none), seconds to live,
# number of removed fields, these fields, then names and values. Marks were set at the expected cursor or before it:
# entries that were to follow upon that will be refused by the log now, so the marks mean nothing any more. Fields are
# set and removed many at once, though never more than Lua can unpack: nobody else is served meanwhile.
_COMMIT = Script("""
local cursor = redis.call('HGET', KEYS[1], '@cursor') or ''
if cursor ~= ARGV[1] then return cursor end
local removed = tonumber(ARGV[5])
for i = 6, 5 + removed, 2000 do
  redis.call('HDEL', KEYS[1], unpack(ARGV, i, math.min(i + 1999, 5 + removed)))
end
for i = 6 + removed, #ARGV, 2000 do
  redis.call('HSET', KEYS[1], unpack(ARGV, i, math.min(i + 1999, #ARGV)))
end
redis.call('HSET', KEYS[1], '@cursor', ARGV[2])
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], '@pending')
else redis.call('HSET', KEYS[1], '@pending', ' ' .. ARGV[3]) end
redis.call('EXPIRE', KEYS[1], ARGV[4])
return false
""")


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """What the store knew of a session: the facts asked for, None where it has none."""

    cursor: int | None
    """None: it knows nothing of the session."""
    pending: frozenset[str]
    """The marks of those who are, or were when they died, about to append an entry."""
    facts: Mapping[str, bytes | None]


class StoreAway(BusError):
    """The store does not answer."""


class Behind(StoreAway):
    """The store lacks so much of a session that folding it takes longer than an answer may; says how far it is."""


class CursorMoved(Exception):
    """Somebody else moved the cursor; nothing was stored."""


class _Server(Protocol):
    """A connection to Redis, as far as its first words are concerned."""

    async def on_connect(self) -> None: ...

    async def send_command(self, *args: str) -> None: ...

    async def read_response(self) -> Any: ...


class ServerAge:
    """Detects when Redis is another process than before: it may have lost what was written last.

    `number` grows by one with every process of Redis that a connection of ours has met.
    """

    def __init__(self) -> None:
        self.number = 0
        self._process: bytes | None = None

    async def on_connect(self, connection: _Server) -> None:
        """To be called for every connection, before anything else is read from it."""
        await connection.on_connect()
        await connection.send_command("INFO", "server")
        self.met(await connection.read_response())

    def met(self, server: bytes | str) -> None:
        """Redis described itself, over a connection that was not used yet."""
        process = _process_in(server)
        # One that does not say may be another one each time.
        if process is None or process != self._process:
            self._process = process
            self.number += 1


def _process_in(server: bytes | str) -> bytes | None:
    text = server if isinstance(server, bytes) else server.encode()
    for line in text.splitlines():
        name, _, value = line.partition(b":")
        if name == b"run_id" and value.strip():
            return value.strip()
    return None


class SessionStore:
    """The facts of all sessions."""

    def __init__(
        self,
        redis: "Redis",
        age: ServerAge,
        quick: QuickRedis | None = None,
        within_s: float = WITHIN_S,
    ) -> None:
        self._redis = redis
        self._age = age
        self._quick = quick
        self._within_s = within_s
        self._scripts: dict[Script, Any] = {
            script: redis.register_script(script.text)
            for script in (_LOAD_FOR_WRITE, _UNMARK, _COMMIT)
        }

    @property
    def age(self) -> int:
        """Grows whenever Redis may have lost something."""
        return self._age.number

    async def load(self, key: str, names: Sequence[str]) -> StoredFacts:
        """Some facts of a session, in one round trip."""
        if self._quick is not None:
            found = await self._quick.ask("HMGET", _hash(key), CURSOR, PENDING, *names)
            return _stored(names, found)
        async with asyncio.timeout(self._within_s):
            found = await cast(Any, self._redis.hmget(_hash(key), [CURSOR, PENDING, *names]))
        return _stored(names, found)

    async def load_for_write(self, key: str, names: Sequence[str], mark: str) -> StoredFacts:
        """The same, and leave a mark that says we are about to append an entry."""
        found = await self._run(_LOAD_FOR_WRITE, key, mark, CURSOR, PENDING, *names)
        return _stored(names, found)

    async def unmark(self, key: str, mark: str) -> None:
        """Take our mark away: there was nothing to append."""
        await self._run(_UNMARK, key, mark)

    async def whole(self, key: str) -> StoredFacts:
        """Everything that is stored of a session."""
        async with asyncio.timeout(self._within_s * _TIMES_FOR_WHOLE):
            found = cast(dict[bytes, bytes], await cast(Any, self._redis.hgetall(_hash(key))))
        cursor = found.pop(CURSOR.encode(), None)
        pending = _marks(found.pop(PENDING.encode(), None))
        return StoredFacts(None if cursor is None else int(cursor), pending, _by_name(found))

    async def commit(
        self,
        key: str,
        expected: int | None,
        new: int,
        changes: Mapping[str, bytes | None],
        *,
        more_to_come: bool = False,
    ) -> None:
        """Store changed facts (None removes one) and move the cursor, or raise CursorMoved and change nothing.

        With more to come the session stays marked, so that nobody takes half a fold for the whole.
        """
        removed = [name for name, value in changes.items() if value is None]
        kept = [
            part for name, value in changes.items() if value is not None for part in (name, value)
        ]
        found = await self._run(
            _COMMIT,
            key,
            "" if expected is None else expected,
            new,
            _REBUILDING if more_to_come else "",
            KEEP_QUIET_S,
            len(removed),
            *removed,
            *kept,
            many=len(changes) > _MANY_CHANGES,
        )
        if found is not None:
            raise CursorMoved(f"session {key} stands at {found!r}, not at {expected}")

    async def _run(
        self, script: Script, key: str, *args: str | bytes | int, many: bool = False
    ) -> Any:
        """Run a script about a session; through redis-py, which tries again, where the quick way is not to be had."""
        if self._quick is not None and not many:
            try:
                return await self._quick.run(script, _hash(key), *args)
            except RedisConnectionError:
                pass  # lost meanwhile
        async with asyncio.timeout(self._within_s * (_TIMES_FOR_WHOLE if many else 1)):
            return await self._scripts[script](keys=(_hash(key),), args=args)

    async def keep_state(self, key: str, sequence: int, state: Mapping[str, bytes]) -> None:
        """Keep the state as of a snapshot's entry, for a restore that need not read the log again."""
        name = _kept(key, sequence)
        async with (
            asyncio.timeout(self._within_s * _TIMES_FOR_WHOLE),
            self._redis.pipeline(transaction=True) as step,
        ):
            step.delete(name)
            # Even of no facts at all it must be known that they are none.
            step.hset(name, mapping=cast(Any, {CURSOR: sequence, **state}))
            step.expire(name, KEEP_QUIET_S)
            await step.execute()

    async def kept_state(self, key: str, sequence: int) -> Mapping[str, bytes] | None:
        """The state as of a snapshot's entry; None when it is not kept any more."""
        async with asyncio.timeout(self._within_s * _TIMES_FOR_WHOLE):
            found = await cast(Any, self._redis.hgetall(_kept(key, sequence)))
        if found.pop(CURSOR.encode(), None) is None:
            return None
        return _by_name(found)

    async def forget(self, key: str) -> None:
        """Remove what is stored of a session; its log stays."""
        async with asyncio.timeout(self._within_s):
            await cast(Any, self._redis.unlink(_hash(key)))

    async def close(self) -> None:
        """Give up the connections."""
        if self._quick is not None:
            self._quick.close()
        await self._redis.aclose()


def _hash(key: str) -> str:
    return f"lictor:guard:{{{key}}}"


def _kept(key: str, sequence: int) -> str:
    return f"{_hash(key)}:snap:{sequence}"


def _by_name(found: Mapping[bytes, bytes]) -> dict[str, bytes]:
    return {name.decode("utf-8", "surrogatepass"): value for name, value in found.items()}


def _stored(names: Collection[str], found: Sequence[bytes | None]) -> StoredFacts:
    cursor, pending, *values = found
    return StoredFacts(
        None if cursor is None else int(cursor),
        _marks(pending),
        dict(zip(names, values, strict=True)),
    )


def _marks(text: bytes | None) -> frozenset[str]:
    return _NONE if text is None else frozenset(text.decode().split())
