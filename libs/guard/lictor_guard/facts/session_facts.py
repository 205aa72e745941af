"""The facts that every session has, whatever its definition."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from lictor_guard.facts.fact import Fact, full_name
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.session_questions import CallOutcome, StopBypass, StopStatus

RECENT_CALLS = 32
SESSION = "session"
"""The owner of these facts."""
IDENTITY = full_name(SESSION, "identity")
TALLY = full_name(SESSION, "tally")
RECENT = full_name(SESSION, "recent")
WAITING = full_name(SESSION, "waiting")
DELIVERED = full_name(SESSION, "delivered")
BROKEN = full_name(SESSION, "broken")
HALT_ORDER = full_name(SESSION, "halt-order")
STATE_CHANGE = full_name(SESSION, "state-change")
_CADENCES = full_name(SESSION, "cadence/")
_RECENT_CALLS = full_name(SESSION, "recent/")


def call_name(call_id: str) -> str:
    """Where a call is marked as seen."""
    return full_name(SESSION, f"call/{call_id}")


def usage_name(report_id: str) -> str:
    """Where a report of usage is marked as seen."""
    return full_name(SESSION, f"usage/{report_id}")


def cadence_name(provider: str) -> str:
    """Where the cadence of a provider is kept: not among its own facts, which it could change."""
    return f"{_CADENCES}{provider}"


def recent_name(slot: int) -> str:
    """Where the parameters and the result of one of the last calls are kept."""
    return f"{_RECENT_CALLS}{slot}"


def snapshot_name(snapshot_id: str) -> str:
    """Where a snapshot stands."""
    return full_name(SESSION, f"snapshot/{snapshot_id}")


def blocks_name(agent_id: str) -> str:
    """Where the blocked stops of a subagent are counted."""
    return full_name(SESSION, f"blocks/{agent_id}")


def stop_name(agent_id: str, *, subagent: bool) -> str:
    """Where the last stop is marked: of the session's agent, whatever it is called, or of a subagent."""
    return full_name(SESSION, f"stop/{agent_id}" if subagent else "stop")


def is_cadence(name: str) -> bool:
    """Whether a full name is that of a cadence."""
    return name.startswith(_CADENCES)


def is_recent(name: str) -> bool:
    """Whether a full name is that of the last calls, or of one of them."""
    return name == RECENT or name.startswith(_RECENT_CALLS)


class Identity(Fact, kind="identity", retention="log"):
    """Which session it is, and what it is pinned to."""

    runtime: str
    session_id: str
    task_id: str
    definition: str
    version: str
    definition_hash: str
    began_us: int
    deadline_us: int | None = None
    # Left out where nobody waits: an older version reads what was stored by this one.
    paused_since_us: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """Since when the deadline stands still, because calls wait for people; None while it does not."""
    paused_until_us: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """When it goes on at the latest: nobody may decide on any of them after that, or it has stood still for long
    enough."""
    waited_us: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """How much of `deadline_us` is time that calls have waited for people until then."""

    def deadline_at(self, now_us: int) -> int | None:
        """When the time is up, as it looks at a moment: later by as long as calls have waited for people."""
        if self.deadline_us is None or self.paused_since_us is None:
            return self.deadline_us
        until_us = min(now_us, self.paused_until_us or 0)
        return self.deadline_us + max(0, until_us - self.paused_since_us)


class Tally(Fact, kind="tally", retention="log"):
    """What the session has done and used so far."""

    calls: int = 0
    """Every call that ended or was denied."""
    running: int = 0
    """Calls that were counted when they were allowed, and whose end nobody has reported yet."""
    succeeded: int = 0
    failed: int = 0
    denied: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0
    cost_below_micro: int = 0
    """What the cost holds beyond whole micro-dollars, in millionths of one."""
    last_us: int = 0
    """Time of the last entry: no later one is taken to be earlier."""
    active_us: int = 0
    """Time of the last entry that was not made by a timer."""
    blocks: int = 0
    """Stops blocked in a row, since the agent was last given work."""
    subagent_blocks: int = 0
    """Stops of all subagents that were blocked since then."""
    ended: StopStatus | None = None
    """How the last stop that was allowed left the work; None while it goes on."""


