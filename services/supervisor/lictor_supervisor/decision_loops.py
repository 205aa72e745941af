"""Governed decisions on the bus: the gate and the questions about them, their timers, and the drift they show."""

import os
from collections.abc import Sequence

from lictor_bus.fold.entity_timers import EntityTimers
from lictor_bus.gates.gate_runner import GateRunner
from lictor_bus.logs.allowed_calls import SeenCalls
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.logs.governed_decisions import Decisions
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, ServiceRuntime, StreamChannel
from lictor_contracts.action.verification import METHODS, Methods
from lictor_schema.contracts.decision_log import AnyDecisionEntry
from lictor_schema.gates.gate_record import ActionGateRecord
from lictor_supervisor import FORMERLY
from lictor_supervisor.decision.answers import ContractAnswers
from lictor_supervisor.decision.desk import FOLDS, ContractDesk
from lictor_supervisor.decision.envelopes_in_force import EnvelopesInForce
from lictor_supervisor.drift.sightings import BELL, LOGS, SightingOutbox, SightingProcessor

STREAMS = (
    streams.ACTIONS,
    streams.TIMERS,
    streams.GATES,
    streams.SESSIONS,
    streams.EVENTS,
    streams.PACKS,
)
CHANNELS = (
    StreamChannel(
        subject=subjects.DECISION_LOG.pattern,
        message=AnyDecisionEntry,
        description="The logs of governed decisions, and `switch`, that of the kill-switch (stream ACTIONS).",
        reads=True,
    ),
    StreamChannel(
        subject=subjects.GATED.documented(gate="action"),
        message=ActionGateRecord,
        description="Denials of the action gate that stand in no decision's log (stream GATES).",
        reads=False,
    ),
)
# Questions about one decision wait for each other, and must not keep those about another waiting.
_AT_ONCE = 256


async def governing_loops(
    runtime: ServiceRuntime, methods: Methods = METHODS
) -> Sequence[Runnable]:
    """Answers, ticks and sightings."""
    client = await runtime.connections.nats("contracts")
    decisions = Decisions(DecisionLog(client), FOLDS)
    envelopes = EnvelopesInForce(
        client,
        partitions=runtime.settings.partitions,
        pin=os.environ.get("LICTOR_PACK_PIN") or None,
        methods=methods.names,
    )
    seen = SeenCalls(client)
    desk = ContractDesk(client, decisions, envelopes, methods, seen)
    return [
        runtime.worker(
            streams.ACTIONS,
            LOGS,
            SightingProcessor(),
            SightingOutbox(runtime.client),
            partition="sightings",
            formerly=FORMERLY,
        ),
        EntityTimers(
            runtime.client,
            BELL,
            desk.tick,
            dead=DeadLetters(runtime.client, runtime.service, formerly=FORMERLY),
            telemetry=runtime.telemetry,
        ),
        GateRunner(
            client,
            runtime.service,
            ContractAnswers(desk).bound(),
            runtime.telemetry,
            at_once=_AT_ONCE,
        ),
    ]
