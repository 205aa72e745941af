"""Parts of a definition that work but are probably mistakes; `lictor agent lint` reports them."""

from collections.abc import Iterator, Sequence

from lictor_guard.definitions.lint import OWN_NAMES, checker_places, policy_places
from lictor_guard.errors import Place, Problem
from lictor_guard.text.linear_patterns import is_anchored, stops_at_line_breaks
from lictor_schema.sessions.agent_definition import (
    AgentDefinition,
    BudgetFeedbackSpec,
    Budgets,
    DeadlineFeedbackSpec,
    FeedbackSpec,
)
from lictor_schema.sessions.completion import AllOfSpec, FileOutputSpec, VerificationSpec
from lictor_schema.sessions.parameter_rule import ParameterRule
from lictor_schema.sessions.tool_policy import (
    ParameterPatternSpec,
    ReadBeforeWriteSpec,
    RequireApprovalSpec,
)


def definition_doubts(definition: AgentDefinition) -> Iterator[Problem]:
    """All of them, in the order of the document."""
    yield from _policies(definition)
    yield from _feedback(definition)
    yield from _completion(definition)


def _policies(definition: AgentDefinition) -> Iterator[Problem]:
    listed = [*definition.tools, *(tool for each in definition.sections for tool in each.tools)]
    reads = any(tool.access == "read" for tool in listed)
    for place, spec, _ in policy_places(definition):
        if isinstance(spec, ReadBeforeWriteSpec) and not reads:
            yield Problem(
                place,
                "no tool has access read, so only new files and the agent's own can be written",
            )
        if isinstance(spec, ParameterPatternSpec):
            yield from _denied((*place, "rules"), spec.rules)
        if isinstance(spec, RequireApprovalSpec):
            yield from _denied((*place, "unless"), spec.unless)
            if "rule" in spec.remember:
                yield Problem(
                    (*place, "remember", spec.remember.index("rule")),
                    "has no effect: nobody can decide on a rule yet, only for the session",
                )


def _denied(place: Place, rules: Sequence[ParameterRule]) -> Iterator[Problem]:
    for index, rule in enumerate(rules):
        for number, pattern in enumerate(rule.deny):
            if stops_at_line_breaks(pattern):
                yield Problem(
                    (*place, index, "deny", number),
                    "has a `.` that matches no line break, so one hides what it looks for;"
                    " begin it with (?s)",
                )


def _feedback(definition: AgentDefinition) -> Iterator[Problem]:
    for index, spec in enumerate(definition.feedback):
        if isinstance(spec, BudgetFeedbackSpec) and definition.budgets == Budgets():
            yield Problem(("feedback", index), "the definition has no budgets to speak of")
        if isinstance(spec, DeadlineFeedbackSpec) and definition.deadline_s is None:
            yield Problem(
                ("feedback", index),
                "speaks only in sessions that are given a deadline: deadline_s is not set",
            )
        if spec.name.startswith(OWN_NAMES):
            yield Problem(
                ("feedback", index, "name"),
                f"begins with {OWN_NAMES}, which Lictor's own advice does too",
            )
        yield from _seconds(("feedback", index), spec)


def _seconds(place: Place, spec: FeedbackSpec) -> Iterator[Problem]:
    seconds = spec.trigger.every_n_seconds
    if seconds is None:
        return
    at = (*place, "trigger", "every_n_seconds")
    if seconds < 1:
        yield Problem(
            at, "is less than the second in which a timer rings at most once; hooks keep to it"
        )
    if isinstance(spec, DeadlineFeedbackSpec) and seconds > spec.warn_s:
        yield Problem(
            at, f"is more than warn_s ({spec.warn_s}), so the deadline may come without a warning"
        )


def _completion(definition: AgentDefinition) -> Iterator[Problem]:
    for place, spec in checker_places(definition):
        if isinstance(spec, FileOutputSpec) and not spec.files:
            yield Problem((*place, "files"), "names no file, so it always passes")
        if isinstance(spec, AllOfSpec) and not spec.checkers:
            yield Problem((*place, "checkers"), "is empty, so it always passes")
        if isinstance(spec, VerificationSpec) and spec.matches and not is_anchored(spec.matches):
            yield Problem(
                (*place, "matches"),
                "is found anywhere in the text, so `echo` of it passes for the check;"
                " begin it with ^ and end it with $",
            )
    if definition.completion is not None and definition.completion.on_silence == "allow":
        yield Problem(
            ("completion", "on_silence"),
            "lets unfinished work end whenever Lictor can't be reached",
        )
