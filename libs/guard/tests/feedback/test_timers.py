"""Time-driven feedback while no hook comes: when a timer rings, who speaks, and when it is left alone."""

import pytest
from feedback_play import Play, Scripted, static
from hypothesis import given
from hypothesis import strategies as st

from lictor_guard.facts.fact import Changes, Fact
from lictor_guard.plugins.feedback_provider import FeedbackContext, PlainProvider
from lictor_schema.sessions.feedback import Feedback
from lictor_schema.sessions.session_log import (
    FeedbackDelivered,
    FeedbackRaised,
    SessionEntry,
    StateReset,
)

DAY = 86_400


class Silent(PlainProvider):
    """Never has anything to say; or fails instead."""

    def __init__(self, name: str = "silent", *, fails: bool = False) -> None:
        self.name = name
        self._fails = fails

    def should_run(self, context: FeedbackContext) -> bool:
        return self._fails

    def provide(self, context: FeedbackContext) -> Feedback:
        raise ZeroDivisionError("oops")


def test_a_session_rings_so_many_seconds_after_it_began() -> None:
    assert Play([static("a", every_n_seconds=30), static("b", every_n_seconds=20)]).rings_in_s == 20


def test_without_time_driven_providers_nothing_rings() -> None:
    session = Play([static("a", every_n_calls=1), static("b", on_file_created="out")])
    assert session.rings_in_s is None
    session.call(files=["out"])
    assert session.rings_in_s is None


def test_what_a_timer_raised_is_handed_over_at_the_next_hook_once() -> None:
    session = Play([static("a", every_n_seconds=30), static("b", every_n_calls=1)])
    assert session.after(30).tick() == ["a"]
    session.after(20).work()
    answer = session.collect()
    assert [each.provider for each in answer.feedback] == ["a", "b"]
    assert 'provider="a" severity="info">' in answer.text
    assert session.after(5).call() == ["b"]


DEADLINE = {
    "kind": "deadline",
    "name": "deadline",
    "trigger": {"every_n_seconds": 30},
    "warn_s": 10,
}


def test_the_agent_hears_the_time_that_is_left_when_it_hears_it() -> None:
    """Raised with 17 seconds left during a long call; 6 are left when the call has ended."""
    session = Play([DEADLINE], deadline_s=60)
    session.after(13).call()
    assert session.after(30).tick() == ["deadline"]
    assert "Time left before the deadline: 17 seconds" in session.log[-1].feedback[0].summary
    session.after(11).work()
    answer = session.collect()
    assert len(answer.feedback) == 1
    assert "Time left before the deadline: 6 seconds" in answer.text
    assert "17 seconds" not in answer.text
    assert "raised=" not in answer.text


def test_a_warning_that_is_due_is_not_swallowed_by_what_waits() -> None:
    session = Play([DEADLINE], deadline_s=65)
    assert session.after(30).tick() == ["deadline"]
    assert session.log[-1].feedback[0].severity == "info"
    # Due again while it waits: operators read the warning, and it takes the place of what waited.
    assert session.after(30).tick() == ["deadline"]
    assert session.log[-1].feedback[0].severity == "warning"
    session.after(2).work()
    answer = session.collect()
    assert [each.severity for each in answer.feedback] == ["warning"]
    assert "3 seconds" in answer.text


def test_one_that_would_say_the_same_is_not_raised_again() -> None:
    session = Play([static("a", every_n_seconds=30)])
    assert session.after(30).tick() == ["a"]
    assert session.after(30).tick() == []
    assert session.call() == ["a"]
    assert session.call() == []


def test_what_no_longer_holds_is_withdrawn() -> None:
    """Evidence was attached while the advice that there is none was waiting."""
    willing = [True, False]
    session = Play([(Scripted("a", willing=lambda _: willing.pop(0)), {"every_n_seconds": 30})])
    assert session.after(30).tick() == ["a"]
    session.after(5).work()
    assert session.collect().text == ""
    assert session.log[-1].withdrawn == ("a",)
    willing.append(True)
    assert session.call() == ["a"]


def test_one_that_fails_when_it_is_asked_again_is_heard_as_it_was_worded() -> None:
    said = [Feedback(provider="a", summary="Take care.")]
    session = Play([(Scripted("a", lambda _: said.pop()), {"every_n_seconds": 30})])
    assert session.after(30).tick() == ["a"]
    session.after(20).work()
    answer = session.collect()
    assert 'provider="a" severity="info" raised="20 seconds ago"' in answer.text
    assert [each.provider for each in answer.failures] == ["a"]


