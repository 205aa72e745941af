"""`lictor pack explain`: which rules looked at an event, what each fact was, why each fired or not."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, cast

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.event_sources import PastEvent, events_in_file, events_in_stream, events_of_task
from lictor.history.id_prefixes import TASK, one_of, whole_or_given
from lictor.history.stored_decisions import ON_EVENTS
from lictor.history.stream_contents import extent, stored, streams_at
from lictor_bus.logs.entry_logs import body_in
from lictor_bus.names import subjects
from lictor_bus.names.streams import DECISIONS, EVENTS
from lictor_bus.wire.delivery import Delivery
from lictor_cli.decision.line import STYLES
from lictor_cli.main import OK, USAGE
from lictor_cli.output.terminal import (
    at_terminal,
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    warn,
)
from lictor_cli.pack.diff import read_input
from lictor_cli.pack.sources import find_packs, packs_argument, profiles_argument
from lictor_cli.publish import split
from lictor_policy.errors import UnacceptableEvent
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import step
from lictor_policy.offline.explanation import ConditionAnswer, Explanation, Look, explain
from lictor_policy.task.state import TaskState
from lictor_schema.core.canonical_json import parse_json

if TYPE_CHECKING:
    from rich.tree import Tree

HELP = """\
Explain a decision: which rules looked at the event, what each fact was, why each fired or not, and
how one decision came of it.

