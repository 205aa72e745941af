"""The sealer on the bus: DECISIONS in, EPISODES out. The only file with a broker in it."""

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nats.aio.client import Client

from lictor_bus import streams, subjects
from lictor_bus.dead import DeadLetters
from lictor_bus.delivery import Delivery
from lictor_bus.errors import BatchRefused, BusError, Refused
from lictor_bus.processor import (
    SOURCE_SEQUENCE,
    CountingState,
    Parsed,
    Sourced,
    Stepped,
    read_or_refuse,
)
from lictor_bus.publish import MAX_BATCH, Outgoing, publish_batch
from lictor_bus.read import last_on_subjects, read_from
from lictor_bus.service import Channel, Runnable, Runtime, Service, ServiceSpec
from lictor_contracts.errors import ContractError
from lictor_contracts.installed_methods import installed_methods
from lictor_contracts.verifying import Methods
from lictor_schema import (
    DecisionRecord,
    SealedEpisode,
    utc_millis,
)
from lictor_seal import Frontier, KeyFileError, SealError, SigningKey, TrustStore
from lictor_sealer import __version__, governing, learning
from lictor_sealer.closing import Closings
from lictor_sealer.decision_log import DecisionLog
from lictor_sealer.decisions import Decisions
from lictor_sealer.episode import EpisodeError, StoredRecord, assemble, covered
from lictor_sealer.log import Draft, Head, LogError, append, hand_over, read_head

NAME = "sealer"
TASK_HEADER = "Lictor-Task"
KEEP_STATE_S = 30 * 24 * 3600

_PAGE = 500
_WRONG_LAST_SEQUENCE = 10071
# Room in a message for its headers.
_HEADER_ROOM = 16 * 1024


@dataclass(frozen=True, slots=True)
class ClosedTask:
    """A task whose records are complete: seal them."""

    delivery: Delivery


class SealerProcessor(CountingState):
    """Counts the records of each task and notices when one closes it."""

    def parse(self, delivery: Delivery) -> Parsed[DecisionRecord]:
        """Bytes to a decision record."""
        record = _read_record(delivery)
        task = delivery.subject.rpartition(".")[2]
        if subjects.token(record.task_id) != task:
            raise Refused(
                f"task_id: {record.task_id!r} is not the task of subject {delivery.subject}",
                remedy="only the policy evaluator may write decisions; find out who wrote this one",
            )
        return Parsed(task, record.record_id, record)

    def step(
        self, state: int | None, message: Parsed[DecisionRecord], delivery: Delivery
    ) -> Stepped[int, ClosedTask]:
        """One more record; the closing one leads to an episode."""
        count = (state or 0) + 1
        if message.value.task_closed:
            return Stepped(count, (ClosedTask(delivery),), "closed", keep_state_s=KEEP_STATE_S)
        return Stepped(count, (), "recorded")


