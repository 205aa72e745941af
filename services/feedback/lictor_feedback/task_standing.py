"""Asking the policy evaluator how a session's task stands."""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import logging
import uuid

from nats.aio.client import Client
from nats.errors import Error as NatsError
from pydantic import ValidationError

from lictor_bus.names import subjects
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.core.time import from_micros
from lictor_schema.gates.task_standing import StandingRequest, TaskStanding

log = logging.getLogger("lictor.feedback.standing")

ASK_WITHIN_S = 0.5


async def ask_standing(
    client: Client,
    *,
    runtime: str,
    task_id: str,
    agent_id: str,
    now_us: int,
    within_s: float = ASK_WITHIN_S,
) -> TaskStanding | None:
    """How the task stands; None when nobody answers in time, or not to this question."""
    request = StandingRequest(
        request_id=str(uuid.uuid4()),
        runtime=runtime,
        agent_id=agent_id,
        task_id=task_id,
        requested_at=from_micros(now_us),
    )
    try:
        reply = await client.request(subjects.STANDING, request.to_json(), timeout=within_s)
        standing = TaskStanding.from_json(reply.data)
    except (NatsError, OSError, TimeoutError) as error:
        log.warning("the standing of task %s is not known: %s", task_id, type(error).__name__)
        return None
    except (ValidationError, CanonicalError) as error:
        log.warning("the standing of task %s can't be read: %s", task_id, error)
        return None
    if standing.request_id != request.request_id:
        log.warning("the standing of task %s: %s", task_id, standing.problem or "a stray answer")
        return None
    return standing
