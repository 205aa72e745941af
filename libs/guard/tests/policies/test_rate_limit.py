"""So many calls in any window of time, counted when they are allowed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_walk import NOON, SECOND, Walk

from lictor_guard.policies.rate_limit import EXACT, RateLimit
from lictor_schema.sessions.session_questions import CallOutcome
from lictor_schema.sessions.tool_policy import RateLimitSpec


def policy(limit: int, window_s: int = 60, name: str = "pace") -> RateLimit:
    spec = RateLimitSpec(
        kind="rate-limit", name=name, tools=("fetch", "api_*"), limit=limit, window_s=window_s
    )
    return RateLimit(spec)


def test_calls_up_to_the_limit_pass_and_the_next_is_told_when_to_come_back() -> None:
    session = Walk(policy(2))
    assert session.run("fetch") == []
    session.after(15)
    assert session.run("api_get") == []
    session.after(5)
    denial = session.denied("fetch")
    assert denial.reason == "'fetch' and 'api_*' may be called 2 times in 60 s, and that is used up"
    assert denial.remedy == "call 'fetch' again in 40 s, at 2023-11-14T22:14:20+00:00"
    assert session.run("other") == []


def test_the_window_slides_exactly() -> None:
    session = Walk(policy(2))
    session.run("fetch")
    session.after(30)
    session.run("fetch")
    session.after(29.999999)
    assert session.run("fetch")
    session.after(0.000001)
    assert session.run("fetch") == []
    assert session.run("fetch")


def test_calls_side_by_side_can_not_pass_together() -> None:
    session = Walk(policy(2))
    calls = [session.call("fetch") for _ in range(3)]
    assert [len(session.ask(each)) for each in calls] == [0, 0, 1]


def test_asking_again_about_one_call_counts_once() -> None:
    session = Walk(policy(2))
    call = session.call("fetch")
    assert [session.ask(call) for _ in range(3)] == [[], [], []]
    assert session.run("fetch") == []
    assert session.run("fetch")


def test_the_id_of_a_call_that_has_ended_opens_nothing() -> None:
    session = Walk(policy(1))
    call = session.call("fetch")
    session.ask(call)
    session.end(call)
    assert session.ask(call)


def test_a_denied_call_does_not_count() -> None:
    session = Walk(policy(1))
    session.run("fetch")
    for _ in range(5):
        assert session.run("fetch")
    session.after(60)
    assert session.run("fetch") == []


@pytest.mark.parametrize("outcome", ["ok", "failed", "crashed", "interrupted", "denied", "invalid"])
def test_a_call_counts_once_however_it_ended(outcome: CallOutcome) -> None:
    session = Walk(policy(2))
    session.run("fetch", outcome)
    assert session.run("fetch") == []
    assert session.run("fetch")


def test_a_call_that_nobody_asked_about_counts_when_it_ends() -> None:
    session = Walk(policy(1))
    session.end(session.call("fetch"))
    assert session.run("fetch")


@pytest.mark.parametrize("outcome", ["denied", "invalid"])
def test_a_call_that_nobody_asked_about_and_that_never_ran_is_none(outcome: CallOutcome) -> None:
    session = Walk(policy(1))
    session.end(session.call("fetch"), outcome)
    assert session.run("fetch") == []


def test_a_clock_that_jumps_back_does_not_open_the_window() -> None:
    session = Walk(policy(2))
    session.run("fetch")
    session.now_us -= 3600 * SECOND
    assert session.run("fetch") == []
    assert session.run("fetch")
    session.now_us = NOON + 59 * SECOND
    assert session.run("fetch")


def test_a_restore_gives_no_calls_back() -> None:
    session = Walk(policy(1))
    session.run("fetch")
    session.restore({})
    assert session.run("fetch")


def test_two_limits_count_apart() -> None:
    """Scenario 142: two policies of one kind keep their facts apart."""
    session = Walk(policy(1, name="one"), policy(2, name="other"))
    assert session.run("fetch") == []
    assert len(session.ask(session.call("fetch"))) == 1


@pytest.mark.parametrize("limit", [EXACT + 1, 10_000])
def test_a_high_limit_keeps_little_and_lets_no_more_through(limit: int) -> None:
    session = Walk(policy(limit, window_s=1000))
    allowed = 0
    for _ in range(limit + 500):
        allowed += session.run("fetch") == []
        session.now_us += 1000 * SECOND // (limit + 600)
    assert allowed == limit
    assert max(len(fact) for fact in session.stored.values()) < 5000


@given(
    limit=st.sampled_from([1, 2, 5, EXACT + 3]),
    steps=st.lists(st.integers(0, 30 * SECOND), min_size=1, max_size=40),
)
def test_no_window_ever_holds_more_than_the_limit(limit: int, steps: list[int]) -> None:
    session = Walk(policy(limit, window_s=20))
    made: list[int] = []
    for step in steps:
        session.now_us += step
        # Enough at a time that the higher limit is reached too.
        for _ in range(limit // 2 + 1):
            if session.run("fetch") == []:
                made.append(session.now_us)
    for start in made:
        assert sum(start <= each < start + 20 * SECOND for each in made) <= limit


@given(steps=st.lists(st.integers(0, 30 * SECOND), min_size=1, max_size=40))
def test_up_to_the_exact_limit_no_call_waits_longer_than_it_must(steps: list[int]) -> None:
    session = Walk(policy(3, window_s=20))
    made: list[int] = []
    for step in steps:
        session.now_us += step
        room = sum(each > session.now_us - 20 * SECOND for each in made) < 3
        assert (session.run("fetch") == []) == room
        if room:
            made.append(session.now_us)
