"""What people said about calls: read from stream APPROVALS only for a call that waits for them, and verified here.

Nothing that stands there is believed: signatures, keys, quorum and times are judged by this service's own copy of the
approvers' keys, as they are now, and the request must be the one that the session's own log holds. Whoever writes to
the stream can keep a call from being made, and can't let one be made.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor_approval.call_permission import CallStanding, standing_in_log
from lictor_approval.errors import ApprovalError, ConfigRefused
from lictor_approval.signed_decisions import Approvers
from lictor_bus.errors import BusError
from lictor_bus.logs.entry_logs import approval_log
from lictor_bus.service.settings import path_setting
from lictor_feedback.session.read_pace import ReadPace
from lictor_guard.session.asking import ReadApproval
from lictor_schema.approvals.approval import ApprovalEntry
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_seal import SealError, TrustStore

log = logging.getLogger("lictor.feedback")

READ_WITHIN_S = 0.5
"""A gate answers within 1.6 seconds, with or without what people said."""
NO_APPROVERS = (
    "this gate knows no approvers' keys, so no approval counts"
    " (for whoever runs it: set LICTOR_APPROVERS for the feedback service)"
)
NOT_THERE = "the approval service has not taken the request in yet"

ReadApprovals = Callable[[str], Awaitable[ReadApproval]]
"""How a request stands where people decide, by its id."""


class TrustedApprovers:
    """The file with the keys of approvers that this installation trusts; read for every question that needs it."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._parsed: tuple[bytes, Approvers] | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "TrustedApprovers":
        """The file that ``LICTOR_APPROVERS`` names; one that can't be read stops the service here."""
        found = cls(path_setting(environment, "LICTOR_APPROVERS"))
        try:
            found.now()
        except ApprovalError as error:
            raise BusError(str(error)) from None
        return found

    def now(self) -> Approvers | None:
        """The keys as they are now; None without a file. ApprovalError when it can't be read."""
        if self._path is None:
            return None
        try:
            data = TrustStore.bytes_in(self._path)
            # By the bytes, not by the file's time: a key that was revoked counts no more from then on.
            parsed = self._parsed
            if parsed is None or parsed[0] != data:
                parsed = self._parsed = data, Approvers(TrustStore.of_file(self._path, data))
        except SealError as error:
            raise ConfigRefused(str(error), "correct the file of approvers' keys") from None
        return parsed[1]

    @property
    def told(self) -> str:
        """What health reports about it."""
        if self._path is None:
            return "no approvers (LICTOR_APPROVERS): no call that waits for a person is ever made"
        return f"approvers of {self._path}"


class ApprovalReader:
    """Reads and verifies what people said."""

    def __init__(
        self,
        client: Client,
        approvers: TrustedApprovers,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        within_s: float = READ_WITHIN_S,
    ) -> None:
        self._pace = ReadPace(monotonic_ns)
        self._client = client
        self._approvers = approvers
        self._now = now
        self._within_s = within_s

    async def read(self, request_id: str) -> ReadApproval:
        """How a request stands; never approved where anything could not be read or verified.

        An agent may ask about a call that waits as fast as it can: more than its share of that is answered by what
        was found a moment ago, which is never a yes.
        """
        remembered = self._pace.instead(request_id)
        if remembered is not None:
            return remembered
        found = await self._read(request_id)
        self._pace.found(request_id, found)
        return found

    async def _read(self, request_id: str) -> ReadApproval:
        try:
            approvers = await asyncio.to_thread(self._approvers.now)
        except ApprovalError as error:
            log.error("the approvers' keys can't be read: %s", error)
            return ReadApproval(
                standing=None, problem=f"the approvers' keys can't be read: {error}"
            )
        if approvers is None:
            return ReadApproval(standing=None, problem=NO_APPROVERS)
        try:
            async with asyncio.timeout(self._within_s):
                found = await approval_log(self._client, request_id)
        except (NatsError, OSError, TimeoutError, BusError) as error:
            log.warning("request %s can't be read in APPROVALS: %s", request_id, error)
            why = f"what people said can't be read now ({type(error).__name__})"
            return ReadApproval(standing=None, problem=why)
        return read_approval([entry for _, entry in found.entries], approvers, self._now())


def read_approval(
    entries: list[ApprovalEntry], approvers: Approvers, now: datetime
) -> ReadApproval:
    """How the request of a log stands; that it is the session's own is for the session to see to."""
    request = next((each.request for each in entries if each.request is not None), None)
    if not isinstance(request, CallApprovalRequest):
        problem = NOT_THERE if request is None else "its log is about a program, not about a call"
        return ReadApproval(standing="waiting", problem=problem)
    return _as_read(request, standing_in_log(request, entries, approvers, now))


def _as_read(request: CallApprovalRequest, found: CallStanding) -> ReadApproval:
    untold = found.standing in ("waiting", "broken", "expired")
    return ReadApproval(
        standing="waiting" if found.standing == "broken" else found.standing,
        request=request,
        signed=found.signed,
        reusable=found.reusable,
        params=found.params,
        guidance=found.guidance,
        decided_by=found.decided_by,
        may_ask_again=found.may_ask_again,
        until=found.until,
        settled_at=found.settled_at,
        problem=found.why if untold else None,
    )
