"""Providers in a session: whose turn it is, what is handed over, and what is never said twice."""

from itertools import pairwise
from typing import Annotated

import pytest
from feedback_play import Play, Scripted, failing, static
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from lictor_guard.errors import DefinitionError
from lictor_guard.facts.fact import Changes, Fact
from lictor_guard.facts.session_facts import Cadence
from lictor_guard.feedback.triggers import due
from lictor_guard.plugins.feedback_provider import FeedbackContext, PlainProvider
from lictor_schema.events.evidence import Quality
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.agent_definition import TriggerSpec
from lictor_schema.sessions.feedback import Feedback, Observation
from lictor_schema.sessions.session_log import FeedbackDelivered
from lictor_schema.sessions.session_questions import SeenFile


def test_a_trigger_keeps_its_conditions() -> None:
    """Scenarios 52, 74 and 75: calls, seconds, a file, or several; frozen."""
    both = TriggerSpec(every_n_calls=3, every_n_seconds=30, on_file_created="AGENTS.md")
    assert (both.every_n_calls, both.every_n_seconds, both.on_file_created) == (3, 30, "AGENTS.md")
    assert TriggerSpec(on_file_created="a").every_n_calls is None
    with pytest.raises(ValidationError):
        both.every_n_calls = 4


def test_an_empty_trigger_never_fires() -> None:
    """Scenario 53: and a definition that holds one is refused when it is loaded."""
    cadence = Cadence()
    assert due(TriggerSpec(), cadence, calls=99, now_us=10**15, existing={"a"}) is None
    with pytest.raises(DefinitionError, match="never fires"):
        Play([static("never")])


class TestCalls:
    def test_it_speaks_after_so_many_calls_and_counts_anew(self) -> None:
        """Scenarios 54, 55 and 62: at n calls, not before; then from there; it says at which call."""
        session = Play([static("a", every_n_calls=3)])
        assert [session.call() for _ in range(7)] == [[], [], ["a"], [], [], ["a"], []]
        said = [e.feedback[0].call_index for e in session.log if isinstance(e, FeedbackDelivered)]
        assert said == [3, 6]

    def test_a_late_question_counts_from_when_it_was_asked(self) -> None:
        """Scenario 47: calls since are all calls, then those since it last spoke."""
        looking = Scripted("a")
        session = Play([(looking, {"every_n_calls": 3})])
        for _ in range(5):
            session.work()
        assert session.hook() == ["a"]
        assert [session.call() for _ in range(3)] == [[], [], ["a"]]
        assert [each.calls_since for each in looking.looked] == [5, 3]

    def test_each_has_a_cadence_of_its_own(self) -> None:
        """Scenarios 59 and 65: every 3 and every 5 calls, two of one kind."""
        session = Play([static("a", every_n_calls=3), static("b", every_n_calls=5)])
        spoken = {call: session.call() for call in range(1, 11)}
        assert {call: who for call, who in spoken.items() if who} == {
            3: ["a"],
            5: ["b"],
            6: ["a"],
            9: ["a"],
            10: ["b"],
        }

    def test_all_that_match_are_heard_in_the_definition_s_order(self) -> None:
        """Scenarios 61, 63, 64, 72 and 128: both blocks in the text, both stored; the unwilling and the early are
        silent.
        """
        session = Play(
            [
                static("b", every_n_calls=1),
                (Scripted("unwilling", willing=lambda _: False), {"every_n_calls": 1}),
                static("early", every_n_calls=9),
                static("a", every_n_calls=1),
            ]
        )
        session.work()
        answer = session.collect()
        assert [each.provider for each in answer.feedback] == ["b", "a"]
        assert answer.text.index('provider="b"') < answer.text.index('provider="a"')
        assert session.log[-1].feedback == answer.feedback

    def test_without_providers_there_is_nothing_to_hear(self) -> None:
        """Scenarios 60 and 72: no providers, trigger not met, unwilling: no text, nothing stored."""
        for providers in (
            [],
            [static("a", every_n_calls=2)],
            [(Scripted("a", willing=lambda _: False), {"every_n_calls": 1})],
        ):
            session = Play(providers)
            session.work()
            length = len(session.log)
            assert session.collect().text == ""
            assert len(session.log) == length

    def test_an_unwilling_provider_is_asked_again_at_the_next_call(self) -> None:
        session = Play(
            [(Scripted("a", willing=lambda seen: seen.tally.calls >= 4), {"every_n_calls": 3})]
        )
        assert [session.call() for _ in range(5)] == [[], [], [], ["a"], []]

    @given(st.integers(1, 6), st.integers(1, 6), st.lists(st.booleans(), max_size=30))
    def test_nobody_speaks_more_often_than_its_trigger_says(
        self, n: int, m: int, asked: list[bool]
    ) -> None:
        session = Play([static("a", every_n_calls=n), static("b", every_n_calls=m)])
        for hook in asked:
            session.work()
            if hook:
                session.hook()
        for name, every in (("a", n), ("b", m)):
            at = [0] + [
                said.call_index
                for entry in session.log
                if isinstance(entry, FeedbackDelivered)
                for said in entry.feedback
                if said.provider == name
            ]
            assert all(later - earlier >= every for earlier, later in pairwise(at))


