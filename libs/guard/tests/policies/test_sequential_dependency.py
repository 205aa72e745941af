"""A tool waits for others to have succeeded, and their success can go stale."""

from typing import Any

import pytest
from policy_walk import Walk

from lictor_guard.policies.sequential_dependency import MAX_FAILED, SequentialDependency
from lictor_schema.sessions.session_questions import CallOutcome
from lictor_schema.sessions.tool_policy import SequentialDependencySpec


def policy(
    requires: dict[str, tuple[str, ...]], name: str = "order", **options: Any
) -> SequentialDependency:
    spec = SequentialDependencySpec(
        kind="sequential-dependency", name=name, requires=requires, **options
    )
    return SequentialDependency(spec)


def walk(**options: Any) -> Walk:
    return Walk(policy({"deploy": ("test", "build")}, **options))


def test_the_policy_has_the_name_that_the_definition_gives_it() -> None:
    """Scenario 11: a policy's name is stable."""
    assert policy({"deploy": ("test",)}, "release-order").name == "release-order"


def test_an_unrelated_tool_is_not_gated() -> None:
    """Scenario 12: given a dependency map, an unrelated tool is allowed."""
    assert walk().ask(walk().call("lint")) == []


def test_everything_that_is_missing_is_named_in_order() -> None:
    """Scenario 13: given two required tools and none ran, the denial names the tool and what is missing."""
    denial = walk().denied("deploy")
    assert denial.reason == (
        "'deploy' requires build and test: build has not succeeded yet; test has not succeeded yet"
    )
    assert denial.remedy == "run build and test, then call 'deploy' again"


def test_only_what_is_missing_is_named() -> None:
    session = walk()
    session.run("build")
    assert session.denied("deploy").remedy == "run test, then call 'deploy' again"


def test_a_tool_is_allowed_once_all_it_requires_has_succeeded() -> None:
    """Scenario 14: given the prerequisites in the session's state, the call is allowed."""
    session = walk()
    session.run("build")
    session.run("test")
    assert session.run("deploy") == []
    assert session.run("deploy") == []


def test_a_success_is_remembered() -> None:
    """Scenario 15: a successful result is recorded."""
    session = walk()
    session.run("build")
    assert list(session.stored) == ["policy/order/tool:build"]


def test_a_tool_that_nobody_requires_is_not_remembered() -> None:
    session = walk()
    session.run("lint")
    session.run("deploy")
    assert session.stored == {}


@pytest.mark.parametrize("outcome", ["failed", "crashed", "interrupted", "denied", "invalid"])
def test_only_a_success_counts(outcome: CallOutcome) -> None:
    """Scenario 16: a failed result satisfies nothing."""
    session = walk()
    session.run("build")
    session.run("test", outcome)
    assert "requires test" in (session.denied("deploy").reason or "")


def test_what_succeeded_before_is_kept() -> None:
    """Scenario 17: earlier successes stay when a new one is reported."""
    session = walk()
    session.run("build")
    before = dict(session.stored)
    session.run("test")
    assert before.items() < session.stored.items()


def test_a_failure_after_a_success_takes_it_back() -> None:
    session = walk()
    session.run("build")
    session.run("test")
    session.run("test", "failed")
    assert session.denied("deploy").reason == "'deploy' requires test: test failed when it last ran"


@pytest.mark.parametrize("outcome", ["denied", "invalid"])
def test_a_call_that_never_ran_takes_nothing_back(outcome: CallOutcome) -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    session.run("test")
    session.run("test", outcome)
    session.run("edit", outcome)
    assert session.run("deploy") == []


@pytest.mark.parametrize("outcome", ["ok", "failed", "crashed", "interrupted"])
def test_a_later_edit_makes_a_test_stale_however_it_ended(outcome: CallOutcome) -> None:
    """Scenario 151: a dependency is invalidated when a declared tool runs later."""
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    session.run("test")
    session.run("edit", outcome)
    assert session.denied("deploy").reason == (
        "'deploy' requires test: test is stale since edit ran; run it again"
    )
    session.run("test")
    assert session.run("deploy") == []


