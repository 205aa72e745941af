"""What sessions remember, in Redis: one hash a session, a field a fact.

Redis keeps a fold of the session's log and is never the truth. A session's hash holds its facts by full name; under
`@cursor` the sequence of the last entry that is in them, moved by compare-and-set; under `@pending` the marks of those
who are about to append an entry. Whoever finds a mark asks the log whether there is more than the facts cover: the one
who set it may have died in between. Beside it lies the state as of each snapshot, by the sequence of its entry.

Nor is Redis believed: the facts are under a tag (`index`). A session that is not as it was left is forgotten, so
that it is folded again from its log; one that stands before a cursor which was seen here is compared with its log.
"""

# pyright: reportUnknownMemberType=false
# redis-py leaves some of its answers untyped.

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError

from lictor_bus.errors import BusError
from lictor_bus.fold.processor import KEEP_QUIET_S
from lictor_bus.fold.state_tags import StateTags
from lictor_bus.wire.quick_redis import QuickRedis, Script
from lictor_feedback.session.index import EMPTY, TAG, FactIndex, FactIndexes
from lictor_feedback.session.server_age import ServerAge

STORE_TROUBLE = (RedisError, OSError, TimeoutError)
CURSOR = "@cursor"
PENDING = "@pending"
KEYS = "lictor:feedback:"
"""What the names of all sessions' keys begin with."""
A = TypeVar("A")

# Well within the time in which a question must be answered, so that a report can still be recorded without the store.
WITHIN_S = 0.8
_TIMES_FOR_WHOLE = 10
# More than any ordinary entry changes: a restore or reset of a large session, or a part of its fold from the begin.
_MANY_CHANGES = 2000

_REBUILDING = "rebuilding"
# In the place of a mark, for a session that stands before a cursor which was seen: nobody set it, so all ask the log.
_PUT_BACK = "put-back"
_MAX_SEEN = 100_000
_MAX_INDEXES = 2_000
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


class _NotAsLeft(Exception):
    """What is stored of a session was changed behind our back, and is forgotten."""


class CursorMoved(Exception):
    """Somebody else moved the cursor; nothing was stored."""