def test_a_provider_sees_its_session_and_no_other() -> None:
    """Scenarios 43 and 51: what the context keeps; two sessions of one definition do not count together."""
    looking, other = Scripted("a"), Scripted("a")
    session = Play([(looking, {"every_n_calls": 1})], deadline_s=60)
    unhurried = Play([(other, {"every_n_calls": 1})])
    for _ in range(3):
        unhurried.work()
    session.call()
    unhurried.call()
    seen = looking.looked[0]
    assert (seen.definition, seen.session_id) == ("coder", "session")
    assert seen.deadline_us == seen.began_us + 60_000_000
    assert (seen.tally.calls, len(seen.recent.calls)) == (1, 1)
    assert other.looked[0].deadline_us is None
    assert other.looked[0].tally.calls == 4
    assert seen.standing is None


class TestSeconds:
    def test_one_that_never_spoke_is_heard_at_the_first_opportunity(self) -> None:
        """Scenario 56: no earlier feedback fires at once."""
        assert Play([static("a", every_n_seconds=30)]).call() == ["a"]

    @pytest.mark.parametrize(
        ("later", "spoken"), [(10, []), (29.999999, []), (30, ["a"]), (60, ["a"])]
    )
    def test_then_after_so_many_seconds(self, later: float, spoken: list[str]) -> None:
        """Scenario 57: 60 seconds after the last one it speaks, 10 seconds after it does not."""
        session = Play([static("a", every_n_seconds=30)])
        session.call()
        assert session.after(later).call() == spoken

    def test_calls_or_seconds_are_enough(self) -> None:
        """Scenario 58: either condition fires, and starts both anew."""
        session = Play([static("a", every_n_calls=3, every_n_seconds=30)])
        assert session.call() == ["a"]
        assert [session.after(1).call() for _ in range(3)] == [[], [], ["a"]]
        assert session.after(30).call() == ["a"]
        triggers = [
            each.feedback[0].trigger for each in session.log if isinstance(each, FeedbackDelivered)
        ]
        assert triggers == ["seconds", "calls", "seconds"]

    def test_a_clock_that_jumps_back_silences_nobody_for_long(self) -> None:
        session = Play([static("a", every_n_seconds=30)])
        session.after(3600).call()
        session.after(-3600)
        assert session.call() == []
        assert session.after(3630).call() == ["a"]


