"""The watch over sessions: DECISIONS in, `watchdog_fired` events out.

One more fold beside those of the partitions. It reads every decision in the one order they are stored in, each by the
configuration that made it, so a restart or a fold from the start comes to the same. What it says is an event among
the others, with an id that follows from its cause: said twice, it is refused the second time.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime

from nats.aio.client import Client

from lictor_bus.errors import BusError, MessageRefused, StaleState
from lictor_bus.fold.processor import Parsed, Sourced, Stepped, leading_format, refuse_newer_state
from lictor_bus.fold.timers import Timer
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, ServiceRuntime
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_policy.conditions.session_conditions import (
    FORMAT,
    SessionDecision,
    SessionPlan,
    SessionState,
    watchdog_event,
)
from lictor_policy.errors import PackError, TaskStateError
from lictor_policy.task.obligation_transitions import RUNTIME
from lictor_policy_evaluator.packs.partition_configs import Library
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import Disposition
from lictor_schema.packs.temporal_conditions import MAX_WINDOW_S

log = logging.getLogger("lictor.policy-evaluator")

# No window reaches further back than this, so a session that was quiet for so long may be forgotten.
KEEP_SESSIONS_S = MAX_WINDOW_S

FindPlan = Callable[[str], Awaitable[SessionPlan | None]]
"""What a configuration, named by its hash, asks about sessions; None when nobody knows it."""

# In a record the quotes within a text are escaped, so this is the field and nothing else.
_CONFIG_HASH = re.compile(rb'"config_hash":"(sha256:[0-9a-f]{64})"')


class SessionPlans:
    """The plan for each decision, found before it is folded; decisions by packs that ask nothing are left out."""

    def __init__(self, find: FindPlan) -> None:
        self._find = find
        self._plans: dict[str, SessionPlan | None] = {}

    async def begin(self) -> None:
        """Nothing is steered but by the decisions themselves."""

    async def sift(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """The decisions that count for some session."""
        return [each for each in deliveries if await self._plan_of(each) is not None]

    def at(self, config_hash: str) -> SessionPlan:
        """The plan of a configuration that was met."""
        plan = self._plans.get(config_hash)
        if plan is None:
            raise LookupError(f"no plan was found for configuration {config_hash}")
        return plan

    async def _plan_of(self, delivery: Delivery) -> SessionPlan | None:
        found = _CONFIG_HASH.search(delivery.body)
        if found is None:
            return None
        config_hash = found[1].decode()
        if config_hash not in self._plans:
            plan = await self._find(config_hash)
            if plan is None:
                log.warning(
                    "DECISIONS %d was decided by configuration %s, which is not to be found;"
                    " its decisions count for no session",
                    delivery.sequence,
                    config_hash,
                )
            self._plans[config_hash] = plan if plan is not None and plan.questions else None
        return self._plans[config_hash]


class SessionProcessor:
    """The fold of sessions, as the batch loop sees it."""

    def __init__(self, plan_at: Callable[[str], SessionPlan]) -> None:
        self._plan_at = plan_at

    def parse(self, delivery: Delivery) -> Parsed[SessionDecision]:
        """A decision record to what it says about its session."""
        try:
            record = json.loads(delivery.body)
            told = SessionDecision(
                record_id=record["record_id"],
                session_id=record.get("session_id") or record["correlation_id"],
                task_id=record["task_id"],
                agent_id=record["agent_id"],
                correlation_id=record["correlation_id"],
                runtime=record["runtime"],
                event_type=record["event_type"],
                disposition=Disposition(record["decision"]["decision"]),
                recorded_us=to_micros(datetime.fromisoformat(record["recorded_at"])),
                config_hash=record["config_hash"],
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise MessageRefused(
                f"not a decision record: {error!r}",
                remedy="let only the evaluator publish under lictor.dec",
            ) from None
        return Parsed(subjects.token(told.session_id), told.record_id, told)

    def step(
        self, state: SessionState | None, message: Parsed[SessionDecision], delivery: Delivery
    ) -> Stepped[SessionState, Outgoing]:
        """One decision; an event for every condition that came true by it."""
        del delivery
        told = message.value
        after, fired = self._plan_at(told.config_hash).fold(state, told)
        return Stepped(
            after,
            # Without a message id: it could be foreseen, and whoever used it first would silence the watch.
            tuple(
                Outgoing(subjects.event(RUNTIME, told.task_id), watchdog_event(told, question))
                for question in fired
            ),
            "session_told" if fired else "session_counted",
            KEEP_SESSIONS_S,
        )

    def timers(
        self, before: SessionState | None, after: SessionState, certain: bool
    ) -> Sequence[Timer]:
        """Sessions are not waited for."""
        del before, after, certain
        return ()

    def decode_state(self, raw: bytes) -> SessionState:
        """Bytes from the store to state."""
        try:
            return SessionState.decode(raw)
        except TaskStateError as error:
            refuse_newer_state("session states", leading_format(raw), FORMAT)
            raise StaleState(str(error)) from None

    def encode_state(self, state: SessionState) -> bytes:
        """State to bytes for the store."""
        return state.encode()


class EventOutbox:
    """Publishes events of our own; one that is there already is refused by the fold of its task."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:
        """Not known, and not needed."""
        del keys
        return {}

    async def publish(self, outputs: Sequence[Sourced[Outgoing]]) -> None:
        """Store the events."""
        for sourced in outputs:
            await publish_one(self._client, streams.EVENTS, sourced.output)


class SessionWatch:
    """Runs the fold of sessions from when some pack asks about sessions on; without, it costs nothing."""

    def __init__(self, asked: asyncio.Event, worker: Runnable) -> None:
        self._asked = asked
        self._worker = worker
        self._stopping = asyncio.Event()

    @property
    def trouble(self) -> str | None:
        """What keeps it from working."""
        return self._worker.trouble if self._asked.is_set() else None

    def stop(self) -> None:
        """Finish what is in hand, then return from ``run``."""
        self._stopping.set()
        self._worker.stop()

    async def run(self) -> None:
        """Wait until somebody asks, then work until stopped."""
        waits = [asyncio.create_task(each.wait()) for each in (self._asked, self._stopping)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not self._stopping.is_set():
            await self._worker.run()


def session_watch(runtime: ServiceRuntime, library: Library) -> SessionWatch:
    """The watch of this installation."""

    async def find(config_hash: str) -> SessionPlan | None:
        try:
            config = await library.find(config_hash, runtime.settings.partitions)
        except PackError as error:
            raise BusError(
                f"the packs of configuration {config_hash} don't load with this engine: {error}"
            ) from error
        return None if config is None else config.sessions

    plans = SessionPlans(find)
    worker = runtime.worker(
        streams.DECISIONS,
        subjects.DECISION.any,
        SessionProcessor(plans.at),
        EventOutbox(runtime.client),
        steering=plans,
    )
    return SessionWatch(library.asks_sessions, worker)
