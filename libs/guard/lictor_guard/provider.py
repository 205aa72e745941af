"""What a feedback provider is: it looks at the session when its trigger says so, and advises.

A provider can't block anything. One that raises harms nobody: the others are heard, and its failure is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from lictor_guard.core_facts import Recent, Tally
from lictor_guard.facts import Changes, OwnFacts
from lictor_guard.policy import NOTHING, Listener
from lictor_schema import Budgets, Feedback, TaskStanding


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
    """Calls since this provider last spoke; all calls if it never did."""
    last_spoke_us: int | None
    facts: OwnFacts
    standing: TaskStanding | None
    """How the task stands; None unless the provider asks for it and it can be told."""


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

    def keys(self) -> Sequence[str]:
        """The facts it keeps; all of them are loaded whenever it is."""
        return ()

    def should_run(self, context: FeedbackContext) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def remember(self, context: FeedbackContext, spoke: bool) -> Changes:  # noqa: ARG002
        """What to remember of a look, by its own keys, whether it spoke or not. It is written into the log."""
        return NOTHING