class SealingOutbox:
    """Makes closed tasks durable as sealed episodes: one atomic append to the log."""

    def __init__(
        self,
        client: Client,
        key: SigningKey,
        dead: DeadLetters,
        *,
        sealed_from: str = "",
        closings: Closings | None = None,
    ) -> None:
        self._client = client
        self._key = key
        self._dead = dead
        self._sealed_from = sealed_from
        self._closings = closings
        self._head: Head | None = None
        # The worker seals what closes, and the desk what is resumed: one after the other.
        self._sealing = asyncio.Lock()

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:  # noqa: ARG002
        """Nothing to leave out: ``publish`` asks the log about every episode, restart or not."""
        return {}

    async def publish(self, outputs: Sequence[Sourced[ClosedTask]]) -> None:
        """Assemble, seal and append; what is in the log already stays as it is."""
        async with self._sealing:
            await self._publish(outputs)

    async def _publish(self, outputs: Sequence[Sourced[ClosedTask]]) -> None:
        ready: list[tuple[Sourced[ClosedTask], Draft]] = []
        for sourced in outputs:
            draft = await self._draft(sourced)
            if draft is not None:
                ready.append((sourced, draft))
        ready = await self._without_sealed(ready)
        # A batch also carries the checkpoint.
        for start in range(0, len(ready), MAX_BATCH - 1):
            await self._append(ready[start : start + MAX_BATCH - 1])

    async def _draft(self, sourced: Sourced[ClosedTask]) -> Draft | None:
        closing = sourced.output.delivery
        try:
            records = await self._records(sourced.key, closing.sequence)
            governed = None
            if self._closings is not None:
                governed = await self._closings.close(covered(records), closing)
            episode = assemble(records, governed)
            size = len(episode.to_json())
            if size + _HEADER_ROOM > self._client.max_payload:
                raise EpisodeError(
                    f"the episode has {size} bytes, more than the broker takes ({self._client.max_payload})"
                )
        except Refused as refusal:
            await self._dead.bury(streams.DECISIONS, closing, refusal)
            return None
        except EpisodeError as error:
            await self._dead.bury(
                streams.DECISIONS,
                closing,
                Refused(f"task_id: {error}", remedy="split long work into several tasks"),
            )
            return None
        # What waited through a change of keys is sealed when the new key is trusted, not before; these times sort as
        # text.
        return Draft(episode, max(utc_millis(closing.stored_at), self._sealed_from))

    async def seal_closed(self, task: str) -> int:
        """Seal every closing of a task that is not sealed yet and can be; tells how many closings there are."""
        closings: list[Sourced[ClosedTask]] = []
        sequence = 1
        while page := await read_from(
            self._client, streams.DECISIONS, f"lictor.dec.*.{task}", sequence, _PAGE
        ):
            closings += [
                Sourced(task, stored.sequence, ClosedTask(stored))
                for stored in page
                if _read_record(stored).task_closed
            ]
            sequence = page[-1].sequence + 1
        await self.publish(closings)
        return len(closings)

    async def _records(self, task: str, last: int) -> list[StoredRecord]:
        """Every record of the task up to the closing one, read from the stream itself."""
        found: list[StoredRecord] = []
        sequence = 1
        while True:
            page = await read_from(
                self._client, streams.DECISIONS, f"lictor.dec.*.{task}", sequence, _PAGE
            )
            found += (
                StoredRecord.of(_read_record(stored)) for stored in page if stored.sequence <= last
            )
            # A short page is not the end: the broker also cuts by bytes.
            if not page or page[-1].sequence >= last:
                return found
            sequence = page[-1].sequence + 1

    async def _without_sealed(
        self, ready: list[tuple[Sourced[ClosedTask], Draft]]
    ) -> list[tuple[Sourced[ClosedTask], Draft]]:
        if not ready:
            return ready
        sealed = {
            stored.subject.rpartition(".")[2]: int(stored.headers.get(SOURCE_SEQUENCE, 0))
            for stored in await last_on_subjects(
                self._client,
                streams.EPISODES,
                [subjects.episodes_with_id(draft.episode.episode_id) for _, draft in ready],
            )
        }
        fresh: list[tuple[Sourced[ClosedTask], Draft]] = []
        for sourced, draft in ready:
            episode = subjects.token(draft.episode.episode_id)
            closed_at = sealed.get(episode)
            if closed_at is None:
                sealed[episode] = sourced.sequence
                fresh.append((sourced, draft))
            elif closed_at != sourced.sequence:
                await self._bury_namesake(sourced, draft, closed_at)
        return fresh

    async def _bury_namesake(
        self, sourced: Sourced[ClosedTask], draft: Draft, closed_at: int
    ) -> None:
        """Two episodes of one id can't both be in the log, and none may be left out of it silently."""
        await self._dead.bury(
            streams.DECISIONS,
            sourced.output.delivery,
            Refused(
                f"task_id: episode {draft.episode.episode_id} is sealed already, of the closing at DECISIONS "
                f"{closed_at}; the task was run again under the same event ids",
                remedy="give every run of a task an id of its own",
            ),
        )

    async def _append(self, ready: Sequence[tuple[Sourced[ClosedTask], Draft]]) -> None:
        head = self._head or await load_head(self._client, self._key)
        appended = append(head, [draft for _, draft in ready], self._key)
        messages = [
            Outgoing(
                subjects.episode(draft.episode.decision_type, draft.episode.episode_id),
                bundle,
                draft.episode.episode_id,
                {
                    **sourced.headers,
                    SOURCE_SEQUENCE: str(sourced.sequence),
                    TASK_HEADER: sourced.key,
                },
            )
            for (sourced, draft), bundle in zip(ready, appended.bundles, strict=True)
        ]
        messages.append(Outgoing(subjects.LOG_CHECKPOINT, appended.checkpoint))
        first = messages[0]
        messages[0] = Outgoing(
            first.subject,
            first.body,
            first.message_id,
            {**first.headers, "Nats-Expected-Last-Sequence": str(head.sequence)},
        )
        # Whatever happens from here on, what we knew of the head may be wrong.
        self._head = None
        try:
            sequence = await publish_batch(self._client, streams.EPISODES, messages)
        except BatchRefused as error:
            if error.code == _WRONG_LAST_SEQUENCE:
                raise BusError(
                    "another sealer appended to the log; reading its head again"
                ) from error
            raise
        self._head = Head(appended.frontier, sequence)


