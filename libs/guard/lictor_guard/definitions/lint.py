"""What is wrong with a definition beyond its form: everything at once, each with its place and what would help.

A definition that passes can be enforced as it reads. A misspelt tool or a policy that gates nothing would only look
like a constraint, so these are errors. What works but is probably a mistake is a warning: see `lint_warnings`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from zoneinfo import ZoneInfo

from lictor_guard.definitions.dependency_cycles import dependency_problems
from lictor_guard.definitions.tool_names import any_covers, covers, overlap
from lictor_guard.errors import DefinitionError, Place, Problem
from lictor_guard.text.linear_patterns import LinearPattern
from lictor_policy.errors import nearest
from lictor_schema.events.evidence import Quality
from lictor_schema.sessions.agent_definition import (
    AgentDefinition,
    FeedbackSpec,
    LoopFeedbackSpec,
    SectionSpec,
)
from lictor_schema.sessions.completion import (
    AllOfSpec,
    AnyOfSpec,
    CheckerSpec,
    EvidenceSpec,
    FileOutputSpec,
    VerificationSpec,
)
from lictor_schema.sessions.parameter_rule import ParameterRule
from lictor_schema.sessions.sequence_policy import NeverAfterSpec, OnlyAfterSpec, TotalSpec
from lictor_schema.sessions.session_questions import MAX_LOOKED_AT
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

OWN_NAMES = "lictor."
"""Denials of the guard itself carry names that begin so."""
_MILLIONTHS = 6

Problems = Iterator[Problem]


def definition_problems(definition: AgentDefinition) -> list[Problem]:
    """All that is wrong with a definition, plugins apart."""
    found = [
        *_metadata(definition),
        *_tools(definition),
        *_names(definition),
        *_policies(definition),
        *dependency_problems(definition),
        *_feedback(definition),
        *_completion(definition),
        *_limits(definition),
    ]
    return list(dict.fromkeys(found))


def policy_places(
    definition: AgentDefinition,
) -> Iterator[tuple[Place, PolicySpec, SectionSpec | None]]:
    """Every policy with its place and section: the sections' in their order, then the definition's own."""
    for number, section in enumerate(definition.sections):
        for index, spec in enumerate(section.policies):
            yield ("sections", number, "policies", index), spec, section
    for index, spec in enumerate(definition.policies):
        yield ("policies", index), spec, None


def checker_places(definition: AgentDefinition) -> Iterator[tuple[Place, CheckerSpec]]:
    """Every checker with its place, those inside of others included."""
    if definition.completion is not None:
        yield from _checkers_at(("completion", "checker"), definition.completion.checker)


def _checkers_at(place: Place, spec: CheckerSpec) -> Iterator[tuple[Place, CheckerSpec]]:
    yield place, spec
    if isinstance(spec, AllOfSpec | AnyOfSpec):
        for index, child in enumerate(spec.checkers):
            yield from _checkers_at((*place, "checkers", index), child)


def _metadata(definition: AgentDefinition) -> Problems:
    if not definition.metadata.version.strip():
        yield Problem(("metadata", "version"), "is blank; give it a version, such as 1.0.0")
    yield from _mounts(definition)


def _mounts(definition: AgentDefinition) -> Problems:
    """Whatever lies below a mount is taken for a file of the workspace: so it is one plain place, and never all."""
    earlier: list[tuple[str, ...]] = []
    for index, mount in enumerate(definition.workspace.mounts):
        place = ("workspace", "mounts", index)
        parts = tuple(part for part in mount.split("/") if part not in ("", "."))
        if not mount.startswith("/"):
            yield Problem(place, "must be an absolute path")
        elif ".." in parts:
            yield Problem(place, "goes up with `..`; name the place itself")
        elif not parts:
            yield Problem(place, "is the file system's root, which holds more than a workspace")
        elif any(parts[: len(other)] == other[: len(parts)] for other in earlier):
            yield Problem(place, "lies in another mount, or holds one; keep the outer or the inner")
        else:
            earlier.append(parts)


def _tools(definition: AgentDefinition) -> Problems:
    seen: dict[str, tuple[Place, ToolSpec, str]] = {}
    for place, spec, where in tool_places(definition):
        if spec.access != "none" and not spec.resources:
            yield Problem(
                (*place, "resources"),
                f"is missing: access is {spec.access}, so name the parameters that name files",
            )
        if spec.access == "none" and spec.resources:
            yield Problem(
                (*place, "access"),
                "is none, but resources names files; say read or write, or leave resources out",
            )
        yield from _twice((*place, "resources"), spec.resources)
        first = seen.setdefault(spec.name, (place, spec, where))
        if first[0] == place:
            continue
        if first[2] == where or "" in (first[2], where):
            other = f"section {first[2]}" if first[2] else "the definition's tools"
            yield Problem((*place, "name"), f"{spec.name} stands in {other} already; list it once")
        elif first[1] != spec:
            yield Problem(
                place, f"{spec.name} stands in section {first[2]} too, but with other access"
            )


def tool_places(definition: AgentDefinition) -> Iterator[tuple[Place, ToolSpec, str]]:
    """Every tool with its place and the name of its section; none for the definition's own."""
    for index, spec in enumerate(definition.tools):
        yield ("tools", index), spec, ""
    for number, section in enumerate(definition.sections):
        for index, spec in enumerate(section.tools):
            yield ("sections", number, "tools", index), spec, section.name


