"""The service, its store, or one of two instances fails between an approval and its use: a call is made once by it."""

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest
import redis.asyncio
from deciding_people import LARGE, pay, payer_service
from nats.errors import Error as NatsError
from reporting import reach, wait_until_ready

from lictor_bus.names import subjects
from lictor_schema.sessions.session_log import CallReserved


async def _approved(payer: Any, people: Any, number: int = 0) -> dict[str, Any]:
    """The parameters of a call that was asked about and approved."""
    params = {"to": "acme", "amount": 500 + number}
    assert (await pay(payer, f"asked {number}", params=params))["decision"] == "ask"
    await people.decide(await people.take_in(payer))
    return params


async def _uses(payer: Any) -> list[tuple[str, str]]:
    """Each request that was used, and by which call."""
    return [
        (each.permission.request.request_id, each.call_id)
        for each in await payer.entries()
        if isinstance(each, CallReserved) and each.permission is not None
    ]


@pytest.mark.timeout(180)
async def test_of_two_calls_at_two_instances_one_is_made(
    clean_infra, payers, approvers, people, start
):
    async with AsyncExitStack() as running:
        payer = await running.enter_async_context(start(clean_infra, payers, 0))
        for _ in range(2):
            await running.enter_async_context(payer_service(clean_infra, payers, approvers))
        await wait_until_ready(payer.client, "feedback")
        await payer.begin("payer")
        for number in range(8):
            params = await _approved(payer, people, number)
            ids = [f"{number} {each}" for each in range(6)]
            answers = await asyncio.gather(*(pay(payer, each, params=params) for each in ids))
            decisions = sorted(each["decision"] for each in answers)
            assert decisions == ["allow", *["ask"] * 5]
            # What was asked anew while the first was allowed is one request, whoever asked.
            asked = {
                each["approval"]["request_id"] for each in answers if each["decision"] == "ask"
            }
            assert len(asked) == 1
            await payer.ask("cancel", approval_request=asked.pop(), why="once was enough")
        uses = await _uses(payer)
        assert len(uses) == len({request for request, _ in uses}) == 8


@pytest.mark.timeout(180)
async def test_a_kill_between_the_entry_and_the_answer_leaves_the_call_to_who_asked(
    clean_infra, payers, approvers, people, start
):
    """The entry says who it was: it may go on under its id, and nobody else may."""
    async with AsyncExitStack() as running:
        payer = await running.enter_async_context(start(clean_infra, payers, 0))
        process = await running.enter_async_context(payer_service(clean_infra, payers, approvers))
        await wait_until_ready(payer.client, "feedback")
        await payer.begin("payer")
        for number in range(3):
            params = await _approved(payer, people, number)
            before = (await payer.client.jetstream().stream_info("SESSIONS")).state.messages
            question = payer.question(
                tool="pay", call_id=f"made {number}", params=params, knows_ask=True
            )
            subject = f"lictor.gate.tool.{subjects.token(payer.runtime)}"
            # Nobody waits for the answer; the process dies as soon as the entry is there.
            await payer.client.publish(
                subject, json.dumps(question).encode(), reply=payer.client.new_inbox()
            )
            await reach(payer.client, "SESSIONS", before + 1)
            process.kill()
            await process.wait()
            process = await running.enter_async_context(
                payer_service(clean_infra, payers, approvers)
            )
            await wait_until_ready(payer.client, "feedback")
            other = await _answered(payer, f"other {number}", params)
            assert other["decision"] == "ask"
            assert (await _answered(payer, f"made {number}", params))["decision"] == "allow"
            request_id = other["approval"]["request_id"]
            await payer.ask("cancel", approval_request=request_id, why="once was enough")
        assert len(await _uses(payer)) == 3


async def _answered(payer: Any, call_id: str, params: dict[str, Any]) -> dict[str, Any]:
    """Ask until the service that was started again answers."""
    while True:
        try:
            answer = await pay(payer, call_id, params=params)
        except (NatsError, TimeoutError):
            continue
        if answer["policy_id"] not in ("lictor.unavailable", "lictor.timeout"):
            return answer


async def test_a_store_that_is_emptied_between_approval_and_use_costs_nothing(payer, people):
    asked = await pay(payer, "c1")
    await people.decide(await people.take_in(payer))
    await _empty(payer)
    allowed = await _answered(payer, "c2", LARGE)
    assert (allowed["decision"], allowed["approval"]["request_id"]) == (
        "allow",
        asked["approval"]["request_id"],
    )
    await _empty(payer)
    assert (await _answered(payer, "c3", LARGE))["decision"] == "ask"
    assert (await _answered(payer, "c2", LARGE))["decision"] == "allow"
    assert len(await _uses(payer)) == 1


async def _empty(payer: Any) -> None:
    async with redis.asyncio.from_url(payer.endpoints.redis_url) as store:
        await store.flushall()
