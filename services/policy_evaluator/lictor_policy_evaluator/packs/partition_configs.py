"""Which configuration judges which event: a fact in the stream, read by every worker at the same place.

A switch stands among the events of its partition. Whoever folds that partition (this process, the next one after
a crash, another instance, `lictor replay`) meets it between the same two events, and loads the bundle that it
names. So the same events always lead to the same decisions, whatever was reloaded when.
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.packs import (
    SwitchAt,
    load_bundle,
    publish_switch,
    read_switch,
    read_switches,
    store_bundle,
)
from lictor_bus.names import subjects
from lictor_bus.wire.delivery import Delivery
from lictor_policy.errors import PackError
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import PastDecision
from lictor_policy.packs.bundle import Bundled, read_bundle
from lictor_policy.packs.releases import may_follow
from lictor_policy.version import ENGINE_VERSION
from lictor_policy_evaluator.decisions.past_decisions import PastDecisions
from lictor_schema.packs.release import ConfigSwitch

log = logging.getLogger("lictor.policy-evaluator")


class NewerEngine(BusError):
    """A newer engine has put packs in force; this one must not judge beside it."""


class Library:
    """Bundles compiled once, however many partitions use them; `takes_back` is the newer engine that ours replaces."""

    def __init__(self, client: Client, takes_back: str | None = None) -> None:
        self._client = client
        self._takes_back = takes_back
        self.overtaken = asyncio.Event()
        """Set once a newer engine has put packs in force."""
        self._compiled: dict[str, Bundled] = {}
        self._loading: dict[str, asyncio.Task[Bundled]] = {}
        self.asks_sessions = asyncio.Event()
        """Set once there is a configuration that asks about sessions."""

    def add(self, bundled: Bundled) -> None:
        """Keep what is compiled already."""
        self._compiled[bundled.bundle_hash] = bundled
        if bundled.config.sessions.questions:
            self.asks_sessions.set()

    async def compiled(self, bundle_hash: str) -> Bundled:
        """What a bundle in stream PACKS compiles to; raises PackError when it does not."""
        if bundle_hash in self._compiled:
            return self._compiled[bundle_hash]
        loading = self._loading.get(bundle_hash)
        if loading is None:
            loading = self._loading[bundle_hash] = asyncio.create_task(self._load(bundle_hash))
            loading.add_done_callback(lambda task: self._loaded(bundle_hash, task))
        # It continues when a caller gives up (a gate, in time to deny), for the next question.
        return await asyncio.shield(loading)

    async def _load(self, bundle_hash: str) -> Bundled:
        body = await load_bundle(self._client, bundle_hash)
        # Compiling takes long enough to be noticed by a gate.
        bundled = await asyncio.to_thread(read_bundle, body)
        self.add(bundled)
        return bundled

    def _loaded(self, bundle_hash: str, task: "asyncio.Task[Bundled]") -> None:
        del self._loading[bundle_hash]
        if not task.cancelled():
            # Raised for those who wait; when nobody does any more, it doesn't matter.
            task.exception()

    def refuse_newer(self, at: SwitchAt) -> None:
        """Raise NewerEngine when a newer engine made the switch, whose meaning this one does not know."""
        engine = at.switch.engine
        if may_follow(engine) or engine == self._takes_back:
            return
        self.overtaken.set()
        raise NewerEngine(
            f"engine {engine} has put packs in force from EVENTS {at.sequence} on, and this is engine"
            f" {ENGINE_VERSION}: it judges nothing beside a newer one; stop it"
        )

    async def judging(self, at: SwitchAt) -> EvaluatorConfig:
        """The configuration that a switch puts in force; raises BusError when this engine can't load it."""
        switch = at.switch
        self.refuse_newer(at)
        try:
            config = (await self.compiled(switch.bundle_hash)).config
        except PackError as error:
            raise BusError(
                f"the packs in force from EVENTS {at.sequence} on don't load with this engine"
                f" ({ENGINE_VERSION}; they were compiled by {switch.engine}): {error}"
            ) from error
        if config.config_hash != switch.config_hash:
            log.warning(
                "EVENTS %d switched to %s, compiled by engine %s; engine %s makes it %s",
                at.sequence,
                switch.config_hash,
                switch.engine,
                ENGINE_VERSION,
                config.config_hash,
            )
        return config

    async def find(self, config_hash: str, partitions: int) -> EvaluatorConfig | None:
        """The configuration that decisions name; None when no partition was ever switched to it."""
        for partition in range(partitions):
            for _, switch in await read_switches(self._client, partition):
                if switch.config_hash == config_hash:
                    return (await self.compiled(switch.bundle_hash)).config
        return None


