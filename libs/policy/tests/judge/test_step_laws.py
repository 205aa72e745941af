"""Laws that hold for every stream of events."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lictor_policy.judge.step import UnacceptableEvent
from lictor_policy.task.state import TaskState
from lictor_policy.task.timers import TimerKind
from lictor_schema.decisions.decision import DecisionRecord, Disposition

LAWS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

QUALITIES = st.sampled_from(["none", "weak", "moderate", "strong", "decisive"])
CLAIMS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["progress", "completion", "verified_completion"]),
        "text": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    },
    optional={"next_step": st.just("more of it")},
)
STATUSES = st.sampled_from(["active", "blocked", "paused", "completed", "failed"])
CHILD_EVENTS = [
    "subagent_spawned",
    "subagent_spawn_failed",
    "subagent_completed",
    "subagent_result_forwarded",
    "subagent_result_not_forwarded",
]
HAPPENINGS = st.one_of(
    st.tuples(st.just("evidence"), QUALITIES),
    st.tuples(st.just("report"), st.booleans()),
    st.tuples(st.just("claim"), CLAIMS),
    st.tuples(st.just("status"), STATUSES),
    st.tuples(st.just("timer"), st.sampled_from([kind.value for kind in TimerKind])),
    st.tuples(st.just("promise"), st.integers(0, 400)),
    st.tuples(st.just("child"), st.tuples(st.sampled_from(CHILD_EVENTS), st.integers(1, 3))),
    st.tuples(st.just("watch"), st.sampled_from(["promised_followup_due", "subagent_overdue"])),
    st.tuples(st.just("due"), st.integers(-100, 10)),
    st.tuples(st.just("start"), st.just(None)),
)
STREAMS = st.tuples(
    st.sampled_from(["interactive", "silent"]),
    st.sampled_from([None, 30, 90]),
    st.sampled_from([None, 45]),
    st.lists(HAPPENINGS, max_size=25),
)


def perform(stage: Any, stream: Any, make_evidence: Any) -> None:
    mode, interval, silence, happenings = stream
    stage.say("task_started", mode=mode, checkpoint_interval_s=interval, silence_timeout_s=silence)
    for number, (kind, detail) in enumerate(happenings, 1):
        at = number * 20
        try:
            happen(stage, kind, detail, at, make_evidence(number % 7, "weak"))
        except UnacceptableEvent:
            assert kind == "start"


def happen(stage: Any, kind: str, detail: Any, at: int, item: dict[str, Any]) -> None:
    match kind:
        case "evidence":
            stage.say("task_evidence_attached", at, items=[{**item, "quality": detail}])
        case "report":
            stage.say("task_checkpoint_sent", at, operator_visible=detail)
        case "claim":
            stage.say("task_claimed_complete", at, claim=detail)
        case "status":
            stage.say("task_status_changed", at, to_status=detail)
        case "due":
            moment = f"2026-03-02T09:{(at + 200 + detail) // 60:02}:{(at + 200 + detail) % 60:02}Z"
            stage.say("task_checkpoint_due", at, due_at=moment)
        case "timer" if detail in stage.pending:
            due = stage.pending[detail].due.timestamp() - 1772442000
            stage.fire(detail, max(due, at))
        case "promise":
            promise = {"what": "more", "due_at": f"t+{detail}"}
            stage.say("task_checkpoint_sent", at, promised_followup=promise)
        case "child":
            event_type, run = detail
            late = {"expected_by": f"t+{at + 50}"} if event_type == "subagent_spawned" else {}
            stage.say(event_type, at, run_id=f"run-{run}", **late)
        case "watch":
            stage.say("watchdog_fired", at, condition=detail, run_id="run-1")
        case "start":
            stage.say("task_started", at)
        case _:
            pass


@LAWS
@given(stream=STREAMS)
def test_the_same_stream_gives_the_same_records_byte_for_byte(
    stream: Any, new_stage: Any, shipped: Any, make_evidence: Any
) -> None:
    one, other = new_stage(shipped), new_stage(shipped)
    perform(one, stream, make_evidence)
    perform(other, stream, make_evidence)
    assert [r.to_json() for r in one.records] == [r.to_json() for r in other.records]


@LAWS
@given(stream=STREAMS)
def test_every_record_is_valid_and_unique_and_the_state_survives_the_store(
    stream: Any, new_stage: Any, shipped: Any, make_evidence: Any
) -> None:
    stage = new_stage(shipped)
    perform(stage, stream, make_evidence)
    for record in stage.records:
        assert DecisionRecord.from_json(record.to_json()) == record
    assert len({record.record_id for record in stage.records}) == len(stage.records)
    assert sum(record.task_closed for record in stage.records) <= 1
    assert TaskState.decode(stage.state.encode()) == stage.state
    assert not (stage.state.closed and stage.pending)


DECISIONS = st.sampled_from([name.value for name in Disposition])
NOTICES = st.none() | st.fixed_dictionaries(
    {
        "required": st.booleans(),
        "channel": st.just("mail"),
        "urgency": st.sampled_from(["info", "low", "critical"]),
    }
)
RULES = st.lists(st.tuples(DECISIONS, NOTICES), min_size=1, max_size=6)


@LAWS
@given(rules=RULES, added=st.tuples(DECISIONS, NOTICES), place=st.integers(0, 6))
def test_adding_a_rule_never_weakens_a_decision(
    rules: Any,
    added: Any,
    place: int,
    new_stage: Any,
    config_of: Any,
    pack_of: Any,
    rule_of: Any,
) -> None:
    def decided(*outputs: Any) -> tuple[int, bool]:
        made = [
            rule_of(f"r{number}", decision, output={"operator_notice": notice})
            for number, (decision, notice) in enumerate(outputs)
        ]
        decision = new_stage(config_of(pack_of(*made))).say("task_started").record.decision
        notice = decision.operator_notice
        return decision.decision.precedence, notice is not None and notice.required

    before = decided(*rules)
    after = decided(*rules[:place], added, *rules[place:])
    assert after[0] >= before[0]
    assert after[1] >= before[1]


def leaf(fact: str, comparator: str, value: Any) -> dict[str, Any]:
    return {"fact": fact, comparator: value}


LEAVES = st.sampled_from(
    [
        (leaf("task.mode", "equals", "interactive"), True),
        (leaf("task.mode", "not_equals", "interactive"), False),
        (leaf("task.channel", "contains", "tele"), True),
        (leaf("task.channel", "in", ["mail", "chat"]), False),
        (leaf("evidence.best_quality", "less_than", "weak"), True),
        (leaf("evidence.best_quality", "greater_than", "none"), False),
        (leaf("checkpoint.missed_in_a_row", "in", [0, 1]), True),
        (leaf("checkpoint.is_overdue", "equals", True), False),
    ]
)


def groups(inner: Any) -> Any:
    lists = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        lists.map(lambda parts: ({"all": [p for p, _ in parts]}, all(v for _, v in parts))),
        lists.map(lambda parts: ({"any": [p for p, _ in parts]}, any(v for _, v in parts))),
        inner.map(lambda part: ({"not": part[0]}, not part[1])),
    )


@LAWS
@given(case=st.recursive(LEAVES, groups, max_leaves=12))
def test_conditions_mean_what_logic_says(
    case: Any, new_stage: Any, config_of: Any, pack_of: Any, rule_of: Any
) -> None:
    condition, holds = case
    config = config_of(pack_of(rule_of(conditions=condition)))
    assert bool(new_stage(config).say("task_started").record.matched_rules) is holds


def test_state_and_records_stay_small_over_five_thousand_events(
    stage: Any, make_evidence: Any
) -> None:
    stage.say("task_started", checkpoint_interval_s=60, silence_timeout_s=90)
    sizes: list[int] = []
    for number in range(5000):
        at = number * 20 + 1
        match number % 5:
            case 0 | 1:
                item = make_evidence(number, ("weak", "strong")[number % 2])
                stage.say("task_evidence_attached", at, items=[item])
            case 2:
                stage.say("task_checkpoint_due", at)
            case 3:
                stage.fire("checkpoint", max(at, number * 20 + 70))
            case _:
                stage.say("task_checkpoint_sent", at, operator_visible=number % 50 == 4)
        sizes.append(len(stage.state.encode()))
    assert max(sizes[-500:]) <= max(sizes[1500:2000]) + 64
    assert max(sizes) < 4096
    assert max(len(json.dumps(r.model_dump(mode="json"))) for r in stage.records[-500:]) < 8192
