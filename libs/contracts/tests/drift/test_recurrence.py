"""A cause that comes back is worse each time, and asks for exactly one patch at a time."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.drift.events import Cause, drift_events
from lictor_contracts.drift.recurrence import Counted, Recurrence, RecurrenceError, counted, settled
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity, DriftType, PatchType
from lictor_schema.contracts.patch import PatchRequest
from lictor_schema.core.base_model import MAX_ITEMS

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
GREEN, YELLOW, RED = DriftSeverity


def seen(
    episode: str, severity: DriftSeverity = GREEN, *, at: datetime = NOON, cause: str = "slow"
) -> DriftEvent:
    """The cause in one episode."""
    return drift_events(episode, "refund", [Cause(DriftType.TIME, cause, severity)], at)[0]


def fold(*events: DriftEvent, state: Recurrence | None = None) -> list[Counted]:
    """What comes of each event, one after the other."""
    results: list[Counted] = []
    for event in events:
        results.append(counted(state, event))
        state = results[-1].state
    return results


def requests(results: list[Counted]) -> list[PatchRequest]:
    """What was asked for."""
    return [each.request for each in results if each.request is not None]


def test_the_first_is_logged_the_second_is_yellow_the_third_is_red_and_asks_for_a_patch() -> None:
    """Contract scenario 48: the third time is red, with a proposal."""
    results = fold(*(seen(f"ep-{number}") for number in range(5)))
    assert [each.event.severity for each in results] == [GREEN, YELLOW, RED, RED, RED]
    assert [each.request is not None for each in results] == [False, False, True, False, False]
    (request,) = requests(results)
    assert request.recommended_patch_type is PatchType.DTE_CHANGE
    assert (request.occurrences, request.attempt, request.severity) == (3, 1, RED)
    assert request.drift_ids == tuple(seen(f"ep-{number}").drift_id for number in range(3))


def test_a_red_first_occurrence_stays_red() -> None:
    first, second = fold(seen("a", RED), seen("b", GREEN))
    assert (first.event.severity, second.event.severity) == (RED, RED)


def test_a_cause_seen_worse_in_the_same_episode_stays_so() -> None:
    first, worse, milder, other = fold(
        seen("a", GREEN), seen("a", RED), seen("a", GREEN), seen("b", GREEN)
    )
    assert first.event.severity is GREEN
    assert {each.event.severity for each in (worse, milder, other)} == {RED}
    assert (milder.state.occurrences, other.state.occurrences) == (1, 2)


def test_the_state_of_a_cause_stays_small_however_often_it_comes_back() -> None:
    *_, last = fold(seen("first", YELLOW), *(seen(f"ep-{number}") for number in range(1_200)))
    assert len(last.state.severities) == MAX_ITEMS
    assert (last.state.occurrences, last.state.severity) == (1_201, RED)
    again = counted(last.state, seen("ep-1199"))
    assert again.state == last.state


EPISODES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(DriftSeverity)), max_size=14
)


@given(EPISODES)
def test_severity_only_rises_and_never_falls_below_what_was_found(
    drawn: list[tuple[str, DriftSeverity]],
) -> None:
    results = fold(*(seen(episode, severity) for episode, severity in drawn))
    for (_, severity), result in zip(drawn, results, strict=True):
        assert result.event.severity.rank >= severity.rank
        assert result.state.severity.rank >= severity.rank
    for before, after in pairwise(results):
        assert after.state.severity.rank >= before.state.severity.rank


@given(EPISODES)
def test_a_redelivered_event_changes_nothing(drawn: list[tuple[str, DriftSeverity]]) -> None:
    results = fold(*(seen(episode, severity) for episode, severity in drawn))
    if not results:
        return
    state = results[-1].state
    for episode, severity in drawn:
        again = counted(state, seen(episode, severity))
        assert again.state == state
        assert again.request is None
    assert state.occurrences == len({episode for episode, _ in drawn})


@given(EPISODES)
def test_one_patch_is_asked_for_however_often_the_cause_returns(
    drawn: list[tuple[str, DriftSeverity]],
) -> None:
    results = fold(*(seen(episode, severity) for episode, severity in drawn))
    occurrences = len({episode for episode, _ in drawn})
    assert len(requests(results)) == (occurrences >= 3)


def test_after_its_patch_was_settled_the_cause_asks_for_another_with_another_id() -> None:
    results = fold(seen("a"), seen("b"), seen("c"))
    (first,) = requests(results)
    after = settled(results[-1].state, first.request_id, NOON)
    assert settled(after, first.request_id, NOON) == after
    (next_result,) = fold(seen("d", at=NOON + timedelta(seconds=1)), state=after)
    assert next_result.request is not None
    assert next_result.request.attempt == 2
    assert next_result.request.request_id != first.request_id


def test_drift_from_before_the_patch_does_not_speak_against_it() -> None:
    results = fold(seen("a"), seen("b"), seen("c"))
    (first,) = requests(results)
    after = settled(results[-1].state, first.request_id, NOON + timedelta(hours=1))
    (late,) = fold(seen("d", at=NOON + timedelta(minutes=59)), state=after)
    assert late.request is None
    assert late.event.severity is RED


def test_replaying_the_stream_asks_for_the_same_patch() -> None:
    stream = [seen(episode) for episode in "abc"]
    assert requests(fold(*stream)) == requests(fold(*stream))


def test_an_event_of_another_cause_is_not_counted_here() -> None:
    (result,) = fold(seen("a"))
    with pytest.raises(RecurrenceError, match="its own fingerprint"):
        counted(result.state, seen("b", cause="late"))


def test_a_request_that_is_not_open_can_not_be_settled() -> None:
    state = fold(seen("a"), seen("b"), seen("c"))[-1].state
    with pytest.raises(RecurrenceError, match=f"settle {state.open_request}"):
        settled(state, "another", NOON)
    with pytest.raises(RecurrenceError, match="never made"):
        settled(fold(seen("a"))[-1].state, "another", NOON)