class TestFiles:
    def test_a_file_that_is_there_fires_once(self) -> None:
        """Scenarios 44, 76, 77 and 78: it fires when it exists, and is marked; missing or marked does not fire."""
        session = Play([static("a", on_file_created="AGENTS.md")])
        assert session.call() == []
        assert session.call(files=["other"]) == []
        assert session.call(files=["AGENTS.md"]) == ["a"]
        assert session.log[-1].seen_files == ("AGENTS.md",)
        assert session.call(files=["AGENTS.md"]) == []
        assert session.call() == []
        assert session.call(files=["AGENTS.md"]) == []

    @pytest.mark.parametrize("state", ["missing", "directory", "other", "unknown"])
    def test_only_a_file_is_a_file(self, state: str) -> None:
        """Scenario 76: what is not there, is no file, or can't be seen does not fire."""
        session = Play([static("a", on_file_created="out")])
        seen = SeenFile.model_validate({"path": "out", "state": state})
        assert session.collect(states=[seen]).feedback == ()
        assert session.call(files=["out"]) == ["a"]

    def test_marks_are_kept_for_each_provider(self) -> None:
        """Scenarios 74, 79 and 146: two files in turn, and two providers that wait for one file."""
        session = Play(
            [
                static("a", on_file_created="one"),
                static("b", on_file_created="two"),
                static("c", on_file_created="one"),
            ]
        )
        assert session.call(files=["one"]) == ["a", "c"]
        assert session.call(files=["one", "two"]) == ["b"]
        assert session.call(files=["one", "two"]) == []

    def test_a_file_is_marked_only_if_it_was_seen(self) -> None:
        """Scenario 146: speaking for another reason does not use up a file that is not there."""
        session = Play([static("a", every_n_calls=2, on_file_created="out")])
        assert [session.call(), session.call()] == [[], ["a"]]
        assert session.call(files=["out"]) == ["a"]
        assert session.log[-1].feedback[0].trigger == "file"

    def test_speaking_with_the_file_in_view_counts_for_the_file(self) -> None:
        session = Play([static("a", every_n_calls=2, on_file_created="out")])
        session.work()
        session.work()
        assert session.hook(files=["out"]) == ["a"]
        assert session.call(files=["out"]) == []

    @pytest.mark.parametrize("stumbles", [lambda _: False, None])
    def test_a_provider_that_did_not_speak_has_not_used_up_its_file(self, stumbles) -> None:
        willing = [False, True]
        provider = (
            Scripted("a", willing=lambda _: willing.pop(0))
            if stumbles
            else Scripted("a", lambda _: willing.pop(0) and Feedback(provider="a", summary="now"))
        )
        session = Play([(provider, {"on_file_created": "out"})])
        assert session.call(files=["out"]) == []
        assert session.call(files=["out"]) == ["a"]


