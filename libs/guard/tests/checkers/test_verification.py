"""A check that must have passed: which call is one, and what makes it stale."""

from collections.abc import Mapping

import pytest

from lictor_guard.checkers import Owned
from lictor_guard.checkers.verification import Verification
from lictor_guard.errors import DefinitionError
from lictor_guard.facts.fact import Fact, Facts, full_name
from lictor_guard.plugins.completion_checker import CompletionContext, CompletionResult
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import CheckContext, Restored
from lictor_schema.sessions.completion import VerificationSpec
from lictor_schema.sessions.session_questions import CallOutcome


def feedback(result: CompletionResult) -> str:
    assert not result.complete
    return result.feedback or ""


SECOND = 1_000_000


class Verifier:
    """A verification checker in a session: calls end, states are set back, it is asked."""

    def __init__(self, **spec: object) -> None:
        usual = {"kind": "verification", "name": "tests", "tool": "test"}
        self.checker = Verification(VerificationSpec.model_validate({**usual, **spec}))
        self.kept: dict[str, Fact | None] = {}
        self.now_us = 1_000 * SECOND

    def _facts(self, *more: str) -> Facts:
        names = (*self.checker.keys(), *more)
        return Facts({full_name("checker/tests", key): self.kept.get(key) for key in names})

    def begun(self, tool: str, **params: object) -> Call:
        """A call is asked about, and allowed."""
        self.now_us += SECOND
        call = Call(f"c{self.now_us}", tool, params, (), "agent", None)
        if self.checker.reserves(call):
            own = self._facts(*self.checker.keys_of(call)).of("checker/tests")
            context = CheckContext(self.now_us, "s", "coder")
            self.kept |= self.checker.on_allowed(call, own, context)
        return call

    def end(
        self,
        call: Call,
        outcome: CallOutcome = "ok",
        duration_s: int | None = None,
        reserved: bool = True,
    ) -> "Verifier":
        """A call ends."""
        self.now_us += SECOND
        self.kept |= self.checker.on_result(
            call,
            Result(outcome, duration_ms=None if duration_s is None else duration_s * 1000),
            self._facts(*self.checker.keys_of(call)).of("checker/tests"),
            CheckContext(self.now_us, "s", "coder", reserved and self.checker.reserves(call)),
        )
        return self

    def ended(self, tool: str, outcome: CallOutcome = "ok", **params: object) -> "Verifier":
        """A call is asked about, and ends at once."""
        return self.end(self.begun(tool, **params), outcome)

    def reported(self, tool: str, duration_s: int | None = None) -> "Verifier":
        """A call ends that nobody asked about."""
        call = Call(f"u{self.now_us}", tool, {}, (), "agent", None)
        return self.end(call, duration_s=duration_s, reserved=False)

    def snapshot(self) -> dict[str, Fact | None]:
        return {k: f for k, f in self.kept.items() if f is not None and f.retention == "state"}

    def restore(self, to: Mapping[str, Fact | None]) -> None:
        log = {k: f for k, f in self.kept.items() if f is not None and f.retention == "log"}
        self.kept = {**log, **to}
        self.now_us += SECOND
        self.kept |= self.checker.on_restored(Restored("s1", "rolled back", self.now_us), self.kept)

    def ask(self) -> CompletionResult:
        owned = Owned("checker/tests", self.checker)
        facts = self._facts()
        return owned.check(
            CompletionContext(
                now_us=self.now_us,
                session_id="s",
                stop_reason="end_turn",
                final_message=None,
                files=None,
                standing=None,
                facts=facts.of("nobody"),
                everyone=facts,
            )
        )


def test_a_check_that_was_never_made_is_incomplete() -> None:
    assert "has not been made" in feedback(Verifier().ask())
    assert "has not been made" in feedback(Verifier().ended("build").ask())


def test_a_check_that_passed_is_complete() -> None:
    assert Verifier().ended("test").ask().complete


@pytest.mark.parametrize("outcome", ["failed", "crashed", "interrupted"])
def test_a_later_check_that_does_not_succeed_takes_the_verdict_back(outcome: CallOutcome) -> None:
    assert outcome in feedback(Verifier().ended("test").ended("test", outcome).ask())


@pytest.mark.parametrize("outcome", ["denied", "invalid"])
def test_a_check_that_was_never_run_says_nothing(outcome: CallOutcome) -> None:
    assert Verifier().ended("test").ended("test", outcome).ask().complete
    assert not Verifier().ended("test", outcome).ask().complete


@pytest.mark.parametrize("outcome", ["ok", "failed", "crashed", "interrupted"])
def test_a_change_after_the_check_makes_it_stale_until_it_is_made_again(
    outcome: CallOutcome,
) -> None:
    verifier = Verifier(stale_after=("edit", "mcp__fs__*")).ended("test").ended("edit", outcome)
    assert "edit came after it" in feedback(verifier.ask())
    assert verifier.ended("test").ask().complete
    assert not verifier.ended("mcp__fs__write").ask().complete


@pytest.mark.parametrize("outcome", ["denied", "invalid"])
def test_a_change_that_was_never_made_makes_nothing_stale(outcome: CallOutcome) -> None:
    verifier = Verifier(stale_after=("edit",)).ended("test").ended("edit", outcome)
    assert verifier.ask().complete


