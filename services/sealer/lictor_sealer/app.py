"""The sealer as a service: its key, its settings, and what it runs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.gates.gate_runner import GateRunner
from lictor_bus.logs.allowed_calls import SeenCalls
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.logs.governed_decisions import Decisions
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec, StreamChannel
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_batch
from lictor_schema.contracts.decision_log import AnyDecisionEntry
from lictor_schema.core.base_model import utc_millis
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.seals.episode import SealedEpisode
from lictor_schema.seals.episode_part import EpisodePart
from lictor_schema.seals.erasure import ErasureEntry
from lictor_seal import KeyFileError, SealError, SigningKey, TrustStore
from lictor_sealer import __version__
from lictor_sealer.correction.desk import Corrections
from lictor_sealer.episode import gathering
from lictor_sealer.episode.decision_closing import FOLDS, Closings
from lictor_sealer.episode.resumed import sealing_loops
from lictor_sealer.episode.sealing import SealingOutbox
from lictor_sealer.erasure.desk import Erasures
from lictor_sealer.log.stream import EpisodeLog, load_head
from lictor_sealer.log.tree import Head, LogError, hand_over

NAME = "sealer"


@dataclass(frozen=True, slots=True)
class LogSuccession:
    """The key that wrote the log before ours, if there was one, and the store that says from when until when."""

    previous: SigningKey | None = None
    trust: TrustStore | None = None

    def sealed_from(self, key: SigningKey) -> str:
        """From when on a key is trusted; nothing when nobody says."""
        trusted = self.trust.by_id(key.key_id) if self.trust is not None else None
        return (trusted.not_before if trusted is not None else None) or ""


async def take_up(
    client: Client, key: SigningKey, succession: LogSuccession, now: datetime
) -> Head:
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


def load_succession(key: SigningKey) -> LogSuccession:
    """The key before ours and the trust store, where the environment names them."""
    path, trust = os.environ.get("LICTOR_SEAL_KEY_PREVIOUS"), os.environ.get("LICTOR_SEAL_TRUST")
    if path and not trust:
        raise BusError(
            "LICTOR_SEAL_KEY_PREVIOUS is set and LICTOR_SEAL_TRUST is not: a log changes its key only by a "
            "trust store that holds both keys."
        )
    try:
        return LogSuccession(
            SigningKey.load(Path(path), key.name) if path else None,
            TrustStore.load(Path(trust)) if trust else None,
        )
    except SealError as error:
        raise BusError(str(error)) from None


def publish_keys(key: SigningKey, succession: LogSuccession) -> None:
    """Write the public keys where the environment says, for those who verify what we seal.

    Keys that stand there already stay: what they sealed is still verified.
    """
    name = os.environ.get("LICTOR_SEAL_TRUST_PUBLISH")
    if not name:
        return
    path, ours = Path(name), TrustStore.of([key.verifying_key])
    try:
        there = TrustStore.load(path) if path.exists() else TrustStore(())
        # Who was given a store knows until when each key is believed; else what stands there does.
        trust = (succession.trust or there).including((*there.keys, *ours.keys))
        # A reader never sees half of it.
        written = path.with_name(f"{path.name}.new")
        written.write_bytes(trust.to_bytes())
        written.replace(path)
    except (SealError, OSError) as error:
        raise BusError(
            f"the public keys can't be written (LICTOR_SEAL_TRUST_PUBLISH): {error}"
        ) from None


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Folds the decisions on a task into an episode, seals it, and keeps the Merkle log.",
    streams=tuple(
        dict.fromkeys(
            (
                streams.DECISIONS,
                streams.EPISODES,
                *gathering.STREAMS,
                streams.ACTIONS,
            )
        )
    ),
    channels=(
        StreamChannel(
            subject="lictor.dec.{decision}.{task}",
            message=DecisionRecord,
            description="Decision records (stream DECISIONS).",
            reads=True,
        ),
        StreamChannel(
            subject="lictor.ep.{decision_type}.{episode}",
            message=SealedEpisode,
            description=(
                "Sealed episodes (stream EPISODES). The body is a seal bundle file: the sealed episode "
                "with its inclusion proof and the signed checkpoint it leads to."
            ),
            reads=False,
        ),
        StreamChannel(
            subject="lictor.contents.{episode}.{part}",
            message=EpisodePart,
            description="The messages that sealed episodes cover, with their salts, in parts (stream CONTENTS).",
            reads=False,
        ),
        StreamChannel(
            subject="lictor.erased.{episode}",
            message=ErasureEntry,
            description="Who had messages of an episode erased, and why (stream ERASURES).",
            reads=False,
        ),
        StreamChannel(
            subject="lictor.act.{decision}",
            message=AnyDecisionEntry,
            description="The logs of governed decisions (stream ACTIONS): resumes are read, closings appended.",
            reads=True,
        ),
    ),
)


def make_service() -> Service:
    """The sealer with the key of this installation."""
    key = load_key()
    succession = load_succession(key)
    publish_keys(key, succession)
    trust = succession.trust or TrustStore.of([key.verifying_key])

    async def loops(runtime: ServiceRuntime) -> Sequence[Runnable]:
        # Fails here, at the start, when the log was neither written with our key nor handed over to it.
        await take_up(runtime.client, key, succession, datetime.now(UTC))
        log = EpisodeLog(runtime.client, key, sealed_from=succession.sealed_from(key))
        closings = Closings(
            Decisions(DecisionLog(runtime.client), FOLDS), SeenCalls(runtime.client)
        )
        outbox = SealingOutbox(
            runtime.client, log, DeadLetters(runtime.client, NAME), closings=closings
        )
        desk = await connect_nats(runtime.settings.nats_url, name=f"lictor-{NAME}-desk")
        orders = (
            Corrections(runtime.client, log, trust, closings=closings).bound(),
            Erasures(runtime.client, log).bound(),
        )
        return [
            *sealing_loops(runtime, outbox),
            GateRunner(desk, NAME, orders, runtime.telemetry),
        ]

    return Service(
        spec=SPEC,
        loops=loops,
        detail=f"log {key.name}, key {key.key_id}",
    )
