"""Hot reload: follow the signed releases of a channel, and switch every partition to each that may be taken.

A release counts only when a key of the trust file signed it, when it goes forward (or says what it takes back),
and when all of it loads. Anything else is refused aloud, and what is in force stays.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from lictor_bus.errors import BundleMissing, BusError
from lictor_bus.names import subjects
from lictor_bus.names.streams import PACKS
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_policy.errors import PackError
from lictor_policy.packs.bundle import Bundled
from lictor_policy.packs.envelopes import refuse_unverifiable
from lictor_policy.packs.releases import why_not
from lictor_policy_evaluator.packs.partition_configs import Library, PartitionConfigs
from lictor_schema.packs.release import PackRelease, ReleaseRefusal
from lictor_seal import ReleaseError, SealError, TrustStore, open_release

log = logging.getLogger("lictor.policy-evaluator")

# A release wakes the follower at once; this is for the one whose wake-up was lost.
_LOOK_S = 5.0
_PAUSE_S = 1.0
_PAGE = 100


@dataclass(frozen=True, kw_only=True)
class ReleaseSource:
    """Where releases come from, and whose are believed."""

    channel: str
    trust: TrustStore
    pin: str | None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ReleaseSource | None":
        """``LICTOR_PACK_CHANNEL`` with ``LICTOR_PACK_TRUST``; None without a channel."""
        channel = environment.get("LICTOR_PACK_CHANNEL", "")
        if not channel:
            return None
        trust = environment.get("LICTOR_PACK_TRUST", "")
        if not trust:
            raise BusError(
                "LICTOR_PACK_CHANNEL is set without LICTOR_PACK_TRUST: name the trust file with the"
                " keys whose releases are believed."
            )
        try:
            store = TrustStore.load(Path(trust))
        except SealError as error:
            raise BusError(f"LICTOR_PACK_TRUST: {error}") from None
        return cls(channel=channel, trust=store, pin=environment.get("LICTOR_PACK_PIN") or None)


def refuse_unpinned(bundled: Bundled, pin: str | None) -> None:
    """Stop where a pin names another bundle than the one to start with."""
    if pin is not None and bundled.bundle_hash != pin:
        raise BusError(
            f"LICTOR_PACK_PIN is {pin}, but the packs to start with are {bundled.bundle_hash};"
            " correct the pin or the packs."
        )


class ReleaseFollower:
    """Takes the releases of one channel as they come, one after the other."""

    def __init__(
        self,
        client: Client,
        source: ReleaseSource,
        library: Library,
        partitions: Sequence[PartitionConfigs],
        telemetry: ServiceTelemetry,
        tell: Callable[[Bundled, str], None],
    ) -> None:
        self._client = client
        self._source = source
        self._library = library
        self._partitions = partitions
        self._telemetry = telemetry
        self._tell = tell
        self._subject = subjects.pack_release(source.channel)
        self._next = 1
        self._number = 0
        self._in_force: Bundled | None = None
        self._woken = asyncio.Event()
        self._stopping = False
        self.trouble: str | None = None

    async def begin(self, local: Bundled) -> tuple[Bundled, str]:
        """What to start with, and why: the newest release that may be taken, or the local packs."""
        chain: list[PackRelease] = []
        while page := await read_from(self._client, PACKS, self._subject, self._next, _PAGE):
            for stored in page:
                release = self._follows(stored, chain[-1] if chain else None)
                if release is not None:
                    chain.append(release)
            self._next = page[-1].sequence + 1
        for release in reversed(chain):
            try:
                self._in_force = await self._load(release)
            except (PackError, ReleaseError, BundleMissing) as error:
                log.error("release %d does not load: %s", release.number, error)
                continue
            self._number = release.number
            return self._in_force, self._why(release)
        self._in_force = local
        return local, f"channel {self._source.channel} has no release yet"

    def _follows(self, stored: Delivery, before: PackRelease | None) -> PackRelease | None:
        """A release of the past, if it was to be taken then; it was refused aloud otherwise."""
        with suppress(ReleaseError):
            release = self._opened(stored)
            reason = before and why_not(
                release,
                in_force=before.bundle_hash,
                packs=before.packs,
                number=before.number,
            )
            return None if reason else release
        return None

    def stop(self) -> None:
        """Finish the release in hand, then return from ``run``."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Take releases until stopped; outages are waited out."""
        while not self._stopping:
            try:
                await self._follow()
            except (BusError, NatsError, JetStreamError, OSError, TimeoutError) as error:
                self.trouble = f"{type(error).__name__}: {error}"
                log.warning("channel %s: %s; trying again", self._source.channel, self.trouble)
                await self._wait(_PAUSE_S)

    async def _follow(self) -> None:
        async def wake(_message: Msg) -> None:
            self._woken.set()

        subscription = await self._client.subscribe(self._subject, cb=wake)  # pyright: ignore[reportUnknownMemberType] -- nats-py leaves its Future open
        try:
            while not self._stopping:
                self._woken.clear()
                for stored in await read_from(
                    self._client, PACKS, self._subject, self._next, _PAGE
                ):
                    await self._take(stored)
                    self._next = stored.sequence + 1
                    self._woken.set()
                self.trouble = None
                await self._wait(_LOOK_S)
        finally:
            if self._client.is_connected:
                await subscription.unsubscribe()

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()

    async def _take(self, stored: Delivery) -> None:
        in_force = self._in_force
        if in_force is None:
            raise BusError("the follower was not begun")
        try:
            release = self._opened(stored)
            reason = why_not(
                release,
                in_force=in_force.bundle_hash,
                packs=in_force.config.packs,
                number=self._number,
            )
            if reason is not None:
                raise ReleaseError(reason)
            bundled = await self._load(release)
            refuse_unverifiable(bundled.config.envelopes)
        except (ReleaseError, PackError, BundleMissing) as error:
            await self._refuse(stored, str(error), in_force)
            return
        # An outage in between leaves some partitions switched; it is taken again, and the others follow.
        for partition in self._partitions:
            partition.want(bundled, self._why(release))
            await partition.begin()
        self._in_force, self._number = bundled, release.number
        self._telemetry.release_seen("taken")
        log.info("%s is in force: %s", self._why(release), bundled.config.config_hash)
        self._tell(bundled, self._why(release))

    def _opened(self, stored: Delivery) -> PackRelease:
        release = open_release(stored.body, self._source.trust, stored.stored_at)
        if release.channel != self._source.channel:
            raise ReleaseError(f"it was released for channel {release.channel}")
        if self._source.pin is not None and release.bundle_hash != self._source.pin:
            raise ReleaseError(
                f"LICTOR_PACK_PIN pins {self._source.pin}, the release is {release.bundle_hash}"
            )
        return release

    async def _load(self, release: PackRelease) -> Bundled:
        bundled = await self._library.compiled(release.bundle_hash)
        if bundled.config.packs != release.packs:
            raise ReleaseError("its bundle holds other packs than the release says")
        return bundled

    async def _refuse(self, stored: Delivery, reason: str, in_force: Bundled) -> None:
        self._telemetry.release_seen("refused")
        log.error(
            "a release on channel %s (PACKS %d) is refused: %s; %s stays in force",
            self._source.channel,
            stored.sequence,
            reason,
            in_force.config.config_hash,
        )
        refusal = ReleaseRefusal(
            channel=self._source.channel,
            sequence=stored.sequence,
            in_force=in_force.bundle_hash,
            reason=reason[:60_000],
        )
        await publish_one(
            self._client,
            PACKS,
            Outgoing(subjects.pack_refusal(self._source.channel), refusal.to_json()),
        )
        self._tell(in_force, f"refused PACKS {stored.sequence}: {reason[:500]}")

    def _why(self, release: PackRelease) -> str:
        return f"release {release.number} of channel {self._source.channel}"
