"""What each question about a session means: which definition judges it, which facts it needs, what it changes."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from lictor_bus.errors import MessageRefused
from lictor_bus.logs.halts import HaltsInForce
from lictor_bus.names import subjects
from lictor_feedback.session.approvals import ReadApprovals
from lictor_feedback.session.engine import (
    DecidedAnswer,
    Engine,
    SessionOperation,
    UnknownSession,
)
from lictor_feedback.session.store import Behind, StoreAway, StoredFacts
from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.definitions.loading import default_definition
from lictor_guard.errors import DefinitionError
from lictor_guard.facts.fact import Facts, decode_fact
from lictor_guard.session.asking import Known, Unsettled
from lictor_guard.session.halts import Halts
from lictor_guard.session.judge import SessionJudge
from lictor_guard.session.snapshots import kept_snapshot
from lictor_schema.gates.gate import GateRequest
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.session_log import AnySessionEntry, SessionBegun
from lictor_schema.sessions.session_questions import (
    CancelApprovalRequest,
    FeedbackAnswer,
    FeedbackRequest,
    ResetRequest,
    RestoreRequest,
    SessionAnswer,
    SessionBeginAnswer,
    SessionBeginRequest,
    SnapshotRequest,
    StateAnswer,
    StopGateAnswer,
    StopGateRequest,
    ToolGateAnswer,
    ToolGateRequest,
    ToolResultAnswer,
    ToolResultReport,
    UsageReport,
)

RECORDED = "Recorded; it counts as soon as the store is back."
UNJUDGED = "Recorded; it counts as soon as the session's definition can be used again."
# For what concerns every fact of a session: it keeps nobody from acting, and the caller would ask again.
STATE_WITHIN_S = 6.0
# A call's facts, what stands for it, what people said of that, and all of it again where a concurrent check came first.
_MAX_ROUNDS = 8


class Definitions(Protocol):
    """The definitions there are."""

    async def newest(self, name: str | None) -> Guarded:
        """The newest version of a definition; of the default one without a name."""
        ...

    async def by_hash(self, definition_hash: str) -> Guarded:
        """Exactly this version."""
        ...


AskStanding = Callable[[SessionBegun, int], Awaitable[TaskStanding | None]]
"""How the task of a session stands, asked at a time in microseconds; None when that is unknown."""


class KnownHalts(Protocol):
    """What is halted."""

    async def now(self) -> HaltsInForce:
        """All of it; an outage is raised, never taken for nothing."""
        ...


class Sessions:
    """A judge for each definition that some session is pinned to."""

    def __init__(self, shelf: Definitions) -> None:
        self._shelf = shelf
        self._by_hash: dict[str, SessionJudge] = {}

    async def pinned_to(self, definition_hash: str) -> SessionJudge:
        """The judge for sessions of exactly this version."""
        found = self._by_hash.get(definition_hash)
        return found or self._judge(await self._shelf.by_hash(definition_hash))

    async def asked_for(self, request: SessionBeginRequest) -> SessionJudge:
        """The judge for a session that begins now."""
        if request.definition_hash is not None:
            return await self.pinned_to(request.definition_hash)
        return self._judge(await self._shelf.newest(request.definition))

    def stand_in(self) -> SessionJudge:
        """A judge that is always there; not to judge by."""
        return self._judge(default_definition())

    def _judge(self, guarded: Guarded) -> SessionJudge:
        return self._by_hash.setdefault(
            guarded.hash, SessionJudge(guarded, lambda: str(uuid.uuid4()))
        )


class _WantsStanding(Exception):
    """The question can't be decided without knowing how the task stands."""


