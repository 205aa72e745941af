"""Every subject is spelled once, in `lictor_bus.names.subjects`; elsewhere code asks that module for it.

A subject that is spelled by hand drifts: a publisher, a permission and a document that should agree need not. What
`lictor hook` runs can't afford to import the bus, so it spells its own few in one module, and a test beside it compares
them. Tests may spell what stands on the wire.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lictor_bus.names import subjects
from lictor_bus.names.subject_pattern import SubjectPattern

ROOT = Path(__file__).parents[2]
SPELLED_IN = (
    "libs/bus/lictor_bus/names/subjects.py",
    "libs/client/lictor/fast/session_operations.py",
)
SOURCES = sorted(
    path
    for folder in ("libs/*/lictor*", "services/*/lictor*", "bench", "examples")
    for top in ROOT.glob(folder)
    for path in top.rglob("*.py")
    if path.relative_to(ROOT).as_posix() not in SPELLED_IN
)
PATTERNS = [each for each in vars(subjects).values() if isinstance(each, SubjectPattern)]
FAMILIES = {each.pattern.split(".")[1] for each in PATTERNS} | {"ask", "doubt"}
# Under these words stand ids of policies and names of metrics too (`lictor.gate.unavailable`, `lictor.gate.answers`):
# there only what is asked is a subject.
ASKED = {
    "gate": {"report", "dispatch", "tool", "stop", "action"},
    "contract": {
        "begin",
        "report",
        "verify",
        "show",
        "approve",
        "freeze",
        "resume",
        "halt",
        "release",
    },
}
_OPEN = re.compile(r"[*>{]|\Z")


def is_subject(text: str) -> bool:
    """Whether a text, with its computed parts as `{}`, is one of our subjects or the beginning of one."""
    head, word, *rest = [*text.split(".", 2), "", ""]
    if head != "lictor" or re.search(r"[\s`(]", text):
        return False
    if word == ">":
        return True
    if word not in FAMILIES or text.count(".") < 2:
        return False
    operation = rest[0].partition(".")[0]
    return word not in ASKED or operation in ASKED[word] or bool(_OPEN.match(operation))


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts in a module that are values, each whole: neither docstrings nor parts of formatted texts."""
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            apart |= {id(part) for part in node.values}
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(map(str, parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def spelled(path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    found = literals(ast.parse(path.read_text("utf-8")))
    return [f"{name}:{line}: {text}" for line, text in found if is_subject(text)]


def test_no_subject_is_spelled_by_hand() -> None:
    wrong = [each for path in SOURCES for each in spelled(path)]
    assert not wrong, "take them from lictor_bus.names.subjects:\n" + "\n".join(wrong)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern)
def test_every_declared_subject_would_be_found(pattern: SubjectPattern) -> None:
    assert is_subject(pattern.pattern)
    assert is_subject(pattern.any)
    assert is_subject(re.sub(r"\{\w+\}", "{}", pattern.pattern))


def test_a_beginning_of_a_subject_is_found_too() -> None:
    assert is_subject("lictor.dec.")
    assert is_subject("lictor.>")
    assert is_subject("lictor.gate.{}")


@pytest.mark.parametrize(
    "text",
    [
        "lictor.gate.unavailable",
        "lictor.gate",
        "lictor.contract.ended",
        "lictor.unknown-session",
        "lictor.approvals.open",
        "begin it first (`lictor.contract.begin`)",
    ],
)
def test_names_of_policies_metrics_and_loggers_are_no_subjects(text: str) -> None:
    assert not is_subject(text)
