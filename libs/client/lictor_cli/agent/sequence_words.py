"""Labels and rules over sequences of calls, in plain words."""

from collections.abc import Iterator, Sequence

from lictor_guard.text.wording import counted, listed
from lictor_schema.sessions.agent_definition import AgentDefinition
from lictor_schema.sessions.parameter_rule import ParameterRule
from lictor_schema.sessions.sequence_policy import (
    EarlierCalls,
    LabelRule,
    NeverAfterSpec,
    OnlyAfterSpec,
    TotalSpec,
)
from lictor_schema.sessions.tool_policy import PolicySpec


def labels_in_words(definition: AgentDefinition) -> Iterator[str]:
    """Each rule that gives a label, in a line."""
    for rule in definition.labels:
        yield f"{rule.label}: given by {_calls(rule)}"


def policy_in_words(spec: PolicySpec) -> str | None:
    """A policy over sequences of calls as a sentence; None for one of another kind."""
    match spec:
        case NeverAfterSpec():
            unless = f", unless {_rules(spec.unless, 'and')}" if spec.unless else ""
            return f"never {_any_of(spec.tools)} after {_earlier(spec.after)}{unless}"
        case OnlyAfterSpec():
            unless = f", unless {_rules(spec.unless, 'and')}" if spec.unless else ""
            where = f" where {_rules(spec.after.where, 'and')}" if spec.after.where else ""
            call = f"a call of {_any_of(spec.after.tools)}{where} succeeded"
            return f"{_any_of(spec.tools)} only{_window(spec)} after {call}{unless}"
        case TotalSpec():
            during = "the session" if spec.window_s is None else f"any {spec.window_s} s"
            return (
                f"{spec.param} of {_any_of(spec.tools)} comes to at most {spec.limit} in {during}"
            )
        case _:
            return None


def _window(spec: OnlyAfterSpec) -> str:
    parts = [] if spec.within_s is None else [f"{spec.within_s} s"]
    parts += [] if spec.within_calls is None else [counted(spec.within_calls, "call")]
    return f" within {listed(parts)}" if parts else ""


def _calls(rule: LabelRule) -> str:
    conditions: list[str] = []
    if rule.files:
        conditions.append(f"a file it names matches {_any_of(rule.files)}")
    if rule.where:
        conditions.append(_rules(rule.where, "and"))
    if rule.output:
        conditions.append(f"what it returned holds {_any_of(rule.output)}")
    told = f" where {listed(conditions)}" if conditions else ""
    return f"{_any_of(rule.tools)}{told}"


def _earlier(after: EarlierCalls) -> str:
    parts: list[str] = []
    if after.labels:
        parts.append(f"a call that gave label {_any_of(after.labels)}")
    if after.tools:
        where = f" where {_rules(after.where, 'and')}" if after.where else ""
        parts.append(f"a call of {_any_of(after.tools)}{where}")
    return " or ".join(parts)


def _rules(rules: Sequence[ParameterRule], conjunction: str) -> str:
    return f" {conjunction} ".join(_rule(each) for each in rules)


def _rule(rule: ParameterRule) -> str:
    parts = ["is given"] if rule.required else []
    if rule.allow:
        parts.append(f"matches {_any_of(rule.allow)}")
    if rule.deny:
        parts.append(f"holds none of {', '.join(rule.deny)}")
    return f"{rule.param} {listed(parts)}"


def _any_of(names: Sequence[str]) -> str:
    return " or ".join(names)
