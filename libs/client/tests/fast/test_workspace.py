"""One file, one key: however a call spells it. What can't be told apart has no key."""

from __future__ import annotations

import hashlib
import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lictor.fast.workspace import MAX_RESOURCES, Workspace, in_this_process
from lictor_schema.sessions.session_questions import Resource, SeenFile


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a file, a directory and links to both."""
    root = tmp_path / "work"
    (root / "d").mkdir(parents=True)
    (root / "a.txt").write_text("a")
    (root / "d" / "b.txt").write_text("b")
    (root / "link.txt").symlink_to("a.txt")
    (root / "dlink").symlink_to("d")
    (tmp_path / "rootlink").symlink_to(root)
    return root


def resolve(root: Path, given: Any, cwd: Path | None = None, mounts: tuple[str, ...] = ()) -> Any:
    workspace = Workspace(str(root), mounts)
    (found,) = workspace.resolve({"path": given}, ["path"], None if cwd is None else str(cwd))
    return Resource.model_validate(found)


@pytest.mark.parametrize(
    "spelling",
    [
        "a.txt",
        "./a.txt",
        ".//a.txt",
        "d/../a.txt",
        "nothing/../a.txt",
        "a.txt/",
        "link.txt",
        "{root}/a.txt",
        "{root}/./d/.././a.txt",
        "{root}/../work/a.txt",
        "{root}/../rootlink/a.txt",
        "{root}/../rootlink/link.txt",
        "/workspace/a.txt",
        "/workspace//d/../link.txt",
        "/x/../workspace/a.txt",
        "/workspace/../workspace/a.txt",
        "../work/a.txt",
    ],
)
def test_every_spelling_of_a_file_has_the_same_key(root: Path, spelling: str) -> None:
    """Scenarios 7, 8, 134 and 143: slashes at the front, a mount, the workspace's path: one file, one key."""
    found = resolve(root, spelling.format(root=root), mounts=("/workspace/",))
    assert (found.key, found.state) == ("a.txt", "file")
    assert found.digest == "sha256:" + hashlib.sha256(b"a").hexdigest()


def test_a_relative_path_starts_where_the_call_was_made(root: Path) -> None:
    assert resolve(root, "b.txt", root / "d").key == "d/b.txt"
    assert resolve(root, "../a.txt", root / "d").key == "a.txt"
    assert resolve(root, "b.txt", root / "dlink").key == "d/b.txt"


