"""An agent definition made ready to judge with: its tools, policies, providers and checker, found by name at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from lictor_guard.checkers import build_checker
from lictor_guard.definitions.lint import checker_places, definition_problems, policy_places
from lictor_guard.definitions.sequence_lint import sequence_problems
from lictor_guard.definitions.tool_names import ANY, covers, overlap
from lictor_guard.errors import DefinitionError, Problem
from lictor_guard.labels.rules import GivingRule, label_rule, mark_rule
from lictor_guard.labels.session_labels import SessionLabels
from lictor_guard.plugins.completion_checker import CompletionChecker
from lictor_guard.plugins.feedback_provider import FeedbackProvider
from lictor_guard.plugins.installed import MadePlugins, Plugins, WantedPlugin
from lictor_guard.plugins.part_defaults import (
    WholeChecker,
    WholePolicy,
    WholeProvider,
    whole_checker,
    whole_policy,
    whole_provider,
)
from lictor_guard.plugins.tool_policy import ToolPolicy
from lictor_guard.policies.never_after import NeverAfter, mark_of
from lictor_guard.policies.only_after import OnlyAfter
from lictor_guard.policies.parameters import Parameters
from lictor_guard.policies.rate_limit import RateLimit
from lictor_guard.policies.read_before_write import ReadBeforeWrite
from lictor_guard.policies.require_approval import RequireApproval
from lictor_guard.policies.sequential_dependency import SequentialDependency
from lictor_guard.policies.time_window import TimeWindow
from lictor_guard.policies.total import Total
from lictor_guard.providers import build_provider
from lictor_guard.text.linear_patterns import MAX_WORK_OF_CALL
from lictor_schema.core.canonical_json import CanonicalError, content_hash
from lictor_schema.sessions.agent_definition import (
    AgentDefinition,
    FeedbackSpec,
    PluginFeedbackSpec,
    TriggerSpec,
)
from lictor_schema.sessions.sequence_policy import NeverAfterSpec, OnlyAfterSpec, TotalSpec
from lictor_schema.sessions.tool_policy import (
    ParameterPatternSpec,
    PluginSpec,
    PolicySpec,
    RateLimitSpec,
    ReadBeforeWriteSpec,
    RequireApprovalSpec,
    SequentialDependencySpec,
    TimeWindowSpec,
    ToolSpec,
)

_MATCHED = 4
"""So often a label's rule may be matched for one call: when it is asked about, allowed, asked again, and ended."""


@dataclass(frozen=True)
class OwnedPolicy:
    """A policy and the owner of its facts, `policy/<name>`."""

    policy: WholePolicy
    owner: str
    section: str | None
    """The section whose tools it gates; None when it gates every tool."""


@dataclass(frozen=True)
class ConfiguredProvider:
    """A provider, when it runs, and the owner of its facts, `provider/<name>`."""

    provider: WholeProvider
    trigger: TriggerSpec
    owner: str


@dataclass(frozen=True)
class OwnedChecker:
    """A checker that keeps facts, wherever it stands in a composite, and their owner, `checker/<name>`."""

    checker: WholeChecker
    owner: str


