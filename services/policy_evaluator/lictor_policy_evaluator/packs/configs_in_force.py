"""Which configuration judges now: asked of the stream with every question, because any instance may have switched.

An instance that stands by is delivered no events and so no switches; yet it answers gates.
"""

from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.pack_switches import LastSwitches
from lictor_bus.logs.packs import SwitchAt
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy_evaluator.packs.partition_configs import Library


class NoConfig(BusError):
    """What is in force is unknown or can't be loaded, so nothing may be let through."""


class _Known(NamedTuple):
    switch: SwitchAt
    config: EvaluatorConfig


class ConfigsInForce:
    """The configuration in force in each partition."""

    def __init__(self, client: Client, library: Library, started_with: EvaluatorConfig) -> None:
        self._switches = LastSwitches(client)
        self._library = library
        self._started_with = started_with
        self._known: dict[int, _Known] = {}

    def last_known(self, partition: int) -> EvaluatorConfig:
        """What judged last, as far as was asked; for the records of questions that could not be judged."""
        known = self._known.get(partition)
        return self._started_with if known is None else known.config

    async def now(self, partition: int, timeout_s: float) -> EvaluatorConfig:
        """What judges an event that would be stored now; raises BusError when that is unknown or can't be loaded."""
        switch = await self._switches.now(partition, timeout_s)
        if switch is None:
            raise NoConfig(f"no configuration is known for partition {partition} of EVENTS")
        known = self._known.get(partition)
        if known is None or known.switch != switch:
            try:
                known = _Known(switch, await self._library.judging(switch))
            except BusError as error:
                raise NoConfig(str(error)) from error
            self._known[partition] = known
        return known.config
