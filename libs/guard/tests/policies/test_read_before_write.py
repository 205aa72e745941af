"""A file that exists is read, as it is now, before it is written."""

from dataclasses import replace

import pytest
from policy_walk import Walk, changed, digest, seen, unresolved

from lictor_guard.policies.read_before_write import ReadBeforeWrite
from lictor_schema.sessions.session_questions import CallOutcome, Resource, ResourceState
from lictor_schema.sessions.tool_policy import ReadBeforeWriteSpec, ToolSpec

TOOLS = (
    ToolSpec(name="read_file", access="read", resources=("path",)),
    ToolSpec(name="write_file", access="write", resources=("path",)),
    ToolSpec(name="Edit", access="write", resources=("file_path",)),
    ToolSpec(name="copy", access="write", resources=("source", "target")),
    ToolSpec(name="write_many", access="write", resources=("paths",)),
    ToolSpec(name="Bash"),
)


def policy(name: str = "read-first") -> ReadBeforeWrite:
    return ReadBeforeWrite(ReadBeforeWriteSpec(kind="read-before-write", name=name))


def walk() -> Walk:
    return Walk(policy(), tools=TOOLS)


def read(session: Walk, *files: Resource, outcome: CallOutcome = "ok") -> None:
    session.end(session.call("read_file", None, *files), outcome)


def denial_of(session: Walk, tool: str, *files: Resource) -> str:
    (denial,) = session.ask(session.call(tool, None, *files))
    assert denial.remedy
    return denial.reason or ""


def allows(session: Walk, tool: str, *files: Resource) -> bool:
    return session.ask(session.call(tool, None, *files)) == []


def test_a_fresh_session_knows_no_file_and_a_read_makes_it_known() -> None:
    """Scenario 4: state starts empty, and membership holds for what was put in."""
    session = walk()
    assert session.stored == {}
    read(session, seen("a.txt"))
    assert list(session.stored) == ["policy/read-first/file:a.txt"]
    assert allows(session, "write_file", seen("a.txt"))
    assert not allows(session, "write_file", seen("b.txt"))


@pytest.mark.parametrize(("tool", "param"), [("write_file", "path"), ("Edit", "file_path")])
def test_the_definition_says_which_parameter_names_the_file(tool: str, param: str) -> None:
    """Scenario 5: the key comes from `path`, or from `file_path`, as declared."""
    assert "'a.txt' exists and must be read" in denial_of(walk(), tool, seen("a.txt", param=param))


@pytest.mark.parametrize("params", [{}, {"other": "a.txt"}, {"path": None}])
def test_a_write_that_names_no_file_is_denied(params: dict[str, object]) -> None:
    """Scenarios 6 and 19: without a path there is no key, and where theirs let it through, ours denies."""
    session = walk()
    (denial,) = session.ask(session.call("write_file", params))
    assert denial.reason == "'write_file' writes files, but none of its parameters names one (path)"


@pytest.mark.parametrize("value", [7, {"a": 1}, [3], True])
def test_a_path_that_is_no_text_is_denied(value: object) -> None:
    """Scenario 6: a path that is no text gives no key."""
    session = walk()
    (denial,) = session.ask(session.call("write_file", {"path": value}))
    assert "holds something that is no path" in (denial.reason or "")


def test_the_name_is_what_the_definition_says() -> None:
    """Scenario 11: a policy's name is stable."""
    assert policy("mine").name == "mine"


@pytest.mark.parametrize("tool", ["read_file", "Bash", "unlisted"])
def test_only_writing_tools_are_gated(tool: str) -> None:
    """Scenario 18: a tool that does not write is allowed."""
    assert allows(walk(), tool, seen("a.txt"))


def test_without_a_view_of_the_file_a_write_is_denied() -> None:
    """Scenario 20: no view of the file system; where theirs let it through, ours denies."""
    session = walk()
    (denial,) = session.ask(session.call("write_file", {"path": "a.txt"}))
    assert denial.reason == "'write_file' writes files, but nothing is known of 'a.txt'"


def test_a_view_of_another_file_does_not_help() -> None:
    session = walk()
    missing = seen("b.txt", state="missing")
    assert session.ask(session.call("write_file", {"path": "a.txt"}, missing))
    other_param = seen("a.txt", state="missing", param="content")
    assert session.ask(session.call("write_file", {"path": "a.txt"}, other_param))


def test_a_new_file_may_be_written() -> None:
    """Scenario 21: a path that does not exist is allowed."""
    assert allows(walk(), "write_file", seen("new.txt", state="missing"))


def test_a_file_that_was_not_read_is_denied_by_the_callers_spelling() -> None:
    """Scenario 22: the denial holds the caller's path and the word read."""
    session = walk()
    (denial,) = session.ask(session.call("write_file", None, seen("./d/../a.txt", "a.txt")))
    assert denial.reason == "'./d/../a.txt' exists and must be read before it is written"
    assert denial.remedy == "read './d/../a.txt', then call 'write_file' again"


