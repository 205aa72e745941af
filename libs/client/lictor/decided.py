"""Decisions as they are stored: on events, and on the calls and stops of guarded sessions."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from nats.aio.client import Client
from pydantic import ValidationError

from lictor.follow import follow
from lictor_bus import streams, subjects
from lictor_schema import CanonicalError, DecisionRecord, GuardDecision

log = logging.getLogger("lictor.client")

AnyDecision = DecisionRecord | GuardDecision

ON_EVENTS = "lictor.dec.*.*"
_ALL = "lictor.dec.>"
_TOKENS_OF_GUARDS = 5


async def follow_decisions(
    client: Client, task_id: str | None, *, of_guards_too: bool, since_start: bool
) -> AsyncGenerator[AnyDecision, None]:
    """Decisions on one task or on all, for ever; what this version can't read is left out and told."""
    subject = _ALL if of_guards_too else ON_EVENTS
    if task_id is not None and not of_guards_too:
        subject = subjects.decisions_on_task(task_id)
    wanted = None if task_id is None else subjects.token(task_id)
    stored = follow(client, streams.DECISIONS, subject, from_start=since_start)
    async with aclosing(stored):
        async for delivery in stored:
            if wanted is not None and delivery.subject.rpartition(".")[2] != wanted:
                continue
            of_guard = delivery.subject.count(".") + 1 == _TOKENS_OF_GUARDS
            try:
                yield (GuardDecision if of_guard else DecisionRecord).from_json(delivery.body)
            except (ValidationError, CanonicalError):
                log.warning(
                    "message %d of %s is not a decision this version can read; left out",
                    delivery.sequence,
                    streams.DECISIONS,
                )
