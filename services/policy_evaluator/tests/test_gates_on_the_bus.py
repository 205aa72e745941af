"""The gates as runtimes ask them: real NATS, real Redis, the evaluator as a process."""

import asyncio
import json
import socket
import urllib.request
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

from lictor_bus.logs.packs import publish_switch
from lictor_bus.names import streams, subjects
from lictor_bus.names.streams import DEFAULT_PARTITIONS
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_policy.version import ENGINE_VERSION
from lictor_schema.gates.gate import GateAnswer
from lictor_schema.gates.gate_record import GateRecord
from lictor_schema.packs.release import ConfigSwitch

ANCHOR = {"channel": "telegram", "target": "chat-1"}
ANSWERS = {
    "current_status": "half done",
    "completed_this_segment": "nothing",
    "next_step": "the second table",
    "next_report_condition": "when it is done",
    "operator_intervention_needed": "no",
}


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class Runtime:
    """A runtime that publishes events of one task and asks gates about it."""

    def __init__(self, client: Client, task_id: str = "task 1") -> None:
        self.client = client
        self.task_id = task_id

    async def tell(self, event_type: str, payload: dict[str, Any]) -> int:
        event = {
            "event_id": str(uuid.uuid4()),
            "event_type": event_type,
            "runtime": "openclaw",
            "adapter_version": "1",
            "agent_id": "agent-1",
            "task_id": self.task_id,
            "correlation_id": "corr-1",
            "timestamp": now(),
            "payload": payload,
            "evidence_refs": [],
            "operator_context": {"channel": "telegram"},
        }
        subject = subjects.event("openclaw", self.task_id)
        stored = await publish_one(
            self.client, "EVENTS", Outgoing(subject, json.dumps(event).encode())
        )
        assert stored is not None
        return stored

    async def start(self, **payload: Any) -> int:
        usual = {
            "title": "Migrate the tables",
            "mode": "interactive",
            "workflow_shape": "parent-child",
            "channel": "telegram",
        }
        await self.tell("task_started", {**usual, **payload})
        # Something to report, and nothing that would prove the task done.
        return await self.attach("weak", ())

    async def attach(
        self, quality: str = "strong", supports: Sequence[str] = ("completion",)
    ) -> int:
        item = {
            "evidence_id": str(uuid.uuid4()),
            "task_id": self.task_id,
            "correlation_id": "corr-1",
            "agent_id": "agent-1",
            "class": "verification_output",
            "quality": quality,
            "summary": "The checks ran through",
            "captured_at": now(),
            "refs": [{"kind": "log", "ref": "logs/check.txt"}],
            "supports": {"claim_types": supports, "next_step": True},
        }
        return await self.tell("task_evidence_attached", {"items": [item]})

    async def ask(self, gate: str, **fields: Any) -> GateAnswer:
        request = {
            "request_id": str(uuid.uuid4()),
            "runtime": "openclaw",
            "agent_id": "agent-1",
            "task_id": self.task_id,
            "requested_at": now(),
            **fields,
        }
        reply = await self.client.request(
            subjects.gate(gate, request["runtime"]), json.dumps(request).encode(), 5
        )
        return GateAnswer.from_json(reply.data)

    async def may_report(self, message: str = "Half is done.", **fields: Any) -> GateAnswer:
        return await self.ask("report", message=message, structure=ANSWERS, **fields)

    async def may_complete(self) -> GateAnswer:
        return await self.may_report("All done.", claim={"type": "completion", "text": "done"})

    async def may_dispatch(self, kind: str = "subagent", **fields: Any) -> GateAnswer:
        usual = {"mode": "interactive", "purpose": "Survey", "report_anchor": ANCHOR}
        return await self.ask("dispatch", dispatch_kind=kind, **{**usual, **fields})

    async def records(self) -> list[GateRecord]:
        kept = subjects.GATED.where(task=subjects.token(self.task_id))
        stored = await read_from(self.client, streams.GATES, kept, 1, 100)
        return [GateRecord.from_json(message.body) for message in stored]


@asynccontextmanager
async def evaluator(endpoints: Endpoints, **environment: str) -> AsyncIterator[Runtime]:
    client = await nats.connect(endpoints.nats_url)
    try:
        async with service_process("lictor_policy_evaluator", endpoints, **environment):
            await wait_until_ready(client, "policy-evaluator")
            yield Runtime(client)
    finally:
        await client.close()


@pytest.fixture
async def runtime(clean_infra: Endpoints) -> AsyncIterator[Runtime]:
    async with evaluator(clean_infra) as running:
        yield running


async def test_a_gate_counts_the_event_that_was_stored_a_moment_before(runtime: Runtime):
    await runtime.start()
    held = await runtime.may_complete()
    assert held.decision in ("rewrite", "deny")
    for number in range(20):
        other = Runtime(runtime.client, f"task {number} of many")
        await other.start()
        attached = await other.attach()
        assert (await other.may_complete()).decision == "allow"
        async with asyncio.timeout(60):
            while not (kept := await other.records()):
                await asyncio.sleep(0.01)
        assert (kept[0].state_sequence or 0) >= attached


