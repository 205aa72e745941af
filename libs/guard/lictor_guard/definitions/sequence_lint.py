"""What is wrong with labels, and with policies over sequences of calls."""

from collections.abc import Iterator

from lictor_guard.definitions.lint import (
    ListedTools,
    outside_problems,
    pattern_problems,
    policy_places,
    rule_problems,
    tool_places,
)
from lictor_guard.definitions.tool_names import overlap
from lictor_guard.errors import Place, Problem
from lictor_policy.errors import nearest
from lictor_schema.sessions.agent_definition import AgentDefinition, SectionSpec
from lictor_schema.sessions.sequence_policy import EarlierCalls, NeverAfterSpec


def sequence_problems(definition: AgentDefinition) -> Iterator[Problem]:
    """All of them, in the order of the document."""
    listed = ListedTools(definition)
    yield from _labels(definition, listed)
    for place, spec, section in policy_places(definition):
        if isinstance(spec, NeverAfterSpec):
            yield from _never_after(definition, place, spec, section, listed)


def _labels(definition: AgentDefinition, listed: ListedTools) -> Iterator[Problem]:
    for index, rule in enumerate(definition.labels):
        place = ("labels", index)
        yield from listed.problems((*place, "tools"), rule.tools)
        yield from rule_problems((*place, "where"), rule.where)
        for field, patterns in (("files", rule.files), ("output", rule.output)):
            for number, pattern in enumerate(patterns):
                yield from pattern_problems((*place, field, number), pattern)
        for number, tool in enumerate(rule.tools):
            if rule.files and not _names_files(definition, tool):
                yield Problem(
                    (*place, "tools", number),
                    f"{tool} names no files, so the rule's files can't be found in a call;"
                    " say in the tool's resources which parameters do, or use where",
                )


def _names_files(definition: AgentDefinition, tool: str) -> bool:
    meant = [spec for _, spec, _ in tool_places(definition) if overlap(spec.name, tool)]
    # A tool that is not listed is another problem.
    return not meant or all(spec.resources for spec in meant)


def _never_after(
    definition: AgentDefinition,
    place: Place,
    spec: NeverAfterSpec,
    section: SectionSpec | None,
    listed: ListedTools,
) -> Iterator[Problem]:
    yield from listed.problems((*place, "tools"), spec.tools)
    yield from outside_problems((*place, "tools"), spec.tools, section)
    yield from rule_problems((*place, "unless"), spec.unless)
    yield from _earlier(definition, (*place, "after"), spec.after, listed)


def _earlier(
    definition: AgentDefinition, place: Place, after: EarlierCalls, listed: ListedTools
) -> Iterator[Problem]:
    if not (after.labels or after.tools):
        yield Problem(place, "looks back at nothing; give it labels or tools")
    if after.where and not after.tools:
        yield Problem((*place, "where"), "needs tools: calls of which tools must pass it?")
    yield from listed.problems((*place, "tools"), after.tools)
    yield from rule_problems((*place, "where"), after.where)
    given = {rule.label for rule in definition.labels}
    for index, label in enumerate(after.labels):
        if label not in given:
            yield Problem(
                (*place, "labels", index), f"no rule gives label {label}; {nearest(label, given)}"
            )
