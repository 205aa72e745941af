"""`lictor decision`: one decision with everything that became of it."""

import json
from argparse import ArgumentParser, Namespace

from lictor.cli import FAILED, OK
from lictor.commands.output import common_arguments, printable, quiet_logs, say, say_json, warn
from lictor.session import connect
from lictor.where import nats_url
from lictor_schema import DecisionRecord, ReceiptReport

HELP = "Show one decision: what was claimed, what was decided, what was done, what was really sent."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="show")
    show = verbs.add_parser("show", help="show a decision and its receipts", allow_abbrev=False)
    show.add_argument("record", metavar="RECORD_ID", help="the decision record's id")
    show.add_argument(
        "--task", metavar="TASK", help="its task; without it the whole stream is searched"
    )
    common_arguments(show)


async def run(options: Namespace) -> int:
    """Show a decision."""
    quiet_logs()
    async with connect(nats_url(options.url), timeout_s=3.0) as governor:
        record = await governor.find_decision(options.record, task_id=options.task)
        if record is None:
            where = f"on task {options.task}" if options.task else "at all"
            warn(f"there is no decision {printable(options.record, 80)} {where}")
            return FAILED
        receipts = await governor.receipts(record)
    if options.json:
        say_json(
            {
                "record": json.loads(record.to_json()),
                "receipts": [json.loads(each.to_json()) for each in receipts],
            }
        )
    else:
        _show(record, receipts)
    return OK


def _show(record: DecisionRecord, receipts: list[ReceiptReport]) -> None:
    decision = record.decision
    notice = decision.operator_notice
    receipt = receipts[-1].receipt if receipts else record.receipt
    sent = next((each.message_sent for each in reversed(receipts) if each.message_sent), None)
    lines = [
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
    ]
    for name, text in lines:
        if text:
            say(f"{name:<13}  {printable(text)}")
    for each in receipts:
        told = each.receipt
        proof = f", shown by {each.proof.kind} {each.proof.ref}" if each.proof else ""
        say(
            f"{'reported':<13}  {each.reported_at.isoformat()}  "
            f"{told.status.value} / {told.delivery_state.value}"
            f" by {printable(each.runtime)}{printable(proof)}"
        )
