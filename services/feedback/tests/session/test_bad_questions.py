"""Questions that can't be answered as they were meant: always an answer, never an allowance, and nothing is lost."""

import json

import pytest
from nats.errors import MaxPayloadError

from lictor_bus.names import subjects

MALFORMED = "feedback.malformed-request"


async def test_an_unknown_session_may_do_nothing_and_is_told_to_begin(asker):
    denied = await asker.check("test", "c1")
    assert (denied["decision"], denied["policy_id"]) == ("deny", "lictor.unknown-session")
    assert "begin" in denied["remedy"]
    stopped = await asker.ask("stop", reason="done")
    assert (stopped["decision"], stopped["policy_id"]) == ("deny", "lictor.unknown-session")
    for operation, fields in (
        ("show", {}),
        ("result", {"tool": "test", "call_id": "c1", "params": {}, "outcome": "ok"}),
        ("collect", {"call_id": "c1"}),
        ("usage", {"report_id": "u1", "usage": {}}),
        ("snapshot", {"snapshot_id": "a"}),
        ("restore", {"snapshot_id": "a", "cause": "b"}),
        ("reset", {"cause": "b"}),
    ):
        refused = await asker.ask(operation, **fields)
        assert (refused["ok"], "never began" in refused["reason"]) == (False, True), operation
        assert refused["policy_id"] == "lictor.unknown-session", operation
    assert await asker.entries() == []
    gated = await asker.bodies("GATES", f"lictor.gated.*.*.{subjects.token('task of s1')}")
    assert [each["answer"]["policy_id"] for each in gated] == ["lictor.unknown-session"] * 2


async def test_an_unknown_definition_begins_nothing(asker):
    refused = await asker.ask("begin", definition="codr")
    assert not refused["ok"]
    assert "'codr'" in refused["reason"]
    refused = await asker.ask("begin", definition_hash="sha256:" + "0" * 64)
    assert (refused["ok"], "sha256:000" in refused["reason"]) == (False, True)
    assert await asker.entries() == []


async def test_an_unknown_tool_is_denied_by_name(asker):
    await asker.begin()
    denied = await asker.check("deploi", "c1")
    assert (denied["decision"], denied["policy_id"]) == ("deny", "lictor.unknown-tool")
    assert "deploy" in denied["remedy"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"params": [1]}, "params"),
        ({"params": "all"}, "params"),
        ({"call_id": ""}, "call_id"),
        ({"tool": None}, "tool"),
        ({"surprise": 1}, "surprise"),
        ({"requested_at": "yesterday"}, "requested_at"),
    ],
)
async def test_a_malformed_question_is_denied_by_field(asker, change, named):
    await asker.begin()
    question = {**asker.question(tool="test", call_id="c1", params={}), **change}
    denied = await asker.raw("lictor.gate.tool.rt", json.dumps(question).encode())
    assert (denied["decision"], denied["policy_id"]) == ("deny", MALFORMED)
    assert named in denied["reason"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing like JSON",
        b"[]",
        b"\xff\xfe",
        b'{"request_id":"a","request_id":"b"}',
        b'{"params":' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}",
    ],
)
async def test_what_is_no_question_is_answered_all_the_same(asker, body):
    assert (await asker.raw("lictor.gate.tool.rt", body))["decision"] == "deny"
    assert (await asker.raw("lictor.gate.stop.rt", body))["decision"] == "deny"
    assert not (await asker.raw("lictor.session.result.rt", body))["ok"]


@pytest.mark.parametrize(
    "value", ["NaN", "[Infinity]", "1e999", "[ -1.5E999]", "9" * 400 + ".0", '{"a":1,"a":2}']
)
async def test_values_that_json_does_not_have_are_refused(asker, value):
    await asker.begin()
    question = json.dumps(asker.question(tool="note", call_id="c1", params={"x": "HERE"}))
    denied = await asker.raw("lictor.gate.tool.rt", question.replace('"HERE"', value).encode())
    assert denied["policy_id"] == MALFORMED


async def test_a_runtime_can_t_ask_in_the_name_of_another(asker):
    await asker.begin()
    question = json.dumps(asker.question(tool="note", call_id="c1", params={})).encode()
    denied = await asker.raw("lictor.gate.tool.other", question)
    assert (denied["decision"], "runtime" in denied["reason"]) == ("deny", True)
    report = asker.question(tool="test", call_id="c1", params={}, outcome="ok")
    refused = await asker.raw("lictor.session.result.other", json.dumps(report).encode())
    assert not refused["ok"]
    assert len(await asker.entries()) == 1


async def test_parameters_of_a_megabyte_are_denied_and_of_five_can_t_be_sent(asker):
    await asker.begin()
    denied = await asker.check("note", "c1", params={"text": "x" * 1_000_000})
    assert (denied["decision"], denied["policy_id"]) == ("deny", MALFORMED)
    assert "bytes, more than" in denied["reason"]
    with pytest.raises(MaxPayloadError):
        await asker.check("note", "c1", params={"text": "x" * 5_000_000})


async def test_what_is_small_enough_to_be_allowed_is_small_enough_to_be_recorded(asker):
    await asker.begin()
    # Written out again, each of these numbers is five times as long.
    numbers = "[" + ",".join(["1e15"] * 90_000) + "]"
    for operation, fields in (("gate.tool", {}), ("session.result", {"outcome": "ok"})):
        question = asker.question(tool="note", call_id="c1", params={"n": "HERE"}, **fields)
        body = json.dumps(question).replace('"HERE"', numbers).encode()
        answer = await asker.raw(f"lictor.{operation}.rt", body)
        assert answer.get("decision", "allow") == "allow", answer["reason"]
        assert answer.get("ok", True), answer["reason"]
    assert (await asker.entries())[-1].kind == "call_finished"


async def test_a_file_name_with_a_line_break_is_a_file_name(asker):
    await asker.begin()
    name = "two\nlines \N{SNOWMAN} '\"\\.txt"
    seen = {"param": "path", "given": name, "key": name, "state": "file"}
    resources = [{**seen, "digest": "sha256:" + "1" * 64}]
    fields = {"params": {"path": name}, "resources": resources}
    assert (await asker.check("write_file", "c1", **fields))["decision"] == "deny"
    assert (await asker.result("read_file", "c2", **fields))["ok"]
    assert (await asker.check("write_file", "c3", **fields))["decision"] == "allow"


async def test_session_ids_of_any_spelling_are_sessions(asker):
    for session in ("a.b.*.>", "x" * 400, "späte Sitzung\n", "{lictor}"):
        other = asker.of(session)
        await other.begin()
        await other.result("test", "c.1 * >")
        assert (await other.check("deploy", "c2"))["decision"] == "allow"
