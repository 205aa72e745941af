"""The switch in force in each partition, asked of the stream with every question: any instance may have switched.

What was read before is believed only as long as the partition's last message among its switches is still the same.
"""

from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.packs import SwitchAt, read_switch
from lictor_bus.names import subjects
from lictor_bus.names.streams import EVENTS
from lictor_bus.wire.read import PAGE, last_sequence, stored_from


class _Known(NamedTuple):
    last: int
    """The last message among the partition's switches, whether it is one or not."""
    switch: SwitchAt | None


class LastSwitches:
    """The last switch of each partition."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[int, _Known] = {}

    async def now(self, partition: int, timeout_s: float) -> SwitchAt | None:
        """What an event that would be stored now is judged by; None before the first switch.

        Raises BusError when the broker does not say.
        """
        last = await last_sequence(
            self._client, EVENTS, subjects.config_switch(partition), timeout_s=timeout_s
        )
        known = self._known.get(partition)
        if known is None or known.last != last:
            known = self._known[partition] = await self._read(partition, last)
        return known.switch

    async def _read(self, partition: int, last: int) -> _Known:
        in_force: SwitchAt | None = None
        seen = 0
        while seen < last:
            page = await stored_from(
                self._client, EVENTS, subjects.config_switch(partition), seen + 1, PAGE, known=last
            )
            if not page:
                raise BusError(f"the switch at {last} of EVENTS can't be read")
            for stored in page:
                in_force = read_switch(stored) or in_force
            seen = page[-1].sequence
        return _Known(seen, in_force)
