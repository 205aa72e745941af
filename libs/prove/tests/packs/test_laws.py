"""What the solver says agrees with the evaluator: for any packs, on any state, along any stream of events."""

import json
from bisect import bisect_left
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lictor_policy.conditions.evidence_requirements import named_fact
from lictor_policy.conditions.facts import FACTS, REQUIREMENTS_MET, FactType
from lictor_policy.conditions.temporal_conditions import NEVER
from lictor_policy.decisions.json_text import rfc3339
from lictor_policy.events.content import CHECKPOINT_ANSWERS
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import UnacceptableEvent, observed, step
from lictor_policy.offline.stories import evidence_item, moment, usual_event
from lictor_policy.rules.signals import SIGNALS
from lictor_policy.task.history import Amounts, Latest, Order, PreviousMoment, Times, kept_since
from lictor_policy.task.state import QUALITIES, TaskState
from lictor_prove.packs.comparison import compare
from lictor_prove.packs.examples import Search
from lictor_prove.packs.fact_symbols import (
    CHILD_FAILED,
    CONDITIONS,
    RUNTIME,
    SESSION,
    WATCHED,
    Symbols,
)
from lictor_prove.packs.invariants import known_on, signal_term
from lictor_prove.packs.pack_terms import Side, symbols_for, translate
from lictor_prove.packs.staged_tasks import NoSuchScene, judge, stage
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import Disposition, Severity
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EVENT_TYPES, EventType

LAWS = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CHANNELS = ["telegram", "mail", "team mail", 'a "b" \\u{41} é']
NUMBERS = st.integers(-1, 3)
COUNTED = st.one_of(
    st.tuples(st.sampled_from(["equals", "not_equals", "greater_than", "less_than"]), NUMBERS),
    st.tuples(st.just("in"), st.lists(NUMBERS, min_size=1, max_size=2)),
)
MOMENTS = st.sampled_from(
    [
        {"event": "task_checkpoint_sent"},
        {"event": "task_checkpoint_sent", "where": {"operator_visible": True}},
        {"event": "task_evidence_attached"},
        {"decision": "block"},
        {"event": "task_checkpoint_sent", "decision": "allow"},
    ]
)
WINDOWS = st.sampled_from(["30s", "2m"])
ORDERS = st.sampled_from(
    [
        {"first": "task_evidence_attached", "then": "task_checkpoint_sent"},
        {"first": "task_started", "then": "task_checkpoint_sent", "without": {"decision": "block"}},
    ]
)


def compared(form: dict[str, Any], how: tuple[str, Any]) -> dict[str, Any]:
    return {**form, how[0]: how[1]}


def leaf_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """A comparison of a fact with something it can be compared with."""
    fact = FACTS[name]
    match fact.type:
        case FactType.BOOL:
            how = st.tuples(st.sampled_from(["equals", "not_equals"]), st.booleans())
        case FactType.INT:
            how = COUNTED
        case FactType.QUALITY:
            quality = st.sampled_from([each.value for each in QUALITIES])
            how = st.one_of(
                st.tuples(
                    st.sampled_from(["equals", "not_equals", "greater_than", "less_than"]), quality
                ),
                st.tuples(st.just("in"), st.lists(quality, min_size=1, max_size=2)),
            )
        case _:
            text = st.sampled_from(list(fact.values or CHANNELS))
            how = st.one_of(
                st.tuples(st.sampled_from(["equals", "not_equals"]), text),
                st.tuples(st.just("in"), st.lists(text, min_size=1, max_size=2)),
                st.tuples(st.just("contains"), text | st.sampled_from(["a", "mail", ""])),
            )
    return st.builds(lambda given: compared({"fact": name}, given), how)


def windowed(form: dict[str, Any], within: str | None) -> dict[str, Any]:
    return form if within is None else {**form, "within": within}


