"""Tools that may be called only at certain times of certain days."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_walk import Walk

from lictor_guard.errors import DefinitionError
from lictor_guard.policies.time_window import WEEKDAYS, TimeWindow
from lictor_schema.sessions.tool_policy import TimeWindowSpec

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def policy(begins: str, ends: str, **options: Any) -> TimeWindow:
    spec = TimeWindowSpec(
        kind="time-window",
        name="hours",
        tools=("deploy", "db_*"),
        begins=begins,
        ends=ends,
        **options,
    )
    return TimeWindow(spec)


def walk(window: TimeWindow, moment: str) -> Walk:
    """At a moment in ISO form with an offset."""
    session = Walk(window)
    session.now_us = (datetime.fromisoformat(moment) - EPOCH) // timedelta(microseconds=1)
    return session


def is_open(window: TimeWindow, moment: str) -> bool:
    return walk(window, moment).run("deploy") == []


def opening(window: TimeWindow, moment: str) -> str:
    return (walk(window, moment).denied("deploy").remedy or "").partition(" again at ")[2]


def test_the_window_is_open_from_its_begin_until_before_its_end() -> None:
    window = policy("09:00", "17:00")
    assert not is_open(window, "2026-03-02T08:59:59.999999Z")
    assert is_open(window, "2026-03-02T09:00:00Z")
    assert is_open(window, "2026-03-02T16:59:59.999999Z")
    assert not is_open(window, "2026-03-02T17:00:00Z")


def test_other_tools_are_not_gated() -> None:
    session = walk(policy("09:00", "17:00"), "2026-03-02T03:00:00Z")
    assert session.run("test") == []
    assert session.run("db_drop")


def test_a_denial_tells_the_window_the_time_and_the_next_opening() -> None:
    window = policy("09:00", "17:00", days=("mon", "fri"), timezone="Europe/Vienna")
    denial = walk(window, "2026-03-02T18:00:00+01:00").denied("deploy")
    assert denial.reason == (
        "'deploy' may be called only on mon, fri from 09:00 to 17:00 (Europe/Vienna);"
        " it is mon 2026-03-02 18:00+01:00"
    )
    assert denial.remedy == "call 'deploy' again at fri 2026-03-06 09:00+01:00"


def test_a_window_past_midnight_belongs_to_the_day_it_began_on() -> None:
    window = policy("22:00", "04:00", days=("fri",))
    assert is_open(window, "2026-03-06T23:00:00Z")
    assert is_open(window, "2026-03-07T03:59:00Z")
    assert not is_open(window, "2026-03-06T03:00:00Z")
    assert not is_open(window, "2026-03-07T23:00:00Z")


def test_a_window_that_ends_when_it_begins_is_a_whole_day() -> None:
    window = policy("00:00", "00:00", days=("sat",))
    assert is_open(window, "2026-03-07T00:00:00Z")
    assert is_open(window, "2026-03-07T23:59:59Z")
    assert not is_open(window, "2026-03-08T00:00:00Z")
    assert opening(window, "2026-03-08T00:00:00Z") == "sat 2026-03-14 00:00+00:00"


def test_the_day_is_that_of_the_place() -> None:
    window = policy("08:00", "10:00", days=("tue",), timezone="Asia/Tokyo")
    assert is_open(window, "2026-03-02T23:30:00Z")


def test_where_clocks_are_set_forward_the_window_opens_when_they_go_on() -> None:
    window = policy("02:15", "05:00", timezone="America/New_York")
    assert not is_open(window, "2026-03-08T01:59:00-05:00")
    assert opening(window, "2026-03-08T01:59:00-05:00") == "sun 2026-03-08 03:00-04:00"
    assert is_open(window, "2026-03-08T03:00:00-04:00")


def test_a_window_that_the_clocks_leave_out_opens_the_next_time() -> None:
    window = policy("02:15", "02:45", days=("sun",), timezone="America/New_York")
    assert opening(window, "2026-03-08T01:00:00-05:00") == "sun 2026-03-15 02:15-04:00"


def test_where_clocks_are_set_back_the_hour_counts_twice() -> None:
    window = policy("01:30", "02:00", timezone="America/New_York")
    assert is_open(window, "2026-11-01T01:45:00-04:00")
    assert not is_open(window, "2026-11-01T01:10:00-05:00")
    assert opening(window, "2026-11-01T01:10:00-05:00") == "sun 2026-11-01 01:30-05:00"
    assert is_open(window, "2026-11-01T01:45:00-05:00")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "Europe", "/etc/localtime"])
def test_a_zone_that_is_none_is_refused_when_it_is_loaded(zone: str) -> None:
    with pytest.raises(DefinitionError, match="there is no time zone"):
        policy("09:00", "17:00", timezone=zone)


@given(
    begins=st.times().map(lambda each: f"{each:%H:%M}"),
    ends=st.times().map(lambda each: f"{each:%H:%M}"),
    days=st.sets(st.sampled_from(WEEKDAYS), min_size=1),
    zone=st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe"]),
    moment=st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_the_window_is_open_at_the_time_that_a_denial_tells_and_not_a_minute_before(
    begins: str, ends: str, days: set[Any], zone: str, moment: datetime
) -> None:
    window = policy(begins, ends, days=tuple(days), timezone=zone)
    session = walk(window, moment.isoformat())
    denials = session.ask(session.call("deploy"))
    if denials:
        told = datetime.fromisoformat((denials[0].remedy or "").partition(" again at ")[2][4:])
        assert told > moment
        assert is_open(window, told.isoformat())
        assert not is_open(window, (told - timedelta(minutes=1)).isoformat())
