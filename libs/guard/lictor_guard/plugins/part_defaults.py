"""What the parts of a compiled definition offer, the half that their makers may leave out included.

A policy from elsewhere needs only what `ToolPolicy` asks for. The session's code must not have to wonder which of the
other methods it has: `whole_policy` and its siblings fill the gaps.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, cast, runtime_checkable

from lictor_guard.facts.fact import Changes, OwnFacts
from lictor_guard.plugins.completion_checker import CompletionChecker, PlainChecker
from lictor_guard.plugins.feedback_provider import FeedbackContext, FeedbackProvider, PlainProvider
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import CheckContext, Restored, StatelessPolicy, ToolPolicy


@runtime_checkable
class WholePolicy(ToolPolicy, Protocol):
    """A tool policy with its optional half; `StatelessPolicy` documents each method."""

    def keys(self, call: Call) -> Sequence[str]: ...
    def reserves(self, call: Call) -> bool: ...
    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes: ...
    def on_restored(self, restored: Restored, facts: Mapping[str, object]) -> Changes: ...


@runtime_checkable
class WholeProvider(FeedbackProvider, Protocol):
    """A feedback provider with its optional half; `PlainProvider` documents each method."""

    needs_standing: bool
    needs_calls: bool

    def keys(self) -> Sequence[str]: ...
    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes: ...
    def remember(self, context: FeedbackContext, spoke: bool) -> Changes: ...
    def on_restored(self, restored: Restored, facts: Mapping[str, object]) -> Changes: ...


@runtime_checkable
class WholeChecker(CompletionChecker, Protocol):
    """A completion checker with its optional half; `PlainChecker` documents each method."""

    needs_standing: bool

    def look_at(self) -> Sequence[str]: ...
    def keys(self) -> Sequence[str]: ...
    def keys_of(self, call: Call) -> Sequence[str]: ...
    def reserves(self, call: Call) -> bool: ...
    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes: ...
    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes: ...
    def on_restored(self, restored: Restored, facts: Mapping[str, object]) -> Changes: ...


def whole_policy(policy: ToolPolicy) -> WholePolicy:
    """The policy itself, or one that answers for it what it leaves out."""
    return (
        policy
        if isinstance(policy, WholePolicy)
        else cast(WholePolicy, _Filled(policy, StatelessPolicy()))
    )


def whole_provider(provider: FeedbackProvider) -> WholeProvider:
    """The provider itself, or one that answers for it what it leaves out."""
    if isinstance(provider, WholeProvider):
        return provider
    return cast(WholeProvider, _Filled(provider, PlainProvider()))


def whole_checker(checker: CompletionChecker) -> WholeChecker:
    """The checker itself, or one that answers for it what it leaves out."""
    if isinstance(checker, WholeChecker):
        return checker
    return cast(WholeChecker, _Filled(checker, PlainChecker()))


class _Filled:
    """An object whose missing attributes come from another."""

    def __init__(self, given: object, filling: object) -> None:
        self._given = given
        self._filling = filling

    def __getattr__(self, name: str) -> object:
        try:
            return getattr(self._given, name)
        except AttributeError:
            return getattr(self._filling, name)