@pytest.mark.parametrize(
    "spelling", ["a.txt", "./a.txt", "/a.txt", "x/../a.txt", "/srv/work/a.txt", "link-to-a"]
)
def test_every_spelling_of_a_file_is_the_same_file(spelling: str) -> None:
    """Scenarios 23 and 143: what counts is the one key that the adapter resolved, not the spelling."""
    session = walk()
    assert not allows(session, "write_file", seen(spelling, "a.txt"))
    read(session, seen("a.txt"))
    assert allows(session, "write_file", seen(spelling, "a.txt"))


def test_a_read_stores_the_key_and_not_the_spelling() -> None:
    """Scenarios 24 and 29: the resolved key is stored, the raw path is not."""
    session = walk()
    read(session, seen("/workspace/a.txt", "a.txt", content="one"))
    assert list(session.stored) == ["policy/read-first/file:a.txt"]
    assert digest("one").encode() in session.stored["policy/read-first/file:a.txt"]


@pytest.mark.parametrize("outcome", ["failed", "crashed", "interrupted", "denied", "invalid"])
def test_a_read_that_failed_stores_nothing(outcome: CallOutcome) -> None:
    """Scenario 25: a failed read stores nothing."""
    session = walk()
    read(session, seen("a.txt"), outcome=outcome)
    assert session.stored == {}


def test_a_read_without_a_resolved_file_stores_nothing() -> None:
    """Scenario 25: a read without a path stores nothing."""
    session = walk()
    session.end(session.call("read_file", {}))
    read(session, unresolved("a.txt", "too many links"))
    read(session, seen("d", state="directory"))
    assert session.stored == {}


def test_what_was_read_before_is_kept() -> None:
    """Scenario 26: earlier state stays when a read is reported."""
    session = walk()
    read(session, seen("a.txt"))
    before = dict(session.stored)
    read(session, seen("b.txt"))
    assert before.items() < session.stored.items()


def test_tools_have_the_names_that_the_definition_gives_them() -> None:
    """Scenario 27: a default name is not gated unless it is listed, a custom one is, and a custom read unlocks it."""
    session = Walk(
        policy(),
        tools=[
            ToolSpec(name="fetch", access="read", resources=("path",)),
            ToolSpec(name="store", access="write", resources=("path",)),
        ],
    )
    assert allows(session, "write_file", seen("a.txt"))
    assert not allows(session, "store", seen("a.txt"))
    session.end(session.call("fetch", None, seen("a.txt")))
    assert allows(session, "store", seen("a.txt"))


def test_a_file_under_a_mount_is_denied_then_read_then_allowed() -> None:
    """Scenarios 28 and 30: a mount's spelling and the relative one are one file."""
    session = walk()
    mounted = seen("/workspace/config.yaml", "config.yaml")
    assert not allows(session, "write_file", mounted)
    read(session, mounted)
    assert allows(session, "write_file", mounted)
    assert allows(session, "write_file", seen("config.yaml"))


def test_a_file_that_changed_since_it_was_read_is_denied() -> None:
    session = walk()
    read(session, seen("a.txt", content="one"))
    reason = denial_of(session, "write_file", seen("a.txt", content="two"))
    assert reason == "'a.txt' has changed since it was read"
    read(session, seen("a.txt", content="two"))
    assert allows(session, "write_file", seen("a.txt", content="two"))


def test_a_digest_that_is_gone_is_not_taken_for_the_same() -> None:
    session = walk()
    read(session, seen("a.txt", content="one"))
    assert "can't be told" in denial_of(session, "write_file", seen("a.txt"))


def test_a_digest_that_is_new_is_not_taken_for_what_was_read() -> None:
    session = walk()
    read(session, seen("a.txt"))
    reason = denial_of(session, "write_file", seen("a.txt", content="one"))
    assert "whether it has changed since can't be told" in reason
    read(session, seen("a.txt", content="one"))
    assert allows(session, "write_file", seen("a.txt", content="one"))


def test_without_digests_a_read_counts_for_any_version() -> None:
    session = walk()
    read(session, seen("a.txt"))
    assert allows(session, "write_file", seen("a.txt"))


def test_what_the_agent_wrote_itself_it_knows() -> None:
    session = walk()
    write = session.call("write_file", None, seen("new.txt", state="missing"))
    assert session.ask(write) == []
    session.end(changed(write, seen("new.txt", content="mine")))
    assert allows(session, "write_file", seen("new.txt", content="mine"))
    assert not allows(session, "write_file", seen("new.txt", content="theirs"))


def test_a_write_whose_outcome_has_no_digest_must_be_read_again_where_digests_are_usual() -> None:
    session = walk()
    read(session, seen("a.txt", content="one"))
    session.end(session.call("write_file", None, seen("a.txt")))
    assert not allows(session, "write_file", seen("a.txt", content="two"))