The event is a file (with the task's earlier events in it or in --history), or one of the running
Lictor: the latest of a task, one by its id, or the one that a decision record is about. The packs
are those of this machine; where a record was made by others, that is said.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "file",
        metavar="EVENT",
        nargs="?",
        help="a file with the event, JSON, - for stdin; of several the last is explained",
    )
    parser.add_argument("--history", metavar="FILE", help="earlier events, JSON or one a line")
    parser.add_argument("--task", metavar="TASK", help="an event of this task: the latest, or")
    parser.add_argument("--event", metavar="ID", help="with --task: the one with this id")
    parser.add_argument("--record", metavar="ID", help="the event of this decision record")
    parser.add_argument("--all", action="store_true", help="also rules that did not look")
    packs_argument(parser)
    profiles_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Explain one event."""
    quiet_logs()
    chosen = [options.file, options.task, options.record]
    if sum(each is not None for each in chosen) != 1:
        warn("name one event: a file, --task or --record.")
        return USAGE
    if (options.history and not options.file) or (options.event and not options.task):
        warn("--history goes with a file, --event with --task.")
        return USAGE
    config = find_packs(options.packs, options.profiles).load()
    record: dict[str, Any] | None = None
    if options.file is not None:
        past = _from_files(options.file, options.history)
    else:
        past, record = await _from_stream(options)
    explanation = _explain(past, config)
    if record is not None and record.get("config_hash") != config.config_hash:
        warn(
            f"the record was made by other packs (config {record.get('config_hash')}); this"
            f" explains what those of this machine ({config.config_hash}) would decide"
        )
    if options.json:
        recorded = None if record is None else record["decision"]
        say_json({**explanation.to_json_value(), "recorded": recorded})
    else:
        _show(explanation, everything=options.all)
    return OK


def _from_files(name: str, history: str | None) -> list[PastEvent]:
    if name == history == "-":
        raise LictorError("stdin can be the event or the history, not both.")
    documents = [] if history is None else list(split(read_input(history)))
    events = list(split(read_input(name)))
    if not events:
        raise LictorError(f"{name} holds no event.")
    past = list(events_in_file(documents, history or ""))
    past += events_in_file(events, name)
    # Numbered as one, so that no two events stand at the same place.
    return [
        PastEvent(each.event, each.position._replace(sequence=number))
        for number, each in enumerate(past, 1)
    ]


async def _from_stream(options: Namespace) -> tuple[list[PastEvent], dict[str, Any] | None]:
    async with streams_at(options.url, "pack-explain") as client:
        if options.record is not None:
            record = await _record(client, options.record)
            upto, task_id = int(record["event_sequence"]), str(record["task_id"])
        else:
            record, task_id = None, await whole_or_given(client, TASK, options.task)
            upto = (await extent(client, EVENTS)).last_sequence
        past = [
            each
            async for each in events_in_stream(client, events_of_task(task_id), upto)
            if each is not None
        ]
        if options.event is not None:
            ids = [each.event.event_id for each in past]
            event = one_of(options.event, ids, "event of this task", "lictor decision list")
            past = past[: ids.index(event) + 1]
        if not past:
            raise LictorError(
                f"there are no events of task {printable(task_id)} in the stream; `lictor watch`"
                " shows what is decided."
            )
        if record is None:
            record = await _record_of(client, past[-1])
    return past, record


async def _record(client: Client, given: str) -> dict[str, Any]:
    size = await extent(client, DECISIONS)
    found: dict[str, dict[str, Any]] = {}
    async for delivery in stored(client, DECISIONS, ON_EVENTS, size.last_sequence):
        # Looked for first, because most records are others.
        if given.encode() in delivery.body:
            record = _object(delivery)
            record_id = str(record.get("record_id"))
            if record_id.startswith(given):
                found[record_id] = record
    return found[one_of(given, found, "decision on an event", "lictor decision list")]


async def _record_of(client: Client, past: PastEvent) -> dict[str, Any] | None:
    size = await extent(client, DECISIONS)
    subject = subjects.decisions_on_task(past.event.task_id)
    async for delivery in stored(client, DECISIONS, subject, size.last_sequence):
        record = _object(delivery)
        if record.get("event_sequence") == past.position.sequence:
            return record
    return None


def _object(delivery: Delivery) -> dict[str, Any]:
    """A record as its JSON says; nothing of what is no record."""
    found: Any = body_in(delivery, parse_json)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _explain(past: list[PastEvent], config: EvaluatorConfig) -> Explanation:
    *earlier, (event, position) = past
    state: TaskState | None = None
    for each in earlier:
        if each.event.task_id != event.task_id:
            continue
        try:
            state = step(state, each.event, each.position, config).state
        except UnacceptableEvent:
            # Set aside then, and so without effect now.
            continue
    try:
        return explain(state, event, position, config)
    except UnacceptableEvent as error:
        raise LictorError(
            f"the event can't be judged: {error}. The task's earlier events go into --history."
        ) from None


def _show(explanation: Explanation, *, everything: bool) -> None:
    decision = explanation.outcome.decision
    event = explanation.event
    title = (
        f"{event.event_type} {printable(event.event_id)} of task {printable(event.task_id)}:"
        f" {decision.decision.value}"
    )
    looked = [look for look in explanation.looks if look.not_looked is None]
    others = [look for look in explanation.looks if look.not_looked is not None]
    if at_terminal():
        _show_tree(title, explanation, looked, others if everything else [])
    else:
        say(title)
        for look in looked:
            say(f"  {_mark(look.fired)} {_rule(look)}")
            if look.answer is not None:
                _say_answer(look.answer, "      ")
        for look in others if everything else []:
            say(f"  - {_rule(look)}: {look.not_looked}")
    if others and not everything:
        say(f"{len(others)} other rules did not look at the event; --all tells why")
    say(f"{printable(explanation.why)}")
    say(f"reason: {printable(decision.reason)}")


def _say_answer(answer: ConditionAnswer, indent: str) -> None:
    say(f"{indent}{_mark(answer.holds)} {_asked(answer)}")
    for part in answer.parts:
        _say_answer(part, f"{indent}    ")


def _show_tree(title: str, told: Explanation, looked: list[Look], others: list[Look]) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    style = STYLES[told.outcome.decision.decision]
    tree = Tree(Text(title, style=style))
    for look in looked:
        branch = tree.add(Text(f"{_mark(look.fired)} {_rule(look)}", style="bold"))
        if look.answer is not None:
            _grow(branch, look.answer)
    for look in others:
        tree.add(Text(f"- {_rule(look)}: {look.not_looked}", style="dim"))
    Console().print(tree)


def _grow(tree: "Tree", answer: ConditionAnswer) -> None:
    from rich.text import Text

    style = "green" if answer.holds else "red"
    branch = tree.add(Text.assemble((f"{_mark(answer.holds)} ", style), _asked(answer)))
    for part in answer.parts:
        _grow(branch, part)


def _asked(answer: ConditionAnswer) -> str:
    was = "" if answer.value is None else f" (it is {answer.value})"
    return printable(f"{answer.text}{was}")


def _rule(look: Look) -> str:
    output = look.rule.rule.decision_output
    told = f"{look.rule.rule.id}: {output.decision.value} ({look.rule.severity.value})"
    return printable(f"{told}, {look.fate}" if look.fired else told)


def _mark(holds: bool) -> str:
    return "✓" if holds else "✗"
