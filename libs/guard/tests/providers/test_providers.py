"""The built-in providers, one by one."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from lictor_guard.errors import GuardError
from lictor_guard.facts.fact import Fact, Facts
from lictor_guard.facts.session_facts import Recent, RecentCall, Tally
from lictor_guard.plugins.feedback_provider import FeedbackContext, FeedbackProvider
from lictor_guard.providers import build_provider
from lictor_guard.providers.no_progress import EvidenceSeen, NoProgress
from lictor_guard.text.wording import in_words
from lictor_schema.events.evidence import Quality
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.agent_definition import Budgets, FeedbackSpec
from lictor_schema.sessions.feedback import Feedback, Observation
from lictor_schema.sessions.session_questions import CallOutcome

SECOND = 1_000_000
NOW = 1_800_000_000 * SECOND
_SPEC: TypeAdapter[Any] = TypeAdapter(FeedbackSpec)


def built(kind: str, **settings: Any) -> Any:
    """A provider from its document."""
    document = {"kind": kind, "name": "mine", "trigger": {"every_n_calls": 1}, **settings}
    return build_provider(_SPEC.validate_python(document))


def context(
    *,
    worked_s: int = 0,
    left_s: int | None = None,
    tally: Tally | None = None,
    recent: Sequence[RecentCall] = (),
    budgets: Budgets | None = None,
    calls_since: int | None = None,
    standing: TaskStanding | None = None,
    seen: Fact | None = None,
) -> FeedbackContext:
    """What a provider looks at."""
    counted = tally or Tally(calls=len(recent))
    return FeedbackContext(
        now_us=NOW,
        definition="coder",
        session_id="s-1",
        began_us=NOW - worked_s * SECOND,
        deadline_us=None if left_s is None else NOW + left_s * SECOND,
        budgets=budgets or Budgets(),
        tally=counted,
        recent=Recent(calls=tuple(recent)),
        calls_since=counted.calls if calls_since is None else calls_since,
        last_spoke_us=None,
        facts=Facts({"provider/mine/seen": seen}).of("provider/mine"),
        standing=standing,
    )


def call(signature: str, outcome: CallOutcome = "ok", tool: str = "Bash") -> RecentCall:
    """One of the last calls."""
    return RecentCall(call_id="c", tool=tool, signature=signature, outcome=outcome, at_us=NOW)


def test_an_observation_keeps_what_it_is_given_and_is_frozen() -> None:
    """Scenario 40: category, description, optional evidence; frozen."""
    bare = Observation(category="loop", description="again")
    assert bare.evidence is None
    assert Observation(category="a", description="b", evidence="c").evidence == "c"
    with pytest.raises(ValidationError):
        bare.category = "other"


def test_feedback_defaults_to_info_without_details() -> None:
    """Scenario 41: the defaults, and the three severities."""
    plain = Feedback(provider="p", summary="s")
    assert (plain.observations, plain.suggestions, plain.severity) == ((), (), "info")
    for severity in ("info", "caution", "warning"):
        assert Feedback(provider="p", summary="s", severity=severity).severity == severity
    with pytest.raises(ValidationError):
        Feedback.model_validate({"provider": "p", "summary": "s", "severity": "fatal"})


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "less than a second"),
        (1, "1 second"),
        (45, "45 seconds"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (119, "1 minute"),
        (300, "5 minutes"),
        (3599, "59 minutes"),
        (3600, "1 hour"),
        (5400, "1.5 hours"),
        (7200, "2 hours"),
        (-5, "less than a second"),
    ],
)
def test_durations_are_told_in_words(seconds: int, words: str) -> None:
    """Scenario 71: seconds, one minute, minutes, hours; one of each is singular."""
    assert in_words(seconds * SECOND) == words


class TestDeadline:
    def test_it_has_its_name_and_needs_a_deadline(self) -> None:
        """Scenario 66: name; refuses without deadline; runs with one."""
        provider = built("deadline")
        assert provider.name == "mine"
        assert isinstance(provider, FeedbackProvider)
        assert not provider.should_run(context())
        assert provider.should_run(context(left_s=60))

    def test_with_much_time_it_informs(self) -> None:
        """Scenario 67: two hours left is information, with time worked and left, without suggestions."""
        said = built("deadline").provide(context(worked_s=300, left_s=7200))
        assert said.severity == "info"
        assert said.suggestions == ()
        assert "5 minutes" in said.summary
        assert "2 hours" in said.summary

    @pytest.mark.parametrize(
        ("left_s", "warn_s", "severity"),
        [
            (90, 120, "warning"),
            (240, 300, "warning"),
            (120, 120, "warning"),
            (121, 120, "info"),
            (1, 120, "warning"),
        ],
    )
    def test_it_warns_from_the_threshold_on(self, left_s: int, warn_s: int, severity: str) -> None:
        """Scenario 68: little time left is a warning with suggestions; the threshold itself is little."""
        said = built("deadline", warn_s=warn_s).provide(context(worked_s=60, left_s=left_s))
        assert said.severity == severity
        assert bool(said.suggestions) == (severity == "warning")

    @pytest.mark.parametrize("left_s", [0, -30])
    def test_past_the_deadline_it_says_so(self, left_s: int) -> None:
        """Scenario 69: past is a warning that names the deadline and the minutes worked."""
        said = built("deadline").provide(context(worked_s=600, left_s=left_s))
        assert said.severity == "warning"
        assert "deadline has been reached" in said.summary
        assert "10 minutes" in said.summary

    def test_without_deadline_it_has_nothing_to_tell(self) -> None:
        """Scenario 70: provide without a deadline is an error."""
        with pytest.raises(GuardError, match="mine"):
            built("deadline").provide(context())


class TestStatic:
    def test_it_always_says_its_text(self) -> None:
        """Scenario 80: name; always runs; the text, as info unless told otherwise."""
        provider = built("static", text="Follow AGENTS.md.")
        assert provider.name == "mine"
        assert provider.should_run(context())
        assert provider.provide(context()) == Feedback(provider="mine", summary="Follow AGENTS.md.")
        loud = built("static", text="x", severity="caution")
        assert loud.provide(context()).severity == "caution"


class TestRepeatedCalls:
    def test_a_call_made_again_and_again_is_noticed(self) -> None:
        calls = [call("a"), call("b"), call("a"), call("c"), call("a")]
        provider = built("repeated-calls", repeats=3)
        assert provider.should_run(context(recent=calls))
        said = provider.provide(context(recent=calls))
        assert said.severity == "caution"
        assert "3 times" in said.summary
        assert said.observations[0].category == "Bash"

    def test_different_calls_are_no_loop(self) -> None:
        calls = [call(each) for each in "abcab"]
        assert not built("repeated-calls", repeats=3).should_run(context(recent=calls))

    def test_only_the_window_counts(self) -> None:
        calls = [call("a"), call("a"), call("b"), call("c"), call("a")]
        assert not built("repeated-calls", repeats=3, window=4).should_run(context(recent=calls))
        assert built("repeated-calls", repeats=3, window=5).should_run(context(recent=calls))

    def test_a_loop_that_was_told_of_and_ended_is_not_told_of_again(self) -> None:
        calls = [call("a"), call("a"), call("a"), call("b")]
        provider = built("repeated-calls", repeats=3)
        assert not provider.should_run(context(recent=calls, calls_since=1))
        assert not provider.should_run(context(recent=calls, calls_since=0))
        again = [*calls, call("a")]
        assert provider.should_run(context(recent=again, calls_since=2))

    @pytest.mark.parametrize("outcome", ["failed", "denied"])
    def test_a_call_that_never_worked_is_a_warning(self, outcome: CallOutcome) -> None:
        calls = [call("a", outcome)] * 3
        assert built("repeated-calls").provide(context(recent=calls)).severity == "warning"

    def test_twice_as_often_as_told_is_a_warning(self) -> None:
        provider = built("repeated-calls", repeats=3)
        assert provider.provide(context(recent=[call("a")] * 5)).severity == "caution"
        assert provider.provide(context(recent=[call("a")] * 6)).severity == "warning"

    def test_the_window_can_t_be_wider_than_what_is_remembered(self) -> None:
        with pytest.raises(ValidationError):
            built("repeated-calls", window=33)


class TestBudget:
    def test_without_a_budget_it_is_silent(self) -> None:
        assert not built("budget").should_run(context())

    @pytest.mark.parametrize(
        ("calls", "severity"), [(79, "info"), (80, "warning"), (100, "warning"), (140, "warning")]
    )
    def test_it_warns_from_its_share_on(self, calls: int, severity: str) -> None:
        told = context(tally=Tally(calls=calls), budgets=Budgets(calls=100))
        provider = built("budget")
        assert provider.should_run(told)
        said = provider.provide(told)
        assert said.severity == severity
        assert ("used up." in said.summary) == (calls >= 100)
        assert f"{calls} of 100" in said.observations[0].description

    def test_the_fullest_budget_decides_and_all_are_told(self) -> None:
        told = context(
            tally=Tally(calls=1, input_tokens=500, output_tokens=400, cost_micro_usd=1_900_000),
            budgets=Budgets(
                calls=100,
                input_tokens=1000,
                output_tokens=1000,
                total_tokens=2000,
                cost_usd="2.00",
            ),
        )
        said = built("budget").provide(told)
        assert said.severity == "warning"
        assert "money" in said.summary
        assert [each.category for each in said.observations] == [
            "money",
            "input tokens",
            "tokens",
            "output tokens",
            "calls",
        ]
        assert said.observations[0].description == "$1.90 of $2.00 used (95 %)"

    def test_a_budget_of_nothing_is_used_up(self) -> None:
        said = built("budget").provide(context(budgets=Budgets(cost_usd="0")))
        assert said.severity == "warning"


def standing(**told: Any) -> TaskStanding:
    """How a task stands."""
    return TaskStanding.model_validate({"request_id": "r", "known": True, **told})


class TestNoProgress:
    def test_it_asks_for_the_task(self) -> None:
        provider = built("no-progress")
        assert isinstance(provider, NoProgress)
        assert provider.needs_standing

    @pytest.mark.parametrize(
        "unknown",
        [
            None,
            standing(known=False),
            standing(problem="the evaluator does not answer"),
            standing(closed=True),
        ],
    )
    def test_it_is_silent_while_nothing_can_be_told(self, unknown: TaskStanding | None) -> None:
        told = context(tally=Tally(calls=500), standing=unknown)
        provider = built("no-progress", calls=5)
        assert not provider.should_run(told)
        assert provider.remember(told, False) == {}

    @pytest.mark.parametrize(("calls", "speaks"), [(19, False), (20, True), (21, True)])
    def test_it_speaks_after_so_many_calls_without_any_evidence(
        self, calls: int, speaks: bool
    ) -> None:
        told = context(tally=Tally(calls=calls), standing=standing())
        assert built("no-progress").should_run(told) is speaks

    def test_new_evidence_is_noted_and_counts_from_there(self) -> None:
        provider = built("no-progress", calls=5)
        told = context(tally=Tally(calls=30), standing=standing(evidence={Quality.STRONG: 2}))
        assert not provider.should_run(told)
        noted = provider.remember(told, False)
        assert noted == {"seen": EvidenceSeen(count=2, call_index=30)}
        for calls, speaks in ((34, False), (35, True)):
            later = context(
                tally=Tally(calls=calls),
                standing=standing(evidence={Quality.STRONG: 2}),
                seen=noted["seen"],
            )
            assert provider.should_run(later) is speaks
            assert provider.remember(later, speaks) == {}
        said = provider.provide(later)
        assert "5 calls" in said.summary
        assert said.severity == "caution"

    def test_twice_as_long_is_a_warning(self) -> None:
        told = context(tally=Tally(calls=40), standing=standing())
        assert built("no-progress").provide(told).severity == "warning"
