"""What a session's log says about a call that waits for people."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from call_samples import ask, call_request

from lictor_schema.approvals.call_approval import CallApprovalRequest, CallPermission
from lictor_schema.core.time import to_micros
from lictor_schema.sessions.session_log import (
    ApprovalCancelled,
    CallAsked,
    CallFinished,
    CallReserved,
)
from lictor_schema.sessions.session_questions import CallAsk


def about(request: CallApprovalRequest, **changes: Any) -> dict[str, Any]:
    """What every entry of its session says."""
    mine = request.binding
    return {
        "entry_id": str(uuid.uuid4()),
        "at_us": to_micros(datetime.now(UTC)),
        "runtime": mine.runtime,
        "session_id": mine.session_id,
        "task_id": mine.task_id,
        "agent_id": mine.agent_id,
        "definition_hash": mine.definition_hash,
        **changes,
    }


def now_asked(*asks: CallAsk, **changes: Any) -> CallApprovalRequest:
    """A request that is made now; its times have milliseconds, and the time to decide is given in seconds."""
    return call_request(*(asks or (ask(),)), at=datetime.now(UTC), **changes)


def asked(request: CallApprovalRequest, **changes: Any) -> CallAsked:
    """The call waits."""
    return CallAsked(kind="call_asked", request=request, **about(request, **changes))


def cancelled(request: CallApprovalRequest, **changes: Any) -> ApprovalCancelled:
    """The agent does not want to make it any more."""
    return ApprovalCancelled(
        kind="approval_cancelled",
        approval_request=request.request_id,
        why="another way was found",
        **about(request, **changes),
    )


def used(request: CallApprovalRequest, *signed: str, **changes: Any) -> CallReserved:
    """The call was let through."""
    return CallReserved(
        kind="call_reserved",
        call_id="c-2",
        tool=request.binding.tool,
        params=request.params,
        permission=CallPermission(request=request, signed=signed or ("a note",)),
        **about(request, **changes),
    )


def ended(request: CallApprovalRequest, outcome: str = "ok", **changes: Any) -> CallFinished:
    """The call ended."""
    fields = about(request, **changes)
    fields = {"approval_request": request.request_id, **fields}
    return CallFinished(
        kind="call_finished",
        call_id="c-2",
        tool=request.binding.tool,
        params=request.params,
        outcome=outcome,  # pyright: ignore[reportArgumentType] -- the model checks it
        **fields,
    )


def later(seconds: float) -> int:
    """A moment from now, as a log counts it."""
    return to_micros(datetime.now(UTC) + timedelta(seconds=seconds))
