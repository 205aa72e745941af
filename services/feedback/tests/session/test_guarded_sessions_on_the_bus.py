"""A session from its begin to its end, asked over the bus."""

import asyncio
import json
from argparse import ArgumentParser

import pytest
from reporting import reach

from lictor_bus.names import subjects
from lictor_cli import watch
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.gates.gate_record import SessionGateRecord
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.session_questions import ToolGateRequest


async def until(count, found):
    """Wait until a stream shows so many messages."""
    async with asyncio.timeout(60):
        while len(messages := await found()) < count:
            await asyncio.sleep(0.02)
    return messages


async def test_a_session_is_gated_guided_and_held_to_its_end(asker):
    await asker.begin()
    denied = await asker.check("deploy", "c1")
    assert (denied["decision"], denied["policy_id"]) == ("deny", "order")
    assert denied["denials"][0]["remedy"]
    assert (await asker.check("test", "c2"))["decision"] == "allow"
    assert (await asker.result("test", "c2"))["ok"]
    assert (await asker.check("deploy", "c3"))["decision"] == "allow"
    await asker.result("edit", "c4")
    assert (await asker.check("deploy", "c5"))["decision"] == "deny"
    blocked = await asker.ask("stop", reason="done")
    assert (blocked["decision"], blocked["status"], blocked["attempt"]) == ("deny", "incomplete", 1)
    await asker.check("test", "c6")
    await asker.result("test", "c6")
    assert (await asker.ask("stop", reason="done"))["status"] == "complete"


async def test_every_denial_is_in_the_log_before_it_is_answered_and_then_a_decision(asker):
    await asker.begin()
    answer = await asker.check("deploy", "c1")
    denied = (await asker.entries())[-1]
    assert (denied.kind, denied.entry_id) == ("call_denied", answer["record_id"])

    task = subjects.token("task of s1")
    (stored,) = await until(
        1, lambda: asker.bodies("DECISIONS", f"lictor.dec.*.block.guard.{task}")
    )
    record = GuardDecision.from_json(json.dumps(stored))
    assert (record.record_id, record.call_id, record.tool) == (answer["record_id"], "c1", "deploy")
    assert (record.definition, record.decision.policy_id) == ("coder", "order")
    assert record.entry_sha256 == hash_bytes(denied.to_json())


async def test_blocked_stops_an_escalation_and_nothing_else_become_decisions(asker):
    await asker.begin()
    answers = [await asker.ask("stop", reason="done") for _ in range(3)]
    assert [answer["decision"] for answer in answers] == ["deny", "deny", "allow"]
    assert answers[2]["escalated"]
    task = subjects.token("task of s1")
    found = await until(3, lambda: asker.bodies("DECISIONS", f"lictor.dec.*.*.guard.{task}"))
    assert [each["decision"]["decision"] for each in found] == ["block", "block", "escalate"]
    assert [each["record_id"] for each in found] == [answer["record_id"] for answer in answers]
    assert found[2]["decision"]["operator_notice"]["required"]


async def test_a_stop_asked_again_after_its_answer_was_lost_is_counted_and_recorded_once(asker):
    await asker.begin()
    ids = ["stop 0", "stop 0", "stop 1", "stop 1", "stop 2", "stop 2"]
    answers = [await asker.ask("stop", reason="done", request_id=each) for each in ids]
    assert answers[::2] == answers[1::2]
    assert (answers[-1]["escalated"], answers[-1]["attempt"]) == (True, 2)
    stops = [each for each in await asker.entries() if each.kind == "stop_judged"]
    assert [each.request_id for each in stops] == ["stop 0", "stop 1", "stop 2"]


async def test_allowed_calls_are_kept_beside_the_answer_and_change_no_session(asker):
    await asker.begin()
    before = await asker.entries()
    await asker.check("note", "c1", params={"what": "all"})
    assert await asker.entries() == before
    gated = f"lictor.gated.*.tool.{subjects.token('task of s1')}"
    (stored,) = await until(1, lambda: asker.bodies("GATES", gated))
    record = SessionGateRecord.from_json(json.dumps(stored))
    assert isinstance(record.request, ToolGateRequest)
    assert record.request.params == {"what": "all"}
    assert (record.answer.decision, record.state_sequence) == ("allow", 1)


async def test_feedback_is_told_once_and_made_known_once(asker):
    await asker.begin()
    for number in range(5):
        await asker.result("test", f"c{number}")
    told = await asker.ask("collect", call_id="c4")
    assert [each["provider"] for each in told["feedback"]] == ["nag"]
    again = await asker.ask("collect", call_id="c4")
    assert again["feedback"] == told["feedback"]
    assert (await asker.ask("collect", call_id="c5"))["feedback"] == []
    (known,) = await until(
        1, lambda: asker.bodies("GUIDANCE", subjects.GUIDANCE.where(session=asker.key))
    )
    assert StampedFeedback.from_json(json.dumps(known)).provider == "nag"
    assert known["feedback_id"] == told["feedback"][0]["feedback_id"]


