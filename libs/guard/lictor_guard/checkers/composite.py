"""Checkers made of checkers: all must be complete, or any one."""

from collections.abc import Sequence

from lictor_guard.checkers.owned_checker import ask
from lictor_guard.plugins.completion_checker import (
    CompletionChecker,
    CompletionContext,
    CompletionResult,
    PlainChecker,
)
from lictor_guard.plugins.part_defaults import whole_checker


class _Composite(PlainChecker):
    def __init__(self, children: tuple[CompletionChecker, ...]) -> None:
        self.children = children
        self._parts = tuple(map(whole_checker, children))
        self.needs_standing = any(part.needs_standing for part in self._parts)

    def look_at(self) -> Sequence[str]:
        """The files that any of them needs, each once."""
        return tuple(dict.fromkeys(file for part in self._parts for file in part.look_at()))


class AllOf(_Composite):
    """Complete when every one is; the agent gets the reason of the first that isn't."""

    def check(self, context: CompletionContext) -> CompletionResult:
        """Ask until one is incomplete."""
        notes: list[str] = []
        for child in self.children:
            result = ask(child, context)
            if not result.complete:
                return result
            if result.feedback:
                notes.append(result.feedback)
        if not self.children:
            return CompletionResult.ok("no checkers are configured")
        return CompletionResult.ok(" ".join(notes) or None)


class AnyOf(_Composite):
    """Complete when one of them is; of none, nobody is, so an empty one never is."""

    def check(self, context: CompletionContext) -> CompletionResult:
        """Ask until one is complete."""
        missing: list[str] = []
        for child in self.children:
            result = ask(child, context)
            if result.complete:
                return result
            missing.append(result.feedback or "incomplete")
        if not missing:
            return CompletionResult.incomplete(
                "no checkers are configured, of which one would have to be complete"
            )
        return CompletionResult.incomplete(" Or: ".join(missing))