class TestFailures:
    @pytest.mark.parametrize(
        ("provide", "told"),
        [
            (failing, "ZeroDivisionError: oops"),
            (lambda _: None, "returned NoneType"),
            (lambda _: "text", "returned str"),
            (lambda _: Feedback.model_construct(provider="x", summary=""), "summary"),
            (lambda _: Feedback(provider="x", summary="\ud800"), ""),
        ],
    )
    def test_one_that_fails_harms_nobody(self, provide, told: str) -> None:
        """Scenario 145: the others are delivered, the failure is told and stands in the log."""
        session = Play(
            [
                static("before", every_n_calls=1),
                (Scripted("bad", provide), {"every_n_calls": 1}),
                static("after", every_n_calls=1),
            ]
        )
        session.work()
        answer = session.collect()
        assert answer.ok
        assert [each.provider for each in answer.feedback] == ["before", "after"]
        assert [each.provider for each in answer.failures] == ["bad"]
        assert told in answer.failures[0].error
        assert session.log[-1].failures == answer.failures

    def test_a_failure_in_should_run_is_one_too(self) -> None:
        session = Play([(Scripted("bad", willing=lambda _: 1 / 0 > 0), {"every_n_calls": 1})])
        session.work()
        assert session.collect().failures[0].error.startswith("ZeroDivisionError")

    def test_it_is_tried_again_at_the_next_hook(self) -> None:
        session = Play([(Scripted("bad", failing), {"every_n_calls": 3})])
        for _ in range(4):
            session.call()
        failed = [each for each in session.log if isinstance(each, FeedbackDelivered)]
        assert len(failed) == 2

    def test_a_provider_speaks_under_its_own_name_only(self) -> None:
        """Scenario 48: a cadence can't be lost, or another's taken, by a wrong name."""
        posing = Scripted("poser", lambda _: Feedback(provider="deadline", summary="boo"))
        session = Play([(posing, {"every_n_calls": 3})])
        assert [session.call() for _ in range(6)] == [[], [], ["poser"], [], [], ["poser"]]

    def test_endless_talk_is_cut(self) -> None:
        long = Feedback(
            provider="a",
            summary="s" * 60_000,
            observations=(
                Observation(category="c", description="d" * 60_000, evidence="ü" * 60_000),
            )
            * 32,
            suggestions=("x" * 60_000,) * 32,
        )
        session = Play(
            [(Scripted(f"p{n}", lambda _: long), {"every_n_calls": 1}) for n in range(40)]
        )
        session.work()
        answer = session.collect()
        assert 1 < len(answer.feedback) < 40
        assert len(answer.model_dump_json()) < 900_000
        assert len(session.log[-1].model_dump_json()) < 900_000
        assert "left out" in answer.text
        assert answer.text.startswith('<feedback provider="p0"')
        # Those that had no room are heard next.
        heard = {each.provider for each in answer.feedback}
        assert session.hook()[0] not in heard


class Counting(PlainProvider):
    """Remembers how often it looked."""

    name = "counting"

    def keys(self) -> tuple[str, ...]:
        return ("looks",)

    def should_run(self, context: FeedbackContext) -> bool:
        return False

    def provide(self, context: FeedbackContext) -> Feedback:
        raise NotImplementedError

    def remember(self, context: FeedbackContext, spoke: bool) -> Changes:
        before = context.facts.get("looks")
        count = before.count if isinstance(before, Looks) else 0
        return {"looks": Looks(count=count + 1)}


class Looks(Fact, kind="test-looks", retention="log"):
    """How often."""

    count: Annotated[int, Field(ge=0)]


class Unchanging(Counting):
    """Remembers the same each time."""

    name = "unchanging"

    def remember(self, context: FeedbackContext, spoke: bool) -> Changes:
        return {"looks": Looks(count=1)}


class Straying(Counting):
    """Remembers what it does not keep."""

    name = "straying"

    def keys(self) -> tuple[str, ...]:
        return ()

    def remember(self, context: FeedbackContext, spoke: bool) -> Changes:
        return {"looks": Looks(count=1)}


class Unreadable(Counting):
    """Remembers what can be written and not read."""

    name = "unreadable"

    def remember(self, context: FeedbackContext, spoke: bool) -> Changes:
        return {"looks": Looks(count=1).model_copy(update={"count": -1})}


class TestRemembering:
    def test_what_a_provider_remembers_stands_in_the_log(self) -> None:
        session = Play([(Counting(), {"every_n_calls": 1})])
        for _ in range(3):
            session.call()
        assert session.replay.facts["provider/counting/looks"] == Looks(count=3)

    def test_what_is_known_already_is_not_written_again(self) -> None:
        session = Play([(Unchanging(), {"every_n_calls": 1})])
        session.call()
        length = len(session.log)
        session.hook()
        assert len(session.log) == length

    def test_only_those_who_ask_see_how_the_task_stands(self) -> None:
        looking = Scripted("a")
        session = Play([(looking, {"every_n_calls": 1})])
        session.call(standing=TaskStanding(request_id="r", known=True))
        assert looking.looked[0].standing is None

    def test_a_fact_that_would_never_be_loaded_is_a_failure(self) -> None:
        session = Play([(Straying(), {"every_n_calls": 1})])
        session.work()
        assert "keys()" in session.collect().failures[0].error

    def test_what_could_not_be_read_again_is_a_failure_and_not_written(self) -> None:
        session = Play([(Unreadable(), {"every_n_calls": 1})])
        session.work()
        assert "FactError" in session.collect().failures[0].error
        assert "provider/unreadable/looks" not in session.replay.facts

    def test_no_progress_is_noticed_over_a_session(self) -> None:
        spec = {"kind": "no-progress", "name": "np", "trigger": {"every_n_calls": 1}, "calls": 3}
        session = Play([spec])

        def at(count: int) -> TaskStanding:
            evidence = {Quality.WEAK: count} if count else {}
            return TaskStanding(request_id="r", known=True, evidence=evidence)

        assert [session.call(standing=at(0)) for _ in range(3)] == [[], [], ["np"]]
        assert [session.call(standing=at(2)) for _ in range(4)] == [[], [], [], ["np"]]
        assert session.call(standing=None) == []


