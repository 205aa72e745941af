"""The whole way, through a sealer that is killed on it: a decision drifts thrice, and a patch is asked for."""

import asyncio
from pathlib import Path

from governing_bus import Asker, put_in_force, write_pack
from learning_bus import Bus
from reporting import service_process, wait_until_ready

from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.coherence_report import (
    CoherenceAnswer,
    CoherenceQuestion,
    SloName,
    SloVerdict,
)
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity, DriftType


async def bypass(asker: Asker) -> None:
    """A task whose agent dispatches an action that nothing allowed."""
    await asker.begin()
    assert not (await asker.dispatched())["ok"]
    await asker.close()


async def test_a_dispatch_without_a_contract_thrice_is_red_drift_that_asks_for_a_patch(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    settings = {
        "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
        "LICTOR_SEAL_TRUST": str(tmp_path / "trust.json"),
        "LICTOR_PACKS": str(write_pack(tmp_path / "packs")),
    }
    client = await connect_nats(clean_infra.nats_url, name="test")
    await put_in_force(client)
    bus, asker = Bus(client, clean_infra), Asker(client)
    sealer = service_process("lictor_sealer", clean_infra, **settings)
    async with sealer, service_process("lictor_supervisor", clean_infra, **settings) as first:
        for name in ("sealer", "supervisor"):
            await wait_until_ready(client, name)
        await bypass(asker.of("task-1"))
        await bypass(asker.of("task-2"))
        first.kill()
        await first.wait()
    sealer = service_process("lictor_sealer", clean_infra, **settings)
    async with sealer, service_process("lictor_supervisor", clean_infra, **settings):
        for name in ("sealer", "supervisor"):
            await wait_until_ready(client, name)
        await bypass(asker.of("task-3"))
        async with asyncio.timeout(30):
            while not (patches := await bus.patches()):
                await asyncio.sleep(0.05)
            while len(await _bypasses(bus)) < 3:
                await asyncio.sleep(0.05)
            while len(await read_from(client, streams.EPISODES, subjects.EPISODE.any, 1, 10)) < 3:
                await asyncio.sleep(0.05)
        asked = CoherenceQuestion(request_id="q").to_json()
        answer = await client.request(subjects.REPORT, asked, timeout=10)
    found = await _bypasses(bus)
    await client.close()
    assert [each.severity for each in found] == [DriftSeverity.RED] * 3
    assert len({each.episode_id for each in found}) == 3
    (patch,) = [each for each in patches if each.fingerprint == found[0].fingerprint]
    assert patch.proposal is not None
    assert '"step": "bypass"' in patch.proposal.diff
    report = CoherenceAnswer.from_json(answer.data).report
    assert report is not None
    assert report.episodes == 3
    told = {each.slo: each for each in report.slos}
    assert told[SloName.SEAL_INTEGRITY].verdict is SloVerdict.PASS
    assert told[SloName.DEADLINE].share is not None


async def _bypasses(bus: Bus) -> list[DriftEvent]:
    return [each for each in await bus.drift() if each.drift_type is DriftType.BYPASS]
