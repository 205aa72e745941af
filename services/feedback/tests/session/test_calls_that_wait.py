"""Calls that wait for people, on the bus: the service asks, verifies what they said, and lets a call be made once."""

import asyncio

import pytest
from deciding_people import LARGE, pay, payer_service
from reporting import wait_until_ready

from lictor_bus.names import subjects


async def test_a_call_waits_until_somebody_approves_it_and_is_then_made_once(payer, people):
    assert (await pay(payer, "small", params={"amount": 5}))["decision"] == "allow"
    asked = await pay(payer, "c1")
    assert (asked["decision"], asked["approval"]["standing"]) == ("ask", "waiting")
    again = await pay(payer, "c1")
    assert again["approval"]["request_id"] == asked["approval"]["request_id"]

    request = await people.take_in(payer)
    assert (await pay(payer, "c2"))["decision"] == "ask"
    await people.decide(request)
    first, second = await asyncio.gather(pay(payer, "c3"), pay(payer, "c4"))
    assert sorted((first["decision"], second["decision"])) == ["allow", "ask"]
    made = "c3" if first["decision"] == "allow" else "c4"
    assert (await pay(payer, made))["decision"] == "allow"
    await payer.result("pay", made, params=LARGE)

    kinds = [each.kind for each in await payer.entries()]
    assert kinds == ["session_begun", "call_asked", "call_reserved", "call_asked", "call_finished"]
    finished = (await payer.entries())[-1]
    assert finished.approval_request == request.request_id


async def test_who_does_not_know_the_answer_ask_is_denied(payer):
    """A client from before there was such an answer: its question has no such field."""
    denied = await payer.check("pay", "c1", params=LARGE)
    assert (denied["decision"], denied["policy_id"]) == ("deny", "lictor.approval.waiting")
    assert "is waiting for a person" in denied["reason"]
    # It is no denial of the call: a client that knows the answer may ask about the same one.
    assert (await pay(payer, "c1"))["decision"] == "ask"
    assert "call_denied" not in [each.kind for each in await payer.entries()]


async def test_a_rejection_tells_the_agent_why_and_stays(payer, people):
    await pay(payer, "c1")
    request = await people.take_in(payer)
    await people.decide(request, "reject", reason="we do not pay acme")
    for call_id in ("c2", "c3", "c2"):
        denied = await pay(payer, call_id)
        assert (denied["decision"], denied["policy_id"]) == ("deny", "lictor.approval.rejected")
        assert "we do not pay acme" in denied["reason"]
        assert denied["approval"]["standing"] == "rejected"


async def test_an_edited_call_is_made_as_it_was_approved_and_no_other_way(payer, people):
    await pay(payer, "c1")
    request = await people.take_in(payer)
    less = {"to": "acme", "amount": 400}
    await people.decide(request, params=less)
    denied = await pay(payer, "c2")
    assert (denied["decision"], denied["approval"]["standing"]) == ("deny", "edited")
    assert denied["approval"]["params"] == less
    assert (await pay(payer, "c3", params=denied["approval"]["params"]))["decision"] == "allow"
    assert (await pay(payer, "c4", params=less))["decision"] == "ask"
    assert (await pay(payer, "c5"))["decision"] == "deny"


async def test_a_cancelled_request_lifts_nothing_whatever_people_say(payer, people):
    asked = await pay(payer, "c1")
    request = await people.take_in(payer)
    answer = await payer.ask("cancel", approval_request=request.request_id, why="not needed")
    assert answer["ok"], answer
    await people.decide(request)
    again = await pay(payer, "c2")
    assert again["decision"] == "ask"
    assert again["approval"]["request_id"] != asked["approval"]["request_id"]


async def test_the_gate_s_records_tell_once_that_people_are_asked_and_then_that_it_was_allowed(
    payer, people
):
    asked = await pay(payer, "c1")
    for _ in range(2):
        await pay(payer, "c1")
    await people.decide(await people.take_in(payer))
    await pay(payer, "c1")
    subject = subjects.GATED.where(gate="tool")
    async with asyncio.timeout(30):
        while len(records := await payer.bodies("GATES", subject)) < 2:
            await asyncio.sleep(0.05)
    assert [each["answer"]["decision"] for each in records] == ["ask", "allow"]
    request_ids = {each["answer"]["approval"]["request_id"] for each in records}
    assert request_ids == {asked["approval"]["request_id"]}


@pytest.mark.usefixtures("people")
async def test_a_call_waits_while_what_people_said_can_not_be_read(
    clean_infra, payers, approvers, start
):
    """Their stream is gone."""
    async with (
        start(clean_infra, payers, 0) as payer,
        payer_service(clean_infra, payers, approvers),
    ):
        await wait_until_ready(payer.client, "feedback")
        await payer.begin("payer")
        await payer.client.jetstream().delete_stream("APPROVALS")
        await pay(payer, "c1")
        again = await pay(payer, "c1")
        assert (again["decision"], again["approval"]["standing"]) == ("ask", "waiting")
        assert "can't be read now" in again["reason"]


async def test_a_gate_without_approvers_says_so_and_lets_nothing_be_made(
    clean_infra, payers, people, start
):
    async with start(clean_infra, payers) as payer:
        await payer.begin("payer")
        await pay(payer, "c1")
        await people.decide(await people.take_in(payer))
        again = await pay(payer, "c1")
        assert again["decision"] == "ask"
        assert "LICTOR_APPROVERS" in again["reason"]
