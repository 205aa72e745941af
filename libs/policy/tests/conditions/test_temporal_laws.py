"""What is remembered of the past answers as a recount of the whole past would, for every form of a leaf."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LAWS = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SECONDS = {"s": 1, "m": 60, "h": 3600}

MOMENTS = st.sampled_from(
    [
        {"event": "task_checkpoint_sent"},
        {"event": "task_checkpoint_sent", "where": {"operator_visible": True}},
        {
            "event": "task_checkpoint_sent",
            "where": {"operator_visible": False, "claim_type": "progress"},
        },
        {"event": "task_evidence_attached"},
        {"event": "task_evidence_attached", "where": {"quality": "strong"}},
        {"event": "task_status_changed", "where": {"to_status": "blocked"}},
        {"event": "task_started"},
        {"decision": "block"},
        {"decision": "allow"},
        {"event": "task_checkpoint_sent", "decision": "block"},
    ]
)
NAMES = st.sampled_from(["task_checkpoint_sent", "task_evidence_attached", "task_status_changed"])
WINDOWS = st.sampled_from(["1s", "90s", "5m", "1h"])
MAYBE_WINDOW = st.none() | WINDOWS
NUMBERS = st.one_of(
    st.tuples(
        st.sampled_from(["equals", "not_equals", "greater_than", "less_than"]), st.integers(0, 5)
    ),
    st.tuples(st.just("in"), st.lists(st.integers(0, 5), min_size=1, max_size=3)),
)
DURATIONS = st.tuples(st.sampled_from(["greater_than", "less_than"]), WINDOWS)
MEASURES = st.sampled_from(
    ["evidence_items", "visible_updates", "message_characters", "evidence_refs"]
)


def with_window(form: dict[str, Any], window: str | None) -> dict[str, Any]:
    return form if window is None else {**form, "within": window}


def leaf(name: str, form: dict[str, Any], compared: tuple[str, Any] | None = None) -> Any:
    return {name: form} if compared is None else {name: form, compared[0]: compared[1]}


LEAVES = st.one_of(
    st.builds(
        lambda moment, window, number: leaf("count", with_window(moment, window), number),
        MOMENTS,
        MAYBE_WINDOW,
        NUMBERS,
    ),
    st.builds(lambda moment, duration: leaf("since", moment, duration), MOMENTS, DURATIONS),
    st.builds(
        lambda measure, window, number: leaf("total", with_window({"of": measure}, window), number),
        MEASURES,
        MAYBE_WINDOW,
        NUMBERS,
    ),
    st.builds(
        lambda moment, window: leaf("previous", with_window(moment, window)), MOMENTS, MAYBE_WINDOW
    ),
    st.builds(
        lambda first, then, without, window: leaf(
            "before",
            with_window(
                {"first": first, "then": then, **({} if without is None else {"without": without})},
                window,
            ),
        ),
        MOMENTS | NAMES,
        MOMENTS | NAMES,
        st.none() | MOMENTS | NAMES,
        MAYBE_WINDOW,
    ),
)
HAPPENINGS = st.one_of(
    st.tuples(st.just("task_checkpoint_sent"), st.booleans(), st.booleans()),
    st.tuples(
        st.just("task_evidence_attached"),
        st.sampled_from(["weak", "strong"]),
        st.integers(1, 3),
    ),
    st.tuples(st.just("task_status_changed"), st.sampled_from(["active", "blocked"]), st.none()),
)
STREAMS = st.lists(
    st.tuples(st.sampled_from([0, 1, 30, 89, 90, 91, 299, 301, 3600]), HAPPENINGS), max_size=20
)


def seconds_of(duration: str) -> int:
    return int(duration[:-1]) * SECONDS[duration[-1]]


class Recount:
    """The whole past, looked through from end to end for every question."""

    def __init__(self) -> None:
        self.moments: list[tuple[int, dict[str, Any], str | None]] = []
        """When, the event, and what was decided when it is the moment of the decision."""

    def matching(self, wanted: Any) -> Callable[[int], bool]:
        wanted = {"event": wanted} if isinstance(wanted, str) else wanted

        def is_such(index: int) -> bool:
            _, event, decision = self.moments[index]
            payload = event["payload"]
            return (
                decision == wanted.get("decision")
                and wanted.get("event") in (None, event["event_type"])
                and all(
                    any(item["quality"] == value for item in payload["items"])
                    if key == "quality"
                    else (payload.get("claim") or {}).get("type") == value
                    if key == "claim_type"
                    else payload[key] == value
                    for key, value in wanted.get("where", {}).items()
                )
            )

        return is_such

    def times(self, wanted: Any) -> list[int]:
        is_such = self.matching(wanted)
        return [self.moments[index][0] for index in range(len(self.moments)) if is_such(index)]

    def holds(self, condition: Any) -> bool:
        now, everything = self.moments[-1][0], range(len(self.moments))
        name = next(
            key for key in ("count", "since", "total", "before", "previous") if key in condition
        )
        form = condition[name]
        window = seconds_of(form["within"]) if "within" in form else 10**12
        match name:
            case "count":
                value: float = sum(now - time <= window for time in self.times(form))
            case "since":
                value = now - max(self.times(form), default=-(10**12))
            case "total":
                value = sum(
                    amount(form["of"], event)
                    for time, event, decision in self.moments
                    if decision is None and now - time <= window
                )
            case "previous":
                such = self.matching(form)
                return any(
                    such(index) and now - self.moments[index][0] <= window
                    for index in everything[-3:-1]
                )
            case _:
                return self.in_order(form, window)
        return compare(value, condition)

    def in_order(self, form: Any, window: int) -> bool:
        then = [i for i in range(len(self.moments)) if self.matching(form["then"])(i)]
        if not then:
            return False
        for index in reversed(range(then[-1])):
            if self.matching(form["first"])(index):
                return self.moments[then[-1]][0] - self.moments[index][0] <= window
            if "without" in form and self.matching(form["without"])(index):
                return False
        return False


def amount(measure: str, event: dict[str, Any]) -> int:
    payload = event["payload"]
    match measure:
        case "evidence_items":
            return len(payload.get("items", ()))
        case "visible_updates":
            return bool(payload.get("operator_visible"))
        case "message_characters":
            return len(payload.get("message", ""))
        case _:
            return len(event["evidence_refs"])


def compare(value: float, condition: dict[str, Any]) -> bool:
    for name, value_given in condition.items():
        expected: Any = seconds_of(value_given) if isinstance(value_given, str) else value_given
        match name:
            case "equals":
                return value == expected
            case "not_equals":
                return value != expected
            case "greater_than":
                return value > expected
            case "less_than":
                return value < expected
            case "in":
                return value in expected
            case _:
                pass
    raise AssertionError(condition)


def payload_of(happening: Any, number: int, make_evidence: Any) -> dict[str, Any]:
    kind, one, other = happening
    match kind:
        case "task_checkpoint_sent":
            claim = {"type": "progress", "text": "half done"} if other else None
            return {"operator_visible": one, "claim": claim, "message": "x" * (number % 4 + 1)}
        case "task_evidence_attached":
            items = [make_evidence(f"{number}-{index}", one) for index in range(other)]
            return {"items": items}
        case _:
            return {"to_status": one}


@LAWS
@given(leaves=st.lists(LEAVES, min_size=1, max_size=8), stream=STREAMS)
def test_a_remembered_past_answers_as_a_recount_does(
    leaves: Any,
    stream: Any,
    new_stage: Any,
    config_of: Any,
    pack_of: Any,
    rule_of: Any,
    make_event: Any,
    make_evidence: Any,
) -> None:
    everything = ["task_started", "task_checkpoint_sent", "task_status_changed"]
    everything.append("task_evidence_attached")
    rules = [
        rule_of(
            f"leaf-{number}",
            "annotate_placeholder",
            triggers={"event_types": everything},
            conditions=condition,
        )
        for number, condition in enumerate(leaves)
    ]
    # Something to look back at: a report that nobody sees is blocked.
    blocked = {"count": {"event": "task_checkpoint_sent", "where": {"operator_visible": False}}}
    rules.append(
        rule_of(
            "blocking",
            triggers={"event_types": ["task_checkpoint_sent"]},
            conditions={**blocked, "in": [1, 2, 4]},
        )
    )
    pack = {**pack_of(*rules), "apiVersion": "lictor/v1"}
    stage, recount, now = new_stage(config_of(pack)), Recount(), 0
    for number, (later, happening) in enumerate([(0, ("task_started",)), *stream]):
        now += later
        payload = {} if number == 0 else payload_of(happening, number, make_evidence)
        event_made = make_event(happening[0], now, number=number, **payload)
        record, event = stage.play(event_made, now).record, json.loads(event_made.to_json())
        recount.moments.append((now, event, None))
        fired = {rule.rule_id for rule in record.matched_rules} - {"blocking"}
        expected = {f"leaf-{i}" for i, each in enumerate(leaves) if recount.holds(each)}
        assert fired == expected
        recount.moments.append((now, event, record.decision.decision.value))
