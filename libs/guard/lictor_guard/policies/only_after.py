"""A tool that is called only within some time, or some calls, after another call succeeded.

The other one counts by its last run: a failure after a success takes it back. It began when it was allowed, and one
that ran through a restore or a reset does not count, because it saw another state. What makes a success stale beside
time is said by `sequential_dependency`.

Calls are counted as the session counts them: those that ended or were denied, and those that were noted when they were
allowed, as this policy has its own tools noted.
"""

from collections.abc import Mapping, Sequence

from lictor_guard.definitions.tool_names import any_covers
from lictor_guard.errors import GuardError
from lictor_guard.facts.fact import Changes, Fact, OwnFacts, key_of, remembered
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import (
    NOTHING,
    CheckContext,
    PolicyDecision,
    Restored,
    StatelessPolicy,
)
from lictor_guard.policies.parameters import ParameterRules
from lictor_guard.text.linear_patterns import MAX_WORK_OF_CALL
from lictor_guard.text.wording import counted, in_words, listed, quoted
from lictor_schema.core.time import SECOND_US, from_micros
from lictor_schema.sessions.sequence_policy import OnlyAfterSpec

_LAST = "last"
_SET_BACK = "set-back"


class LastRun(Fact, kind="last-run", retention="state"):
    """How the last of the calls ended that must have succeeded."""

    call_id: str
    tool: str
    success: bool
    at_us: int
    calls: int
    """Calls of the session until then, this one included."""


class RunUnderway(Fact, kind="run-underway", retention="log"):
    """One of them was allowed and has not ended."""

    at_us: int
    set_backs: int
    concerned: bool
    """Whether its parameters may have been those that count: its report may leave them out."""


class SetBacks(Fact, kind="set-backs", retention="log"):
    """How often the state was set back."""

    count: int = 0


class OnlyAfter(StatelessPolicy):
    """Denies a call unless the other one has succeeded, and not too long ago."""

    def __init__(self, spec: OnlyAfterSpec, work: int = MAX_WORK_OF_CALL) -> None:
        self.name = spec.name
        self._tools = spec.tools
        self._after = spec.after.tools
        self._where = ParameterRules(spec.after.where, work)
        self._within_s = spec.within_s
        self._within_calls = spec.within_calls
        self._unless = ParameterRules(spec.unless, work)

    def keys(self, call: Call) -> Sequence[str]:
        if any_covers(self._after, call.tool):
            return (_LAST, _SET_BACK, _run_key(call))
        return (_LAST,) if any_covers(self._tools, call.tool) else ()

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:
        if not any_covers(self._tools, call.tool):
            return PolicyDecision.allow()
        if self._unless and not self._unless.broken(call):
            return PolicyDecision.allow()
        problem = self._problem(remembered(facts, _LAST, LastRun), context)
        if problem is None:
            return PolicyDecision.allow()
        tool = quoted(call.tool)
        needed = self._needed()
        return PolicyDecision.deny(
            f"{tool} is allowed only{self._told_window()} after {needed} succeeded, and {problem}",
            f"call {needed}, then {tool} again once it has succeeded",
        )

    def reserves(self, call: Call) -> bool:
        """Runs of what must succeed, to know when they began; and, where calls are counted, of what it gates."""
        gated = self._within_calls is not None and any_covers(self._tools, call.tool)
        return gated or any_covers(self._after, call.tool)

    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes:
        if not any_covers(self._after, call.tool):
            return NOTHING
        run = RunUnderway(
            at_us=context.now_us,
            set_backs=_set_backs(facts),
            concerned=self._where.may_hold(call),
        )
        return {_run_key(call): run}

    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes:
        if not any_covers(self._after, call.tool):
            return NOTHING
        run = remembered(facts, _run_key(call), RunUnderway)
        changes: dict[str, Fact | None] = {_run_key(call): None}
        if not result.ran:
            return changes
        if context.calls is None:
            raise GuardError("the number of calls is not known")
        if result.success and (self._where.broken(call) or _lost(run, facts, context)):
            return changes
        if not result.success and not (self._where.may_hold(call) or (run and run.concerned)):
            return changes
        changes[_LAST] = LastRun(
            call_id=call.call_id,
            tool=call.tool,
            success=result.success,
            at_us=_ended_us(run, result, context),
            calls=context.calls + 1,
        )
        return changes

    def on_restored(self, restored: Restored, facts: Mapping[str, object]) -> Changes:  # noqa: ARG002
        before = facts.get(_SET_BACK)
        count = before.count if isinstance(before, SetBacks) else 0
        return {_SET_BACK: SetBacks(count=count + 1)}

    def _problem(self, last: LastRun | None, context: CheckContext) -> str | None:
        if last is None:
            return "no such call has succeeded yet"
        call = f"call {quoted(last.call_id)} of {quoted(last.tool)}"
        if not last.success:
            return f"the last one, {call}, failed"
        ago_us = context.now_us - last.at_us
        if self._within_s is not None and ago_us > self._within_s * SECOND_US:
            at = from_micros(last.at_us).isoformat(timespec="seconds")
            return f"the last one, {call}, succeeded {in_words(ago_us)} ago, at {at}"
        if context.calls is None:
            raise GuardError("the number of calls is not known")
        since = context.calls - last.calls
        if self._within_calls is not None and since >= self._within_calls:
            return f"since {call} there {'was' if since == 1 else 'were'} {counted(since, 'call')}"
        return None

    def _needed(self) -> str:
        tools = listed([quoted(each) for each in self._after])
        return f"{tools} with the right parameters" if self._where else tools

    def _told_window(self) -> str:
        parts: list[str] = []
        if self._within_s is not None:
            parts.append(f"{self._within_s} s")
        if self._within_calls is not None:
            parts.append(counted(self._within_calls, "call"))
        return f" within {listed(parts)}" if parts else ""


def _run_key(call: Call) -> str:
    return key_of("run", call.call_id)


def _set_backs(facts: OwnFacts) -> int:
    found = remembered(facts, _SET_BACK, SetBacks)
    return 0 if found is None else found.count


def _lost(run: RunUnderway | None, facts: OwnFacts, context: CheckContext) -> bool:
    """Whether the state was set back or reset while it ran, or may have been."""
    if run is not None:
        return run.set_backs != _set_backs(facts)
    # A reset has forgotten its begin; one that nobody asked about may have begun before any restore.
    return context.reserved or _set_backs(facts) > 0


def _ended_us(run: RunUnderway | None, result: Result, context: CheckContext) -> int:
    """When it ended: not later than reported, and not later than it can have run."""
    if run is None or result.duration_ms is None:
        return context.now_us
    return min(context.now_us, run.at_us + result.duration_ms * 1000)