async def load_head(client: Client, key: SigningKey) -> Head:
    """The log's head from its last checkpoint; refused unless it is ours and nothing follows it."""
    last = (await client.jetstream().stream_info(streams.EPISODES)).state.last_seq
    if last == 0:
        return Head(Frontier(), 0)
    found = await last_on_subjects(client, streams.EPISODES, [subjects.LOG_CHECKPOINT])
    if not found or found[0].sequence != last:
        raise BusError(
            f"EPISODES holds messages after the log's last checkpoint (last is {last}); if the broker's disk "
            "was full, make room and start NATS again, which completes the append; else somebody else wrote "
            "there: restore the stream"
        )
    try:
        return read_head(found[0].body, last, key)
    except LogError as error:
        raise BusError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Succession:
    """The key that wrote the log before ours, if there was one, and the store that says from when until when."""

    previous: SigningKey | None = None
    trust: TrustStore | None = None

    def sealed_from(self, key: SigningKey) -> str:
        """From when on a key is trusted; nothing when nobody says."""
        trusted = self.trust.by_id(key.key_id) if self.trust is not None else None
        return (trusted.not_before if trusted is not None else None) or ""


async def take_up(client: Client, key: SigningKey, succession: Succession, now: datetime) -> Head:
    """The log's head for this key; where the key before it wrote the last one, it is handed over here."""
    if succession.sealed_from(key) > utc_millis(now):
        raise BusError(
            f"the key {key.key_id} is trusted only from {succession.sealed_from(key)}; "
            "start the sealer then, or correct LICTOR_SEAL_TRUST"
        )
    try:
        return await load_head(client, key)
    except BusError:
        if succession.previous is None or succession.trust is None:
            raise
    head = await load_head(client, succession.previous)
    try:
        handed = hand_over(
            head, succession.previous, key, at=utc_millis(now), trust=succession.trust
        )
    except LogError as error:
        raise BusError(str(error)) from error
    expected = {"Nats-Expected-Last-Sequence": str(head.sequence)}
    message = Outgoing(subjects.LOG_CHECKPOINT, handed.checkpoint, None, expected)
    sequence = await publish_batch(client, streams.EPISODES, [message])
    return Head(handed.frontier, sequence)


def _read_record(delivery: Delivery) -> DecisionRecord:
    return read_or_refuse(
        DecisionRecord.from_json,
        delivery.body,
        "only the policy evaluator may write decisions; find out who wrote this one",
    )


