"""Requests to people about a call: what a policy asks, and the document that binds an answer to exactly this call."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lictor_guard.facts.session_facts import Identity
from lictor_guard.plugins.tool_call import Call
from lictor_guard.plugins.tool_policy import PeopleAsked
from lictor_schema.approvals.call_approval import (
    CallApprovalRequest,
    CallBinding,
    asks_hash,
    params_hash,
    resources_hash,
)
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.time import SECOND_US, from_micros
from lictor_schema.sessions.session_questions import CallAsk

MAX_ASKS = 64
MAX_WAITING = 256


@dataclass(frozen=True)
class PolicyAsk:
    """A policy that lets a call be made only if people say so."""

    ask: CallAsk
    max_waiting: int
    """So many calls of a session that it asks about may wait."""


def policy_ask(policy_id: str, reason: str, people: PeopleAsked) -> PolicyAsk:
    """What a policy asks, checked; ValidationError or ValueError for what can't be asked."""
    if not 1 <= people.max_waiting <= MAX_WAITING:
        raise ValueError(f"max_waiting is {people.max_waiting}; give 1 to {MAX_WAITING}")
    ask = CallAsk(
        policy_id=policy_id,
        reason=reason,
        approvers=people.approvers,
        needed=people.needed,
        decide_within_s=people.decide_within_s,
        use_within_s=people.use_within_s,
        remember=people.remember,
        pauses_deadline=people.pauses_deadline,
    )
    return PolicyAsk(ask, people.max_waiting)


def call_request(
    call: Call, asks: Sequence[PolicyAsk], identity: Identity, number: int, at_us: int
) -> CallApprovalRequest:
    """The request about a call; CanonicalError for parameters that have no one form to be hashed in."""
    asked = tuple(each.ask for each in asks)
    params = dict(call.params)
    within_s = min(each.decide_within_s for each in asked)
    return CallApprovalRequest.of(
        CallBinding(
            runtime=identity.runtime,
            session_id=identity.session_id,
            task_id=identity.task_id,
            agent_id=call.agent_id,
            definition=identity.definition,
            definition_hash=identity.definition_hash,
            tool=call.tool,
            params_hash=params_hash(params),
            resources_hash=resources_hash(call.resources),
            asks_hash=asks_hash(asked),
            number=number,
        ),
        call_id=call.call_id,
        params=params,
        resources=call.resources,
        asks=asked,
        requested_at=utc_millis(from_micros(at_us)),
        expires_at=utc_millis(from_micros(at_us + within_s * SECOND_US)),
    )


def request_hash(request: CallApprovalRequest) -> str:
    """Of the whole request, byte for byte as canonical JSON has it."""
    return content_hash(request.model_dump(mode="json"))


def ask_hashes(asks: Iterable[CallAsk]) -> tuple[str, ...]:
    """What each policy asked, why, and who decides."""
    return tuple(content_hash(each.model_dump(mode="json")) for each in asks)


def same_people(ask: CallAsk, approved: CallAsk) -> bool:
    """Whether two asks are one policy's and leave it to the same people, whatever each was about."""
    return (ask.policy_id, ask.approvers, ask.needed) == (
        approved.policy_id,
        approved.approvers,
        approved.needed,
    )
