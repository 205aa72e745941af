"""Answers gates: many questions at a time, each bounded in size and time, none with silence.

A runner is given a connection of its own: the one that batches come in on may have megabytes ahead of a question. It
does not use FastStream, whose way of handling a message costs more than judging a question.

Whatever goes wrong is a denial: a question that is malformed, too large or one too many, a handler that raises or
hangs, a dependency that is away, an answer that must be on record and is not.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Generic, NamedTuple, cast

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from lictor_bus.concurrency import together
from lictor_bus.errors import BusError, MalformedQuestion, MessageRefused
from lictor_bus.gate import RUNTIMES, A, Gate, GateRefusal, Q, Repeats, printable
from lictor_bus.gates.first_answers import FirstAnswers, JudgedAnswer
from lictor_bus.gates.gate_recorder import GateRecorder, PendingRecord
from lictor_bus.loops.outages import OUTAGES
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_schema.core.base_model import Model

log = logging.getLogger("lictor.gate")

_AT_ONCE = 32
_MAX_WAITING = 10_000
_MAX_WAITING_BYTES = 64 * 1024 * 1024
# Where answers go: an inbox, or the way back into the account of whoever asked through an import.
_INBOXES = ("_INBOX.", "_R_.")
_DOCTOR = "see `lictor doctor`"


class ReceivedQuestion(NamedTuple, Generic[Q]):
    """A question as it came, and its request if it could be read and is asked in the runtime's own name."""

    subject: str
    body: bytes
    request: Q | None = None


class RecordTime(Enum):
    """When an answer is recorded."""

    FIRST = "first"
    """Before it is given; an answer that can't be recorded is not given."""
    BEFORE = "before"
    """Before it is given, as far as that is possible in time: a denial is given even without a record."""
    BESIDE = "beside"
    """Soon, without holding the answer up."""


class Given(NamedTuple, Generic[A]):
    """An answer, and its record where no log holds it."""

    answer: A
    record: Callable[[ReceivedQuestion[Any], bytes], PendingRecord] | None = None
    """Makes the record from the question and the answer's bytes; called late, when nobody waits for the answer."""
    when: RecordTime = RecordTime.BESIDE
    is_final: bool = True
    """Whether asking again gets the same answer; not for one that says to ask again."""


Handler = Callable[[Any], Awaitable[Any]]
"""Takes a request; returns an answer, or Given."""
Explain = Callable[[Exception, Any], GateRefusal | None]
"""What a service's own error means, raised for a request; None leaves it to the runner."""
RefusalRecords = Callable[[ReceivedQuestion[Any], GateRefusal, Any], Sequence[PendingRecord]]
"""What is recorded of a denial and its answer; nothing where the sender of the question is unknown."""


def _unexplained(_error: Exception, _request: object) -> GateRefusal | None:
    return None


def _unrecorded(
    _asked: ReceivedQuestion[Any], _refusal: GateRefusal, _answer: object
) -> Sequence[PendingRecord]:
    return ()


@dataclass(frozen=True, kw_only=True)
class BoundGate(Generic[Q, A]):
    """A gate, and the part of a service that answers it."""

    gate: Gate[Q, A]
    handle: Callable[[Q], Awaitable[A | Given[A]]]
    refusing: tuple[type[Exception], ...] = (MessageRefused,)
    """Errors by which the handler refuses: each has a ``reason`` and a ``remedy``."""
    explain: Explain = _unexplained
    records_of: RefusalRecords = _unrecorded
    address: Callable[[str], str] = str
    """Words a remedy that only an operator can apply, for whoever reads the answer."""


class _Question(NamedTuple):
    bound: BoundGate[Any, Any]
    subject: str
    reply: str
    body: bytes
    until: float
    """By the event loop's clock."""


@dataclass(slots=True, eq=False)
class _Lane:
    """Questions that wait for each other."""

    answering: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    waiting: deque[_Question] = field(default_factory=deque[_Question])
    waiting_bytes: int = 0


