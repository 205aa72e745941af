"""A tool that is not called any more after certain other calls, unless its parameters pass.

An earlier call counts from the moment it was allowed, because nobody may ever report how it ended; only one that is
reported as never run does not. It counts for good: see `lictor_guard.labels`, which remembers it.
"""

from collections.abc import Mapping

from lictor_guard.definitions.tool_names import any_covers
from lictor_guard.errors import GuardError
from lictor_guard.facts.fact import OwnFacts
from lictor_guard.plugins.tool_call import Call, StandingLabel
from lictor_guard.plugins.tool_policy import CheckContext, PolicyDecision, StatelessPolicy
from lictor_guard.policies.parameters import ParameterRules
from lictor_guard.text.linear_patterns import MAX_WORK_OF_CALL
from lictor_guard.text.wording import beyond_agent, joined, listed, quoted
from lictor_schema.core.time import from_micros
from lictor_schema.sessions.sequence_policy import NeverAfterSpec


def mark_of(policy: str) -> str:
    """The mark under which the calls of `after.tools` are remembered; no label of a definition is spelled so."""
    return f"after/{policy}"


class NeverAfter(StatelessPolicy):
    """Denies a call once an earlier one stands against it."""

    def __init__(self, spec: NeverAfterSpec, work: int = MAX_WORK_OF_CALL) -> None:
        self.name = spec.name
        self._tools = spec.tools
        self._mark = mark_of(spec.name)
        self._after = (*spec.after.labels, *((self._mark,) if spec.after.tools else ()))
        self._unless = ParameterRules(spec.unless, work)

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:  # noqa: ARG002
        if not any_covers(self._tools, call.tool):
            return PolicyDecision.allow()
        earlier = self._earlier(context.labels)
        if not earlier:
            return PolicyDecision.allow()
        broken = self._unless.broken(call)
        if self._unless and not broken:
            return PolicyDecision.allow()
        tool = quoted(call.tool)
        since = listed([self._told(each) for each in earlier])
        if not broken:
            return PolicyDecision.deny(
                f"{tool} may not be called in this session any more: {since}",
                beyond_agent(f"{tool} can be called in a session without such a call before it"),
            )
        return PolicyDecision.deny(
            f"{joined([each.problem for each in broken])}, which {tool} needs since {since}",
            joined(list(dict.fromkeys(each.remedy for each in broken))),
        )

    def _earlier(self, standing: Mapping[str, StandingLabel] | None) -> list[StandingLabel]:
        if standing is None:
            raise GuardError("the labels of the session are not known")
        return [standing[each] for each in self._after if each in standing]

    def _told(self, each: StandingLabel) -> str:
        at = from_micros(each.at_us).isoformat(timespec="seconds")
        call = f"call {quoted(each.call_id)} of {quoted(each.tool)} at {at}"
        if each.label == self._mark:
            return f"{call} {'was allowed' if each.underway else 'was made'}"
        verb = "may give" if each.underway else "gave"
        return f"{call} {verb} the session the label {quoted(each.label)}"