MAYBE = st.none() | WINDOWS
PAST = st.one_of(
    st.builds(
        lambda form, within, how: compared({"count": windowed(form, within)}, how),
        MOMENTS,
        MAYBE,
        COUNTED,
    ),
    st.builds(
        lambda form, how: compared({"since": form}, how),
        MOMENTS,
        st.tuples(st.sampled_from(["greater_than", "less_than"]), WINDOWS),
    ),
    st.builds(
        lambda of, within, how: compared({"total": windowed({"of": of}, within)}, how),
        st.sampled_from(["evidence_items", "visible_updates"]),
        MAYBE,
        COUNTED,
    ),
    st.builds(lambda form, within: {"before": windowed(form, within)}, ORDERS, MAYBE),
    st.builds(lambda form, within: {"previous": windowed(form, within)}, MOMENTS, MAYBE),
)
LEAVES = st.one_of(st.sampled_from(sorted(FACTS)).flatmap(leaf_of), PAST, leaf_of(REQUIREMENTS_MET))
GROUPS = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.builds(lambda given: {"all": given}, st.lists(parts, min_size=1, max_size=3)),
        st.builds(lambda given: {"any": given}, st.lists(parts, min_size=1, max_size=3)),
        st.builds(lambda given: {"not": given}, parts),
    ),
    max_leaves=5,
)
RULES = st.fixed_dictionaries(
    {
        "decision": st.sampled_from([each.value for each in Disposition]),
        "severity": st.sampled_from([each.value for each in Severity]),
        "conditions": GROUPS,
        "evidence_requirements": st.sampled_from(
            [
                {},
                {"completion": {"min_quality": "moderate"}},
                {"progress": {"min_new_items_since_last_checkpoint": 2}},
                {
                    "progress": {
                        "min_new_items_since_last_checkpoint": 1,
                        "allowed_quality_floor": "moderate",
                    }
                },
                {
                    "verified_completion": {"min_quality": "strong"},
                    "must_reference_evidence_classes": ["verification_output"],
                },
            ]
        ),
        "triggers": st.fixed_dictionaries(
            {
                "event_types": st.lists(
                    st.sampled_from(EVENT_TYPES), min_size=1, max_size=4, unique=True
                ),
                "derived_signals": st.lists(
                    st.sampled_from(sorted(SIGNALS)), max_size=1, unique=True
                ),
                "claim_types": st.lists(
                    st.sampled_from(["progress", "completion", "verified_completion"]),
                    max_size=2,
                    unique=True,
                ),
            }
        ),
        "mode": st.sampled_from([None, None, "shadow"]),
        "escalate_after": st.sampled_from([None, None, 2, 3]),
    }
)
PACKS = st.tuples(
    st.lists(st.lists(RULES, min_size=1, max_size=4), min_size=1, max_size=2),
    st.sampled_from(["any_rule_match", "first_match"]),
    st.sampled_from(
        [
            {},
            {"channels": ["telegram", "mail"]},
            {"runtimes": ["openclaw"], "task_modes": ["silent"]},
        ]
    ),
)


def config_of(drawn: Any, rule: Any, packs: Any) -> EvaluatorConfig:
    given, mode, applies_to = drawn
    made: list[list[dict[str, Any]]] = []
    for at, rules in enumerate(given):
        made.append([])
        for number, each in enumerate(rules):
            changes = {name: each[name] for name in ("triggers", "mode") if each[name]}
            if each["escalate_after"] and each["decision"] not in ("allow", "escalate"):
                changes["escalate_after"] = each["escalate_after"]
            made[-1].append(
                rule(
                    f"p{at}.r{number}",
                    each["decision"],
                    each["conditions"],
                    severity=each["severity"],
                    evidence_requirements=each["evidence_requirements"],
                    **changes,
                )
            )
    return packs(*made, mode=mode, **applies_to)


@LAWS
@given(drawn=PACKS)
def test_whatever_a_rule_can_do_is_confirmed_by_the_evaluator_or_proved_impossible(
    drawn: Any, rule: Any, packs: Any
) -> None:
    config = config_of(drawn, rule, packs)
    symbols = symbols_for(config)
    sides: dict[EventType, Side] = {
        each: translate(config, each, symbols, "packs") for each in EVENT_TYPES
    }
    for event_type, side in sides.items():
        if not side.looking:
            continue
        asking = symbols.terms.asking(20_000)
        asking.tell(known_on(event_type, symbols))
        asking.tell(side.definitions)
        search = Search(event_type, symbols, asking, [(config, side)])
        goals = [side.silent, *(each.fires for each in side.looking)]
        goals += [side.decides(each, symbols.terms) for each in side.voices]
        for goal in goals:
            found = search.find(goal)
            assert found.example is not None or found.proved_none, (event_type, found.why)