class GateRunner:
    """Answers the gates of a service, as one instance of many, until stopped."""

    def __init__(
        self,
        client: TolerantClient,
        service: str,
        gates: Sequence[BoundGate[Any, Any]],
        telemetry: ServiceTelemetry,
        *,
        at_once: int = _AT_ONCE,
        max_waiting: int = _MAX_WAITING,
        records_linger_s: float = 0.0,
    ) -> None:
        self.gates = tuple(gates)
        self._client = client
        self._service = service
        self._telemetry = telemetry
        self._at_once = at_once
        self._max_waiting = max_waiting
        self._recorder = GateRecorder(client, telemetry, linger_s=records_linger_s)
        self._firsts = FirstAnswers()
        self._stopping = asyncio.Event()
        # However many questions runtimes ask, an operator's order to stop them does not wait behind these.
        self._of_runtimes, self._of_others = _Lane(), _Lane()
        self._refusing: set[asyncio.Task[None]] = set()
        self._is_over = False
        self.trouble: str | None = "starting"

    def stop(self) -> None:
        """Answer what is in hand, then return from ``run``."""
        self._stopping.set()

    async def run(self) -> None:
        """Answer until stopped."""
        subscriptions: list[Subscription] = []
        try:
            for bound in self.gates:
                subscriptions.append(await self._subscribe(bound))
            # Once we are reported ready, questions may come at once. A broker that is away gets it when it is back.
            with suppress(NatsError, OSError):
                await self._client.flush(timeout=2)
            self.trouble = None
            await self._stopping.wait()
            for subscription in subscriptions:
                if not self._client.is_closed:
                    await subscription.unsubscribe()
            while under_way := self._under_way():
                await asyncio.wait(under_way)
        finally:
            await self._end()

    async def _end(self) -> None:
        """Leave nothing at work: after a failure, or when the time to stop is up, there may be questions in hand."""
        self._is_over = True
        under_way = self._under_way()
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._recorder.close()

    async def _subscribe(self, bound: BoundGate[Any, Any]) -> Subscription:
        within_s = bound.gate.within_s
        now = asyncio.get_running_loop().time

        def take(subject: bytes, reply: bytes, body: bytes, _headers: bytes | None) -> None:
            asked, inbox = subject.decode("utf-8", "replace"), reply.decode("utf-8", "replace")
            self._take(_Question(bound, asked, inbox, body, now() + within_s))

        async def take_message(message: Msg) -> None:
            self._take(
                _Question(bound, message.subject, message.reply, message.data, now() + within_s)
            )

        subscription = await self._client.subscribe_surely(
            bound.gate.wildcard, queue=self._service, cb=take_message
        )
        # The queue and the task that nats-py has for each subscription cost as much as a short answer.
        self._client.hand_over(subscription, take)
        return subscription

    def _under_way(self) -> set["asyncio.Task[None]"]:
        return self._of_runtimes.answering | self._of_others.answering | self._refusing

    def _take(self, question: _Question) -> None:
        if not question.reply.startswith(_INBOXES):
            # Who asks waits for an answer. The broker's copies and answers, which whoever may read a stream can have
            # it send here, come without an inbox, and nobody was given the right to ask what stands in them.
            log.warning(
                "%s: a question without an inbox is not judged: %s",
                self._service,
                question.subject[:200],
            )
            return
        if self._is_over:
            return
        is_of_runtimes = RUNTIMES in question.bound.gate.asked_by
        lane = self._of_runtimes if is_of_runtimes else self._of_others
        if len(lane.answering) < self._at_once:
            self._begin(lane, question)
        elif (
            len(lane.waiting) < self._max_waiting
            and lane.waiting_bytes + len(question.body) <= _MAX_WAITING_BYTES
        ):
            lane.waiting.append(question)
            lane.waiting_bytes += len(question.body)
        else:
            task = asyncio.create_task(self._respond(question, self._refuse_overload))
            self._refusing.add(task)
            task.add_done_callback(self._refusing.discard)

    def _begin(self, lane: _Lane, question: _Question) -> None:
        task = asyncio.create_task(self._respond(question, self._answer))
        lane.answering.add(task)
        task.add_done_callback(partial(self._done, lane))

    def _done(self, lane: _Lane, task: "asyncio.Task[None]") -> None:
        lane.answering.discard(task)
        if lane.waiting and not self._is_over:
            question = lane.waiting.popleft()
            lane.waiting_bytes -= len(question.body)
            self._begin(lane, question)

    async def _respond(
        self, question: _Question, answer: Callable[[_Question], Awaitable[bytes]]
    ) -> None:
        try:
            await self._client.publish(question.reply, await answer(question))
        except Exception:
            # Silence is a denial to whoever asked; here it must not end the others.
            log.exception("%s: a question on %s was not answered", self._service, question.subject)

    async def _answer(self, question: _Question) -> bytes:
        gate = question.bound.gate
        asked = ReceivedQuestion[Any](question.subject, question.body)
        request = None
        try:
            request = gate.read(question.body, self._client.max_payload)
            gate.refuse_other_runtime(question.subject, request)
        except MalformedQuestion as error:
            # A record is made of what was asked in the runtime's own name; of the rest the answer repeats the id.
            refusal = _malformed(question.bound, error)
            return await self._refuse(question.bound, asked, refusal, answers=request)
        asked = asked._replace(request=request)
        if question.until <= asyncio.get_running_loop().time():
            # Whoever asked has given up, or is about to.
            return await self._refuse_overload(question)
        if gate.repeats is Repeats.REMEMBERED:
            name = (gate.subject, getattr(request, "runtime", ""), gate.id_of(request))
            return await self._firsts.answer(
                name, request, len(question.body), lambda: self._judge(question, asked)
            )
        return (await self._judge(question, asked))[0]

    async def _judge(self, question: _Question, asked: ReceivedQuestion[Any]) -> JudgedAnswer:
        """The handler's answer, recorded; a denial when the handler fails."""
        bound = question.bound
        timeout = asyncio.timeout_at(question.until)
        try:
            async with timeout:
                answer: Any = await bound.handle(asked.request)
            given: Given[Any] = _given(answer)
            body: bytes = given.answer.to_json()
            if len(body) > self._client.max_payload:
                raise BusError(f"the answer has {len(body)} bytes, more than the broker takes")
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            refusal = _refusal(bound, error, asked, is_late=timeout.expired())
            return JudgedAnswer(await self._refuse(bound, asked, refusal), is_final=False)
        if not await self._record(bound, asked, given, body):
            refused = await self._refuse(bound, asked, _not_recorded(bound), RecordTime.BESIDE)
            return JudgedAnswer(refused, is_final=False)
        if bound.gate.count is not None:
            bound.gate.count(self._telemetry, given.answer)
        return JudgedAnswer(body, given.is_final)

    async def _record(
        self,
        bound: BoundGate[Any, Any],
        asked: ReceivedQuestion[Any],
        given: Given[Any],
        body: bytes,
    ) -> bool:
        """Record an answer as its handler says; False when it must not be given."""
        make = given.record
        if make is None:
            return True
        within_s = bound.gate.record_within_s
        if given.when is RecordTime.BESIDE:
            self._recorder.write_soon(lambda: make(asked, body))
        elif given.when is RecordTime.FIRST:
            return await self._recorder.stored_in(lambda: make(asked, body), within_s)
        else:
            await self._recorder.write_now(lambda: make(asked, body), within_s)
        return True

    async def _refuse(
        self,
        bound: BoundGate[Any, Any],
        asked: ReceivedQuestion[Any],
        refusal: GateRefusal,
        when: RecordTime = RecordTime.BEFORE,
        *,
        answers: Model | None = None,
    ) -> bytes:
        """The denial's bytes; it is recorded where the gate says."""
        gate = bound.gate
        refusal = refusal._replace(
            reason=printable(refusal.reason), remedy=printable(refusal.remedy)
        )
        answer = gate.denial(asked.request or answers, refusal)
        log.info("%s: denied by %s: %s", asked.subject, refusal.policy_id, refusal.reason)
        if gate.count is not None:
            gate.count(self._telemetry, answer)
        try:
            records = bound.records_of(asked, refusal, answer)
        except Exception:
            log.exception("%s: the record of a denial can't be made", asked.subject)
            records = ()
        if gate.records and not records:
            log.warning(
                "%s: denied without a record, because its sender is unknown: %s",
                asked.subject,
                refusal.reason,
            )
        if when is RecordTime.BESIDE:
            for record in records:
                self._recorder.write_soon(lambda record=record: record)
        else:
            writes = [
                self._recorder.write_now(lambda record=record: record, gate.record_within_s)
                for record in records
            ]
            await together(*writes)
        return answer.to_json()

    async def _refuse_overload(self, question: _Question) -> bytes:
        """Deny without judging; recorded beside, because waiting for records would make it worse."""
        asked = ReceivedQuestion[Any](question.subject, question.body)
        try:
            request = question.bound.gate.read(question.body, self._client.max_payload)
            question.bound.gate.refuse_other_runtime(question.subject, request)
            asked = asked._replace(request=request)
        except MalformedQuestion as error:
            log.debug("%s: one too many, and malformed: %s", question.subject, error)
        return await self._refuse(
            question.bound, asked, _overloaded(question.bound), RecordTime.BESIDE
        )