class SessionStore:
    """The facts of all sessions."""

    def __init__(
        self,
        redis: "Redis",
        age: ServerAge,
        quick: QuickRedis | None = None,
        within_s: float = WITHIN_S,
        tags: StateTags | None = None,
    ) -> None:
        self._redis = redis
        self._age = age
        self._quick = quick
        self._within_s = within_s
        self._tags = tags or StateTags(b"", "feedback")
        self._indexes = FactIndexes(self._tags)
        self._seen: OrderedDict[str, int] = OrderedDict()
        """By session, the furthest cursor that was seen."""
        self._loaded: OrderedDict[str, tuple[int, FactIndex]] = OrderedDict()
        """By session, the index as it was loaded or committed last, and its cursor: most changes follow upon it."""
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
        fields = [CURSOR, PENDING, *self._indexes.fields(names), *names]
        return await self._checked(key, names, fields, self._values(key, fields))

    async def load_for_write(self, key: str, names: Sequence[str], mark: str) -> StoredFacts:
        """The same, and leave a mark that says we are about to append an entry."""
        fields = [CURSOR, PENDING, *self._indexes.fields(names), *names]
        return await self._checked(
            key, names, fields, self._run(_LOAD_FOR_WRITE, key, mark, *fields)
        )

    async def _values(self, key: str, fields: Sequence[str]) -> Sequence[bytes | None]:
        if self._quick is not None:
            return await self._quick.ask("HMGET", _hash(key), *fields)
        async with asyncio.timeout(self._within_s):
            return await cast(Any, self._redis.hmget(_hash(key), list(fields)))

    async def _checked(
        self,
        key: str,
        names: Sequence[str],
        fields: Sequence[str],
        loading: Awaitable[Sequence[bytes | None]],
    ) -> StoredFacts:
        """What was loaded, if it is as it was left; as of a session that is not stored, if it is not."""
        # What is committed while we wait may not be in the answer yet.
        seen = self._seen.get(key, 0)
        try:
            found = dict(zip(fields, await self._of_our_type(key, loading), strict=True))
            if found[CURSOR] is None:
                return _unknown(names)
            cursor, index = await self._index_in(key, found)
            facts = {name: found[name] for name in names}
            if not self._indexes.holds(index, key, facts):
                raise await self._forget_forged(key)
        except _NotAsLeft:
            return _unknown(names)
        return StoredFacts(cursor, self._marks(key, cursor, seen, found[PENDING]), facts)

    async def _index_in(self, key: str, found: Mapping[str, bytes | None]) -> tuple[int, FactIndex]:
        cursor = _number(found[CURSOR] or b"")
        index = None if cursor is None else self._indexes.read(key, cursor, found)
        if cursor is None or index is None:
            raise await self._forget_forged(key)
        self._keep_index(key, cursor, index)
        return cursor, index

    def _keep_index(self, key: str, cursor: int, index: FactIndex) -> None:
        before = self._loaded.pop(key, None)
        if before is not None and before[0] == cursor and before[1].digests == index.digests:
            index = FactIndex(index.digests, {**before[1].buckets, **index.buckets})
        self._loaded[key] = cursor, index
        if len(self._loaded) > _MAX_INDEXES:
            self._loaded.popitem(last=False)

    def _marks(self, key: str, cursor: int, seen: int, raw: bytes | None) -> frozenset[str]:
        """The marks on a session; one more when it stands before where it was seen, and nobody is rebuilding it."""
        marks = _NONE if raw is None else frozenset(raw.decode("utf-8", "replace").split())
        self._saw(key, max(seen, cursor))
        if cursor < seen and not marks:
            self._tags.forged(f"session {key} stood at {seen} and was put back to {cursor}")
            return frozenset({_PUT_BACK})
        return marks

    def _saw(self, key: str, cursor: int) -> None:
        self._seen[key] = max(self._seen.pop(key, 0), cursor)
        if len(self._seen) > _MAX_SEEN:
            self._seen.popitem(last=False)

    async def _of_our_type(self, key: str, loading: Awaitable[A]) -> A:
        try:
            return await loading
        except ResponseError as error:
            if "WRONGTYPE" not in str(error):
                raise
            raise await self._forget_forged(key) from None

    async def _forget_forged(self, key: str) -> _NotAsLeft:
        self._tags.forged(f"what is stored of session {key} is not as it was left")
        await self.forget(key)
        return _NotAsLeft(key)

    async def unmark(self, key: str, mark: str) -> None:
        """Take our mark away: there was nothing to append."""
        await self._run(_UNMARK, key, mark)

    async def whole(self, key: str) -> StoredFacts:
        """Everything that is stored of a session."""
        async with asyncio.timeout(self._within_s * _TIMES_FOR_WHOLE):
            whole = self._of_our_type(key, cast(Any, self._redis.hgetall(_hash(key))))
            seen = self._seen.get(key, 0)
            try:
                found = _by_name(cast(dict[bytes, bytes], await whole))
            except _NotAsLeft:
                return _unknown(())
        facts = {name: value for name, value in found.items() if not name.startswith("@")}
        if CURSOR not in found:
            return _unknown(())
        cursor = _number(found[CURSOR])
        tag = found.get(TAG)
        if cursor is None or not self._indexes.holds_all(key, cursor, tag, facts):
            await self._forget_forged(key)
            return _unknown(())
        return StoredFacts(cursor, self._marks(key, cursor, seen, found.get(PENDING)), facts)

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
        base = await self._index_at(key, expected, changes)
        index, fields = self._indexes.changed(base, key, new, changes)
        stored = {**changes, **fields}
        removed = [name for name, value in stored.items() if value is None]
        kept = [
            part for name, value in stored.items() if value is not None for part in (name, value)
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
        self._saw(key, new)
        self._keep_index(key, new, index)

    async def _index_at(
        self, key: str, cursor: int | None, changes: Mapping[str, bytes | None]
    ) -> FactIndex:
        """The index to change, with the buckets of these facts; CursorMoved when the session is elsewhere."""
        if cursor is None:
            return EMPTY
        at, index = self._loaded.get(key, (None, EMPTY))
        if at == cursor and self._indexes.covers(index, changes):
            return index
        fields = [CURSOR, *self._indexes.fields(changes)]
        try:
            values = await self._of_our_type(key, self._values(key, fields))
            found = dict(zip(fields, values, strict=True))
            if found[CURSOR] != b"%d" % cursor:
                raise CursorMoved(f"session {key} stands at {found[CURSOR]!r}, not at {cursor}")
            _, index = await self._index_in(key, found)
        except _NotAsLeft:
            raise CursorMoved(f"session {key} was not as it was left") from None
        return index

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
            step.hset(
                name,
                mapping=cast(Any, {TAG: self._indexes.kept_tag(key, sequence, state), **state}),
            )
            step.expire(name, KEEP_QUIET_S)
            await step.execute()

    async def kept_state(self, key: str, sequence: int) -> Mapping[str, bytes] | None:
        """The state as of a snapshot's entry; None when it is not kept any more."""
        name = _kept(key, sequence)
        async with asyncio.timeout(self._within_s * _TIMES_FOR_WHOLE):
            try:
                found = _by_name(await cast(Any, self._redis.hgetall(name)))
            except ResponseError:
                found = {TAG: b""}
            if not found:
                return None
            if found.pop(TAG, None) == self._indexes.kept_tag(key, sequence, found):
                return found
            self._tags.forged(f"the state of session {key} as of {sequence} is not as it was left")
            await cast(Any, self._redis.unlink(name))
        return None

    async def forget(self, key: str) -> None:
        """Remove what is stored of a session; its log stays."""
        self._loaded.pop(key, None)
        self._seen.pop(key, None)
        async with asyncio.timeout(self._within_s):
            await cast(Any, self._redis.unlink(_hash(key)))

    def close(self) -> None:
        """Give up the quick connection; the other is its owner's to close."""
        if self._quick is not None:
            self._quick.close()


def _hash(key: str) -> str:
    return f"{KEYS}{{{key}}}"


def _kept(key: str, sequence: int) -> str:
    return f"{_hash(key)}:snap:{sequence}"


def _by_name(found: Mapping[bytes, bytes]) -> dict[str, bytes]:
    return {name.decode("utf-8", "surrogatepass"): value for name, value in found.items()}


def _unknown(names: Sequence[str]) -> StoredFacts:
    return StoredFacts(None, _NONE, dict.fromkeys(names))


def _number(raw: bytes) -> int | None:
    """A number as we write them; None for anything else."""
    return int(raw) if raw.isdigit() and len(raw) < 20 else None