class Once(PlainProvider):
    """Says something once, and notes that it has."""

    name = "once"

    def keys(self) -> tuple[str, ...]:
        return ("told",)

    def should_run(self, context: FeedbackContext) -> bool:
        return context.facts.get("told") is None

    def provide(self, context: FeedbackContext) -> Feedback:
        return Feedback(provider=self.name, summary="Only once.")

    def remember(self, context: FeedbackContext, spoke: bool) -> Changes:
        return {"told": Told()} if spoke else {}


class Told(Fact, kind="test-told", retention="log"):
    """It was told."""


def test_a_provider_has_spoken_when_the_agent_has_heard_it() -> None:
    session = Play([(Once(), {"every_n_seconds": 30})])
    assert session.after(30).tick() == ["once"]
    assert session.after(5).call() == ["once"]
    assert session.after(60).call() == []


def test_a_loop_that_a_timer_saw_is_heard_of() -> None:
    """What was raised has not been heard: the repetitions before it still count."""
    spec = {"kind": "repeated-calls", "name": "loops", "trigger": {"every_n_seconds": 30}}
    session = Play([spec])
    for _ in range(3):
        session.work()
    assert session.after(30).tick() == ["loops"]
    assert session.after(5).call() == ["loops"]


def test_a_log_from_before_is_folded_and_what_was_heard_in_it_counts() -> None:
    """Once, what waited was handed over under the id that it was raised with."""
    session = Play([static("a", every_n_seconds=30)])
    session.after(30).tick()
    raised = session.log[-1]
    session.after(5).work()
    shared = {name: getattr(raised, name) for name in SessionEntry.model_fields}
    shared |= {"kind": "feedback_delivered", "at_us": session.now_us}
    entry = FeedbackDelivered(**shared, call_id="c", feedback=raised.feedback)
    session.replay.add(len(session.log) + 1, entry)
    assert session.hook() == []
    assert session.after(30).hook() == ["a"]


def test_after_it_was_handed_over_the_timer_is_set_again() -> None:
    session = Play([static("a", every_n_seconds=30)])
    session.after(30).tick()
    session.after(10).call()
    assert session.rings_in_s == 30


def test_a_timer_rings_at_most_once_a_second() -> None:
    """A hook hears a provider as often as its trigger says, also in fractions of a second."""
    session = Play([static("a", every_n_seconds=0.25)])
    assert session.rings_in_s == 1
    assert session.call() == ["a"]
    assert session.after(0.2).call() == []
    assert session.after(0.05).call() == ["a"]


def test_the_others_go_on_while_one_waits() -> None:
    session = Play([static("a", every_n_seconds=30), static("b", every_n_seconds=45)])
    assert session.after(30).tick() == ["a"]
    assert session.rings_in_s == 15
    assert session.after(15).tick() == ["b"]
    assert session.rings_in_s == 15
    assert session.call() == ["a", "b"]


def test_a_hook_postpones_the_timer() -> None:
    session = Play([static("a", every_n_seconds=30)])
    assert session.after(25).call() == ["a"]
    assert session.rings_in_s == 30
    assert session.after(5).tick() is None


def test_a_timer_does_not_run_those_that_wait_for_calls_or_files() -> None:
    session = Play(
        [
            static("a", every_n_calls=1),
            static("b", on_file_created="out"),
            static("c", every_n_seconds=9),
        ]
    )
    session.work()
    assert session.after(9).tick() == ["c"]


def test_a_second_tick_changes_nothing() -> None:
    session = Play([static("a", every_n_seconds=30)])
    session.after(30).tick()
    length = len(session.log)
    assert session.tick() is None
    assert len(session.log) == length


def test_an_ended_session_does_not_ring_until_it_is_given_work() -> None:
    session = Play([static("a", every_n_seconds=30)])
    session.call()
    session.stop()
    assert session.after(60).tick() is None
    session.after(8 * 3600).prompt()
    assert session.rings_in_s == 30
    assert session.after(30).tick() == ["a"]


