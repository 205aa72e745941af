"""Laws of decisions, over random packs and random streams of events."""

import hashlib
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lictor_policy.judge.config import EvaluatorConfig, compile_files
from lictor_policy.judge.step import EventPosition, StepOutcome, step
from lictor_policy.offline.stories import evidence_item, moment, usual_event
from lictor_policy.packs.files import MemoryFiles
from lictor_policy.task.state import TaskState
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import Disposition, Severity
from lictor_schema.events.event import Event, parse_event

SCHEMAS = Path(__file__).parents[4] / "schemas" / "json"
LAWS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TYPES = (
    "task_checkpoint_sent",
    "task_status_changed",
    "task_evidence_attached",
    "task_claimed_complete",
    "task_checkpoint_due",
    "silence_timeout",
)

CONDITIONS = st.sampled_from(
    [
        {"fact": "task.mode", "in": ["interactive", "silent"]},
        {"fact": "evidence.best_quality", "less_than": "strong"},
        {"fact": "checkpoint.is_overdue", "equals": True},
        {"not": {"fact": "claim.completion_asserted", "equals": True}},
        {"fact": "task.is_closed", "equals": False},
    ]
)
NOTICES = st.none() | st.fixed_dictionaries(
    {
        "required": st.booleans(),
        "channel": st.just("mail"),
        "urgency": st.sampled_from([each.value for each in Severity]),
    }
)
RULES = st.fixed_dictionaries(
    {
        "types": st.lists(st.sampled_from(("task_started", *TYPES)), min_size=1, unique=True),
        "conditions": CONDITIONS,
        "decision": st.sampled_from([each.value for each in Disposition]),
        "severity": st.sampled_from([each.value for each in Severity]),
        "notice": NOTICES,
        "mode": st.sampled_from(["enforce", "enforce", "shadow"]),
        "escalate_after": st.sampled_from([None, None, 2, 3]),
    }
)
PACKS = st.lists(st.lists(RULES, min_size=1, max_size=3), min_size=1, max_size=3)
STREAMS = st.lists(st.sampled_from(TYPES), max_size=12)
WINDOWS = st.none() | st.tuples(st.integers(0, 200), st.integers(1, 200))


def rule_data(rule_of: Any, name: str, drawn: dict[str, Any]) -> dict[str, Any]:
    output = {"severity": drawn["severity"], "operator_notice": drawn["notice"]}
    settled = drawn["decision"] in ("allow", "escalate") or drawn["notice"] is None
    return rule_of(
        name,
        drawn["decision"],
        triggers={"event_types": drawn["types"]},
        conditions=drawn["conditions"],
        output=output,
        mode=drawn["mode"],
        escalate_after=None if settled else drawn["escalate_after"],
    )


def config(packs: Any, own_pack: Any, rule_of: Any, window: Any = None) -> EvaluatorConfig:
    files: dict[str, Any] = {}
    for number, rules in enumerate(packs):
        made = [rule_data(rule_of, f"p{number}.r{n}", each) for n, each in enumerate(rules)]
        files[f"p{number}/policy.yaml"] = own_pack(*made, id=f"p{number}")
    if window is not None:
        starts, lasts = window
        files["maintenance/w.yaml"] = {
            "apiVersion": "lictor/v1",
            "kind": "SuppressionWindow",
            "metadata": {"id": "w", "reason": "a test", "approved_by": "tests"},
            "spec": {
                "starts_at": moment(starts).isoformat(),
                "ends_at": moment(starts + lasts).isoformat(),
                "packs": ["p0"],
            },
        }
    return compile_files(
        MemoryFiles("", {name: json.dumps(files[name]).encode() for name in files})
    )


def events(types: list[str], task_id: str = "task-1") -> list[tuple[Event, EventPosition]]:
    """A started task and these events, each with its place in the stream."""
    made: list[tuple[Event, EventPosition]] = []
    for number, event_type in enumerate(["task_started", *types]):
        payload: dict[str, Any] = {}
        if event_type == "task_started":
            payload = {"checkpoint_interval_s": 30, "silence_timeout_s": 45}
        if event_type == "task_evidence_attached":
            payload = {"items": [evidence_item(number)]}
        usual = usual_event(event_type, number * 20, number=number, **payload)
        body = usual.to_json().replace(b'"task-1"', f'"{task_id}"'.encode())
        data = parse_event(body)
        position = EventPosition(
            number * 2 + (task_id != "task-1") + 1,
            to_micros(moment(number * 20)),
            "sha256:" + hashlib.sha256(body).hexdigest(),
        )
        made.append((data, position))
    return made


def fold(stream: list[tuple[Event, EventPosition]], by: EvaluatorConfig) -> list[StepOutcome]:
    outcomes: list[StepOutcome] = []
    state: TaskState | None = None
    for event, position in stream:
        outcomes.append(step(state, event, position, by))
        state = outcomes[-1].state
    return outcomes


