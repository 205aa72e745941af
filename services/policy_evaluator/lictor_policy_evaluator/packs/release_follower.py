"""Hot reload: follow the signed releases of a channel, and switch every partition to each that may be taken.

A release counts only when a key of the trust file signed it, when its number is higher than any that came into force,
when it has not expired, when its packs go forward (or it says what it takes back), and when all of it loads. Anything
else is refused aloud, and what is in force stays: also across restarts, and when it expires itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from lictor_bus.errors import BundleMissing, BusError
from lictor_bus.logs.packs import read_refusals, read_switches
from lictor_bus.names import subjects
from lictor_bus.names.streams import PACKS
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all, read_from
from lictor_policy.errors import PackError
from lictor_policy.packs.bundle import Bundled, read_bundle
from lictor_policy.packs.envelopes import refuse_unverifiable
from lictor_policy.packs.releases import why_not
from lictor_policy_evaluator.packs.partition_configs import Library, PartitionConfigs
from lictor_policy_evaluator.packs.release_memory import ReleaseMemory
from lictor_schema.core.base_model import utc_millis
from lictor_schema.packs.release import PackRelease, ReleaseRefusal, ReleaseTaken
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
    floor: int = 1
    """The lowest number that is taken, whatever is remembered."""
    memory: Path | None = None
    """The folder where it is remembered what came into force."""

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
        floor = environment.get("LICTOR_PACK_FLOOR") or "1"
        if not (floor.isascii() and floor.isdecimal()):
            raise BusError(f"LICTOR_PACK_FLOOR is {floor!r}, not the number of a release.")
        memory = environment.get("LICTOR_PACK_MEMORY")
        return cls(
            channel=channel,
            trust=store,
            pin=environment.get("LICTOR_PACK_PIN") or None,
            floor=int(floor),
            memory=Path(memory) if memory else None,
        )


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
        client: TolerantClient,
        source: ReleaseSource,
        library: Library,
        partitions: Sequence[PartitionConfigs],
        telemetry: ServiceTelemetry,
        tell: Callable[[Bundled, str], None],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._source = source
        self._library = library
        self._partitions = partitions
        self._telemetry = telemetry
        self._tell = tell
        self._clock = clock
        self._memory = ReleaseMemory(client, source.channel, source.memory)
        self._subject = subjects.pack_release(source.channel)
        self._next = 1
        self._taken: ReleaseTaken | None = None
        self._in_force: Bundled | None = None
        self._expiry_told = 0
        self._woken = asyncio.Event()
        self._stopping = False
        self.trouble: str | None = None

    async def begin(self, local: Bundled) -> tuple[Bundled, str]:
        """What to start with, and why: the release that was in force, then every newer one that may be taken."""
        if self._source.memory is None:
            log.warning(
                "LICTOR_PACK_MEMORY is not set: only stream PACKS remembers which release is in force"
            )
        self._taken = await self._memory.last() or await self._switched_to()
        unusable = await self._resume(local)
        # What was refused, or came before what was taken, is not judged again by what is in force now.
        channel = self._source.channel
        refused = {each.sequence for each in await read_refusals(self._client, channel)}
        after = self._taken.sequence if self._taken else 0
        async for stored in read_all(self._client, PACKS, self._subject, after=after):
            if stored.sequence not in refused:
                await self._take(stored, self._note)
            after = stored.sequence
        self._next = after + 1
        if self._in_force is None:
            raise BusError(unusable)
        if self._taken is None:
            return self._in_force, f"channel {channel} has no release yet"
        if self._in_force.bundle_hash != self._taken.bundle_hash:
            return self._in_force, f"LICTOR_PACK_PIN, not {self._why(self._taken)}"
        return self._in_force, self._standing(self._taken)

    async def _switched_to(self) -> ReleaseTaken | None:
        """The release whose bundle was in force, where no evaluator has kept what it took yet."""
        last = (await read_switches(self._client, 0))[-1:]
        refused = {
            each.sequence for each in await read_refusals(self._client, self._source.channel)
        }
        found: ReleaseTaken | None = None
        async for stored in read_all(self._client, PACKS, self._subject):
            with suppress(ReleaseError):
                release = self._opened(stored)
                if stored.sequence not in refused and any(
                    at.switch.bundle_hash == release.bundle_hash for at in last
                ):
                    found = _record(release, stored)
        return found

    async def _resume(self, local: Bundled) -> str:
        """Begin with what was in force, or say why that can't be: the local packs, or older ones, are no substitute."""
        taken, pin = self._taken, self._source.pin
        if taken is None:
            self._in_force = local
            return ""
        if pin is not None and taken.bundle_hash != pin:
            # The operator names other packs, by their hash.
            pinned = local if local.bundle_hash == pin else await self._library.compiled(pin)
            self._in_force = pinned
            return ""
        try:
            received = datetime.fromisoformat(taken.received_at)
            release = open_release(taken.release.encode(), self._source.trust, received)
            kept = self._memory.bundle(taken.bundle_hash)
            if kept is not None:
                self._library.add(read_bundle(kept))
            bundled = await self._load(release)
        except (PackError, ReleaseError, BundleMissing) as error:
            return (
                f"release {taken.number} of channel {taken.channel} was in force and can't be used any more ({error});"
                " publish packs again: no older ones are taken instead"
            )
        # Also where only one of the two, or only a switch, knew it.
        await self._memory.remember(taken, bundled.body)
        self._in_force = bundled
        return ""

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

        subscription = await self._client.subscribe_surely(self._subject, cb=wake)
        try:
            while not self._stopping:
                self._woken.clear()
                for stored in await read_from(
                    self._client, PACKS, self._subject, self._next, _PAGE
                ):
                    await self._take(stored, self._switch)
                    self._next = stored.sequence + 1
                    self._woken.set()
                self.trouble = None
                self.tell_expiry()
                await self._wait(_LOOK_S)
        finally:
            if self._client.is_connected:
                await subscription.unsubscribe()

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()

    async def _take(
        self, stored: Delivery, put_in_force: Callable[[PackRelease, Bundled], Awaitable[None]]
    ) -> None:
        in_force, taken = self._in_force, self._taken
        try:
            release = self._opened(stored)
            # Where nothing in force can be used, there is no version to be newer than.
            reason = why_not(
                release,
                in_force=in_force.bundle_hash if in_force else None,
                packs=in_force.config.packs if in_force else (),
                taken=taken,
                now=utc_millis(self._clock()),
            )
            if reason is not None:
                raise ReleaseError(reason)
            bundled = await self._load(release)
            refuse_unverifiable(bundled.config.envelopes)
        except (ReleaseError, PackError, BundleMissing) as error:
            await self._refuse(stored, str(error), in_force)
            return
        taken = _record(release, stored)
        # First: after a crash in between it is what to start with.
        await self._memory.remember(taken, bundled.body)
        await put_in_force(release, bundled)
        self._in_force, self._taken = bundled, taken
        self._telemetry.release_seen("taken")
        log.info("%s is in force: %s", self._why(release), bundled.config.config_hash)
        self._tell(bundled, self._why(release))

    async def _note(self, _release: PackRelease, _bundled: Bundled) -> None:
        """At the start: the partitions are switched once, to what is taken last."""

    async def _switch(self, release: PackRelease, bundled: Bundled) -> None:
        # An outage in between leaves some partitions switched; it is taken again, and the others follow.
        for partition in self._partitions:
            partition.want(bundled, self._why(release))
            await partition.begin()

    def tell_expiry(self) -> None:
        """Say aloud, once, that what is in force has expired. It stays: no packs, or older ones, would be worse."""
        taken = self._taken
        if taken is None or self._in_force is None or self._expiry_told == taken.number:
            return
        if self._has_expired(taken):
            self._expiry_told = taken.number
            log.error("%s", self._standing(taken))
            self._telemetry.release_seen("expired")
            self._tell(self._in_force, self._standing(taken))

    def _has_expired(self, taken: ReleaseTaken) -> bool:
        return taken.expires_at is not None and taken.expires_at <= utc_millis(self._clock())

    def _standing(self, taken: ReleaseTaken) -> str:
        if not self._has_expired(taken):
            return self._why(taken)
        return (
            f"{self._why(taken)} EXPIRED at {taken.expires_at} and stays in force;"
            " publish the packs again, or find out who holds newer releases back"
        )

    def _opened(self, stored: Delivery) -> PackRelease:
        release = open_release(stored.body, self._source.trust, stored.stored_at)
        if release.channel != self._source.channel:
            raise ReleaseError(f"it was released for channel {release.channel}")
        if release.number < self._source.floor:
            raise ReleaseError(
                f"release {release.number} is below LICTOR_PACK_FLOOR, {self._source.floor}"
            )
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

    async def _refuse(self, stored: Delivery, reason: str, in_force: Bundled | None) -> None:
        self._telemetry.release_seen("refused")
        log.error(
            "a release on channel %s (PACKS %d) is refused: %s; %s stays in force",
            self._source.channel,
            stored.sequence,
            reason,
            in_force.config.config_hash if in_force else "nothing",
        )
        refusal = ReleaseRefusal(
            channel=self._source.channel,
            sequence=stored.sequence,
            in_force=in_force.bundle_hash if in_force else None,
            reason=reason[:60_000],
        )
        await publish_one(
            self._client,
            PACKS,
            Outgoing(subjects.pack_refusal(self._source.channel), refusal.to_json()),
        )
        if in_force is not None:
            self._tell(in_force, f"refused PACKS {stored.sequence}: {reason[:500]}")

    def _why(self, release: PackRelease | ReleaseTaken) -> str:
        return f"release {release.number} of channel {self._source.channel}"


def _record(release: PackRelease, stored: Delivery) -> ReleaseTaken:
    return ReleaseTaken(
        channel=release.channel,
        sequence=stored.sequence,
        number=release.number,
        bundle_hash=release.bundle_hash,
        expires_at=release.expires_at,
        received_at=utc_millis(stored.stored_at),
        release=stored.body.decode("utf-8"),
    )
