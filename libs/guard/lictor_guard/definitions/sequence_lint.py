"""What is wrong with labels, and with policies over sequences of calls."""

from collections.abc import Iterator
from decimal import Decimal

from lictor_guard.definitions.lint import (
    ListedTools,
    outside_problems,
    pattern_problems,
    policy_places,
    rule_problems,
    tool_places,
)
from lictor_guard.definitions.tool_names import covers, overlap
from lictor_guard.errors import Place, Problem
from lictor_policy.errors import nearest
from lictor_schema.sessions.agent_definition import AgentDefinition
from lictor_schema.sessions.sequence_policy import (
    EarlierCalls,
    NeverAfterSpec,
    OnlyAfterSpec,
    TotalSpec,
)


def sequence_problems(definition: AgentDefinition) -> Iterator[Problem]:
    """All of them, in the order of the document."""
    listed = ListedTools(definition)
    yield from _labels(definition, listed)
    for place, spec, section in policy_places(definition):
        if isinstance(spec, NeverAfterSpec | OnlyAfterSpec | TotalSpec):
            yield from listed.problems((*place, "tools"), spec.tools)
            yield from outside_problems((*place, "tools"), spec.tools, section)
        match spec:
            case NeverAfterSpec():
                yield from rule_problems((*place, "unless"), spec.unless)
                yield from _earlier(definition, (*place, "after"), spec.after, listed)
            case OnlyAfterSpec():
                yield from rule_problems((*place, "unless"), spec.unless)
                yield from _only_after(place, spec, listed)
            case TotalSpec():
                yield from _total(place, spec)
            case _:
                pass


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


def _only_after(place: Place, spec: OnlyAfterSpec, listed: ListedTools) -> Iterator[Problem]:
    yield from listed.problems((*place, "after", "tools"), spec.after.tools)
    yield from rule_problems((*place, "after", "where"), spec.after.where)
    if spec.within_s is None and spec.within_calls is None and not spec.after.where:
        yield Problem(
            place,
            "has no window; give it within_s, within_calls or where, or use sequential-dependency",
        )
    for index, tool in enumerate(spec.after.tools):
        if any(covers(each, tool) for each in spec.tools) and not spec.unless:
            yield Problem(
                (*place, "after", "tools", index),
                f"{tool} would have to succeed before it is called; let unless say which call is the first",
            )


def _total(place: Place, spec: TotalSpec) -> Iterator[Problem]:
    if Decimal(spec.limit) <= 0:
        yield Problem((*place, "limit"), f"is {spec.limit}, so no amount would pass")


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
