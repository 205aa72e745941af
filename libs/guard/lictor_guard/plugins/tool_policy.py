"""What a tool policy is: it allows or denies a call from its own facts, or asks people, and learns from results.

Every policy that gates a tool is asked; one denial is enough, and all denials are reported. People are asked only about
what nobody denies. A policy is given every result of the session, whichever section it stands in: else one could wait
for ever for a tool of another section.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from lictor_guard.facts.fact import Changes, OwnFacts
from lictor_guard.plugins.tool_call import Call, Result, StandingLabel

NOTHING: Changes = {}
ASK_REMEDY = "wait until somebody has decided, then call it again as it is"


@dataclass(frozen=True, kw_only=True)
class PeopleAsked:
    """Who decides on a call that a policy asks people about, and until when; as `require-approval` spells it."""

    approvers: tuple[str, ...] = ()
    """People or groups of the approvers' file; empty for anybody in it."""
    needed: int = 1
    decide_within_s: int = 86_400
    use_within_s: int = 3_600
    remember: tuple[Literal["session", "rule"], ...] = ()
    pauses_deadline: bool = True
    max_waiting: int = 8
    """So many calls of a session that this policy asks about may wait."""


@dataclass(frozen=True)
class PolicyDecision:
    """Made by `allow()`, `deny(...)` or `ask(...)`. Whatever is none of the three is a denial."""

    allowed: bool
    reason: str | None = None
    remedy: str | None = None
    people: PeopleAsked | None = None
    """Who may let the call be made all the same; None for nobody."""

    def __post_init__(self) -> None:
        if not self.allowed and not (self.reason and self.remedy):
            raise ValueError("a denial needs a reason and a remedy")
        if self.allowed and self.people is not None:
            raise ValueError("what is allowed asks nobody")

    @property
    def asks(self) -> PeopleAsked | None:
        """Who is asked; None where it is allowed, or denied whatever people say."""
        asked = self.allowed is False and isinstance(self.people, PeopleAsked)
        return self.people if asked else None

    @classmethod
    def allow(cls) -> "PolicyDecision":
        """There is no reason to deny it."""
        return cls(True)

    @classmethod
    def deny(cls, reason: str, remedy: str) -> "PolicyDecision":
        """Not like this: why, and what would help."""
        return cls(False, reason, remedy)

    @classmethod
    def ask(cls, reason: str, people: PeopleAsked | None = None) -> "PolicyDecision":
        """Only if people say so: why they are asked, and who they are."""
        return cls(False, reason, ASK_REMEDY, people or PeopleAsked())


@dataclass(frozen=True)
class CheckContext:
    """What a policy may know beside its facts."""

    now_us: int
    """Never earlier than anything that happened in the session before."""
    session_id: str
    definition: str
    reserved: bool = False
    """Whether this very call was allowed before, and `on_allowed` has counted it."""
    wall_us: int | None = None
    """What the clock says when a call is checked: earlier than `now_us` after one that ran fast was put right."""
    calls: int | None = None
    """Calls of the session so far, this one not counted: ended, denied, or noted when they were allowed."""
    labels: Mapping[str, StandingLabel] | None = None
    """The labels that the session has by other calls, when a call is checked; None where that is not known."""


@dataclass(frozen=True)
class Restored:
    """The session's state was set back."""

    snapshot_id: str | None
    cause: str
    at_us: int


@runtime_checkable
class ToolPolicy(Protocol):
    """A policy. Whatever it raises in `check` is a denial."""

    @property
    def name(self) -> str:
        """Unique in the definition."""
        ...

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:
        """May this call be made?"""
        ...

    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes:
        """What to remember of a call that ended, success or not; by the policy's own keys."""
        ...


class Listener:
    """Is given the results of calls and resets of the state, and remembers nothing; override it to remember."""

    def on_result(
        self,
        call: Call,  # noqa: ARG002
        result: Result,  # noqa: ARG002
        facts: OwnFacts,  # noqa: ARG002
        context: CheckContext,  # noqa: ARG002
    ) -> Changes:
        """What to remember of a call that ended."""
        return NOTHING

    def on_restored(self, restored: Restored, facts: Mapping[str, object]) -> Changes:  # noqa: ARG002
        """How its facts change because the state was set back; it is given all of them, by key."""
        return NOTHING


class Reserver(Listener):
    """Chooses calls that count from the moment they are allowed, and is given them then; by default none."""

    def reserves(self, call: Call) -> bool:  # noqa: ARG002
        """Whether the call counts from the moment it is allowed; `on_allowed` is called then."""
        return False

    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes:  # noqa: ARG002
        """What to remember of a call that was allowed and is going to be made."""
        return NOTHING


class StatelessPolicy(Reserver):
    """The optional half of a policy, for one that needs none of it; policies with facts override it."""

    def keys(self, call: Call) -> Sequence[str]:  # noqa: ARG002
        """The facts that `check`, `on_allowed` and `on_result` of this call need; no others are loaded."""
        return ()
