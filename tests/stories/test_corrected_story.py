"""A guarded task through every service: its episode holds what each of them said, and a correction what came late."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from reporting import ROOT, service_process, wait_until_ready

import lictor
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import Endpoints
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.decisions.receipt import DeliveryReceipt, DeliveryState, ReceiptStatus
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.seals.episode_sources import EpisodeSources
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import SealBundle

SERVICES = ("policy_evaluator", "feedback", "prover", "sealer", "supervisor")
QUEUED = DeliveryReceipt(
    status=ReceiptStatus.PLANNED,
    delivery_state=DeliveryState.QUEUED,
    operator_notice_required=False,
)


async def test_an_episode_tells_all_that_was_said_and_its_correction_what_came_late(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    environment = {
        "LICTOR_PACKS": str(ROOT / "policy-packs"),
        "LICTOR_AGENTS": str(ROOT / "examples/agents"),
        "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
    }
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "notes.txt").write_text("nobody has read me")
    async with AsyncExitStack() as running:
        client = await nats.connect(clean_infra.nats_url)
        running.push_async_callback(client.close)
        for name in SERVICES:
            await running.enter_async_context(
                service_process(f"lictor_{name}", clean_infra, **environment)
            )
            await wait_until_ready(client, name.replace("_", "-"))
        governor = await running.enter_async_context(
            lictor.connect(clean_infra.nats_url, runtime="python", agent_id="agent-7")
        )
        task = await governor.start_task("Sum the notes up")
        first = await anext(task.decisions())
        await work(governor, task, workspace)
        await publish_one(client, streams.PROGRAMS, program(task.task_id))
        assert (await governor.report_receipt(first, QUEUED)).outcome == "stored"
        # What the services write behind their answers is there before the task closes.
        for stream, subject, count in (
            (streams.DECISIONS, f"lictor.dec.*.*.guard.{task.task_id}", 1),
            (streams.PROOFS, f"lictor.proof.*.*.{task.task_id}", 1),
            (streams.GATES, f"lictor.gated.*.tool.{task.task_id}", 3),
            (streams.GATES, f"lictor.gated.*.report.{task.task_id}", 1),
        ):
            await until_stored(client, stream, subject, count)
        ref = {"kind": "file", "ref": "summary.txt"}
        await task.attach_evidence(
            "the summary is there", refs=[ref], quality="strong", supports=["completion"]
        )
        closing = await task.decision_on(
            await task.claim_complete("summed up", evidence_refs=[ref])
        )
        assert closing.task_closed
        one = episode_of(await task.sealed())

        found = sources(one)
        counted = {each.name: each.count for each in found.strands}
        assert counted["guard"] == counted["proofs"] == counted["receipts"] == 1
        # Three allowed calls, and the question whether a report may be shown.
        assert counted["gates"] == 4
        assert [each.submission_id for each in found.proofs] == ["program-1"]
        assert [(each.gate, each.tool) for each in found.guard] == [("tool", "write_file")]
        [advice] = found.guidance
        assert (advice.provider, advice.summary) == ("brevity", "Keep the summary short.")
        assert advice.delivered_after is not None
        assert found.unreadable == 0

        await governor.report_receipt(closing, QUEUED)
        url = ["--url", clean_infra.nats_url, "--json"]
        order = ["--by", "dora", "--reason", "the operator was told", *url]
        looked = await run("seal", "correct", one.episode_id, "--dry-run", *order)
        assert (looked["version"], looked["late"]) == (2, 1)
        answer = await run("seal", "correct", one.episode_id, *order)
        assert (answer["version"], answer["late"]) == (2, 1)

        versions: list[SealedEpisode] = []
        for number in (1, 2):
            file = tmp_path / f"{number}.json"
            which = [one.episode_id, "--version", str(number), "-o", str(file), *url]
            await run("seal", "export", *which)
            trust = ["--trust", str(tmp_path / "trust.json"), "--json"]
            report = await run("seal", "verify", str(file), *trust)
            assert report["verified"]["version"] == number
            versions.append(episode_of(file.read_bytes()))
        assert versions[0] == one
        two = versions[1]
        assert (two.seal.previous_hash, two.seal.hash) == (one.seal.hash, answer["hash"])
        assert [each.record_id for each in sources(two).receipts] == [
            first.record_id,
            closing.record_id,
        ]
        audit = await run("log", "verify", "--trust", str(tmp_path / "trust.json"), *url)
        assert audit["ok"]


async def work(governor: lictor.Governor, task: Any, workspace: Path) -> None:
    """A call that is denied, three that are allowed, and a report that is asked about."""
    guard = governor.guard(
        "session-1",
        definition="scribe",
        workspace=workspace,
        cwd=workspace,
        task_id=task.task_id,
        timeout_s=5.0,
    )
    async with guard as session:
        try:
            await session.call("write_file", {"path": "notes.txt"}, lambda path: path)
        except lictor.ToolDenied:
            for _ in range(3):
                await session.call("read_file", {"path": "notes.txt"}, lambda path: path)
        else:
            raise AssertionError("an unread file was overwritten")
    await task.may_report("The notes are being summed up.")


def program(task_id: str) -> Outgoing:
    submission = ProgramSubmission(
        submission_id="program-1",
        task_id=task_id,
        agent_id="agent-7",
        runtime="python",
        correlation_id="flow",
        submitted_at=datetime.now(UTC),
        language="python",
        source_name="send.py",
        program="send()",
    )
    return Outgoing(
        subjects.program(submission.runtime, task_id), submission.to_json(), "program-1"
    )


def episode_of(bundle: bytes) -> SealedEpisode:
    seal = SealBundle.from_bytes(bundle.splitlines(keepends=True)[0])
    return SealedEpisode.from_json(canonical_json(seal.sealed_episode))


def sources(episode: SealedEpisode) -> EpisodeSources:
    assert episode.sources is not None
    return episode.sources


async def until_stored(client: Client, stream: str, subject: str, count: int) -> None:
    async with asyncio.timeout(30):
        while len([each async for each in read_all(client, stream, subject)]) < count:
            await asyncio.sleep(0.02)


async def run(*arguments: str) -> Any:
    """What a `lictor` command says, as JSON."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("lictor")),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, problem = await process.communicate()
    assert process.returncode == 0, (said + problem).decode()
    return json.loads(said)
