"""Disturbs an installation: one thing after the other, in an order that a seed decides."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time

from installation import Installation
from nats.aio.client import Client
from nats_cluster import NAMES, leader_of

from lictor_bus.errors import BusError

_LED = ("EVENTS", "DECISIONS", "EPISODES", "GATES")


class Nemesis:
    """Never more than one server at a time: the majority of the cluster is what the promise rests on."""

    def __init__(self, here: Installation, client: Client, seed: int) -> None:
        self._here = here
        self._client = client
        self._pick = random.Random(seed)
        self.done: list[str] = []

    async def rage(self, seconds: float) -> None:
        """Disturb for a while; all servers run when it returns, and none lags."""
        ways = (
            self._kill_a_server,
            self._pause_a_leader,
            self._pause_a_leader,
            self._empty_redis,
            self._kill_a_service,
            self._kill_a_service,
        )
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            # Whoever is disturbed, one that is not lags.
            self._here.cluster.lag(self._pick.choice(NAMES), self._pick.uniform(0.1, 0.5))
            await self._pick.choice(ways)()
            await asyncio.sleep(self._pick.uniform(0.2, 3))
        self._here.cluster.lag("", 0)

    async def _kill_a_server(self) -> None:
        name = self._pick.choice(NAMES)
        self.done.append(f"server {name} killed")
        await self._here.cluster.kill(name)
        await asyncio.sleep(self._pick.uniform(0, 3))
        await self._here.cluster.start(name)

    async def _pause_a_leader(self) -> None:
        stream, seconds = self._pick.choice(_LED), self._pick.choice((0.5, 2, 6))
        with contextlib.suppress(BusError, TimeoutError):
            async with asyncio.timeout(10):
                name = await leader_of(self._client, stream)
                self.done.append(f"server {name}, which leads {stream}, paused for {seconds} s")
                self._here.cluster.pause(name)
                try:
                    await asyncio.sleep(seconds)
                finally:
                    self._here.cluster.resume(name)

    async def _empty_redis(self) -> None:
        self.done.append("Redis emptied")
        await self._here.empty_redis()

    async def _kill_a_service(self) -> None:
        name = self._pick.choice(self._here.services)
        self.done.append(f"{name} killed")
        self._here.kill(name)
