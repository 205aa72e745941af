"""Fields that later versions added are left out while they say nothing: older messages hash as they did."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances

from lictor_schema.contracts.decision_log import (
    ActionJudged,
    ActionVerified,
    ContextCaptured,
    DecisionBegun,
    DecisionClosed,
)
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.seals.episode import DecisionEpisode

LATER: dict[type[Model], dict[str, object]] = {
    DecisionBegun: {"calls_since": None},
    ContextCaptured: {"value": None},
    ActionJudged: {"calls_seen": 0},
    ActionVerified: {"check_hash": None},
    DecisionClosed: {"refused": 0, "unapproved": 0, "unsent": 0},
    DecisionEpisode: {"refused_actions": (), "approvals": (), "interventions": ()},
}


@pytest.mark.parametrize("kind", LATER, ids=lambda kind: kind.__name__)
@given(st.data())
def test_what_says_nothing_is_in_no_message_and_no_hash(
    kind: type[Model], data: st.DataObject
) -> None:
    later = LATER[kind]
    old = data.draw(instances(kind)).model_copy(update=later)
    if isinstance(old, DecisionEpisode):
        context = old.context.model_copy(update={"features": ()})
        old = old.model_copy(update={"context": context})
    told = json.loads(old.to_json())
    assert not {*later, "refusedActions"} & set(told)
    assert "features" not in told.get("context", {})
    again = kind.from_json(old.to_json())
    assert content_hash(again) == content_hash(told)