class PartitionConfigs:
    """The switches of one partition, and the configuration for each of its events."""

    def __init__(
        self, client: Client, partition: int, library: Library, past: PastDecisions
    ) -> None:
        self._client = client
        self._partition = partition
        self._library = library
        self._past = past
        self._decided: Mapping[int, PastDecision] = {}
        self._wanted: tuple[Bundled, str] | None = None
        self._settled = False
        self._switches: list[SwitchAt] = []
        self._spans: list[tuple[int, EvaluatorConfig]] = []

    def want(self, bundled: Bundled, why: str) -> None:
        """Switch to a configuration as soon as the partition is opened, unless it is in force."""
        self._library.add(bundled)
        self._wanted, self._settled = (bundled, why), False

    async def switch(self) -> list[SwitchAt]:
        """Write the switch that is wanted, unless the stream has it; returns all there are."""
        found = await read_switches(self._client, self._partition)
        # Wanted once: another instance that switches after us is not to be fought. A stream that was made
        # anew has none, though, and begins with ours.
        if self._wanted is None or (self._settled and found):
            return found
        bundled, why = self._wanted
        if found:
            # An older instance that starts beside a newer one must not take its packs out of force.
            self._library.refuse_newer(found[-1])
        if not found or found[-1].switch.config_hash != bundled.config.config_hash:
            await store_bundle(self._client, bundled.body)
            written = ConfigSwitch(
                bundle_hash=bundled.bundle_hash,
                config_hash=bundled.config.config_hash,
                engine=ENGINE_VERSION,
                why=why,
            )
            await publish_switch(self._client, self._partition, written)
            found = await read_switches(self._client, self._partition)
        self._settled = True
        return found

    async def begin(self) -> None:
        """Read what was switched so far; of instances that start at once, the first says what judges first."""
        self._switches = await self.switch()
        if not self._switches:
            raise BusError(f"no configuration is known for partition {self._partition} of EVENTS")
        # What can't be loaded is reported at once, and not when the first event comes.
        await self._library.judging(self._switches[-1])

    async def sift(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """Take the switches out of a batch, and load what its events are judged by."""
        events = [each for each in deliveries if not subjects.is_config_switch(each.subject)]
        if len(events) < len(deliveries):
            await self._heed(
                [each for each in deliveries if subjects.is_config_switch(each.subject)]
            )
        if events:
            self._spans = await self._spans_of(events[0].sequence, events[-1].sequence)
            self._decided = await self._past.about(
                [each.sequence for each in events if not self._is_ours(each.sequence)]
            )
        return events

    def at(self, sequence: int) -> EvaluatorConfig:
        """What judges an event of the batch that was sifted last."""
        for start, config in self._spans:
            if sequence > start:
                return config
        raise LookupError(f"no configuration was loaded for sequence {sequence}")

    def decided(self, sequence: int) -> PastDecision | None:
        """What another engine decided about an event of that batch, if one did."""
        return self._decided.get(sequence)

    def _is_ours(self, sequence: int) -> bool:
        """Whether the event was stored while this engine's packs were in force."""
        at = bisect_right(self._switches, sequence, key=lambda switch: switch.sequence)
        return self._switches[max(1, at) - 1].switch.engine == ENGINE_VERSION

    async def _heed(self, switches: Sequence[Delivery]) -> None:
        known = self._switches[-1].sequence
        for stored in switches:
            found = read_switch(stored)
            if found is None:
                log.error("EVENTS %d is not a switch of configuration; ignored", stored.sequence)
            elif found.sequence > known:
                self._switches.append(found)
                await self._library.judging(found)
                log.info(
                    "partition %d is judged by %s from %d on: %s",
                    self._partition,
                    found.switch.config_hash,
                    found.sequence,
                    found.switch.why,
                )

    async def _spans_of(self, first: int, last: int) -> list[tuple[int, EvaluatorConfig]]:
        """After which sequence which configuration judges, latest first, for a range of events."""
        at = [switch.sequence for switch in self._switches]
        # What lies before the first switch is judged by it too.
        begin, end = max(1, bisect_right(at, first)), max(1, bisect_right(at, last))
        chosen = self._switches[begin - 1 : end]
        starts = [0, *(switch.sequence for switch in chosen[1:])]
        spans = [
            (start, await self._library.judging(each))
            for start, each in zip(starts, chosen, strict=True)
        ]
        return spans[::-1]