class TestDelivery:
    def test_the_same_question_gets_the_same_answer(self) -> None:
        session = Play([static("a", every_n_calls=1)])
        session.work()
        first = session.collect(call_id="c-1")
        length = len(session.log)
        again = session.after(3600).collect(call_id="c-1")
        assert (again.feedback, again.text) == (first.feedback, first.text)
        assert len(session.log) == length

    def test_what_was_delivered_is_not_repeated_after_a_restore(self) -> None:
        """Scenario 148: cadences and file marks are no state that rolls back."""
        session = Play([static("a", every_n_calls=2), static("b", on_file_created="out")])
        session.snapshot()
        session.work()
        session.work()
        assert session.hook(files=["out"]) == ["a", "b"]
        session.restore()
        assert session.hook(files=["out"]) == []
        assert session.call(files=["out"]) == []
        assert session.call(files=["out"]) == ["a"]

    def test_a_reset_forgets_files_and_counts_from_there(self) -> None:
        session = Play([static("a", every_n_calls=3), static("b", on_file_created="out")])
        for _ in range(4):
            session.call(files=["out"])
        session.reset()
        assert session.call() == []
        assert session.call(files=["out"]) == ["b"]
        assert session.call() == ["a"]

    def test_feedback_ids_are_the_same_however_often_it_is_decided(self) -> None:
        one, two = (Play([static("a", every_n_calls=1)]) for _ in range(2))
        for session in (one, two):
            session.work()
        assert one.collect().feedback[0].feedback_id == two.collect().feedback[0].feedback_id

    def test_stored_feedback_is_kept_in_order(self) -> None:
        """Scenario 73: the log keeps all of it, the newest last."""
        looking = Scripted("a")
        session = Play([(looking, {"every_n_calls": 1})])
        for _ in range(40):
            session.call()
        assert looking.looked[-1].tally.calls == 40
        assert [each.call_id for each in looking.looked[-1].recent.calls] == [
            f"call-{number}" for number in range(9, 41)
        ]
        kept = [
            each.call_index
            for entry in session.log
            if isinstance(entry, FeedbackDelivered)
            for each in entry.feedback
        ]
        assert kept == list(range(1, 41))
        assert looking.looked[0].last_spoke_us is None
        assert looking.looked[1].last_spoke_us == looking.looked[0].now_us