class SessionQuestions:
    """Every question, by name."""

    def __init__(
        self,
        engine: Engine,
        sessions: Sessions,
        standing: AskStanding,
        halts: KnownHalts,
        approvals: ReadApprovals,
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._standing = standing
        self._halts = halts
        self._approvals = approvals

    async def begin(self, request: SessionBeginRequest) -> DecidedAnswer[SessionBeginAnswer]:
        """A session begins, or goes on."""
        key = _key(request)
        operation = SessionOperation[SessionBeginAnswer](
            lambda session: session.names_for_begin(),
            lambda session, facts, now_us: session.begin(request, facts, now_us),
        )
        try:
            return await self._go_on(key, operation)
        except UnknownSession:
            session = await self._sessions.asked_for(request)
        nothing = Facts(dict.fromkeys(session.names_for_begin()))
        entry, answer = session.begin(request, nothing, self._engine.now_us())
        if not isinstance(entry, SessionBegun):
            return DecidedAnswer(answer, 0)
        if await self._engine.begin(key, session, entry):
            return DecidedAnswer(answer, 0)
        return await self._go_on(key, operation)

    async def _go_on(
        self, key: str, operation: SessionOperation[SessionBeginAnswer]
    ) -> DecidedAnswer[SessionBeginAnswer]:
        try:
            return await self._engine.look(key, operation)
        except StoreAway:
            # The description of a session is in its first entry; new work can be recorded without the rest.
            return await self._engine.append_blindly(key, operation)

    async def show(self, request: GateRequest) -> DecidedAnswer[SessionBeginAnswer]:
        """A session as it began; changes nothing."""
        known = await self._engine.known(_key(request))
        facts = self._engine.begun_facts(known)
        return DecidedAnswer(known.session.show(request, facts), known.sequence)

    async def check(self, request: ToolGateRequest) -> DecidedAnswer[ToolGateAnswer]:
        """May this tool be called? What people said is read only where nothing but policies that ask is against it."""
        key = _key(request)
        known: Known | None = None
        for _ in range(_MAX_ROUNDS):
            decided = await self._check(key, request, known)
            answer = decided.answer
            if not isinstance(answer, Unsettled):
                definition = (await self._engine.known(key)).session.guarded.definition
                return DecidedAnswer(
                    answer,
                    decided.cursor,
                    records_first=definition.gate_records == "required",
                    changed=decided.changed,
                )
            wanted = answer.request_id if answer.read else None
            known = answer.beyond(known, None if wanted is None else await self._approvals(wanted))
        raise Behind("the session changes faster than its requests to people can be read")

    async def _check(
        self, key: str, request: ToolGateRequest, known: Known | None
    ) -> DecidedAnswer[ToolGateAnswer | Unsettled]:
        begun = (await self._engine.known(key)).begun
        # Sent together with the question for the facts: one round trip.
        halts = asyncio.ensure_future(self._halts.now())
        try:
            return await self._engine.look(
                key,
                SessionOperation(
                    lambda session: session.names_for_check(request, known),
                    lambda session, facts, now_us: session.check(
                        request, facts, now_us, _halts_of(begun, halts.result()), known=known
                    ),
                ),
                halts,
            )
        finally:
            _give_up(halts)

    async def cancel(self, request: CancelApprovalRequest) -> DecidedAnswer[SessionAnswer]:
        """The agent does not want to make a call any more that waits for a person."""
        return await self._engine.change(
            _key(request),
            SessionOperation(
                lambda session: session.names_for_cancel(request),
                lambda session, facts, now_us: session.cancel(request, facts, now_us),
            ),
        )

    async def result(self, request: ToolResultReport) -> DecidedAnswer[ToolResultAnswer]:
        """A call has ended."""
        return await self._report(
            _key(request),
            SessionOperation(
                lambda session: session.names_for_result(request),
                lambda session, facts, now_us: session.result(request, facts, now_us),
            ),
        )

    async def usage(self, request: UsageReport) -> DecidedAnswer[SessionAnswer]:
        """Tokens or money were used."""
        return await self._report(
            _key(request),
            SessionOperation(
                lambda session: session.names_for_usage(request),
                lambda session, facts, now_us: session.usage(request, facts, now_us),
            ),
        )

    async def _report(self, key: str, operation: SessionOperation[Any]) -> DecidedAnswer[Any]:
        """What happened has happened: it is recorded even when it can't be counted yet."""
        try:
            return await self._engine.change(key, operation)
        except StoreAway:
            decided = await self._engine.append_blindly(key, operation)
            reason = RECORDED
        except DefinitionError:
            decided = await self._engine.append_blindly(key, operation, self._sessions.stand_in())
            reason = UNJUDGED
        answer = decided.answer.model_copy(update={"reason": reason})
        return DecidedAnswer(answer, decided.cursor)

    async def collect(self, request: FeedbackRequest) -> DecidedAnswer[FeedbackAnswer]:
        """Which feedback should the agent get now?"""

        def decide(
            session: SessionJudge,
            facts: Facts,
            now_us: int,
            asked: bool,
            standing: TaskStanding | None,
        ) -> tuple[AnySessionEntry | None, FeedbackAnswer]:
            if not asked and session.collect_wants_standing(request, facts, now_us):
                raise _WantsStanding
            return session.collect(request, facts, now_us, standing)

        return await self._with_standing(
            _key(request), lambda session: session.names_for_collect(request), decide, 0
        )

    async def tick(self, key: str, due_us: int) -> None:
        """A timer rang: let the providers whose time has come speak."""

        def decide(
            session: SessionJudge,
            facts: Facts,
            now_us: int,
            asked: bool,
            standing: TaskStanding | None,
        ) -> tuple[AnySessionEntry | None, None]:
            if not asked and session.tick_wants_standing(facts, now_us):
                raise _WantsStanding
            return session.tick(facts, now_us, standing), None

        try:
            await self._with_standing(key, lambda session: session.names_for_tick(), decide, due_us)
        except UnknownSession:
            raise MessageRefused(
                f"a tick for session {key}, which never began",
                remedy="set guidance timers through the feedback service only",
            ) from None

    async def _with_standing(
        self,
        key: str,
        names: Callable[[SessionJudge], Iterable[str]],
        decide: Callable[..., tuple[AnySessionEntry | None, Any]],
        not_before_us: int,
    ) -> DecidedAnswer[Any]:
        """Decide; and where somebody wants to know how the task stands, ask and decide again."""

        def operation(asked: bool, standing: TaskStanding | None) -> SessionOperation[Any]:
            return SessionOperation(
                names,
                lambda session, facts, now_us: decide(
                    session, facts, max(now_us, not_before_us), asked, standing
                ),
            )

        try:
            return await self._engine.look(key, operation(False, None))
        except _WantsStanding:
            known = await self._engine.known(key)
            standing = await self._standing(known.begun, self._engine.now_us())
            return await self._engine.look(key, operation(True, standing))

    async def stop(self, request: StopGateRequest) -> DecidedAnswer[StopGateAnswer]:
        """May the agent stop?"""
        key = _key(request)
        known = await self._engine.known(key)
        standing = None
        if known.session.stop_wants_standing(request):
            standing = await self._standing(known.begun, self._engine.now_us())
        halts = _halts_of(known.begun, await self._halts.now())
        return await self._engine.change(
            key,
            SessionOperation(
                lambda session: session.names_for_stop(request),
                lambda session, facts, now_us: session.stop(
                    request, facts, now_us, standing, halts
                ),
            ),
        )

    async def snapshot(self, request: SnapshotRequest) -> DecidedAnswer[StateAnswer]:
        """Keep the state under a name."""

        async def decide(session: SessionJudge, stored: StoredFacts, now_us: int) -> Any:
            return session.snapshot(request, _whole(stored), now_us)

        return await self._engine.change_whole(_key(request), decide, STATE_WITHIN_S)

    async def restore(self, request: RestoreRequest) -> DecidedAnswer[StateAnswer]:
        """Set the state back."""
        key = _key(request)

        async def decide(session: SessionJudge, stored: StoredFacts, now_us: int) -> Any:
            whole = _whole(stored)
            snapshot = kept_snapshot(request, whole)
            kept = None
            if snapshot is not None:
                kept = await self._engine.state_at(key, session, snapshot.sequence)
            return session.restore(request, whole, kept, now_us)

        return await self._engine.change_whole(key, decide, STATE_WITHIN_S)

    async def reset(self, request: ResetRequest) -> DecidedAnswer[StateAnswer]:
        """Forget what policies, providers and checkers know."""

        async def decide(session: SessionJudge, stored: StoredFacts, now_us: int) -> Any:
            return session.reset(request, _whole(stored), now_us)

        return await self._engine.change_whole(_key(request), decide, STATE_WITHIN_S)


def _halts_of(begun: SessionBegun, halts: HaltsInForce) -> Halts:
    return halts.of_session(begun.runtime, begun.session_id, begun.definition)


def _give_up(asked: "asyncio.Future[Any]") -> None:
    """Nobody waits for it any more, also if it failed."""
    if not asked.cancel() and not asked.cancelled():
        asked.exception()


def _key(request: GateRequest) -> str:
    return subjects.session_key(request.runtime, request.session)


def _whole(stored: StoredFacts) -> dict[str, Any]:
    return {name: decode_fact(value) for name, value in stored.facts.items() if value is not None}
