"""The handling of drift goes forward by single steps, and a redelivery takes nothing back."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.drift.events import Cause, drift_events
from lictor_contracts.drift.triage import (
    Triage,
    TriageRefused,
    TriageStep,
    moved,
    received,
    refuse_alone,
)
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity, DriftType, TriageState

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
PATH = list(TriageState)


def drifted(severity: DriftSeverity = DriftSeverity.YELLOW, episode: str = "ep") -> DriftEvent:
    """A drift event of this severity, always with the same id."""
    return drift_events(episode, "refund", [Cause(DriftType.TIME, "slow", severity)], NOON)[0]


def at_state(state: TriageState) -> Triage:
    """A triage that went all the way to a state."""
    triage = received(None, drifted())
    for number, step in enumerate(PATH[1 : PATH.index(state) + 1], start=1):
        triage = moved(triage, step, "ops", NOON + timedelta(minutes=number))
    return triage


def test_the_whole_way_can_be_gone_and_is_remembered() -> None:
    triage = at_state(TriageState.VERIFIED)
    assert triage.state is TriageState.VERIFIED
    assert triage.moves[0] == TriageStep(TriageState.TRIAGED, "ops", NOON + timedelta(minutes=1))
    assert [each.state for each in triage.moves] == PATH[1:]


@pytest.mark.parametrize("state", PATH)
@pytest.mark.parametrize("to", PATH)
def test_only_the_next_step_is_legal_and_the_refusal_names_it(
    state: TriageState, to: TriageState
) -> None:
    """Contract scenario 50: an illegal triage move."""
    triage = at_state(state)
    later = NOON + timedelta(hours=1)
    if to.rank == state.rank + 1:
        assert moved(triage, to, "ops", later).state is to
        return
    following = "nothing follows" if state is PATH[-1] else PATH[state.rank + 1].value
    with pytest.raises(TriageRefused, match=following):
        moved(triage, to, "ops", later)


@pytest.mark.parametrize("by", ["ops", "Ops "])
def test_nobody_alone_says_of_red_drift_that_it_is_patched_without_a_patch(by: str) -> None:
    red = received(at_state(TriageState.PATCH_PLANNED), drifted(DriftSeverity.RED))
    with pytest.raises(TriageRefused, match="apply a patch, or have somebody else"):
        refuse_alone(red, TriageState.PATCHED, by, patch_applied=False)
    refuse_alone(red, TriageState.PATCHED, by, patch_applied=True)
    refuse_alone(red, TriageState.PATCHED, "another", patch_applied=False)
    yellow = at_state(TriageState.PATCH_PLANNED)
    refuse_alone(yellow, TriageState.PATCHED, by, patch_applied=False)


@given(st.sampled_from(PATH), st.lists(st.sampled_from(DriftSeverity), max_size=4))
def test_a_redelivery_keeps_the_state_and_the_worst_severity(
    state: TriageState, severities: list[DriftSeverity]
) -> None:
    """Contract scenario 49: redelivery keeps the triage."""
    before = at_state(state)
    after = before
    for severity in severities:
        after = received(after, drifted(severity))
    assert (after.state, after.moves) == (before.state, before.moves)
    expected = max((before.severity, *severities), key=lambda each: each.rank)
    assert after.severity is expected


def test_the_same_step_told_twice_is_taken_once() -> None:
    triage = at_state(TriageState.PATCHED)
    last = triage.moves[-1]
    assert moved(triage, last.state, last.by, last.at) == triage
    with pytest.raises(TriageRefused):
        moved(triage, last.state, "somebody else", last.at)


@pytest.mark.parametrize("by", ["", "  ", "\u200b"])
def test_a_move_by_nobody_is_refused(by: str) -> None:
    with pytest.raises(TriageRefused, match="say who"):
        moved(at_state(TriageState.NEW), TriageState.TRIAGED, by, NOON)


def test_a_move_dated_before_the_last_one_is_refused() -> None:
    with pytest.raises(TriageRefused, match="before"):
        moved(at_state(TriageState.TRIAGED), TriageState.PATCH_PLANNED, "ops", NOON)


def test_another_drift_event_does_not_take_this_ones_place() -> None:
    with pytest.raises(TriageRefused, match="of its own"):
        received(at_state(TriageState.PATCHED), drifted(episode="other"))
