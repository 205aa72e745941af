"""What runtimes and operators ask about governed decisions, between the bus and the pure functions that decide."""

import asyncio
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from nats.aio.client import Client

from lictor_bus.concurrency import together
from lictor_bus.logs.entry_logs import judged_in
from lictor_bus.logs.governed_decisions import DecisionAt, Decisions, Folds
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import PAGE, read_from
from lictor_contracts.action.gate import Judged, judge
from lictor_contracts.action.verification import Methods
from lictor_contracts.decision import kill_switch, progress, questions
from lictor_contracts.decision.outcome import final_rung
from lictor_contracts.decision.question_stamp import (
    Decided,
    QuestionStamp,
    not_begun,
    refused,
    utc_text,
)
from lictor_contracts.decision.questions import Governing
from lictor_contracts.decision.state import LATEST_US, Deciding, Switch, fold, fold_switch
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.decision_log import CallsSince, DecisionBegun
from lictor_schema.contracts.decision_questions import (
    ActionGateRequest,
    ActionStanding,
    ApproveRequest,
    CaptureReport,
    ContractAnswer,
    DecisionReport,
    DecisionShowAnswer,
    DecisionStanding,
    DispatchReport,
    SwitchOrder,
    TaskOrder,
    VerifyRequest,
)
from lictor_schema.core.ids import episode_id
from lictor_schema.core.time import to_micros
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.gates.gate import GateRequest
from lictor_schema.seals.episode import EpisodeState
from lictor_supervisor.decision.envelopes_in_force import EnvelopesInForce, NoPacks
from lictor_supervisor.decision.halt_news import tell_tool_gates


class ToolCallCounter(Protocol):
    """The tool calls that the tool gate let through."""

    async def since(self, session_id: str | None) -> CallsSince:
        """From where on those of a task count whose decision begins now."""
        ...

    async def count(self, key: str, begun: DecisionBegun) -> int:
        """How many count for a decision."""
        ...


At = DecisionAt[Deciding, Switch]
FOLDS = Folds(fold, fold_switch, Switch(), ContractError)
OPERATOR = "operator"
# The evaluator decides on the event that starts a task within milliseconds; who begins at once need not ask again.
_TASK_WITHIN_S = 1.0
_LOOK_EVERY_S = 0.05


class _Run(NamedTuple):
    """A run of a task."""

    first_event_id: str
    """The event that its first record is about, by which its episode is named."""
    started: DecisionRecord


