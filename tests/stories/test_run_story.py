"""From a program to a sealed episode: proved, approved by a signature, run, sealed, and verified offline."""

import asyncio
import time
import uuid
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nats.aio.client import Client
from reporting import reach, service_process, wait_until_ready
from runner_bus import ALICE, policed
from runs_on_disk import program
from secured_nats import secured_server

import lictor
from lictor.history.episode_bundle import bundle_lines
from lictor.history.episode_story import EpisodeStory
from lictor_approval.request_life import RequestLife, folded
from lictor_approval.signed_decisions import Approvers, sign_decision
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalEntry, ApprovalOrder
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import canonical_json, hash_bytes
from lictor_schema.proofs.proof import ProofVerdict
from lictor_schema.seals.seal import SealedEpisode
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_seal import Entry, Message, SealBundle, TrustStore, verify_bundle

PATIENCE_S = 60.0
SERVICES = {
    "policy-evaluator": "lictor_policy_evaluator",
    "sealer": "lictor_sealer",
    "supervisor": "lictor_supervisor",
    "prover": "lictor_prover",
    "approvals": "lictor_approvals",
    "runner": "lictor_runner",
}
PAY = program("pay('ada', 5)\nfor account in accounts():\n    send(account.name)")

# What the page on approving and running has a reader publish.
REPORT = Path(__file__).parents[2] / "examples/newsletter_task.jsonl"


async def _close_task(client: Client) -> None:
    """The agent reports, and is done."""
    told = REPORT.read_text("utf-8").replace("newsletter-1", "story")
    for line in told.replace('"shell"', '"openclaw"').splitlines():
        message = Outgoing(subjects.event("openclaw", "story"), line.encode())
        await publish_one(client, "EVENTS", message)


async def _request(client: Client, *states: str) -> RequestLife:
    """The one request there is, when it stands so."""
    end = time.monotonic() + PATIENCE_S
    while True:
        found = all_entries(client, "APPROVALS", subjects.APPROVAL.any, ApprovalEntry.from_json)
        life = folded([entry async for _, entry in found])
        if life is not None and life.state.value in states:
            return life
        assert time.monotonic() < end, f"the request is {life and (life.state, life.reason)}"
        await asyncio.sleep(0.05)


async def _approve(client: Client, life: RequestLife) -> DeskAnswer:
    now = datetime.now(UTC)
    decision = ApprovalDecision(
        request_id=life.request.request_id,
        binding_hash=life.request.binding_hash,
        decision="approve",
        by=ALICE.name,
        decided_at=utc_millis(now),
        expires_at=utc_millis(now + timedelta(minutes=5)),
        nonce=str(uuid.uuid4()),
    )
    order = ApprovalOrder(request_id=life.request.request_id, signed=sign_decision(decision, ALICE))
    asked = await client.request(subjects.desk("approval"), order.to_json(), timeout=10)
    return DeskAnswer.from_json(asked.data)


async def test_a_program_is_proved_approved_run_and_sealed_each_by_its_own_user(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    bank = policed(tmp_path)
    approvers = tmp_path / "approvers.json"
    approvers.write_bytes(TrustStore.of([ALICE.verifying_key]).to_bytes())
    environment = {
        "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
        "LICTOR_LAYERS": str(bank.root),
        "LICTOR_PROOF_WORKERS": "1",
        "LICTOR_APPROVERS": str(approvers),
    }
    async with AsyncExitStack() as running:
        secured = await running.enter_async_context(secured_server(clean_infra, tmp_path))
        client = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(client.close)
        for name, module in SERVICES.items():
            await running.enter_async_context(
                service_process(module, secured.endpoints(name), **environment)
            )
        for name in SERVICES:
            await wait_until_ready(client, name)
        governor = await running.enter_async_context(
            lictor.connect(secured.url("openclaw"), runtime="openclaw")
        )

        # What reaches beyond its layer is never proved, so nobody is even asked.
        (rejected,) = await governor.prove(f"import os\n{PAY}", task_id="story")
        assert rejected.verdict is ProofVerdict.REJECTED
        (proved,) = await governor.prove(PAY, task_id="story")
        assert proved.verdict is ProofVerdict.PROVED, proved.reasons

        life = await _request(client, "requested")
        assert bank.done() == []
        answer = await _approve(client, life)
        assert answer.outcome == "done", answer
        life = await _request(client, "executed")
        assert bank.done() == [["pay", "ada", 5], ["send", "ada"], ["send", "bob"]]

        await _close_task(client)
        await reach(client, "EPISODES", 2)
        bundle = (await read_from(client, "EPISODES", subjects.EPISODE.any, 1, 1))[0].body
        runs = await read_from(client, "RUNS", subjects.RUN.any, 1, 100)
        exported = b"".join([line async for line in bundle_lines(client, bundle)])

    trust = TrustStore.load(tmp_path / "trust.json")
    report = verify_bundle(bundle, trust)
    assert report.ok, report
    sealed = SealedEpisode.model_validate_json(
        canonical_json(SealBundle.from_bytes(bundle).sealed_episode)
    )
    assert sealed.sources is not None
    (strand,) = [each for each in sealed.sources.strands if each.name == "runs"]
    assert (strand.count, strand.complete) == (len(runs), True)
    # The exported file carries every effect, with its arguments and results, and tells them.
    carried: list[bytes] = []
    story = EpisodeStory()

    def visit(each: Message | Entry) -> None:
        story.take(each)
        if each.strand == "runs":
            carried.append(each.body)

    whole = verify_bundle(exported, trust, visit=visit)
    assert whole.ok, whole
    assert carried == [each.body for each in runs]
    done = [line.text for line in story.sections["done"]]
    assert any("pay(" in text and '"ada"' in text and "5" in text for text in done), done
    assert done[-1].endswith("ended executed: 4 effects, 0 taken back")
    (run,) = sealed.sources.runs
    assert (run.outcome, run.effects, run.approved_by) == ("executed", 4, "alice")
    assert run.program_hash == proved.program_hash == hash_bytes(PAY.encode())
    assert (run.program_hash_of, life.program.binding.program_hash_of) == ("bytes", "bytes")
    # The decision by which it ran is in the episode, and its key verifies it.
    opened = Approvers(TrustStore.of([ALICE.verifying_key])).opened(run.signed, datetime.now(UTC))
    assert opened.decision.binding_hash == run.binding_hash == life.request.binding_hash
    assert not verify_bundle(bundle.replace(b'"executed"', b'"failed"'), trust).ok