def _names(definition: AgentDefinition) -> Problems:
    sections = [
        (("sections", index, "name"), each.name) for index, each in enumerate(definition.sections)
    ]
    policies = [((*place, "name"), spec.name) for place, spec, _ in policy_places(definition)]
    providers = [
        (("feedback", index, "name"), each.name) for index, each in enumerate(definition.feedback)
    ]
    checkers = [
        ((*place, "name"), spec.name)
        for place, spec in checker_places(definition)
        if isinstance(spec, VerificationSpec | PluginSpec)
    ]
    for what, named in (
        ("section", sections),
        ("policy", policies),
        ("provider", providers),
        ("checker", checkers),
    ):
        first: dict[str, Place] = {}
        for place, name in named:
            if first.setdefault(name, place) != place:
                yield Problem(place, f"another {what} is named {name} already; names are unique")
    for place, name in policies:
        if name.startswith(OWN_NAMES):
            yield Problem(place, f"begins with {OWN_NAMES}, which Lictor keeps for itself")


class ListedTools:
    """The tools that references may name."""

    def __init__(self, definition: AgentDefinition) -> None:
        self._names = [spec.name for _, spec, _ in tool_places(definition)]

    def problems(self, place: Place, names: Iterable[str]) -> Problems:
        """Each name that no listed tool has; a name with `*` needs one that it stands for."""
        for index, name in enumerate(names):
            if not any(covers(each, name) or covers(name, each) for each in self._names):
                yield Problem((*place, index), self._unknown(name))

    def keys(self, place: Place, names: Iterable[str]) -> Problems:
        """The same for names that are keys."""
        for name in names:
            for problem in self.problems((), [name]):
                yield Problem((*place, name), problem.text)

    def _unknown(self, name: str) -> str:
        return f"{name} is not a tool of this definition; {nearest(name, self._names)}"


def _policies(definition: AgentDefinition) -> Problems:
    listed = ListedTools(definition)
    for place, spec, section in policy_places(definition):
        match spec:
            case SequentialDependencySpec():
                yield from _sequential(place, spec, listed)
                yield from outside_problems((*place, "requires"), spec.requires, section)
            case ReadBeforeWriteSpec():
                held = section.tools if section else [s for _, s, _ in tool_places(definition)]
                if not any(tool.access == "write" for tool in held):
                    yield Problem(place, "gates nothing: no tool that it gates has access write")
            case (
                RateLimitSpec() | ParameterPatternSpec() | RequireApprovalSpec() | TimeWindowSpec()
            ):
                yield from listed.problems((*place, "tools"), spec.tools)
                yield from outside_problems((*place, "tools"), spec.tools, section)
                if isinstance(spec, ParameterPatternSpec):
                    yield from rule_problems((*place, "rules"), spec.rules)
                if isinstance(spec, RequireApprovalSpec):
                    yield from _approval(place, spec)
                if isinstance(spec, TimeWindowSpec):
                    yield from _window(place, spec)
            case NeverAfterSpec() | OnlyAfterSpec() | TotalSpec() | PluginSpec():
                pass  # `sequence_lint` looks at those, its maker at the last


def _sequential(place: Place, spec: SequentialDependencySpec, listed: ListedTools) -> Problems:
    required = [each for tools in spec.requires.values() for each in tools]
    for field, given in (("requires", spec.requires), ("invalidated_by", spec.invalidated_by)):
        yield from listed.keys((*place, field), given)
        for tool, others in given.items():
            yield from listed.problems((*place, field, tool), others)
    for tool, others in spec.invalidated_by.items():
        here = (*place, "invalidated_by", tool)
        if not any(overlap(tool, each) for each in required):
            yield Problem(here, f"has no effect: nothing here requires {tool}")
        for index, other in enumerate(others):
            if overlap(tool, other):
                yield Problem(
                    (*here, index), f"a run of {other} is a run of {tool}, and can't make it stale"
                )


def outside_problems(place: Place, tools: Iterable[str], section: SectionSpec | None) -> Problems:
    """Tools that a section's policy would seem to gate, but that are not its section's."""
    if section is None:
        return
    held = [spec.name for spec in section.tools]
    for index, tool in enumerate(tools):
        if not any(overlap(tool, each) for each in held):
            where = tool if place[-1] == "requires" else index
            yield Problem(
                (*place, where),
                f"{tool} is not in section {section.name}, so this policy would not gate it;"
                f" move it to the section of {tool}, or to the definition's policies",
            )