class ContractDesk:
    """One method a question."""

    def __init__(
        self,
        client: Client,
        decisions: Decisions[Deciding, Switch],
        envelopes: EnvelopesInForce,
        methods: Methods,
        calls: ToolCallCounter,
    ) -> None:
        self._client = client
        self._decisions = decisions
        self._envelopes = envelopes
        self._methods = methods
        self._calls = calls

    async def begin(self, request: GateRequest) -> ContractAnswer:
        """Begin the decision of a task that has started."""
        run = await self._run(request.task_id)
        if run is None:
            now = self._decisions.now_us()
            return refused(
                _asked(request, now, 0),
                "no-task",
                f"no open task {request.task_id} is known: nothing was decided on it",
                "start the task first (`task_started`), and begin its decision then",
            ).answer
        started, episode = run.started, episode_id(run.started.task_id, run.first_event_id)

        async def decide(at: At, asked: QuestionStamp) -> Decided:
            governing = Governing(episode, started.decision_type, started.runtime, None, None)
            # One that has begun keeps its envelope, whatever is in force by now.
            if at.state is None or at.state.begun.episode_id != episode:
                since = await self._calls.since(started.session_id)
                governing = replace(governing, calls_since=since)
                try:
                    governing = await self._governing(governing, started.task_id)
                except NoPacks as error:
                    return refused(
                        asked,
                        "no-packs",
                        f"the packs in force can't be told or loaded: {error}",
                        "ask again; if it stays so, see `lictor doctor`",
                    )
            return questions.begin(at.state, at.switch, asked, governing)

        return (await self._change(request, decide)).answer

    async def _governing(self, governing: Governing, task_id: str) -> Governing:
        """The same with the envelope that is in force now."""
        envelopes, sequence = await self._envelopes.now(task_id)
        governed = envelopes.get(governing.decision_type)
        if governed is None:
            return governing
        return replace(governing, dte=governed.dte, pack=governed.pack, switch_sequence=sequence)

    async def report(self, request: DecisionReport) -> ContractAnswer:
        """Note what happened."""
        said = request.report
        at_us = 0
        if isinstance(said, CaptureReport):
            at_us = to_micros(said.captured_at)

        async def decide(at: At, asked: QuestionStamp) -> Decided:
            state = at.state
            if state is not None and isinstance(said, DispatchReport):
                seen = await self._seen(request, state)
                state = replace(state, calls_seen=max(state.calls_seen, seen))
            return progress.report(state, at.switch, asked, said, at_us)

        async def told() -> ContractAnswer:
            return (await self._change(request, decide)).answer

        answer = await told()
        if answer.ok and isinstance(said, DispatchReport) and await self._is_frozen(request):
            answer = await told()
        return answer

    async def gate(self, request: ActionGateRequest) -> Judged:
        """May this action be dispatched?"""
        judged = await self._judge(request)
        if judged.answer.decision == "allow" and await self._is_frozen(request):
            judged = await self._judge(request)
        return judged

    async def _is_frozen(self, request: GateRequest) -> bool:
        """Whether the decision is frozen by now.

        The kill-switch has a log of its own: engaged while we wrote ours, it must not be too late.
        """
        known, held = await together(self._decisions.known(_key(request)), self._decisions.switch())
        return known.state is None or known.state.life(held.switch).state is EpisodeState.FROZEN

    async def _judge(self, request: ActionGateRequest) -> Judged:
        async def decide(at: At) -> Judged:
            asked = _asked(request, at.now_us, at.after)
            seen = 0 if at.state is None else await self._seen(request, at.state)
            return judge(at.state, at.switch, asked, request.contract, request.facts, seen)

        return await self._decisions.change(_key(request), decide)

    async def _seen(self, request: GateRequest, state: Deciding) -> int:
        """The tool calls that our gate let through; of a decision that has ended none count any more."""
        return await self._calls.count(_key(request), state.begun) if state.is_open else 0

    async def verify(self, request: VerifyRequest) -> ContractAnswer:
        """Is what an action did what was expected?"""
        decided = await self._change(
            request,
            lambda at, asked: progress.verify(
                at.state,
                at.switch,
                asked,
                action_id=request.action_id,
                method=request.method,
                expectation=request.expectation,
                observed=request.observed,
                took_ms=request.took_ms,
                methods=self._methods,
            ),
        )
        return decided.answer

    async def show(self, request: GateRequest) -> ContractAnswer:
        """How a decision stands; changes nothing."""
        known = await self._decisions.known(_key(request))
        held = await self._decisions.switch()
        halted = held.switch.halted
        now = self._decisions.now_us()
        if known.state is None:
            answer = not_begun(_asked(request, now, 0)).answer.model_dump()
            return DecisionShowAnswer(**answer, halted_by=halted.by if halted else None)
        return DecisionShowAnswer(
            request_id=request.request_id,
            ok=True,
            reason="as its log tells it",
            standing=standing_of(known.state, held.switch, now),
            halted_by=halted.by if halted else None,
        )

    async def approve(self, request: ApproveRequest) -> ContractAnswer:
        """Somebody approves an action, or a bypass."""
        return await self._order(
            request,
            lambda at, asked: questions.approve(
                at.state,
                asked,
                by=request.by,
                reason=request.reason,
                action_hash=request.action_hash,
            ),
        )

    async def freeze(self, request: TaskOrder) -> ContractAnswer:
        """Somebody stops a decision."""
        return await self._order(
            request,
            lambda at, asked: questions.freeze(
                at.state, at.switch, asked, by=request.by, reason=request.reason
            ),
        )

    async def resume(self, request: TaskOrder) -> ContractAnswer:
        """Somebody lets a decision go on; the sealer reads that in its log, and seals a task that closed meanwhile."""
        return await self._order(
            request,
            lambda at, asked: questions.resume(
                at.state, at.switch, asked, by=request.by, reason=request.reason
            ),
        )

    async def halt(self, request: SwitchOrder) -> ContractAnswer:
        """Somebody engages the kill-switch."""
        return await self._turn(request, kill_switch.halt)

    async def release(self, request: SwitchOrder) -> ContractAnswer:
        """Somebody releases the kill-switch."""
        return await self._turn(request, kill_switch.release)

    async def tick(self, key: str, due_us: int) -> None:
        """Look at the time of a decision, at a moment not before the one given."""

        def decide(at: At) -> Decided:
            begun = None if at.state is None else at.state.begun
            asked = QuestionStamp(
                f"tick-{due_us}",
                "" if begun is None else begun.runtime,
                "" if begun is None else begun.task_id,
                "" if begun is None else begun.agent_id,
                max(at.now_us, due_us),
                at.after,
            )
            return questions.tick(at.state, asked)

        await self._decisions.change(key, decide)

    async def _change(self, request: GateRequest, decide: Any) -> Decided:
        return await self._decisions.change(
            _key(request), lambda at: decide(at, _asked(request, at.now_us, at.after))
        )

    async def _order(self, order: TaskOrder, decide: Any) -> ContractAnswer:
        def decided(at: At) -> Decided:
            asked = QuestionStamp(
                order.request_id, order.runtime, order.task_id, OPERATOR, at.now_us, at.after
            )
            return decide(at, asked)

        key = subjects.decision_key(order.runtime, order.task_id)
        return (await self._decisions.change(key, decided)).answer

    async def _turn(self, order: SwitchOrder, decide: Any) -> ContractAnswer:
        switched: kill_switch.Switched = await self._decisions.turn(
            lambda switch, now_us, after: decide(
                switch,
                request_id=order.request_id,
                by=order.by,
                reason=order.reason,
                now_us=now_us,
                after=after,
            )
        )
        answer = switched.answer
        if not answer.ok:
            return answer
        # Also for a repeated order: the first may have been stored by an instance that died then.
        problem = await tell_tool_gates(self._client)
        if problem is None:
            return answer
        return answer.model_copy(update={"reason": f"{answer.reason}; {problem}"})

    async def _run(self, task_id: str) -> _Run | None:
        """The run of the task that is open; None when none is known in time.

        Whatever else is reported about a task, before it started or after it closed, opens none.
        """
        deadline = asyncio.get_running_loop().time() + _TASK_WITHIN_S
        first: DecisionRecord | None = None
        started: DecisionRecord | None = None
        after = 0
        while True:
            page = await read_from(
                self._client,
                streams.DECISIONS,
                subjects.decisions_on_task(task_id),
                after + 1,
                PAGE,
            )
            for stored in page:
                # Whatever it is: what is passed over is not read again.
                after = stored.sequence
                record = judged_in(stored, _read)
                if record is None:
                    continue
                if record.task_closed:
                    first = started = None
                else:
                    first = first or record
                    if record.event_type == "task_started":
                        started = started or record
            if page:
                continue
            if first is not None and started is not None:
                return _Run(first.event_id, started)
            if asyncio.get_running_loop().time() > deadline:
                return None
            await asyncio.sleep(_LOOK_EVERY_S)


