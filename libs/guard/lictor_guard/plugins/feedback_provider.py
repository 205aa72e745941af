"""What a feedback provider is: it looks at the session when its trigger says so, and advises.

A provider can't block anything. One that raises harms nobody: the others run, and its failure is reported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from lictor_guard.facts.fact import Changes, OwnFacts
from lictor_guard.facts.session_facts import Cadence, Recent, RecentCall, RecentDetails, Tally
from lictor_guard.plugins.tool_policy import NOTHING, Listener
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.agent_definition import Budgets
from lictor_schema.sessions.feedback import Feedback, StampedFeedback
from lictor_schema.sessions.session_questions import CallOutcome


@dataclass(frozen=True)
class RecentToolCall:
    """One of the last calls, with its parameters and its result; long texts are cut."""

    call_id: str
    tool: str
    outcome: CallOutcome
    at_us: int
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str | None = None
    """What went wrong; of a denied call, why it was denied."""
    output: str | None = None
    """What it returned; None where the adapter does not say."""
    duration_ms: int | None = None

    @property
    def success(self) -> bool:
        """Whether the tool did what it was called for."""
        return self.outcome == "ok"


@dataclass(frozen=True)
class FeedbackContext:
    """What a provider may look at."""

    now_us: int
    definition: str
    session_id: str
    began_us: int
    deadline_us: int | None
    budgets: Budgets
    tally: Tally
    """Calls, failures, tokens and money so far."""
    recent: Recent
    """The last calls, oldest first."""
    calls_since: int
    """Calls since the agent last heard this provider; all calls if it never did."""
    last_spoke_us: int | None
    facts: OwnFacts
    standing: TaskStanding | None
    """How the task stands; None unless the provider asks for it and it is known."""
    cadences: Mapping[str, Cadence] = field(default_factory=dict[str, Cadence])
    """By provider, in the definition's order: when the agent last heard it, and what."""
    details: Mapping[str, RecentDetails] = field(default_factory=dict[str, RecentDetails])
    """By call, the parameters and the result, of those among `recent` of which they are kept."""

    @property
    def tool_call_count(self) -> int:
        """Calls of the session, denied ones included."""
        return self.tally.calls

    @property
    def last_feedback(self) -> StampedFeedback | None:
        """What the agent heard last, of whichever provider; None if nothing yet."""
        heard = [each for each in self.cadences.values() if each.last is not None]
        # Of what it heard at once, the last.
        newest = max(
            reversed(heard), key=lambda each: (each.spoke_us or 0, each.call_index), default=None
        )
        return None if newest is None else newest.last

    def last_feedback_for_provider(self, name: str) -> StampedFeedback | None:
        """What the agent heard last of this provider; None if nothing yet."""
        return self._cadence(name).last

    def tool_calls_since_last_feedback(self) -> int:
        """Calls since the agent last heard any provider; all calls if it never did."""
        return self.tally.calls - max(
            (each.call_index for each in self.cadences.values()), default=0
        )

    def tool_calls_since_last_feedback_for_provider(self, name: str) -> int:
        """Calls since the agent last heard this provider; all calls if it never did."""
        return self.tally.calls - self._cadence(name).call_index

    def recent_tool_calls(self, n: int) -> tuple[RecentToolCall, ...]:
        """The last `n` calls, oldest first, with parameters and results; at most 32 are kept."""
        calls = self.recent.calls[-n:] if n > 0 else ()
        return tuple(self._recent_call(each) for each in calls)

    def _recent_call(self, call: RecentCall) -> RecentToolCall:
        found = self.details.get(call.call_id)
        seen = RecentToolCall(call.call_id, call.tool, call.outcome, call.at_us)
        if found is None:
            return seen
        return replace(
            seen,
            params=found.params,
            error=found.error,
            output=found.output,
            duration_ms=found.duration_ms,
        )

    def _cadence(self, name: str) -> Cadence:
        return self.cadences.get(name, Cadence())


@runtime_checkable
class FeedbackProvider(Protocol):
    """A provider; its trigger stands in the definition, not in it."""

    @property
    def name(self) -> str:
        """Unique in the definition."""
        ...

    def should_run(self, context: FeedbackContext) -> bool:
        """Whether it has anything to say, beyond the trigger."""
        ...

    def provide(self, context: FeedbackContext) -> Feedback:
        """What it says."""
        ...


class PlainProvider(Listener):
    """The optional half of a provider, for one that needs none of it."""

    needs_standing: bool = False
    """Whether it looks at the task in the canonical model."""
    needs_calls: bool = True
    """Whether it looks at what calls were given and returned (`recent_tool_calls`): kept only where somebody does."""

    def keys(self) -> Sequence[str]:
        """The facts it keeps; all of them are loaded whenever it is."""
        return ()

    def should_run(self, context: FeedbackContext) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def remember(self, context: FeedbackContext, spoke: bool) -> Changes:  # noqa: ARG002
        """What to remember of a look, by its own keys; it is written into the log. `spoke`: the agent gets it now.

        What a timer makes it say only waits: it is asked again at the next hook, and speaks then.
        """
        return NOTHING


class BuiltInProvider(PlainProvider):
    """One of Lictor's own: none of them looks at parameters or results."""

    needs_calls = False
