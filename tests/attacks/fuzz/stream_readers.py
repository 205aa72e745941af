"""Random foreign messages on every kind of subject, between entries of ours: no reader stops, none reads too much."""

import asyncio
import json
import random
import tempfile
import time
import uuid
from collections.abc import Awaitable
from datetime import UTC, datetime
from pathlib import Path

from foreign_messages import Intruder
from fuzz.tally import Tally, Told, silent

from lictor.history.known_sessions import known_sessions
from lictor.history.stored_definitions import kept_versions
from lictor_bus.errors import MessageRefused
from lictor_bus.logs.certificates import load_certificate, store_certificate
from lictor_bus.logs.dead_letters import DeadLetters, list_dead
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.logs.entry_logs import all_entries, patch_log, triage_log
from lictor_bus.logs.packs import load_bundle, read_switches, store_bundle
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import last_on_subjects, read_all
from lictor_cli.claim.sources import all_cycles
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.contracts.drift import TriageEntry, TriageState
from lictor_schema.core.canonical_json import hash_bytes

_ROUND = 25
_LOGS = tuple(f"d-{number}" for number in range(3))


class Round:
    """One round: entries of ours with foreign messages in between, then every reader."""

    def __init__(self, client: TolerantClient, intruder: Intruder, chance: random.Random) -> None:
        self._client = client
        self._intruder = intruder
        self._chance = chance
        self._appends = Appends(client)
        self.entries: dict[str, list[str]] = {name: [] for name in _LOGS}
        self.letters = 0
        self.bundles: list[str] = []
        self.certificates: list[str] = []
        self.stopped: list[str] = []

    def places(self) -> list[str]:
        """A subject of every stream, those of ours among them."""
        name, digest = self._chance.choice(_LOGS), hash_bytes(bytes([self.letters % 256]))
        return [
            subjects.triage(name),
            subjects.patch("proposed", name),
            subjects.claim("made", name),
            subjects.cycle("open", name),
            subjects.decision("python", "allow", name),
            subjects.decision_log(subjects.decision_key("python", name)),
            subjects.decision_log(subjects.SWITCH_KEY),
            subjects.session_log(subjects.session_key("python", name)),
            subjects.definition(name),
            subjects.dead_letter("sealer", streams.DECISIONS, self.letters + 1),
            subjects.pack_bundle(digest),
            subjects.certificate(digest),
            subjects.config_switch(0),
            subjects.LOG_CHECKPOINT,
            subjects.episode("python", "refund", name),
            subjects.run_journal("python", "t", name),
            subjects.approval("python", "requested", name),
            subjects.receipt("python", "applied", name, "r"),
        ]

    async def store(self) -> None:
        """What is ours, in whatever foreign messages have made of the streams."""
        name = self._chance.choice(_LOGS)
        entry = TriageEntry(
            entry_id=str(uuid.uuid4()),
            drift_id=name,
            state=TriageState.TRIAGED,
            by="ada",
            at=datetime.now(UTC),
        )
        log = await triage_log(self._client, name)
        message = Outgoing(subjects.triage(name), entry.to_json(), entry.entry_id)
        await self._appends.append(streams.DRIFT, message, log.last)
        self.entries[name].append(entry.entry_id)
        self.letters += 1
        letter = Delivery("lictor.dec.python.allow.t", b"x", {}, self.letters, time.time_ns())
        refusal = MessageRefused("unreadable", remedy="look at it")
        await DeadLetters(self._client, "sealer").store(streams.DECISIONS, letter, refusal)
        body = bytes([(self.letters - 1) % 256])
        self.bundles.append(await store_bundle(self._client, body))
        await store_certificate(self._client, hash_bytes(body), b'{"certificate":%d}' % body[0])
        self.certificates.append(hash_bytes(body))
        await publish_one(
            self._client,
            streams.DECISIONS,
            Outgoing(subjects.decision("python", "allow", name), b"{}"),
        )

    async def read(self) -> None:
        """Every reader; those of ours must find what is ours, and nothing else."""
        for name, ids in self.entries.items():
            await self._same(f"log {name}", self._ids(name), ids)
        every = [each for ids in self.entries.values() for each in ids]
        await self._same("all logs", self._every(), sorted(every))
        await self._same("dead letters", self._letters(), list(range(1, self.letters + 1)))
        await self._same("last bundle", self._bundle(), True)
        await self._same("certificate", self._certificate(), True)
        await self._same("switches", read_switches(self._client, 0), [])
        await self._same("patch", self._entries_of(patch_log(self._client, _LOGS[0])), 0)
        await self._same("sessions", known_sessions(self._client), [])
        await self._same("definitions", kept_versions(self._client), [])
        await self._same("cycles", all_cycles(self._client), {})
        decisions = DecisionLog(self._client)
        for key in (subjects.SWITCH_KEY, subjects.decision_key("python", _LOGS[0])):
            await self._same(f"decision {key}", self._decided(decisions, key), [])
        for stream in streams.STREAMS:
            await self._same(f"{stream} to its end", self._whole(stream), True)

    async def _same(self, what: str, reading: Awaitable[object], expected: object) -> None:
        try:
            async with asyncio.timeout(30):
                found = await reading
        except Exception as error:  # noqa: BLE001 -- this is what is looked for
            self.stopped.append(f"{what}: {type(error).__name__}: {str(error)[:200]}")
            return
        if found != expected:
            self.stopped.append(f"{what}: {str(found)[:200]} instead of {str(expected)[:200]}")

    async def _ids(self, name: str) -> list[str]:
        return [entry.entry_id for _, entry in (await triage_log(self._client, name)).entries]

    async def _every(self) -> list[str]:
        read = TriageEntry.from_json
        found = all_entries(self._client, streams.DRIFT, subjects.TRIAGE.any, read)
        return sorted([entry.entry_id async for _, entry in found])

    async def _letters(self) -> list[int]:
        listed = [each async for each in list_dead(self._client, limit=2**31)]
        return sorted(each.letter.sequence for each in listed if each.is_readable)

    async def _bundle(self) -> bool:
        wanted = self._chance.choice(self.bundles)
        return hash_bytes(await load_bundle(self._client, wanted)) == wanted

    async def _certificate(self) -> bool:
        found = await load_certificate(self._client, self._chance.choice(self.certificates))
        return found is not None and json.loads(found).keys() == {"certificate"}

    async def _entries_of(self, reading: Awaitable[object]) -> int:
        return len((await reading).entries)  # type: ignore[attr-defined]

    async def _decided(self, log: DecisionLog, key: str) -> list[object]:
        found = await log.read(key, 0, await log.last(key))
        return [each for each in found if each.entry is not None]

    async def _whole(self, stream: str) -> bool:
        async for _ in read_all(self._client, stream, ">"):
            pass
        await last_on_subjects(self._client, stream, ["lictor.>"])
        return True


