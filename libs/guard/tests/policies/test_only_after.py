"""A tool that is called only within some time, or some calls, after another one succeeded."""

from typing import Any

import pytest
from rehearsed_session import Rehearsal, guarded

from lictor_guard.errors import DefinitionError

TOOLS = ["run_tests", "deploy", "look"]
ALL = {"suite": "all"}
SPEC: dict[str, Any] = {
    "kind": "only-after",
    "name": "fresh-tests",
    "tools": ["deploy"],
    "after": {
        "tools": ["run_tests"],
        "where": [{"param": "suite", "allow": ["all"], "required": True}],
    },
    "within_s": 600,
}


def session(**changes: Any) -> Rehearsal:
    return Rehearsal(guarded(tools=TOOLS, policy_specs=[{**SPEC, **changes}]))


def deploys(play: Rehearsal, **fields: Any) -> bool:
    return play.check("deploy", **fields).decision == "allow"


def test_it_is_denied_until_the_other_succeeded_and_again_when_that_is_too_long_ago() -> None:
    play = session()
    assert not deploys(play)
    play.call("run_tests", params=ALL)
    assert deploys(play)
    play.passing(600)
    assert deploys(play)
    play.passing(0.000001)
    assert not deploys(play)


def test_other_parameters_do_not_count() -> None:
    play = session()
    play.call("run_tests", params={"suite": "quick"})
    play.call("run_tests")
    assert not deploys(play)


def test_a_failure_takes_a_success_back_but_not_one_of_other_parameters() -> None:
    play = session()
    play.call("run_tests", params=ALL)
    play.call("run_tests", "failed", params={"suite": "quick"})
    assert deploys(play)
    play.call("run_tests", "failed", params=ALL)
    denial = play.check("deploy").denials[0]
    assert denial.reason == (
        "'deploy' is allowed only within 600 s after 'run_tests' with the right parameters succeeded,"
        " and the last one, call 'c4' of 'run_tests', failed"
    ).replace("c4", "c4")


def test_a_failure_that_is_reported_without_parameters_counts() -> None:
    play = session()
    play.call("run_tests", params=ALL)
    play.check("run_tests", "t2", params=ALL)
    play.result("run_tests", "t2", "failed")
    assert not deploys(play)


@pytest.mark.parametrize("outcome", ["denied", "invalid"])
def test_a_call_that_never_ran_changes_nothing(outcome: str) -> None:
    play = session()
    play.call("run_tests", params=ALL)
    play.call("run_tests", outcome, params=ALL)
    assert deploys(play)


def test_calls_are_counted() -> None:
    play = session(within_s=None, within_calls=3)
    play.call("run_tests", params=ALL)
    play.call("look")
    play.call("look")
    assert play.call("deploy").decision == "allow"
    denial = play.call("deploy").denials[0]
    assert "within 3 calls" in denial.reason
    assert "since call 'c1' of 'run_tests' there were 3 calls" in denial.reason


def test_calls_side_by_side_can_not_pass_together() -> None:
    play = session(within_s=None, within_calls=1)
    play.call("run_tests", params=ALL)
    assert deploys(play, call_id="d1")
    assert deploys(play, call_id="d1")
    assert not deploys(play, call_id="d2")


def test_the_end_is_told_by_when_it_was_allowed_and_how_long_it_ran() -> None:
    play = session()
    play.check("run_tests", "t1", params=ALL)
    play.passing(601)
    play.result("run_tests", "t1", params=ALL, duration_ms=500)
    assert not deploys(play)


def test_a_result_that_is_reported_twice_counts_once() -> None:
    play = session()
    play.call("run_tests", params=ALL)
    play.passing(599)
    play.result("run_tests", "c1", params=ALL)
    play.passing(2)
    assert not deploys(play)


def test_a_restore_goes_back_and_a_run_through_it_does_not_count() -> None:
    play = session()
    play.snapshot("untested")
    play.check("run_tests", "t1", params=ALL)
    play.restore("untested")
    play.result("run_tests", "t1", params=ALL)
    assert not deploys(play)
    play.call("run_tests", params=ALL)
    play.snapshot("tested")
    play.call("run_tests", "failed", params=ALL)
    play.restore("tested")
    assert deploys(play)


def test_a_reset_forgets_the_success_and_runs_that_began_before() -> None:
    play = session()
    play.call("run_tests", params=ALL)
    play.check("run_tests", "t2", params=ALL)
    play.reset()
    assert not deploys(play)
    play.result("run_tests", "t2", params=ALL)
    assert not deploys(play)


def test_unless_lets_some_calls_pass() -> None:
    play = session(unless=[{"param": "target", "allow": ["staging"], "required": True}])
    assert deploys(play, params={"target": "staging"})
    assert not deploys(play, params={"target": "production"})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"within_s": None, "after": {"tools": ["run_tests"]}}, "use sequential-dependency"),
        ({"after": {"tools": ["run_test"]}}, "run_test is not a tool"),
        ({"after": {"tools": ["deploy"]}}, "would have to succeed before it is called"),
        ({"tools": ["deply"]}, "deply is not a tool"),
    ],
)
def test_what_could_not_be_enforced_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        session(**changes)
