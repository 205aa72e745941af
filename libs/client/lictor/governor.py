"""The governor: one connection through which an agent reports, asks, and hears what was decided."""

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from nats.aio.client import Client
from pydantic import ValidationError

from lictor.approvals import APPROVAL_TIMEOUT_S, approval_of, call_decision_of
from lictor.decision_marks import mark_decision, marks_of
from lictor.errors import EventRefused, InvalidReceipt, LictorError, NotInTime, Unreachable
from lictor.event_publishing import STORE_TIMEOUT_S, AnyEvent, Published, read_event, store_event
from lictor.fast.session_operations import SessionOperations
from lictor.fast.unsent_results import unsent_here
from lictor.fast.workspace import in_this_process
from lictor.gate_questions import GATE_TIMEOUT_S, A, ask_gate, build_question
from lictor.governed_decision import GovernedDecision
from lictor.history.own_history import OwnHistory
from lictor.history.stored_decisions import AnyDecision, follow_decisions
from lictor.history.stored_history import StoredHistory, messages_of
from lictor.programs import PROOF_TIMEOUT_S, Program, SubmissionRefused, results, submit
from lictor.receipts import RECEIPT_TIMEOUT_S, find_decision, receipts_of, send_report
from lictor.run_results import RUN_TIMEOUT_S, RunReport, result_of
from lictor.runtimes.guarded_session import Guarding, OnAsk, OnFeedback
from lictor.runtimes.python.async_guard import Guard
from lictor.tasks import Task
from lictor_bus.gates.history import EPISODES, EVENTS
from lictor_schema.approvals.approval import ApprovalEntry
from lictor_schema.contracts.decision_questions import ActionGateAnswer, ActionGateRequest
from lictor_schema.core.ids import episode_id
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.mark import DecisionMark, MarkKind
from lictor_schema.decisions.receipt import DeliveryReceipt, ReceiptAnswer, ReceiptReport
from lictor_schema.errors import describe_validation_error
from lictor_schema.events.claim import CheckpointStructure, Claim, PromisedFollowup
from lictor_schema.events.operator_context import (
    EvidenceRef,
    ExternalizedPath,
    OperatorContext,
    ReportAnchor,
)
from lictor_schema.gates.gate import (
    DispatchGateRequest,
    GateAnswer,
    GateRequest,
    ReportedBy,
    ReportGateRequest,
)
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import ProofResult
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.sessions.session_questions import (
    Resource,
    StopGateAnswer,
    StopGateRequest,
    ToolGateAnswer,
    ToolGateRequest,
)

DECISION_TIMEOUT_S = 10.0
SEAL_TIMEOUT_S = 30.0
# Most events are decided on long before.
_FIRST_LOOK_S = 0.25
_LONGEST_PAUSE_S = 2.0

