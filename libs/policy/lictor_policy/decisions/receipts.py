"""Whether what a runtime reports about a decision is honest, as far as that can be checked from outside."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lictor_schema.decisions.adapter_capabilities import AdapterCapabilities
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.receipt import (
    ActionName,
    BlockedAction,
    DeliveryState,
    ReceiptAction,
    ReceiptReport,
    ReceiptStatus,
)

MAX_RECEIPTS = 64
"""So many reports are kept for one decision; more add nothing new."""

# How far a notice has come; a report may not take it back, except to try again after it went wrong.
_PROGRESS = {
    DeliveryState.PREPARED: 0,
    DeliveryState.QUEUED: 1,
    DeliveryState.DISPATCHED: 2,
    DeliveryState.PENDING_EXTERNAL_SEND: 3,
    DeliveryState.PARTIAL: 3,
}


class Dishonest(NamedTuple):
    """Why a report is not kept."""

    field: str
    reason: str
    remedy: str


def find_dishonesty(
    report: ReceiptReport,
    record: DecisionRecord,
    task_runtime: str,
    before: Sequence[ReceiptReport],
    capabilities: AdapterCapabilities | None,
) -> Dishonest | None:
    """What is wrong with a report on a record, given the reports kept before it; None when nothing is."""
    return (
        _of_another(report, record, task_runtime)
        or _other_actions(report, record)
        or _after(report, before)
        or (None if capabilities is None else _beyond(report, capabilities))
    )


def _of_another(
    report: ReceiptReport, record: DecisionRecord, task_runtime: str
) -> Dishonest | None:
    if report.task_id != record.task_id:
        return Dishonest(
            "task_id",
            f"record {record.record_id} is about task {record.task_id}",
            "report each decision under its own task",
        )
    if report.runtime not in (record.runtime, task_runtime):
        return Dishonest(
            "runtime",
            f"the decision is for runtime {task_runtime}, not for {report.runtime}",
            "let the runtime that carries the decision out report on it",
        )
    return None


def _other_actions(report: ReceiptReport, record: DecisionRecord) -> Dishonest | None:
    receipt = report.receipt
    if receipt.operator_notice_required != record.receipt.operator_notice_required:
        return Dishonest(
            "receipt.operator_notice_required",
            f"the decision says {str(record.receipt.operator_notice_required).lower()}",
            "repeat what the decision record says",
        )
    demanded = Counter((act.action, act.mandatory) for act in record.decision.required_actions)
    for field, told in (
        ("receipt.enforcement_intent", receipt.enforcement_intent),
        ("receipt.blocked_actions", receipt.blocked_actions),
    ):
        strange = _tally(told) - demanded
        if strange:
            (action, mandatory), _ = next(iter(strange.items()))
            return Dishonest(
                field,
                f"the decision demands no {'mandatory' if mandatory else 'optional'}"
                f" {action.value}, or not as often",
                "report only on the actions of the decision, each at most once",
            )
    told = _tally(receipt.enforcement_intent) + _tally(receipt.blocked_actions)
    left_out = demanded - told
    if receipt.status is ReceiptStatus.ACKED and (missing := [a for (a, m) in left_out if m]):
        return Dishonest(
            "receipt.enforcement_intent",
            f"acked leaves out the mandatory action {missing[0].value}",
            "list every mandatory action that was carried out, or report degraded",
        )
    return None


def _tally(actions: Iterable[ReceiptAction | BlockedAction]) -> "Counter[tuple[ActionName, bool]]":
    return Counter((each.action, each.mandatory) for each in actions)


def _after(report: ReceiptReport, before: Sequence[ReceiptReport]) -> Dishonest | None:
    if not before:
        return None
    last = before[-1].receipt
    if last.status is ReceiptStatus.ACKED:
        return Dishonest(
            "receipt.status",
            "the decision is acked already, and nothing follows that",
            "leave it as it is",
        )
    if len(before) >= MAX_RECEIPTS:
        return Dishonest(
            "record_id",
            f"{MAX_RECEIPTS} reports on this decision are kept already",
            "look at why it can't be carried out",
        )
    now, then = report.receipt.delivery_state, last.delivery_state
    if now is DeliveryState.PREPARED:
        return Dishonest(
            "receipt.delivery_state",
            f"it was {then.value} already; prepared is where a decision begins",
            "report what happened since",
        )
    if now in _PROGRESS and then in _PROGRESS and _PROGRESS[now] < _PROGRESS[then]:
        return Dishonest(
            "receipt.delivery_state",
            f"{now.value} can't follow {then.value}",
            "report failed first if it has to be tried again",
        )
    return None


def _beyond(report: ReceiptReport, capabilities: AdapterCapabilities) -> Dishonest | None:
    """What the runtime's own descriptor says it can't report."""
    path = capabilities.capabilities.notification_path
    state = report.receipt.delivery_state
    name = capabilities.metadata.id
    if state is DeliveryState.ACKED and not path.final_delivery_proof.supported:
        return Dishonest(
            "receipt.delivery_state",
            f"capabilities {name} say that {report.runtime} can't prove a delivery",
            "report pending_external_send, or correct final_delivery_proof in the descriptor",
        )
    told = path.truth_model
    external = state is DeliveryState.PENDING_EXTERNAL_SEND
    if state not in told.delivery_states or (external and not told.pending_external_send_supported):
        return Dishonest(
            "receipt.delivery_state",
            f"capabilities {name} say that {report.runtime} can't report {state.value}",
            "report a state that it can report, or correct truth_model in the descriptor",
        )
    return None
