"""`lictor pack diff`: what differs between packs, and which past decisions would change."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lictor.history.event_sources import (
    ALL_EVENTS,
    events_in_file,
    events_in_stream,
    events_of_task,
)
from lictor.history.id_prefixes import TASK, whole_or_given
from lictor.history.stream_contents import extent, streams_at
from lictor_bus.names.streams import EVENTS
from lictor_cli.main import DIFFERENT, OK
from lictor_cli.output.progress_bar import counting
from lictor_cli.output.terminal import (
    common_arguments,
    counted,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
)
from lictor_cli.pack.solver import facts_in_words, prover_at_hand, timeout_argument
from lictor_cli.pack.sources import find_packs, profiles_argument
from lictor_cli.publish import split
from lictor_policy.conditions.condition_text import scalar
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.offline.backtest import Backtest, BacktestSide
from lictor_policy.packs.diff import PackDifference, diff_configs, diff_envelopes

if TYPE_CHECKING:
    from lictor_prove.packs.comparison import PackComparison
    from lictor_prove.packs.staged_tasks import Judgement

HELP = """\
Compare two directories of packs, or two packs, by rule and field.

With --against, fold past events under both and list which decisions would change. Only what was
stored is folded: what agents would have done on hearing other decisions, nobody can tell.

With --prove, ask a solver for a state of a task that the two decide differently: for each event
type an example, confirmed by the evaluator, or a proof that there is none.

Exits with 4 when a past decision would change, or with --prove when a decision can differ or that was
not found out; without both, when anything differs.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("old", metavar="OLD", help="a directory of packs, or one pack")
    parser.add_argument("new", metavar="NEW", help="what to compare it with")
    parser.add_argument(
        "--against",
        metavar="STREAM|FILE",
        help="past events: EVENTS for the stream of the running Lictor, else a file of events,"
        " JSON or one a line (- for stdin)",
    )
    parser.add_argument(
        "--prove",
        action="store_true",
        help="find a state that is decided differently, or prove none",
    )
    timeout_argument(parser)
    parser.add_argument("--task", metavar="TASK", help="with --against: only events of this task")
    profiles_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Compare, and judge the past anew where told."""
    quiet_logs()
    before = find_packs(options.old, options.profiles)
    after = find_packs(options.new, options.profiles)
    old, new = before.load(), after.load()
    differences = diff_configs(old, new) + diff_envelopes(before.loaded(), after.loaded())
    test = Backtest(old, new)
    if options.against == EVENTS:
        await _fold_stream(test, options)
    elif options.against is not None:
        _fold_file(test, options)
    proved = _proved(old, new, options.timeout) if options.prove else None
    if options.json:
        say_json(
            {
                "differences": [each.to_json_value() for each in differences],
                "backtest": None if options.against is None else test.to_json_value(),
                "proof": None if proved is None else proved.to_json_value(),
            }
        )
    else:
        _tell_differences(differences)
        if options.against is not None:
            say()
            _tell_backtest(test)
        if proved is not None:
            say()
            _tell_proof(proved)
    different = options.against is not None and test.changed > 0
    if proved is not None:
        different = different or proved.verdict != "same"
    elif options.against is None:
        different = bool(differences)
    return DIFFERENT if different else OK


def _proved(old: EvaluatorConfig, new: EvaluatorConfig, timeout_ms: int) -> "PackComparison":
    with prover_at_hand("lictor pack diff --prove"):
        from lictor_prove.packs.comparison import compare

        return compare(old, new, timeout_ms)


async def _fold_stream(test: Backtest, options: Namespace) -> None:
    async with streams_at(options.url, "pack-diff") as client:
        task = None if options.task is None else await whole_or_given(client, TASK, options.task)
        subject = ALL_EVENTS if task is None else events_of_task(task)
        size = await extent(client, EVENTS)
        with counting("folding events", size.messages, quiet=options.json) as advance:
            async for past in events_in_stream(client, subject, size.last_sequence):
                advance()
                if past is None:
                    test.refuse()
                else:
                    test.take(past.event, past.position)


def _fold_file(test: Backtest, options: Namespace) -> None:
    name = options.against
    documents = list(split(read_input(name)))
    with counting("folding events", len(documents), quiet=options.json) as advance:
        for past in events_in_file(documents, name):
            advance()
            if options.task in (None, past.event.task_id):
                test.take(past.event, past.position)


def read_input(name: str) -> bytes:
    """A file, or stdin."""
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def _tell_differences(differences: list[PackDifference]) -> None:
    if not differences:
        say("the packs are the same")
    for each in differences:
        where = printable(" ".join(filter(None, (each.pack_id, each.rule_id, each.field))))
        what = "pack" if each.rule_id is None else "rule"
        if each.field is None:
            say(f"{each.what:<8} {what} {where}")
        else:
            say(f"{each.what:<8} {where}: {_value(each.old)} -> {_value(each.new)}")


def _value(value: Any) -> str:
    return "nothing" if value is None else printable(scalar(value), 160)


def _tell_backtest(test: Backtest) -> None:
    refused = f" ({test.refused} more were refused or doubled)" if test.refused else ""
    say(
        f"{counted(test.events, 'past event')} of {counted(test.tasks, 'task')}{refused}:"
        f" {counted(test.changed, 'decision')} would change"
    )
    for change, count in test.changes.most_common():
        details = f" ({', '.join(change.fields)})" if change.kind == "other content" else ""
        say()
        say(
            f"{counted(count, 'time')} {change.kind} on {change.event_type}: {_side(change.old)} ->"
            f" {_side(change.new)}{details}"
        )
        for example in test.examples[change]:
            say(
                f"    event {printable(example.event_id, 60)} of task"
                f" {printable(example.task_id, 60)}, number {example.sequence}"
            )
    moved = [(rule, fires) for rule, fires in sorted(test.rules.items()) if fires.old != fires.new]
    if moved:
        say()
        say_table(
            ("rule", "fires now", "would fire"),
            ((rule, str(fires.old), str(fires.new)) for rule, fires in moved),
        )


def _tell_proof(proved: "PackComparison") -> None:
    for event in proved.events:
        for each in event.differences:
            old, new = each.example.judged
            say(f"{each.change} on {event.event_type}: {_judged(old)} -> {_judged(new)}")
            say(f"    when {facts_in_words(each.example.facts)}")
        for question in event.unknown:
            say(printable(f"unknown on {event.event_type}: {question}"))
    for assumed in proved.assumptions:
        say(f"assumed: {assumed}")
    same = [event.event_type for event in proved.events if event.verdict == "same"]
    if len(same) == len(proved.events):
        say("proved: both decide the same, whatever the event and the task")
    elif same:
        say(f"proved: both decide the same on {', '.join(same)}")


def _judged(side: "Judgement") -> str:
    by = "no rule" if side.rule_id is None else side.policy_id
    again = f" ({side.rule_id})" if side.rule_id not in (None, side.policy_id) else ""
    return printable(f"{side.decision.value} ({side.severity.value}) by {by}{again}")


def _side(side: BacktestSide) -> str:
    also = f" [also {', '.join(side.also)}]" if side.also else ""
    return printable(f"{side.decision} by {side.rule}{also}")