@LAWS
@given(drawn=PACKS, data=st.data())
def test_on_any_facts_the_solver_and_the_evaluator_let_the_same_rules_match(
    drawn: Any, data: st.DataObject, rule: Any, packs: Any
) -> None:
    config = config_of(drawn, rule, packs)
    symbols = symbols_for(config)
    event_type = data.draw(st.sampled_from(sorted(config.index)))
    side = translate(config, event_type, symbols, "packs")
    asking = symbols.terms.asking(20_000)
    asking.tell(known_on(event_type, symbols))
    asking.tell(side.definitions)
    wanted = [each.is_value(data.draw(value_of(each)), symbols.terms) for each in symbols]
    # What can't be together is given up, until the rest can be.
    while (answer := asking.ask(wanted)).kind == "impossible":
        del wanted[answer.core[-1]]
    values = {each.name: each.read(answer.model) for each in symbols}
    scene = stage(event_type, values, symbols, [config])
    judgement = judge(config, scene)
    assert list(judgement.matched) == side.matched(answer.model)
    winner = side.winner(answer.model)
    if winner is None:
        assert judgement.rule_id is None
    else:
        assert (judgement.policy_id, judgement.severity) == (winner.rule.policy_id, winner.severity)


def value_of(symbol: Any) -> st.SearchStrategy[Any]:
    match symbol.kind.value:
        case "flag":
            return st.booleans()
        case "named":
            return st.sampled_from(symbol.names)
        case "number":
            return st.integers(0, 4)
        case "text":
            return st.sampled_from(CHANNELS)
        case "span":
            return st.sampled_from([0, 10_000_000, 60_000_000, NEVER])
        case _:
            return st.sampled_from([-1, 0, 10_000_000, 60_000_000])


@LAWS
@given(one=PACKS, other=PACKS)
def test_two_packs_are_told_apart_or_proved_the_same(
    one: Any, other: Any, rule: Any, packs: Any
) -> None:
    before, after = config_of(one, rule, packs), config_of(other, rule, packs)
    assert compare(before, before, 20_000).verdict == "same"
    comparison = compare(before, after, 20_000)
    for event in comparison.events:
        assert not event.unknown, event.unknown
        for each in event.differences:
            old, new = each.example.judged
            order = {"milder": -1, "stricter": 1, "other severity": 0}[each.change]
            difference = new.decision.precedence - old.decision.precedence
            assert (difference > 0) - (difference < 0) == order
            assert order or old.severity is not new.severity


# Along streams of events, as they really come.

CLAIMS = st.none() | st.fixed_dictionaries(
    {
        "type": st.sampled_from(["progress", "completion", "verified_completion"]),
        "text": st.just("It goes well."),
    },
    optional={"next_step": st.sampled_from(["more of it", "none"])},
)
ANSWERS = st.sampled_from([None, "", "n/a", "nothing", "something"])
STRUCTURES = st.none() | st.fixed_dictionaries(dict.fromkeys(CHECKPOINT_ANSWERS, ANSWERS))
RUNS = st.sampled_from(["run-1", "run-2", "run-3"])
STATUSES = st.sampled_from(
    ["active", "blocked", "paused", "waiting_user", "awaiting_review", "completed", "failed"]
)
ITEMS = st.lists(
    st.tuples(
        st.integers(1, 4), st.sampled_from([each.value for each in QUALITIES]), st.booleans()
    ),
    min_size=1,
    max_size=3,
)
HAPPENINGS = st.one_of(
    st.builds(
        lambda items: (
            "task_evidence_attached",
            {
                "items": [
                    evidence_item(
                        number,
                        quality,
                        supports={"claim_types": ["completion"] if offered else ["progress"]},
                    )
                    for number, quality, offered in items
                ]
            },
        ),
        ITEMS,
    ),
    st.builds(
        lambda visible, claim, structure, promise, reminder: (
            "task_checkpoint_sent",
            {
                "operator_visible": visible,
                "claim": claim,
                "structure": structure,
                "promised_followup": promise and {"what": "more", "due_at": promise},
                "reminder_only": reminder,
            },
        ),
        st.booleans(),
        CLAIMS,
        STRUCTURES,
        st.sampled_from([None, None, "t+0", "t+100", "t+9000"]),
        st.booleans(),
    ),
    st.builds(
        lambda status, by, claim: (
            "task_status_changed",
            {"to_status": status, "decided_by": by, "claim": claim},
        ),
        STATUSES,
        st.sampled_from([None, "ops"]),
        CLAIMS,
    ),
    st.builds(
        lambda claim: ("task_claimed_complete", {"claim": claim}),
        CLAIMS.filter(lambda each: each is not None),
    ),
    st.builds(
        lambda run, late: ("subagent_spawned", {"run_id": run, "expected_by": late}),
        RUNS,
        st.sampled_from([None, "t+0", "t+100"]),
    ),
    st.builds(
        lambda run, told: ("subagent_spawn_failed", {"run_id": run, "operator_notified": told}),
        RUNS,
        st.booleans(),
    ),
    st.builds(
        lambda run, how, by: (
            "subagent_completed",
            {"run_id": run, "outcome": how, "forward_by": by},
        ),
        RUNS,
        st.sampled_from(["success", "failure"]),
        st.sampled_from([None, "t+0", "t+100"]),
    ),
    st.builds(
        lambda run, seen, how: (
            "subagent_result_forwarded",
            {"run_id": run, "operator_visible": seen, "presentation": how},
        ),
        RUNS,
        st.booleans(),
        st.sampled_from(["relayed", "placeholder"]),
    ),
    st.builds(lambda run: ("subagent_result_not_forwarded", {"run_id": run}), RUNS),
    st.builds(lambda due: ("task_checkpoint_due", {"due_at": f"t+{due}"}), st.integers(0, 300)),
    st.builds(
        lambda since: ("silence_timeout", {"silent_since": f"t+{since}"}), st.integers(0, 200)
    ),
    st.builds(
        lambda condition, run: ("watchdog_fired", {"condition": condition, "run_id": run}),
        st.sampled_from(CONDITIONS),
        RUNS | st.none(),
    ),
    st.builds(
        lambda claim: ("operator_review_requested", {"claim": claim}),
        CLAIMS,
    ),
    st.builds(lambda run: ("report_anchor_missing", {"run_id": run}), RUNS),
    st.builds(
        lambda visible, structure: (
            "forced_operator_update",
            {"operator_visible": visible, "structure": structure, "source_event_id": "e1"},
        ),
        st.booleans(),
        STRUCTURES,
    ),
)
STREAMS = st.tuples(
    st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["interactive", "silent"]),
            "channel": st.sampled_from(CHANNELS),
            "checkpoint_interval_s": st.sampled_from([None, 30]),
            "silence_timeout_s": st.sampled_from([None, 45]),
        }
    ),
    st.lists(HAPPENINGS, min_size=2, max_size=20),
)