def test_a_change_while_the_check_ran_makes_it_stale() -> None:
    verifier = Verifier(stale_after=("edit",))
    for took in (None, 0, 60):
        test = verifier.begun("test")
        verifier.ended("edit").end(test, duration_s=took)
        assert "edit came after it" in feedback(verifier.ask())
        assert verifier.ended("test").ask().complete


def test_a_change_while_a_check_ran_that_nobody_asked_about_shows_by_its_duration() -> None:
    verifier = Verifier(stale_after=("edit",)).ended("edit").reported("test", duration_s=60)
    assert not verifier.ask().complete
    verifier.now_us += 90 * SECOND
    assert verifier.reported("test", duration_s=60).ask().complete


def test_a_check_whose_begin_nobody_knows_may_have_begun_before_the_change() -> None:
    verifier = Verifier(stale_after=("edit",)).reported("test")
    assert verifier.ask().complete
    verifier.ended("edit").reported("test")
    assert "not known when it began" in feedback(verifier.ask())
    assert verifier.ended("test").ask().complete


def test_a_check_whose_begin_a_reset_forgot_does_not_count() -> None:
    verifier = Verifier(stale_after=("edit",))
    test = verifier.begun("test")
    verifier.ended("edit").kept.clear()
    assert "a reset" in feedback(verifier.end(test).ask())


def test_a_stale_check_that_ends_late_does_not_take_a_later_one_back() -> None:
    verifier = Verifier(stale_after=("edit",))
    early = verifier.begun("test")
    verifier.ended("edit").ended("test")
    assert verifier.end(early).ask().complete
    early = verifier.begun("test")
    verifier.ended("edit").ended("test")
    assert "failed" in feedback(verifier.end(early, "failed").ask())


def test_a_change_counts_from_when_it_is_allowed_until_it_is_told_that_it_was_not_made() -> None:
    verifier = Verifier(stale_after=("edit",)).ended("test")
    edit = verifier.begun("edit")
    assert "edit came after it" in feedback(verifier.ask())
    assert verifier.end(edit, "denied").ask().complete
    edit, other = verifier.begun("edit"), verifier.begun("edit")
    verifier.end(other, "denied")
    assert not verifier.ask().complete
    assert not verifier.end(edit, "denied").ask().complete


def test_a_check_beside_a_change_that_never_ends_counts_when_it_began_after_it() -> None:
    verifier = Verifier(stale_after=("edit",))
    verifier.begun("edit")
    assert verifier.ended("test").ask().complete


def test_a_change_that_runs_through_a_restore_leaves_the_check_stale() -> None:
    verifier = Verifier(stale_after=("edit",)).ended("test")
    tested = verifier.snapshot()
    edit = verifier.begun("edit")
    verifier.restore(tested)
    assert "edit was running when the state was set back" in feedback(verifier.ask())
    assert not verifier.end(edit).ask().complete
    assert verifier.ended("test").ask().complete


def test_what_is_known_of_a_check_s_begin_is_forgotten_with_its_end() -> None:
    verifier = Verifier(stale_after=("edit",)).ended("test").ended("test", "denied")
    assert {key for key, fact in verifier.kept.items() if fact is not None} == {"verdict"}


def test_a_parameter_tells_a_check_from_other_calls_of_its_tool() -> None:
    verifier = Verifier(
        tool="Bash", param="command", matches="^pytest( |$)", stale_after=("Bash", "Edit")
    )
    assert not verifier.ended("Bash", command="ls pytest").ask().complete
    assert not verifier.ended("Bash").ask().complete
    assert not verifier.ended("Bash", command=["pytest"]).ask().complete
    assert verifier.ended("Bash", command="pytest -q").ask().complete
    assert not verifier.ended("Bash", command="rm -r src").ask().complete
    assert not verifier.ended("Bash", "failed", command="pytest").ask().complete


def test_a_command_of_any_length_is_not_searched_for_a_check() -> None:
    verifier = Verifier(tool="Bash", param="command", matches="pytest")
    assert not verifier.ended("Bash", command="pytest" + "x" * 100_000).ask().complete


def test_a_restored_workspace_restores_the_verdict() -> None:
    verifier = Verifier(stale_after=("edit",)).ended("test")
    tested = verifier.snapshot()
    assert not verifier.ended("edit").ask().complete
    verifier.restore(tested)
    assert verifier.ask().complete
    untested = Verifier().snapshot()
    verifier.restore(untested)
    assert not verifier.ask().complete


def test_a_check_that_ran_while_the_state_was_set_back_is_stale() -> None:
    verifier = Verifier(stale_after=("edit",))
    verifier.restore({})
    assert "a restore" in feedback(verifier.reported("test", duration_s=30).ask())
    test = verifier.begun("test")
    verifier.restore({})
    assert "a restore" in feedback(verifier.end(test).ask())


def test_a_pattern_that_could_take_for_ever_is_refused() -> None:
    with pytest.raises(DefinitionError, match="can't be used"):
        Verifier(param="command", matches=r"(a+)\1")
