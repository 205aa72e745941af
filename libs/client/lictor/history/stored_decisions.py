"""Decisions as they are stored: on events, and on the calls and stops of guarded sessions."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime

from nats.aio.client import Client
from pydantic import ValidationError

from lictor.history.id_prefixes import SHORTEST, one_of
from lictor.history.stored_history import StoredHistory, messages_of
from lictor.history.stream_contents import extent, latest, stored
from lictor_bus.gates.history import DECISIONS
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.guard_decision import GuardDecision

log = logging.getLogger("lictor.client")

AnyDecision = DecisionRecord | GuardDecision

ON_EVENTS = subjects.DECISION.any
ALL = subjects.DECISION.all
_TOKENS_OF_GUARDS = len(subjects.DECISION_OF_GATE.pattern.split("."))


def read_decision(delivery: Delivery) -> AnyDecision | None:
    """The decision in a stored message; None, and told, for what this version can't read."""
    of_guard = delivery.subject.count(".") + 1 == _TOKENS_OF_GUARDS
    try:
        return (GuardDecision if of_guard else DecisionRecord).from_json(delivery.body)
    except (ValidationError, CanonicalError):
        log.warning(
            "message %d of %s is not a decision this version can read; left out",
            delivery.sequence,
            streams.DECISIONS,
        )
        return None


async def latest_decisions(
    client: Client, task_id: str | None = None, since: datetime | None = None
) -> AsyncGenerator[AnyDecision, None]:
    """Decisions on events, calls and stops, on one task or on all, the newest first."""
    found = (
        latest(client, streams.DECISIONS, ALL, since=since)
        if task_id is None
        else _latest_on_task(client, task_id, since)
    )
    async with aclosing(found):
        async for delivery in found:
            if record := read_decision(delivery):
                yield record


async def _latest_on_task(
    client: Client, task_id: str, since: datetime | None
) -> AsyncGenerator[Delivery, None]:
    upto = (await extent(client, streams.DECISIONS)).last_sequence
    on_events = subjects.decisions_on_task(task_id)
    of_guards = subjects.DECISION_OF_GATE.where(task=subjects.token(task_id))
    found = [
        delivery
        for subject in (on_events, of_guards)
        async for delivery in stored(client, streams.DECISIONS, subject, upto, since=since)
    ]
    for delivery in sorted(found, key=lambda each: -each.sequence):
        yield delivery


async def decision_named(client: Client, given: str, task_id: str | None = None) -> AnyDecision:
    """A decision by its id, or by the first characters of it; raises when there is none, or several."""
    matching: dict[str, AnyDecision] = {}
    if len(given) >= SHORTEST:
        found = latest_decisions(client, task_id)
        async with aclosing(found):
            async for record in found:
                if record.record_id.startswith(given):
                    matching[record.record_id] = record
                if record.record_id == given:
                    break
    what = "decision" if task_id is None else f"decision on task {task_id}"
    return matching[one_of(given, matching, what, "lictor decision list")]


async def follow_decisions(
    history: StoredHistory, task_id: str | None, *, of_guards_too: bool, since_start: bool
) -> AsyncGenerator[AnyDecision, None]:
    """Decisions on one task or on all, for ever; what this version can't read is left out and told."""
    only = messages_of(task_id=task_id, with_gates=of_guards_too)
    found = history.follow(DECISIONS, only, from_start=since_start)
    async with aclosing(found):
        async for delivery in found:
            if record := read_decision(delivery):
                yield record
