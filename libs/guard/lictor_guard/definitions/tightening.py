"""Whether a definition allows nothing that another denies: for every session, however long, call by call.

Proved means: fold any session's log by both definitions, and whatever call or stop the new one allows then, the old one
allows too. It is proved part by part: each policy of the old definition has one in the new that denies whatever it
denies, on the same log. Where a part can't be compared in this way, it must be the same in both; what is not known
here, such as a plugin, always. So `not proved` says nothing about the definitions; it may well be a tightening.

The same log is not all: a policy that asks people lets entries stand in a log that it could not hold before, and the
deadline stands still by them. So one that may do that is never proved to be only stricter (`_asking_reasons`).

Two rules are stricter than one would expect, because their looser forms let calls through (`test_tightening`):

* a pattern costs work, and a call that costs too much is denied: fewer patterns can allow what more of them denied. So
  of `allow`, only the last may be left out;
* a run that is noted when it begins is known better than one that is not: `invalidated_by` makes runs be noted, and so
  a test can count that would not have counted without. It must stay as it is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from decimal import Decimal
from typing import Protocol

from lictor_guard.definitions.compiled_definition import (
    MatchingSpec,
    listed_tools,
    matching_work,
)
from lictor_guard.definitions.lint import policy_places
from lictor_guard.definitions.tool_names import overlap
from lictor_guard.policies.rate_limit import EXACT
from lictor_guard.policies.time_window import WEEKDAYS
from lictor_schema.sessions.agent_definition import AgentDefinition, Budgets, SectionSpec
from lictor_schema.sessions.parameter_rule import ParameterRule
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

_COMPARED = {
    "api_version",
    "kind",
    "metadata",
    "tools",
    "other_tools",
    "sections",
    "policies",
    "completion",
    "deadline_s",
    "budgets",
    "gate_records",
}
"""The fields that are compared by their meaning; any other, also one that is added later, must be the same."""
_HEAR_NOTHING_OF_OTHERS = (
    SequentialDependencySpec,
    RateLimitSpec,
    ParameterPatternSpec,
    TimeWindowSpec,
    ReadBeforeWriteSpec,
)
"""Kinds that learn nothing from a call of a tool without files which they don't name."""
_MINUTES = 24 * 60


class Version(Protocol):
    """A definition, stored, read or compiled."""

    @property
    def definition(self) -> AgentDefinition:
        """The document."""
        ...

    @property
    def plugins(self) -> Mapping[str, str]:
        """By plugin, the package and version that gives it its meaning."""
        ...


@dataclass(frozen=True)
class _Placed:
    """A policy, and the section whose tools it gates; None when it gates every tool."""

    spec: PolicySpec
    section: SectionSpec | None

    def gates(self, tool: str) -> bool:
        """Whether it gates a tool as the definition lists it."""
        return self.section is None or any(each.name == tool for each in self.section.tools)

    def gates_more_than(self, other: "_Placed") -> bool:
        """Whether there may be a tool that it gates, and the other one does not."""
        if other.section is None:
            return False
        return self.section is None or not all(
            other.gates(each.name) for each in self.section.tools
        )


def why_not_tighter(old: Version, new: Version) -> tuple[str, ...]:
    """What keeps the new definition from being proved to allow nothing that the old one denies; nothing when it is."""
    return tuple(_reasons(old, new))


def _reasons(old: Version, new: Version) -> Iterator[str]:
    before, after = old.definition, new.definition
    if before.metadata.name != after.metadata.name:
        yield f"it is called {after.metadata.name!r}, not {before.metadata.name!r}"
    for field in type(before).model_fields:
        if field not in _COMPARED and getattr(before, field) != getattr(after, field):
            yield f"{field} is another"
    if any(new.plugins.get(name) != stamp for name, stamp in old.plugins.items()):
        yield "a plugin is of another package or version"
    removed = _removed(before, after)
    yield from _tool_reasons(before, after, removed)
    yield from _policy_reasons(before, after, removed)
    yield from _asking_reasons(before, after)
    if before.completion not in (None, after.completion):
        yield "completion is another"
    if before.deadline_s is not None and (after.deadline_s or before.deadline_s + 1) > (
        before.deadline_s
    ):
        yield "deadline_s is later, or gone"
    yield from _budget_reasons(before.budgets, after.budgets)
    limits = [(each.deadline_s, each.budgets) for each in (before, after)]
    if before.completion is not None and limits[0] != limits[1]:
        yield "budgets or the deadline are others: used up sooner, they let the agent stop unchecked"
    if before.gate_records is not None and after.gate_records != before.gate_records:
        yield "gate_records is no longer required"


