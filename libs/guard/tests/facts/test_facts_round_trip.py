"""Whatever a session stores is read back as it was: every kind of fact, found by itself."""

import importlib
import pkgutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances

import lictor_guard
from lictor_guard.errors import FactError
from lictor_guard.facts.fact import Fact, decode_fact, fact_kinds

for module in pkgutil.walk_packages(lictor_guard.__path__, "lictor_guard."):
    importlib.import_module(module.name)


def facts(kind: type[Fact]) -> st.SearchStrategy[Fact]:
    """Facts of a kind whose collections hold something."""
    return instances(kind).filter(
        lambda fact: all(
            value or not isinstance(value, tuple | dict | frozenset | list | set)
            for _, value in fact
        )
    )


def test_kinds_are_found() -> None:
    assert {"tally", "known-file", "prerequisite", "call-times"} <= set(fact_kinds())


@pytest.mark.parametrize("kind", sorted(fact_kinds()))
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_every_kind_of_fact_is_read_back_as_it_was_stored(kind: str, data: st.DataObject) -> None:
    """Scenario 141: every stored type makes the round trip, with collections that are not empty."""
    fact: Fact = data.draw(facts(fact_kinds()[kind]))
    again = decode_fact(fact.encode())
    assert again == fact
    assert type(again) is type(fact)
    assert again.encode() == fact.encode()


def test_an_unknown_kind_and_a_damaged_fact_are_told() -> None:
    with pytest.raises(FactError, match="kind 'dreams' is not known"):
        decode_fact(b"dreams {}")
    with pytest.raises(FactError, match="does not fit"):
        decode_fact(b'known-file {"digest": 7}')


@pytest.mark.parametrize(
    "stored",
    [
        'cadence {"call_index":3,"spoke_us":1800000000000000,"files":["AGENTS.md"]}',
        'recent {"calls":[{"call_id":"c","tool":"Bash","signature":"s","outcome":"ok","at_us":1}]}',
    ],
)
def test_facts_that_an_earlier_version_stored_are_still_read(stored: str) -> None:
    assert decode_fact(stored).encode()
