"""A check that must have passed, with nothing changed since."""

import json
from collections.abc import Mapping, Sequence

from lictor_guard.definitions.tool_names import any_covers, covers
from lictor_guard.facts.fact import Changes, Fact, OwnFacts, key_of
from lictor_guard.plugins.completion_checker import (
    CompletionContext,
    CompletionResult,
    PlainChecker,
)
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import NOTHING, CheckContext, Restored
from lictor_guard.text.linear_patterns import compile_search
from lictor_schema.sessions.completion import VerificationSpec
from lictor_schema.sessions.session_questions import CallOutcome

_VERDICT = "verdict"
_CHANGE = "change"

# These calls were never made: they neither check nor change anything.
_NOT_MADE: tuple[CallOutcome, ...] = ("denied", "invalid")


class Verified(Fact, kind="verified", retention="state"):
    """How the last check ended; goes back with the workspace it was made in."""

    outcome: CallOutcome
    stale_since: str | None = None
    """What changed after it, or while it ran; None when nothing did."""
    begin_unknown: bool = False
    """Whether that is only assumed, because nobody reported when the check began."""


class Changed(Fact, kind="changed", retention="log"):
    """The last change that a check would have to come after."""

    at_us: int
    by: str
    number: int = 0
    """Distinguishes one change from another."""
    unsettled_by: str | None = None
    """What ran through a restore, and may have changed what was set back; None once a check came after."""


class Begun(Fact, kind="check-begun", retention="log"):
    """A check or a change is running."""

    changes: int
    """The number of the last change when it was allowed; of a change, its own."""
    change_by: str | None = None
    """The tool, of a change."""
    took: bool = False
    """Whether a check stood until this change was allowed."""


class Verification(PlainChecker):
    """The last call that checks must have succeeded, and no call since its begin may have changed anything.

    Any call of a changing tool counts as a change from the moment it is allowed, because nobody may ever report how it
    ended, and again when it ends, a failed one too: it may have done half of its work. Only one that was never made
    takes that back. A check begins when it is allowed; one that nobody asked about begins as long ago as it is said to
    have taken, and if that is not said either, it may have begun before the last change.
    """

    def __init__(self, spec: VerificationSpec) -> None:
        self._tool = spec.tool
        self._param = spec.param
        self._matches = None if spec.matches is None else compile_search(spec.matches)
        self._changing = spec.stale_after
        self._what = f"`{spec.name}` (a call of {spec.tool})"

    def keys(self) -> Sequence[str]:
        """The last check, and the last change."""
        return (_VERDICT, _CHANGE)

    def keys_of(self, call: Call) -> Sequence[str]:
        """The begin of this check or change."""
        known = covers(self._tool, call.tool) or self._changes(call)
        return (_begin_key(call),) if known else ()

    def reserves(self, call: Call) -> bool:
        """Every check, and what makes it stale: whether one came into the other shows only from their begins."""
        return self._checks(call) or self._changes(call)

    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes:
        """Remember that a check begins, or that something is going to change."""
        if self._checks(call):
            return {_begin_key(call): Begun(changes=_number(facts.get(_CHANGE)))}
        changes = _spoiled(call, facts, context)
        number = _number(changes[_CHANGE])
        begun = Begun(changes=number, change_by=call.tool, took=_VERDICT in changes)
        return {**changes, _begin_key(call): begun}

    def check(self, context: CompletionContext) -> CompletionResult:
        """Did the last check pass, and is it still true?"""
        last = context.facts.get(_VERDICT)
        if not isinstance(last, Verified):
            return CompletionResult.incomplete(
                f"the check {self._what} has not been made: make it, and it must succeed"
            )
        if last.outcome != "ok":
            return CompletionResult.incomplete(
                f"the last check {self._what} did not succeed ({last.outcome}): put right what it found,"
                " and make it again"
            )
        if last.begin_unknown:
            return CompletionResult.incomplete(
                f"the check {self._what} may be stale: {last.stale_since} came before it ended, and it is not"
                " known when it began; make it again, and let the runtime ask before it"
            )
        if last.stale_since is not None:
            return CompletionResult.incomplete(
                f"the check {self._what} is stale, because {last.stale_since} came after it: make it again"
            )
        change = context.facts.get(_CHANGE)
        if isinstance(change, Changed) and change.unsettled_by is not None:
            return CompletionResult.incomplete(
                f"the check {self._what} is stale, because {change.unsettled_by} was running when the state"
                " was set back: make it again"
            )
        return CompletionResult.ok(f"the check {self._what} passed")

    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes:
        """Remember a check, or what makes one stale."""
        changes: dict[str, Fact | None] = dict.fromkeys(self.keys_of(call))
        if result.outcome in _NOT_MADE:
            return {**changes, **_given_back(call, facts)} if changes else NOTHING
        last = facts.get(_VERDICT)
        if self._checks(call):
            verdict = _verdict(call, result, facts, context)
            if verdict.outcome != "ok" or verdict.stale_since is None or not _stands(last):
                # Else a later check has ended first, and nothing changed since that one began: it stands.
                changes[_VERDICT] = verdict
            change = facts.get(_CHANGE)
            if _stands(verdict) and isinstance(change, Changed) and change.unsettled_by is not None:
                changes[_CHANGE] = change.model_copy(update={"unsettled_by": None})
        elif self._changes(call):
            changes |= _spoiled(call, facts, context)
        return changes or NOTHING

    def on_restored(self, restored: Restored, facts: Mapping[str, object]) -> Changes:
        """A check that runs meanwhile has seen another workspace; a change that does may still change this one."""
        change = _changed(facts.get(_CHANGE), restored.at_us, "a restore")
        running = (each.change_by for each in facts.values() if isinstance(each, Begun))
        # Noted beside the verdict, which is just what the restore has set back.
        by = next(filter(None, running), change.unsettled_by)
        return {_CHANGE: change.model_copy(update={"unsettled_by": by})}

    def _changes(self, call: Call) -> bool:
        return any_covers(self._changing, call.tool)

    def _checks(self, call: Call) -> bool:
        if not covers(self._tool, call.tool):
            return False
        if self._param is None:
            return True
        if self._param not in call.params:
            return False
        return self._matches is None or self._matches(_text(call.params[self._param]))


