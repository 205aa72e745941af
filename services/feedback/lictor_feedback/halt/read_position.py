"""The position in Redis by which a gate sees, in the round trip of its question, whether it knows every halt.

It says how far the logs of halts had been read when somebody last looked (settled), or that everybody must look again.
Whoever looks leaves a token of its own first, and settles the position only where its token still stands: a reading
that was overtaken settles nothing. So a position that is gone, or that nobody settled, costs a look at the logs and no
more.
"""

import asyncio
import uuid
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from lictor_bus.fold.state_tags import StateTags
from lictor_bus.wire.quick_redis import QuickRedis, Script
from lictor_feedback.session.server_age import ServerAge
from lictor_feedback.session.store import KEYS, STORE_TROUBLE, WITHIN_S, StoreAway

_KEY = f"{KEYS}halts"
_UNSETTLED = b"?"

# KEYS: the position. ARGV: the token it must stand at, then what it becomes.
_SETTLE = Script("""
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) end
""")


class ReadPosition:
    """The position, which all instances share."""

    def __init__(
        self, redis: "Redis", age: ServerAge, quick: QuickRedis | None, tags: StateTags
    ) -> None:
        self._redis = redis
        self._age = age
        self._quick = quick
        self._tags = tags
        self._settle: Any = redis.register_script(_SETTLE.text)

    @property
    def age(self) -> int:
        """Grows whenever Redis may have lost something."""
        return self._age.number

    async def load(self) -> str | None:
        """How far the logs were read when somebody last looked; None when everybody must look again."""
        stored: bytes | None = await self._asked("GET", _KEY)
        if stored is None or stored.startswith(_UNSETTLED):
            return None
        position, _, tag = stored.partition(b" ")
        if stored == self._settled(position):
            return position.decode()
        self._tags.forged(f"the position of halts is not as it was left: {tag[:40]!r}")
        return None

    async def unsettle(self) -> bytes:
        """From now on, everybody must look; the token by which `settle` finds it as we left it."""
        token = _UNSETTLED + uuid.uuid4().hex.encode()
        await self._asked("SET", _KEY, token)
        return token

    async def settle(self, token: bytes, position: str) -> None:
        """The logs were read that far after the token was left; nothing changes if it is there no more."""
        settled = self._settled(position.encode())
        try:
            if self._quick is not None:
                try:
                    await self._quick.run(_SETTLE, _KEY, token, settled)
                    return
                except RedisConnectionError:
                    pass  # lost meanwhile
            async with asyncio.timeout(WITHIN_S):
                await self._settle(keys=(_KEY,), args=(token, settled))
        except STORE_TROUBLE as error:
            raise StoreAway(f"{type(error).__name__}: {error}") from error

    def _settled(self, position: bytes) -> bytes:
        return position + b" " + self._tags.tag(b"halts", position).hex().encode()

    async def _asked(self, *command: str | bytes) -> Any:
        try:
            if self._quick is not None:
                return await self._quick.ask(*command)
            async with asyncio.timeout(WITHIN_S):
                return await self._redis.execute_command(*command)  # pyright: ignore[reportUnknownMemberType]
        except STORE_TROUBLE as error:
            raise StoreAway(f"{type(error).__name__}: {error}") from error