def standing_of(state: Deciding, switch: Switch, now_us: int) -> DecisionStanding:
    """A decision as it is shown."""
    life = state.life(switch)
    begun = state.begun
    due = begun.at_us + begun.dte.deadline_ms * 1000
    return DecisionStanding(
        episode_id=begun.episode_id,
        decision_type=begun.decision_type,
        agent_id=begun.agent_id,
        state=life.state,
        by=life.authority.by,
        reason=life.authority.reason,
        begun_at=utc_text(begun.at_us),
        deadline_at=utc_text(min(due, LATEST_US)),
        ended=state.ended_us is not None,
        entries=state.entries,
        rung=final_rung(state, now_us),
        actions=tuple(
            ActionStanding(
                action_id=name,
                action_type=each.contract.action_type,
                action_hash=each.action_hash,
                decision=each.decision,  # pyright: ignore[reportArgumentType] -- as its entry had it
                approvers=tuple(
                    dict.fromkeys(
                        one.approver
                        for one in state.approvals
                        if one.action_hash == each.action_hash
                    )
                ),
                dispatches=each.dispatches,
                outcome=each.outcome,  # pyright: ignore[reportArgumentType] -- as its entry had it
                reasons=each.reasons if each.decision == "wait" else (),
            )
            for name, each in state.actions.items()
        ),
    )


def _asked(request: GateRequest, now_us: int, after: int) -> QuestionStamp:
    return QuestionStamp(
        request.request_id, request.runtime, request.task_id, request.agent_id, now_us, after
    )


def _key(request: GateRequest) -> str:
    return subjects.decision_key(request.runtime, request.task_id)


def _read(body: bytes) -> DecisionRecord:
    return DecisionRecord.model_validate_json(body, by_name=False, by_alias=True)
