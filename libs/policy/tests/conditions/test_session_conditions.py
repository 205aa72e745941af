"""Conditions over a session: told by the decisions on all its tasks, one event when they come true."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lictor_policy.conditions.session_conditions import (
    SessionDecision,
    SessionState,
    watchdog_event,
)
from lictor_policy.errors import PackError, TaskStateError, UnacceptableEvent
from lictor_policy.offline.stories import START
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.event import parse_event

START_US = to_micros(START)
BLOCKS = {"decision": "block", "scope": "session"}
Config = Callable[..., Any]


@pytest.fixture(scope="session")
def watching(config_of: Any, pack_of: Any, rule_of: Any) -> Config:
    """A configuration with one rule for each condition, looked at when a watch fires."""

    def build(*conditions: dict[str, Any], triggers: tuple[str, ...] = ("watchdog_fired",)) -> Any:
        rules = [
            rule_of(
                f"rule-{number}", triggers={"event_types": list(triggers)}, conditions=condition
            )
            for number, condition in enumerate(conditions)
        ]
        return config_of({**pack_of(*rules), "apiVersion": "lictor/v1"})

    return build


def decided(number: int, seconds: float = 0, **changes: Any) -> SessionDecision:
    """A decision on a status change of one of three tasks, `block` unless changed."""
    told = SessionDecision(
        record_id=f"record-{number}",
        session_id="session-1",
        task_id=f"task-{number % 3}",
        agent_id="agent-1",
        correlation_id="corr-1",
        runtime="openclaw",
        event_type="task_status_changed",
        disposition=Disposition.BLOCK,
        recorded_us=START_US + int(seconds * 1e6),
        config_hash="sha256:" + "0" * 64,
    )
    return told._replace(**changes)


def folded(config: Any, *tellings: SessionDecision) -> list[list[str]]:
    """The names of the questions that came true, decision by decision."""
    state, fired = None, []
    for told in tellings:
        state, questions = config.sessions.fold(state, told)
        state = SessionState.decode(state.encode())
        fired.append([question.name for question in questions])
    return fired


def test_decisions_on_different_tasks_count_together_and_are_told_once(watching: Config) -> None:
    config = watching({"count": {**BLOCKS, "within": "10m"}, "greater_than": 2})
    fired = folded(config, *(decided(number, number) for number in range(5)))
    name = "session: count of * decided block within 10m greater_than 2"
    assert fired == [[], [], [name], [], []]


def test_what_came_true_again_is_told_again(watching: Config) -> None:
    config = watching({"count": {**BLOCKS, "within": "1m"}, "greater_than": 1})
    times = (0, 1, 2, 100, 101)
    fired = folded(config, *(decided(number, at) for number, at in enumerate(times)))
    assert [bool(names) for names in fired] == [False, True, False, False, True]


def test_our_own_watch_is_not_counted(watching: Config) -> None:
    config = watching({"count": BLOCKS, "in": [1, 2, 3]})
    own = decided(2, runtime="lictor", event_type="watchdog_fired")
    assert [bool(names) for names in folded(config, decided(1), own, own)] == [True, False, False]


def test_order_holds_over_tasks(watching: Config) -> None:
    order = {"first": {"decision": "block"}, "then": "task_claimed_complete", "scope": "session"}
    config = watching({"before": order})
    claim = decided(2, event_type="task_claimed_complete", disposition=Disposition.ALLOW)
    assert [bool(names) for names in folded(config, claim, decided(1), claim)] == [
        False,
        False,
        True,
    ]


def test_the_rule_fires_on_the_event_that_tells_it_and_on_no_other(
    new_stage: Any, watching: Config
) -> None:
    config = watching(
        {
            "all": [
                {"count": BLOCKS, "greater_than": 0},
                {"fact": "task.mode", "equals": "interactive"},
            ]
        },
        {"count": BLOCKS, "greater_than": 7},
    )
    told = decided(3)
    _, (question,) = config.sessions.fold(None, told)
    stage = new_stage(config)
    stage.say("task_started")
    assert not stage.say("watchdog_fired", 1).record.matched_rules
    body = watchdog_event(told._replace(task_id="task-1"), question)
    happening = parse_event(body)
    assert happening.to_json() == body, "not as the model would write it"
    assert body == watchdog_event(told._replace(task_id="task-1"), question), "another id each time"
    record = stage.play(happening, 2).record
    assert [rule.rule_id for rule in record.matched_rules] == ["rule-0"]
    forged = parse_event(happening.to_json().replace(b'"lictor"', b'"openclaw"', 1))
    assert not stage.play(forged, 3).record.matched_rules


def test_a_task_that_never_started_is_told_of_its_session_when_it_tipped_the_condition(
    new_stage: Any, watching: Config
) -> None:
    config = watching({"count": BLOCKS, "greater_than": 0})
    told = decided(1)._replace(task_id="task-1")
    _, (question,) = config.sessions.fold(None, told)
    happening = parse_event(watchdog_event(told, question))
    stage = new_stage(config)
    with pytest.raises(UnacceptableEvent, match="never started"):
        stage.play(happening, 1)
    stage.say("report_anchor_missing", 2)
    forged = parse_event(happening.to_json().replace(b'"lictor"', b'"openclaw"', 1))
    with pytest.raises(UnacceptableEvent, match="never started"):
        stage.play(forged, 3)
    record = stage.play(happening, 4).record
    assert [rule.rule_id for rule in record.matched_rules] == ["rule-0"]
    assert not record.task_closed
    assert stage.say("task_started", 5).record.event_type == "task_started"


def test_the_record_names_the_session_told_at_the_start_else_the_correlation(
    new_stage: Any, watching: Config
) -> None:
    config = watching({"count": BLOCKS, "greater_than": 0})
    assert new_stage(config).say("task_started", session_id="s-9").record.session_id == "s-9"
    assert new_stage(config).say("task_started").record.session_id == "corr-1"


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ({"not": {"count": BLOCKS, "equals": 1}}, "can't stand under not"),
        (
            {"all": [{"count": BLOCKS, "equals": 1}, {"count": BLOCKS, "equals": 2}]},
            "never come true in the same event",
        ),
        (
            {
                "count": {
                    "event": "task_checkpoint_sent",
                    "where": {"operator_visible": True},
                    "scope": "session",
                },
                "equals": 1,
            },
            "conditions.count.where: has no use under scope session",
        ),
        ({"count": BLOCKS, "equals": "1"}, "it needs int"),
        ({"total": {"of": "evidence_items", "scope": "session"}, "equals": 1}, "not a known field"),
    ],
)
def test_what_a_session_cannot_tell_is_refused_at_load(
    condition: Any, told: str, watching: Config
) -> None:
    with pytest.raises(PackError) as caught:
        watching(condition)
    assert told in str(caught.value)


def test_a_rule_about_a_session_must_look_at_watches(watching: Config) -> None:
    with pytest.raises(PackError, match="lacks watchdog_fired"):
        watching({"count": BLOCKS, "equals": 1}, triggers=("task_started",))


def test_several_sessions_conditions_may_stand_beside_each_other(watching: Config) -> None:
    config = watching(
        {"any": [{"count": BLOCKS, "equals": 1}, {"count": BLOCKS, "equals": 2}]},
        {"count": BLOCKS, "equals": 2},
    )
    assert len(config.sessions.questions) == 2
    assert config.history.names == frozenset()


def test_state_of_another_format_is_refused() -> None:
    for raw in (b"", b"[]", b"[9,{},[]]", b"7"):
        with pytest.raises(TaskStateError, match="replay"):
            SessionState.decode(raw)


DECISIONS = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.sampled_from(["task_status_changed", "task_claimed_complete"]),
        st.sampled_from([Disposition.BLOCK, Disposition.ALLOW]),
    ),
    max_size=30,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(stream=DECISIONS, limit=st.integers(0, 4))
def test_a_session_is_told_when_a_recount_crosses_the_line(
    stream: Any, limit: int, watching: Config
) -> None:
    config = watching({"count": {**BLOCKS, "within": "60s"}, "greater_than": limit})
    state, now, blocks, was = None, 0, [], False
    for number, (later, event_type, disposition) in enumerate(stream):
        now += later
        if disposition is Disposition.BLOCK:
            blocks.append(now)
        told = decided(number, now, event_type=event_type, disposition=disposition)
        state, fired = config.sessions.fold(state, told)
        holds = sum(now - at <= 60 for at in blocks) > limit
        assert bool(fired) is (holds and not was)
        was = holds


def test_a_question_fits_the_field_that_names_it(watching: Config) -> None:
    longest = {
        "first": {"event": "subagent_result_not_forwarded", "decision": "annotate_placeholder"},
        "then": {"event": "subagent_result_not_forwarded", "decision": "annotate_placeholder"},
        "without": {"event": "subagent_result_not_forwarded", "decision": "annotate_placeholder"},
        "within": "2678400s",
        "scope": "session",
    }
    (question,) = watching({"before": longest}).sessions.questions
    body = watchdog_event(decided(1), question)
    assert json.loads(body)["payload"]["watchdog"] == question.name
    assert parse_event(body)