def test_a_hook_after_the_end_sets_no_timer() -> None:
    session = Play([static("a", every_n_seconds=30)])
    session.stop()
    assert session.after(60).hook() == ["a"]
    assert session.rings_in_s is None
    # Work that goes on all the same is no end.
    assert session.after(60).call() == ["a"]
    assert session.rings_in_s == 30


def test_work_that_goes_on_after_the_end_sets_the_timer_though_nobody_speaks() -> None:
    """The end has taken off the timer that was set before."""
    session = Play([static("a", every_n_seconds=30)])
    assert session.call() == ["a"]
    session.after(10).stop()
    assert session.rings_in_s is None
    assert session.after(1).call() == []
    assert session.rings_in_s == 19


def test_what_waits_takes_its_part_of_the_room() -> None:
    long = Feedback(provider="x", summary="s", suggestions=("x" * 1000,) * 32)
    timed = [(Scripted(f"t{n}", lambda _: long), {"every_n_seconds": 9}) for n in range(16)]
    called = [(Scripted(f"c{n}", lambda _: long), {"every_n_calls": 1}) for n in range(16)]
    session = Play([*timed, *called])
    assert session.after(9).tick()
    heard = session.call()
    assert len(session.log[-1].model_dump_json()) < 500_000
    # Who had no room is heard next.
    assert set(session.hook()).isdisjoint(heard)


def test_a_reset_sets_the_timer_again() -> None:
    session = Play([static("a", every_n_seconds=30)])
    session.after(30).tick()
    session.after(10).reset()
    assert session.rings_in_s == 30
    assert session.after(30).tick() == ["a"]


def test_a_silent_provider_is_asked_again_after_its_seconds() -> None:
    session = Play([(Silent(), {"every_n_seconds": 30})])
    assert session.after(30).tick() == []
    assert session.rings_in_s == 30


def test_a_failing_provider_is_not_asked_in_a_hurry() -> None:
    session = Play([(Silent(fails=True), {"every_n_seconds": 30})])
    assert session.after(30).tick() == []
    assert session.log[-1].failures[0].error == "ZeroDivisionError: oops"
    assert session.rings_in_s == 30


@pytest.mark.parametrize("provider", [Silent(), Silent(fails=True), Scripted("a")])
@pytest.mark.parametrize("seconds", [1, 30, 600])
def test_an_abandoned_session_costs_few_ticks_and_then_none(seconds: int, provider) -> None:
    session = Play([(provider, {"every_n_seconds": seconds})])
    ticks = 0
    rings_in = session.rings_in_s
    while rings_in is not None and session.after(rings_in).tick() is not None:
        rings_in = session.rings_in_s
        assert rings_in is None or seconds <= rings_in <= DAY
        ticks += 1
        assert ticks < 150
    assert ticks > 10
    assert session.now_us - session.log[0].at_us > 7 * DAY * 1_000_000


def test_deadline_feedback_while_a_tool_runs_warns_in_time() -> None:
    deadline = {"kind": "deadline", "name": "deadline", "trigger": {"every_n_seconds": 60}}
    session = Play([deadline], deadline_s=120)
    assert session.after(60).tick() == ["deadline"]
    raised = session.log[-1]
    assert isinstance(raised, FeedbackRaised)
    assert raised.feedback[0].severity == "warning"
    assert session.call() == ["deadline"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["call", "work", "tick", "stop", "prompt", "reset"]), st.integers(0, 50)
        ),
        max_size=40,
    )
)
def test_whoever_raised_something_is_heard_at_the_next_hook_once(script) -> None:
    session = Play(
        [static("a", every_n_seconds=20), static("b", every_n_calls=3, every_n_seconds=35)]
    )
    for step, seconds in script:
        getattr(session.after(seconds), step)()
    session.hook()
    waiting: set[str] = set()
    delivered: list[str] = []
    for entry in session.log:
        if isinstance(entry, FeedbackRaised):
            waiting |= {each.provider for each in entry.feedback}
        elif isinstance(entry, FeedbackDelivered):
            heard = [each.provider for each in entry.feedback]
            assert len(heard) == len(set(heard))
            assert waiting <= set(heard)
            waiting = set()
            delivered += [each.feedback_id for each in entry.feedback]
        elif isinstance(entry, StateReset):
            waiting = set()
    assert not waiting
    assert len(delivered) == len(set(delivered))