@dataclass(frozen=True)
class Guarded:
    """A compiled definition. Made by `compile_definition`."""

    definition: AgentDefinition
    hash: str
    plugins: Mapping[str, str]
    """By plugin, the package and version it came from."""
    policies: tuple[OwnedPolicy, ...]
    """All of them: the sections' in their order, then the definition's own. Each is given every result."""
    providers: tuple[ConfiguredProvider, ...]
    checker: WholeChecker | None
    checkers: tuple[OwnedChecker, ...]
    labels: SessionLabels = field(default_factory=SessionLabels)

    def tool(self, name: str) -> ToolSpec | None:
        """What the definition says of a tool: by its exact name, else by the longest `prefix*` that fits."""
        exact = self._exact.get(name)
        if exact is not None:
            return exact
        return next((spec for prefix, spec in self._prefixes if name.startswith(prefix)), None)

    def policies_for(self, tool: str) -> tuple[OwnedPolicy, ...]:
        """What gates a tool: the policies of every section that holds it, then the definition's own."""
        known = self._gating.get(tool)
        return known if known is not None else self._gates(tool)

    @cached_property
    def resource_params(self) -> Mapping[str, tuple[str, ...]]:
        """The parameters that name files, by tool as the definition spells it: a name may end with `*`."""
        return {
            spec.name: spec.resources for spec in listed_tools(self.definition) if spec.resources
        }

    @cached_property
    def watched_files(self) -> tuple[str, ...]:
        """The files that providers wait for."""
        files = (each.trigger.on_file_created for each in self.providers)
        return tuple(dict.fromkeys(file for file in files if file is not None))

    @cached_property
    def keeps_calls(self) -> bool:
        """Whether a provider looks at what calls were given and returned."""
        return any(each.provider.needs_calls for each in self.providers)

    @cached_property
    def needs_outputs(self) -> bool:
        """Whether results are to be reported with the begin of what they returned."""
        return self.keeps_calls or self.labels.by_output

    @cached_property
    def stop_files(self) -> tuple[str, ...]:
        """The files that must be looked at before a stop."""
        return () if self.checker is None else tuple(dict.fromkeys(self.checker.look_at()))

    @cached_property
    def _exact(self) -> Mapping[str, ToolSpec]:
        return {
            spec.name: spec for spec in listed_tools(self.definition) if not spec.name.endswith(ANY)
        }

    @cached_property
    def _prefixes(self) -> Sequence[tuple[str, ToolSpec]]:
        found = {
            spec.name.removesuffix(ANY): spec
            for spec in listed_tools(self.definition)
            if spec.name.endswith(ANY)
        }
        return sorted(found.items(), key=lambda each: -len(each[0]))

    @cached_property
    def _gating(self) -> Mapping[str, tuple[OwnedPolicy, ...]]:
        return {name: self._gates(name) for name in self._exact}

    def _gates(self, tool: str) -> tuple[OwnedPolicy, ...]:
        holding = {
            section.name
            for section in self.definition.sections
            if any(covers(spec.name, tool) for spec in section.tools)
        }
        return tuple(
            each for each in self.policies if each.section is None or each.section in holding
        )


def listed_tools(definition: AgentDefinition) -> Iterator[ToolSpec]:
    """Every tool that a definition lists, the sections' included."""
    yield from definition.tools
    for section in definition.sections:
        yield from section.tools


def definition_hash(definition: AgentDefinition, plugins: Mapping[str, str]) -> str:
    """The name of a definition by its content: the document, and what gives its plugins their meaning."""
    return hash_of_document(definition.model_dump(mode="json", by_alias=True), plugins)


def hash_of_document(document: object, plugins: Mapping[str, str]) -> str:
    """The same of a definition as it was stored, before it is read into a model."""
    return content_hash({"definition": document, "plugins": dict(plugins)})


def compile_definition(
    definition: AgentDefinition, plugins: Plugins | None = None, *, pinned: str | None = None
) -> Guarded:
    """Make a definition ready to judge with; DefinitionError lists everything that is wrong with it.

    `pinned` is the hash it was stored under: a later version of Lictor may know more fields, whose defaults would
    give the same document another hash, and sessions know it by the first.
    """
    available = plugins if plugins is not None else Plugins.installed()
    made = available.make(_wanted(definition))
    problems = [*definition_problems(definition), *sequence_problems(definition), *made.problems]
    name = pinned
    try:
        name = name or definition_hash(definition, made.stamps)
    except CanonicalError as error:
        problems.append(Problem((), str(error)))
    if problems or name is None:
        raise DefinitionError.of(problems)
    checker = None
    if definition.completion is not None:
        checker = whole_checker(build_checker(definition.completion.checker, made.checker))
    return Guarded(
        definition=definition,
        hash=name,
        plugins=made.stamps,
        policies=tuple(
            OwnedPolicy(
                whole_policy(_policy(spec, definition, made)),
                f"policy/{spec.name}",
                None if section is None else section.name,
            )
            for _, spec, section in policy_places(definition)
        ),
        providers=tuple(
            ConfiguredProvider(
                whole_provider(_provider(spec, made)), spec.trigger, f"provider/{spec.name}"
            )
            for spec in definition.feedback
        ),
        checker=checker,
        checkers=() if checker is None else tuple(_keeping_facts(checker)),
        labels=SessionLabels(tuple(_label_rules(definition))),
    )


