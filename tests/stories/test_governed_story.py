"""A governed decision through every service: started, begun, allowed, done, verified, closed, and sealed."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import nats
from governing_bus import CONTRACT, ENVELOPE, write_pack
from reporting import service_process, wait_until_ready

import lictor
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.envelope import DTE
from lictor_schema.core.canonical_json import canonical_json, content_hash
from lictor_seal import SealBundle, TrustStore, verify_bundle

ORDER: dict[str, str] = {"status": "open"}


async def refund() -> None:
    ORDER["status"] = "refunded"


async def read_back() -> dict[str, str]:
    return dict(ORDER)


async def test_a_refund_is_governed_from_its_start_to_its_seal(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    packs = write_pack(tmp_path / "packs")
    environment = {
        "LICTOR_PACKS": str(packs),
        "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
    }
    async with AsyncExitStack() as running:
        client = await nats.connect(clean_infra.nats_url)
        running.push_async_callback(client.close)
        for name in ("policy_evaluator", "supervisor", "sealer"):
            await running.enter_async_context(
                service_process(f"lictor_{name}", clean_infra, **environment)
            )
            await wait_until_ready(client, name.replace("_", "-"))
        governor = await running.enter_async_context(
            lictor.connect(clean_infra.nats_url, runtime="python", agent_id="agent-7")
        )
        task = await governor.start_task("Refund order o-1", decision_type="refund")
        contract = {**CONTRACT, "blastRadiusTier": "medium"}
        # At once: the supervisor waits for the decision on the task's start.
        async with task.decision() as decision:
            async with decision.stage("context"):
                await decision.capture("balance")
            await decision.count(hops=0, fanout=0, tool_calls=1, chain_depth=1)
            async with decision.stage("act"):
                await decision.carry_out(contract, refund)
            async with decision.stage("verify"):
                found = await decision.verify(
                    "a-1", expected={"status": "refunded"}, observed=read_back
                )
        assert found.verification is not None
        assert found.verification.result == "pass"
        await task.claim_complete("the order is refunded")
        bundle = await task.sealed()
    assert verify_bundle(bundle, TrustStore.load(tmp_path / "trust.json")).ok
    episode = cast("dict[str, Any]", SealBundle.from_bytes(bundle).sealed_episode)
    envelope = DTE.from_json(canonical_json(ENVELOPE))
    assert episode["dteRef"]["dteHash"] == content_hash(envelope)
    assert episode["decisionType"] == "refund"
    assert episode["outcome"]["code"] == "success"
    assert episode["verification"]["result"] == "pass"
    assert [each["actionId"] for each in episode["actions"]] == ["a-1"]
    assert set(episode["telemetry"]["stageMs"]) == {"context", "plan", "act", "verify"}
