"""The example definitions compile, and are surely meant as they are."""

from pathlib import Path

import pytest
from rehearsed_session import Rehearsal

from lictor_guard.definitions.lint_warnings import definition_doubts
from lictor_guard.definitions.loading import definition_files, read_definition, read_directory
from lictor_schema.sessions.session_questions import SeenFile

EXAMPLES = Path(__file__).parents[4] / "examples" / "agents"


@pytest.mark.parametrize("path", definition_files(EXAMPLES), ids=lambda path: path.stem)
def test_an_example_is_without_fault_and_named_like_its_file(path: Path) -> None:
    guarded = read_definition(path.read_bytes(), path.name)
    assert guarded.definition.metadata.name == path.stem
    assert list(definition_doubts(guarded.definition)) == []


def test_there_are_examples() -> None:
    assert {"coder", "releaser"} <= set(read_directory(EXAMPLES))


def coder() -> Rehearsal:
    path = EXAMPLES / "coder.yaml"
    return Rehearsal(read_definition(path.read_bytes(), path.name))


@pytest.mark.parametrize(
    "command",
    [
        "git push --force",
        "git push origin \\\n --force",
        "git push origin +main",
        "git push origin '+main'",
        "git -C . push --force",
        "git push --force-with-lease",
        "git push -uf origin",
        "git push --mirror",
        "rm -rf /",
        "rm -r -f /",
        "rm -rf -- /",
        "rm -R /",
        "rm -rf '/'",
        "rm -rf \\/",
        "rm -fr\t/x",
        "rm --recursive /",
        "rm / -rf",
        "rm -rf ~",
        "rm -rf build ../..",
        "rm -rf \\\n $HOME",
    ],
)
def test_the_coder_neither_rewrites_history_nor_removes_what_is_not_its_own(command: str) -> None:
    assert coder().check("Bash", params={"command": command}).policy_id == "no-history-rewriting"


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git push -u origin main",
        "git push --follow-tags",
        "rm -rf build",
        "rm -f /tmp/x",
    ],
)
def test_the_coder_pushes_and_removes_its_own(command: str) -> None:
    assert coder().check("Bash", params={"command": command}).decision == "allow"


def test_the_coder_stops_only_when_the_tests_passed_after_the_last_change() -> None:
    session = coder()
    changes = (SeenFile(path="CHANGES.md", state="file", size=3),)

    def may_stop_after(command: str) -> bool:
        assert session.call("Bash", params={"command": command}).decision == "allow"
        # New work, so that no block is the last one.
        session.begin(prompted=True)
        return session.stop(files=changes).status == "complete"

    for command in (
        "echo pytest",
        "pytest || true",
        "pytest --version",
        "pytest\ntrue",
        "true # pytest",
    ):
        assert not may_stop_after(command)
    assert may_stop_after("pytest -q")
    assert not may_stop_after("sed -i s/a/b/ a.py")
    assert may_stop_after("npm test")
