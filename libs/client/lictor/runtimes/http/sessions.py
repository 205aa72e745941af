"""The sessions that an HTTP server speaks for: one question each, from a body to a reply and its status."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lictor.fast.answer_reader import deny
from lictor.fast.session_operations import HandedOver, SessionOperations
from lictor.fast.unsent_results import unsent_here
from lictor.fast.verdicts import (
    MALFORMED_ANSWER,
    UNANSWERED,
    ReportVerdict,
    StateChange,
    ToolVerdict,
    with_remedy,
)
from lictor.fast.workspace import Workspace
from lictor.runtimes.adapter_capabilities import HTTP
from lictor.runtimes.guarded_session import EndedCall, Guarding, Looked
from lictor.runtimes.http.bodies import (
    BeginBody,
    CallRequest,
    CancelBody,
    CheckBody,
    CheckReply,
    FeedbackBody,
    FeedbackReply,
    Refusal,
    Reply,
    ReportReply,
    ResetBody,
    RestoreBody,
    ResultBody,
    SessionReply,
    SnapshotBody,
    StateReply,
    StopBody,
    StopReply,
    UsageBody,
)
from lictor_schema.core.base_model import Model
from lictor_schema.sessions.session_questions import Denial

if TYPE_CHECKING:
    from lictor.fast.session_operations import Operation
    from lictor.runtimes.lasting_connection import Reaching

OK, ACCEPTED, BAD_REQUEST, CONFLICT, UNAVAILABLE = 200, 202, 400, 409, 503
MAX_SESSIONS = 10_000
_MOST_LOOKED_AT = 64
_UNANSWERED = (UNANSWERED, MALFORMED_ANSWER)
UNTAKEN = "lictor.http.results-untaken"
TOO_MANY = "lictor.http.too-many-sessions"
LOOKS_ITSELF = "lictor.http.looks-itself"

Identity = tuple[str | None, str | None, str | None, str | None]
Replied = tuple[int, Reply]


class Unacceptable(Exception):
    """A question is not asked; the reply says why."""

    def __init__(self, status: int, policy_id: str, reason: str, remedy: str | None = None) -> None:
        super().__init__(reason)
        self.denial = deny(policy_id, reason, remedy or "correct the question, and ask again")
        text = with_remedy(reason, remedy)
        self.replied: Replied = (status, Refusal(policy_id=policy_id, text=text))


@dataclass(eq=False)
class _Held:
    """A session, and what the server has to remember of it."""

    operations: SessionOperations
    guarding: Guarding
    identity: Identity
    look_at: "OrderedDict[str, tuple[str, ...]]" = field(
        default_factory=OrderedDict[str, tuple[str, ...]]
    )


class HttpSessions:
    """Every session by its id, the last used kept."""

    capabilities = HTTP

    def __init__(
        self,
        reaching: "Reaching",
        *,
        runtime: str,
        definition: str | None = None,
        workspace: str | None = None,
        stop_on_silence: str | None = None,
        most: int = MAX_SESSIONS,
    ) -> None:
        self._reaching = reaching
        self._runtime = runtime
        self._definition = definition
        self._workspace = workspace
        self._stop_on_silence = stop_on_silence
        self._most = most
        self._held: OrderedDict[str, _Held] = OrderedDict()

    async def begin(self, session_id: str, body: BeginBody) -> Replied:
        """Begin it, or go on with it."""
        identity = (body.task_id, body.agent_id, body.definition, body.definition_hash)
        held = self._held.get(session_id)
        if held is not None and held.identity != identity:
            if held.guarding.in_debt:
                raise Unacceptable(
                    CONFLICT,
                    UNTAKEN,
                    "the session has results that nobody took yet; report them again, then begin it anew",
                )
            del self._held[session_id]
        held = self._session(session_id, identity)
        deadline = None if body.deadline_at is None else body.model_dump(mode="json")["deadline_at"]
        standing = await self._reaching.drive(
            held.operations.begin(prompted=body.prompted, deadline_at=deadline)
        )
        return _status(standing.answered), SessionReply(
            ok=standing.ok,
            text=standing.text,
            definition=standing.definition,
            version=standing.version,
            definition_hash=standing.definition_hash,
            deadline_at=standing.deadline_at,
            resource_params=dict(standing.resource_params),
            mounts=standing.mounts,
            look_at=standing.look_at,
            tell_output=standing.tell_output,
        )

    async def check(self, session_id: str, body: CheckBody) -> Replied:
        """May this tool be called?"""
        held = self._session(session_id)
        try:
            resources = self._looked(body.resources)
        except Unacceptable as error:
            await self.refused(session_id, error, body)
            raise
        verdict = await self._reaching.drive(
            held.guarding.check(body.call_id, body.tool, body.params, resources=resources)
        )
        unanswered = any(each.policy_id in _UNANSWERED for each in verdict.denials)
        # Who reads only `decision` goes no further: a call that waits for a person is not allowed.
        return ACCEPTED if verdict.asked else _status(not unanswered), CheckReply(
            decision="allow" if verdict.allowed else "deny",
            text=verdict.text,
            denials=tuple(
                Denial(policy_id=each.policy_id, reason=each.reason, remedy=each.remedy)
                for each in verdict.denials
            ),
            definition_hash=verdict.definition_hash,
            record_id=verdict.record_id,
            advice=held.guarding.take_advice(),
            asked=verdict.asked,
            approval=_request_of(verdict),
        )

    async def cancel(self, session_id: str, body: CancelBody) -> Replied:
        """A call that waits for a person is not wanted any more."""
        guarding = self._session(session_id).guarding
        cancelled = guarding.cancel_approval(body.approval_request, body.why)
        return _recorded(await self._reaching.drive(cancelled))

    async def refused(
        self, session_id: str, error: Unacceptable, body: CheckBody | None = None
    ) -> None:
        """Put on the record that a question about a call was not asked: whoever sent it may not make the call."""
        call_id, tool = (None, None) if body is None else (body.call_id, body.tool)
        operations = self._session(session_id).operations
        await self._reaching.drive(operations.refuse(call_id, tool, error.denial))

    async def result(self, session_id: str, body: ResultBody) -> Replied:
        """A call has ended."""
        held = self._session(session_id)
        usage = None if body.usage is None else body.usage.model_dump(mode="json")
        ended = EndedCall(
            body.call_id,
            body.tool,
            body.params,
            body.outcome,
            error=body.error,
            duration_ms=body.duration_ms,
            output_sha256=body.output_sha256,
            output=body.output,
            usage=usage,
            resources=self._looked(body.resources),
        )
        recorded = await self._reaching.drive(held.guarding.report(ended))
        if recorded.look_at:
            held.look_at[body.call_id] = recorded.look_at
            if len(held.look_at) > _MOST_LOOKED_AT:
                held.look_at.popitem(last=False)
        return _recorded(recorded)

    async def feedback(self, session_id: str, body: FeedbackBody) -> Replied:
        """What should the agent hear now?"""
        held = self._session(session_id)
        files = self._looked(body.files)
        look_at = held.look_at.get(body.call_id, ())
        output = None
        if body.output is not None:
            seen = self._looked(body.output.files)
            output = HandedOver(value=body.output.value, subagent=body.output.subagent, files=seen)
        advice = await self._reaching.drive(
            held.operations.collect(body.call_id, look_at, files=files, output=output)
        )
        if advice.answered:
            held.look_at.pop(body.call_id, None)
        return _status(advice.answered), FeedbackReply(
            ok=advice.answered,
            text=advice.text,
            feedback=tuple(dict(each) for each in advice.feedback),
            failures=tuple(dict(each) for each in advice.failures),
        )

    async def stop(self, session_id: str, body: StopBody) -> Replied:
        """May the agent stop?"""
        held = self._session(session_id)
        claim = None if body.claim is None else body.claim.model_dump(mode="json", by_alias=True)
        verdict = await self._reaching.drive(
            held.guarding.stop(
                body.reason,
                body.final_message,
                claim,
                subagent=body.subagent,
                tentative_output=body.tentative_output,
                files=self._looked(body.files),
                request_id=body.request_id,
            )
        )
        return _status(verdict.answered), StopReply(
            decision="allow" if verdict.allowed else "deny",
            status=verdict.status,
            text=verdict.text,
            policy_id=verdict.policy_id,
            bypass=verdict.bypass,
            attempt=verdict.attempt,
            escalated=verdict.escalated,
            definition_hash=verdict.definition_hash,
            record_id=verdict.record_id,
        )

    async def usage(self, session_id: str, body: UsageBody) -> Replied:
        """Tokens or money were used."""
        operations = self._session(session_id).operations
        usage = body.usage.model_dump(mode="json")
        return _recorded(await self._reaching.drive(operations.usage(body.report_id, usage)))

    async def snapshot(self, session_id: str, body: SnapshotBody) -> Replied:
        """Keep its state."""
        operations = self._session(session_id).operations
        operation = operations.snapshot(body.snapshot_id, with_document=body.with_document)
        return await self._state(operation)

    async def restore(self, session_id: str, body: RestoreBody) -> Replied:
        """Set its state back."""
        operations = self._session(session_id).operations
        document = None if body.document is None else body.document.model_dump(mode="json")
        operation = operations.restore(body.cause, snapshot_id=body.snapshot_id, document=document)
        return await self._state(operation)

    async def reset(self, session_id: str, body: ResetBody) -> Replied:
        """Forget what policies and providers know."""
        return await self._state(self._session(session_id).operations.reset(body.cause))

    async def _state(self, operation: "Operation[StateChange]") -> Replied:
        change = await self._reaching.drive(operation)
        return _status(change.answered), StateReply(
            ok=change.ok,
            text=change.text,
            snapshot_id=change.snapshot_id,
            state_hash=change.state_hash,
            document=None if change.document is None else dict(change.document),
        )

    def _session(self, session_id: str, identity: Identity = (None, None, None, None)) -> _Held:
        """The session as it began here; one that began elsewhere has no task or agent of its own."""
        held = self._held.get(session_id)
        if held is not None:
            self._held.move_to_end(session_id)
            return held
        self._make_room()
        task_id, agent_id, definition, definition_hash = identity
        operations = SessionOperations(
            runtime=self._runtime,
            session_id=session_id,
            workspace=None if self._workspace is None else Workspace(self._workspace),
            task_id=task_id,
            agent_id=agent_id,
            definition=definition or self._definition,
            definition_hash=definition_hash,
            stop_on_silence=self._stop_on_silence,
        )
        unsent = unsent_here(self._runtime, session_id)
        guarding = Guarding(operations, unsent)
        held = self._held[session_id] = _Held(operations, guarding, identity)
        return held

    def _make_room(self) -> None:
        """Forget the session that was not used for longest; one with results that nobody took can't be forgotten."""
        if len(self._held) < self._most:
            return
        for session_id, held in self._held.items():
            if not held.guarding.in_debt:
                del self._held[session_id]
                return
        raise Unacceptable(
            UNAVAILABLE,
            TOO_MANY,
            "too many sessions have results that nobody took; see that the services run (`lictor doctor`)",
        )

    def _looked(self, given: tuple[Model, ...] | None) -> list[Looked] | None:
        """What the client saw; of one place only one may tell."""
        if given is None:
            # A server without a view has none to offer: what the call names stays unknown.
            return None
        if self._workspace is not None:
            raise Unacceptable(
                BAD_REQUEST,
                LOOKS_ITSELF,
                "this server looks at the files itself; leave `resources` and `files` out",
            )
        return [each.model_dump(mode="json") for each in given]


def _request_of(verdict: ToolVerdict) -> CallRequest | None:
    approval = verdict.approval
    if approval is None:
        return None
    return CallRequest(
        request_id=approval.request_id,
        standing=approval.standing,
        expires_at=approval.expires_at,
        guidance=approval.guidance,
        decided_by=approval.decided_by,
        params=None if approval.params is None else dict(approval.params),
    )


def _recorded(recorded: ReportVerdict) -> Replied:
    return _status(recorded.answered), ReportReply(
        ok=recorded.ok,
        text=recorded.text,
        duplicate=recorded.duplicate,
        look_at=recorded.look_at,
    )


def _status(answered: bool) -> int:
    return OK if answered else UNAVAILABLE
