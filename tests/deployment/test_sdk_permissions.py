"""The whole SDK with a runtime's own NATS account: it works, and never does what its user may not."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest
from reporting import ROOT, service_process, wait_until_ready
from secured_nats import Secured, secured_server

import lictor
from lictor.errors import EventRefused, NotInTime
from lictor.history.own_history import OwnHistory
from lictor.programs import Program
from lictor_bus.gates.history import GUIDANCE, RUNS
from lictor_bus.names import subjects
from lictor_bus.wire.connection import connect_nats
from lictor_local.embedded_servers import Endpoints
from lictor_schema.decisions.receipt import DeliveryState, ReceiptStatus
from lictor_schema.events.operator_context import OperatorContext
from lictor_seal import SealBundle

SERVICES = (
    "policy_evaluator",
    "sealer",
    "supervisor",
    "feedback",
    "rehearser",
    "prover",
    "approvals",
    "runner",
)
OPERATOR = OperatorContext(operator_id="you", channel="terminal")
NEWSLETTER = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")


@pytest.fixture
async def secured(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Secured]:
    """A server with accounts, and every service at work."""
    approvers = tmp_path / "approvers.json"
    approvers.write_text('{"format": "lictor-trust-store/v1", "keys": []}')
    environment = {
        "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
        "LICTOR_SEAL_TRUST": str(tmp_path / "trust.json"),
        "LICTOR_LAYERS": str(ROOT / "examples/layers"),
        "LICTOR_APPROVERS": str(approvers),
    }
    async with AsyncExitStack() as running:
        secured = await running.enter_async_context(secured_server(clean_infra, tmp_path))
        ops = await connect_nats(secured.url("ops"), name="test")
        running.push_async_callback(ops.close)
        for name in SERVICES:
            endpoints = secured.endpoints(name.replace("_", "-"))
            await running.enter_async_context(
                service_process(f"lictor_{name}", endpoints, **environment)
            )
        for name in SERVICES:
            await wait_until_ready(ops, name.replace("_", "-"))
        yield secured


async def test_the_whole_sdk_does_only_what_a_runtime_s_user_may(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with lictor.connect(
        secured.url("openclaw"), runtime="openclaw", agent_id="agent", operator=OPERATOR
    ) as governor:
        everything = governor.all_decisions(since_start=True)
        task = await governor.start_task("tell the customers", task_id="t-1")
        refs = [{"kind": "log", "ref": "1"}]
        await task.attach_evidence("it works", refs=refs, quality="strong", supports=["completion"])
        assert (await governor.may_report("half of it is done", task_id="t-1")).reason
        assert (await governor.may_dispatch("look it up", task_id="t-1")).reason
        async with governor.guard("s-1", task_id="t-1") as guard:
            assert (await guard.check("Read", {"file_path": "a"})).allowed
            await guard.used(tokens=1)
            assert (await guard.snapshot("before")).ok
            assert (await guard.restore("a test", snapshot_id="before")).ok
            assert (await guard.reset("a test")).ok
            await guard.may_stop("done")
        with pytest.raises(lictor.DecisionRefused):
            async with governor.decision("t-1"):
                pass
        (proved,) = await governor.prove(Program(NEWSLETTER, name="n.py"), task_id="t-1")
        with pytest.raises(NotInTime, match="nobody decided"):
            await governor.approval(proved, timeout_s=5)

        closing = await task.claim_complete("all of it is done")
        record = await task.decision_on(closing, timeout_s=60)
        async with aclosing(everything):
            assert (await anext(everything)).task_id == "t-1"
        assert await governor.find_decision(record.record_id) == record
        assert await governor.find_decision(record.record_id, task_id="t-1") == record
        failed = record.receipt.model_copy(
            update={"status": ReceiptStatus.FAILED, "delivery_state": DeliveryState.FAILED}
        )
        answer = await governor.report_receipt(record, failed)
        assert answer.outcome == "stored", answer
        assert [each.receipt for each in await governor.receipts(record)] == [failed]

        bundle = await task.sealed(timeout_s=60)
        episode = str(SealBundle.from_bytes(bundle).sealed_episode["episodeId"])
        assert await governor.sealed_episode(episode) == bundle
        assert await governor.sealed_version(episode, 1) == bundle
        own = OwnHistory(governor._client, "openclaw")  # pyright: ignore[reportPrivateUsage] -- the SDK has no name for these
        for kind in (GUIDANCE, RUNS):
            assert [each async for each in own.read(kind)] == []

    async with lictor.connect(
        secured.url("codex"), runtime="codex", agent_id="other", operator=OPERATOR
    ) as other:
        # What one runtime did is nothing to another.
        assert await other.find_decision(record.record_id, task_id="t-1") is None
        assert await other.receipts(record) == []
        with pytest.raises(NotInTime):
            await other.sealed_episode(episode, timeout_s=0.5)
        with pytest.raises(NotInTime):
            await other.sealed("t-1", timeout_s=0.5)
    assert violations(caplog) == []


async def test_a_runtime_hears_that_its_event_was_set_aside(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    """That is in a stream which no runtime may read."""
    caplog.set_level(logging.DEBUG)
    async with lictor.connect(
        secured.url("openclaw"), runtime="openclaw", agent_id="agent", operator=OPERATOR
    ) as governor:
        body = b'{"event_id": "e-1", "task_id": "t-2", "event_type": "nothing of ours"}'
        subject = subjects.event("openclaw", "t-2")
        stored = await governor._client.request(subject, body, timeout=10)  # pyright: ignore[reportPrivateUsage] -- the SDK sends no such thing
        published = lictor.Published("t-2", "e-1", int(json.loads(stored.data)["seq"]), False)
        with pytest.raises(EventRefused, match="set event e-1 aside"):
            await governor.decision_on(published, timeout_s=60)
    assert violations(caplog) == []


def violations(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the server refused on any connection of this process."""
    texts = [record.getMessage() for record in caplog.records]
    return [text for text in texts if "permissions violation" in text.lower()]


async def test_a_refused_act_would_be_seen_here(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = await connect_nats(secured.url("openclaw"), name="test")
    await client.publish("$JS.API.INFO", b"")
    await client.flush()
    async with asyncio.timeout(30):
        while not violations(caplog):
            await asyncio.sleep(0.01)
    await client.close()