def load_key() -> SigningKey:
    """The sealing key named by the environment.

    With ``LICTOR_SEAL_KEY_CREATE=1`` a missing key is made, with the trust file that auditors need beside it.
    """
    path = os.environ.get("LICTOR_SEAL_KEY")
    name = os.environ.get("LICTOR_LOG_ORIGIN", "lictor.local/log")
    if not path:
        raise BusError("LICTOR_SEAL_KEY is not set: name the file with the Ed25519 sealing key.")
    try:
        if os.environ.get("LICTOR_SEAL_KEY_CREATE") == "1" and not Path(path).exists():
            key = SigningKey.generate(name)
            key.save(Path(path))
            Path(path).with_name("trust.json").write_bytes(
                TrustStore.of([key.verifying_key]).to_bytes()
            )
        return SigningKey.load(Path(path), name)
    except (KeyFileError, SealError, OSError) as error:
        raise BusError(str(error)) from None


def load_succession(key: SigningKey) -> Succession:
    """The key before ours and the trust store, where the environment names them."""
    path, trust = os.environ.get("LICTOR_SEAL_KEY_PREVIOUS"), os.environ.get("LICTOR_SEAL_TRUST")
    if path and not trust:
        raise BusError(
            "LICTOR_SEAL_KEY_PREVIOUS is set and LICTOR_SEAL_TRUST is not: a log changes its key only by a "
            "trust store that holds both keys."
        )
    try:
        return Succession(
            SigningKey.load(Path(path), key.name) if path else None,
            TrustStore.load(Path(trust)) if trust else None,
        )
    except SealError as error:
        raise BusError(str(error)) from None


def load_methods() -> Methods:
    """The verification methods there are; one that can't be had stops the start."""
    try:
        return installed_methods()
    except ContractError as error:
        raise BusError(str(error)) from None


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Folds the decisions on a task into an episode, seals it, and keeps the Merkle log.",
    streams=(streams.DECISIONS, streams.EPISODES, *governing.STREAMS, *learning.STREAMS),
    channels=(
        Channel(
            subject="lictor.dec.{decision}.{task}",
            message=DecisionRecord,
            description="Decision records (stream DECISIONS).",
            reads=True,
        ),
        Channel(
            subject="lictor.ep.{decision_type}.{episode}",
            message=SealedEpisode,
            description=(
                "Sealed episodes (stream EPISODES). The body is a seal bundle file: the sealed episode "
                "with its inclusion proof and the signed checkpoint it leads to."
            ),
            reads=False,
        ),
        *governing.CHANNELS,
        *learning.CHANNELS,
    ),
    questions=(*governing.QUESTIONS, *learning.QUESTIONS),
)


def make_service() -> Service:
    """The sealer with the key of this installation."""
    key = load_key()
    succession = load_succession(key)
    trust = succession.trust or TrustStore.of([key.verifying_key])
    page = learning.ReportPage()
    methods = load_methods()

    async def loops(runtime: Runtime) -> Sequence[Runnable]:
        # Fails here, at the start, when the log was neither written with our key nor handed over to it.
        await take_up(runtime.client, key, succession, datetime.now(UTC))
        outbox = SealingOutbox(
            runtime.client,
            key,
            DeadLetters(runtime.client, NAME),
            sealed_from=succession.sealed_from(key),
            closings=Closings(
                Decisions(DecisionLog(runtime.client, replicas=runtime.settings.replicas))
            ),
        )
        return [
            runtime.worker(streams.DECISIONS, "lictor.dec.*.*", SealerProcessor(), outbox),
            *await governing.governing_loops(runtime, outbox.seal_closed, methods),
            *await learning.learning_loops(runtime, trust, page),
        ]

    return Service(
        spec=SPEC,
        loops=loops,
        pages={"/report": page},
        detail=f"log {key.name}, key {key.key_id}; verification by {', '.join(methods.names)}",
    )