async def test_every_answer_is_recorded_with_its_question(runtime: Runtime):
    sequence = await runtime.start()
    allowed = await runtime.may_report()
    held = await runtime.may_complete()
    denied = await runtime.may_dispatch(report_anchor=None)
    assert (allowed.decision, denied.decision) == ("allow", "deny")
    async with asyncio.timeout(60):
        while len(records := await runtime.records()) < 3:
            await asyncio.sleep(0.01)
    by_request = {record.request.request_id: record for record in records}
    for answer in (allowed, held, denied):
        record = by_request[answer.request_id]
        assert record.answer == answer
        assert record.request.task_id == "task 1"
        assert (record.state_sequence or 0) >= sequence
    assert by_request[denied.request_id].gate_rules == ("lictor.gate.report-anchor",)
    assert by_request[held.request_id].matched_rules[0].rule_id == held.policy_id


async def test_a_denial_is_stored_before_it_is_given(runtime: Runtime):
    denied = await runtime.may_report()
    assert "never started" in denied.reason
    assert [record.answer for record in await runtime.records()] == [denied]


async def test_a_new_task_is_let_through_with_an_anchor_and_held_back_without(runtime: Runtime):
    assert (await runtime.may_dispatch("task")).decision == "allow"
    held = await runtime.may_dispatch("task", report_anchor=None)
    assert (held.decision, held.policy_id) == ("deny", "lictor.gate.report-anchor")
    silent = await runtime.may_dispatch("task", mode="silent")
    assert (silent.decision, silent.policy_id) == ("deny", "lictor.gate.silent-launch")


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"{}", b'{"request_id":"a","request_id":"b"}', b"\xff"]
)
async def test_a_question_that_makes_no_sense_is_denied(runtime: Runtime, body: bytes):
    for gate in ("report", "dispatch"):
        reply = await runtime.client.request(subjects.gate(gate, "test"), body, 5)
        answer = GateAnswer.from_json(reply.data)
        assert (answer.decision, answer.policy_id) == ("deny", "policy-evaluator.malformed-request")


async def test_questions_asked_at_once_are_answered_each_for_itself(runtime: Runtime):
    await runtime.start()
    # More than are judged at once, and not so many that the last ones' time is up on a busy machine.
    answers = await asyncio.gather(*(runtime.may_report(f"Part {n}.") for n in range(64)))
    assert {answer.decision for answer in answers} == {"allow"}
    assert len({answer.request_id for answer in answers}) == 64


async def test_without_the_store_every_act_is_denied_until_it_is_back(own_servers: EmbeddedServers):
    async with evaluator(own_servers.endpoints) as runtime:
        await runtime.start()
        assert (await runtime.may_report()).decision == "allow"
        await own_servers.kill_redis()
        denied = await runtime.may_report()
        assert (denied.decision, denied.policy_id) == ("deny", "lictor.gate.unavailable")
        assert any(record.answer == denied for record in await runtime.records())
        await own_servers.start_redis()
        await wait_until_ready(runtime.client, "policy-evaluator")
        async with asyncio.timeout(30):
            while (answer := await runtime.may_report()).decision != "allow":
                assert answer.decision in ("deny", "wait")


async def test_an_answer_that_can_not_be_recorded_is_given_and_counted(clean_infra: Endpoints):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def metrics() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return answer.read().decode()

    async with evaluator(clean_infra, LICTOR_HTTP_PORT=str(port)) as runtime:
        await runtime.start()
        await runtime.client.jetstream().delete_stream(streams.GATES)
        assert (await runtime.may_report()).decision == "allow"
        assert (await runtime.may_dispatch(report_anchor=None)).decision == "deny"
        async with asyncio.timeout(60):
            for decision in ("allow", "deny"):
                counted = f'decision="{decision}",gate='
                while not any(
                    "lictor_gate_unrecorded" in line and counted in line
                    for line in (await asyncio.to_thread(metrics)).splitlines()
                ):
                    await asyncio.sleep(0.1)


async def test_many_answers_at_once_are_all_recorded(runtime: Runtime):
    await runtime.start()
    answers = await asyncio.gather(*(runtime.may_report(f"Part {n}.") for n in range(90)))
    async with asyncio.timeout(60):
        while len(kept := await runtime.records()) < 90:
            await asyncio.sleep(0.05)
    assert {each.request.request_id for each in kept} == {each.request_id for each in answers}


async def test_while_the_packs_in_force_can_not_be_loaded_every_act_is_denied(runtime: Runtime):
    await runtime.start()
    assert (await runtime.may_report()).decision == "allow"
    nowhere = "sha256:" + "0" * 64
    switch = ConfigSwitch(
        bundle_hash=nowhere, config_hash=nowhere, engine=ENGINE_VERSION, why="a test"
    )
    token = subjects.token(runtime.task_id)
    await publish_switch(runtime.client, subjects.partition_of(token, DEFAULT_PARTITIONS), switch)
    denied = await runtime.may_report()
    assert (denied.decision, denied.policy_id) == ("deny", "lictor.gate.unavailable")
    assert "the packs in force can't be loaded" in denied.reason