def test_a_guard_without_cwd_takes_relative_paths_to_start_at_its_workspace(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def key(workspace: Workspace | None) -> Any:
        assert workspace is not None
        return workspace.with_mounts(("/workspace",)).resolve({"p": "b.txt"}, ["p"])[0]["key"]

    monkeypatch.chdir(root)
    assert key(in_this_process(root, None)) == "b.txt"
    assert not caplog.messages
    monkeypatch.chdir(root.parent)
    assert key(in_this_process(root, None)) == "b.txt"
    # Its developer is told, not the agent.
    assert "give the guard cwd=" in caplog.text
    caplog.clear()
    assert key(in_this_process(root, "work/d")) == "d/b.txt"
    assert not caplog.messages


def test_a_root_that_is_named_through_a_link_gives_the_same_keys(root: Path) -> None:
    assert resolve(root.parent / "rootlink", str(root / "a.txt")).key == "a.txt"
    assert resolve(root.parent / "rootlink", "a.txt").key == "a.txt"


def test_a_file_that_is_not_there_yet_has_its_key_already(root: Path) -> None:
    for spelling in ("new/x.txt", "new//./x.txt", "dlink/../new/x.txt", str(root / "new/x.txt")):
        found = resolve(root, spelling)
        assert (found.key, found.state, found.digest) == ("new/x.txt", "missing", None)
    assert resolve(root, "dlink/new.txt").key == "d/new.txt"


def test_the_root_itself_and_what_is_outside_have_keys_too(root: Path) -> None:
    """Scenarios 9 and 10: the mount itself; outside of every mount."""
    outside = root.parent / "other.txt"
    outside.write_text("o")
    assert resolve(root, ".").key == "."
    assert resolve(root, "/workspace", mounts=("/workspace/",)).key == "."
    assert resolve(root, "..").key == str(root.parent.resolve())
    assert resolve(root, "../other.txt").key == str(outside.resolve())
    assert resolve(root, "/workspace/../other", mounts=("/workspace",)).key == "/other"


def test_the_root_is_not_taken_for_a_mount_of_the_file_systems_root(root: Path) -> None:
    """Scenario 7: slashes at the front."""
    assert resolve(root, str(root / "a.txt"), mounts=("/",)).key == "a.txt"
    assert "another place here" in resolve(root, "/a.txt", mounts=("/",)).problem


def test_without_a_mount_an_absolute_path_is_no_file_of_the_workspace(root: Path) -> None:
    """Scenario 31: `/workspace/config.yaml` is not `workspace/config.yaml`, so a read of one unlocks no other."""
    folder = f"workspace-{uuid.uuid4()}"
    (root / folder).mkdir()
    (root / folder / "config.yaml").write_text("a: 1")
    inside, outside = (
        resolve(root, f"{folder}/config.yaml"),
        resolve(root, f"/{folder}/config.yaml"),
    )
    assert (inside.key, inside.state) == (f"{folder}/config.yaml", "file")
    assert (outside.key, outside.state) == (f"/{folder}/config.yaml", "missing")


def test_a_mount_that_is_another_place_here_leaves_no_key(root: Path, tmp_path: Path) -> None:
    shadowing = tmp_path / "mnt"
    shadowing.mkdir()
    (shadowing / "a.txt").write_text("never read")
    for name in ("a.txt", "new.txt", ""):
        found = resolve(root, f"{shadowing}/{name}", mounts=(str(shadowing),))
        assert found.key is None
        assert "another place here" in found.problem


def test_a_mount_that_is_the_root_here_too_is_one_of_its_names(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mnt").symlink_to(root)
    (tmp_path / "gone").symlink_to("nowhere")
    assert resolve(root, f"{tmp_path}/mnt/a.txt", mounts=(f"{tmp_path}/mnt",)).key == "a.txt"
    broken = resolve(root, f"{tmp_path}/gone/a.txt", mounts=(f"{tmp_path}/gone",))
    assert "leads nowhere" in broken.problem


@pytest.mark.parametrize(
    "spelling",
    [
        " a.txt",
        "a.txt ",
        "\ta.txt",
        "a.txt\n",
        "\ufeffa.txt",
        " '{root}/a.txt' ",
        '"{root}/a.txt"',
        "`a.txt`",
        "a.txt'",
        "$THE_ROOT/a.txt",
        "${{THE_ROOT}}/a.txt",
        "$QUOTED",
        "$NOBODY_SET_THIS/a.txt",
        "~root/../{root}/a.txt",
        "file:{root}/a.txt",
        " FILE:///{root}/a.txt",
        "a.txt\u3000",
        "new.txt ",
        "  ",
        "\ud800 ",
    ],
)
def test_what_tools_trim_unquote_or_expand_to_another_file_has_no_key(
    root: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_ROOT", str(root))
    monkeypatch.setenv("QUOTED", "' a.txt '")
    found = resolve(root, spelling.format(root=root))
    assert (found.key, found.state) == (None, "unknown")
    assert found.problem


def test_the_problem_names_what_else_it_may_be_read_as(root: Path) -> None:
    assert "'a.txt'" in resolve(root, "a.txt ").problem


@pytest.mark.parametrize(
    ("standing", "spelling"),
    [
        ("caf\u00e9.txt", "cafe\u0301.txt"),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("caf\u00e9/x.txt", "nothing/../cafe\u0301/x.txt"),
        ("a b.txt", "a\u202fb.txt"),
        ("caf\u00e9 b.txt", "cafe\u0301\u00a0b.txt"),
        ("a b.txt", "a\\ b.txt"),
    ],
)
def test_a_name_that_looks_like_that_of_another_file_has_no_key(
    root: Path, standing: str, spelling: str
) -> None:
    (root / standing).parent.mkdir(exist_ok=True)
    (root / standing).write_text("never read")
    assert "another file" in resolve(root, spelling).problem
    assert resolve(root, standing).key == standing


@pytest.mark.parametrize(
    "name",
    [
        "with spaces in it.txt",
        "routes/$id.tsx",
        "Outer$Inner.java",
        "it's.txt",
        "caf\u00e9.txt",
        "cafe\u0301.txt",
        "\u8cc7\u6599\u3000(\uff11).txt",
        "\uac00" * 80,
        "dev-disk-by\\x2duuid.swap",
        "#a%20b&c;d|e.txt",
    ],
)
def test_an_unusual_name_of_a_new_file_is_a_name(root: Path, name: str) -> None:
    found = resolve(root, name)
    assert (found.key, found.state, found.problem) == (name, "missing", None)
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("x")
    assert (resolve(root, name).key, resolve(root, name).state) == (name, "file")


def test_a_variable_that_names_itself_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELF", "./$SELF")
    assert resolve(root, "$SELF").key == "$SELF"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize(
    "spelling",
    [
        "/proc/self/cwd/a.txt",
        "/proc/thread-self/cwd/a.txt",
        "/proc/1/root/a.txt",
        "/proc/self/fd/77",
        "/dev/fd/77",
        "/dev/stdout",
        "/dev/../proc/self/cwd",
        "through/a.txt",
    ],
)
def test_what_each_process_sees_otherwise_has_no_key(
    root: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    (root / "through").symlink_to("/proc/self/cwd")
    found = resolve(root, spelling)
    assert (found.key, found.state) == (None, "unknown")
    assert "each process" in found.problem


@pytest.mark.parametrize(
    ("spelling", "problem"),
    [
        ("dangling", "leads nowhere"),
        ("loop", "circle"),
        ("a\0b", "NUL"),
        ("x" * 300, "name too long"),
        ("a.txt/below", "not a directory"),
        ("file:///etc/hosts", "URL"),
        ("\ud800", "surrogates"),
        ("", "not a path"),
        (7, "not a path"),
        ({"a": 1}, "not a path"),
    ],
)
def test_what_can_not_be_resolved_has_no_key_and_says_why(
    root: Path, spelling: Any, problem: str
) -> None:
    (root / "dangling").symlink_to("gone/away.txt")
    (root / "loop").symlink_to("loop")
    found = resolve(root, spelling)
    assert (found.key, found.state, found.digest) == (None, "unknown", None)
    assert problem in found.problem


def test_going_up_behind_a_link_is_refused_where_it_means_two_files(root: Path) -> None:
    (root / "d" / "deep").mkdir()
    (root / "deeplink").symlink_to("d/deep")
    # The kernel reads d/b.txt, a program that folds the path first reads b.txt.
    assert "two ways" in resolve(root, "deeplink/../b.txt").problem
    assert resolve(root, "dlink/../a.txt").key == "a.txt"


def test_a_name_that_is_not_utf8_has_no_key(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (root / name).write_text("x")
    found = resolve(root, name)
    assert found.key is None
    assert "UTF-8" in found.problem


def test_a_name_with_a_line_break_is_a_name(root: Path) -> None:
    (root / "a\nb").write_text("x")
    assert resolve(root, "a\nb").key == "a\nb"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_directory_that_can_not_be_looked_into_leaves_no_key(root: Path) -> None:
    (root / "d").chmod(0)
    try:
        assert "looked into" in resolve(root, "d/b.txt").problem
    finally:
        (root / "d").chmod(0o700)


def test_the_home_directory_is_known_unless_the_name_means_two_files(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root))
    assert resolve(root, "~/a.txt").key == "a.txt"
    assert resolve(root, "~nobody-has-this-name").key == "~nobody-has-this-name"
    assert "'/root'" in resolve(root, "~root").problem
    (root / "~").mkdir()
    assert "to others" in resolve(root, "~/a.txt").problem


def test_pipes_and_directories_are_not_opened(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert (resolve(root, "pipe").state, resolve(root, "pipe").digest) == ("other", None)
    assert (resolve(root, "d").state, resolve(root, "d").digest) == ("directory", None)


def test_a_file_over_the_limit_has_no_digest(root: Path) -> None:
    (found,) = Workspace(str(root), max_digested=0).resolve({"p": "a.txt"}, ["p"])
    assert (found["key"], found["state"], found["digest"]) == ("a.txt", "file", None)


def test_large_content_is_hashed_whole(root: Path) -> None:
    content = os.urandom(3_000_000)
    (root / "large").write_bytes(content)
    assert resolve(root, "large").digest == "sha256:" + hashlib.sha256(content).hexdigest()


def test_lists_of_paths_are_resolved_one_by_one_and_absent_ones_left_out(root: Path) -> None:
    workspace = Workspace(str(root))
    found = workspace.resolve(
        {"paths": ["a.txt", "d/b.txt"], "other": None}, ["paths", "other", "x"]
    )
    assert [each["key"] for each in found] == ["a.txt", "d/b.txt"]


def test_more_files_than_a_question_holds_leave_one_without_a_key(root: Path) -> None:
    found = Workspace(str(root)).resolve({"paths": ["a.txt"] * 500}, ["paths"])
    assert len(found) == MAX_RESOURCES
    assert found[-1]["key"] is None


def test_looking_at_files_starts_at_the_root_and_tells_true_files_from_others(root: Path) -> None:
    (root / "dangling").symlink_to("gone")
    seen = Workspace(str(root)).look(["a.txt", "d", "none", "link.txt", "dangling", "a.txt/x"])
    assert [(SeenFile.model_validate(each).state, each["size"]) for each in seen] == [
        ("file", 1),
        ("directory", None),
        ("missing", None),
        ("file", 1),
        ("missing", None),
        ("unknown", None),
    ]


@settings(deadline=None, max_examples=150)
@given(parts=st.lists(st.sampled_from(["a.txt", "d", "dlink", "..", ".", "", "new", "b.txt"])))
def test_a_key_leads_to_the_file_that_the_spelling_leads_to(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    root = tmp_path_factory.getbasetemp() / "laws" / "work"
    if not root.exists():
        (root / "d").mkdir(parents=True)
        (root / "a.txt").write_text("a")
        (root / "d" / "b.txt").write_text("b")
        (root / "dlink").symlink_to("d")
    spelling = "/".join(parts)
    (found,) = Workspace(str(root)).resolve({"p": spelling or "."}, ["p"])
    Resource.model_validate(found)
    if found["key"] is None or found["state"] == "missing":
        return
    key = root / found["key"]
    assert key.resolve() == Path(os.path.normpath(key)), "a key has no links in it"
    opened = root / os.path.normpath(spelling)
    assert key.samefile(opened)
    assert found["key"] == resolve(root, str(key)).key
