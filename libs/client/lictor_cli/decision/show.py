"""`lictor decision show`: one decision with everything that became of it."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from lictor.decision_marks import marks_of
from lictor.history.everyones_history import EveryonesHistory
from lictor.history.stream_contents import streams_at
from lictor.receipts import receipts_of
from lictor_cli.decision.line import what
from lictor_cli.decision.sources import named_decision, record_argument, task_argument
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_policy.decisions.marks import false_alarm
from lictor_schema.core.base_model import utc_millis
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.decisions.mark import DecisionMark
from lictor_schema.decisions.receipt import ReceiptReport

HELP = "Show a decision and its receipts."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    record_argument(parser)
    task_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    receipts: list[ReceiptReport] = []
    marks: list[DecisionMark] = []
    async with streams_at(options.url, "decision") as client:
        record = await named_decision(client, options)
        if isinstance(record, DecisionRecord):
            receipts = await receipts_of(EveryonesHistory(client), record)
            marks = await marks_of(client, record)
    if options.json:
        say_json(
            {
                "record": json.loads(record.to_json()),
                "receipts": [json.loads(each.to_json()) for each in receipts],
                "marks": [json.loads(each.to_json()) for each in marks],
            }
        )
    elif isinstance(record, GuardDecision):
        _show_guarded(record)
    else:
        _show(record, receipts, marks)
    return OK


def _show_guarded(record: GuardDecision) -> None:
    decision = record.decision
    _say_lines(
        [
            ("record", record.record_id),
            ("decision", f"{decision.decision.value} by {decision.policy_id}"),
            ("reason", decision.reason),
            ("on", f"{what(record)} of task {record.task_id}"),
            ("session", f"{record.session_id} of {record.runtime}"),
            ("decided", record.recorded_at),
            ("call", record.call_id),
            ("work", record.stop_status),
            ("definition", record.definition),
        ]
    )
    for denial in record.denials:
        remedy = f"; {denial.remedy}" if denial.remedy else ""
        say(f"{'denied':<13}  {printable(f'{denial.policy_id}: {denial.reason}{remedy}')}")


def _say_lines(lines: Iterable[tuple[str, str | None]]) -> None:
    for name, text in lines:
        if text:
            say(f"{name:<13}  {printable(text)}")


def _show(record: DecisionRecord, receipts: list[ReceiptReport], marks: list[DecisionMark]) -> None:
    decision = record.decision
    notice = decision.operator_notice
    receipt = receipts[-1].receipt if receipts else record.receipt
    sent = next((each.message_sent for each in reversed(receipts) if each.message_sent), None)
    lines = [
        ("record", record.record_id),
        ("decision", f"{decision.decision.value} by {decision.policy_id}"),
        ("reason", decision.reason),
        ("event", f"{record.event_type} {record.event_id} of task {record.task_id}"),
        ("decided", record.recorded_at),
        ("triggers", ", ".join(record.trigger_event_ids)),
        ("claimed", record.original_claim),
        ("replaced by", decision.rewritten_message),
        ("missing", "; ".join(record.evidence.missing)),
        ("notice", None if notice is None else notice.message),
        ("receipt", f"{receipt.status.value} / {receipt.delivery_state.value}"),
        (
            "can't be done",
            "; ".join(f"{b.action.value}: {b.reason}" for b in receipt.blocked_actions),
        ),
        ("really sent", sent or "nothing that was reported"),
        ("false alarm", _alarm(marks)),
    ]
    _say_lines(lines)
    for each in receipts:
        told = each.receipt
        proof = f", shown by {each.proof.kind} {each.proof.ref}" if each.proof else ""
        say(
            f"{'reported':<13}  {utc_millis(each.reported_at)}  "
            f"{told.status.value} / {told.delivery_state.value}"
            f" by {printable(each.runtime)}{printable(proof)}"
        )


def _alarm(marks: list[DecisionMark]) -> str | None:
    """What operators say about the decision, if they say something."""
    standing = false_alarm(marks)
    if standing is not None:
        return f"yes, says {standing.by} at {utc_millis(standing.marked_at)}: {standing.reason}"
    if marks:
        last = marks[-1]
        return f"no longer: taken back by {last.by} at {utc_millis(last.marked_at)}: {last.reason}"
    return None
