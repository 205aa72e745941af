"""Gates on a real broker: whatever goes wrong with a question, the answer is a denial, recorded where the gate says."""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from nats.errors import TimeoutError as NatsTimeout
from redis.exceptions import ConnectionError as RedisAway
from running_loops import connection

from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.gate import OPERATORS, RUNTIMES, Gate, GateRefusal, Refusals, Repeats
from lictor_bus.gates.gate_recorder import PendingRecord
from lictor_bus.gates.gate_runner import BoundGate, GateRunner, Given, ReceivedQuestion, RecordTime
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.publish import Outgoing
from lictor_bus.wire.read import read_from
from lictor_schema.gates.gate import GateAnswer, GateRequest

IDS = Refusals(malformed="t.malformed", unavailable="t.away", broken="t.broken", unrecorded="t.rec")


def deny(request_id: str, refusal: GateRefusal) -> GateAnswer:
    return GateAnswer.deny(request_id, refusal.policy_id, refusal.reason, refusal.remedy)


GATE = Gate(
    subject="lictor.gate.try.{runtime}",
    title="gate.try",
    description="May this be tried?",
    request=GateRequest,
    answer=GateAnswer,
    service="tries",
    asked_by=(RUNTIMES,),
    refuse=deny,
    refusals=IDS,
    within_s=0.4,
    share_of_payload=1 / 1024,
    repeats=Repeats.REMEMBERED,
    records=("lictor.gated.*.try.*",),
)


async def allow(request: GateRequest) -> GateAnswer:
    return GateAnswer.allow(request.request_id, "t.fine", "nothing is against it")


def record(asked: ReceivedQuestion[Any], answer: GateAnswer) -> PendingRecord:
    task = asked.request.task_id if asked.request is not None else None
    record_id = str(uuid.uuid4())
    body = json.dumps({"policy": answer.policy_id, "reason": answer.reason}).encode()
    message = Outgoing(subjects.gated("test", "try", task), body, record_id)
    return PendingRecord("try", task or "(unknown)", answer, message)


def records_of(
    asked: ReceivedQuestion[Any], _: GateRefusal, answer: GateAnswer
) -> Sequence[PendingRecord]:
    return [record(asked, answer)]


def given(
    when: RecordTime, decision: Callable[[str, str, str], GateAnswer] = GateAnswer.allow
) -> Any:
    """A handler whose answers are recorded."""

    async def handle(request: GateRequest) -> Given[GateAnswer]:
        answer = decision(request.request_id, "t.fine", "so it is")
        return Given(answer, lambda asked, _: record(asked, answer), when)

    return handle


def question(**fields: Any) -> dict[str, Any]:
    return {
        "request_id": str(uuid.uuid4()),
        "runtime": "test",
        "agent_id": "agent",
        "task_id": "task",
        "requested_at": datetime.now(UTC).isoformat(),
        **fields,
    }


@dataclass
class Tries:
    """A runner of one gate, and whoever asks it."""

    client: TolerantClient
    url: str
    ends: AsyncExitStack
    runners: list[tuple[GateRunner, "asyncio.Task[None]"]] = field(
        default_factory=list[tuple[GateRunner, "asyncio.Task[None]"]]
    )

    async def run(
        self,
        handle: Callable[[Any], Awaitable[Any]],
        gate: Gate[Any, Any] = GATE,
        bound: dict[str, Any] | None = None,
        **options: Any,
    ) -> GateRunner:
        options.setdefault("at_once", 4)
        bound_gate = BoundGate(gate=gate, handle=handle, records_of=records_of, **(bound or {}))
        return await self.begin([bound_gate], **options)

    async def begin(self, gates: Sequence[BoundGate[Any, Any]], **options: Any) -> GateRunner:
        client = await self.ends.enter_async_context(connection(self.url, "gates"))
        runner = GateRunner(client, "tries", gates, ServiceTelemetry("tries"), **options)
        self.runners.append((runner, asyncio.create_task(runner.run())))
        async with asyncio.timeout(5):
            while runner.trouble is not None:
                await asyncio.sleep(0.01)
        return runner

    async def ask(
        self, body: bytes | dict[str, Any] | None = None, runtime: str = "test"
    ) -> GateAnswer:
        asked = body if isinstance(body, bytes) else json.dumps(body or question()).encode()
        reply = await self.client.request(GATE.subject_of(runtime), asked, timeout=3)
        return GateAnswer.from_json(reply.data)

    async def recorded(self) -> list[dict[str, Any]]:
        found = await read_from(self.client, streams.GATES, "lictor.gated.*.try.*", 1, 1000)
        return [json.loads(each.body) for each in found]

    async def until_recorded(self, count: int) -> list[dict[str, Any]]:
        async with asyncio.timeout(10):
            while len(found := await self.recorded()) < count:
                await asyncio.sleep(0.02)
        return found

    async def stop(self) -> None:
        for runner, task in self.runners:
            runner.stop()
            await task


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Tries]:
    async with AsyncExitStack() as ends:
        client = await ends.enter_async_context(connection(url))
        await streams.declare(client, streams.GATES)
        tries = Tries(client, url, ends)
        try:
            yield tries
        finally:
            await tries.stop()


