"""What differs between two definitions."""

from typing import Any

from lictor_guard.definitions.diff import diff_definitions
from lictor_schema.sessions.agent_definition import AgentDefinition

LIMIT = {"kind": "rate-limit", "name": "calm", "tools": ["a"], "limit": 5, "window_s": 60}
READ = {"kind": "read-before-write", "name": "read"}


def definition(**parts: Any) -> AgentDefinition:
    document = {
        "apiVersion": "lictor/v1",
        "kind": "AgentDefinition",
        "metadata": {"name": "a", "version": "1"},
        **parts,
    }
    return AgentDefinition.model_validate(document, strict=False)


def told(old: AgentDefinition, new: AgentDefinition) -> list[tuple[str, str]]:
    return [(each.what, each.place) for each in diff_definitions(old, new)]


def test_a_definition_does_not_differ_from_itself() -> None:
    assert told(definition(policies=[LIMIT]), definition(policies=[LIMIT])) == []


def test_parts_are_compared_by_their_names_and_fields() -> None:
    old = definition(policies=[LIMIT, READ], tools=[{"name": "a"}])
    new = definition(
        policies=[READ, {**LIMIT, "limit": 6, "tools": ["a", "b"]}],
        tools=[{"name": "b"}],
        deadline_s=5,
    )
    assert told(old, new) == [
        ("removed", "tools[a]"),
        ("added", "tools[b]"),
        ("changed", "policies[calm].tools"),
        ("changed", "policies[calm].limit"),
        ("changed", "policies (order)"),
        ("changed", "deadline_s"),
    ]


def test_a_part_of_another_kind_is_told_field_by_field() -> None:
    old = definition(completion={"checker": {"kind": "files", "files": ["a"]}})
    new = definition(completion={"checker": {"kind": "evidence", "quality": "weak"}})
    assert ("changed", "completion.checker.kind") in told(old, new)
    assert told(definition(), new) == [("changed", "completion")]