async def test_a_result_that_is_reported_twice_counts_once(asker):
    await asker.begin()
    first, second = [await asker.result("test", "c1") for _ in range(2)]
    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert (await asker.tally()).calls == 1


async def test_usage_is_counted_once(asker):
    await asker.begin()
    for _ in range(2):
        answer = await asker.ask("usage", report_id="u1", usage={"input_tokens": 7})
        assert answer["ok"]
    assert (await asker.tally()).input_tokens == 7


async def test_a_restore_sets_back_what_policies_know_and_keeps_what_was_counted(asker):
    """Scenario 136: STATE rolls back, LOG stays; over the bus."""
    await asker.begin()
    await asker.result("test", "c1")
    kept = await asker.ask("snapshot", snapshot_id="tested", with_document=True)
    assert kept["ok"]
    await asker.result("edit", "c2")
    assert (await asker.check("deploy", "c3"))["decision"] == "deny"
    restored = await asker.ask("restore", snapshot_id="tested", cause="the workspace was set back")
    assert restored["state_hash"] == kept["state_hash"]
    assert (await asker.check("deploy", "c4"))["decision"] == "allow"
    assert (await asker.tally()).calls == 3

    await asker.result("edit", "c5")
    again = await asker.ask("restore", document=kept["document"], cause="once more")
    assert again["state_hash"] == kept["state_hash"]
    assert (await asker.check("deploy", "c6"))["decision"] == "allow"


async def test_a_reset_forgets_what_policies_know(asker):
    await asker.begin()
    await asker.result("test", "c1")
    assert (await asker.ask("reset", cause="a new start"))["ok"]
    assert (await asker.check("deploy", "c2"))["decision"] == "deny"
    assert (await asker.tally()).calls == 2
    assert (await asker.result("test", "c1"))["duplicate"]


async def test_a_restore_of_what_is_not_there_changes_nothing(asker):
    await asker.begin()
    refused = await asker.ask("restore", snapshot_id="never", cause="try")
    assert not refused["ok"]
    assert "never" in refused["reason"]
    assert [entry.kind for entry in await asker.entries()] == ["session_begun"]


async def test_sessions_of_two_runtimes_under_one_name_are_two(asker):
    other = asker.of("s1")
    other.runtime = "another"
    await asker.begin()
    await other.begin()
    await asker.result("test", "c1")
    assert (await asker.check("deploy", "c2"))["decision"] == "allow"
    assert (await other.check("deploy", "c2"))["decision"] == "deny"


async def test_beginning_again_tells_the_same_and_changes_nothing(asker):
    first = await asker.begin()
    shown = await asker.ask("show")
    second = await asker.begin()
    for answer in (first, shown, second):
        del answer["request_id"], answer["reason"]
    assert first == shown == second
    assert len(await asker.entries()) == 1


async def test_a_session_stays_with_the_version_it_began_with(asker, agents, start):
    """A definition that is updated while a session runs counts for the next one."""
    pinned = (await asker.begin())["definition_hash"]
    changed = (
        (agents / "coder.yaml")
        .read_text()
        .replace('"1"', '"2"')
        .replace("[test]}", "[test, ping]}", 1)
    )
    (agents / "coder.yaml").write_text(changed)
    async with start(asker.endpoints, agents):
        # The one that is built in, and both versions.
        await reach(asker.client, "DEFINITIONS", 3)
        assert (await asker.begin())["definition_hash"] == pinned
        assert (await asker.of("s2").begin())["version"] == "2"
        await asker.result("test", "c1")
        assert (await asker.check("deploy", "c2"))["decision"] == "allow"
        await asker.of("s2").result("test", "c1")
        denied = await asker.of("s2").check("deploy", "c2")
        assert (denied["decision"], "ping" in denied["reason"]) == ("deny", True)


@pytest.mark.parametrize("begun", [True, False])
async def test_a_session_may_begin_many_times_at_once(asker, begun):
    if begun:
        await asker.begin()
    answers = await asyncio.gather(*(asker.begin() for _ in range(20)))
    assert len({answer["definition_hash"] for answer in answers}) == 1
    assert [entry.kind for entry in await asker.entries()] == ["session_begun"]


async def test_the_definition_that_is_built_in_serves_sessions_that_name_none(asker):
    answer = await asker.ask("begin")
    assert (answer["ok"], answer["definition"]) == (True, "lictor-default")


async def test_lictor_watch_shows_denied_calls_and_blocked_stops(asker, monkeypatch, capsys):
    await asker.begin()
    await asker.check("deploy", "c1")
    await asker.ask("stop", reason="done")
    other = asker.of("s2")
    await other.begin()
    await other.check("deploy", "c1")
    arguments = ["--since-start", "--task", "task of s1", "--count", "2"]
    monkeypatch.setenv("LICTOR_NATS_URL", asker.endpoints.nats_url)
    options = ArgumentParser()
    watch.arguments(options)
    async with asyncio.timeout(60):
        assert await watch.run(options.parse_args(arguments)) == 0
    call, stop = capsys.readouterr().out.splitlines()
    assert "block" in call
    assert "call of deploy" in call
    assert "lictor.completion" in stop
