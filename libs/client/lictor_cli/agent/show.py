"""`lictor agent show`: what a definition says, tool by tool."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import Any

from lictor_cli.agent.sequence_words import labels_in_words, policy_in_words
from lictor_cli.agent.sources import FoundDefinition, find_definition
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_guard.definitions.tool_names import overlap
from lictor_schema.core.base_model import Model
from lictor_schema.sessions.agent_definition import AgentDefinition, SectionSpec
from lictor_schema.sessions.sequence_policy import NeverAfterSpec, OnlyAfterSpec, TotalSpec
from lictor_schema.sessions.tool_policy import (
    ParameterPatternSpec,
    PolicySpec,
    RateLimitSpec,
    ReadBeforeWriteSpec,
    RequireApprovalSpec,
    SequentialDependencySpec,
    TimeWindowSpec,
    ToolSpec,
)

HELP = """\
Tell what an agent definition says: its tools with what gates each of them, the feedback, when the
work counts as done, and the limits. The definition is a file, a stored name (the newest), or a hash.
"""
_SHOWN = 400


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("definition", metavar="NAME|FILE", help="a name, a file, or sha256:…")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Find it, and tell."""
    quiet_logs()
    found = await find_definition(options.definition, options.url)
    if options.json:
        document = found.definition.model_dump(mode="json", by_alias=True)
        say_json({"hash": found.hash, "plugins": found.plugins, "definition": document})
        return OK
    for line in told(found):
        say(line)
    return OK


def told(found: FoundDefinition) -> Iterator[str]:
    """The definition in lines for a person."""
    definition = found.definition
    metadata = definition.metadata
    yield printable(f"{metadata.name} {metadata.version}  {found.hash}  ({found.source})")
    if metadata.description:
        yield printable(metadata.description)
    for name, stamp in sorted(found.plugins.items()):
        yield printable(f"plugin {name} of {stamp}")
    yield from _tools(definition)
    if definition.feedback:
        yield ""
        yield "feedback"
        for spec in definition.feedback:
            yield _part(spec.name, spec.kind, spec)
    yield ""
    yield from _completion(definition)
    yield from _limits(definition)


def _tools(definition: AgentDefinition) -> Iterator[str]:
    yield ""
    yield f"tools (others: {definition.other_tools})"
    for section in (None, *definition.sections):
        tools = definition.tools if section is None else section.tools
        if section is not None:
            yield f"  section {section.name}"
        indent = "  " if section is None else "    "
        for tool in tools:
            gates = list(dict.fromkeys(_gates(definition, section, tool)))
            by = f"  gated by {', '.join(gates)}" if gates else ""
            files = f" ({tool.access} {', '.join(tool.resources)})" if tool.resources else ""
            yield indent + printable(f"{tool.name}{files}{by}")
    policies = [*definition.policies, *(each for s in definition.sections for each in s.policies)]
    if policies:
        yield ""
        yield "policies"
        for spec in policies:
            words = policy_in_words(spec)
            if words is None:
                yield _part(spec.name, spec.kind, spec)
            else:
                yield f"  {printable(spec.name)} ({spec.kind})  {printable(words, _SHOWN)}"
    if definition.labels:
        yield ""
        yield "labels"
        for each in labels_in_words(definition):
            yield f"  {printable(each, _SHOWN)}"


def _gates(
    definition: AgentDefinition, section: SectionSpec | None, tool: ToolSpec
) -> Iterator[str]:
    for spec in (*(section.policies if section else ()), *definition.policies):
        if _gates_tool(spec, tool):
            yield spec.name


def _gates_tool(spec: PolicySpec, tool: ToolSpec) -> bool:
    match spec:
        case SequentialDependencySpec():
            return _any(spec.requires, tool)
        case ReadBeforeWriteSpec():
            return tool.access == "write"
        case RateLimitSpec() | ParameterPatternSpec() | RequireApprovalSpec() | TimeWindowSpec():
            return _any(spec.tools, tool)
        case NeverAfterSpec() | OnlyAfterSpec() | TotalSpec():
            return _any(spec.tools, tool)
        case _:
            return True


def _any(names: Iterable[str], tool: ToolSpec) -> bool:
    return any(overlap(each, tool.name) for each in names)


def _completion(definition: AgentDefinition) -> Iterator[str]:
    completion = definition.completion
    if completion is None:
        yield "completion  unchecked: the agent may stop whenever it wants"
        return
    yield (
        f"completion  blocked at most {completion.max_blocks} times,"
        f" {completion.on_silence} on silence"
    )
    yield f"  {_shown(completion.checker.model_dump(mode='json', exclude_defaults=True))}"


def _limits(definition: AgentDefinition) -> Iterator[str]:
    budgets = definition.budgets.model_dump(mode="json", exclude_none=True)
    if definition.deadline_s is not None:
        yield f"deadline    {definition.deadline_s} s after the session's begin"
    if budgets:
        yield f"budgets     {_shown(budgets)}"


def _part(name: str, kind: str, spec: Model) -> str:
    rest = spec.model_dump(
        mode="json", exclude={"name", "kind"}, exclude_defaults=True, exclude_none=True
    )
    return f"  {printable(name)} ({kind})" + (f"  {_shown(rest)}" if rest else "")


def _shown(value: dict[str, Any]) -> str:
    return printable(json.dumps(value, ensure_ascii=False), _SHOWN)
