"""Conditions as terms: what a rule asks, over symbols in the place of facts."""

from collections.abc import Iterable
from typing import Any, cast

from lictor_policy.conditions.compiled_condition import Leaf, read_leaf
from lictor_policy.conditions.condition_text import leaves_of, parts_of
from lictor_policy.conditions.facts import FactType
from lictor_policy.conditions.temporal_conditions import (
    NEVER,
    TemporalQuestion,
    ask,
    asks_session,
    never_fails,
)
from lictor_policy.task.history import Amounts, Latest, Order, PreviousMoment, Times
from lictor_prove.packs.fact_symbols import CHANNEL, Kind, Literals, Symbol, Symbols
from lictor_prove.packs.z3_questions import Term
from lictor_schema.core.time import SECOND_US
from lictor_schema.packs.pack import Condition
from lictor_schema.packs.temporal_conditions import duration_seconds


def condition_term(condition: Condition, symbols: Symbols) -> Term:
    """When a condition holds."""
    terms = symbols.terms
    kind, parts = parts_of(condition)
    if kind == "leaf":
        return _leaf(condition, symbols)
    below = [condition_term(part, symbols) for part in parts]
    match kind:
        case "all":
            return terms.all_of(below)
        case "any":
            return terms.any_of(below)
        case _:
            return terms.denied(below[0])


def channels_in(conditions: Iterable[Condition]) -> tuple[list[str], bool]:
    """The channels that conditions name, and whether they also search for texts within."""
    named: list[str] = []
    searched = False
    for condition in conditions:
        for leaf in leaves_of(condition):
            if leaf.fact == CHANNEL:
                read = read_leaf(leaf, (), never_fails)
                searched = searched or read.comparator == "contains"
                named += sorted(_each(read.expected))
    return named, searched


def literals_of(
    conditions: Iterable[Condition], channels: Iterable[str], runtimes: Iterable[str]
) -> Literals:
    """The texts that conditions and scopes compare with."""
    named, searched = channels_in(conditions)
    return Literals(
        {
            CHANNEL: tuple(dict.fromkeys((*named, *channels))),
            "task.runtime": tuple(dict.fromkeys(runtimes)),
        },
        frozenset({CHANNEL} if searched else ()),
    )


def sessions_in(conditions: Iterable[Condition]) -> tuple[str, ...]:
    """The conditions over sessions that are asked for, in words."""
    return tuple(
        dict.fromkeys(
            read_leaf(leaf, (), never_fails).fact.name
            for condition in conditions
            for leaf in leaves_of(condition)
            if asks_session(leaf)
        )
    )


def _leaf(condition: Condition, symbols: Symbols) -> Term:
    leaf = read_leaf(condition, (), never_fails)
    if asks_session(condition):
        return symbols.session().is_value(leaf.fact.name, symbols.terms)
    asked = ask(condition, (), never_fails)
    if asked is not None:
        return _about_the_past(condition, leaf, asked, symbols)
    symbol = symbols.fact(leaf.fact.name)
    if symbol.kind is Kind.FLAG:
        wanted = leaf.expected is (leaf.comparator == "equals")
        return symbol.term if wanted else symbols.terms.denied(symbol.term)
    if leaf.fact.type is FactType.STR:
        return _text(symbol, leaf, symbols)
    return _number(symbol.term, leaf.comparator, leaf.expected, symbols)


def _text(symbol: Symbol, leaf: Leaf, symbols: Symbols) -> Term:
    terms, expected = symbols.terms, leaf.expected
    match leaf.comparator:
        case "equals":
            return symbol.is_value(expected, terms)
        case "not_equals":
            return terms.denied(symbol.is_value(expected, terms))
        case "in":
            return terms.any_of(symbol.is_value(each, terms) for each in sorted(expected))
        case _ if symbol.kind is Kind.TEXT:
            return terms.contains(symbol.term, terms.words(expected))
        case _:
            fitting = (name for name in symbol.names if expected in name)
            return terms.any_of(symbol.is_value(name, terms) for name in fitting)


def _number(term: Term, comparator: str, expected: Any, symbols: Symbols) -> Term:
    match comparator:
        case "equals":
            return term == expected
        case "not_equals":
            return term != expected
        case "greater_than":
            return term > expected
        case "less_than":
            return term < expected
        case _:
            return symbols.terms.any_of(term == each for each in sorted(expected))


def _about_the_past(
    condition: Condition, leaf: Leaf, asked: TemporalQuestion, symbols: Symbols
) -> Term:
    terms, kept, span = symbols.terms, asked.kept, _window(condition)
    symbol = symbols.remembered(asked.fact.name, kept, span)
    value = symbol.term
    match kept:
        case Order() | PreviousMoment():
            longest = NEVER if span is None else span
            return terms.all_of([value >= 0, value <= longest])
        case Latest() if leaf.comparator == "greater_than":
            # For want of such a moment, as long ago as the memory reaches.
            value = terms.chosen(value == NEVER, symbols.reach(kept).term, value)
        case Times() | Amounts() if leaf.comparator in ("equals", "less_than", "in"):
            # A window that began before it was watched doesn't hold for being nearly empty.
            largest = max(0, *_each(leaf.expected), 0)
            value = terms.chosen(symbols.reach(kept).term < (span or 0), largest + 1, value)
        case _:
            pass
    return _number(value, leaf.comparator, leaf.expected, symbols)


def _each(expected: Any) -> Iterable[Any]:
    """What a leaf compares with: one value, or several for `in`."""
    return cast("frozenset[Any]", expected) if isinstance(expected, frozenset) else (expected,)


def _window(condition: Condition) -> int | None:
    form = condition.count or condition.total or condition.before or condition.previous
    within = None if form is None else form.within
    return None if within is None else (duration_seconds(within) or 0) * SECOND_US
