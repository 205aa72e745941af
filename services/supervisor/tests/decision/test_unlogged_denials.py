"""Denials of the action gate that stand in no decision's log are kept in GATES before they are given."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from governing_bus import CONTRACT, Asker, governing_bus, governing_services

from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.gates.gate_record import ActionGateRecord

GATE = "lictor.gate.action.rt"


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        yield asker


async def kept(asker: Asker, task: str | None = "task-1") -> list[ActionGateRecord]:
    name = subjects.NOBODY if task is None else subjects.token(task)
    subject = subjects.GATED.where(gate="action", task=name)
    stored = await read_from(asker.client, streams.GATES, subject, 1, 100)
    return [ActionGateRecord.from_json(each.body) for each in stored]


def question(asker: Asker, **fields: Any) -> bytes:
    return json.dumps(asker.question(contract=CONTRACT, **fields)).encode()


async def test_a_denial_of_a_decision_that_never_began_is_kept_whole(asker: Asker) -> None:
    body = question(asker)
    denied = await asker.raw(GATE, body)
    (record,) = await kept(asker)
    assert record.answer.to_json() == json.dumps(denied, separators=(",", ":")).encode()
    assert record.request is not None
    assert (record.asked_by, record.task_id, record.request.task_id) == ("rt", "task-1", "task-1")
    assert (record.question_sha256, record.question_size) == (hash_bytes(body), len(body))
    assert await asker.entries() == []


async def test_a_question_that_is_asked_again_is_kept_once(asker: Asker) -> None:
    body = question(asker)
    for _ in range(3):
        assert (await asker.raw(GATE, body))["decision"] == "deny"
    assert len(await kept(asker)) == 1
    await asker.raw(GATE, question(asker))
    assert len(await kept(asker)) == 2


@pytest.mark.parametrize(
    ("name", "value", "task"),
    [
        ("surprise", "1", "task-1"),
        ("facts", '{"a":1,"a":2}', "task-1"),
        ("facts", '{"a":NaN}', "task-1"),
        ("contract", "{}", "task-1"),
        ("task_id", "7", None),
        ("task_id", '""', None),
        ("task_id", '"a","task_id":"b"', None),
        ("task_id", '"\\ud800"', None),
    ],
)
async def test_a_malformed_question_is_kept_as_far_as_it_can_be_read(
    asker: Asker, name: str, value: str, task: str | None
) -> None:
    fields = {**asker.question(contract=CONTRACT), name: "HERE"}
    body = json.dumps(fields).replace('"HERE"', value).encode()
    denied = await asker.raw(GATE, body)
    assert denied["policy_id"] == "sealer.malformed-request"
    (record,) = await kept(asker, task)
    assert (record.request, record.task_id, record.asked_by) == (None, task, "rt")
    assert record.answer.reason == denied["reason"]
    assert record.question_sha256 == hash_bytes(body)


@pytest.mark.parametrize("body", [b"", b"[]", b"no JSON", b"\xff", b"[" * 100_000, b" " * 900_000])
async def test_what_tells_no_task_is_kept_apart(asker: Asker, body: bytes) -> None:
    assert (await asker.raw(GATE, body))["decision"] == "deny"
    (record,) = await kept(asker, None)
    assert (record.task_id, record.question_size) == (None, len(body))


async def test_who_asks_in_another_s_name_stands_in_the_record_under_his_own(
    asker: Asker,
) -> None:
    denied = await asker.raw("lictor.gate.action.other", question(asker))
    assert denied["policy_id"] == "sealer.malformed-request"
    (record,) = await kept(asker)
    assert record.asked_by == "other"
    # Nothing is kept of what was said in the other's name.
    assert record.request is None


async def test_a_denial_after_the_end_is_kept_and_what_the_log_holds_is_not(asker: Asker) -> None:
    await asker.begin()
    assert (await asker.act())["decision"] == "deny"
    assert (await asker.act())["decision"] == "deny"
    assert "action_judged" in await asker.kinds()
    assert await kept(asker) == []
    await asker.report("decision_ended")
    assert (await asker.act())["policy_id"] == "lictor.contract.ended"
    (record,) = await kept(asker)
    assert record.answer.policy_id == "lictor.contract.ended"


async def test_a_denial_because_the_log_is_away_is_kept(own_servers: EmbeddedServers) -> None:
    endpoints = own_servers.endpoints
    async with governing_bus(endpoints) as asker, governing_services(endpoints):
        await asker.ready()
        await asker.client.jetstream().delete_stream(streams.ACTIONS)
        denied = await asker.act()
        assert denied["policy_id"] == "lictor.unavailable"
        (record,) = await kept(asker)
        assert record.answer.policy_id == "lictor.unavailable"
        await streams.declare(asker.client, streams.ACTIONS)