Gate = Literal["tool", "report", "stop", "action", "dispatch"]


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who speaks: what every event and question of this connection says about its sender."""

    runtime: str
    agent_id: str
    adapter_version: str
    operator: OperatorContext


class Governor:
    """One agent's connection to Lictor; made by `lictor.connect`."""

    def __init__(
        self,
        client: Client,
        identity: Identity,
        history: StoredHistory | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._now = now
        self._history = history or OwnHistory(client, identity.runtime)
        self.identity = identity

    async def start_task(
        self,
        title: str,
        *,
        task_id: str | None = None,
        checkpoint_interval_s: int | None = None,
        silence_timeout_s: int | None = None,
        mode: Literal["interactive", "silent"] = "interactive",
        workflow_shape: Literal["single-agent", "parent-child"] = "single-agent",
        channel: str | None = None,
        decision_type: str | None = None,
        correlation_id: str | None = None,
        parent_task_id: str | None = None,
        session_id: str | None = None,
        report_anchor: ReportAnchor | Mapping[str, Any] | None = None,
        externalized_path: ExternalizedPath | Mapping[str, Any] | None = None,
        event_id: str | None = None,
    ) -> Task:
        """Begin a governed task; its reporting duties are fixed here."""
        task = self.task(task_id or str(uuid.uuid4()), correlation_id=correlation_id)
        payload = {
            "title": title,
            "mode": mode,
            "workflow_shape": workflow_shape,
            "channel": channel or self.identity.operator.channel or "operator",
            "checkpoint_interval_s": checkpoint_interval_s,
            "silence_timeout_s": silence_timeout_s,
            "report_anchor": report_anchor,
            "externalized_path": externalized_path,
            "parent_task_id": parent_task_id,
            "session_id": session_id,
        }
        if decision_type is not None:
            payload["decision_type"] = decision_type
        await task.emit("task_started", payload, event_id=event_id)
        return task

    def task(self, task_id: str, *, correlation_id: str | None = None) -> Task:
        """A task by its id, whoever started it; nothing is published."""
        return Task(self, task_id, correlation_id or task_id, self._now)

    async def publish(self, event: AnyEvent, *, timeout_s: float = STORE_TIMEOUT_S) -> Published:
        """Store any canonical event (model, mapping or JSON); returns when it is durable.

        Raises InvalidEvent or EventRefused, naming the field, and Unreachable when the broker does
        not acknowledge in time; then it may be stored or not, and publishing the same event again
        is safe. All three are LictorErrors.
        """
        return await store_event(self._client, read_event(event), timeout_s)

    async def decisions(
        self, task_id: str | None = None, *, since_start: bool = False
    ) -> AsyncGenerator[DecisionRecord, None]:
        """Decisions as they are made, on one task or on all of this runtime's.

        Goes on for ever, over reconnects, without losing or repeating one. Begins with the first
        decision that is stored, or, without `since_start`, at the moment of the first step.
        """
        found = follow_decisions(
            self._history, task_id, of_guards_too=False, since_start=since_start
        )
        async with aclosing(found):
            async for record in found:
                if isinstance(record, DecisionRecord):
                    yield record

    def all_decisions(
        self, task_id: str | None = None, *, since_start: bool = False
    ) -> AsyncGenerator[AnyDecision, None]:
        """The same with those on calls and stops of guarded sessions, as one stream."""
        return follow_decisions(self._history, task_id, of_guards_too=True, since_start=since_start)

    async def decision_on(
        self,
        event: Published | str,
        *,
        task_id: str | None = None,
        timeout_s: float = DECISION_TIMEOUT_S,
    ) -> DecisionRecord:
        """The decision on one published event; an event id alone needs the task's id too.

        Raises EventRefused when a service set the event aside, NotInTime when nothing was heard.
        """
        published = event if isinstance(event, Published) else None
        event_id = published.event_id if published else str(event)
        of_task = task_id or (published.task_id if published else None)
        deciding = asyncio.create_task(self._first_decision(of_task, event_id))
        waiting = [deciding]
        if published is not None:
            waiting.append(asyncio.create_task(self._refusal(published)))
        try:
            done, _ = await asyncio.wait(
                waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise NotInTime(
                    f"there was no decision on event {event_id} within {timeout_s:g} s;"
                    " `lictor doctor` shows whether the policy evaluator runs"
                )
            # An event that was set aside and replayed has both; then the decision counts.
            return (deciding if deciding in done else done.pop()).result()
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def may(
        self,
        tool: str,
        params: Mapping[str, Any],
        *,
        task_id: str,
        session_id: str | None = None,
        call_id: str | None = None,
        resources: Sequence[Resource | Mapping[str, Any]] = (),
        knows_ask: bool = False,
        timeout_s: float = GATE_TIMEOUT_S,
    ) -> ToolGateAnswer:
        """May this tool be called in a session that has begun? Results are to be reported too: see `guard`.

        Never raises: no answer, or no usable one, is a denial. With `knows_ask`, the answer to a call that a person
        decides about is `ask`, which allows as little as `deny`.
        """
        fields = {
            "call_id": call_id or str(uuid.uuid4()),
            "tool": tool,
            "params": params,
            "resources": resources,
            "knows_ask": knows_ask,
        }
        return await self._ask_about(
            "tool", ToolGateRequest, ToolGateAnswer, task_id, session_id, fields, timeout_s
        )

    def guard(
        self,
        session_id: str,
        *,
        definition: str | None = None,
        workspace: str | os.PathLike[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        task_id: str | None = None,
        agent_id: str | None = None,
        definition_hash: str | None = None,
        deadline_at: datetime | None = None,
        stop_on_silence: Literal["block", "allow"] | None = None,
        on_feedback: OnFeedback | None = None,
        on_ask: OnAsk | None = None,
        apply_edits: bool = False,
        timeout_s: float = GATE_TIMEOUT_S,
    ) -> Guard:
        """Guard a session of an agent in this process: `async with governor.guard("s-1", definition="coder") as guard`.

        Beginning raises SessionRefused, or Unreachable when nobody answers. `workspace` is what names of files are
        told relative to; without one nothing is known of files, so tools that write them are denied where a policy
        asks. Relative paths of calls start at `cwd`, by default at the workspace: give it where your tools open
        them from elsewhere.
        `stop_on_silence` is what no answer to a stop means, instead of what the definition says.
        `on_ask` hears how a request to people stands, with the verdict on its call, whenever that has changed.
        With `apply_edits`, a call that a person approved with other parameters is made with these, judged anew;
        without, the agent reads them.
        """
        operations = SessionOperations(
            runtime=self.identity.runtime,
            session_id=session_id,
            workspace=in_this_process(workspace, cwd),
            task_id=task_id,
            agent_id=agent_id or self.identity.agent_id,
            definition=definition,
            definition_hash=definition_hash,
            stop_on_silence=stop_on_silence,
            timeout_s=timeout_s,
        )
        return Guard(
            self._client,
            Guarding(operations, unsent_here(operations.runtime, session_id)),
            deadline_at=None if deadline_at is None else deadline_at.isoformat(),
            on_feedback=on_feedback,
            on_ask=on_ask,
            apply_edits=apply_edits,
        )

    async def may_report(
        self,
        message: str,
        *,
        task_id: str,
        claim: Claim | Mapping[str, Any] | None = None,
        structure: CheckpointStructure | Mapping[str, str | None] | None = None,
        promised_followup: PromisedFollowup | Mapping[str, Any] | None = None,
        reminder_only: bool = False,
        event_type: ReportedBy | None = None,
        evidence_refs: Sequence[EvidenceRef | Mapping[str, str]] = (),
        session_id: str | None = None,
        timeout_s: float = GATE_TIMEOUT_S,
    ) -> GateAnswer:
        """May this message be shown to the operator? With `rewrite`, show the answer's `message`.

        It is judged as the event that will tell it: `event_type`, or `task_claimed_complete` when there is nothing but
        a completion claim, else `task_checkpoint_sent`.

        Never raises: no answer, or no usable one, is a denial.
        """
        fields = {
            "message": message,
            "claim": claim,
            "structure": structure,
            "promised_followup": promised_followup,
            "reminder_only": reminder_only,
            "event_type": event_type,
            "evidence_refs": evidence_refs,
        }
        return await self._ask_about(
            "report", ReportGateRequest, GateAnswer, task_id, session_id, fields, timeout_s
        )

    async def may_dispatch(
        self,
        purpose: str,
        *,
        task_id: str,
        dispatch_kind: Literal["task", "subagent"] = "subagent",
        mode: Literal["interactive", "silent"] = "interactive",
        report_anchor: ReportAnchor | Mapping[str, Any] | None = None,
        externalized_path: ExternalizedPath | Mapping[str, Any] | None = None,
        child_session_key: str | None = None,
        run_id: str | None = None,
        expected_by: datetime | None = None,
        attempt: int = 1,
        channel: str | None = None,
        workflow_shape: Literal["single-agent", "parent-child"] = "single-agent",
        parent_task_id: str | None = None,
        checkpoint_interval_s: int | None = None,
        silence_timeout_s: int | None = None,
        decision_type: str = "task_completion",
        evidence_refs: Sequence[EvidenceRef | Mapping[str, str]] = (),
        session_id: str | None = None,
        timeout_s: float = GATE_TIMEOUT_S,
    ) -> GateAnswer:
        """May this subagent of the task, or this task itself, be dispatched? Say what the event that tells it will say.

        Never raises: no answer, or no usable one, is a denial.
        """
        fields = {
            "dispatch_kind": dispatch_kind,
            "mode": mode,
            "purpose": purpose,
            "report_anchor": report_anchor,
            "externalized_path": externalized_path,
            "child_session_key": child_session_key,
            "run_id": run_id,
            "expected_by": expected_by,
            "attempt": attempt,
            "channel": channel,
            "workflow_shape": workflow_shape,
            "parent_task_id": parent_task_id,
            "checkpoint_interval_s": checkpoint_interval_s,
            "silence_timeout_s": silence_timeout_s,
            "decision_type": decision_type,
            "evidence_refs": evidence_refs,
        }
        return await self._ask_about(
            "dispatch", DispatchGateRequest, GateAnswer, task_id, session_id, fields, timeout_s
        )

    def decision(self, task_id: str, *, timeout_s: float = GATE_TIMEOUT_S) -> GovernedDecision:
        """The decision of a task under the envelope of its type: `async with governor.decision(task_id) as decision`.

        Beginning raises DecisionRefused, also when nobody answers.
        """
        return GovernedDecision(
            self._client,
            runtime=self.identity.runtime,
            agent_id=self.identity.agent_id,
            task_id=task_id,
            timeout_s=timeout_s,
            now=self._now,
        )

    async def prove(
        self,
        *programs: Program | str,
        task_id: str,
        correlation_id: str | None = None,
        timeout_s: float = PROOF_TIMEOUT_S,
    ) -> list[ProofResult]:
        """Submit programs together and return what the prover found, in their order.

        Raises SubmissionRefused or Unreachable when none was submitted, NotInTime when one was not answered.
        """
        asked = [
            self._submission(program, task_id, correlation_id or task_id)
            for program in (
                Program(given) if isinstance(given, str) else given for given in programs
            )
        ]
        await submit(self._client, asked)
        answers = results(self._history, asked, timeout_s)
        async with aclosing(answers):
            found = {each.submission_id: each async for each in answers}
        return [found[each.submission_id] for each in asked]

    def _submission(self, program: Program, task_id: str, correlation_id: str) -> ProgramSubmission:
        try:
            return ProgramSubmission(
                submission_id=program.submission_id(task_id, self.identity.agent_id),
                task_id=task_id,
                agent_id=self.identity.agent_id,
                runtime=self.identity.runtime,
                correlation_id=correlation_id,
                submitted_at=self._now(),
                language=program.language,
                source_name=program.name,
                target=program.target,
                program=program.source,
                inputs=program.written_inputs(),
                layer_hash=program.layer_hash,
                timeout_ms=program.timeout_ms,
            )
        except ValidationError as error:
            told = "; ".join(f"{p.path} {p.problem}" for p in describe_validation_error(error)[:5])
            raise SubmissionRefused(f"{program.name}: {told}; nothing was submitted.") from None

    async def approval(
        self, proved: ProofResult, *, timeout_s: float = APPROVAL_TIMEOUT_S
    ) -> ApprovalEntry:
        """What was decided about a proved program; NotInTime when nothing was. Only `approved` may run."""
        return await approval_of(self._history, proved, timeout_s)

    async def result(
        self, request: ApprovalEntry | str, *, timeout_s: float = RUN_TIMEOUT_S
    ) -> RunReport:
        """What became of the run by a request, once it has ended: `request` is an entry about it, or its id.

        Raises NotRun for a request by which nothing runs, NotInTime for one that has not run by then.
        """
        request_id = request if isinstance(request, str) else request.request_id
        return await result_of(self._history, request_id, timeout_s)

    async def call_decision(
        self, request_id: str, timeout_s: float = APPROVAL_TIMEOUT_S
    ) -> ApprovalEntry:
        """Wait until people are no longer waited for about a tool call; then ask the tool gate again.

        Raises NotInTime when nobody decided, LictorError for the request of a program. The entry tells where the
        request stands now; whether the call may be made is for the gate to say.
        """
        return await call_decision_of(self._history, request_id, timeout_s)

    async def _ask_about(
        self,
        gate: Gate,
        request_type: type[GateRequest],
        answer_type: type[A],
        task_id: str,
        session_id: str | None,
        fields: Mapping[str, Any],
        timeout_s: float,
    ) -> A:
        asking = {
            "request_id": str(uuid.uuid4()),
            "runtime": self.identity.runtime,
            "agent_id": self.identity.agent_id,
            "task_id": task_id,
            "session_id": session_id,
            "requested_at": self._now(),
        }
        request = build_question(gate, request_type, answer_type, {**asking, **fields})
        if isinstance(request, GateAnswer):
            return request
        return await ask_gate(self._client, gate, request, answer_type, timeout_s)

    async def ask(
        self, gate: Gate, request: GateRequest, *, timeout_s: float = GATE_TIMEOUT_S
    ) -> GateAnswer:
        """Ask any gate. Never raises: no answer, or no usable one, is a denial."""
        return await ask_gate(self._client, gate, request, _answer_to(request), timeout_s)

    async def report_receipt(
        self,
        record: DecisionRecord,
        receipt: DeliveryReceipt,
        *,
        message_sent: str | None = None,
        proof: EvidenceRef | None = None,
        report_id: str | None = None,
        timeout_s: float = RECEIPT_TIMEOUT_S,
    ) -> ReceiptAnswer:
        """Say what was done with a decision; the answer says whether it was kept, or which field is refused.

        Raises InvalidReceipt when the parts don't fit together, such as `acked` without a proof, and
        Unreachable when nobody answers; then report again with the same `report_id`.
        """
        try:
            report = ReceiptReport(
                report_id=report_id or str(uuid.uuid4()),
                record_id=record.record_id,
                recorded_at=record.recorded_at,
                task_id=record.task_id,
                runtime=self.identity.runtime,
                receipt=receipt,
                message_sent=message_sent,
                proof=proof,
                reported_at=self._now(),
            )
        except ValidationError as error:
            told = "; ".join(f"{p.path} {p.problem}" for p in describe_validation_error(error)[:5])
            raise InvalidReceipt(f"the receipt is invalid: {told}") from None
        return await send_report(self._client, report, timeout_s)

    async def receipts(self, record: DecisionRecord) -> list[ReceiptReport]:
        """Every report kept on a decision, oldest first."""
        return await receipts_of(self._history, record)

    async def mark(
        self, record: DecisionRecord, mark: MarkKind, *, by: str, reason: str
    ) -> DeskAnswer:
        """Mark a decision as a false alarm, or take that back; operators only. Raises DeskRefused with the reason."""
        return await mark_decision(self._client, record, mark, by, reason)

    async def marks(self, record: DecisionRecord) -> list[DecisionMark]:
        """Every mark on a decision, oldest first; operators only."""
        return await marks_of(self._client, record)

    async def find_decision(
        self, record_id: str, *, task_id: str | None = None
    ) -> DecisionRecord | None:
        """A decision by its id; quick when its task is given, else all of this runtime's are read."""
        return await find_decision(self._history, record_id, task_id)

    async def sealed(self, task_id: str, *, timeout_s: float = SEAL_TIMEOUT_S) -> bytes:
        """The seal bundle of a closed task, byte for byte as its file; waits until it is sealed."""
        try:
            async with asyncio.timeout(timeout_s):
                first = await self._first_decision(task_id, None)
                return await self._bundle(episode_id(task_id, first.event_id))
        except TimeoutError:
            raise NotInTime(
                f"task {task_id} was not sealed within {timeout_s:g} s; a task is sealed when it is"
                " closed (`lictor watch --task` shows its decisions) and the sealer runs"
            ) from None

    async def sealed_episode(self, episode_id: str, *, timeout_s: float = SEAL_TIMEOUT_S) -> bytes:
        """The same by the episode's own id."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._bundle(episode_id)
        except TimeoutError:
            raise NotInTime(
                f"there was no sealed episode {episode_id} within {timeout_s:g} s; check the id,"
                " or use the id of its task"
            ) from None

    async def sealed_version(self, episode_id: str, version: int) -> bytes:
        """The seal bundle of one version of an episode that is sealed; raises LictorError when there is none."""
        found = 0
        async with aclosing(self._history.read(EPISODES, messages_of(id_=episode_id))) as versions:
            async for stored in versions:
                found += 1
                if found == version:
                    return stored.body
        raise LictorError(f"episode {episode_id} has no version {version}; it has {found}.")

    def bundle_lines(self, bundle: bytes) -> AsyncIterator[bytes]:
        """A seal bundle with every message that its episode covers, line by line as in its file; for operators."""
        # Who only reports needs none of what this imports.
        from lictor.history.episode_bundle import bundle_lines

        return bundle_lines(self._client, bundle)

    async def _bundle(self, episode_id: str) -> bytes:
        only = messages_of(id_=episode_id)
        async with aclosing(self._history.follow(EPISODES, only, from_start=True)) as versions:
            newest = await anext(versions)
        # A correction is sealed as a further version of the same episode: the newest counts.
        async for later in self._history.read(EPISODES, only, after=newest.sequence):
            newest = later
        return newest.body

    async def _first_decision(self, task_id: str | None, event_id: str | None) -> DecisionRecord:
        records = self.decisions(task_id, since_start=True)
        async with aclosing(records):
            async for record in records:
                if event_id is None or record.event_id == event_id:
                    return record
        raise AssertionError("a stream is followed for ever")

    async def _refusal(self, published: Published) -> DecisionRecord:
        """Raises when a service sets the event aside; else waits for ever."""
        pause = _FIRST_LOOK_S
        while True:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)
            try:
                known = await self._history.published(EVENTS, published.sequence)
            except Unreachable:
                continue
            if (aside := known.set_aside) is not None:
                raise EventRefused(
                    f"{aside.service} set event {published.event_id} aside: {aside.reason};"
                    f" {aside.remedy} (dead letter {aside.letter})"
                )


def _answer_to(request: GateRequest) -> type[GateAnswer]:
    if isinstance(request, ToolGateRequest):
        return ToolGateAnswer
    if isinstance(request, ActionGateRequest):
        return ActionGateAnswer
    return StopGateAnswer if isinstance(request, StopGateRequest) else GateAnswer