def test_an_edit_before_the_test_spoils_nothing() -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("edit")
    assert "test has not succeeded yet" in (session.denied("deploy").reason or "")
    session.run("build")
    session.run("test")
    assert session.run("deploy") == []


def test_a_test_that_ran_beside_an_edit_does_not_count() -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    test = session.call("test")
    session.ask(test)
    session.run("edit")
    session.end(test)
    assert "test is stale since edit ran" in (session.denied("deploy").reason or "")
    assert not any("run:" in name for name in session.stored)


def test_a_spoilt_run_that_ends_late_does_not_undo_a_later_one() -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    spoilt = session.call("test")
    session.ask(spoilt)
    session.run("edit")
    session.run("test")
    session.end(spoilt)
    assert session.run("deploy") == []


def test_a_test_whose_begin_nobody_saw_is_judged_by_how_long_it_ran() -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    session.run("edit")
    session.after(5)
    session.end(session.call("test"), duration_ms=6000)
    assert "test is stale" in (session.denied("deploy").reason or "")
    session.end(session.call("test"), duration_ms=5000)
    assert session.run("deploy") == []


@pytest.mark.parametrize("before", [None, "edit", "restore"])
def test_where_neither_begin_nor_duration_is_known_a_success_counts_if_nothing_came_before_it(
    before: str | None,
) -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    if before == "edit":
        session.run("edit")
    elif before == "restore":
        session.restore(dict(session.stored))
    session.end(session.call("test"))
    assert [each.allowed for each in session.check(session.call("deploy"))] == [before is None]
    session.run("test")
    assert session.run("deploy") == []


def test_a_test_that_ran_through_a_restore_does_not_count() -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    earlier = dict(session.stored)
    session.run("edit")
    test = session.call("test")
    session.ask(test)
    session.restore(earlier)
    session.end(test)
    assert session.denied("deploy").reason == (
        "'deploy' requires test: test is stale since the state was set back; run it again"
    )


def test_a_test_that_ran_through_a_restore_to_what_it_began_with_does_not_count() -> None:
    """The edit that made it pass is gone, though as many edits are known as when it began."""
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    earlier = dict(session.stored)
    test = session.call("test")
    session.ask(test)
    session.run("edit")
    session.restore(earlier)
    session.end(test, duration_ms=100)
    assert "test is stale since the state was set back" in (session.denied("deploy").reason or "")
    session.run("test")
    assert session.run("deploy") == []


def test_a_test_whose_begin_a_reset_has_forgotten_does_not_count() -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    test = session.call("test")
    session.ask(test)
    session.run("edit")
    session.reset()
    session.run("build")
    session.end(test, duration_ms=100_000)
    assert "test is stale" in (session.denied("deploy").reason or "")


def test_a_test_whose_begin_nobody_saw_does_not_count_if_the_state_was_set_back_since() -> None:
    session = walk()
    session.run("build")
    session.restore(dict(session.stored))
    session.after(5)
    session.end(session.call("test"), duration_ms=6000)
    assert "test is stale" in (session.denied("deploy").reason or "")
    session.end(session.call("test"), duration_ms=5000)
    assert session.run("deploy") == []


def test_an_edit_makes_a_test_stale_from_the_moment_it_is_allowed() -> None:
    """It may be running still, or its end may have been lost."""
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    session.run("test")
    edit = session.call("edit")
    session.ask(edit)
    assert "test is stale since edit ran" in (session.denied("deploy").reason or "")
    session.run("test")
    assert session.run("deploy") == []
    session.end(edit)
    assert "test is stale since edit ran" in (session.denied("deploy").reason or "")


def test_a_test_that_began_after_an_edit_and_ended_after_it_does_not_count() -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    edit, test = session.call("edit"), session.call("test")
    session.ask(edit)
    session.ask(test)
    session.end(edit)
    session.end(test)
    assert "test is stale since edit ran" in (session.denied("deploy").reason or "")


