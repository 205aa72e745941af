"""The policy evaluator on the bus: EVENTS in, DECISIONS out, timers in between. The only file with a broker in it."""

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from lictor_bus.errors import BusError, MessageRefused, StaleState
from lictor_bus.fold.processor import (
    Parsed,
    Stepped,
    StreamOutbox,
    leading_format,
    read_or_refuse,
    refuse_newer_state,
)
from lictor_bus.fold.tick_relay import TickRelay
from lictor_bus.fold.timers import CancelTimer, SetTimer, Timer
from lictor_bus.gate import printable
from lictor_bus.gates import desk, task
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec, StreamChannel
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing
from lictor_policy.errors import PackError, TaskStateError, UnacceptableEvent
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import KEEP_CLOSED_TASKS_S, EventPosition, PastDecision, fold_event
from lictor_policy.packs.bundle import Bundled, bundle_directory
from lictor_policy.packs.envelopes import refuse_unverifiable
from lictor_policy.task.obligation_transitions import RUNTIME
from lictor_policy.task.state import FORMAT, TaskState
from lictor_policy.task.timers import (
    SetReportingTimer,
    TimerKind,
    TimerOrder,
    all_timer_orders,
    timer_orders,
)
from lictor_policy_evaluator import __version__
from lictor_policy_evaluator.decisions.marks import Marks
from lictor_policy_evaluator.decisions.past_decisions import PastDecisions, event_sequence
from lictor_policy_evaluator.decisions.receipts import Receipts
from lictor_policy_evaluator.gates import Gates
from lictor_policy_evaluator.packs.configs_in_force import ConfigsInForce
from lictor_policy_evaluator.packs.engine_overtaking import Overtaking
from lictor_policy_evaluator.packs.partition_configs import Library, PartitionConfigs
from lictor_policy_evaluator.packs.release_follower import (
    ReleaseFollower,
    ReleaseSource,
    refuse_unpinned,
)
from lictor_policy_evaluator.session_watch import session_watch
from lictor_policy_evaluator.task.current_state import TaskStates
from lictor_policy_evaluator.task.standing import Standings, explain
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.mark import DecisionMark
from lictor_schema.decisions.receipt import ReceiptReport
from lictor_schema.errors import FieldProblem
from lictor_schema.events.event import MAX_EVENT_BYTES, Event, parse_event
from lictor_schema.gates.gate_record import GateRecord

log = logging.getLogger("lictor.policy-evaluator")

NAME = "policy-evaluator"
# Larger than any honest report; what is larger is kept whole in the dead-letter stream.


