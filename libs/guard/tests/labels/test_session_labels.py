"""Labels: given when a call is allowed, kept for good, and only a call that never ran gives none."""

from typing import Any

import pytest
from policy_walk import seen, unresolved
from rehearsed_session import Rehearsal, guarded

from lictor_schema.sessions.session_questions import Resource

TOOLS = [
    {"name": "read_file", "access": "read", "resources": ["path"]},
    {"name": "grep", "access": "read", "resources": ["paths"]},
    {"name": "query"},
    {"name": "send_mail"},
]
SECRET = {"label": "secret", "tools": ["read_file", "grep"], "files": ["secrets/.*"]}
PERSONAL = {
    "label": "personal",
    "tools": ["query"],
    "where": [{"param": "table", "allow": ["people", "salaries"], "required": True}],
}
KEYS = {"label": "keys", "tools": ["query"], "output": ["BEGIN [A-Z ]*PRIVATE KEY"]}


def session(*rules: dict[str, Any]) -> Rehearsal:
    labels = [*rules] or [SECRET, PERSONAL]
    names = list(dict.fromkeys(each["label"] for each in labels))
    policy = {
        "kind": "never-after",
        "name": "gate",
        "after": {"labels": names},
        "tools": ["send_mail"],
    }
    return Rehearsal(guarded(tools=TOOLS, labels=labels, policy_specs=[policy]))


def labelled(play: Rehearsal) -> bool:
    """Whether the gate that looks at every label is closed."""
    return play.check("send_mail").decision == "deny"


def read(play: Rehearsal, *files: Resource, call_id: str = "r1", **fields: Any) -> str:
    path = files[0].given if files else "x"
    return play.check(
        "read_file", call_id, params={"path": path}, resources=files, **fields
    ).decision


def test_a_read_labels_from_the_moment_it_is_allowed() -> None:
    play = session()
    assert not labelled(play)
    read(play, seen("secrets/plan.md"))
    assert labelled(play)


def test_other_files_give_no_label_and_cost_no_entry() -> None:
    play = session()
    read(play, seen("public/plan.md"))
    assert play.kinds == ["session_begun"]
    assert not labelled(play)


@pytest.mark.parametrize("outcome", ["ok", "failed", "crashed", "interrupted"])
def test_a_call_that_ran_labels_however_it_ended(outcome: str) -> None:
    play = session()
    files = (seen("secrets/plan.md"),)
    read(play, *files)
    play.result("read_file", "r1", outcome, params={"path": "secrets/plan.md"}, resources=files)
    assert labelled(play)


@pytest.mark.parametrize("outcome", ["denied", "invalid"])
def test_a_call_that_never_ran_gives_its_label_back(outcome: str) -> None:
    play = session()
    files = (seen("secrets/plan.md"),)
    read(play, *files)
    play.result("read_file", "r1", outcome, params={"path": "secrets/plan.md"}, resources=files)
    assert not labelled(play)


def test_a_label_that_another_call_gave_is_not_given_back() -> None:
    play = session()
    files = (seen("secrets/plan.md"),)
    read(play, *files, call_id="r1")
    read(play, *files, call_id="r2")
    play.result("read_file", "r1", "denied", resources=files)
    assert labelled(play)
    play.result("read_file", "r2", "denied", resources=files)
    assert not labelled(play)


def test_a_report_without_parameters_labels_by_those_that_were_allowed() -> None:
    play = session()
    read(play, seen("secrets/plan.md"))
    play.result("read_file", "r1", "ok")
    assert labelled(play)


def test_a_call_that_nobody_asked_about_labels_when_it_is_reported() -> None:
    play = session()
    play.result("query", "q1", "ok", params={"table": "people"})
    assert labelled(play)


def test_a_denied_call_gives_no_label_until_it_is_reported_to_have_run() -> None:
    gate = {
        "kind": "parameters",
        "name": "no",
        "tools": ["query"],
        "rules": [{"param": "table", "deny": ["people"]}],
    }
    after = {
        "kind": "never-after",
        "name": "gate",
        "after": {"labels": ["personal"]},
        "tools": ["send_mail"],
    }
    play = Rehearsal(guarded(tools=TOOLS, labels=[PERSONAL], policy_specs=[gate, after]))
    assert play.check("query", "q1", params={"table": "people"}).decision == "deny"
    assert not labelled(play)
    play.result("query", "q1", "denied", params={"table": "people"})
    assert not labelled(play)
    play.result("query", "q1", "ok", params={"table": "people"})
    assert labelled(play)


@pytest.mark.parametrize(
    "resources",
    [
        (unresolved("x", "it loops"),),
        (seen("x", state="directory"),),
        (seen("x", state="unknown"),),
        (),
        (seen("x", param="other"),),
    ],
    ids=["unresolved", "a folder", "unknown", "nobody looked", "another parameter"],
)
def test_a_file_that_nobody_can_tell_gives_the_label(resources: tuple[Resource, ...]) -> None:
    play = session()
    read(play, *resources)
    assert labelled(play)