def rule_problems(place: Place, rules: Sequence[ParameterRule]) -> Problems:
    """What is wrong with rules for parameters."""
    yield from _twice(place, [rule.param for rule in rules], "param")
    for index, rule in enumerate(rules):
        if not (rule.allow or rule.deny or rule.required):
            yield Problem((*place, index), "allows anything; give it allow, deny or required")
        for field, patterns in (("allow", rule.allow), ("deny", rule.deny)):
            for number, pattern in enumerate(patterns):
                yield from pattern_problems((*place, index, field, number), pattern)


def _approval(place: Place, spec: RequireApprovalSpec) -> Problems:
    yield from rule_problems((*place, "unless"), spec.unless)
    yield from _twice((*place, "approvers"), spec.approvers)
    yield from _twice((*place, "remember"), spec.remember)


def pattern_problems(place: Place, pattern: str) -> Problems:
    """Whether a pattern can be used."""
    yield from _raised(place, lambda: LinearPattern(pattern, whole=True))


def _raised(place: Place, make: Callable[[], object]) -> Problems:
    try:
        make()
    except DefinitionError as error:
        yield Problem(place, str(error))


def _window(place: Place, spec: TimeWindowSpec) -> Problems:
    if spec.begins == spec.ends:
        yield Problem(
            (*place, "ends"),
            "is the same as begins, so the window never opens; leave the day open"
            " by gating no time, or say when it ends",
        )
    yield from _twice((*place, "days"), spec.days)
    try:
        ZoneInfo(spec.timezone)
    except (OSError, ValueError, LookupError):
        yield Problem(
            (*place, "timezone"),
            f"{spec.timezone!r} is not an IANA time zone, such as Europe/Paris",
        )


def _feedback(definition: AgentDefinition) -> Problems:
    for index, spec in enumerate(definition.feedback):
        yield from _provider(("feedback", index), spec)


def _provider(place: Place, spec: FeedbackSpec) -> Problems:
    trigger = spec.trigger
    if (trigger.every_n_calls, trigger.every_n_seconds, trigger.on_file_created) == (None,) * 3:
        yield Problem(
            (*place, "trigger"),
            "never fires: give every_n_calls, every_n_seconds or on_file_created",
        )
    if isinstance(spec, LoopFeedbackSpec) and spec.repeats > spec.window:
        yield Problem(
            (*place, "repeats"),
            f"is {spec.repeats}, but window looks at {spec.window} calls only; it would never speak",
        )


def _completion(definition: AgentDefinition) -> Problems:
    listed = ListedTools(definition)
    files: set[str] = set()
    for place, spec in checker_places(definition):
        match spec:
            case VerificationSpec():
                yield from _verification(place, spec, listed)
            case EvidenceSpec():
                if spec.quality is Quality.NONE:
                    yield Problem(
                        (*place, "quality"), "is none, which any claim meets; ask for weak or more"
                    )
            case AnyOfSpec():
                if not spec.checkers:
                    yield Problem((*place, "checkers"), "is empty, so no work could ever be done")
            case FileOutputSpec():
                files.update(spec.files)
            case AllOfSpec() | PluginSpec():
                pass
    if len(files) > MAX_LOOKED_AT:
        yield Problem(
            ("completion", "checker"),
            f"asks for {len(files)} files; an adapter looks at {MAX_LOOKED_AT} before a stop",
        )


def _verification(place: Place, spec: VerificationSpec, listed: ListedTools) -> Problems:
    for problem in listed.problems((), [spec.tool]):
        yield Problem((*place, "tool"), problem.text)
    yield from listed.problems((*place, "stale_after"), spec.stale_after)
    if spec.matches is not None:
        yield from pattern_problems((*place, "matches"), spec.matches)
        if spec.param is None:
            yield Problem((*place, "matches"), "needs param: which parameter must match it?")
    elif spec.param is None and any_covers(spec.stale_after, spec.tool):
        yield Problem(
            (*place, "stale_after"),
            f"names {spec.tool} itself: tell checks apart by param and matches",
        )


def _limits(definition: AgentDefinition) -> Problems:
    cost = definition.budgets.cost_usd
    if cost is None:
        return
    place = ("budgets", "cost_usd")
    if Decimal(cost) <= 0:
        yield Problem(place, f"is {cost}; a budget is more than nothing")
    if len(cost.partition(".")[2].rstrip("0")) > _MILLIONTHS:
        yield Problem(place, f"is {cost}; money is counted to the millionth of a dollar")


def _twice(place: Place, values: Sequence[str], field: str | None = None) -> Problems:
    for index, value in enumerate(values):
        if value in values[:index]:
            here = (*place, index) if field is None else (*place, index, field)
            yield Problem(here, f"{value} is given twice")
