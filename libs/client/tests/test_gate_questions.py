"""Asking a gate: whatever happens, the answer is one, and never a yes by accident."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

import lictor
from lictor_bus.names import subjects
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.sessions.session_questions import ToolGateAnswer

Answer = Callable[[dict[str, Any]], bytes | None]


@pytest.fixture
def answering(broker: Client) -> Callable[[Answer], Awaitable[None]]:
    """A tool gate that answers what the test says."""

    async def answer_with(answer: Answer) -> None:
        async def respond(message: Msg) -> None:
            reply = answer(json.loads(message.data))
            if reply is not None:
                await message.respond(reply)

        await broker.subscribe(subjects.gate("tool", "test"), cb=respond)
        # A request queues up behind the subscription; nats-py's flush() overtakes it.
        await broker.jetstream().account_info()

    return answer_with


def allow(request: dict[str, Any], **changes: Any) -> bytes:
    answer = ToolGateAnswer(
        request_id=request["request_id"],
        decision="allow",
        policy_id="test.rule",
        reason="nothing against it",
    )
    return json.dumps({**json.loads(answer.to_json()), **changes}).encode()


async def ask(governor: lictor.Governor, params: Any = None) -> ToolGateAnswer:
    return await governor.may("bash", params or {"command": "ls"}, task_id="t", timeout_s=0.3)


async def test_an_answer_is_passed_on(
    governor: lictor.Governor, answering: Callable[[Answer], Awaitable[None]]
) -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> bytes:
        asked.append(request)
        return allow(request)

    await answering(answer)
    answered = await ask(governor)
    assert (answered.decision, answered.reason) == ("allow", "nothing against it")
    assert asked[0]["tool"] == "bash"
    assert asked[0]["params"] == {"command": "ls"}
    assert (asked[0]["runtime"], asked[0]["agent_id"]) == ("test", "tester")


async def test_nobody_to_answer_is_a_denial(governor: lictor.Governor) -> None:
    answered = await ask(governor)
    assert answered.decision == "deny"
    assert answered.reason == "no service answers gate tool, so the act is denied"
    assert answered.remedy is not None
    assert "lictor up" in answered.remedy
    assert [denial.reason for denial in answered.denials] == [answered.reason]


async def test_silence_is_a_denial(
    governor: lictor.Governor, answering: Callable[[Answer], Awaitable[None]]
) -> None:
    await answering(lambda _: None)
    answered = await ask(governor)
    assert answered.decision == "deny"
    assert "did not answer within 0.3 s" in answered.reason


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: b"",
        lambda _: b"yes",
        lambda _: b'{"decision": "allow"}',
        lambda request: allow(request, decision="sure"),
        lambda request: allow(request, surprise=1),
        lambda request: allow(request, request_id="another question"),
        lambda request: allow(request)[:-1] + b',"decision":"allow"}',
    ],
    ids=["empty", "text", "missing", "unknown", "extra", "another", "twice"],
)
async def test_an_answer_that_makes_no_sense_is_a_denial(
    governor: lictor.Governor, answering: Callable[[Answer], Awaitable[None]], answer: Answer
) -> None:
    await answering(answer)
    answered = await ask(governor)
    assert answered.decision == "deny"
    assert "can't be used" in answered.reason
    assert answered.remedy


async def test_a_denial_of_a_question_the_gate_could_not_read_is_passed_on(
    governor: lictor.Governor, answering: Callable[[Answer], Awaitable[None]]
) -> None:
    denial = ToolGateAnswer(
        request_id="unknown",
        decision="deny",
        policy_id="gate.malformed-request",
        reason="can't read it",
        remedy="write better",
    )
    await answering(lambda _: denial.to_json())
    assert await ask(governor) == denial


@pytest.mark.parametrize(
    "params", [{"x": float("nan")}, {"x": object()}, {"x": "\ud800"}, {"": 1}, [1], "ls"]
)
async def test_a_question_that_can_not_be_asked_is_a_denial(
    governor: lictor.Governor, answering: Callable[[Answer], Awaitable[None]], params: Any
) -> None:
    await answering(allow)
    answered = await ask(governor, params)
    assert answered.decision == "deny"
    assert "malformed" in answered.policy_id


async def test_a_broken_connection_is_a_denial(own_servers: EmbeddedServers) -> None:
    async with lictor.connect(own_servers.nats_url) as governor:
        await own_servers.kill_nats()
        assert (await ask(governor)).decision == "deny"
    assert (await ask(governor)).decision == "deny"
