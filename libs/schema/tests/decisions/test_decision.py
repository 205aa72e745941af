"""Decisions, records and receipts say only what can be true."""

import json
from datetime import datetime
from itertools import pairwise, product

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.contracts.envelope import BlastRadius, Threshold
from lictor_schema.core.base_model import utc_millis
from lictor_schema.decisions.decision import (
    NO_RULE_MATCHED,
    Decision,
    DecisionRecord,
    Disposition,
    OperatorNotice,
    RequiredAction,
    Severity,
    SuggestedStatus,
)
from lictor_schema.decisions.receipt import (
    ALLOWED_DELIVERY_STATES,
    ActionName,
    BlockedAction,
    DeliveryReceipt,
    DeliveryState,
    ReceiptAction,
    ReceiptStatus,
)
from lictor_schema.events.claim import TaskStatus
from lictor_schema.events.evidence import Quality
from lictor_schema.json_schemas import json_schemas


def test_a_decision_has_eight_required_fields() -> None:
    assert len(Decision.model_fields) == 8
    assert all(field.is_required() for field in Decision.model_fields.values())


def test_the_safest_disposition_takes_precedence() -> None:
    assert sorted(Disposition, key=lambda d: d.precedence, reverse=True) == [
        "escalate",
        "block",
        "force_checkpoint",
        "downgrade_status",
        "require_review",
        "rewrite",
        "annotate_placeholder",
        "allow",
    ]


@pytest.mark.parametrize(
    ("scale", "ascending"),
    [
        (Quality, ["none", "weak", "moderate", "strong", "decisive"]),
        (Severity, ["info", "low", "medium", "high", "critical"]),
        (BlastRadius, ["tiny", "small", "medium", "large"]),
        (Threshold, ["none", "tiny", "small", "medium", "large"]),
        (DriftSeverity, ["green", "yellow", "red"]),
    ],
)
def test_ordered_values_have_rising_ranks(scale: type[Quality], ascending: list[str]) -> None:
    members = [scale(value) for value in ascending]
    assert list(scale) == members
    assert all(low.rank < high.rank for low, high in pairwise(members))


def test_a_threshold_is_exceeded_strictly_above() -> None:
    assert Threshold.SMALL.is_exceeded_by(BlastRadius.MEDIUM)
    assert not Threshold.SMALL.is_exceeded_by(BlastRadius.SMALL)
    assert Threshold.NONE.is_exceeded_by(BlastRadius.TINY)


def test_every_suggested_status_is_a_task_status() -> None:
    assert {status.value for status in SuggestedStatus} <= {status.value for status in TaskStatus}
    assert {s for s in TaskStatus if s.is_terminal} == {TaskStatus.FAILED, TaskStatus.COMPLETED}


def test_allow_demands_nothing() -> None:
    decision = Decision.allow()
    assert decision.policy_id == NO_RULE_MATCHED
    assert decision.required_actions == ()
    assert decision.operator_notice is None


def test_block_suggests_the_blocked_status() -> None:
    assert Decision.block("rule", "no anchor").suggested_status is SuggestedStatus.BLOCKED


def receipt(status: ReceiptStatus, state: DeliveryState, *, acted: bool = True) -> DeliveryReceipt:
    """A receipt with or without actions."""
    notify = ActionName.NOTIFY_OPERATOR
    blocked = BlockedAction(action=notify, mandatory=True, reason="no channel")
    return DeliveryReceipt(
        status=status,
        delivery_state=state,
        enforcement_intent=(ReceiptAction(action=notify, mandatory=True),) if acted else (),
        blocked_actions=(blocked,) if acted else (),
        operator_notice_required=True,
    )


@pytest.mark.parametrize(("status", "state"), [*product(ReceiptStatus, DeliveryState)])
def test_only_honest_combinations_of_status_and_delivery_state_exist(
    status: ReceiptStatus, state: DeliveryState
) -> None:
    if state in ALLOWED_DELIVERY_STATES[status]:
        assert receipt(status, state).delivery_state is state
    else:
        with pytest.raises(ValidationError, match=f"{state} does not go with status {status}"):
            receipt(status, state)


def test_the_table_of_combinations_has_eleven_entries() -> None:
    assert sum(map(len, ALLOWED_DELIVERY_STATES.values())) == 11


@pytest.mark.parametrize("status", [ReceiptStatus.PLANNED, ReceiptStatus.DEGRADED])
def test_partial_needs_something_blocked_and_something_intended(status: ReceiptStatus) -> None:
    with pytest.raises(ValidationError, match="partial needs both"):
        receipt(status, DeliveryState.PARTIAL, acted=False)


def test_the_json_schema_knows_the_receipt_table_too() -> None:
    schema = json_schemas()["decision-record.schema.json"]
    table = Draft202012Validator({**schema["$defs"]["DeliveryReceipt"], "$defs": schema["$defs"]})
    good = json.loads(receipt(ReceiptStatus.DEGRADED, DeliveryState.PARTIAL).to_json())
    assert table.is_valid(good)
    assert not table.is_valid({**good, "delivery_state": "acked"})
    assert not table.is_valid({**good, "blocked_actions": []})


@pytest.mark.parametrize("deadline", ["immediate", "2026-01-31T12:00:00Z", None])
def test_a_notice_deadline_is_immediate_a_time_or_none(deadline: str | None) -> None:
    notice = OperatorNotice(
        required=True, channel="telegram", urgency=Severity.HIGH, deadline=deadline
    )
    assert OperatorNotice.from_json(notice.to_json()) == notice


@pytest.mark.parametrize("deadline", ["soon", "2026-01-31", ""])
def test_any_other_notice_deadline_is_refused(deadline: str) -> None:
    with pytest.raises(ValidationError, match="deadline"):
        OperatorNotice(required=True, channel="telegram", urgency=Severity.HIGH, deadline=deadline)


@pytest.mark.parametrize("value", [1.5, [1], {"a": 1}, 2**53, "x" * 65537])
def test_action_details_are_scalars_without_fractions(value: object) -> None:
    action = {"action": "set_status", "target": "t", "mandatory": True, "details": {"k": value}}
    with pytest.raises(ValidationError) as caught:
        RequiredAction.from_json(json.dumps(action))
    assert [error["loc"] for error in caught.value.errors()] == [("details", "k")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("record_id", "not-a-uuid"),
        ("record_id", "5B1C0A3E-1111-5222-8333-444455556666"),
        ("recorded_at", "2026-01-31T12:00:00Z"),
        ("recorded_at", "2026-01-31T12:00:00.000+00:00"),
        ("event_sha256", "a" * 64),
        ("config_hash", "sha256:" + "A" * 64),
        ("event_sequence", 0),
        ("event_type", "task_begun"),
        ("trigger_event_ids", []),
    ],
)
def test_a_record_field_out_of_bounds_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        DecisionRecord.from_json(json.dumps({field: value}))
    assert (field,) in [e["loc"] for e in caught.value.errors() if e["type"] != "missing"]


def test_utc_millis_cuts_below_the_millisecond_and_converts_to_utc() -> None:
    moment = datetime.fromisoformat("2026-01-31T14:00:00.123999+02:00")
    assert utc_millis(moment) == "2026-01-31T12:00:00.123Z"
