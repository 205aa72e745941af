"""What differs between two definitions: named parts by their names, whatever their order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from lictor_schema.sessions.agent_definition import AgentDefinition


@dataclass(frozen=True)
class DefinitionDifference:
    """A part that is there on one side only, or isn't the same on both."""

    what: Literal["added", "removed", "changed"]
    place: str
    old: Any = None
    new: Any = None

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {"what": self.what, "place": self.place, "old": self.old, "new": self.new}


def diff_definitions(old: AgentDefinition, new: AgentDefinition) -> list[DefinitionDifference]:
    """Every difference, in the order of the document."""
    before, after = (each.model_dump(mode="json", by_alias=True) for each in (old, new))
    found = _diff("", before, after)
    return [replace(each, place=each.place.removeprefix(".")) for each in found]


def _diff(place: str, old: Any, new: Any) -> Iterator[DefinitionDifference]:
    if old == new:
        return
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        yield DefinitionDifference("changed", place, old, new)
        return
    for name, value in before.items():
        if name not in after:
            yield DefinitionDifference("removed", place + name, old=value)
        else:
            yield from _diff(place + name, value, after[name])
    for name, value in after.items():
        if name not in before:
            yield DefinitionDifference("added", place + name, new=value)
    order = [name for name in before if name in after]
    # All of a section's policies run, and all feedback is given, but in this order.
    if isinstance(new, list) and order != [name for name in after if name in before]:
        yield DefinitionDifference("changed", f"{place} (order)", list(before), list(after))


def _parts(value: Any) -> dict[str, Any] | None:
    """The parts of a value by how they are named; None when it has none that can be told apart."""
    if isinstance(value, dict):
        return {f".{key}": part for key, part in cast("dict[str, Any]", value).items()}
    if not isinstance(value, list):
        return None
    items = cast("list[Any]", value)
    names = [cast("dict[str, Any]", each).get("name") for each in items if isinstance(each, dict)]
    if len(names) != len(items) or None in names or len(set(names)) != len(names):
        return None
    return {f"[{name}]": part for name, part in zip(names, items, strict=True)}
