"""A governed decision, as the agent that makes it sees it: begun under its envelope, and asked about before it acts.

    async with task.decision() as decision:
        async with decision.stage("context"):
            await decision.capture("balance", value=1200)
        await decision.count(hops=0, fanout=1, tool_calls=2, chain_depth=1)
        result = await decision.carry_out(contract, refund)
        await decision.verify("a-1", expected={"status": "refunded"}, observed=read_back())

Whatever is not answered is not allowed, and has not happened.
"""

import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from nats.aio.client import Client
from nats.errors import Error as NatsError
from pydantic import JsonValue, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from lictor.errors import LictorError
from lictor.fast.verdicts import MALFORMED_ANSWER, MALFORMED_QUESTION, UNANSWERED
from lictor.gate_questions import GATE_TIMEOUT_S, ask_gate, build_question
from lictor_bus.errors import NotAllowed
from lictor_bus.names import subjects
from lictor_schema.contracts.action import Precondition, SafeActionContract
from lictor_schema.contracts.decision_log import RetriesSeen
from lictor_schema.contracts.decision_questions import (
    ActionGateAnswer,
    ActionGateRequest,
    ContractAnswer,
    DecisionBeginAnswer,
    DecisionReport,
    DecisionShowAnswer,
    VerifyAnswer,
    VerifyRequest,
)
from lictor_schema.core.base_model import Scalar
from lictor_schema.core.canonical_json import CanonicalError, content_hash
from lictor_schema.errors import describe_validation_error
from lictor_schema.gates.gate import GateRequest

R = TypeVar("R")
A = TypeVar("A", bound=ContractAnswer)

# An answer that was lost is asked for again: under the same id it counts once.
_TRIES = 3

Stage = Literal["context", "plan", "act", "verify"]
Contract = SafeActionContract | Mapping[str, Any]


class DecisionRefused(LictorError):
    """A decision or a stage of it may not begin, or what was done could not be recorded."""

    def __init__(self, answer: ContractAnswer) -> None:
        super().__init__(f"{answer.reason}; {answer.remedy or 'see the decision contracts'}")
        self.answer = answer


class ActionDenied(LictorError):
    """An action may not be dispatched, and was not. The text tells every reason, and what would help."""

    def __init__(self, answer: ActionGateAnswer) -> None:
        told = [f"{each.message}; {each.remedy}" for each in answer.reasons]
        super().__init__(" | ".join(told) or f"{answer.reason}; {answer.remedy}")
        self.answer = answer


