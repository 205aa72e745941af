"""Receipts as runtimes report them, through the SDK and as raw requests: real NATS, the evaluator as a process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from reporting import ROOT, service_process, wait_until_ready

import lictor
from lictor.errors import LictorError, Unreachable
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.core.base_model import utc_millis
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.receipt import (
    DeliveryReceipt,
    DeliveryState,
    ReceiptAnswer,
    ReceiptStatus,
)
from lictor_schema.events.operator_context import EvidenceRef

PROOF = EvidenceRef(kind="message", ref="telegram:42")


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await nats.connect(clean_infra.nats_url)
    yield connected
    await connected.close()


@pytest.fixture
async def governor(clean_infra: Endpoints, client: Client) -> AsyncIterator[lictor.Governor]:
    async with (
        service_process("lictor_policy_evaluator", clean_infra),
        lictor.connect(clean_infra.nats_url, runtime="openclaw", agent_id="a") as connected,
    ):
        await wait_until_ready(client, "policy-evaluator")
        yield connected


async def held_back(governor: lictor.Governor, task_id: str = "task 1") -> DecisionRecord:
    """The decision on a claim without evidence."""
    task = await governor.start_task("Migrate", task_id=task_id, channel="telegram")
    claim = await task.claim_complete("all done")
    return await task.decision_on(claim)


def receipt(record: DecisionRecord, status: str, state: str, **changes: Any) -> DeliveryReceipt:
    return DeliveryReceipt(
        status=ReceiptStatus(status),
        delivery_state=DeliveryState(state),
        enforcement_intent=record.receipt.enforcement_intent,
        operator_notice_required=record.receipt.operator_notice_required,
        **changes,
    )


async def kept(client: Client) -> int:
    return len(await read_from(client, streams.RECEIPTS, subjects.RECEIPT.all, 1, 100))


async def test_a_decision_is_carried_out_step_by_step_and_each_step_is_kept(
    governor: lictor.Governor, client: Client, clean_infra: Endpoints
):
    record = await held_back(governor)
    assert record.decision.decision != "allow"
    for status, state in (("planned", "queued"), ("planned", "dispatched")):
        answer = await governor.report_receipt(record, receipt(record, status, state))
        assert (answer.outcome, answer.receipt) == ("stored", receipt(record, status, state))
    done = await governor.report_receipt(
        record, receipt(record, "acked", "acked"), message_sent="Not verified yet.", proof=PROOF
    )
    assert (done.outcome, done.sequence) == ("stored", 3)
    late = await governor.report_receipt(record, receipt(record, "failed", "failed"))
    assert (late.outcome, late.field) == ("refused", "receipt.status")
    assert late.receipt == receipt(record, "acked", "acked")
    assert [each.receipt.delivery_state for each in await governor.receipts(record)] == [
        "queued",
        "dispatched",
        "acked",
    ]
    # The command is what an auditor sees of it.
    shown = await asyncio.to_thread(
        subprocess.run,
        [Path(sys.executable).with_name("lictor"), "decision", "show", record.record_id,
         "--url", clean_infra.nats_url],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert "acked / acked" in shown.stdout
    assert "Not verified yet." in shown.stdout
    assert "all done" in shown.stdout
    assert await kept(client) == 3


async def test_the_same_report_is_kept_once_however_often_it_comes(
    governor: lictor.Governor, client: Client
):
    record = await held_back(governor)
    asked = receipt(record, "planned", "queued")
    reports = await asyncio.gather(
        *(governor.report_receipt(record, asked, report_id=f"r{n}") for n in range(6))
    )
    assert {answer.outcome for answer in reports} == {"stored"}
    assert await kept(client) == 6
    again = await governor.report_receipt(record, asked, report_id="r1")
    assert again.outcome == "duplicate"
    other = receipt(record, "planned", "dispatched")
    changed = await governor.report_receipt(record, other, report_id="r1")
    assert (changed.outcome, changed.field) == ("refused", "report_id")
    stored = (await read_from(client, streams.RECEIPTS, subjects.RECEIPT.all, 1, 1))[0]
    for _ in range(3):
        reply = await client.request("lictor.receipt.openclaw", stored.body, 5)
        answer = ReceiptAnswer.from_json(reply.data)
        assert (answer.outcome, answer.sequence) == ("duplicate", 1)
    assert await kept(client) == 6


async def test_of_two_ends_reported_at_once_one_is_kept(governor: lictor.Governor, client: Client):
    record = await held_back(governor)
    done = receipt(record, "acked", "acked")
    answers = await asyncio.gather(
        *(governor.report_receipt(record, done, message_sent=f"{n}", proof=PROOF) for n in range(5))
    )
    assert sorted(answer.outcome for answer in answers) == ["refused"] * 4 + ["stored"]
    assert await kept(client) == 1


async def test_what_is_no_receipt_is_refused_with_the_field(
    governor: lictor.Governor, client: Client
):
    record = await held_back(governor)
    await governor.report_receipt(record, receipt(record, "planned", "queued"))
    stored = (await read_from(client, streams.RECEIPTS, subjects.RECEIPT.all, 1, 1))[0]
    honest = json.loads(stored.body) | {"report_id": "another"}

    async def told(change: dict[str, Any], runtime: str = "openclaw") -> str | None:
        body = json.dumps({**honest, **change}).encode()
        reply = await client.request(f"lictor.receipt.{runtime}", body, 5)
        answer = ReceiptAnswer.from_json(reply.data)
        assert answer.outcome == "refused"
        assert answer.reason
        assert answer.remedy
        return answer.field

    unknown = "6f0d1c57-5e0d-4b8e-9d53-1c9b8a2f7e11"
    assert await told({"record_id": unknown}) == "record_id"
    assert await told({"record_id": "x"}) == "record_id"
    assert await told({"recorded_at": "2030-01-01T00:00:00.000Z"}) == "record_id"
    assert await told({"task_id": "task 2"}) == "record_id"
    assert await told({"runtime": "other"}) == "runtime"
    assert await told({"runtime": "other"}, runtime="other") == "runtime"
    assert await told({"surprise": 1}) == "surprise"
    reply = await client.request("lictor.receipt.openclaw", b"nonsense", 5)
    assert ReceiptAnswer.from_json(reply.data).outcome == "refused"
    assert await kept(client) == 1


async def test_the_runtime_of_a_task_reports_on_what_a_timer_led_to(governor: lictor.Governor):
    task = await governor.start_task("Migrate", checkpoint_interval_s=1, channel="telegram")
    records = task.decisions()
    record = await anext(records)
    while record.event_type != "task_checkpoint_due":
        record = await asyncio.wait_for(anext(records), 20)
    await records.aclose()
    assert record.runtime == "lictor"
    told = receipt(record, "planned", "queued")
    assert (await governor.report_receipt(record, told)).outcome == "stored"


async def test_a_runtime_that_only_announced_a_task_does_not_own_its_receipts(
    governor: lictor.Governor, client: Client, clean_infra: Endpoints
):
    announced = {
        "event_id": "announced",
        "event_type": "report_anchor_missing",
        "runtime": "stranger",
        "adapter_version": "1",
        "agent_id": "b",
        "task_id": "task 1",
        "correlation_id": "c",
        "timestamp": utc_millis(datetime.now(UTC)),
        "payload": {"dispatch_kind": "task", "detected_at": utc_millis(datetime.now(UTC))},
        "evidence_refs": [],
        "operator_context": {},
    }
    message = Outgoing(subjects.event("stranger", "task 1"), json.dumps(announced).encode())
    await publish_one(client, streams.EVENTS, message)
    task = await governor.start_task(
        "Migrate", task_id="task 1", checkpoint_interval_s=1, channel="telegram"
    )
    records = task.decisions()
    record = await anext(records)
    while record.event_type != "task_checkpoint_due":
        record = await asyncio.wait_for(anext(records), 20)
    await records.aclose()
    told = receipt(record, "planned", "queued")
    async with lictor.connect(clean_infra.nats_url, runtime="stranger", agent_id="b") as stranger:
        refused = await stranger.report_receipt(record, told)
    assert (refused.outcome, refused.field) == ("refused", "runtime")
    assert (await governor.report_receipt(record, told)).outcome == "stored"


async def test_a_receipt_that_nobody_takes_is_an_error_and_not_a_success(
    clean_infra: Endpoints, client: Client
):
    async with lictor.connect(clean_infra.nats_url, runtime="openclaw", agent_id="a") as governor:
        async with service_process("lictor_policy_evaluator", clean_infra):
            await wait_until_ready(client, "policy-evaluator")
            record = await held_back(governor)
        with pytest.raises(Unreachable):
            await governor.report_receipt(record, receipt(record, "planned", "queued"))
        with pytest.raises(LictorError, match="proof"):
            await governor.report_receipt(record, receipt(record, "acked", "acked"))


async def test_the_sdk_asks_both_gates_and_takes_silence_as_a_denial(
    clean_infra: Endpoints, client: Client
):
    anchor = {"channel": "telegram", "target": "chat-1"}
    async with lictor.connect(clean_infra.nats_url, runtime="openclaw", agent_id="a") as governor:
        async with service_process("lictor_policy_evaluator", clean_infra):
            await wait_until_ready(client, "policy-evaluator")
            task = await governor.start_task("Migrate", channel="telegram")
            assert (await task.may_dispatch("Survey", report_anchor=anchor)).decision == "allow"
            assert (await task.may_dispatch("Survey")).policy_id == "lictor.gate.report-anchor"
            claim = {"type": "completion", "text": "done"}
            held = await task.may_report("All done.", claim=claim)
            assert held.decision in ("rewrite", "deny")
            malformed = await task.may_report("")
            assert (malformed.decision, malformed.policy_id) == (
                "deny",
                "lictor.client.malformed-question",
            )
        assert (await task.may_report("Half.")).policy_id == "lictor.client.unanswered"
        assert (await task.may_dispatch("Survey", report_anchor=anchor)).decision == "deny"
