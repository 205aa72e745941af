"""Escalation on repetition: what a rule with `escalate_after` becomes when it has matched too often."""

from collections.abc import Callable

from lictor_policy.errors import PackError
from lictor_policy.packs.strict_yaml import Path
from lictor_schema.decisions.decision import Disposition, RequiredAction, Severity
from lictor_schema.decisions.receipt import ActionName
from lictor_schema.packs.pack import Rule

_RAISE = RequiredAction(
    action=ActionName.RAISE_ESCALATION, target="operator_channel", mandatory=True
)


def repeated_rule(rule: Rule, severity: Severity, fail: Callable[[Path, str], PackError]) -> Rule:
    """The rule as it is from its last allowed match on: it escalates, and the operator is notified at once."""
    output, path = rule.decision_output, ("escalate_after",)
    if output.decision in (Disposition.ESCALATE, Disposition.ALLOW):
        raise fail(path, f"makes no sense beside the decision {output.decision.value}; remove it")
    if output.operator_notice is None:
        raise fail(path, "needs an operator_notice: without one, nobody learns of the escalation")
    severity = max(severity, Severity.HIGH, key=lambda each: each.rank)
    notice = output.operator_notice.model_copy(
        update={
            "required": True,
            "urgency": max(severity, output.operator_notice.urgency, key=lambda each: each.rank),
            "deadline": "immediate",
        }
    )
    actions = output.required_actions
    if all(act.action is not ActionName.RAISE_ESCALATION for act in actions):
        actions = (*actions, _RAISE)
    told = f"{output.reason} (It matched {rule.escalate_after} times or more in this task.)"
    escalated = output.model_copy(
        update={
            "decision": Disposition.ESCALATE,
            "severity": severity,
            "reason": told,
            "required_actions": actions,
            "operator_notice": notice,
        }
    )
    return rule.model_copy(update={"decision_output": escalated})