class RecentCall(Fact, kind="recent-call", retention="log"):
    """One of the last calls, in short."""

    call_id: str
    tool: str
    signature: str
    outcome: CallOutcome
    at_us: int
    slot: Annotated[int, Field(ge=0, le=RECENT_CALLS - 1)] = 0
    """Where its parameters and result are, if they are kept: see `recent_name`."""


class RecentDetails(Fact, kind="recent-details", retention="log"):
    """The parameters and the result of one of the last calls; long texts are cut."""

    call_id: str
    params: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    error: str | None = None
    output: str | None = None
    duration_ms: int | None = None


class Recent(Fact, kind="recent", retention="log"):
    """The last calls, oldest first."""

    calls: Annotated[tuple[RecentCall, ...], Field(max_length=RECENT_CALLS)] = ()


class CallSeen(Fact, kind="call", retention="log"):
    """A call or report that was counted: a second one with its id is not."""

    outcome: CallOutcome | None = None
    """None while it is only reserved."""
    entry_id: str | None = None
    """The entry that denied it."""
    reserved: bool = False
    """Whether policies have counted it when it was allowed."""
    signature: str | None = None
    """Of the call that was counted when it was allowed: no other one may be made under its id."""
    approval: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The request to people by which it was allowed, or denied."""
    agent_id: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """Whose call was counted when it was allowed; None where an older version counted it."""
    again_until_us: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """Until when what people allowed is answered again, because the answer may have been lost."""

    def of_another(self, signature: str, agent_id: str) -> bool:
        """Whether another call than this agent's with this signature was counted under the id."""
        if self.signature is None:
            return False
        return self.signature != signature or self.agent_id not in (None, agent_id)


class Cadence(Fact, kind="cadence", retention="log"):
    """When the agent last heard a provider, what it heard, and for which file the provider has spoken."""

    call_index: int = 0
    spoke_us: int | None = None
    files: tuple[str, ...] = ()
    raised_us: int | None = None
    """When a timer last made it raise something that the agent has not heard yet."""
    last: StampedFeedback | None = None
    """What the agent heard last."""


class Waiting(Fact, kind="waiting", retention="log"):
    """Feedback that was raised by a timer and has not been handed over yet."""

    feedback: tuple[StampedFeedback, ...] = ()
    next_due_us: int | None = None
    """When the broker will ring next; None when no timer is set."""


class Delivered(Fact, kind="delivered", retention="log"):
    """What was handed over last: the same question gets the same answer."""

    call_id: str
    at_us: int
    feedback: tuple[StampedFeedback, ...] = ()


class Snapshot(Fact, kind="snapshot", retention="log"):
    """Where a snapshot stands in the log."""

    sequence: int
    state_hash: str


class SubagentBlocks(Fact, kind="subagent-blocks", retention="log"):
    """Stops of one subagent that were blocked."""

    count: int = 0


class LastStop(Fact, kind="last-stop", retention="log"):
    """How an agent's last stop was judged: the same question is not counted again."""

    request_id: str
    entry_id: str
    calls: int
    """Calls in the tally then: with more since, it is another stop, whatever its id."""
    at_us: int = 0
    """When it was judged: long after, it is another stop too."""
    allowed: bool
    status: StopStatus
    bypass: StopBypass | None = None
    attempt: int = 0
    escalated: bool = False

    @property
    def blocks_before(self) -> int:
        """Stops that had been blocked before it."""
        return self.attempt if self.allowed else self.attempt - 1


class LastStateChange(Fact, kind="last-state-change", retention="log"):
    """The last snapshot, restore or reset, for a caller that repeats the request because it got no answer."""

    request_id: str
    change: Literal["state_kept", "state_restored", "state_reset"]
    snapshot_id: str | None = None
    state_hash: str


class LastHaltOrder(Fact, kind="halt-order", retention="log"):
    """The last order to halt or resume this session, for an operator who repeats it. Nothing is judged by it."""

    request_id: str


class Broken(Fact, kind="broken", retention="log"):
    """Policies, providers and checkers that failed to learn from something, by owner, and how.

    What they know is incomplete from then on, so they are not believed until the session is reset.
    """

    owners: dict[str, str] = Field(default_factory=dict[str, str])
