"""A data directory of an older engine under a newer one: folded anew, nothing published twice, no record changed."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from reporting import ROOT, apply_streams, reach, service_process, wait_until_ready

import lictor
from lictor.history.stream_replay import replay
from lictor.tasks import Task
from lictor_bus.names import subjects
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import Endpoints
from lictor_policy.version import ENGINE_VERSION

EVALUATOR = "lictor_policy_evaluator"
# An engine as it was before: another version, another form of state, and every item of evidence is new.
OLDER = """
import lictor_policy.version
lictor_policy.version.ENGINE_VERSION = "0.3.0"
import lictor_policy.task.state
lictor_policy.task.state.FORMAT = 3
from lictor_policy.task.artefacts import KnownArtefacts
KnownArtefacts.bring_something_new = lambda self, refs: True
import runpy
runpy.run_module("lictor_policy_evaluator", run_name="__main__")
"""
ANSWERS = {
    "current_status": "half done",
    "completed_this_segment": "the first table",
    "next_step": "the second table",
    "next_report_condition": "when it is done",
    "operator_intervention_needed": "no",
}
REF = {"kind": "log", "ref": "run.txt", "sha256": "a" * 64}
# Under the older engine the same log shown again closes a task, under the newer one it does not.
STRICT = """
apiVersion: lictor/v1
kind: PolicyPack
metadata:
  id: strict
  title: Strict
  version: 1.0.0
  summary: What is called done shows something new.
  owner: tests
  severity_default: low
  applies_to: {runtimes: ["*"], task_modes: ["*"], workflow_shapes: ["*"], channels: ["*"]}
  tags: [tests]
spec:
  evaluation_mode: any_rule_match
  rules:
    - id: strict.nothing-new
      title: Nothing new
      intent: To be tested
      triggers: {event_types: [task_claimed_complete]}
      conditions: {fact: evidence.new_items_since_last_checkpoint, equals: 0}
      evidence_requirements: {}
      decision_output:
        decision: downgrade_status
        severity: high
        reason: Nothing new.
        suggested_status: pending_verification
        required_actions: []
        operator_notice: null
      operator_message_templates: {status_downgraded: Nothing new.}
"""


ANCHOR = {"channel": "telegram", "target": "chat-1"}


@asynccontextmanager
async def older_evaluator(endpoints: Endpoints, **environment: str) -> AsyncIterator[None]:
    await apply_streams(endpoints.nats_url)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OLDER,
        cwd=ROOT,
        env={
            **os.environ,
            "LICTOR_NATS_URL": endpoints.nats_url,
            "LICTOR_REDIS_URL": endpoints.redis_url,
            "LICTOR_LOG_LEVEL": "WARNING",
            **environment,
        },
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def report(task: Task) -> None:
    """The same log, shown as evidence under a new id, and a report of progress."""
    await task.attach_evidence(
        "it ran", refs=[REF], quality="moderate", evidence_id=str(uuid.uuid4())
    )
    await task.checkpoint("Half of it is done.", claim="it moves on", structure=ANSWERS)


async def records(client: Client) -> list[bytes]:
    return [each.body async for each in read_all(client, "DECISIONS", subjects.DECISION.any)]


def reports(found: list[bytes]) -> list[str]:
    told: list[dict[str, Any]] = [json.loads(each) for each in found]
    return [
        each["decision"]["decision"]
        for each in told
        if each["event_type"] == "task_checkpoint_sent"
    ]


async def test_an_older_engine_s_task_is_folded_anew_without_a_second_decision(
    clean_infra: Endpoints,
) -> None:
    client = await nats.connect(clean_infra.nats_url)
    async with lictor.connect(clean_infra.nats_url, runtime="openclaw", agent_id="a") as governor:
        async with older_evaluator(clean_infra):
            await wait_until_ready(client, "policy-evaluator")
            task = await governor.start_task("Migrate", task_id="t-1", channel="telegram")
            await report(task)
            await report(task)
            await reach(client, "DECISIONS", 5)
        before = await records(client)
        assert reports(before) == ["allow", "allow"]
        async with service_process(EVALUATOR, clean_infra):
            await wait_until_ready(client, "policy-evaluator")
            await report(task)
            await reach(client, "DECISIONS", 7)
        after = await records(client)
    assert after[:5] == before
    assert len({json.loads(each)["event_id"] for each in after}) == len(after) == 7
    # The newer engine knows the log from what was told to the older one.
    assert reports(after) == ["allow", "allow", "rewrite"]

    found = await replay(client)
    assert (found.differing, found.same, found.events) == (0, 2, 7)
    assert (found.by_other_engines, found.other_engines) == (5, {"0.3.0"})
    told = await asyncio.to_thread(
        subprocess.run,
        [Path(sys.executable).with_name("lictor"), "replay", "--url", clean_infra.nats_url],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "engine 0.3.0 judged some of these events" in told.stdout
    assert ENGINE_VERSION != "0.3.0"
    await client.close()


async def test_a_task_that_an_older_engine_closed_stays_closed(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    packs = {"LICTOR_PACKS": str(tmp_path)}
    (tmp_path / "strict").mkdir()
    (tmp_path / "strict" / "policy.yaml").write_text(STRICT)
    client = await nats.connect(clean_infra.nats_url)
    async with lictor.connect(clean_infra.nats_url, runtime="openclaw", agent_id="a") as governor:
        async with older_evaluator(clean_infra, **packs):
            await wait_until_ready(client, "policy-evaluator")
            task = await governor.start_task("Migrate", task_id="t-1", channel="telegram")
            await report(task)
            await report(task)
            await task.attach_evidence("it ran", refs=[REF], quality="strong")
            closing = await task.decision_on(await task.claim_complete("all done"))
            assert closing.task_closed
        async with service_process(EVALUATOR, clean_infra, **packs):
            await wait_until_ready(client, "policy-evaluator")
            late = {"kind": "log", "ref": "another.txt"}
            await task.attach_evidence("it ran again", refs=[late], quality="strong")
            again = await task.claim_complete("all done, once more")
            assert not (await task.decision_on(again, timeout_s=60)).task_closed
            dispatched = await task.may_dispatch("Survey", report_anchor=ANCHOR)
            assert dispatched.policy_id == "lictor.gate.task-closed"
    found = await replay(client)
    assert (found.differing, found.same) == (0, 2)
    await client.close()