async def fuzz_server(url: str, count: int, seed: int, told: Told = silent) -> Tally:
    """Store so many foreign messages on a broker, and read after every few of them; wrong is what stopped a reader."""
    chance, tally = random.Random(seed), Tally(told)
    client = await connect_nats(url, name="fuzz")
    try:
        await streams.declare(client, *streams.STREAMS)
        intruder = Intruder(client, chance)
        going = Round(client, intruder, chance)
        await going.store()
        while tally.applied < count and not going.stopped:
            places = going.places()
            for _ in range(min(_ROUND, count - tally.applied)):
                await intruder.put(chance.choice(places))
                tally.begin()
            # A question behind them: the broker has taken them when it answers.
            await client.flush()
            await client.jetstream().account_info()
            try:
                await going.store()
            except Exception as error:  # noqa: BLE001 -- this is what is looked for
                going.stopped.append(f"storing: {type(error).__name__}: {error}")
                break
            await going.read()
            if not going.stopped:
                tally.refused = tally.applied
        tally.wrong += going.stopped
        return tally
    finally:
        await client.close()


def fuzz(count: int, seed: int, told: Told = silent) -> Tally:
    """The same on a server of its own."""

    async def on_own_server() -> Tally:
        with tempfile.TemporaryDirectory() as folder:
            async with EmbeddedServers(Path(folder), redis=False, durable=False) as servers:
                return await fuzz_server(servers.nats_url, count, seed, told)

    return asyncio.run(on_own_server())
