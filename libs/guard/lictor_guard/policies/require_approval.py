"""Tools that may be called only if people say so, call by call.

Which calls need nobody is said by rules about their parameters, in the language of `parameters`. A rule that says what
a parameter may hold is not kept by a call that leaves it out: what it means to leave it out only the tool knows.
"""

from lictor_guard.definitions.tool_names import any_covers
from lictor_guard.facts.fact import OwnFacts
from lictor_guard.plugins.tool_call import Call
from lictor_guard.plugins.tool_policy import (
    CheckContext,
    PeopleAsked,
    PolicyDecision,
    StatelessPolicy,
)
from lictor_guard.policies.parameters import ParameterRules
from lictor_guard.text.linear_patterns import MAX_WORK_OF_CALL
from lictor_guard.text.wording import joined, quoted
from lictor_schema.sessions.parameter_rule import ParameterRule
from lictor_schema.sessions.tool_policy import RequireApprovalSpec


class RequireApproval(StatelessPolicy):
    """Asks people about a call, unless it keeps every rule under `unless`."""

    def __init__(self, spec: RequireApprovalSpec, work: int = MAX_WORK_OF_CALL) -> None:
        self.name = spec.name
        self._tools = spec.tools
        self._why = spec.why
        self._unless = ParameterRules([_given(each) for each in spec.unless], work)
        self._always = not spec.unless
        self._people = PeopleAsked(
            approvers=spec.approvers,
            needed=spec.needed,
            decide_within_s=spec.decide_within_s,
            use_within_s=spec.use_within_s,
            remember=spec.remember,
            pauses_deadline=spec.pauses_deadline,
            max_waiting=spec.max_waiting,
        )

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:  # noqa: ARG002
        if not any_covers(self._tools, call.tool):
            return PolicyDecision.allow()
        found = f"{quoted(call.tool)} may be called only if a person says so"
        if not self._always:
            broken = self._unless.broken(call)
            if not broken:
                return PolicyDecision.allow()
            found = joined([each.problem for each in broken])
        return PolicyDecision.ask(self._why or found, self._people)


def _given(rule: ParameterRule) -> ParameterRule:
    return rule.model_copy(update={"required": True}) if rule.allow else rule