def _specs(definition: AgentDefinition) -> Mapping[str, ToolSpec]:
    return {each.name: each for each in listed_tools(definition)}


def _removed(before: AgentDefinition, after: AgentDefinition) -> frozenset[str]:
    return frozenset(_specs(before).keys() - _specs(after).keys())


def _tool_reasons(
    before: AgentDefinition, after: AgentDefinition, removed: frozenset[str]
) -> Iterator[str]:
    old, new = _specs(before), _specs(after)
    if after.other_tools == "allow" and before.other_tools != "allow":
        yield "tools that are not listed are allowed"
    for name, spec in new.items():
        if name not in old:
            yield f"tool {name} is added"
        elif spec != old[name]:
            yield f"tool {name} is described otherwise"
    for name in sorted(removed):
        if after.other_tools == "allow":
            yield f"tool {name} is not listed any more, and so allowed as any other"
        elif any(overlap(name, other) for other in new):
            yield f"tool {name} is not listed any more, but another name stands for it"
        elif old[name].access != "none" or old[name].resources:
            yield f"tool {name} is not listed any more: what a running call does to files would not be heard"
        elif not all(
            isinstance(spec, _HEAR_NOTHING_OF_OTHERS) for _, spec, _ in policy_places(before)
        ):
            yield f"tool {name} is not listed any more, and a policy may learn from its calls"


def _policy_reasons(
    before: AgentDefinition, after: AgentDefinition, removed: frozenset[str]
) -> Iterator[str]:
    new = {spec.name: _Placed(spec, section) for _, spec, section in policy_places(after)}
    for _, spec, section in policy_places(before):
        counterpart = new.get(spec.name)
        if counterpart is None:
            yield f"policy {spec.name} is gone"
            continue
        yield from _scope_reasons(_Placed(spec, section), counterpart, removed)
        for reason in _spec_reasons(spec, counterpart.spec, removed):
            yield f"policy {spec.name}: {reason}"
        if _matches_more(before, spec, after, counterpart.spec):
            yield f"policy {spec.name}: it may spend more on matching"


def _asking_reasons(before: AgentDefinition, after: AgentDefinition) -> Iterator[str]:
    """What may be asked about now that was not: no session of the old definition has such an entry, so a log that is
    folded by both does not tell what it does to the deadline. That may be the host's, whatever the definition says."""
    old = {spec.name: _Placed(spec, section) for _, spec, section in policy_places(before)}
    may_pause = any(_may_pause(each.spec) for each in old.values())
    for _, spec, section in policy_places(after):
        known = old.get(spec.name)
        if known is not None and not _Placed(spec, section).gates_more_than(known):
            continue
        what = f"policy {spec.name} asks people about more calls"
        if _may_pause(spec):
            yield f"{what}, and the deadline may stand still meanwhile"
        elif _may_ask(spec) and may_pause and before.completion is not None:
            yield f"{what}, and lets the deadline run: past it, the agent may stop unchecked"


def _may_ask(spec: PolicySpec) -> bool:
    return isinstance(spec, RequireApprovalSpec | PluginSpec)


def _may_pause(spec: PolicySpec) -> bool:
    """Whether the deadline may stand still while people decide; of a plugin, nobody knows."""
    return _may_ask(spec) and not (
        isinstance(spec, RequireApprovalSpec) and not spec.pauses_deadline
    )


def _matches_more(
    before: AgentDefinition, old: PolicySpec, after: AgentDefinition, new: PolicySpec
) -> bool:
    """Policies that gate the same tool share the work of matching: without one, the others allow longer texts."""
    if not isinstance(old, MatchingSpec) or not isinstance(new, MatchingSpec):
        return False
    return matching_work(new, after) > matching_work(old, before)


def _scope_reasons(old: _Placed, new: _Placed, removed: frozenset[str]) -> Iterator[str]:
    if old.section is None:
        if new.section is not None:
            yield f"policy {old.spec.name} gates a section only"
        return
    for tool in old.section.tools:
        if tool.name not in removed and not new.gates(tool.name):
            yield f"policy {old.spec.name} does not gate {tool.name} any more"


