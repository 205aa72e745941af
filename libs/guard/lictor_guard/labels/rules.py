"""Which calls give a label. What can't be found out gives it: a label protects, so a doubt must not lift it.

A rule is asked twice: when a call is allowed, because its result may never be reported, and when it has ended, because
the files that it names, or its parameters, may be others by then. What a call returned is known only at its end, and
then only the begin of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from lictor_guard.definitions.tool_names import any_covers
from lictor_guard.plugins.tool_call import Call
from lictor_guard.policies.parameters import ParameterRules
from lictor_guard.text.linear_patterns import MAX_WORK_OF_CALL, LinearPattern, UnmatchableText
from lictor_guard.text.wording import MAX_KEPT
from lictor_schema.sessions.parameter_rule import ParameterRule
from lictor_schema.sessions.sequence_policy import LabelRule


@dataclass(frozen=True)
class GivingRule:
    """A rule, made ready. Made by `label_rule` and `mark_rule`."""

    label: str
    tools: Sequence[str]
    where: ParameterRules
    files: Sequence[LinearPattern] = field(default=())
    output: Sequence[LinearPattern] = field(default=())

    def concerns(self, call: Call) -> bool:
        """Whether a call gives the label if it runs, as far as can be known before it has returned something."""
        if not any_covers(self.tools, call.tool):
            return False
        return (not self.files or self._names_file(call)) and self.where.may_hold(call)

    def told_by(self, output: str | None) -> bool:
        """Whether what such a call returned gives the label; what was not reported, or not whole, does."""
        if not self.output:
            return True
        # The begin that is reported is one character longer than what is stored of it: so the rest shows.
        if output is None or len(output) > MAX_KEPT:
            return True
        try:
            return any(each.matches(output) for each in self.output)
        except UnmatchableText:
            return True

    def _names_file(self, call: Call) -> bool:
        return _names_unknown_file(call) or any(
            _matches(each, resource.key or "") for resource in call.resources for each in self.files
        )


def label_rule(spec: LabelRule, work: int = MAX_WORK_OF_CALL) -> GivingRule:
    """A rule of a definition."""
    return GivingRule(
        spec.label,
        spec.tools,
        ParameterRules(spec.where, work),
        tuple(LinearPattern(each, whole=True) for each in spec.files),
        tuple(LinearPattern(each) for each in spec.output),
    )


def mark_rule(
    mark: str, tools: Sequence[str], where: Sequence[ParameterRule], work: int = MAX_WORK_OF_CALL
) -> GivingRule:
    """A rule for calls that a policy looks back at, under a mark of its own."""
    return GivingRule(mark, tools, ParameterRules(where, work))


def _names_unknown_file(call: Call) -> bool:
    """Whether nobody can tell which files it is about, or what is in them: a folder may hold any."""
    if any(each.key is None or each.state in ("directory", "unknown") for each in call.resources):
        return True
    declared = () if call.spec is None else call.spec.resources
    present = [each for each in declared if call.params.get(each) is not None]
    seen = {(each.param, each.given) for each in call.resources}
    for param in present:
        value = call.params[param]
        paths = cast(list[Any], value) if isinstance(value, list) else [value]
        if not paths or any(
            not isinstance(path, str) or (param, path) not in seen for path in paths
        ):
            return True
    # A tool that may be given no path at all looks where it likes, such as in the folder it runs in.
    return not call.resources


def _matches(pattern: LinearPattern, key: str) -> bool:
    try:
        return pattern.matches(key)
    except UnmatchableText:
        return True