@pytest.fixture
async def tries(clean_infra: Any) -> AsyncIterator[Tries]:
    async with opened(clean_infra.nats_url) as found:
        yield found


def test_a_gate_derives_what_to_subscribe_to_and_where_a_runtime_asks() -> None:
    assert GATE.wildcard == "lictor.gate.try.*"
    assert GATE.subject_of("test") == "lictor.gate.try.test"
    assert replace(GATE, subject="lictor.desk.try").wildcard == "lictor.desk.try"


async def test_an_answer_is_the_handler_s(tries: Tries) -> None:
    await tries.run(allow)
    asked = question()
    answer = await tries.ask(asked)
    assert (answer.request_id, answer.decision) == (asked["request_id"], "allow")
    assert await tries.recorded() == []


TWICE = json.dumps(question())[:-1].encode() + b', "task_id": "another"}'


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "not JSON"),
        (b"{", "EOF"),
        (b"[]", "object"),
        (b"\xff\xfe", "JSON"),
        (json.dumps(question(task_id="")).encode(), "task_id"),
        (json.dumps(question(extra=1)).encode(), "extra"),
        (json.dumps(question(request_id=None)).encode(), "request_id"),
        (TWICE, "stands twice"),
        (json.dumps(question(agent_id="a" * 20_000)).encode(), "bytes, more than"),
        (json.dumps(question(runtime="another")).encode(), "not the runtime of subject"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_malformed_question_is_denied_and_recorded(
    tries: Tries, body: bytes, told: str
) -> None:
    asked: list[Any] = []

    async def handle(request: Any) -> GateAnswer:
        asked.append(request)
        return await allow(request)

    await tries.run(handle)
    answer = await tries.ask(body)
    assert (answer.decision, answer.policy_id, bool(answer.remedy)) == ("deny", "t.malformed", True)
    if told != "not JSON":
        assert told.lower() in answer.reason.lower()
    assert [each["policy"] for each in await tries.recorded()] == ["t.malformed"]
    assert not asked


async def test_a_question_is_measured_before_it_is_parsed(tries: Tries) -> None:
    await tries.run(allow)
    answer = await tries.ask(b"[" * 100_000)
    assert "bytes, more than" in answer.reason


class Odd(Exception):
    """An error that only the service knows."""


@pytest.mark.parametrize(
    ("error", "policy", "told"),
    [
        (ValueError("secret"), "t.broken", "ValueError"),
        (AssertionError(), "t.broken", "AssertionError"),
        (BusError("the log is gone"), "t.away", "BusError"),
        (RedisAway("gone"), "t.away", "ConnectionError"),
        (ConnectionResetError(), "t.away", "ConnectionResetError"),
        (TimeoutError(), "t.away", "TimeoutError"),
        (NatsTimeout(), "t.away", "TimeoutError"),
        (
            MessageRefused("it is too old", remedy="take a newer one"),
            "t.malformed",
            "it is too old",
        ),
        (Odd("odd"), "t.odd", "how odd"),
        (MessageRefused("x" * 100_000, remedy="\ud800"), "t.malformed", "xxx"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_a_handler_that_raises_is_a_denial(
    tries: Tries, error: Exception, policy: str, told: str
) -> None:
    async def handle(_request: Any) -> GateAnswer:
        raise error

    def explain(found: Exception, request: GateRequest) -> GateRefusal | None:
        assert request.task_id == "task"
        return GateRefusal("t.odd", "how odd", "make it even") if isinstance(found, Odd) else None

    await tries.run(handle, bound={"explain": explain})
    asked = question()
    answer = await tries.ask(asked)
    assert (answer.decision, answer.policy_id) == ("deny", policy)
    assert answer.request_id == asked["request_id"]
    assert told in answer.reason
    assert "secret" not in answer.reason
    assert answer.remedy
    assert [each["policy"] for each in await tries.recorded()] == [policy]


async def test_a_handler_whose_dependency_was_cancelled_is_a_denial(tries: Tries) -> None:
    """As by a question that ran out of time and took along what others waited for too."""

    async def handle(_request: Any) -> GateAnswer:
        shared: asyncio.Future[GateAnswer] = asyncio.get_running_loop().create_future()
        shared.cancel()
        return await shared

    await tries.run(handle)
    answer = await tries.ask()
    assert (answer.decision, answer.policy_id) == ("deny", "t.broken")
    assert [each["policy"] for each in await tries.recorded()] == ["t.broken"]


async def test_an_explanation_that_fails_is_no_silence(tries: Tries) -> None:
    async def handle(_request: Any) -> GateAnswer:
        raise Odd

    def explain(_found: Exception, _request: Any) -> GateRefusal | None:
        raise KeyError("nothing is as it should be")

    await tries.run(handle, bound={"explain": explain})
    assert (await tries.ask()).policy_id == "t.broken"


async def test_a_handler_that_hangs_is_a_denial_in_time(tries: Tries) -> None:
    cancelled = asyncio.Event()

    async def handle(_request: Any) -> GateAnswer:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    await tries.run(handle)
    begun = asyncio.get_running_loop().time()
    answer = await tries.ask()
    taken = asyncio.get_running_loop().time() - begun
    assert answer.policy_id == "t.away"
    assert "longer than 0.4 s" in answer.reason
    assert 0.3 < taken < GATE.within_s + GATE.record_within_s + 0.5
    assert cancelled.is_set()
    assert [each["policy"] for each in await tries.recorded()] == ["t.away"]


async def test_remedies_for_operators_are_worded_for_whoever_reads_them(tries: Tries) -> None:
    async def handle(_request: Any) -> GateAnswer:
        raise ValueError

    await tries.run(handle, bound={"address": lambda what: f"tell the operator: {what}"})
    assert (await tries.ask()).remedy.startswith("tell the operator: look at")  # type: ignore[union-attr]


async def test_one_question_too_many_is_denied_at_once(tries: Tries) -> None:
    hold = asyncio.Event()

    async def handle(request: GateRequest) -> GateAnswer:
        await hold.wait()
        return await allow(request)

    slow = replace(GATE, within_s=3.0)
    await tries.run(handle, gate=slow, at_once=1, max_waiting=1)
    first, second = (asyncio.create_task(tries.ask(question(task_id=t))) for t in ("a", "b"))
    await asyncio.sleep(0.1)
    third = await tries.ask(question(task_id="c"))
    assert (third.decision, third.policy_id) == ("deny", "t.away")
    assert "too many questions" in third.reason
    hold.set()
    assert [(await each).decision for each in (first, second)] == ["allow", "allow"]
    assert [each["policy"] for each in await tries.until_recorded(1)] == ["t.away"]


async def test_an_operator_s_order_does_not_wait_behind_the_questions_of_runtimes(
    tries: Tries,
) -> None:
    """A runtime that floods its gate can't keep the kill-switch from being engaged."""

    under_way, hold = asyncio.Event(), asyncio.Event()

    async def hangs(request: GateRequest) -> GateAnswer:
        under_way.set()
        await hold.wait()
        return await allow(request)

    slow = replace(GATE, within_s=30.0)
    order = replace(slow, subject="lictor.desk.try", asked_by=(OPERATORS,))
    await tries.begin(
        [
            BoundGate(gate=slow, handle=hangs, records_of=records_of),
            BoundGate(gate=order, handle=allow, records_of=records_of),
        ],
        at_once=1,
        max_waiting=0,
    )
    async with asyncio.timeout(5):
        flood = asyncio.create_task(tries.ask())
        await under_way.wait()
    body = json.dumps(question()).encode()
    reply = await tries.client.request(order.subject, body, timeout=3)
    assert GateAnswer.from_json(reply.data).decision == "allow"
    hold.set()
    assert (await flood).decision == "allow"


async def test_a_question_that_waited_too_long_is_not_judged(tries: Tries) -> None:
    judged: list[str] = []

    async def handle(request: GateRequest) -> GateAnswer:
        judged.append(request.task_id)
        await asyncio.Event().wait()
        raise AssertionError

    await tries.run(handle, at_once=1)
    answers = await asyncio.gather(*(tries.ask(question(task_id=t)) for t in ("a", "b", "c")))
    assert [each.policy_id for each in answers] == ["t.away"] * 3
    assert judged == ["a"]
    assert "too many questions" in answers[2].reason


async def test_an_overload_of_questions_that_can_t_be_read_is_denied_too(tries: Tries) -> None:
    async def handle(_request: GateRequest) -> GateAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    await tries.run(handle, at_once=1, max_waiting=0)
    first = asyncio.create_task(tries.ask())
    await asyncio.sleep(0.05)
    assert (await tries.ask(b"nonsense")).decision == "deny"
    await first


async def test_records_are_made_before_beside_or_first(tries: Tries) -> None:
    def no(request_id: str, policy_id: str, reason: str) -> GateAnswer:
        return GateAnswer.deny(request_id, policy_id, reason, "do something else")

    for count, (when, decision) in enumerate(
        [
            (RecordTime.BEFORE, no),
            (RecordTime.FIRST, GateAnswer.allow),
            (RecordTime.BESIDE, GateAnswer.allow),
        ],
        1,
    ):
        await tries.run(given(when, decision))
        assert (await tries.ask()).policy_id == "t.fine"
        if when is RecordTime.BESIDE:
            await tries.until_recorded(count)
        assert len(await tries.recorded()) == count
        runner, task = tries.runners.pop()
        runner.stop()
        await task


async def test_an_answer_that_must_be_on_record_is_not_given_without(
    tries: Tries, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    await tries.run(given(RecordTime.FIRST))
    await tries.client.jetstream().delete_stream(streams.GATES)
    answer = await tries.ask()
    assert (answer.decision, answer.policy_id) == ("deny", "t.rec")
    assert "disk" in (answer.remedy or "")
    await tries.stop()
    tries.runners.clear()
    # The denial's own record can't be stored either; that is said, and counted.
    assert "was not recorded" in caplog.text


@pytest.mark.parametrize("when", [RecordTime.BEFORE, RecordTime.BESIDE])
async def test_a_denial_is_given_even_when_it_can_t_be_recorded(
    tries: Tries, when: RecordTime
) -> None:
    def no(request_id: str, policy_id: str, reason: str) -> GateAnswer:
        return GateAnswer.deny(request_id, policy_id, reason, "do something else")

    await tries.run(given(when, no))
    await tries.client.jetstream().delete_stream(streams.GATES)
    begun = asyncio.get_running_loop().time()
    assert (await tries.ask()).decision == "deny"
    assert asyncio.get_running_loop().time() - begun < GATE.record_within_s + 0.5


async def test_a_record_that_can_t_be_made_keeps_no_other_from_being_written(tries: Tries) -> None:
    async def handle(request: GateRequest) -> Given[GateAnswer]:
        answer = await allow(request)

        def make(asked: ReceivedQuestion[Any], _: bytes) -> PendingRecord:
            if request.task_id == "odd":
                raise ValueError("odd")
            return record(asked, answer)

        return Given(answer, make)

    await tries.run(handle)
    for task in ("odd", "even"):
        assert (await tries.ask(question(task_id=task))).decision == "allow"
    assert len(await tries.until_recorded(1)) == 1


async def test_a_question_asked_again_gets_its_first_answer(tries: Tries) -> None:
    count = 0

    async def handle(request: GateRequest) -> Given[GateAnswer]:
        nonlocal count
        count += 1
        await asyncio.sleep(0.1)
        answer = GateAnswer.allow(request.request_id, "t.fine", f"judged {count} times")
        return Given(answer, lambda asked, _: record(asked, answer))

    await tries.run(handle)
    asked = question()
    # Twice at the same time, and again later, by the clock of whoever had no answer.
    answers = list(await asyncio.gather(tries.ask(asked), tries.ask(asked)))
    answers.append(await tries.ask({**asked, "requested_at": "2026-01-31T12:00:00Z"}))
    assert [each.reason for each in answers] == ["judged 1 times"] * 3
    # The id alone does not make it the same question.
    assert (await tries.ask({**asked, "task_id": "other"})).reason == "judged 2 times"
    assert len(await tries.until_recorded(2)) == 2


async def test_a_denial_for_want_of_something_is_not_remembered(tries: Tries) -> None:
    async def handle(request: GateRequest) -> GateAnswer:
        if broken:
            raise BusError("away")
        return await allow(request)

    broken = True
    await tries.run(handle)
    asked = question()
    assert (await tries.ask(asked)).decision == "deny"
    broken = False
    assert (await tries.ask(asked)).decision == "allow"


async def test_an_answer_that_says_to_ask_again_is_not_remembered(tries: Tries) -> None:
    answers = iter(["wait", "allow"])

    async def handle(request: GateRequest) -> Given[GateAnswer]:
        if next(answers) == "wait":
            wait = GateAnswer.wait(request.request_id, "t.wait", "not yet", "ask again", 10)
            return Given(wait, is_final=False)
        return Given(await allow(request))

    await tries.run(handle)
    asked = question()
    assert [(await tries.ask(asked)).decision for _ in range(3)] == ["wait", "allow", "allow"]


async def test_an_answer_that_the_broker_would_not_take_is_a_denial(tries: Tries) -> None:
    async def handle(_request: GateRequest) -> Any:
        class Large:
            def to_json(self) -> bytes:
                return b"x" * (tries.client.max_payload + 1)

        return Large()

    await tries.run(handle)
    assert (await tries.ask()).policy_id == "t.away"


@pytest.mark.parametrize("reply", ["", "lictor.gated.test.try.mine", "$JS.ACK.EVENTS.c.1.1.1.1.0"])
async def test_what_comes_without_an_inbox_is_no_question(tries: Tries, reply: str) -> None:
    judged: list[str] = []

    async def handle(request: GateRequest) -> GateAnswer:
        judged.append(request.request_id)
        return await allow(request)

    await tries.run(handle)
    heard: list[bytes] = []

    async def hear(message: Any) -> None:
        heard.append(message.data)

    await tries.client.subscribe("lictor.gated.test.try.mine", cb=hear)
    await tries.client.publish(
        GATE.subject_of("test"), json.dumps(question()).encode(), reply=reply
    )
    assert (await tries.ask()).decision == "allow"
    assert len(judged) == 1
    assert heard == []


async def test_what_is_in_hand_is_answered_before_the_runner_stops(tries: Tries) -> None:
    async def handle(request: GateRequest) -> Given[GateAnswer]:
        await asyncio.sleep(0.1)
        answer = await allow(request)
        return Given(answer, lambda asked, _: record(asked, answer))

    runner = await tries.run(handle, at_once=1, records_linger_s=5.0)
    asking = [asyncio.create_task(tries.ask()) for _ in range(3)]
    await asyncio.sleep(0.05)
    runner.stop()
    assert [(await each).decision for each in asking] == ["allow"] * 3
    await tries.runners.pop()[1]
    assert len(await tries.recorded()) == 3


async def test_a_runner_that_is_given_up_leaves_nothing_at_work(tries: Tries) -> None:
    """When the time to stop is up: whoever closes the connections must know that nobody uses them."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def hang(_request: GateRequest) -> GateAnswer:
        began.set()
        try:
            return await asyncio.Future()
        finally:
            ended.set()

    await tries.run(hang, replace(GATE, within_s=60.0), at_once=1)
    for _ in range(2):
        await tries.client.publish(
            GATE.subject_of("test"), json.dumps(question()).encode(), reply="_INBOX.nobody"
        )
    await began.wait()
    before = asyncio.all_tasks()
    _, running = tries.runners.pop()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()
    assert not [task for task in asyncio.all_tasks() - before if not task.done()]
