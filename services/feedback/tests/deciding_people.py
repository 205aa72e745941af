"""The people who decide about calls, and what the approval service writes for them; also what a forger would write."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reporting import service_process

from lictor_approval.decision_validity import requested
from lictor_approval.signed_decisions import sign_decision
from lictor_bus.logs.entry_logs import approval_log
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.publish import Outgoing
from lictor_local.embedded_servers import Endpoints
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalEntry, ApprovalState
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.base_model import utc_millis
from lictor_schema.sessions.session_log import CallAsked
from lictor_seal import SigningKey, TrustStore

ALICE = SigningKey.from_seed("alice@example.org", b"a" * 32)
BOB = SigningKey.from_seed("bob@example.org", b"b" * 32)
STRANGER = SigningKey.from_seed("alice@example.org", b"s" * 32)
"""Says it is Alice."""
AGENT = SigningKey.from_seed("agent", b"g" * 32)
"""Has the name of the agent that asks."""

LARGE = {"to": "acme", "amount": 500}
"""Of a payment that people are asked about."""


async def pay(payer: Any, call_id: str, **fields: Any) -> dict[str, Any]:
    """Ask whether a payment may be made, as a client that knows the answer `ask`."""
    return await payer.check("pay", call_id, **{"params": LARGE, "knows_ask": True, **fields})


def trust_file(folder: Path, *keys: SigningKey) -> Path:
    """A file of approvers that holds just these."""
    path = folder / "approvers.json"
    path.write_bytes(TrustStore.of([key.verifying_key for key in keys]).to_bytes())
    return path


def payer_service(endpoints: Endpoints, payers: Path, approvers: Path) -> Any:
    """One instance of the service, as a process."""
    return service_process(
        "lictor_feedback", endpoints, LICTOR_AGENTS=str(payers), LICTOR_APPROVERS=str(approvers)
    )


@dataclass
class People:
    """Whoever can write to stream APPROVALS."""

    client: TolerantClient

    async def open(self) -> None:
        """The stream, as the approval service makes it."""
        await streams.declare(self.client, streams.APPROVALS)

    async def take_in(self, payer: Any) -> CallApprovalRequest:
        """The session's newest request, taken in."""
        request = await newest_request(payer)
        await self.write(requested(request))
        return request

    async def decide(
        self,
        request: CallApprovalRequest,
        what: str = "approve",
        key: SigningKey = ALICE,
        **changes: Any,
    ) -> None:
        """Somebody decides, and the service writes down what came of it."""
        state = ApprovalState.APPROVED if what == "approve" else ApprovalState.REJECTED
        await self.write(entry_of(request, state, signed(request, what, key, **changes)))

    async def write(self, entry: ApprovalEntry, request_id: str | None = None) -> None:
        """Any entry, on the log of any request."""
        found = await approval_log(self.client, request_id or entry.request_id)
        subject = subjects.approval(
            entry.runtime, entry.state.value, request_id or entry.request_id
        )
        await Appends(self.client).append(
            streams.APPROVALS,
            Outgoing(subject, entry.to_json(), entry.entry_id),
            found.last,
            log=found.subjects,
        )


async def newest_request(payer: Any) -> CallApprovalRequest:
    """What people were asked about last in a session."""
    entries = await payer.entries()
    return [each.request for each in entries if isinstance(each, CallAsked)][-1]


def signed(
    request: CallApprovalRequest, what: str = "approve", key: SigningKey = ALICE, **changes: Any
) -> str:
    """What somebody signs about a request, now."""
    now = datetime.now(UTC)
    fields: dict[str, Any] = {
        "request_id": request.request_id,
        "binding_hash": request.binding_hash,
        "decision": what,
        "by": key.name,
        "decided_at": utc_millis(now),
        "expires_at": utc_millis(now + timedelta(seconds=60)),
        "nonce": str(uuid.uuid4()),
        "reason": "looked at it",
        **changes,
    }
    return sign_decision(ApprovalDecision(**fields), key)


def entry_of(request: CallApprovalRequest, state: ApprovalState, note: str) -> ApprovalEntry:
    """The entry that a decision makes, whatever it is worth."""
    return ApprovalEntry(
        entry_id=str(uuid.uuid4()),
        request_id=request.request_id,
        runtime=request.binding.runtime,
        state=state,
        by="approvals",
        at=utc_millis(datetime.now(UTC)),
        signed=note,
        reason="looked at it",
    )