def _verdict(call: Call, result: Result, facts: OwnFacts, context: CheckContext) -> Verified:
    """How a check ended, and whether something changed between its begin and now."""
    change = facts.get(_CHANGE)
    by = change.by if isinstance(change, Changed) else None
    begun = facts.get(_begin_key(call))
    if isinstance(begun, Begun):
        return Verified(
            outcome=result.outcome, stale_since=by if _number(change) != begun.changes else None
        )
    if context.reserved:
        # Its begin was noted, and a reset has forgotten it, with the changes since.
        return Verified(outcome=result.outcome, stale_since=by or "a reset", begin_unknown=True)
    if not isinstance(change, Changed):
        return Verified(outcome=result.outcome)
    if result.duration_ms is None:
        return Verified(outcome=result.outcome, stale_since=by, begin_unknown=True)
    stale = change.at_us > context.now_us - result.duration_ms * 1000
    return Verified(outcome=result.outcome, stale_since=by if stale else None)


def _spoiled(call: Call, facts: OwnFacts, context: CheckContext) -> dict[str, Fact | None]:
    """What a change leaves of a check."""
    changes: dict[str, Fact | None] = {
        _CHANGE: _changed(facts.get(_CHANGE), context.now_us, call.tool)
    }
    last = facts.get(_VERDICT)
    if isinstance(last, Verified) and last.stale_since is None:
        changes[_VERDICT] = Verified(outcome=last.outcome, stale_since=call.tool)
    return changes


def _given_back(call: Call, facts: OwnFacts) -> dict[str, Fact | None]:
    """The check that a call made stale which was allowed and never made, unless anything happened since."""
    begun, last = facts.get(_begin_key(call)), facts.get(_VERDICT)
    if not isinstance(begun, Begun) or not isinstance(last, Verified) or not begun.took:
        return {}
    if begun.changes != _number(facts.get(_CHANGE)) or last.begin_unknown:
        return {}
    return {_VERDICT: Verified(outcome=last.outcome)}


def _changed(before: object, at_us: int, by: str) -> Changed:
    unsettled = before.unsettled_by if isinstance(before, Changed) else None
    return Changed(at_us=at_us, by=by, number=_number(before) + 1, unsettled_by=unsettled)


def _number(change: object) -> int:
    return change.number if isinstance(change, Changed) else 0


def _stands(verdict: Fact | None) -> bool:
    return isinstance(verdict, Verified) and verdict.outcome == "ok" and verdict.stale_since is None


def _begin_key(call: Call) -> str:
    return key_of("begin", call.call_id)


def _text(value: object) -> str:
    """Text as it is, any other value as its JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
