"""A tool call that waits for people, and what they say, for tests."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from approval_samples import ALICE, BOB, LIMITS, NOW

from lictor_approval.call_decisions import latest_use
from lictor_approval.decision_validity import decided, requested
from lictor_approval.request_life import RequestLife, after, folded
from lictor_approval.signed_decisions import Approvers, sign_decision
from lictor_schema.approvals.approval import ApprovalDecision
from lictor_schema.approvals.call_approval import (
    CallApprovalRequest,
    CallBinding,
    asks_hash,
    params_hash,
    resources_hash,
)
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.sessions.session_questions import CallAsk, Resource
from lictor_seal import KeyGroup, SigningKey, TrustStore

CAROL = SigningKey.from_seed("carol@example.org", b"c" * 32)
DAVE = SigningKey.from_seed("dave@example.org", b"d" * 32)
AGENT = SigningKey.from_seed("agent-7", b"7" * 32)
EVERYBODY = (ALICE, BOB, CAROL, DAVE, AGENT)
GROUPS = (
    KeyGroup("finance", (ALICE.name, BOB.name)),
    KeyGroup("security", (CAROL.name, "nobody@example.org")),
)
PEOPLE = Approvers(
    TrustStore(TrustStore.of([key.verifying_key for key in EVERYBODY]).keys, groups=GROUPS)
)
"""Alice and Bob are finance, Carol is security, Dave is in no group, and the agent has a key."""
SOON = NOW + timedelta(seconds=2)
PARAMS = {"to": "bob@example.org", "amount": 5}


def ask(**changes: Any) -> CallAsk:
    """What one policy asks: anybody, once."""
    fields: dict[str, Any] = {
        "policy_id": "policy.pay",
        "reason": "money leaves the house",
        "decide_within_s": 86_400,
        "use_within_s": 3_600,
    }
    return CallAsk(**{**fields, **changes})


def call_request(
    *asks: CallAsk, number: int = 1, at: datetime = NOW, **changes: Any
) -> CallApprovalRequest:
    """The request about a payment."""
    asked = asks or (ask(),)
    params = changes.pop("params", PARAMS)
    resources: tuple[Resource, ...] = changes.pop("resources", ())
    call_id = changes.pop("call_id", "c-1")
    within = timedelta(seconds=min(each.decide_within_s for each in asked))
    binding: dict[str, Any] = {
        "runtime": "python",
        "session_id": "s-1",
        "task_id": "t-1",
        "agent_id": "agent-7",
        "definition": "payer",
        "definition_hash": content_hash("payer"),
        "tool": "pay",
        "params_hash": params_hash(params),
        "resources_hash": resources_hash(resources),
        "asks_hash": asks_hash(asked),
        "number": number,
    }
    return CallApprovalRequest.of(
        CallBinding(**{**binding, **changes}),
        call_id=call_id,
        params=params,
        resources=resources,
        asks=asked,
        requested_at=utc_millis(at),
        expires_at=utc_millis(at + within),
    )


def said(
    request: CallApprovalRequest, key: SigningKey = ALICE, what: str = "approve", **changes: Any
) -> str:
    """What somebody signs about it, a second after it was asked about."""
    at: datetime = changes.pop("at", NOW + timedelta(seconds=1))
    fields: dict[str, Any] = {
        "request_id": request.request_id,
        "binding_hash": request.binding_hash,
        "decision": what,
        "by": key.name,
        "decided_at": utc_millis(at),
        "expires_at": latest_use(request),
        "nonce": "00000000-0000-4000-8000-000000000001",
        "reason": "looked at it",
    }
    return sign_decision(ApprovalDecision(**{**fields, **changes}), key)


def open_call(*asks: CallAsk, **changes: Any) -> RequestLife:
    """A call that waits."""
    life = folded([requested(call_request(*asks, **changes))])
    assert life is not None
    return life


def handed_in(
    life: RequestLife, *notes: str, approvers: Approvers = PEOPLE, now: datetime = SOON
) -> RequestLife:
    """The request after these decisions."""
    for note in notes:
        life = after(life, decided(life, note, approvers, now, LIMITS))
    return life


def trusting(keys: Iterable[SigningKey]) -> Approvers:
    """Approvers with the same groups and other keys."""
    store = TrustStore.of([key.verifying_key for key in keys])
    return Approvers(TrustStore(store.keys, groups=GROUPS))
