"""Every comparator at every edge: a leaf as a term holds for exactly the values the evaluator's own leaf takes."""

from dataclasses import replace
from typing import Any

import pytest

from lictor_policy.conditions.compiled_condition import read_leaf
from lictor_policy.conditions.facts import FACTS
from lictor_policy.conditions.temporal_conditions import never_fails
from lictor_policy.task.state import QUALITIES
from lictor_prove.packs.condition_terms import condition_term, literals_of
from lictor_prove.packs.fact_symbols import Symbols
from lictor_prove.packs.z3_questions import Z3Terms
from lictor_schema.packs.pack import Condition

NUMBERS = [0, 1, 2, 3]
NAMES = [each.value for each in QUALITIES]
STATUSES = list(FACTS["task.status"].values or ())
CHANNELS = ["mail", "team mail", "telegram", "a \\u{41} é"]
LEAVES: list[tuple[str, str, Any, list[Any]]] = [
    *(
        ("claim.completion_asserted", how, to, [True, False])
        for how in ("equals", "not_equals")
        for to in (True, False)
    ),
    *(
        ("obligation.times_told", how, to, NUMBERS)
        for how in ("equals", "not_equals", "greater_than", "less_than")
        for to in (-1, 0, 1, 3)
    ),
    ("obligation.times_told", "in", [0, 2], NUMBERS),
    *(
        ("evidence.best_quality", how, to, NAMES)
        for how in ("equals", "not_equals", "greater_than", "less_than")
        for to in NAMES
    ),
    ("evidence.best_quality", "in", ["none", "strong"], NAMES),
    ("task.status", "equals", "paused", STATUSES),
    ("task.status", "not_equals", "paused", STATUSES),
    ("task.status", "in", ["paused", "failed"], STATUSES),
    ("task.status", "contains", "ed", STATUSES),
    ("task.channel", "equals", "mail", CHANNELS),
    ("task.channel", "not_equals", "a \\u{41} é", CHANNELS),
    ("task.channel", "in", ["mail", "telegram"], CHANNELS),
    ("task.channel", "contains", "mail", CHANNELS),
    ("task.channel", "contains", "\\u{41} é", CHANNELS),
]


@pytest.mark.parametrize(("name", "how", "to", "values"), LEAVES)
def test_a_leaf_holds_for_the_values_that_the_evaluator_takes(
    name: str, how: str, to: Any, values: list[Any]
) -> None:
    condition = Condition.model_validate_json(
        Condition.model_validate({"fact": name, how: to}, strict=False).to_json()
    )
    terms = Z3Terms()
    symbols = Symbols(terms, literals_of([condition], CHANNELS, []))
    term = condition_term(condition, symbols)
    asking = terms.asking()
    asking.tell(symbols.bounds)
    for value in values:
        computed = NAMES.index(value) if name == "evidence.best_quality" else value
        fact = replace(FACTS[name], compute=lambda *_, computed=computed: computed)
        holds: Any = read_leaf(condition, (), never_fails, facts={name: fact}).holds
        given = symbols.fact(name).is_value(value, terms)
        wanted, other = (
            ("possible", "impossible") if holds(None, None, None) else ("impossible", "possible")
        )
        assert asking.ask([given, term]).kind == wanted, value
        assert asking.ask([given, terms.denied(term)]).kind == other, value