class EvaluatorProcessor:
    """The pure core, as the batch loop sees it."""

    def __init__(
        self,
        config_at: Callable[[int], EvaluatorConfig],
        decided: Callable[[int], PastDecision | None] = lambda _sequence: None,
    ) -> None:
        self._config_at = config_at
        self._decided = decided

    def parse(self, delivery: Delivery) -> Parsed[Event]:
        """Bytes to an event of the task that the subject names."""
        if len(delivery.body) > MAX_EVENT_BYTES:
            raise _refused(
                "payload",
                f"the event has {len(delivery.body)} bytes, more than {MAX_EVENT_BYTES}",
                "attach large content by reference (evidence_refs), not in the payload",
            )
        event = read_or_refuse(
            parse_event, delivery.body, "correct the named fields and publish the event again"
        )
        runtime, task = delivery.subject.split(".")[-2:]
        if subjects.token(event.task_id) != task:
            raise _refused(
                "task_id",
                f"{event.task_id!r} is not the task of subject {delivery.subject}",
                "publish each event on the subject of its own task",
            )
        if subjects.token(event.runtime) != runtime:
            raise _refused(
                "runtime",
                f"{event.runtime!r} is not the runtime of subject {delivery.subject}",
                "publish each event on the subject of its own runtime",
            )
        # Each runtime has ids of its own, ours too: else an agent could use up the id that the event of its own
        # overdue checkpoint is going to have.
        return Parsed(task, f"{runtime}:{event.event_id}", event)

    def step(
        self, state: TaskState | None, message: Parsed[Event], delivery: Delivery
    ) -> Stepped[TaskState, Outgoing]:
        """One event, one decision record."""
        position = EventPosition(
            delivery.sequence,
            delivery.stored_at_ns // 1000,
            "sha256:" + hashlib.sha256(delivery.body).hexdigest(),
        )
        try:
            config, decided = self._config_at(delivery.sequence), self._decided(delivery.sequence)
            outcome = fold_event(state, message.value, position, config, decided)
        except UnacceptableEvent as error:
            raise _refused(error.field, error.problem, error.remedy) from None
        disposition = outcome.verdict.disposition.value
        return Stepped(
            outcome.state,
            (
                Outgoing(
                    # For the runtime whose task it is, whoever reported the event.
                    subjects.DECISION.at(
                        subjects.token(outcome.state.runtime), disposition, message.key
                    ),
                    outcome.record_json,
                    outcome.record_id,
                ),
            ),
            disposition,
            KEEP_CLOSED_TASKS_S if outcome.state.closed else 0,
            outcome.uses,
        )

    def timers(self, before: TaskState | None, after: TaskState, certain: bool) -> Sequence[Timer]:
        """The task's timers, as far as they changed."""
        orders = timer_orders(before, after) if certain else all_timer_orders(after)
        return [_bus_timer(after.task_id, order) for order in orders]

    def decode_state(self, raw: bytes) -> TaskState:
        """Bytes from the store to state."""
        try:
            return TaskState.decode(raw)
        except TaskStateError as error:
            refuse_newer_state("task states", leading_format(raw), FORMAT)
            raise StaleState(str(error)) from None

    def encode_state(self, state: TaskState) -> bytes:
        """State to bytes for the store."""
        return state.encode()


def _bus_timer(task_id: str, order: TimerOrder) -> Timer:
    if isinstance(order, SetReportingTimer):
        message = Outgoing(
            subjects.event(RUNTIME, task_id),
            order.event_json(),
            subjects.event_message_id(RUNTIME, task_id, order.event_id),
        )
        return SetTimer(order.kind.value, task_id, order.due, message)
    return CancelTimer(order.kind.value, task_id)


def _refused(field: str, problem: str, remedy: str) -> MessageRefused:
    return MessageRefused(
        f"{field}: {problem}",
        remedy=remedy,
        problems=(FieldProblem(path=field, problem=printable(problem)[:1000], excerpt=""),),
    )


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Judges canonical events by policy packs: exactly one decision record per event.",
    streams=(
        streams.EVENTS,
        streams.DECISIONS,
        streams.TIMERS,
        streams.GATES,
        streams.RECEIPTS,
        streams.MARKS,
        streams.PACKS,
    ),
    channels=(
        StreamChannel(
            subject=subjects.EVENT.pattern,
            message=Event,
            description="Canonical reporting events (stream EVENTS).",
            reads=True,
        ),
        StreamChannel(
            subject=subjects.DECISION.pattern,
            message=DecisionRecord,
            description="One decision record per evaluated event (stream DECISIONS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.GATED.pattern,
            message=GateRecord,
            description="Every answer of a gate, with its question (stream GATES).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.RECEIPT.pattern,
            message=ReceiptReport,
            description="What became of decisions (stream RECEIPTS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.MARK.pattern,
            message=DecisionMark,
            description="What operators say about decisions (stream MARKS).",
            reads=False,
        ),
    ),
)


