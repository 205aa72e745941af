"""The report and dispatch gates: read the task's state, judge, and say how the answer is recorded.

An answer is never older than the last event that the asking runtime has stored for the task (`task.current_state`).
Nor is it judged by older packs than an event stored now would be. The one exception is the same question, byte for byte
and under the same request id, asked again within a few seconds because no answer came: it gets its first answer.
"""

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from redis.exceptions import RedisError

from lictor_bus.concurrency import together
from lictor_bus.errors import BusError, ForgedState
from lictor_bus.gate import GateRefusal
from lictor_bus.gates import task
from lictor_bus.gates.gate_recorder import PendingRecord
from lictor_bus.gates.gate_runner import BoundGate, Given, ReceivedQuestion, RecordTime
from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing
from lictor_policy.errors import TaskStateError
from lictor_policy.gates.judgement import (
    GateJudgement,
    judge_dispatch,
    judge_report,
    write_gate_record,
)
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.task.state import TaskState
from lictor_policy_evaluator.packs.configs_in_force import ConfigsInForce, NoConfig
from lictor_policy_evaluator.task.current_state import NotCaughtUp, TaskStates
from lictor_schema.gates.gate import DispatchGateRequest, GateAnswer, ReportGateRequest

NOT_CAUGHT_UP = "lictor.gate.not-caught-up"

CATCH_UP_WITHIN_S = 1.0
RETRY_AFTER_MS = 250

# Answers that must be on record before they are given.
_HELD_BACK = ("deny", "rewrite")
# Answers after which something is shown or dispatched.
_LETS_THROUGH = ("allow", "rewrite")

GateName = Literal["report", "dispatch"]
Request = ReportGateRequest | DispatchGateRequest


class JudgedTask(NamedTuple):
    """A task as far as its history was counted."""

    state: TaskState | None
    sequence: int
    config: EvaluatorConfig


class Gates:
    """Answers to both gates, judged by whatever configuration is in force for the task."""

    def __init__(
        self,
        tasks: TaskStates,
        *,
        partitions: int,
        configs: ConfigsInForce,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._tasks = tasks
        self._partitions = partitions
        self._configs = configs
        self._now_ns = now_ns

    def bound(self) -> Sequence[BoundGate[Any, Any]]:
        """The gates with their handlers."""
        return (
            BoundGate(
                gate=task.REPORT,
                handle=self.report,
                explain=_explain,
                records_of=lambda asked, _, answer: self._refused("report", asked, answer),
            ),
            BoundGate(
                gate=task.DISPATCH,
                handle=self.dispatch,
                explain=_explain,
                records_of=lambda asked, _, answer: self._refused("dispatch", asked, answer),
            ),
        )

    async def report(self, request: ReportGateRequest) -> Given[GateAnswer]:
        """May this message be shown to the operator?"""
        try:
            standing = await self._standing(request.runtime, request.task_id)
        except NotCaughtUp:
            return self._given("report", request, GateJudgement(_not_caught_up(request)), None)
        now_us = self._now_ns() // 1000
        judged = judge_report(standing.state, request, now_us, standing.config)
        return self._given("report", request, judged, standing)

    async def dispatch(self, request: DispatchGateRequest) -> Given[GateAnswer]:
        """May this task or subagent be dispatched?"""
        parent = None
        try:
            standing = await self._standing(request.runtime, request.task_id)
            if request.dispatch_kind == "task" and request.parent_task_id is not None:
                parent = (await self._standing(request.runtime, request.parent_task_id)).state
        except NotCaughtUp:
            return self._given("dispatch", request, GateJudgement(_not_caught_up(request)), None)
        now_us = self._now_ns() // 1000
        judged = judge_dispatch(standing.state, request, now_us, standing.config, parent)
        return self._given("dispatch", request, judged, standing)

    async def _standing(self, runtime: str, task_id: str) -> JudgedTask:
        partition = subjects.partition_of(subjects.token(task_id), self._partitions)
        found, config = await together(
            self._tasks.now(runtime, task_id, CATCH_UP_WITHIN_S),
            self._configs.now(partition, task.REPORT.within_s),
        )
        return JudgedTask(found.state, found.sequence, config)

    def _given(
        self, gate: GateName, request: Request, judged: GateJudgement, standing: JudgedTask | None
    ) -> Given[GateAnswer]:
        """An answer and when it is recorded: first where a pack wants it so, before when it holds something back."""
        decision, now_ns = judged.answer.decision, self._now_ns()
        # A rewrite lets a message through too, though not as it was.
        if decision in _LETS_THROUGH and standing is not None and standing.config.records_first:
            when = RecordTime.FIRST
        else:
            when = RecordTime.BEFORE if decision in _HELD_BACK else RecordTime.BESIDE
        return Given(
            judged.answer,
            lambda _asked, _body: self._record(gate, request, judged, standing, now_ns),
            when,
            is_final=decision != "wait",
        )

    def _refused(
        self, gate: GateName, asked: ReceivedQuestion[Any], answer: GateAnswer
    ) -> Sequence[PendingRecord]:
        """The record of a denial that nobody judged; a record holds the whole question, so it must be readable."""
        if asked.request is None:
            return ()
        return [self._record(gate, asked.request, GateJudgement(answer), None, self._now_ns())]

    def _record(
        self,
        gate: GateName,
        request: Request,
        judged: GateJudgement,
        standing: JudgedTask | None,
        now_ns: int,
    ) -> PendingRecord:
        partition = subjects.partition_of(subjects.token(request.task_id), self._partitions)
        config = self._configs.last_known(partition) if standing is None else standing.config
        record_id = str(uuid.uuid4())
        record = write_gate_record(
            record_id,
            now_ns // 1000,
            gate,
            request,
            judged,
            config.config_hash,
            None if standing is None else standing.sequence,
        )
        message = Outgoing(
            subjects.gated(request.runtime, gate, request.task_id), record, record_id
        )
        return PendingRecord(gate, request.task_id, judged.answer, message)


def _not_caught_up(request: Request) -> GateAnswer:
    return GateAnswer.wait(
        request.request_id,
        NOT_CAUGHT_UP,
        f"the last event of task {request.task_id} has not been judged yet",
        "ask again; if it stays so, see `lictor doctor`",
        RETRY_AFTER_MS,
    )


def _explain(error: Exception, _request: object) -> GateRefusal | None:
    """Which dependency is away."""
    if isinstance(error, NoConfig):
        what = "the packs in force can't be loaded"
    elif isinstance(error, ForgedState):
        what = "the task's stored state is not as it was left"
    elif isinstance(error, BusError):
        what = "the event stream can't be read"
    elif isinstance(error, TaskStateError):
        what = "the task's stored state can't be read"
    elif isinstance(error, RedisError | OSError):
        what = "the state store does not answer"
    else:
        return None
    return GateRefusal(
        task.REPORT.refusals.unavailable,
        f"{what} ({type(error).__name__}), so the act is denied",
        "ask again; if it stays so, see `lictor doctor`",
    )