def test_one_of_several_files_is_enough() -> None:
    play = session()
    files = tuple(seen(path, param="paths") for path in ("public/a", "secrets/b"))
    play.check("grep", params={"paths": ["public/a", "secrets/b"]}, resources=files)
    assert labelled(play)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("people", True),
        ("orders", False),
        (["orders", "people"], True),
        ([["orders"], ["salaries"]], True),
        (["orders"], False),
        (None, False),
    ],
)
def test_one_value_of_a_parameter_is_enough(table: Any, expected: bool) -> None:
    play = session()
    request = play.check("query", "q1", params={"table": table})
    assert request.decision == "allow"
    assert labelled(play) is expected


def test_a_parameter_that_can_not_be_looked_at_gives_the_label() -> None:
    rule = {
        "label": "x",
        "tools": ["query"],
        "where": [{"param": "a.b", "allow": ["1"], "required": True}],
    }
    play = session(rule)
    play.check("query", params={"a": "text"})
    assert labelled(play)


def test_an_output_counts_as_labelled_until_it_is_told() -> None:
    play = session(KEYS)
    assert play.begin().tell_output
    play.check("query", "q1")
    assert labelled(play)
    play.result("query", "q1", "ok", output="three rows")
    assert not labelled(play)
    play.check("query", "q2")
    play.result("query", "q2", "ok", output="-----BEGIN RSA PRIVATE KEY-----")
    assert labelled(play)


@pytest.mark.parametrize("output", [None, "x" * 1001], ids=["none", "only its begin"])
def test_an_output_that_is_not_told_whole_gives_the_label(output: str | None) -> None:
    play = session(KEYS)
    play.check("query", "q1")
    play.result("query", "q1", "ok", output=output)
    assert labelled(play)
    assert not labelled(session(KEYS))


def test_an_output_of_a_session_without_such_rules_is_not_asked_for() -> None:
    assert not session().begin().tell_output


def test_neither_a_restore_nor_a_reset_takes_a_label_back() -> None:
    play = session()
    play.snapshot("clean")
    before = play.snapshot("clean-too", with_document=True).document
    files = (seen("secrets/plan.md"),)
    read(play, *files)
    for change in (
        lambda: play.restore("clean"),
        lambda: play.restore(document=before),
        play.reset,
    ):
        change()
        assert labelled(play)
    play.result("read_file", "r1", "ok", resources=files)
    for change in (lambda: play.restore("clean"), play.reset):
        change()
        assert labelled(play)
    assert play.rebuilt() == play.stored


def test_results_that_come_twice_or_before_their_begin_count_once() -> None:
    play = session()
    files = (seen("secrets/plan.md"),)
    read(play, *files, call_id="r1")
    read(play, *files, call_id="r2")
    for _ in range(3):
        play.result("read_file", "r1", "denied", resources=files)
    assert labelled(play)
    play.result("read_file", "r3", "denied", resources=files)
    assert labelled(play)
    play.result("read_file", "r2", "denied", resources=files)
    assert not labelled(play)


def test_asking_again_does_not_count_again() -> None:
    play = session()
    files = (seen("secrets/plan.md"),)
    for _ in range(3):
        read(play, *files)
    play.result("read_file", "r1", "denied", resources=files)
    assert not labelled(play)


def test_a_call_whose_file_became_another_is_asked_about_anew() -> None:
    """What was allowed was noted as harmless; a link that leads to a secret now must not pass as the same call."""
    quick = {
        "kind": "rate-limit",
        "name": "pace",
        "tools": ["read_file"],
        "limit": 9,
        "window_s": 60,
    }
    after = {
        "kind": "never-after",
        "name": "gate",
        "after": {"labels": ["secret"]},
        "tools": ["send_mail"],
    }
    play = Rehearsal(guarded(tools=TOOLS, labels=[SECRET], policy_specs=[quick, after]))
    assert read(play, seen("link", "public/a")) == "allow"
    assert read(play, seen("link", "secrets/a")) == "deny"
    assert read(play, seen("link", "secrets/a"), call_id="r2") == "allow"
    assert labelled(play)


def test_the_entries_for_a_label_are_bounded() -> None:
    """However many secrets are read: once the label is there, a read of another one is no entry when it is allowed."""
    play = session()
    for number in range(20):
        files = (seen(f"secrets/{number}"),)
        read(play, *files, call_id=f"r{number}")
        play.result(
            "read_file", f"r{number}", "ok", params={"path": f"secrets/{number}"}, resources=files
        )
    assert play.kinds.count("call_reserved") == 1
    assert len([name for name in play.stored if "label" in name]) == 1
