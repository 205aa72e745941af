"""`lictor decision`: one decision with everything that became of it, and whether it was a false alarm."""

import getpass
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from nats.aio.client import Client

from lictor.decision_marks import mark_decision, marks_of
from lictor.history.id_prefixes import TASK, whole_or_given
from lictor.history.stored_decisions import decision_named
from lictor.history.stream_contents import streams_at
from lictor.receipts import receipts_of
from lictor_cli.decision.line import what
from lictor_cli.decision.list import list_arguments, list_decisions
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json, warn
from lictor_policy.decisions.marks import false_alarm
from lictor_schema.core.base_model import utc_millis
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.decisions.mark import DecisionMark
from lictor_schema.decisions.receipt import ReceiptReport

HELP = """\
List decisions; show one: what was claimed, what was decided, what was done, what was really sent.

Mark it as a false alarm, or take that back; `lictor pack stats` counts false alarms by rule.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|mark")
    list_arguments(verbs.add_parser("list", help="list the newest", allow_abbrev=False))
    show = verbs.add_parser("show", help="show a decision and its receipts", allow_abbrev=False)
    show.add_argument(
        "record", metavar="RECORD_ID", help="the decision record's id, or its first characters"
    )
    show.add_argument(
        "--task", metavar="TASK", help="its task; without it the whole stream is searched"
    )
    common_arguments(show)
    mark = verbs.add_parser(
        "mark", help="mark a decision as a false alarm, or take that back", allow_abbrev=False
    )
    mark.add_argument(
        "record", metavar="RECORD_ID", help="the decision record's id, or its first characters"
    )
    said = mark.add_mutually_exclusive_group(required=True)
    said.add_argument("--false-alarm", action="store_true", help="the rule should not have fired")
    said.add_argument("--withdraw", action="store_true", help="take the mark back")
    mark.add_argument("--reason", metavar="TEXT", required=True, help="why, for the record")
    mark.add_argument("--by", metavar="NAME", help="who says so (default: the user's name)")
    mark.add_argument(
        "--task", metavar="TASK", help="its task; without it the whole stream is searched"
    )
    common_arguments(mark)


async def run(options: Namespace) -> int:
    """List, show one, or mark one."""
    if options.verb == "list":
        return await list_decisions(options)
    quiet_logs()
    receipts: list[ReceiptReport] = []
    marks: list[DecisionMark] = []
    async with streams_at(options.url, "decision") as client:
        task = None if options.task is None else await whole_or_given(client, TASK, options.task)
        record = await decision_named(client, options.record, task)
        if options.verb == "mark":
            return await _mark(client, record, options)
        if isinstance(record, DecisionRecord):
            receipts = await receipts_of(client, record)
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


async def _mark(client: Client, record: DecisionRecord | GuardDecision, options: Namespace) -> int:
    if isinstance(record, GuardDecision):
        warn("only decisions on events can be marked; change the agent definition's policy instead")
        return FAILED
    kind = "withdrawn" if options.withdraw else "false_alarm"
    by = options.by or getpass.getuser()
    before = false_alarm(await marks_of(client, record))
    answer = await mark_decision(client, record, kind, by, options.reason)
    rule = record.matched_rules[0].rule_id
    if options.json:
        say_json(json.loads(answer.to_json()))
    elif options.withdraw:
        say(f"the mark on {record.record_id} ({printable(rule)}) is taken back")
    elif before is None:
        say(f"{record.record_id} is marked as a false alarm of {printable(rule)}")
    else:
        # The same again is kept once; another person or reason is a further mark.
        new = (before.by, before.reason) != (by, options.reason)
        kept = "this mark is kept too" if new else "nothing has changed"
        told = f"was marked already by {before.by} at {utc_millis(before.marked_at)}; {kept}"
        say(f"{record.record_id} {printable(told)}")
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
