"""The report and dispatch gates on the bus: read the task's state, judge, record, answer.

An answer is never older than the last event that the asking runtime has stored for the task (see `task_states`). Nor
is it judged by older packs than an event stored now would be. Whatever goes wrong is a denial with the reason.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from redis.exceptions import RedisError

from lictor_bus.errors import BusError
from lictor_bus.names import subjects
from lictor_bus.service.gate_questions import answer_question
from lictor_bus.service.gate_recorder import GateRecorder, PendingRecord
from lictor_bus.service.telemetry import Telemetry
from lictor_bus.wire.publish import Outgoing
from lictor_policy.errors import StateError
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

log = logging.getLogger("lictor.gate")

NOT_CAUGHT_UP = "lictor.gate.not-caught-up"
UNAVAILABLE = "lictor.gate.unavailable"
UNRECORDED = "lictor.gate.unrecorded"

# Together shorter than the two seconds after which the SDK takes silence as a denial.
JUDGE_WITHIN_S = 1.4
CATCH_UP_WITHIN_S = 1.0
RECORD_WITHIN_S = 0.4
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
        client: Client,
        tasks: TaskStates,
        telemetry: Telemetry,
        *,
        service: str,
        partitions: int,
        configs: ConfigsInForce,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._tasks = tasks
        self._telemetry = telemetry
        self._service = service
        self._partitions = partitions
        self._configs = configs
        self._now_ns = now_ns
        self._recorder = GateRecorder(client, telemetry)

    async def report(self, message: Msg) -> bytes:
        """May this message be shown to the operator?"""

        async def answer(request: ReportGateRequest) -> GateAnswer:
            return await self._answer("report", request, self._judge_report)

        return await self._reply("report", message, ReportGateRequest, answer)

    async def dispatch(self, message: Msg) -> bytes:
        """May this task or subagent be dispatched?"""

        async def answer(request: DispatchGateRequest) -> GateAnswer:
            return await self._answer("dispatch", request, self._judge_dispatch)

        return await self._reply("dispatch", message, DispatchGateRequest, answer)

    async def close(self) -> None:
        """Wait until every answer given so far is recorded, or known not to be."""
        await self._recorder.close()

    async def _reply(
        self,
        gate: GateName,
        message: Msg,
        request_type: type,
        answer: Callable[..., Awaitable[GateAnswer]],
    ) -> bytes:
        given = await answer_question(message.data, self._service, gate, request_type, answer)
        self._telemetry.gate_answered(gate, given.decision)
        return given.to_json()

    async def _answer(
        self,
        gate: GateName,
        request: Request,
        judge: Callable[..., Awaitable[tuple[GateJudgement, JudgedTask]]],
    ) -> GateAnswer:
        standing: JudgedTask | None = None
        try:
            async with asyncio.timeout(JUDGE_WITHIN_S):
                judged, standing = await judge(request)
        except NotCaughtUp:
            judged = GateJudgement(_not_caught_up(request))
        except (BusError, RedisError, OSError, TimeoutError, StateError) as error:
            log.warning("gate %s: %s: %s", gate, type(error).__name__, error)
            judged = GateJudgement(_unavailable(request, error))
        except Exception as error:
            log.exception("gate %s failed", gate)
            judged = GateJudgement(_broken(self._service, gate, request, error))
        return await self._on_record(gate, request, judged, standing)

    async def _judge_report(self, request: ReportGateRequest) -> tuple[GateJudgement, JudgedTask]:
        standing = await self._standing(request.runtime, request.task_id)
        return (
            judge_report(standing.state, request, self._now_ns() // 1000, standing.config),
            standing,
        )

    async def _judge_dispatch(
        self, request: DispatchGateRequest
    ) -> tuple[GateJudgement, JudgedTask]:
        standing = await self._standing(request.runtime, request.task_id)
        parent = None
        if request.dispatch_kind == "task" and request.parent_task_id is not None:
            parent = (await self._standing(request.runtime, request.parent_task_id)).state
        judged = judge_dispatch(
            standing.state, request, self._now_ns() // 1000, standing.config, parent
        )
        return judged, standing

    async def _standing(self, runtime: str, task_id: str) -> JudgedTask:
        partition = subjects.partition_of(subjects.token(task_id), self._partitions)
        found, config = await asyncio.gather(
            self._tasks.now(runtime, task_id, CATCH_UP_WITHIN_S),
            self._configs.now(partition, JUDGE_WITHIN_S),
        )
        return JudgedTask(found.state, found.sequence, config)

    async def _on_record(
        self, gate: GateName, request: Request, judged: GateJudgement, standing: JudgedTask | None
    ) -> GateAnswer:
        """The answer to give, kept: first when it holds something back or a pack wants it so, else beside."""
        kept = self._kept(gate, request, judged, standing)
        decision = judged.answer.decision
        # A rewrite lets a message through too, though not as it was.
        if decision in _LETS_THROUGH and standing is not None and standing.config.records_first:
            if await self._recorder.stored_in(kept, RECORD_WITHIN_S):
                return judged.answer
            denied = GateJudgement(_unrecorded(request))
            self._recorder.write_soon(lambda: self._kept(gate, request, denied, standing))
            return denied.answer
        if decision in _HELD_BACK:
            await self._recorder.write_now(kept, RECORD_WITHIN_S)
        else:
            self._recorder.write_soon(lambda: kept)
        return judged.answer

    def _kept(
        self, gate: GateName, request: Request, judged: GateJudgement, standing: JudgedTask | None
    ) -> PendingRecord:
        partition = subjects.partition_of(subjects.token(request.task_id), self._partitions)
        config = self._configs.last_known(partition) if standing is None else standing.config
        record_id = str(uuid.uuid4())
        record = write_gate_record(
            record_id,
            self._now_ns() // 1000,
            gate,
            request,
            judged,
            config.config_hash,
            None if standing is None else standing.sequence,
        )
        message = Outgoing(subjects.gated(gate, request.task_id), record, record_id)
        return PendingRecord(gate, request.task_id, judged.answer, message)


def _not_caught_up(request: Request) -> GateAnswer:
    return GateAnswer.wait(
        request.request_id,
        NOT_CAUGHT_UP,
        f"the last event of task {request.task_id} has not been judged yet",
        "ask again; if it stays so, see `lictor doctor`",
        RETRY_AFTER_MS,
    )


def _unavailable(request: Request, error: Exception) -> GateAnswer:
    if isinstance(error, NoConfig):
        what = "the packs in force can't be loaded"
    elif isinstance(error, BusError):
        what = "the event stream can't be read"
    elif isinstance(error, StateError):
        what = "the task's stored state can't be read"
    else:
        what = "the state store does not answer"
    return GateAnswer.deny(
        request.request_id,
        UNAVAILABLE,
        f"{what} ({type(error).__name__}), so the act is denied",
        "ask again; if it stays so, see `lictor doctor`",
    )


def _unrecorded(request: Request) -> GateAnswer:
    return GateAnswer.deny(
        request.request_id,
        UNRECORDED,
        "the answer can't be recorded now, and a pack wants every answer on record",
        "ask again; if it stays so, see `lictor doctor`: the broker's disk may be full",
    )


def _broken(service: str, gate: str, request: Request, error: Exception) -> GateAnswer:
    return GateAnswer.deny(
        request.request_id,
        f"{service}.internal-error",
        f"gate {gate} failed inside: {type(error).__name__}",
        "look at the service's log; the act stays denied until the gate works",
    )
