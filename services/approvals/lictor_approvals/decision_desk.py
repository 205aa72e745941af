"""The desk where signed decisions are handed in; no runtime may ask here (see lictor_bus.names.roles).

The signature says who decided, not the sender. Handing in the same decision again gives the same answer.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from lictor_approval.decision_validity import ApprovalLimits, decided, is_over, withdrawn
from lictor_approval.errors import ApprovalError
from lictor_approval.request_life import RequestLife, kind_of
from lictor_approval.signed_decisions import Approvers
from lictor_approvals.request_intake import LayersHere, submissions_of, why_stale
from lictor_approvals.request_log import RequestLog
from lictor_bus.errors import MessageRefused
from lictor_bus.gates.desk import APPROVAL
from lictor_bus.gates.gate_runner import BoundGate
from lictor_bus.wire.connection import TolerantClient
from lictor_schema.approvals.approval import (
    ApprovalEntry,
    ApprovalOrder,
    ApprovalRequest,
    ApprovalState,
)
from lictor_schema.core.time import from_micros
from lictor_schema.services.desk_answer import DeskAnswer

log = logging.getLogger("lictor.approvals")

_AGAIN = {"program": "submit the program again", "call": "have the call made again"}


class DecisionDesk:
    """Takes in decisions, and looks at the time."""

    def __init__(
        self,
        client: TolerantClient,
        requests: RequestLog,
        approvers: Callable[[], Approvers],
        *,
        layers: LayersHere,
        limits: ApprovalLimits,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._requests = requests
        self._approvers = approvers
        self._layers = layers
        self._limits = limits
        self._now = now

    def bound(self) -> BoundGate[ApprovalOrder, DeskAnswer]:
        """The gate with its handler."""
        return BoundGate(
            gate=APPROVAL, handle=self.answer, refusing=(MessageRefused, ApprovalError)
        )

    async def answer(self, order: ApprovalOrder) -> DeskAnswer:
        """Keep what is handed in."""
        return await self.decide(order.request_id, order.signed)

    async def decide(self, request_id: str, signed: str) -> DeskAnswer:
        """Keep a decision if it counts; a request that has become stale or late is said to be so instead."""
        known = await self._requests.known(request_id)
        if known is None:
            return DeskAnswer.refused(
                request_id,
                f"there is no request {request_id}",
                "`lictor approvals list` shows what there is",
            )
        stale = await self._why_stale(known)

        def step(life: RequestLife | None) -> ApprovalEntry | None:
            # It was there, and no message of this stream can be removed.
            assert life is not None
            if any(each.signed == signed for each in life.decisions):
                return None
            now = self._now()
            # The decision is judged first: what is not signed by an approver changes nothing.
            entry = decided(life, signed, self._approvers(), now, self._limits)
            if stale is not None and entry.state is ApprovalState.APPROVED:
                return withdrawn(life, ApprovalState.STALE, now, stale)
            return entry

        changed = await self._requests.change(request_id, step)
        life = changed.life
        assert life is not None
        if life.state is ApprovalState.STALE:
            return DeskAnswer.refused(
                request_id, life.reason or "it is stale", _AGAIN[kind_of(life)], "stale"
            )
        if life.state.is_open:
            await self._requests.watch_the_clock(life)
        return DeskAnswer(
            request_id=request_id,
            outcome="done",
            state=life.state.value,
            sequence=changed.sequence,
        )

    async def decide_by_policy(self, request_id: str, signed: str) -> None:
        """Keep what a policy decided; where that does not count, somebody is asked as if there were no policy."""
        try:
            answered = await self.decide(request_id, signed)
        except ApprovalError as error:
            log.error("request %s: the policy's decision does not count: %s", request_id, error)
            return
        if answered.outcome == "refused":
            log.warning("request %s: %s", request_id, answered.reason)

    async def ring(self, request_id: str, due_us: int) -> None:
        """Look at the time of a request, at a moment not before the one given."""
        rung_at = from_micros(due_us)

        def step(life: RequestLife | None) -> ApprovalEntry | None:
            now = max(self._now(), rung_at)
            if life is None or not is_over(life, now):
                return None
            if life.state.is_undecided:
                what = "nobody decided" if not life.decisions else "not enough people decided"
            else:
                what = "nothing ran" if kind_of(life) == "program" else "the call was not made"
            return withdrawn(life, ApprovalState.EXPIRED, now, f"{what} until {life.due}")

        try:
            changed = await self._requests.change(request_id, step)
        except ApprovalError as error:
            raise MessageRefused(error.reason, remedy=error.remedy) from None
        if changed.life is None:
            raise MessageRefused(
                f"there is no request {request_id}", remedy="set timers of requests that are there"
            )
        if changed.life.state.is_open:
            # It rang for a moment that has moved since.
            await self._requests.watch_the_clock(changed.life)

    async def _why_stale(self, life: RequestLife) -> str | None:
        if not isinstance(life.request, ApprovalRequest):
            # Whether the files of a call are as they were is known where it is made, and looked at there.
            return None
        binding = life.request.binding
        submissions = await submissions_of(self._client, binding.runtime, binding.task_id)
        return why_stale(life, submissions, await asyncio.to_thread(self._layers))
