"""What a gate does when the broker stores no record: by default it answers, with `gate_records: required` it denies."""

import json
import shutil
import uuid
from datetime import UTC, datetime
from pathlib import Path

import nats
import pytest
from nats.js.api import DiscardPolicy
from reporting import ROOT, reach, service_process, wait_until_ready

import lictor
from lictor_bus.names import streams, subjects

DEFINITION = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "1"}
other_tools: allow
"""
PACK = """\
apiVersion: lictor/v1
kind: PolicyPack
metadata:
  id: on-record
  title: On record
  version: 1.0.0
  summary: Every answer of a gate is on record before it is given.
  owner: tests
  severity_default: low
  applies_to: {runtimes: ["*"], task_modes: ["*"], workflow_shapes: ["*"], channels: ["*"]}
  tags: [tests]
spec:
  evaluation_mode: any_rule_match
  extends: [no-silence]
  rules: []
  gate_records: required
"""


ANSWERS = {
    "current_status": "half done",
    "completed_this_segment": "the first table",
    "next_step": "the second table",
    "next_report_condition": "when it is done",
    "operator_intervention_needed": "no",
}


def question(**fields) -> bytes:
    return json.dumps(
        {
            "request_id": str(uuid.uuid4()),
            "runtime": "test",
            "agent_id": "agent",
            "task_id": "t",
            "requested_at": datetime.now(UTC).isoformat(),
            **fields,
        }
    ).encode()


async def ask(client, subject, **fields):
    return json.loads((await client.request(subject, question(**fields), timeout=10)).data)


async def start_task(client):
    """Task t of runtime test, known to the evaluator."""
    async with lictor.connect(client.connected_url.geturl(), runtime="test") as governor:
        task = await governor.start_task("Survey", task_id="t", channel="telegram")
        async for _ in task.decisions():
            break


async def store_nothing_more(client, stream):
    """The broker refuses every further message of the stream, as it does when it has no room."""
    js = client.jetstream()
    found = await js.stream_info(stream)
    count = max(1, found.state.messages)
    await js.update_stream(found.config.evolve(max_msgs=count, discard=DiscardPolicy.NEW))


@pytest.mark.parametrize("required", [False, True])
async def test_an_allowed_dispatch_or_a_rewritten_report_that_cannot_be_recorded(
    clean_infra, tmp_path: Path, required
):
    packs = tmp_path / "packs"
    shutil.copytree(ROOT / "policy-packs", packs)
    if required:
        (packs / "on-record").mkdir()
        (packs / "on-record" / "policy.yaml").write_text(PACK)
    dispatch = {
        "task_id": "another",
        "dispatch_kind": "task",
        "mode": "interactive",
        "purpose": "Survey",
        "report_anchor": {"channel": "telegram", "target": "chat-1"},
    }
    client = await nats.connect(clean_infra.nats_url)
    async with service_process("lictor_policy_evaluator", clean_infra, LICTOR_PACKS=str(packs)):
        await wait_until_ready(client, "policy-evaluator")
        await start_task(client)
        gate = subjects.gate("dispatch", "test")
        allowed = await ask(client, gate, **dispatch)
        assert allowed["decision"] == "allow"
        await reach(client, streams.GATES, 1)
        await store_nothing_more(client, streams.GATES)
        answer = await ask(client, gate, **dispatch)
        # A report that claims progress without evidence: what may be shown is another text.
        claim = {"type": "progress", "text": "half of it is done"}
        report = {"message": "Half of it is done.", "claim": claim, "structure": ANSWERS}
        shown = await ask(client, subjects.gate("report", "test"), **report)
    await client.close()
    assert shown["decision"] == ("deny" if required else "rewrite")
    if required:
        assert (answer["decision"], answer["policy_id"]) == ("deny", "lictor.gate.unrecorded")
        assert "a pack wants every answer on record" in answer["reason"]
    else:
        assert answer["decision"] == "allow"


@pytest.mark.parametrize("required", [False, True])
async def test_an_allowed_call_that_cannot_be_recorded(clean_infra, tmp_path: Path, required):
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "coder.yaml").write_text(DEFINITION + "gate_records: required\n" * required)
    client = await nats.connect(clean_infra.nats_url)
    async with service_process("lictor_feedback", clean_infra, LICTOR_AGENTS=str(agents)):
        await wait_until_ready(client, "feedback")
        about = {"session_id": "s"}
        begin = subjects.session_request("begin", "test")
        assert (await ask(client, begin, definition="coder", **about))["ok"]
        gate = subjects.gate("tool", "test")
        first = await ask(client, gate, tool="read", call_id="1", params={}, **about)
        assert first["decision"] == "allow"
        if required:
            # Stored before it was given: nobody has to wait for it.
            assert (await client.jetstream().stream_info(streams.GATES)).state.messages == 1
        await reach(client, streams.GATES, 1)
        await store_nothing_more(client, streams.GATES)
        answer = await ask(client, gate, tool="read", call_id="2", params={}, **about)
    await client.close()
    if required:
        assert (answer["decision"], answer["policy_id"]) == ("deny", "lictor.unrecorded")
        assert "the definition wants every call on record" in answer["reason"]
    else:
        assert answer["decision"] == "allow"