class GovernedDecision:
    """The decision of one task; `async with` begins it and ends it."""

    def __init__(
        self,
        client: Client,
        *,
        runtime: str,
        agent_id: str,
        task_id: str,
        timeout_s: float = GATE_TIMEOUT_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._runtime = runtime
        self._agent_id = agent_id
        self._timeout_s = timeout_s
        self._now = now
        self.task_id = task_id

    async def __aenter__(self) -> "GovernedDecision":
        answer = await self.begin()
        if not answer.ok:
            raise DecisionRefused(answer)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def begin(self) -> DecisionBeginAnswer:
        """Begin the decision of a task that has started; begun again, it goes on."""
        return await self._ask("begin", GateRequest, DecisionBeginAnswer, {})

    async def end(self) -> ContractAnswer:
        """Say that nothing more is planned, dispatched or verified."""
        return await self.report("decision_ended")

    async def show(self) -> DecisionShowAnswer:
        """How the decision stands."""
        return await self._ask("show", GateRequest, DecisionShowAnswer, {})

    @asynccontextmanager
    async def stage(self, stage: Stage) -> AsyncGenerator[ContractAnswer, None]:
        """Run a stage; the answer tells the rung to take when too little time is left for it.

        Raises DecisionRefused when it may not begin.
        """
        answer = await self.report("stage_begun", stage=stage)
        if not answer.ok:
            raise DecisionRefused(answer)
        try:
            yield answer
        finally:
            await self.report("stage_ended", stage=stage)

    async def capture(
        self, feature: str, captured_at: datetime | None = None, *, value: JsonValue = None
    ) -> ContractAnswer:
        """Say that a feature of the context was captured, now or at a moment before.

        A value is kept in the decision's log, so that it can be told later what was decided on; at most 16 KiB of JSON.
        """
        moment = captured_at or self._now()
        fields = {"feature": feature, "captured_at": moment, "value": value}
        return await self.report("context_captured", **fields)

    async def count(
        self, *, hops: int, fanout: int, tool_calls: int, chain_depth: int
    ) -> ContractAnswer:
        """Say how far the decision has spread up to now."""
        counts = {"hops": hops, "fanout": fanout, "tool_calls": tool_calls}
        return await self.report("spread_counted", **counts, chain_depth=chain_depth)

    async def act(
        self,
        contract: Contract,
        *,
        facts: Mapping[str, Scalar] | None = None,
        request_id: str | None = None,
    ) -> ActionGateAnswer:
        """May this action be dispatched? Never raises: no answer, or no usable one, is a denial."""
        fields = {**self._question(request_id), "contract": contract, "facts": facts or {}}
        request = build_question("action", ActionGateRequest, ActionGateAnswer, fields)
        if isinstance(request, ActionGateAnswer):
            return request
        return await ask_gate(self._client, "action", request, ActionGateAnswer, self._timeout_s)

    async def dispatched(
        self, action_id: str, action_type: str, action_hash: str | None = None
    ) -> ContractAnswer:
        """Say that an action is sent; `ok` is false when nothing allowed it."""
        fields = {"action_id": action_id, "action_type": action_type, "action_hash": action_hash}
        return await self.report("action_dispatched", **fields)

    async def finished(
        self,
        action_id: str,
        outcome: Literal["success", "partial", "fail"],
        result: object,
        *,
        expected: Mapping[str, Scalar] | None = None,
        observed: Mapping[str, Scalar] | None = None,
        retries: Sequence[RetriesSeen | Mapping[str, Any]] = (),
    ) -> ContractAnswer:
        """Say how an action ended; of its result only the hash is told."""
        return await self.report(
            "action_finished",
            action_id=action_id,
            outcome=outcome,
            result_hash=_hash_of(result),
            expected=expected or {},
            observed=observed or {},
            retries=retries,
        )

    async def carry_out(
        self,
        contract: Contract,
        work: Callable[[], Awaitable[R]],
        *,
        facts: Mapping[str, Scalar] | None = None,
    ) -> R:
        """Ask the gate, say that the action is sent, do it, and say how it ended.

        Raises ActionDenied when it is not allowed, and DecisionRefused when the dispatch could not be recorded; in
        both cases nothing was done.
        """
        answer = await self.act(contract, facts=facts)
        if answer.decision != "allow":
            raise ActionDenied(answer)
        read = _read_contract(contract)
        told = await self.dispatched(read.action_id, read.action_type, answer.action_hash)
        if not told.ok:
            raise DecisionRefused(told)
        try:
            result = await work()
        except BaseException as error:
            await self.finished(read.action_id, "fail", type(error).__name__)
            raise
        await self.finished(read.action_id, "success", result)
        return result

    async def verify(
        self,
        action_id: str,
        *,
        observed: Mapping[str, Scalar] | Callable[[], Awaitable[Mapping[str, Scalar]]],
        method: str = "read_after_write",
        expected: Mapping[str, Scalar] | None = None,
        invariants: Sequence[Precondition | Mapping[str, Any]] = (),
        took_ms: int = 0,
    ) -> VerifyAnswer:
        """Hold what was read back against what was expected; a function is called, and its time taken.

        One that raises leaves nothing observed, which is inconclusive, never a pass.
        """
        state: Mapping[str, Scalar] | None
        if callable(observed):
            began = time.monotonic()
            try:
                state = await observed()
            except Exception:  # noqa: BLE001 -- a state that can't be read is told as such
                state = None
            took_ms = max(took_ms, round((time.monotonic() - began) * 1000))
        else:
            state = observed
        fields = {
            "action_id": action_id,
            "method": method,
            "expected": expected or {},
            "invariants": invariants,
            "observed": state,
            "took_ms": took_ms,
        }
        return await self._ask("verify", VerifyRequest, VerifyAnswer, fields)

    async def report(self, what: str, **fields: Any) -> ContractAnswer:
        """Tell anything that happened; never raises: no answer is `ok: false`."""
        return await self._ask(
            "report", DecisionReport, ContractAnswer, {"report": {"what": what, **fields}}
        )

    def _question(self, request_id: str | None = None) -> dict[str, Any]:
        return {
            "request_id": request_id or str(uuid.uuid4()),
            "runtime": self._runtime,
            "agent_id": self._agent_id,
            "task_id": self.task_id,
            "requested_at": self._now(),
        }

    async def _ask(
        self,
        operation: str,
        request_type: type[GateRequest],
        answer_type: type[A],
        fields: Mapping[str, Any],
    ) -> A:
        asked = {**self._question(), **fields}
        request_id = str(asked["request_id"])
        try:
            # Through JSON: a mapping is as good as a model there, and text as good as a name.
            body = to_json(asked, by_alias=True, inf_nan_mode="constants")
            request = request_type.from_json(body)
        except ValidationError as error:
            problems = describe_validation_error(error)[:5]
            told = "; ".join(f"{each.path} {each.problem}" for each in problems)
            return _refused(answer_type, request_id, MALFORMED_QUESTION, told)
        except (CanonicalError, PydanticSerializationError, ValueError) as error:
            return _refused(answer_type, request_id, MALFORMED_QUESTION, str(error))
        subject = subjects.contract_request(operation, self._runtime)
        return await ask_contract(
            self._client, subject, request.to_json(), request_id, answer_type, self._timeout_s
        )


async def ask_contract(
    client: Client,
    subject: str,
    body: bytes,
    request_id: str,
    answer_type: type[A],
    timeout_s: float = GATE_TIMEOUT_S,
) -> A:
    """The answer to a question about a decision; `ok: false` with the reason when there is none."""
    problem = "nobody answers"
    for _ in range(_TRIES):
        try:
            reply = await client.request(subject, body, timeout=timeout_s)
        except NotAllowed as error:
            return _refused(answer_type, request_id, UNANSWERED, str(error))
        except (NatsError, TimeoutError) as error:
            problem = str(error).removeprefix("nats: ") or type(error).__name__
            continue
        try:
            return answer_type.from_json(reply.data)
        except (ValidationError, CanonicalError) as error:
            return _refused(answer_type, request_id, MALFORMED_ANSWER, str(error))
    return _refused(answer_type, request_id, UNANSWERED, f"{subject}: {problem}")


def _refused(answer_type: type[A], request_id: str, policy_id: str, reason: str) -> A:
    return answer_type(
        request_id=request_id,
        ok=False,
        reason=reason or "no reason given",
        remedy="see `lictor doctor`, and ask again"
        if policy_id == UNANSWERED
        else "correct the named fields and ask again",
        policy_id=policy_id,
    )


def _read_contract(contract: Contract) -> SafeActionContract:
    if isinstance(contract, SafeActionContract):
        return contract
    return SafeActionContract.from_json(to_json(contract, by_alias=True))


def _hash_of(result: object) -> str:
    try:
        return content_hash(result)
    except (CanonicalError, TypeError, ValueError):
        # No plain JSON value: its text has to stand for it.
        return content_hash(repr(result))
