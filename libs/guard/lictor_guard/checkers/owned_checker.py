"""Asking a checker: one that fails counts as incomplete, one that keeps facts sees only its own."""

from collections.abc import Mapping, Sequence

from lictor_guard.facts.fact import Changes, OwnFacts
from lictor_guard.plugins.completion_checker import (
    CompletionChecker,
    CompletionContext,
    CompletionResult,
)
from lictor_guard.plugins.part_defaults import whole_checker
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import CheckContext, Restored
from lictor_guard.text.wording import beyond_agent

_ERROR_TEXT = 500


def ask(checker: CompletionChecker, context: CompletionContext) -> CompletionResult:
    """What a checker says; whatever it raises, or answers that is no result, means incomplete."""
    try:
        result = checker.check(context)
    except Exception as error:  # noqa: BLE001 -- whatever it raises, the stop is not free for it
        text = str(error)[:_ERROR_TEXT]
        return CompletionResult.incomplete(
            f"the completion check failed and can't tell: {type(error).__name__}: {text}"
        )
    if type(result) is not CompletionResult:  # pyright: ignore[reportUnnecessaryComparison]
        return CompletionResult.incomplete(
            f"the completion check answered with a {type(result).__name__}, which tells nothing"
        )
    return result


class Owned:
    """A checker that keeps facts, with the name they are kept under."""

    def __init__(self, owner: str, checker: CompletionChecker) -> None:
        self.owner = owner
        self._checker = whole_checker(checker)
        self.needs_standing = self._checker.needs_standing

    def check(self, context: CompletionContext) -> CompletionResult:
        """Ask it, with its own facts; not when it has missed something."""
        failure = context.broken.get(self.owner)
        if failure is not None:
            return CompletionResult.incomplete(
                f"{self.owner} failed to learn from a result, so it can't tell: {failure[:_ERROR_TEXT]};"
                f" {beyond_agent('mend the checker, then reset the session')}"
            )
        return self._checker.check(context.narrowed(self.owner))

    def look_at(self) -> Sequence[str]:
        """The files it needs to be seen."""
        return self._checker.look_at()

    def keys(self) -> Sequence[str]:
        """The facts it keeps."""
        return self._checker.keys()

    def keys_of(self, call: Call) -> Sequence[str]:
        """Those that only this call needs."""
        return self._checker.keys_of(call)

    def reserves(self, call: Call) -> bool:
        """Whether it must know of the call from the moment it is allowed."""
        return self._checker.reserves(call)

    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes:
        """What it remembers of a call that is going to be made."""
        return self._checker.on_allowed(call, facts, context)

    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes:
        """What it remembers of a call."""
        return self._checker.on_result(call, result, facts, context)

    def on_restored(self, restored: Restored, facts: Mapping[str, object]) -> Changes:
        """How its facts change because the state was set back."""
        return self._checker.on_restored(restored, facts)
