"""What a session knows of the calls that people were asked about.

A call is known by its signature, which points to the request that stands for it: the latest one, or the one by which
somebody approved it in place of another call. A request is known by its id, and how it stands is in one place: what it
was used for, too. All of it is LOG, so that no restore or reset brings a used approval back.
"""

from typing import Literal

from pydantic import Field

from lictor_guard.facts.fact import Fact, full_name
from lictor_guard.facts.session_facts import SESSION
from lictor_schema.sessions.session_questions import Params

ASKING = full_name(SESSION, "asking")


def asked_name(agent_id: str, signature: str) -> str:
    """Where the request is named that stands for a call of an agent: nobody calls by what another was allowed."""
    return full_name(SESSION, f"asked/{signature}/{agent_id}")


def request_name(request_id: str) -> str:
    """Where a request is kept."""
    return full_name(SESSION, f"request/{request_id}")


class WaitingRequest(Fact, kind="waiting-request", retention="log"):
    """A request that nobody is known to have decided."""

    policies: tuple[str, ...]
    expires_us: int
    pauses_deadline: bool
    since_us: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """When it was made; None where an older version stored it."""


Span = tuple[int, int]
"""From one moment until before another, in microseconds since 1970."""


class Pauses(Fact, kind="pauses", retention="log"):
    """The times in which calls waited for people, and the deadline stood still.

    What is over while something else still waits is kept: when people had decided about that is often heard much later,
    and it may turn out to have waited for less.
    """

    over: tuple[Span, ...] = ()
    """Those that are over since anything began to wait: apart from each other, in order."""
    before_us: int = 0
    """All those before, together."""
    longest_us: int = 0
    """The longest time that people had for one request: so long the deadline stands still, in all."""


class TakenBack(Fact, kind="taken-back", retention="log"):
    """Requests that the session took back before it knew of a decision: cancelled, or asked anew about another file."""

    count: int
    until_us: int
    """When they are counted from the beginning again: as long after the first one as people had for it."""


class Asking(Fact, kind="asking", retention="log"):
    """How often people were asked, and what waits for them."""

    asked: int = 0
    """Requests that there were."""
    waiting: dict[str, WaitingRequest] = Field(default_factory=dict[str, WaitingRequest])
    """By id. What has expired leaves when the next one is made."""
    pauses: Pauses | None = Field(default=None, exclude_if=lambda value: value is None)
    """None while no request has let the deadline stand still."""
    taken_back: dict[str, TakenBack] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """By the policy that asked; None while none was."""


class AskedCall(Fact, kind="asked-call", retention="log"):
    """The request that stands for a call."""

    request_id: str


RequestStanding = Literal["waiting", "used", "edited", "rejected", "expired", "cancelled"]


class CallRequest(Fact, kind="call-request", retention="log"):
    """A request about a call, and how it stands as far as the session knows."""

    standing: RequestStanding = "waiting"
    request_hash: str
    """Of the whole request: what stands elsewhere under its id must be the same."""
    agent_id: str
    signature: str
    """Of the call that was asked about."""
    policies: tuple[str, ...]
    asks: tuple[str, ...]
    """The hash of what each of them asked."""
    resources_hash: str
    """The files of the call, as they were."""
    expires_at: str
    expires_us: int
    guidance: str | None = None
    decided_by: tuple[str, ...] = ()
    may_ask_again: bool = False
    params: Params | None = None
    """The parameters that it was approved with, in place of those asked about; exactly when it was edited."""
    used_by: str | None = None
    """The call that was allowed by it last."""
    used_resources: str | None = None
    """The files of that call, as they were."""
    reusable: bool = False
    """Whether the same call may be made by it again."""

    @property
    def is_spent(self) -> bool:
        """Whether no further call may be made by it."""
        return self.used_by is not None and not self.reusable