def played(stream: Any) -> list[tuple[Event, EventPosition]]:
    start, happenings = stream
    events: list[tuple[Event, EventPosition]] = []
    for number, (event_type, payload) in enumerate([("task_started", start), *happenings]):
        event = usual_event(event_type, number * 20, number=number, **payload)
        events.append((event, EventPosition(number + 1, to_micros(moment(number * 20)), "")))
    return events


@settings(LAWS, max_examples=40)
@given(stream=STREAMS, drawn=PACKS)
def test_along_any_stream_what_is_known_holds_and_the_same_rules_match(
    stream: Any, drawn: Any, rule: Any, packs: Any
) -> None:
    hold_along(stream, config_of(drawn, rule, packs))


@settings(LAWS, max_examples=40)
@given(stream=STREAMS)
def test_along_any_stream_the_shipped_packs_do_what_the_solver_says(
    stream: Any, shipped: EvaluatorConfig
) -> None:
    hold_along(stream, shipped)


def hold_along(stream: Any, config: EvaluatorConfig) -> None:
    symbols = symbols_for(config)
    sides = {each: translate(config, each, symbols, "packs") for each in EVENT_TYPES}
    known_by: dict[str, list[Any]] = {}
    state: TaskState | None = None
    for event, position in played(stream):
        try:
            seen = observed(state, event, rfc3339(event.timestamp), position, config)
        except UnacceptableEvent:
            continue
        side = sides[event.event_type]
        asking = symbols.terms.asking(20_000)
        if event.event_type not in known_by:
            known_by[event.event_type] = known_on(event.event_type, symbols)
        known = known_by[event.event_type]
        values = values_in(seen, event, position, symbols)
        given = [each.is_value(values[each.name], symbols.terms) for each in symbols]
        asking.tell(given)
        asking.tell(side.definitions)
        answer = asking.ask(known)
        assert answer.kind == "possible", (
            event.event_type,
            [str(known[at]) for at in answer.core],
        )
        fired = [
            (each.stamp.pack_id, each.rule.id) for each in config.matches(seen, event, position)
        ]
        assert side.matched(answer.model) == fired
        outcome = step(state, event, position, config)
        winner = side.winner(answer.model)
        if winner is None:
            assert outcome.verdict.disposition is Disposition.ALLOW
        else:
            assert (outcome.verdict.policy_id, outcome.verdict.disposition) == (
                winner.rule.policy_id,
                winner.decision,
            )
        state = outcome.state