async def make_gates(
    runtime: ServiceRuntime, library: Library, started_with: EvaluatorConfig
) -> GateRunner:
    """The gates, the standings and the receipts, on connections of their own.

    So a rush of questions takes none from the workers, neither to the broker nor to the store.
    """
    client = await runtime.connections.nats("gates")
    redis = await runtime.connections.redis()
    settings = runtime.settings
    tasks = TaskStates(
        client,
        redis,
        service=NAME,
        partitions=settings.partitions,
        tags=runtime.tags(),
    )
    configs = ConfigsInForce(client, library, started_with)
    receipts = Receipts(client, configs, partitions=settings.partitions)
    gates = (
        *Gates(tasks, partitions=settings.partitions, configs=configs).bound(),
        BoundGate(gate=task.RECEIPT, handle=receipts.take),
        BoundGate(gate=desk.MARK, handle=Marks(client, runtime.telemetry).take),
        BoundGate(gate=task.STANDING, handle=Standings(tasks).tell, explain=explain),
    )
    return GateRunner(client, NAME, gates, runtime.telemetry)


def pack_directory() -> Path:
    """Where the packs are: ``LICTOR_PACKS``, or the folder the services are started in."""
    return Path(os.environ.get("LICTOR_PACKS", "policy-packs"))


def chosen_profiles() -> list[str]:
    """The overlays to apply, in their order: ``LICTOR_PROFILES``, names between commas."""
    return [
        name.strip() for name in os.environ.get("LICTOR_PROFILES", "").split(",") if name.strip()
    ]


def make_service() -> Service:
    """The evaluator with the packs of this installation; a pack that does not load stops it here."""
    directory = pack_directory()
    try:
        bundled = bundle_directory(directory, chosen_profiles())
        refuse_unverifiable(bundled.config.envelopes)
    except PackError as error:
        raise BusError(str(error)) from None
    source = ReleaseSource.from_environment(os.environ)
    pin = os.environ.get("LICTOR_PACK_PIN") or None

    def tell(in_force: Bundled, why: str) -> None:
        service.config_hash = in_force.config.config_hash
        packs = ", ".join(pack.pack_id for pack in in_force.config.packs)
        service.detail = f"packs {packs}; {why}"

    async def loops(runtime: ServiceRuntime) -> Sequence[Runnable]:
        outbox = StreamOutbox(
            runtime.client,
            streams.DECISIONS,
            subjects.DECISION.where(task="{key}"),
            event_sequence,
            source=streams.EVENTS,
        )
        library = Library(runtime.client, os.environ.get("LICTOR_ENGINE_TAKES_BACK") or None)
        configs = [
            PartitionConfigs(
                runtime.client,
                partition,
                library,
                PastDecisions(runtime.client, partition, runtime.settings.partitions),
            )
            for partition in range(runtime.settings.partitions)
        ]
        chosen, why = bundled, f"started with the packs of {directory}"
        following: list[Runnable] = []
        if source is not None:
            follower = ReleaseFollower(
                runtime.client, source, library, configs, runtime.telemetry, tell
            )
            chosen, why = await follower.begin(bundled)
            following.append(follower)
        refuse_unpinned(chosen, pin)
        tell(chosen, why)
        for each in configs:
            each.want(chosen, why)
        workers = [
            runtime.worker(
                streams.EVENTS,
                subjects.events_of_partition(partition),
                EvaluatorProcessor(each.at, each.decided),
                outbox,
                partition=partition,
                steering=each,
            )
            for partition, each in enumerate(configs)
        ]

        relays = [
            TickRelay(
                runtime.client,
                kind.value,
                to_stream=streams.EVENTS,
                # Only what timers say: a tick must not be able to switch the configuration.
                to_prefix=subjects.EVENT.at(RUNTIME, ""),
                dead=DeadLetters(runtime.client, NAME),
                telemetry=runtime.telemetry,
            )
            for kind in TimerKind
        ]
        watch = session_watch(runtime, library)
        gates = await make_gates(runtime, library, chosen.config)
        overtaking = Overtaking(library, gates)
        return [*workers, *relays, *following, watch, gates, overtaking]

    service = Service(spec=SPEC, loops=loops, config_hash=bundled.config.config_hash)
    return service
