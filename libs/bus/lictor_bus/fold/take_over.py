"""A fold that goes on under another name, where the service that folded a stream before left off.

What is at or before the cursor of the old fold took effect; what is after it is folded by the new one. So the new fold
begins with the states and the cursor of the old one: without a hole, and without a repeat. Two folds of different
names don't see each other's cursors, so the old service has to be gone.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# redis-py leaves some of its answers untyped.

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, cast

from nats.aio.client import Client
from nats.js.api import ConsumerInfo
from nats.js.errors import NotFoundError
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from lictor_bus.errors import BusError
from lictor_bus.fold.state_store import fold_root, literally

log = logging.getLogger("lictor.worker")

_LOOK_S: Final = 0.25
_PAGE: Final = 1000

# KEYS[1]: the new cursor; then pairs of an old key and its new name. Once there is a cursor a worker is at it, and what
# it has folded since must stay.
_COPY: Final = """
if redis.call('EXISTS', KEYS[1]) == 1 then return end
for i = 2, #KEYS, 2 do redis.call('COPY', KEYS[i], KEYS[i + 1], 'REPLACE') end
"""

# KEYS: the generation and the first cursor of the new fold. Somebody else may have finished meanwhile: then the new
# fold has begun, and must not be sent back to the start.
_START_OVER: Final = """
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then redis.call('INCR', KEYS[1]) end
"""


class TakeOver:
    """Takes over the fold of a stream from a service that has another name now."""

    def __init__(
        self,
        client: Client,
        redis: "Redis",
        stream: str,
        *,
        old: str,
        new: str,
        partition: str,
        quiet_s: float,
    ) -> None:
        self._client = client
        self._redis = redis
        self._stream = stream
        self._old_service = old
        self._durable = f"{old}-{partition}"
        self._old, self._new = fold_root(old, partition), fold_root(new, partition)
        self._quiet_s = quiet_s
        """So long nobody has to ask for messages of the old fold before its service counts as gone."""
        self._copy_keys: Any = redis.register_script(_COPY)
        self._begin_anew: Any = redis.register_script(_START_OVER)
        self._done = False

    async def finish(self) -> None:
        """Take over what there is, once; BusError while the old service is at work."""
        if self._done:
            return
        if await self._info() is not None or await self._redis.exists(
            await self._cursor(self._old)
        ):
            await self._until_quiet()
            if not await self._began():
                await self._copy()
            await self._forget()
        self._done = True

    async def _info(self) -> ConsumerInfo | None:
        try:
            return await self._client.jetstream().consumer_info(self._stream, self._durable)
        except NotFoundError:
            return None

    async def _until_quiet(self) -> None:
        """Wait until nobody has asked for messages of the old fold for a while; BusError when somebody does."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._quiet_s
        while loop.time() < until:
            info = await self._info()
            if info is None:
                return
            if info.num_waiting:
                raise BusError(
                    f"an older {self._old_service} still folds {self._stream}; stop it, then this one goes on"
                )
            await asyncio.sleep(_LOOK_S)

    async def _began(self) -> bool:
        """Whether the new fold has begun: then it goes on from its own states, or started over by itself."""
        return bool(await self._redis.exists(*self._beginnings))

    @property
    def _beginnings(self) -> Sequence[str]:
        """One of these keys is there once the new fold has begun."""
        return f"{self._new}:generation", f"{self._new}:0:cursor"

    async def _cursor(self, root: str) -> str:
        return f"{await self._prefix(root)}:cursor"

    async def _prefix(self, root: str) -> str:
        """Of the keys of the generation in force."""
        generation = cast(bytes | None, await self._redis.get(f"{root}:generation"))
        return f"{root}:{int(generation or 0)}"

    async def _copy(self) -> None:
        """The states, then the cursor: a crash in between leaves no cursor, and it is copied again."""
        old, new = await self._prefix(self._old), f"{self._new}:0"
        cursor = cast(bytes | None, await self._redis.get(f"{old}:cursor"))
        if cursor is None:
            # Nothing was folded, or Redis lost it: the stream is folded from its start, as always then.
            await self._start_over()
            return
        try:
            async for page in self._pages(old, but=(f"{old}:cursor",)):
                names = [key.decode() for key in page]
                pairs = [each for name in names for each in (name, new + name.removeprefix(old))]
                await self._copy_keys(keys=[f"{new}:cursor", *pairs])
        except ResponseError as error:
            # A Redis cluster does not copy from one hash tag to another.
            log.warning("%s: can't take over from %s: %s", self._new, self._durable, error)
            await self._start_over()
            return
        if await self._redis.get(f"{old}:cursor") != cursor:
            raise BusError(f"an older {self._old_service} still folds {self._stream}; stop it")
        await self._redis.set(f"{new}:cursor", cursor, nx=True)
        log.info("%s: goes on where %s left off, at %d", self._new, self._durable, int(cursor))

    async def _start_over(self) -> None:
        """Leave whatever somebody who died had copied: a fold from the start begins with no states."""
        await self._begin_anew(keys=self._beginnings)

    async def _forget(self) -> None:
        """Remove what the old fold had: the durable, then its keys, the cursor last."""
        with contextlib.suppress(NotFoundError):
            await self._client.jetstream().delete_consumer(self._stream, self._durable)
        cursor = await self._cursor(self._old)
        last = (cursor, f"{self._old}:generation")
        async for page in self._pages(self._old, but=last):
            await self._redis.unlink(*page)
        await self._redis.unlink(*last)

    async def _pages(self, prefix: str, *, but: Sequence[str]) -> AsyncIterator[Sequence[bytes]]:
        """The keys that begin so, but for some, many at a time."""
        left_out = {each.encode() for each in but}
        page: list[bytes] = []
        async for key in self._redis.scan_iter(match=f"{literally(prefix)}:*", count=_PAGE):
            if key not in left_out:
                page.append(key)
            if len(page) == _PAGE:
                yield page
                page = []
        if page:
            yield page
