"""The gate and the questions about governed decisions, each with its handler."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from lictor_bus.gate import GateRefusal
from lictor_bus.gates import decision
from lictor_bus.gates.gate_recorder import PendingRecord
from lictor_bus.gates.gate_runner import BoundGate, Given, ReceivedQuestion, RecordTime
from lictor_schema.contracts.decision_questions import ActionGateAnswer, ActionGateRequest
from lictor_supervisor.decision.desk import ContractDesk
from lictor_supervisor.decision.unlogged_denials import refusal_record


class ContractAnswers:
    """Binds each question to the desk."""

    def __init__(self, desk: ContractDesk, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._desk = desk
        self._now_ns = now_ns

    def bound(self) -> Sequence[BoundGate[Any, Any]]:
        """The gates with their handlers."""
        desk = self._desk
        return (
            BoundGate(gate=decision.ACTION, handle=self.gate, records_of=self._denial_records),
            BoundGate(gate=decision.CONTRACT_BEGIN, handle=desk.begin),
            BoundGate(gate=decision.CONTRACT_REPORT, handle=desk.report),
            BoundGate(gate=decision.CONTRACT_VERIFY, handle=desk.verify),
            BoundGate(gate=decision.CONTRACT_SHOW, handle=desk.show),
            BoundGate(gate=decision.CONTRACT_APPROVE, handle=desk.approve),
            BoundGate(gate=decision.CONTRACT_FREEZE, handle=desk.freeze),
            BoundGate(gate=decision.CONTRACT_RESUME, handle=desk.resume),
            BoundGate(gate=decision.CONTRACT_HALT, handle=desk.halt),
            BoundGate(gate=decision.CONTRACT_RELEASE, handle=desk.release),
        )

    async def gate(self, request: ActionGateRequest) -> Given[ActionGateAnswer]:
        """May this action be dispatched? A denial that no decision's log holds is recorded before it is given."""
        judged = await self._desk.gate(request)
        answer, now_ns = judged.answer, self._now_ns()
        if answer.decision != "deny" or judged.is_logged:
            return Given(answer)
        return Given(
            answer, lambda asked, _: refusal_record(asked, answer, now_ns), RecordTime.BEFORE
        )

    def _denial_records(
        self, asked: ReceivedQuestion[Any], _refusal: GateRefusal, answer: ActionGateAnswer
    ) -> Sequence[PendingRecord]:
        return [refusal_record(asked, answer, self._now_ns())]
