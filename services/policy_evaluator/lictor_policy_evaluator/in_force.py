"""Which configuration judges now: asked of the stream with every question, because any instance may have switched.

An instance that stands by is delivered no events and so no switches; yet it answers gates. What it remembers counts
only as long as the partition's last switch is still the one that it remembers.
"""

import asyncio
from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus import subjects
from lictor_bus.errors import BusError
from lictor_bus.packs import SwitchAt, read_switch
from lictor_bus.read import last_sequence, read_from
from lictor_bus.streams import EVENTS
from lictor_policy.config import EvaluatorConfig
from lictor_policy_evaluator.configs import Library

_PAGE = 500
_PAUSE_S = 0.01


class NoConfig(BusError):
    """What is in force can't be told or loaded, so nothing may be let through."""


class _Known(NamedTuple):
    last: int
    """The last message among the partition's switches, whether it is one or not."""
    config: EvaluatorConfig


class ConfigsInForce:
    """The configuration in force in each partition."""

    def __init__(
        self, client: Client, library: Library, started_with: EvaluatorConfig, *, replicas: int
    ) -> None:
        self._client = client
        self._library = library
        self._started_with = started_with
        self._replicas = replicas
        self._known: dict[int, _Known] = {}

    def last_known(self, partition: int) -> EvaluatorConfig:
        """What judged last, as far as was asked; for the records of questions that could not be judged."""
        known = self._known.get(partition)
        return self._started_with if known is None else known.config

    async def now(self, partition: int, timeout_s: float) -> EvaluatorConfig:
        """What judges an event that would be stored now; raises BusError when that can't be told or loaded."""
        last = await last_sequence(
            self._client,
            EVENTS,
            subjects.config_switch(partition),
            replicas=self._replicas,
            timeout_s=timeout_s,
        )
        known = self._known.get(partition)
        if known is None or known.last != last:
            known = self._known[partition] = await self._read(partition, last)
        return known.config

    async def _read(self, partition: int, last: int) -> _Known:
        in_force: SwitchAt | None = None
        seen = 0
        # A replica may lag behind the leader that told the last sequence.
        while seen < last:
            page = await read_from(
                self._client, EVENTS, subjects.config_switch(partition), seen + 1, _PAGE
            )
            for stored in page:
                in_force = read_switch(stored) or in_force
            seen = page[-1].sequence if page else seen
            if not page:
                await asyncio.sleep(_PAUSE_S)
        if in_force is None:
            raise NoConfig(f"no configuration is known for partition {partition} of EVENTS")
        try:
            return _Known(seen, await self._library.judging(in_force))
        except BusError as error:
            raise NoConfig(str(error)) from error
