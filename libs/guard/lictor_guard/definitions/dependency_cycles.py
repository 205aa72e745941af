"""Whether every tool can ever be called: circles in what tools require of each other, found over all policies.

A tool that requires itself, or two that wait for each other, also when two policies say so, would be denied for ever.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lictor_guard.definitions.tool_names import ANY, any_covers, covers, overlap
from lictor_guard.errors import Place, Problem
from lictor_schema.sessions.agent_definition import AgentDefinition
from lictor_schema.sessions.tool_policy import SequentialDependencySpec


@dataclass(frozen=True)
class _Requirement:
    tool: str
    needs: str
    place: Place


def dependency_problems(definition: AgentDefinition) -> Iterator[Problem]:
    """Every circle of tools that wait for each other, and every pair that spoil each other."""
    policies = list(_sequential(definition))
    tools = _tools(definition, [spec for _, spec, _ in policies])
    needs = {tool: list(_needs(tool, policies)) for tool in tools}
    callable_ = _reachable(needs)
    told: set[frozenset[str]] = set()
    for tool in sorted(set(tools) - callable_):
        circle = _circle(tool, needs, callable_)
        names = [each.tool for each in circle]
        if frozenset(names) not in told:
            told.add(frozenset(names))
            yield Problem(circle[0].place, _sentence(names))
    for place, spec, _ in policies:
        yield from _spoiling(place, spec)


def _sequential(
    definition: AgentDefinition,
) -> Iterator[tuple[Place, SequentialDependencySpec, Sequence[str] | None]]:
    for number, section in enumerate(definition.sections):
        held = [tool.name for tool in section.tools]
        for index, spec in enumerate(section.policies):
            if isinstance(spec, SequentialDependencySpec):
                yield ("sections", number, "policies", index), spec, held
    for index, spec in enumerate(definition.policies):
        if isinstance(spec, SequentialDependencySpec):
            yield ("policies", index), spec, None


def _tools(
    definition: AgentDefinition, policies: Sequence[SequentialDependencySpec]
) -> Sequence[str]:
    """Every tool that is told apart: listed ones, and those that policies name among a `prefix*`."""
    listed = [tool.name for tool in definition.tools]
    listed += [tool.name for section in definition.sections for tool in section.tools]
    named = [
        name
        for spec in policies
        for tool, others in spec.requires.items()
        for name in (tool, *others)
        if not name.endswith(ANY) and any_covers(listed, name)
    ]
    return sorted({*listed, *named})


def _needs(
    tool: str, policies: Sequence[tuple[Place, SequentialDependencySpec, Sequence[str] | None]]
) -> Iterator[_Requirement]:
    for place, spec, held in policies:
        if held is not None and not any_covers(held, tool):
            continue
        for name, others in spec.requires.items():
            if not covers(name, tool):
                continue
            for index, other in enumerate(others):
                # `fs_*` requiring `fs_open` means the others.
                if other != tool or other.endswith(ANY) or not name.endswith(ANY):
                    yield _Requirement(tool, other, (*place, "requires", name, index))


def _reachable(needs: dict[str, list[_Requirement]]) -> set[str]:
    """The tools that can be called in some order."""
    found: set[str] = set()
    while True:
        more = {
            tool
            for tool, requirements in needs.items()
            if tool not in found and all(_met(each.needs, needs, found) for each in requirements)
        }
        if not more:
            return found
        found |= more


def _met(name: str, needs: dict[str, list[_Requirement]], found: set[str]) -> bool:
    """Whether a name can be met; a name of no tool at all is another problem, reported elsewhere."""
    meant = _meant(name, needs)
    return not meant or any(tool in found for tool in meant)


def _meant(name: str, needs: dict[str, list[_Requirement]]) -> Sequence[str]:
    """The tools that a name stands for; a listed `prefix*` stands for the tools that nobody names."""
    if name in needs and not name.endswith(ANY):
        return [name]
    return [tool for tool in needs if overlap(name, tool)]


def _circle(
    tool: str, needs: dict[str, list[_Requirement]], callable_: set[str]
) -> list[_Requirement]:
    """Follow what is not met until a tool comes again."""
    path: list[_Requirement] = []
    here = tool
    while here not in [each.tool for each in path]:
        unmet = next(each for each in needs[here] if not _met(each.needs, needs, callable_))
        path.append(unmet)
        here = _meant(unmet.needs, needs)[0]
    start = [each.tool for each in path].index(here)
    return path[start:]


def _sentence(names: list[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} requires itself, so it could never be called"
    circle = " requires ".join([*names, names[0]])
    return f"is a circle, so none of these could ever be called: {circle}"


def _spoiling(place: Place, spec: SequentialDependencySpec) -> Iterator[Problem]:
    """Required tools each of whose runs makes the other stale: never both are fresh."""

    def spoils(one: str, other: str) -> bool:
        return any(
            covers(name, other) and any_covers(by, one) for name, by in spec.invalidated_by.items()
        )

    for tool, required in spec.requires.items():
        for index, other in enumerate(required):
            for one in required[:index]:
                if one != other and spoils(one, other) and spoils(other, one):
                    yield Problem(
                        (*place, "requires", tool, index),
                        f"{one} and {other} make each other stale, so {tool} could never be called",
                    )
