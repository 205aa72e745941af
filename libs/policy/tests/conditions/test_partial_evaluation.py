"""What is settled before an event is read is what reading it would have found."""

from datetime import UTC, datetime
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st
from strategies import instances

from lictor_policy.conditions.facts import FACTS
from lictor_policy.conditions.partial_evaluation import CLAIMING, OPEN, SETTLED, reduced
from lictor_policy.events.content import claim_type_of
from lictor_policy.events.position import EventPosition
from lictor_policy.task.transitions import begin
from lictor_schema.core.time import to_micros
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event import Event, TaskStarted
from lictor_schema.events.event_types import EVENT_TYPES, EventType
from lictor_schema.packs.pack import Condition

MODELS = get_args(get_args(Event)[0])
EVENTS = st.sampled_from(MODELS).flatmap(instances)
POSITION = EventPosition(1, to_micros(datetime(2026, 3, 2, tzinfo=UTC)), "sha256:" + "0" * 64)


@given(event=EVENTS, start=instances(TaskStarted), backed=st.booleans())
def test_a_settled_fact_is_what_the_event_would_have_said(
    event: Any, start: TaskStarted, backed: bool
) -> None:
    state = begin(start, POSITION).changed(next_step_backed=backed)
    claim = claim_type_of(event)
    assert claim is None or event.event_type in CLAIMING
    for name, settle in SETTLED.items():
        value = settle(event.event_type, claim)
        assert value is OPEN or value == FACTS[name].compute(state, event, POSITION), name


def test_every_settled_fact_is_settled_somewhere_and_open_or_varied_elsewhere() -> None:
    silent: list[tuple[EventType, ClaimType | None]] = [(kind, None) for kind in EVENT_TYPES]
    cases = [*silent, *((kind, claim) for kind in CLAIMING for claim in ClaimType)]
    for name, settle in SETTLED.items():
        found = [settle(kind, claim) for kind, claim in cases]
        assert any(value is not OPEN for value in found), name
        assert any(value != found[0] for value in found), name


def leaf(fact: str, **comparison: Any) -> Condition:
    return Condition(fact=fact, **comparison)


def test_a_condition_about_a_completion_is_foregone_for_an_event_that_claims_none() -> None:
    asserted = leaf("claim.completion_asserted", equals=True)
    weak = leaf("evidence.completion_min_quality", less_than="moderate")
    both = Condition(all_of=(asserted, weak))
    assert reduced(both, "task_checkpoint_sent", None) is False
    left = reduced(both, "task_claimed_complete", ClaimType.COMPLETION)
    assert left == Condition(all_of=(weak,))


def test_a_condition_that_nothing_settles_stays_as_it_is() -> None:
    condition = Condition(negated=Condition(any_of=(leaf("task.mode", equals="silent"),)))
    assert reduced(condition, "task_started", None) is condition