def test_a_written_file_that_is_gone_is_forgotten() -> None:
    session = walk()
    read(session, seen("a.txt"))
    session.end(session.call("write_file", None, seen("a.txt", state="missing")))
    assert not allows(session, "write_file", seen("a.txt"))


@pytest.mark.parametrize("outcome", ["failed", "crashed", "interrupted"])
def test_a_failed_write_is_forgotten_unless_the_file_is_surely_the_same(
    outcome: CallOutcome,
) -> None:
    """Scenarios 25 and 132: a write that failed stores nothing, and what it may have changed is not known any more."""
    session = walk()
    for content in ("one", None):
        read(session, seen("a.txt", content=content))
        session.end(session.call("write_file", None, seen("a.txt", content="half")), outcome)
        assert not allows(session, "write_file", seen("a.txt", content="half"))
    read(session, seen("a.txt", content="one"))
    session.end(session.call("write_file", None, seen("a.txt", content="one")), outcome)
    assert allows(session, "write_file", seen("a.txt", content="one"))


@pytest.mark.parametrize("outcome", ["denied", "invalid"])
def test_a_write_that_never_ran_changes_nothing(outcome: CallOutcome) -> None:
    session = walk()
    read(session, seen("a.txt"))
    session.end(session.call("write_file", None, seen("a.txt")), outcome)
    assert allows(session, "write_file", seen("a.txt"))


def test_a_write_result_that_was_not_resolved_neither_records_nor_forgets() -> None:
    session = walk()
    read(session, seen("a.txt"))
    before = dict(session.stored)
    session.end(session.call("write_file", None, unresolved("a.txt", "gone")))
    assert session.stored == before


def test_a_path_that_can_not_be_resolved_is_denied_with_the_reason() -> None:
    reason = denial_of(walk(), "write_file", unresolved("../x", "leads out of the workspace"))
    assert reason == "'../x' can't be resolved: 'leads out of the workspace'"


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("directory", "it is a directory"),
        ("other", "it is no regular file"),
        ("unknown", "it can't be told what stands there"),
    ],
)
def test_what_is_no_file_is_denied_even_if_it_was_read(state: ResourceState, why: str) -> None:
    session = walk()
    read(session, seen("d"))
    assert denial_of(session, "write_file", seen("d", state=state)) == f"'d': {why}"


def test_several_files_are_all_named_in_one_denial() -> None:
    session = walk()
    source, target = seen("a.txt", param="source"), seen("b.txt", param="target")
    reason = denial_of(session, "copy", source, target)
    assert "'a.txt' exists" in reason
    assert "'b.txt' exists" in reason
    read(session, seen("a.txt"))
    assert "'a.txt'" not in denial_of(session, "copy", source, target)


def test_every_path_of_a_list_must_have_been_looked_at() -> None:
    session = walk()
    files = [seen(name, state="missing", param="paths") for name in ("a.txt", "b.txt")]
    assert session.ask(session.call("write_many", {"paths": ["a.txt", "b.txt"]}, *files)) == []
    (denial,) = session.ask(session.call("write_many", {"paths": ["a.txt", "c.txt"]}, *files))
    assert "nothing is known of 'c.txt'" in (denial.reason or "")
    assert session.ask(session.call("write_many", {"paths": []}, *files))


def test_a_name_with_a_line_break_is_told_on_one_line() -> None:
    assert denial_of(walk(), "write_file", seen("a\nb")).startswith(r"'a\nb' exists")


def test_long_keys_are_kept_short_and_apart() -> None:
    session = walk()
    one, other = "d/" * 2000 + "a", "d/" * 2000 + "b"
    read(session, seen(one))
    (name,) = session.stored
    assert len(name) < 300
    assert allows(session, "write_file", seen(one))
    reason = denial_of(session, "write_file", seen(other))
    assert len(reason) < 500
    hashed = name.removeprefix("policy/read-first/file/")
    assert not allows(session, "write_file", seen(hashed))


def test_a_restore_takes_back_what_was_read_after_the_snapshot() -> None:
    session = walk()
    read(session, seen("a.txt"))
    earlier = dict(session.stored)
    read(session, seen("b.txt"))
    session.restore(earlier)
    assert allows(session, "write_file", seen("a.txt"))
    assert not allows(session, "write_file", seen("b.txt"))


def test_two_policies_of_one_kind_do_not_see_each_others_reads() -> None:
    """Scenario 142: two policies of one kind keep their facts apart."""
    session = walk()
    read(session, seen("a.txt"))
    session.policies = (policy("other"),)
    assert not allows(session, "write_file", seen("a.txt"))


def test_a_huge_list_of_paths_gives_a_bounded_reason() -> None:
    session = walk()
    call = replace(session.call("write_many"), params={"paths": [f"f{n}" for n in range(50_000)]})
    (denial,) = session.ask(call)
    assert len(denial.reason or "") < 4000
    assert "more" in (denial.reason or "")