def _spec_reasons(old: PolicySpec, new: PolicySpec, removed: frozenset[str]) -> Iterable[str]:
    match old, new:
        case SequentialDependencySpec(), SequentialDependencySpec():
            return _order_reasons(old, new, removed)
        case RateLimitSpec(), RateLimitSpec():
            return _rate_reasons(old, new)
        case ParameterPatternSpec(), ParameterPatternSpec():
            return _parameter_reasons(old, new, removed)
        case TimeWindowSpec(), TimeWindowSpec():
            return _window_reasons(old, new, removed)
        case _:
            return () if old == new else ("it is another",)


def _order_reasons(
    old: SequentialDependencySpec, new: SequentialDependencySpec, removed: frozenset[str]
) -> Iterator[str]:
    for tool, required in old.requires.items():
        left = set(required) - set(new.requires.get(tool, ()))
        if tool not in removed and left:
            yield f"{tool} does not require {', '.join(sorted(left))} any more"
    before, after = _spoilers(old), _spoilers(new)
    for name, spoilers in before.items():
        if after.get(name, spoilers) != spoilers:
            yield f"other tools make {name} stale"
    for name in sorted(after.keys() - before.keys()):
        if after[name]:
            yield f"{name} is required for the first time, and can go stale"


def _spoilers(spec: SequentialDependencySpec) -> Mapping[str, frozenset[str]]:
    """What makes each required name stale."""
    required = {each for tools in spec.requires.values() for each in tools}
    return {
        each: frozenset(
            tool
            for name, tools in spec.invalidated_by.items()
            if overlap(name, each)
            for tool in tools
        )
        for each in required
    }


def _rate_reasons(old: RateLimitSpec, new: RateLimitSpec) -> Iterator[str]:
    if left := set(old.tools) - set(new.tools):
        # Also one that may not be called any more: its calls of before count.
        yield f"{', '.join(sorted(left))} is not counted any more"
    if old.limit > EXACT and (old.limit, old.window_s) != (new.limit, new.window_s):
        yield f"a limit above {EXACT} counts roughly, so another one is not comparable"
    elif new.limit > old.limit:
        yield "its limit is higher"
    elif new.window_s < old.window_s:
        yield "its window is shorter"


def _parameter_reasons(
    old: ParameterPatternSpec, new: ParameterPatternSpec, removed: frozenset[str]
) -> Iterator[str]:
    yield from _left_out(old.tools, new.tools, removed)
    free = list(new.rules)
    for rule in old.rules:
        found = next((each for each in free if _rule_is_kept(rule, each)), None)
        if found is None:
            yield f"the rule about {rule.param} is gone, or looser"
        else:
            free.remove(found)


def _rule_is_kept(old: ParameterRule, new: ParameterRule) -> bool:
    """Whether the new rule denies whatever the old one does, and never costs less where it does not."""
    allow_is_kept = not old.allow or (bool(new.allow) and new.allow == old.allow[: len(new.allow)])
    return (
        new.param == old.param
        and (new.required or not old.required)
        and allow_is_kept
        and Counter(old.deny) <= Counter(new.deny)
    )


def _window_reasons(
    old: TimeWindowSpec, new: TimeWindowSpec, removed: frozenset[str]
) -> Iterator[str]:
    yield from _left_out(old.tools, new.tools, removed)
    if new.timezone != old.timezone:
        yield "its times are those of another place"
    elif not _open_minutes(new) <= _open_minutes(old):
        yield "it is open at other times"


def _open_minutes(spec: TimeWindowSpec) -> frozenset[int]:
    """The minutes of the week in which it is open, by the clocks of its place."""
    begins, ends = (_minute(each) for each in (spec.begins, spec.ends))
    length = (ends - begins) % _MINUTES or _MINUTES
    return frozenset(
        (day * _MINUTES + begins + minute) % (7 * _MINUTES)
        for day, name in enumerate(WEEKDAYS)
        if name in spec.days
        for minute in range(length)
    )


def _minute(clock: str) -> int:
    at = time.fromisoformat(clock)
    return at.hour * 60 + at.minute


def _left_out(old: Sequence[str], new: Sequence[str], removed: frozenset[str]) -> Iterator[str]:
    """Tools that a policy does not gate any more, but for those that nobody may call."""
    if left := set(old) - set(new) - removed:
        yield f"{', '.join(sorted(left))} is not gated any more"


def _budget_reasons(old: Budgets, new: Budgets) -> Iterator[str]:
    for field in Budgets.model_fields:
        before, after = getattr(old, field), getattr(new, field)
        if before is not None and (after is None or Decimal(after) > Decimal(before)):
            yield f"budget {field} is larger, or gone"
