"""The envelopes in force: those of the packs that judge the task's events, from the same switch on.

The evaluator takes releases, or refuses them, and writes what it takes into EVENTS, between the events before and
after it. Nothing is decided about packs here: a decision that begins gets the last switch of the task's
partition, and gets the envelope of the bundle that it names. Its place stands in the decision's log, so anybody can
look up later whether the envelope was the right one.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.pack_switches import LastSwitches
from lictor_bus.logs.packs import load_bundle
from lictor_bus.names import subjects
from lictor_policy.errors import PackError
from lictor_policy.packs.bundle import read_bundle
from lictor_policy.packs.envelopes import Governed

log = logging.getLogger("lictor.supervisor")

_ASK_WITHIN_S = 1.0
_MAX_BUNDLES = 16

Envelopes = Mapping[str, Governed]


class NoPacks(BusError):
    """What is in force is unknown or can't be loaded, so no decision may begin."""


class InForce(NamedTuple):
    """The envelopes for a task, and the sequence in EVENTS of the switch that put them in force."""

    envelopes: Envelopes
    sequence: int


class EnvelopesInForce:
    """The envelopes for any task, as of the moment of the question."""

    def __init__(
        self,
        client: Client,
        *,
        partitions: int,
        pin: str | None = None,
        methods: Collection[str] | None = None,
    ) -> None:
        self._client = client
        self._partitions = partitions
        self._pin = pin
        self._methods = methods
        self._switches = LastSwitches(client)
        self._bundles: dict[str, asyncio.Task[Envelopes]] = {}

    async def now(self, task_id: str) -> InForce:
        """What governs a decision that begins now; raises NoPacks when that is unknown or can't be loaded."""
        partition = subjects.partition_of(subjects.token(task_id), self._partitions)
        try:
            at = await self._switches.now(partition, _ASK_WITHIN_S)
            if at is None:
                raise NoPacks(f"no configuration is known for partition {partition} of EVENTS")
            if self._pin is not None and at.switch.bundle_hash != self._pin:
                raise NoPacks(
                    f"LICTOR_PACK_PIN pins {self._pin}, in force is {at.switch.bundle_hash}"
                )
            return InForce(await self._of_bundle(at.switch.bundle_hash), at.sequence)
        except NoPacks:
            raise
        except (BusError, PackError) as error:
            raise NoPacks(str(error)) from error

    async def _of_bundle(self, bundle_hash: str) -> Envelopes:
        loading = self._bundles.get(bundle_hash)
        if loading is None:
            loading = self._bundles[bundle_hash] = asyncio.create_task(self._load(bundle_hash))
            loading.add_done_callback(lambda task: self._loaded(bundle_hash, task))
        # It continues when a caller runs out of time, for the next question.
        return await asyncio.shield(loading)

    async def _load(self, bundle_hash: str) -> Envelopes:
        body = await load_bundle(self._client, bundle_hash)
        # Compiling takes long enough to be noticed by a gate.
        envelopes = (await asyncio.to_thread(read_bundle, body)).config.envelopes
        log.info("%d envelopes of bundle %s are in force", len(envelopes), bundle_hash)
        for name, each in envelopes.items():
            missing = set(each.dte.verification.methods) - set(self._methods or ())
            if self._methods is not None and missing:
                log.error(
                    "envelope %s lists verification methods that this sealer does not have: %s;"
                    " install their packages, or correct the pack",
                    name,
                    ", ".join(sorted(missing)),
                )
        return envelopes

    def _loaded(self, bundle_hash: str, task: "asyncio.Task[Envelopes]") -> None:
        # What failed is tried again; the error was raised for those who waited.
        if task.cancelled() or task.exception() is not None:
            del self._bundles[bundle_hash]
        elif len(self._bundles) > _MAX_BUNDLES:
            del self._bundles[next(iter(self._bundles))]
