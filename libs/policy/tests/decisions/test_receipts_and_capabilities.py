"""What a runtime may say about a decision, and what a decision says about the runtime's abilities."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.decisions.capabilities import read_capabilities
from lictor_policy.decisions.receipts import MAX_RECEIPTS, find_dishonesty
from lictor_policy.errors import PackError
from lictor_policy.judge.config import EvaluatorConfig, compile_files
from lictor_policy.packs.files import MemoryFiles
from lictor_schema.decisions.adapter_capabilities import AdapterCapabilities
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.receipt import DeliveryState, ReceiptReport, ReceiptStatus

FULL = {"supported": True, "level": "full"}
EXAMPLE = Path(__file__).parents[4] / "examples" / "runtimes" / "openclaw.yaml"
PROOF = {"kind": "message", "ref": "telegram:42"}


def descriptor(enforcement: dict[str, Any], **path: Any) -> dict[str, Any]:
    return {
        "apiVersion": "reporting-governance/v1alpha1",
        "kind": "AdapterCapabilities",
        "metadata": {"id": "openclaw-adapter", "title": "OpenClaw", "version": "3"},
        "runtime": {"name": "openclaw", "mode": "hook"},
        "compatibility": {
            "event_schema": "urn:lictor:schema:event:v1",
            "decision_schema": "urn:lictor:schema:decision:v1",
        },
        "capabilities": {"enforcement": enforcement, "notification_path": path},
    }


def action(name: str, mandatory: bool = True) -> dict[str, Any]:
    return {"action": name, "target": "somewhere", "mandatory": mandatory}


@pytest.fixture
def decided(
    new_stage, pack_of: Callable[..., Any], rule_of: Callable[..., Any]
) -> Callable[..., DecisionRecord]:
    """The record of a rule that fires on task_started, where a runtime has this descriptor."""

    def decide(
        *actions: dict[str, Any], runtimes: dict[str, Any] | None = None, required: bool = False
    ) -> DecisionRecord:
        notice = {"required": required, "channel": "telegram", "urgency": "low", "message": "look"}
        rule = rule_of(output={"required_actions": list(actions), "operator_notice": notice})
        files = {"example/policy.yaml": json.dumps(pack_of(rule)).encode()}
        if runtimes is not None:
            files["runtimes/openclaw.yaml"] = json.dumps(runtimes).encode()
        config: EvaluatorConfig = compile_files(MemoryFiles("", files))
        return new_stage(config).say("task_started", 0).record

    return decide


def report(record: DecisionRecord, status: str, state: str, **fields: Any) -> ReceiptReport:
    receipt = {
        "status": status,
        "delivery_state": state,
        "operator_notice_required": record.receipt.operator_notice_required,
        "enforcement_intent": fields.pop("intent", []),
        "blocked_actions": fields.pop("blocked", []),
    }
    body = {
        "report_id": "r1",
        "record_id": record.record_id,
        "recorded_at": record.recorded_at,
        "task_id": record.task_id,
        "runtime": record.runtime,
        "receipt": receipt,
        "reported_at": "2026-03-02T09:01:00Z",
        **fields,
    }
    if status == "acked":
        body = {"proof": PROOF, "message_sent": "told", **body}
    return ReceiptReport.from_json(json.dumps(body))


def field_refused(
    record: DecisionRecord, told: ReceiptReport, *before: ReceiptReport
) -> str | None:
    dishonest = find_dishonesty(told, record, "openclaw", before, None)
    return None if dishonest is None else dishonest.field


def test_without_a_descriptor_every_action_is_planned(decided):
    receipt = decided(action("rewrite_message"), action("emit_event")).receipt
    assert (receipt.status, receipt.delivery_state) == ("planned", "prepared")
    assert [each.action for each in receipt.enforcement_intent] == ["rewrite_message", "emit_event"]


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("rewrite_message", "rewrite_message"),
        ("record_placeholder", "annotate_placeholder"),
        ("set_status", "downgrade_status"),
        ("request_review", "request_review"),
        ("raise_escalation", "escalate"),
        ("block_transition", "block_transition"),
        ("notify_operator", "force_checkpoint"),
        ("dispatch_message", "force_checkpoint"),
    ],
)
def test_an_action_needs_its_capability(decided, name: str, capability: str):
    able = decided(action(name), runtimes=descriptor({capability: FULL})).receipt
    assert (able.status, able.blocked_actions) == (ReceiptStatus.PLANNED, ())
    unable = decided(action(name), runtimes=descriptor({})).receipt
    assert (unable.status, unable.delivery_state) == ("degraded", "blocked")
    assert capability in unable.blocked_actions[0].reason
    partly = decided(action(name), action("append_audit_note"), runtimes=descriptor({})).receipt
    assert (partly.status, partly.delivery_state) == ("degraded", "partial")
    assert [each.action for each in partly.enforcement_intent] == ["append_audit_note"]


def test_a_descriptor_counts_in_the_hash_of_the_configuration(decided):
    one, other = descriptor({}), descriptor({"escalate": FULL})
    hashes = {decided(runtimes=each).config_hash for each in (None, one, other)}
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "Capabilities"}, "kind"),
        ({"runtime": {"name": "other", "mode": "hook"}}, "name the file other.yaml"),
        ({"capabilities": {"enforcement": {"escalat": FULL}}}, "escalat"),
        ({"capabilities": {"enforcement": {"escalate": {"supported": True}}}}, "contradict"),
        ({"compatibility": {"event_schema": "v0", "decision_schema": "v0"}}, "event_schema"),
    ],
)
def test_a_descriptor_that_makes_no_sense_is_refused(decided, change: dict[str, Any], said: str):
    with pytest.raises(PackError, match=said):
        decided(runtimes={**descriptor({}), **change})


@pytest.mark.parametrize("status", list(ReceiptStatus))
@pytest.mark.parametrize("state", list(DeliveryState))
def test_only_honest_combinations_can_be_said_at_all(decided, status: str, state: str):
    from lictor_schema.decisions.receipt import ALLOWED_DELIVERY_STATES

    record = decided(action("emit_event"), action("notify_operator"))
    both = {
        "intent": [{"action": "emit_event", "mandatory": True}],
        "blocked": [{"action": "notify_operator", "mandatory": True, "reason": "no sender"}],
    }
    if status == "acked":
        both["blocked"] = []
    if state in ALLOWED_DELIVERY_STATES[ReceiptStatus(status)]:
        report(record, status, state, **both)
    else:
        with pytest.raises(ValueError, match="does not go with status"):
            report(record, status, state, **both)


def test_acked_needs_proof_and_the_message(decided):
    record = decided(required=True)
    for field in ("proof", "message_sent"):
        with pytest.raises(ValueError, match=field):
            report(record, "acked", "acked", **{field: None})
    assert field_refused(record, report(record, "acked", "acked")) is None


def test_nothing_follows_acked(decided):
    record = decided()
    done = report(record, "acked", "acked")
    for status, state in (("acked", "acked"), ("failed", "failed"), ("planned", "queued")):
        assert field_refused(record, report(record, status, state), done) == "receipt.status"


def test_a_notice_does_not_go_back_unless_it_failed(decided):
    record = decided()
    sent = report(record, "planned", "dispatched")
    assert field_refused(record, report(record, "planned", "queued"), sent) == (
        "receipt.delivery_state"
    )
    assert field_refused(record, report(record, "planned", "pending_external_send"), sent) is None
    failed = report(record, "failed", "failed")
    assert field_refused(record, failed, sent) is None
    assert field_refused(record, report(record, "planned", "queued"), sent, failed) is None
    assert field_refused(record, report(record, "planned", "prepared"), sent, failed) is not None


def test_a_runtime_reports_only_its_own_decisions(decided):
    record = decided()
    assert field_refused(record, report(record, "planned", "queued", runtime="other")) == "runtime"
    assert field_refused(record, report(record, "planned", "queued", task_id="x")) == "task_id"


def test_a_report_is_about_the_actions_that_were_demanded(decided):
    record = decided(action("notify_operator"), action("append_audit_note", mandatory=False))
    strange = [{"action": "set_status", "mandatory": True}]
    told = report(record, "planned", "queued", intent=strange)
    assert field_refused(record, told) == "receipt.enforcement_intent"
    done = [{"action": "notify_operator", "mandatory": True}]
    assert field_refused(record, report(record, "acked", "acked", intent=done)) is None
    # Leaving out what was mandatory is no success.
    assert field_refused(record, report(record, "acked", "acked")) == "receipt.enforcement_intent"


def test_a_notice_that_was_owed_stays_owed(decided):
    record = decided(required=True)
    honest = report(record, "planned", "queued")
    told = honest.model_copy(
        update={"receipt": honest.receipt.model_copy(update={"operator_notice_required": False})}
    )
    assert field_refused(record, told) == "receipt.operator_notice_required"


def test_there_is_an_end_to_reports(decided):
    record = decided()
    many = [report(record, "failed", "failed")] * MAX_RECEIPTS
    assert field_refused(record, report(record, "failed", "failed"), *many) == "record_id"


def test_a_runtime_does_not_say_what_it_can_not_know(decided):
    record = decided()
    blind = AdapterCapabilities.from_json(json.dumps(descriptor({})))
    found = find_dishonesty(report(record, "acked", "acked"), record, "openclaw", (), blind)
    assert found is not None
    assert found.field == "receipt.delivery_state"
    sure = AdapterCapabilities.from_json(json.dumps(descriptor({}, final_delivery_proof=FULL)))
    assert find_dishonesty(report(record, "acked", "acked"), record, "openclaw", (), sure) is None
    told = {"delivery_states": ["queued"], "pending_external_send_supported": False}
    few = AdapterCapabilities.from_json(json.dumps(descriptor({}, truth_model=told)))
    for state, honest in (
        ("queued", True),
        ("dispatched", False),
        ("pending_external_send", False),
    ):
        found = find_dishonesty(report(record, "planned", state), record, "openclaw", (), few)
        assert (found is None) == honest


def test_the_example_of_a_descriptor_can_be_used_as_it_stands():
    example = EXAMPLE.read_bytes()
    files = {"example/policy.yaml": b"", "runtimes/openclaw.yaml": example}
    found = read_capabilities(MemoryFiles("", files))
    assert [each.model.runtime.name for each in found] == ["openclaw"]
