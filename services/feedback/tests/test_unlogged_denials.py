"""Denials that stand in no session's log are decisions all the same, stored before they are answered."""

import json

import pytest

from lictor_bus.names import subjects
from lictor_schema.decisions.guard_decision import GuardDecision

MALFORMED = "feedback.malformed-request"


async def refused(asker, task: str = "task of s1") -> list[GuardDecision]:
    stored = await asker.bodies(
        "DECISIONS", subjects.GUARD_REFUSAL.where(task=subjects.token(task))
    )
    return [GuardDecision.from_json(json.dumps(each)) for each in stored]


async def test_a_call_and_a_stop_of_an_unknown_session_are_decisions(asker):
    denied = await asker.check("test", "c1")
    assert denied["decision"] == "deny"
    (record,) = await refused(asker)
    assert (record.gate, record.call_id, record.tool) == ("tool", "c1", "test")
    assert (record.runtime, record.session_id, record.agent_id) == ("rt", "s1", "agent")
    assert record.decision.policy_id == "lictor.unknown-session"
    assert record.denials[0].remedy == denied["remedy"]
    assert (record.definition, record.session_sequence, record.entry_sha256) == (None, None, None)
    await asker.ask("stop", reason="done")
    assert [each.gate for each in await refused(asker)] == ["tool", "stop"]


async def test_a_question_that_is_asked_again_is_one_decision(asker):
    question = json.dumps(asker.question(tool="test", call_id="c1", params={})).encode()
    for _ in range(3):
        assert (await asker.raw("lictor.gate.tool.rt", question))["decision"] == "deny"
    assert len(await refused(asker)) == 1
    # Asked anew it is another one, even by an adapter whose request ids are all alike.
    again = question.replace(b'"c1"', b'"c2"')
    assert (await asker.raw("lictor.gate.tool.rt", again))["decision"] == "deny"
    assert [each.call_id for each in await refused(asker)] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("name", "value", "call"),
    [
        ("params", '{"path":"a","path":"b"}', "c1"),
        ("surprise", "1", "c1"),
        ("params", '{"x":NaN}', "c1"),
        ("session_id", '""', "c1"),
        ("call_id", "7", None),
        ("call_id", '"c1","call_id":"c2"', None),
    ],
)
async def test_a_malformed_question_is_a_decision_as_far_as_it_can_be_read(
    asker, name, value, call
):
    await asker.begin()
    fields = {**asker.question(tool="note", call_id="c1", params={}), name: "HERE"}
    question = json.dumps(fields).replace('"HERE"', value).encode()
    denied = await asker.raw("lictor.gate.tool.rt", question)
    assert denied["policy_id"] == MALFORMED
    (record,) = await refused(asker)
    assert (record.decision.policy_id, record.call_id) == (MALFORMED, call)


async def test_who_asks_in_another_s_name_stands_in_the_record_under_his_own(asker):
    question = json.dumps(asker.question(tool="note", call_id="c1", params={})).encode()
    await asker.raw("lictor.gate.tool.other", question)
    (record,) = await refused(asker)
    assert record.runtime == "other"


@pytest.mark.parametrize("body", [b"", b"[]", b"no JSON", b'{"task_id":"a","task_id":"b"}', b"{}"])
async def test_what_tells_no_task_is_denied_without_a_record(asker, body):
    assert (await asker.raw("lictor.gate.tool.rt", body))["decision"] == "deny"
    assert await asker.bodies("DECISIONS", subjects.DECISION.all) == []


async def test_a_denial_without_the_store_is_a_decision(own_servers, agents, start):
    async with start(own_servers.endpoints, agents) as asker:
        await asker.begin()
        await own_servers.kill_redis()
        denied = await asker.check("test", "c1")
        assert denied["policy_id"] == "lictor.unavailable"
        stopped = await asker.ask("stop", reason="done")
        assert stopped["policy_id"] == "lictor.unavailable"
        records = await refused(asker)
        assert [each.decision.policy_id for each in records] == ["lictor.unavailable"] * 2
