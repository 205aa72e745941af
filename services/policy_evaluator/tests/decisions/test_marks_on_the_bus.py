"""False alarms: an operator marks a decision, it is counted by rule, and the mark can be taken back."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from reporting import ROOT, service_process, wait_until_ready

import lictor
from lictor.desk_orders import DeskRefused
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.decisions.mark import MarkOrder

ANSWERS = {
    "current_status": "begun",
    "completed_this_segment": "nothing yet",
    "next_step": "the first table",
    "next_report_condition": "when it is done",
    "operator_intervention_needed": "no",
}
RULE = "verified-completion-only.completion-without-required-evidence"


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


async def downgraded(governor: lictor.Governor) -> tuple[DecisionRecord, DecisionRecord]:
    """A decision that no rule made, and that on a claim without evidence."""
    task = await governor.start_task("Migrate", task_id="task 1", channel="telegram")
    quiet = await task.checkpoint("Nothing yet.", operator_visible=False, structure=ANSWERS)
    claim = await task.claim_complete("all done")
    return await task.decision_on(quiet), await task.decision_on(claim)


async def command(infra: Endpoints, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(
        subprocess.run,
        [Path(sys.executable).with_name("lictor"), *arguments, "--url", infra.nats_url],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip


async def counted(infra: Endpoints) -> int:
    """False alarms of the rule, as `lictor pack stats` counts them."""
    told = await command(infra, "pack", "stats", "--json")
    rows: list[dict[str, Any]] = [json.loads(line) for line in told.stdout.splitlines()]
    return next(row["false_alarms"] for row in rows if row.get("rule_id") == RULE)


async def kept(client: Client) -> int:
    return len(await read_from(client, streams.MARKS, subjects.MARK.any, 1, 100))


async def test_an_operator_marks_a_false_alarm_and_takes_it_back(
    governor: lictor.Governor, client: Client, clean_infra: Endpoints
) -> None:
    _, record = await downgraded(governor)
    mark = ("decision", "mark", record.record_id)
    told = await command(
        clean_infra, *mark, "--false-alarm", "--reason", "the logs are elsewhere", "--by", "vera"
    )
    assert told.returncode == 0, told.stderr
    assert RULE in told.stdout
    shown = await command(clean_infra, "decision", "show", record.record_id)
    assert "yes, says vera" in shown.stdout
    assert "the logs are elsewhere" in shown.stdout
    assert await counted(clean_infra) == 1

    repeated = await command(
        clean_infra, *mark, "--false-alarm", "--reason", "the logs are elsewhere", "--by", "vera"
    )
    assert "was marked already by vera" in repeated.stdout
    assert "nothing has changed" in repeated.stdout
    assert re.search(r"says vera at \d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z: ", shown.stdout)
    listed = await command(clean_infra, "decision", "list")
    assert [line.endswith("(false alarm)") for line in listed.stdout.splitlines()].count(True) == 1

    again = await governor.mark(record, "false_alarm", by="vera", reason="the logs are elsewhere")
    assert (again.outcome, await kept(client)) == ("done", 1)
    await governor.mark(record, "false_alarm", by="otto", reason="I think so too")
    assert (await kept(client), await counted(clean_infra)) == (2, 1)

    back = await command(clean_infra, *mark, "--withdraw", "--reason", "it was right")
    assert back.returncode == 0, back.stderr
    assert await counted(clean_infra) == 0
    shown = await command(clean_infra, "decision", "show", record.record_id, "--json")
    marks = json.loads(shown.stdout)["marks"]
    assert [each["mark"] for each in marks] == ["false_alarm", "false_alarm", "withdrawn"]
    assert {each["rule_id"] for each in marks} == {RULE}

    await governor.mark(record, "false_alarm", by="vera", reason="no, it was not")
    assert await counted(clean_infra) == 1


async def test_the_same_order_is_kept_once_however_often_it_comes(
    governor: lictor.Governor, client: Client
) -> None:
    _, record = await downgraded(governor)
    order = MarkOrder(
        request_id="6f0d2f8e-3e39-4b1a-9a4b-0f6f2a6c1d11",
        record_id=record.record_id,
        recorded_at=record.recorded_at,
        task_id=record.task_id,
        mark="false_alarm",
        by="vera",
        reason="no alarm",
    )
    asked = [client.request(subjects.desk("mark"), order.to_json(), timeout=5) for _ in range(10)]
    answers = {(await each).data for each in asyncio.as_completed(asked)}
    assert len(answers) == 1
    assert json.loads(answers.pop())["outcome"] == "done"
    assert await kept(client) == 1


async def test_what_cannot_be_marked_is_refused_with_the_reason(
    governor: lictor.Governor, client: Client
) -> None:
    started, record = await downgraded(governor)
    with pytest.raises(DeskRefused, match="is not marked"):
        await governor.mark(record, "withdrawn", by="vera", reason="x")
    with pytest.raises(DeskRefused, match="no rule decided it"):
        await governor.mark(started, "false_alarm", by="vera", reason="x")
    nowhere = record.model_copy(update={"record_id": "6f0d2f8e-3e39-4b1a-9a4b-0f6f2a6c1d11"})
    with pytest.raises(DeskRefused, match="has no decision"):
        await governor.mark(nowhere, "false_alarm", by="vera", reason="x")
    malformed = await client.request(subjects.desk("mark"), b"{}", timeout=5)
    assert json.loads(malformed.data)["outcome"] == "refused"
    assert await kept(client) == 0