@pytest.mark.parametrize("between", [None, "edit", "failed test", "restore"])
def test_a_call_that_is_asked_again_is_denied_only_for_what_others_spoilt(
    between: str | None,
) -> None:
    session = walk(invalidated_by={"test": ("edit", "deploy")})
    session.run("build")
    session.run("test")
    deploy = session.call("deploy")
    assert session.ask(deploy) == []
    if between == "edit":
        session.run("edit")
    elif between == "failed test":
        session.run("test", "failed")
    elif between == "restore":
        session.restore(dict(session.stored))
    assert [each.allowed for each in session.check(deploy)] == [between is None]
    assert "requires test" in (session.denied("deploy").reason or "")


@pytest.mark.parametrize("between", ["edit", "restore"])
def test_an_edit_that_never_ran_gives_back_nothing_that_was_spoilt_since(between: str) -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    session.run("test")
    edit = session.call("edit")
    session.ask(edit)
    if between == "edit":
        session.run("edit")
    else:
        session.restore(dict(session.stored))
    session.end(edit, "denied")
    assert "test is stale" in (session.denied("deploy").reason or "")


def test_an_edit_that_ran_through_a_restore_leaves_the_test_stale() -> None:
    session = walk(invalidated_by={"test": ("edit",)})
    session.run("build")
    session.run("test")
    earlier = dict(session.stored)
    session.ask(session.call("edit"))
    session.restore(earlier)
    assert session.denied("deploy").reason == (
        "'deploy' requires test: test is stale: edit was running when the state was set back;"
        " run it again"
    )
    session.run("test", "failed")
    session.run("test")
    assert session.run("deploy") == []


def test_a_restore_takes_back_what_succeeded_after_the_snapshot() -> None:
    session = walk()
    session.run("build")
    earlier = dict(session.stored)
    session.run("test")
    session.restore(earlier)
    assert "requires test" in (session.denied("deploy").reason or "")


def test_each_gate_is_checked_in_turn_so_a_chain_holds() -> None:
    session = Walk(policy({"deploy": ("build",), "build": ("test",)}))
    assert session.run("build")
    assert session.run("deploy")
    session.run("test")
    session.run("build")
    assert session.run("deploy") == []


def test_a_name_with_a_star_stands_for_every_tool_that_begins_so() -> None:
    session = Walk(
        policy({"fs_*": ("fs_open",), "deploy": ("test_*",)}, invalidated_by={"test_*": ("fs_*",)})
    )
    assert session.denied("fs_write").remedy == "run fs_open, then call 'fs_write' again"
    assert session.run("fs_open") == []
    assert session.run("fs_write") == []
    session.run("test_unit")
    assert session.run("deploy") == []
    session.run("fs_write")
    assert "test_* is stale since fs_write ran" in (session.denied("deploy").reason or "")


def test_of_several_tools_behind_a_star_none_may_have_failed_last() -> None:
    session = Walk(policy({"deploy": ("test_*",)}))
    session.run("test_unit", "failed")
    session.run("test_all")
    assert session.denied("deploy").reason == (
        "'deploy' requires test_*: test_unit failed when it last ran"
    )
    session.run("test_unit")
    assert session.run("deploy") == []


def test_more_failures_than_are_remembered_are_not_forgotten() -> None:
    session = Walk(policy({"deploy": ("test_*",)}))
    names = [f"test_{number:03}" for number in range(MAX_FAILED + 9)]
    for outcome in ("failed", "ok"):
        for name in names:
            session.run(name, outcome)
    assert session.run("deploy")
    assert len(session.stored["policy/order/tool:test_*"]) < 2000


def test_an_invalidation_holds_for_every_spelling_of_the_required_name() -> None:
    session = Walk(policy({"deploy": ("test_*",)}, invalidated_by={"test_unit": ("edit",)}))
    session.run("test_unit")
    session.run("edit")
    assert session.run("deploy")


def test_two_policies_of_one_kind_do_not_see_each_others_history() -> None:
    """Scenario 142: two policies of one kind keep their facts apart."""
    one = policy({"deploy": ("test",)}, "one")
    other = policy({"publish": ("test",)}, "other")
    session = Walk(one)
    session.run("test")
    session.policies = (other,)
    assert session.run("publish")
    session.policies = (one,)
    assert session.run("deploy") == []
