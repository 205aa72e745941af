"""The same rules and facts through our evaluator and through Cedar, CEL and ZEN must give the same answers.

The translations (bench/peers) read packs, not what our compiler made of them. Run with many more examples by
`./taskw parity`.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from peers.cedar import Cedar
from peers.common_expression import CommonExpressions
from peers.questions import (
    Question,
    Questions,
    context_of,
    identifier,
    lower,
    needed,
    questions_of,
    winner,
)
from peers.zen_expressions import ZenExpressions
from strategies import instances

from lictor_policy.conditions.compiled_condition import FITTING, compile_condition
from lictor_policy.conditions.facts import FACTS, Fact, FactType
from lictor_policy.decisions.json_text import rfc3339
from lictor_policy.errors import PackError
from lictor_policy.judge.config import EvaluatorConfig, build_config
from lictor_policy.judge.step import EventPosition, UnacceptableEvent, observed, step
from lictor_policy.packs.pack import read_pack
from lictor_policy.rules.signals import SIGNALS
from lictor_policy.task.state import TaskState
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import NO_RULE_MATCHED, DecisionRecord, Disposition
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event import Event, TaskStarted
from lictor_schema.events.event_types import EVENT_TYPES
from lictor_schema.events.evidence import Quality
from lictor_schema.packs.pack import Condition, PolicyPack

pytestmark = pytest.mark.parity

PEERS = [Cedar, CommonExpressions, ZenExpressions]
# Drawing a stream costs far more than judging it, and making a failing one small takes longer than a test may run.
FEWER = settings(
    max_examples=max(25, settings().max_examples // 4), phases=(Phase.reuse, Phase.generate)
)
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NO_HASH = "sha256:" + "0" * 64

# ZEN has no escapes: a text with both kinds of quotes can't be written in it.
TEXTS = st.text("aB*é😀\\ \n'.", max_size=3)
SMALL = st.integers(-3, 5)
BIG = st.integers(-(2**40), 2**40)
QUALITIES = st.sampled_from([quality.value for quality in Quality])


# Random conditions over random facts.


def values_of(fact: Fact) -> st.SearchStrategy[Any]:
    """What a fact can be."""
    match fact.type:
        case FactType.BOOL:
            return st.booleans()
        case FactType.INT | FactType.DURATION:
            return SMALL | BIG
        case FactType.QUALITY:
            return st.sampled_from([quality.rank for quality in Quality])
        case FactType.STR:
            return TEXTS if fact.values is None else st.sampled_from(fact.values)


def operands_of(fact: Fact) -> st.SearchStrategy[Any]:
    if fact.type is FactType.DURATION:
        return st.sampled_from(["1s", "90s", "5m"])
    return QUALITIES if fact.type is FactType.QUALITY else values_of(fact)


def leaves_of(fact: Fact) -> st.SearchStrategy[Any]:
    """Every comparator that fits the fact."""

    def compared(comparator: str) -> st.SearchStrategy[Any]:
        operand = TEXTS if comparator == "contains" else operands_of(fact)
        if comparator == "in":
            operand = st.lists(operand, min_size=1, max_size=3)
        return operand.map(lambda value: {"fact": fact.name, comparator: value})

    return st.sampled_from(FITTING[fact.type]).flatmap(compared)


def grouped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = st.lists(inner, min_size=1, max_size=3)
    return (
        parts.map(lambda each: {"all": each})
        | parts.map(lambda each: {"any": each})
        | inner.map(lambda each: {"not": each})
    )


CONDITIONS = st.recursive(
    st.sampled_from(list(FACTS.values())).flatmap(leaves_of), grouped, max_leaves=10
)
FACT_SETS = st.lists(
    st.fixed_dictionaries({name: values_of(fact) for name, fact in FACTS.items()}),
    min_size=1,
    max_size=4,
)


def given_facts() -> dict[str, Fact]:
    """The vocabulary, read from a dictionary in place of a task."""

    def reading(name: str) -> Callable[..., Any]:
        return lambda values, _event, _position: values[name]

    return {name: replace(fact, compute=reading(name)) for name, fact in FACTS.items()}


def refuse(path: tuple[str | int, ...], problem: str) -> PackError:
    raise AssertionError(f"{path}: {problem}")


def answers(data: Any, fact_sets: Iterable[dict[str, Any]]) -> list[tuple[bool, ...]]:
    """For each set of facts: whether the condition holds here, and in each of the other engines."""
    condition = Condition.model_validate_json(json.dumps(data), by_name=False, by_alias=True)
    ours: Any = compile_condition(condition, (), refuse, facts=given_facts())
    question = Question("rule", Disposition.BLOCK, (0, 0), lower(condition))
    engines = [peer({"task_started": (question,)}) for peer in PEERS]
    told: list[tuple[bool, ...]] = []
    for facts in fact_sets:
        context = {identifier(name): value for name, value in facts.items()}
        theirs = (bool(engine.matched("task_started", context)) for engine in engines)
        told.append((ours(facts, None, None), *theirs))
    return told


@given(data=CONDITIONS, fact_sets=FACT_SETS)
def test_a_condition_holds_here_exactly_when_it_holds_there(
    data: Any, fact_sets: list[dict[str, Any]]
) -> None:
    for told in answers(data, fact_sets):
        assert len(set(told)) == 1, told


@pytest.mark.parametrize(
    ("fact", "operand", "values", "holds"),
    [
        ("task.is_closed", {"equals": True}, (True, False), (True, False)),
        ("task.is_closed", {"not_equals": True}, (True, False), (False, True)),
        ("checkpoint.missed_in_a_row", {"equals": 2}, (1, 2, 3), (False, True, False)),
        ("checkpoint.missed_in_a_row", {"not_equals": 2}, (1, 2, 3), (True, False, True)),
        ("checkpoint.missed_in_a_row", {"greater_than": 2}, (1, 2, 3), (False, False, True)),
        ("checkpoint.missed_in_a_row", {"less_than": 2}, (1, 2, 3), (True, False, False)),
        ("checkpoint.missed_in_a_row", {"in": [2, 4]}, (2, 3, 4), (True, False, True)),
        ("evidence.best_quality", {"greater_than": "weak"}, (0, 1, 2), (False, False, True)),
        ("evidence.best_quality", {"less_than": "strong"}, (2, 3, 4), (True, False, False)),
        ("evidence.best_quality", {"in": ["none", "strong"]}, (0, 1, 3), (True, False, True)),
        ("task.channel", {"equals": "mail"}, ("mail", "Mail", ""), (True, False, False)),
        ("task.channel", {"in": ["mail", "sms"]}, ("sms", "sm", ""), (True, False, False)),
        ("task.channel", {"contains": "ai"}, ("mail", "ia", "AI"), (True, False, False)),
    ],
)
def test_every_comparator_agrees_at_its_edges(
    fact: str, operand: dict[str, Any], values: tuple[Any, ...], holds: tuple[bool, ...]
) -> None:
    told = answers({"fact": fact, **operand}, [{fact: value} for value in values])
    assert told == [(expected,) * (1 + len(PEERS)) for expected in holds]


# Packs on streams.


def said(model: Any) -> st.SearchStrategy[Event]:
    return instances(model)


MODELS = [model for model in get_args(get_args(Event)[0]) if model is not TaskStarted]
STREAMS = st.tuples(
    said(TaskStarted), st.lists(st.sampled_from(MODELS).flatmap(said), min_size=1, max_size=8)
).map(lambda drawn: [drawn[0], *drawn[1]])


def fold(
    config: EvaluatorConfig, events: Iterable[Event]
) -> Iterator[tuple[TaskState, Event, EventPosition, DecisionRecord]]:
    """What the rules saw of each event of one task, and the record it led to."""
    state = None
    for number, drawn in enumerate(events, 1):
        at = NOW + timedelta(seconds=20 * number)
        event = drawn.model_copy(
            update={"task_id": "task", "event_id": f"event-{number}", "timestamp": at}
        )
        position = EventPosition(number, to_micros(at), NO_HASH)
        try:
            seen = observed(state, event, rfc3339(at), position, config)
        except UnacceptableEvent:
            continue
        outcome = step(state, event, position, config)
        state = outcome.state
        yield seen, event, position, outcome.record


def disagreements(
    config: EvaluatorConfig, questions: Questions, events: Iterable[Event]
) -> list[str]:
    """Where another engine finds other rules, or another winner, than the record tells."""
    engines, computes = [peer(questions) for peer in PEERS], needed(questions)
    found: list[str] = []
    for seen, event, position, record in fold(config, events):
        context = context_of(computes.get(event.event_type, {}), seen, event, position)
        fired = sorted(each.rule_id for each in record.matched_rules)
        decision = record.decision
        for engine in engines:
            matched = engine.matched(event.event_type, context)
            theirs = sorted(each.rule_id for each in matched)
            if theirs != fired:
                found.append(f"{engine.name} on {event.event_type}: {theirs}, we {fired}")
            decider = winner(matched)
            wanted = (
                (NO_RULE_MATCHED, Disposition.ALLOW)
                if decider is None
                else (decider.rule_id, decider.decision)
            )
            if wanted != (decision.policy_id, decision.decision):
                found.append(f"{engine.name} on {event.event_type}: {wanted}, we {decision}")
    return found


@FEWER
@given(events=STREAMS)
def test_the_shipped_packs_decide_the_same_in_every_engine(
    events: list[Event], shipped: EvaluatorConfig, shipped_packs: list[PolicyPack]
) -> None:
    assert disagreements(shipped, questions_of(shipped_packs), events) == []


NAMES = {
    "runtimes": ["openclaw", "claude-code"],
    "task_modes": ["interactive", "silent"],
    "workflow_shapes": ["single-agent", "parent-child"],
    "channels": ["telegram", "mail"],
}
SCOPES = st.fixed_dictionaries(
    {},
    optional={
        field: st.just(["*"]) | st.lists(st.sampled_from(names), min_size=1, unique=True)
        for field, names in NAMES.items()
    },
)
TRIGGERS = st.fixed_dictionaries(
    {
        "event_types": st.lists(st.sampled_from(EVENT_TYPES), min_size=1, max_size=9, unique=True),
        "derived_signals": st.lists(st.sampled_from(list(SIGNALS)), max_size=2, unique=True),
        "claim_types": st.lists(
            st.sampled_from([claim.value for claim in ClaimType]), max_size=2, unique=True
        ),
    }
) | st.fixed_dictionaries(
    {"derived_signals": st.lists(st.sampled_from(list(SIGNALS)), min_size=1, unique=True)}
)
RULES = st.lists(
    st.tuples(TRIGGERS, CONDITIONS, st.sampled_from([each.value for each in Disposition])),
    min_size=1,
    max_size=5,
)


@FEWER
@given(
    rules=RULES,
    scope=SCOPES,
    mode=st.sampled_from(["any_rule_match", "first_match"]),
    events=STREAMS,
    runtime=st.sampled_from(NAMES["runtimes"]),
)
def test_any_pack_decides_the_same_in_every_engine(
    rules: Any,
    scope: Any,
    mode: str,
    events: list[Event],
    runtime: str,
    pack_of: Any,
    rule_of: Any,
) -> None:
    made = [
        rule_of(f"rule-{number}", decision, triggers=triggers, conditions=condition)
        for number, (triggers, condition, decision) in enumerate(rules)
    ]
    data = pack_of(*made, applies_to=scope)
    data["spec"]["evaluation_mode"] = mode
    loaded = read_pack(json.dumps(data, ensure_ascii=False).encode(), "pack.yaml")
    told = [event.model_copy(update={"runtime": runtime}) for event in events]
    assert disagreements(build_config([loaded]), questions_of([loaded.pack]), told) == []