class TestLooking:
    """What a provider may look at, in the words of the guardrails document."""

    def test_last_feedback_is_what_the_agent_heard_last_of_anybody(self) -> None:
        """Scenario 45: none at first, then the newest."""
        looking = Scripted("looking", willing=lambda _: False)
        session = Play(
            [
                static("a", every_n_calls=2),
                static("b", every_n_calls=3),
                (looking, {"every_n_calls": 1}),
            ]
        )
        for _ in range(6):
            session.call()
        session.hook()
        last = [each.last_feedback for each in looking.looked]
        assert [each and each.provider for each in last] == [None, None, "a", "b", "a", "a", "b"]

    def test_each_provider_s_last_feedback_and_the_calls_since_are_told_apart(self) -> None:
        """Scenarios 46, 47, 48 and 49: calls in all, since any feedback, and since that of one provider."""
        looking = Scripted("looking", willing=lambda _: False)
        session = Play([static("a", every_n_calls=3), (looking, {"every_n_calls": 1})])
        for _ in range(5):
            session.call()
        seen = looking.looked[-1]
        assert seen.tool_call_count == 5
        heard = seen.last_feedback_for_provider("a")
        assert heard is not None
        assert (heard.summary, heard.call_index) == ("I am a.", 3)
        assert seen.last_feedback_for_provider("looking") is None
        assert seen.last_feedback_for_provider("nobody") is None
        assert seen.tool_calls_since_last_feedback() == 2
        assert seen.tool_calls_since_last_feedback_for_provider("a") == 2
        assert seen.tool_calls_since_last_feedback_for_provider("looking") == 5

    def test_before_any_call_there_is_nothing_to_count_or_to_look_back_at(self) -> None:
        """Scenarios 46 and 50: no calls, a count of 0, and no recent ones."""
        looking = Scripted("looking", willing=lambda _: False)
        Play([(looking, {"every_n_seconds": 1})]).hook()
        (seen,) = looking.looked
        assert (seen.tool_call_count, seen.recent_tool_calls(5)) == (0, ())
        assert seen.tool_calls_since_last_feedback() == 0
        assert seen.last_feedback is None

    def test_the_last_calls_are_told_with_parameters_and_results(self) -> None:
        """Scenario 50: oldest first, all if there are fewer, none for n = 0."""
        looking = Scripted("looking", willing=lambda _: False)
        session = Play([(looking, {"every_n_calls": 1})])
        session.call()
        session.work(tool="Edit", params={"path": "a.txt"}, outcome="failed", error="no such file")
        session.work(tool="Read", params={"path": "b"}, output="x" * 5000, duration_ms=12)
        session.hook()
        seen = looking.looked[-1]
        edit, read = seen.recent_tool_calls(2)
        assert (edit.tool, edit.params, edit.success) == ("Edit", {"path": "a.txt"}, False)
        assert (edit.outcome, edit.error) == ("failed", "no such file")
        assert (read.tool, read.success, read.duration_ms) == ("Read", True, 12)
        assert read.output == "x" * 1000 + "… (cut)"
        assert [each.call_id for each in seen.recent_tool_calls(9)] == [
            "call-1",
            "call-2",
            "call-3",
        ]
        assert seen.recent_tool_calls(0) == ()

    def test_more_calls_than_are_kept_take_each_other_s_place(self) -> None:
        looking = Scripted("looking", willing=lambda _: False)
        session = Play([(looking, {"every_n_calls": 1})])
        for number in range(40):
            session.work(params={"number": number})
        session.hook()
        kept = looking.looked[-1].recent_tool_calls(100)
        assert [each.params["number"] for each in kept] == list(range(8, 40))
        session.reset()
        session.call()
        assert [each.params for each in looking.looked[-1].recent_tool_calls(100)] == [{}]

    def test_long_parameters_are_cut_and_those_without_end_left_out(self) -> None:
        looking = Scripted("looking", willing=lambda _: False)
        session = Play([(looking, {"every_n_calls": 1})])
        session.work(params={"path": "a", "content": ["y" * 9000], "numbers": [1] * 20_000})
        session.hook()
        (call,) = looking.looked[-1].recent_tool_calls(1)
        assert call.params == {"path": "a", "content": ["y" * 1000 + "… (cut)"]}

    def test_nothing_of_it_is_kept_where_only_built_in_providers_advise(self) -> None:
        session = Play([static("a", every_n_calls=1)])
        session.work(params={"secret": "s3cret"}, output="s3cret")
        assert "s3cret" not in str(session.replay.facts)
        assert session.log[-1].output is None