def _wanted(definition: AgentDefinition) -> Iterator[WantedPlugin]:
    for place, spec, _ in policy_places(definition):
        if isinstance(spec, PluginSpec):
            yield WantedPlugin("policy", place, spec)
    for index, spec in enumerate(definition.feedback):
        if isinstance(spec, PluginFeedbackSpec):
            yield WantedPlugin("provider", ("feedback", index), spec)
    for place, spec in checker_places(definition):
        if isinstance(spec, PluginSpec):
            yield WantedPlugin("checker", place, spec)


MatchingSpec = ParameterPatternSpec | RequireApprovalSpec | NeverAfterSpec | OnlyAfterSpec
"""Policies that match the parameters of calls with patterns."""


def matching_work(spec: MatchingSpec, definition: AgentDefinition) -> int:
    """What a policy may spend on a call: those that may gate the same tool share the work of one call."""
    sharing = [
        other
        for _, other, _ in policy_places(definition)
        if isinstance(other, MatchingSpec)
        and any(overlap(one, two) for one in spec.tools for two in other.tools)
    ]
    return MAX_WORK_OF_CALL // len(sharing)


def _label_rules(definition: AgentDefinition) -> Iterator[GivingRule]:
    """The definition's own, and one for each policy that looks back at calls of some tools."""
    work = MAX_WORK_OF_CALL // max(
        1, _MATCHED * (len(definition.labels) + len(_looking_back(definition)))
    )
    for spec in definition.labels:
        yield label_rule(spec, work)
    for spec in _looking_back(definition):
        if spec.after.tools:
            yield mark_rule(mark_of(spec.name), spec.after.tools, spec.after.where, work)


def _looking_back(definition: AgentDefinition) -> list[NeverAfterSpec]:
    return [spec for _, spec, _ in policy_places(definition) if isinstance(spec, NeverAfterSpec)]


def _policy(spec: PolicySpec, definition: AgentDefinition, made: MadePlugins) -> ToolPolicy:
    match spec:
        case SequentialDependencySpec():
            return SequentialDependency(spec)
        case ReadBeforeWriteSpec():
            return ReadBeforeWrite(spec)
        case RateLimitSpec():
            return RateLimit(spec)
        case ParameterPatternSpec():
            return Parameters(spec, matching_work(spec, definition))
        case RequireApprovalSpec():
            return RequireApproval(spec, matching_work(spec, definition))
        case TimeWindowSpec():
            return TimeWindow(spec)
        case NeverAfterSpec():
            return NeverAfter(spec, matching_work(spec, definition))
        case OnlyAfterSpec():
            return OnlyAfter(spec, matching_work(spec, definition))
        case TotalSpec():
            return Total(spec)
        case PluginSpec():
            return made.policy(spec)


def _provider(spec: FeedbackSpec, made: MadePlugins) -> FeedbackProvider:
    return made.provider(spec) if isinstance(spec, PluginFeedbackSpec) else build_provider(spec)


def _keeping_facts(checker: CompletionChecker) -> Iterator[OwnedChecker]:
    """A composite has `children`; a leaf that keeps facts has an `owner`."""
    for child in cast(Sequence[CompletionChecker], getattr(checker, "children", ())):
        yield from _keeping_facts(child)
    owner = getattr(checker, "owner", None)
    if owner is not None:
        yield OwnedChecker(whole_checker(checker), owner)