def _given(answer: Any) -> Given[Any]:
    return cast(Given[Any], answer) if isinstance(answer, Given) else Given(answer)


def _is_cancelled() -> bool:
    """Whether somebody wants this task to end; else only something that its handler waited for was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _refusal(
    bound: BoundGate[Any, Any], error: BaseException, asked: ReceivedQuestion[Any], *, is_late: bool
) -> GateRefusal:
    """What an error means for whoever asked."""
    ids = bound.gate.refusals
    try:
        explained = None
        if isinstance(error, Exception) and not is_late:
            explained = bound.explain(error, asked.request)
    except Exception:
        log.exception("%s: an error can't be explained", asked.subject)
        explained = None
    if explained is not None:
        log.warning("%s: %s: %s", asked.subject, type(error).__name__, error)
        return explained
    if isinstance(error, MalformedQuestion):
        return _malformed(bound, error)
    if isinstance(error, bound.refusing):
        told: Any = error
        return GateRefusal(ids.malformed, told.reason, told.remedy, getattr(told, "problems", ()))
    if is_late or isinstance(error, OUTAGES):
        log.warning("%s: %s: %s", asked.subject, type(error).__name__, error)
        why = f"it took longer than {bound.gate.within_s:g} s" if is_late else type(error).__name__
        return GateRefusal(ids.unavailable, f"{ids.away} ({why})", _again(bound))
    log.error("%s: a question failed", asked.subject, exc_info=error)
    return GateRefusal(
        ids.broken,
        f"the gate failed inside: {type(error).__name__}",
        bound.address("look at the service's log; nothing is allowed until it works"),
    )


def _malformed(bound: BoundGate[Any, Any], error: MalformedQuestion) -> GateRefusal:
    reason = f"the question is malformed: {error}"
    return GateRefusal(bound.gate.refusals.malformed, reason, error.remedy, error.problems)


def _overloaded(bound: BoundGate[Any, Any]) -> GateRefusal:
    reason = "too many questions are waiting for this gate, so this one was not judged"
    return GateRefusal(bound.gate.refusals.unavailable, reason, _again(bound))


def _not_recorded(bound: BoundGate[Any, Any]) -> GateRefusal:
    return GateRefusal(
        bound.gate.refusals.unrecorded,
        f"the answer can't be recorded now, and {bound.gate.refusals.on_record}",
        f"{bound.gate.refusals.again}; if it stays so, "
        + bound.address(f"{_DOCTOR}: the broker's disk may be full"),
    )


def _again(bound: BoundGate[Any, Any]) -> str:
    return f"{bound.gate.refusals.again}; if it stays so, {bound.address(_DOCTOR)}"