def values_in(
    seen: TaskState, event: Event, position: EventPosition, symbols: Symbols
) -> dict[str, Any]:
    """What every symbol is at an event."""
    values: dict[str, Any] = {}
    for name, fact in FACTS.items():
        value = fact.compute(seen, event, position)
        if fact.type is FactType.QUALITY:
            value = QUALITIES[value].value
        values[name] = str(value) if fact.type is FactType.STR else value
    watched = event.event_type == "watchdog_fired"
    values[WATCHED] = (
        json.loads(event.to_json())["payload"]["condition"] if watched else CONDITIONS[0]
    )
    values[CHILD_FAILED] = (
        event.event_type == "subagent_completed" and event.payload.outcome == "failure"
    )
    values[SESSION] = "none"
    values[RUNTIME] = seen.runtime
    for name in ("task.channel", RUNTIME):
        symbol = symbols.by_name[name]
        if symbol.kind.value == "named" and values[name] not in symbol.names:
            values[name] = symbol.names[0]
    now, history = position.stored_us, seen.history
    for name, each in symbols.past.items():
        memory = history.get(each.kept.name)
        match each.kept:
            case Latest():
                values[name] = NEVER if memory is None else max(0, now - memory[0])
            case Order():
                values[name] = -1 if memory is None else memory[1]
            case PreviousMoment():
                values[name] = -1 if memory is None or memory[0] == -1 else now - memory[0]
            case Times() if each.span_us is not None:
                kept = memory or []
                values[name] = len(kept) - bisect_left(kept, now - each.span_us)
            case Amounts() if each.span_us is not None:
                pairs = list(zip((memory or [])[::2], (memory or [])[1::2], strict=True))
                values[name] = sum(much for at, much in pairs if at >= now - each.span_us)
            case _:
                values[name] = 0 if memory is None else memory[0]
    for name, symbol in symbols.reaches.items():
        since = history.get(kept_since(name))
        values[symbol.name] = NEVER if since is None else now - since[0]
    for symbol in symbols:
        if (asked := named_fact(symbol.name)) is not None and symbol.name not in values:
            values[symbol.name] = asked.compute(seen, event, position)
        if symbol.name not in values:
            values[symbol.name] = seen.repeats.get(
                symbol.name.removeprefix("earlier matches of "), 0
            )
    return values


def test_every_signal_is_known_to_the_analysis(shipped: EvaluatorConfig) -> None:
    symbols = symbols_for(shipped)
    for signal in SIGNALS.values():
        for event_type in signal.event_types:
            assert signal_term(signal.name, event_type, symbols) is not None


REQUIRED = f'{REQUIREMENTS_MET} {{"completion": {{"min_quality": "moderate"}}}}'
OF_CLASS = f'{REQUIRED[:-1]}, "must_reference_evidence_classes": ["tool_output"]}}'


@pytest.mark.parametrize("name", sorted({*FACTS, REQUIRED, OF_CLASS} - {REQUIREMENTS_MET}))
def test_every_fact_can_be_staged_on_some_event_whatever_it_is(
    name: str, shipped: EvaluatorConfig
) -> None:
    symbols = symbols_for(shipped)
    fact = named_fact(name)
    assert fact is not None
    unstaged: list[Any] = [True, False] if fact.type is FactType.BOOL else list(fact.values or ())
    symbols.fact(name)
    for event_type in EVENT_TYPES:
        asking = symbols.terms.asking(20_000)
        asking.tell(known_on(event_type, symbols))
        for value in tuple(unstaged):
            answer = asking.ask(beside=[symbols.fact(name).is_value(value, symbols.terms)])
            if answer.kind == "possible":
                values = {each.name: each.read(answer.model) for each in symbols}
                stage(event_type, values, symbols, [shipped])
                unstaged.remove(value)
    assert unstaged == []


def test_a_value_that_no_state_has_is_not_staged(shipped: EvaluatorConfig) -> None:
    symbols = symbols_for(shipped)
    symbols.everything()
    values = {each.name: each.usual for each in symbols}
    values["claim.next_step_has_supporting_evidence"] = True
    values["claim.promised_followup_has_evidence"] = True
    values[REQUIREMENTS_MET] = True
    assert stage("task_evidence_attached", values, symbols, [shipped]).state.started
    values["claim.promised_followup_due"] = True
    with pytest.raises(NoSuchScene, match=r"claim\.promised_followup_due is False"):
        stage("task_evidence_attached", values, symbols, [shipped])