def strength(outcome: StepOutcome) -> tuple[int, int]:
    return outcome.decision.decision.precedence, outcome.decision.severity.rank


def owed(outcome: StepOutcome) -> tuple[bool, int]:
    notice = outcome.decision.operator_notice
    if notice is None:
        return False, -1
    return notice.required, notice.urgency.rank


@LAWS
@given(packs=PACKS, added=RULES, place=st.integers(0, 3), types=STREAMS)
def test_a_rule_or_pack_more_never_weakens_any_decision(
    packs: Any, added: Any, place: int, types: Any, own_pack: Any, rule_of: Any
) -> None:
    before = config(packs, own_pack, rule_of)
    more = [list(rules) for rules in packs]
    if place < len(more):
        more[place].append(added)
    else:
        more.append([added])
    after = config(more, own_pack, rule_of)
    state: TaskState | None = None
    for event, position in events(types):
        one, other = step(state, event, position, before), step(state, event, position, after)
        assert strength(other)[0] >= strength(one)[0]
        if strength(other)[0] == strength(one)[0]:
            assert strength(other) >= strength(one)
        assert owed(other) >= owed(one)
        state = other.state


@LAWS
@given(packs=PACKS, shadow=st.lists(RULES, min_size=1, max_size=3), types=STREAMS)
def test_rules_in_shadow_mode_change_no_decision_and_no_task(
    packs: Any, shadow: Any, types: Any, own_pack: Any, rule_of: Any
) -> None:
    quiet = [{**rule, "mode": "shadow", "escalate_after": None} for rule in shadow]
    alone = fold(events(types), config(packs, own_pack, rule_of))
    beside = fold(events(types), config([*packs, quiet], own_pack, rule_of))
    for one, other in zip(alone, beside, strict=True):
        assert one.state == other.state
        told, also = one.record, other.record
        assert (also.decision.decision, also.decision.policy_id) == (
            told.decision.decision,
            told.decision.policy_id,
        )
        assert also.decision.operator_notice == told.decision.operator_notice
        assert [rule.rule_id for rule in also.matched_rules] == [
            rule.rule_id for rule in told.matched_rules
        ]


@LAWS
@given(packs=PACKS, types=STREAMS, window=WINDOWS)
def test_every_reachable_record_is_what_its_schema_says(
    packs: Any, types: Any, window: Any, own_pack: Any, rule_of: Any
) -> None:
    for outcome in fold(events(types), config(packs, own_pack, rule_of, window)):
        told = json.loads(outcome.record_json)
        assert not list(RECORD.iter_errors(told))
        assert not list(DECISION.iter_errors(told["decision"]))
        assert outcome.record.to_json() == outcome.record_json
        assert outcome.record.decision == outcome.decision
        named = [
            rule.rule_id
            for rules in (
                outcome.record.matched_rules,
                outcome.record.shadow_rules,
                outcome.record.suppressed_rules,
            )
            for rule in rules
        ]
        assert [use.rule_id for use in outcome.uses] == named
        assert TaskState.decode(outcome.state.encode()) == outcome.state


@LAWS
@given(packs=PACKS, types=STREAMS, window=WINDOWS)
def test_an_event_judged_again_is_judged_the_same_and_changes_nothing(
    packs: Any, types: Any, window: Any, own_pack: Any, rule_of: Any
) -> None:
    by = config(packs, own_pack, rule_of, window)
    state: TaskState | None = None
    for event, position in events(types):
        kept = None if state is None else state.encode()
        once, again = step(state, event, position, by), step(state, event, position, by)
        assert once == again
        assert kept == (None if state is None else state.encode())
        state = once.state


@LAWS
@given(packs=PACKS, one=STREAMS, other=STREAMS, order=st.randoms(use_true_random=False))
def test_the_order_of_independent_tasks_does_not_matter(
    packs: Any, one: Any, other: Any, order: Any, own_pack: Any, rule_of: Any
) -> None:
    by = config(packs, own_pack, rule_of)
    streams = {"task-1": events(one), "task-2": events(other, "task-2")}
    apart = {
        name: [each.record_json for each in fold(stream, by)] for name, stream in streams.items()
    }
    turns = [name for name, stream in streams.items() for _ in stream]
    order.shuffle(turns)
    waiting = {name: iter(stream) for name, stream in streams.items()}
    states: dict[str, TaskState] = {}
    mixed: dict[str, list[bytes]] = {name: [] for name in streams}
    for name in turns:
        event, position = next(waiting[name])
        outcome = step(states.get(name), event, position, by)
        states[name] = outcome.state
        mixed[name].append(outcome.record_json)
    assert mixed == apart


def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8")))


RECORD, DECISION = _validator("decision-record"), _validator("decision")
