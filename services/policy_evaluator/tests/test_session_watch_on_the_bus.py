"""A condition over a session, on the bus: real NATS, real Redis, the evaluator as a process."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_policy.judge.config import load_config
from lictor_schema.core.ids import decision_id, derived_event_id
from lictor_schema.decisions.decision import DecisionRecord
from lictor_schema.events.event import parse_event

PACK = """\
apiVersion: lictor/v1
kind: PolicyPack
metadata:
  id: session-limits
  title: Limits of a session
  version: "1"
  summary: No session may hide its reports again and again
  owner: tests
  severity_default: high
  applies_to: {}
  tags: []
spec:
  evaluation_mode: any_rule_match
  rules:
    - id: session-limits.hidden-report
      title: A report that nobody sees
      intent: Reports are for operators
      triggers: {event_types: [task_checkpoint_sent]}
      conditions:
        count: {event: task_checkpoint_sent, where: {operator_visible: false}, within: 1h}
        greater_than: 0
      evidence_requirements: {}
      decision_output:
        decision: block
        reason: A report that nobody sees is none.
        suggested_status: null
        required_actions: []
        operator_notice: null
      operator_message_templates: {blocked: Show it.}
    - id: session-limits.many-blocks
      title: Blocked in many tasks
      intent: Somebody has to look at such a session
      triggers: {event_types: [watchdog_fired]}
      conditions:
        count: {decision: block, within: 1h, scope: session}
        greater_than: 2
      evidence_requirements: {}
      decision_output:
        decision: escalate
        reason: This session was blocked three times.
        suggested_status: blocked
        required_actions: []
        operator_notice: null
      operator_message_templates: {review_required: Please look at this session.}
"""


class Session:
    """A session whose agent works on several tasks."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name

    async def tell(
        self,
        task: str,
        event_type: str,
        event_id: str | None = None,
        message_id: str | None = None,
        **payload: Any,
    ) -> None:
        task_id = f"{self.name} {task}"
        event = {
            "event_id": event_id or str(uuid.uuid4()),
            "event_type": event_type,
            "runtime": "openclaw",
            "adapter_version": "1",
            "agent_id": "agent-1",
            "task_id": task_id,
            "correlation_id": f"workflow of {task_id}",
            "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "payload": payload,
            "evidence_refs": [],
            "operator_context": {"channel": "telegram"},
        }
        subject = subjects.event("openclaw", task_id)
        message = Outgoing(subject, json.dumps(event).encode(), message_id)
        await publish_one(self.client, "EVENTS", message)

    async def start(self, task: str) -> None:
        await self.tell(
            task,
            "task_started",
            title="Migrate",
            mode="interactive",
            workflow_shape="single-agent",
            channel="telegram",
            session_id=self.name,
        )

    async def hide_a_report(self, task: str) -> None:
        await self.tell(task, "task_checkpoint_sent", message="Half done.", operator_visible=False)

    async def decisions(self, wanted: int) -> list[DecisionRecord]:
        """The session's decisions, as soon as there are so many."""
        async with asyncio.timeout(30):
            while True:
                stored = await read_from(self.client, "DECISIONS", subjects.DECISION.all, 1, 500)
                records = [DecisionRecord.from_json(each.body) for each in stored]
                mine = [each for each in records if each.session_id == self.name]
                if len(mine) >= wanted:
                    return mine
                await asyncio.sleep(0.02)


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    folder = tmp_path / "session-limits"
    folder.mkdir()
    (folder / "policy.yaml").write_text(PACK, encoding="utf-8")
    return tmp_path


@asynccontextmanager
async def evaluator(endpoints: Endpoints, packs: Path) -> AsyncIterator[Client]:
    client = await nats.connect(endpoints.nats_url)
    try:
        async with service_process(
            "lictor_policy_evaluator", endpoints, LICTOR_PACKS=str(packs), LICTOR_PARTITIONS="2"
        ):
            await wait_until_ready(client, "policy-evaluator")
            yield client
    finally:
        await client.close()


async def test_blocks_of_several_tasks_escalate_the_one_that_crosses_the_line(
    clean_infra: Endpoints, packs: Path
) -> None:
    async with evaluator(clean_infra, packs) as client:
        session, other = Session(client, "night shift"), Session(client, "day shift")
        for task in ("one", "two", "three"):
            for each in (session, other):
                await each.start(task)
        for task in ("one", "two"):
            await other.hide_a_report(task)
            await session.hide_a_report(task)
        await session.decisions(5)
        await session.hide_a_report("three")
        records = await session.decisions(7)
        told = records[-1]
        assert told.event_type == "watchdog_fired"
        assert told.runtime == "lictor"
        assert told.task_id == "night shift three"
        assert told.decision.decision.value == "escalate"
        assert told.decision.policy_id == "session-limits.many-blocks"
        assert {each.event_type for each in await other.decisions(5)} == {
            "task_started",
            "task_checkpoint_sent",
        }


async def test_a_restart_in_between_loses_no_count_and_tells_nothing_twice(
    clean_infra: Endpoints, packs: Path
) -> None:
    async with evaluator(clean_infra, packs) as client:
        session = Session(client, "night shift")
        await session.start("one")
        await session.hide_a_report("one")
        await session.hide_a_report("one")
        await session.decisions(3)
    async with evaluator(clean_infra, packs) as client:
        session = Session(client, "night shift")
        await session.hide_a_report("one")
        await session.decisions(5)
    async with evaluator(clean_infra, packs) as client:
        session = Session(client, "night shift")
        await session.hide_a_report("one")
        records = await session.decisions(6)
        assert [each.event_type for each in records].count("watchdog_fired") == 1
        stored = await read_from(client, "EVENTS", "lictor.ev.*.lictor.*", 1, 100)
        assert len([parse_event(each.body) for each in stored]) == 1


async def test_an_agent_can_not_silence_the_watch_by_using_up_its_id(
    clean_infra: Endpoints, packs: Path
) -> None:
    config = load_config(packs)
    (question,) = config.sessions.questions
    async with evaluator(clean_infra, packs) as client:
        session = Session(client, "night shift")
        await session.start("one")
        for _ in range(2):
            await session.hide_a_report("one")
        await session.decisions(3)
        # Everything that the id of the watch's event is made of can be known before.
        task_id = "night shift one"
        rule = "session-limits.hidden-report"
        record_id = decision_id(task_id, "openclaw", "third", config.config_hash, rule)
        watch_id = derived_event_id(task_id, "session_condition", record_id, question.name)
        await session.tell(
            "one",
            "operator_review_requested",
            message_id=subjects.event_message_id("lictor", task_id, watch_id),
            request_id="r",
            requested_by="agent",
            question="?",
            blocking=False,
        )
        await session.tell(
            "one", "task_checkpoint_sent", "third", message="Half done.", operator_visible=False
        )
        told = (await session.decisions(6))[-1]
        assert (told.event_type, told.runtime) == ("watchdog_fired", "lictor")
        assert told.event_id == watch_id
        assert told.decision.policy_id == "session-limits.many-blocks"
