"""A tool needs others to have succeeded first, and their success may go stale.

A tool counts as succeeded by its last run: a failure after a success takes it back. Of those that a name with `*`
stands for, one must have succeeded, and none may have failed when it last ran. A tool that makes another stale does
so from the moment it is allowed, because nobody may ever report how it ended, and again when it ends, however it did:
half an edit is an edit. Only one that was never run takes that back. A run that began before something made it stale,
or before the state was set back or reset, does not count, so a test that ran beside an edit must be run again;
so must one of which nobody knows when it began.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from lictor_guard.definitions.tool_names import ANY, any_covers, covers, overlap
from lictor_guard.facts.fact import Changes, Fact, OwnFacts, key_of, remembered
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import (
    NOTHING,
    CheckContext,
    PolicyDecision,
    Restored,
    StatelessPolicy,
)
from lictor_guard.text.wording import listed, quoted
from lictor_schema.sessions.tool_policy import SequentialDependencySpec

MAX_FAILED = 64
"""Failed tools that are remembered for one name."""
_SET_BACK = "set-back"


class Prerequisite(Fact, kind="prerequisite", retention="state"):
    """How a required tool stands, or those that a name with `*` stands for."""

    standing: Literal["unmet", "met", "failed", "stale"]
    failed: tuple[str, ...] = ()
    """Those of its tools that failed when they last ran."""
    spoiled_by: str | None = None
    """The tool that last made it stale."""
    spoilings: int = 0
    """How often something did: distinguishes one spoiling from another."""
    spoiled_us: int | None = None


class OrderedRun(Fact, kind="ordered-run", retention="log"):
    """A tool that is required, or makes others stale, is running."""

    tool: str
    set_backs: int
    """How often the state had been set back when it began."""
    met: dict[str, int]
    """The names that its success meets, and how often each had been spoilt when it began."""
    spoilt: dict[str, int]
    """The names that it made stale, and how often each had been spoilt with that."""
    taken: tuple[str, ...]
    """Those of them that were met until then."""


class SetBack(Fact, kind="set-back", retention="log"):
    """The state was set back."""

    count: int = 0
    at_us: int = 0
    unsettled: dict[str, str] = Field(default_factory=dict[str, str])
    """The names that a tool can spoil which ran through it, and has not been heard of since; and the tool."""


class SequentialDependency(StatelessPolicy):
    """Denies a tool until what it requires has succeeded, and nothing has made that stale."""

    def __init__(self, spec: SequentialDependencySpec) -> None:
        self.name = spec.name
        self._requires = spec.requires
        self._required = sorted({each for tools in spec.requires.values() for each in tools})
        self._spoilers = {
            each: tuple(
                tool
                for name, tools in spec.invalidated_by.items()
                if overlap(name, each)
                for tool in tools
            )
            for each in self._required
        }

    def keys(self, call: Call) -> Sequence[str]:
        names = {*self._required_by(call.tool), *self._met_by(call.tool), *self._spoilt(call.tool)}
        if not names:
            return ()
        keys = [_SET_BACK, *(_key(each) for each in sorted(names))]
        return [*keys, _run_key(call)] if self.reserves(call) else keys

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:  # noqa: ARG002
        required = self._required_by(call.tool)
        if not required:
            return PolicyDecision.allow()
        unsettled = _set_back(facts).unsettled
        run = remembered(facts, _run_key(call), OrderedRun) if self.reserves(call) else None
        # Asked again, a call is not denied for what it made stale itself when it was allowed.
        own = {} if run is None else _given_back(run, facts)
        missing = {
            each: _why(each, standing, unsettled.get(each))
            for each in required
            if _key(each) not in own
            and ((standing := _standing(facts, each)).standing != "met" or each in unsettled)
        }
        if not missing:
            return PolicyDecision.allow()
        tool = quoted(call.tool)
        return PolicyDecision.deny(
            f"{tool} requires {listed(list(missing))}: {'; '.join(missing.values())}",
            f"run {listed(list(missing))}, then call {tool} again",
        )

    def reserves(self, call: Call) -> bool:
        """Runs of what can go stale, and of what makes it so."""
        met = self._met_by(call.tool)
        return any(self._spoilers[each] for each in met) or bool(self._spoilt(call.tool))

    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes:
        if not self.reserves(call):
            return NOTHING
        before = {each: _standing(facts, each) for each in self._spoilt(call.tool)}
        after = {each: _spoiled(fact, call, context) for each, fact in before.items()}
        run = OrderedRun(
            tool=call.tool,
            set_backs=_set_back(facts).count,
            met={each: _standing(facts, each).spoilings for each in self._met_by(call.tool)},
            spoilt={each: fact.spoilings for each, fact in after.items()},
            taken=tuple(each for each, fact in before.items() if fact.standing == "met"),
        )
        return {_run_key(call): run, **{_key(each): fact for each, fact in after.items()}}

    def on_result(
        self,
        call: Call,
        result: Result,
        facts: OwnFacts,
        context: CheckContext,
    ) -> Changes:
        changes: dict[str, Fact | None] = {}
        run = None
        if self.reserves(call):
            run = remembered(facts, _run_key(call), OrderedRun)
            changes[_run_key(call)] = None
        if not result.ran:
            return {**changes, **({} if run is None else _given_back(run, facts))} or NOTHING
        for each in self._spoilt(call.tool):
            changes[_key(each)] = _spoiled(_standing(facts, each), call, context)
        met = self._met_by(call.tool)
        if not met:
            return changes or NOTHING
        set_back = _set_back(facts)
        unsettled = dict(set_back.unsettled)
        for each in met:
            before = _standing(facts, each)
            spoilt = self._spoilt_meanwhile(each, call, run, result, facts, context)
            failed = _failed(before, call.tool, result)
            # A later run that was not spoilt may have ended first: then it stands.
            fresh = not spoilt or before.standing == "met"
            standing = "failed" if failed else "met" if fresh else "stale"
            changes[_key(each)] = before.model_copy(update={"standing": standing, "failed": failed})
            if result.success and not spoilt:
                unsettled.pop(each, None)
        if unsettled != set_back.unsettled:
            changes[_SET_BACK] = set_back.model_copy(update={"unsettled": unsettled})
        return changes or NOTHING

    def on_restored(self, restored: Restored, facts: Mapping[str, object]) -> Changes:
        """What runs meanwhile saw another state than the one that is there now, and may still change it."""
        before = facts.get(_SET_BACK)
        known = before if isinstance(before, SetBack) else SetBack()
        running = [each for each in facts.values() if isinstance(each, OrderedRun)]
        unsettled = {name: each.tool for each in running for name in each.spoilt}
        return {
            _SET_BACK: SetBack(
                count=known.count + 1,
                at_us=restored.at_us,
                unsettled={**known.unsettled, **unsettled},
            )
        }

    def _spoilt_meanwhile(
        self,
        name: str,
        call: Call,
        run: OrderedRun | None,
        result: Result,
        facts: OwnFacts,
        context: CheckContext,
    ) -> bool:
        """Whether something made a run stale before it ended."""
        standing, set_back = _standing(facts, name), _set_back(facts)
        if run is not None:
            return run.set_backs != set_back.count or run.met.get(name) != standing.spoilings
        if context.reserved and self.reserves(call):
            # A reset has forgotten its begin, and whatever changed since.
            return True
        if result.duration_ms is None:
            # It may have begun before any of that.
            return standing.spoilings > 0 or set_back.count > 0
        began_us = context.now_us - result.duration_ms * 1000
        return max(standing.spoiled_us or 0, set_back.at_us) > began_us

    def _required_by(self, tool: str) -> list[str]:
        found: set[str] = set()
        for name, required in self._requires.items():
            if covers(name, tool):
                # `fs_*` requiring `fs_open` means the others.
                found.update(each for each in required if each != tool or not name.endswith(ANY))
        return sorted(found)

    def _met_by(self, tool: str) -> list[str]:
        return [each for each in self._required if covers(each, tool)]

    def _spoilt(self, tool: str) -> list[str]:
        return [
            each
            for each in self._required
            if any_covers(self._spoilers[each], tool) and not covers(each, tool)
        ]


def _key(name: str) -> str:
    return key_of("tool", name)


def _run_key(call: Call) -> str:
    return key_of("run", call.call_id)


def _standing(facts: OwnFacts, name: str) -> Prerequisite:
    return remembered(facts, _key(name), Prerequisite) or Prerequisite(standing="unmet")


def _failed(before: Prerequisite, tool: str, result: Result) -> tuple[str, ...]:
    if result.success:
        return tuple(each for each in before.failed if each != tool)
    # What is not named any more can't be mended one by one: `*` stays until the state is reset or set back.
    named = sorted({*before.failed, tool})
    return tuple(named) if len(named) <= MAX_FAILED else (*named[:MAX_FAILED], ANY)


def _set_back(facts: OwnFacts) -> SetBack:
    return remembered(facts, _SET_BACK, SetBack) or SetBack()


def _spoiled(before: Prerequisite, call: Call, context: CheckContext) -> Prerequisite:
    return Prerequisite(
        standing="stale" if before.standing == "met" else before.standing,
        failed=before.failed,
        spoiled_by=call.tool,
        spoilings=before.spoilings + 1,
        spoiled_us=context.now_us,
    )


def _given_back(run: OrderedRun, facts: OwnFacts) -> dict[str, Fact]:
    """What a call that was allowed made stale alone: met, had it never run; nothing has happened to it since."""
    if run.set_backs != _set_back(facts).count:
        return {}
    found = {each: _standing(facts, each) for each in run.taken}
    return {
        _key(each): fact.model_copy(update={"standing": "met"})
        for each, fact in found.items()
        if fact.standing == "stale" and fact.spoilings == run.spoilt[each]
    }


def _why(name: str, fact: Prerequisite, unsettled_by: str | None) -> str:
    if fact.standing == "failed":
        return f"{listed(fact.failed)} failed when it last ran"
    if fact.standing == "stale":
        since = "the state was set back" if fact.spoiled_by is None else f"{fact.spoiled_by} ran"
        return f"{name} is stale since {since}; run it again"
    if fact.standing == "met":
        return (
            f"{name} is stale: {unsettled_by} was running when the state was set back; run it again"
        )
    return f"{name} has not succeeded yet"
