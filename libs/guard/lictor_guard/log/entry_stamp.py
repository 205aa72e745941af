"""What every entry and every answer of a session begins with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.facts.fact import Facts
from lictor_guard.facts.session_fact_changes import tally_of
from lictor_guard.facts.session_facts import IDENTITY, Identity
from lictor_schema.gates.gate import GateRequest
from lictor_schema.sessions.session_log import SessionBegun, StateReset, WorkGiven
from lictor_schema.sessions.session_questions import Denial

Fields = Mapping[str, Any]
E = TypeVar("E", SessionBegun, WorkGiven, StateReset)


def identity_of(facts: Facts) -> Identity | None:
    """Which session it is; None for one that never began."""
    found = facts.get(IDENTITY)
    return found if isinstance(found, Identity) else None


def moment(facts: Facts, now_us: int) -> int:
    """The time for a session: never before anything that happened in it, whatever the clock says."""
    return max(1, now_us, tally_of(facts).last_us)


@dataclass(frozen=True)
class Stamp:
    """Makes what all entries have in common."""

    guarded: Guarded
    new_id: Callable[[], str]

    def on(self, request: GateRequest, facts: Facts, now_us: int) -> Fields:
        """For an entry that a question leads to."""
        identity = identity_of(facts)
        return {
            "entry_id": self.new_id(),
            "at_us": moment(facts, now_us),
            "runtime": request.runtime,
            "session_id": request.session,
            "task_id": request.task_id if identity is None else identity.task_id,
            "agent_id": request.agent_id,
            "definition_hash": self.guarded.hash,
        }


def ringing_at(entry: E, next_due_us: int | None) -> E:
    """The same entry, with the time at which a timer must ring; checked like any other that is made."""
    fields: dict[str, Any] = {**dict(entry), "next_due_us": next_due_us}
    return type(entry)(**fields)


def done(request: GateRequest, reason: str) -> Fields:
    """The begin of an answer to something that was done."""
    return {"request_id": request.request_id, "ok": True, "reason": reason}


def refused(request: GateRequest, denial: Denial) -> Fields:
    """The begin of an answer to something that was not done."""
    return {
        "request_id": request.request_id,
        "ok": False,
        "reason": denial.reason,
        "remedy": denial.remedy,
        "policy_id": denial.policy_id,
    }
