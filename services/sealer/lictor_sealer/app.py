"""The sealer as a service: its key, its settings, and what it runs."""

from collections.abc import Sequence
from datetime import UTC, datetime

from lictor_bus.gates.gate_runner import GateRunner
from lictor_bus.logs.allowed_calls import SeenCalls
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.logs.governed_decisions import Decisions
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec, StreamChannel
from lictor_schema.contracts.decision_log import AnyDecisionEntry
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.seals.episode_part import EpisodePart
from lictor_schema.seals.erasure import ErasureEntry
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import TrustStore
from lictor_sealer import __version__
from lictor_sealer.correction.desk import Corrections
from lictor_sealer.episode import gathering
from lictor_sealer.episode.decision_closing import FOLDS, Closings
from lictor_sealer.episode.resumed import sealing_loops
from lictor_sealer.episode.sealing import SealingOutbox
from lictor_sealer.erasure.desk import Erasures
from lictor_sealer.log.keys import load_key, load_succession, publish_keys
from lictor_sealer.log.signed_head import SignedHead
from lictor_sealer.log.stream import EpisodeLog
from lictor_sealer.log.succession import take_up

NAME = "sealer"


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
            subject=subjects.DECISION.pattern,
            message=DecisionRecord,
            description="Decision records (stream DECISIONS).",
            reads=True,
        ),
        StreamChannel(
            subject=subjects.EPISODE.pattern,
            message=SealedEpisode,
            description=(
                "Sealed episodes (stream EPISODES). The body is a seal bundle file: the sealed episode "
                "with its inclusion proof and the signed checkpoint it leads to."
            ),
            reads=False,
        ),
        StreamChannel(
            subject=subjects.CONTENTS.pattern,
            message=EpisodePart,
            description="The messages that sealed episodes cover, with their salts, in parts (stream CONTENTS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.ERASURE.pattern,
            message=ErasureEntry,
            description="Who had messages of an episode erased, and why (stream ERASURES).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.DECISION_LOG.pattern,
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
        # Fails here, at the start, when the log was neither written with our key nor handed over to it, or lost what
        # was signed.
        signed = SignedHead.from_environment()
        await take_up(runtime.client, key, succession, datetime.now(UTC), signed)
        log = EpisodeLog(
            runtime.client, key, sealed_from=succession.sealed_from(key), signed=signed
        )
        await log.check()
        closings = Closings(
            Decisions(DecisionLog(runtime.client), FOLDS), SeenCalls(runtime.client)
        )
        outbox = SealingOutbox(
            runtime.client, log, DeadLetters(runtime.client, NAME), closings=closings
        )
        desk = await runtime.connections.nats("desk")
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
