"""The feedback service on the bus: sessions' questions in, their logs, decisions and guidance out."""

import os
from collections.abc import Sequence

from nats.aio.msg import Msg

from lictor_bus.errors import BusError
from lictor_bus.fold.entity_timers import EntityTimers
from lictor_bus.gates.denials import FEEDBACK
from lictor_bus.gates.desk import HALT, HALT_NEWS
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec, StreamChannel
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.quick_redis import QuickRedis
from lictor_feedback import __version__
from lictor_feedback.definition_shelf import DefinitionShelf, Installation
from lictor_feedback.halt.desk import HaltDesk
from lictor_feedback.halt.read_position import ReadPosition
from lictor_feedback.halt.watch import HaltWatch
from lictor_feedback.projectors import BELL, projectors
from lictor_feedback.session.approvals import ApprovalReader, TrustedApprovers
from lictor_feedback.session.engine import Engine
from lictor_feedback.session.log import SessionLog
from lictor_feedback.session.questions import SessionQuestions, Sessions
from lictor_feedback.session.replies import SessionReplies
from lictor_feedback.session.server_age import ServerAge
from lictor_feedback.session.store import WITHIN_S, SessionStore
from lictor_feedback.task_standing import ask_standing
from lictor_guard.errors import DefinitionError
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.gates.gate_record import SessionGateRecord
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.halt import HaltEntry
from lictor_schema.sessions.session_log import AnySessionEntry, SessionBegun

NAME = FEEDBACK
# Allowed calls are answered in less than a tenth of the time that it takes to write one down.
RECORDS_LINGER_S = 0.05
# Changes of one session wait for each other, and must not keep those of another waiting.
QUESTIONS_AT_ONCE = 256

SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Gates tool calls and stops of guarded sessions, and guides their agents in between.",
    streams=(
        streams.SESSIONS,
        streams.DEFINITIONS,
        streams.GUIDANCE,
        streams.DECISIONS,
        streams.TIMERS,
        streams.GATES,
        streams.ACTIONS,
    ),
    channels=(
        StreamChannel(
            subject=subjects.SESSION_LOG.pattern,
            message=AnySessionEntry,
            description="The logs of sessions: everything that changed one, in order (stream SESSIONS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.HALTS,
            message=HaltEntry,
            description="Operators' orders to halt sessions, and to let them go on (stream SESSIONS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.GUIDANCE.pattern,
            message=StampedFeedback,
            description="Feedback, when it is raised (stream GUIDANCE).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.GUARD_DECISION.pattern,
            message=GuardDecision,
            description="Denied calls, blocked stops, bypasses and escalations (stream DECISIONS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.GUARD_REFUSAL.pattern,
            message=GuardDecision,
            description="Denials that stand in no session's log (stream DECISIONS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.GATED.pattern,
            message=SessionGateRecord,
            description="Allowed calls, those that people are asked about, and refusals that belong to no session"
            " (stream GATES).",
            reads=False,
        ),
    ),
)


async def make_engine(
    runtime: ServiceRuntime, client: TolerantClient, sessions: Sessions
) -> tuple[Engine, HaltWatch]:
    """The sessions of this instance, and what is halted, on a connection to the store of their own."""
    age = ServerAge()
    url = runtime.settings.redis_url
    redis = await runtime.connections.redis(age.on_connect)
    quick = QuickRedis(url, age.met, WITHIN_S) if QuickRedis.can_reach(url) else None

    async def tell_doubt(key: str) -> None:
        await client.publish(subjects.SESSION_DOUBT, key.encode())
        await client.flush()

    engine = Engine(
        SessionLog(client),
        SessionStore(redis, age, quick, tags=runtime.tags()),
        sessions.pinned_to,
        tell_doubt=tell_doubt,
    )
    runtime.connections.at_end(engine.close)

    async def on_doubt(message: Msg) -> None:
        engine.doubt(message.data.decode("utf-8", "replace"))

    await client.subscribe_surely(subjects.SESSION_DOUBT, cb=on_doubt)
    return engine, HaltWatch(client, ReadPosition(redis, age, quick, runtime.tags()))


async def make_loops(
    runtime: ServiceRuntime, installation: Installation, approvers: TrustedApprovers
) -> Sequence[Runnable]:
    """Everything that runs: answers, projectors, ticks."""
    client = await runtime.connections.nats("gates")
    shelf = DefinitionShelf(client, installation)
    try:
        await shelf.open()
    except DefinitionError as error:
        raise BusError(str(error)) from None
    sessions = Sessions(shelf)

    async def standing(begun: SessionBegun, now_us: int) -> TaskStanding | None:
        return await ask_standing(
            client,
            runtime=begun.runtime,
            task_id=begun.task_id,
            agent_id=begun.agent_id,
            now_us=now_us,
        )

    engine, watch = await make_engine(runtime, client, sessions)
    approvals = ApprovalReader(client, approvers).read
    desk = SessionQuestions(engine, sessions, standing, watch, approvals)
    orders = HaltDesk(client, engine, sessions, watch)
    gates = GateRunner(
        client,
        NAME,
        (
            *SessionReplies(desk).bound(),
            BoundGate(gate=HALT, handle=orders.order),
            BoundGate(gate=HALT_NEWS, handle=orders.news),
        ),
        runtime.telemetry,
        at_once=QUESTIONS_AT_ONCE,
        records_linger_s=RECORDS_LINGER_S,
    )
    ticks = EntityTimers(
        runtime.client,
        BELL,
        desk.tick,
        dead=DeadLetters(runtime.client, NAME),
        telemetry=runtime.telemetry,
    )
    return [*projectors(runtime, shelf.name_of), ticks, watch, gates]


def make_service() -> Service:
    """The feedback service with the definitions of this installation; one that can't be used stops it here."""
    try:
        installation = Installation.from_environment(os.environ)
    except DefinitionError as error:
        raise BusError(str(error)) from None
    approvers = TrustedApprovers.from_environment(os.environ)

    async def loops(runtime: ServiceRuntime) -> Sequence[Runnable]:
        return await make_loops(runtime, installation, approvers)

    return Service(spec=SPEC, loops=loops, detail=f"{installation.told}; {approvers.told}")
