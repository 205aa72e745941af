"""`lictor report`: from a real log and real streams, with the exit code that a pipeline can act on."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from learning_bus import Bus, learning_bus, learning_supervisor, sighting
from sealed_history import TRUST, episode, seal_all

from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.coherence_report import CoherenceReport, SloName, SloVerdict
from lictor_schema.core.base_model import utc_millis

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


@pytest.fixture
async def bus(clean_infra: Endpoints) -> AsyncIterator[Bus]:
    async with learning_bus(clean_infra) as ready, learning_supervisor(clean_infra):
        yield ready


async def test_the_report_is_measured_and_its_exit_code_says_whether_all_is_reached(
    cli: Cli, bus: Bus, tmp_path: Path
) -> None:
    trust = tmp_path / "trust.json"
    trust.write_bytes(TRUST.to_bytes())
    await seal_all(
        bus.client,
        episode("quick", tier="medium", verified=True),
        sealed_at=utc_millis(datetime.now(UTC)),
    )
    await bus.see(sighting("e1"))
    await bus.until_drift(1)
    words = ("report", "--url", bus.endpoints.nats_url, "--trust", trust)
    told = await cli(*words, "--json")
    assert told.returncode == 0, told.stderr
    value = json.loads(told.stdout)
    verdict = value.pop("verdict")
    report = CoherenceReport.from_json(json.dumps(value))
    verdicts = {each.slo: each.verdict for each in report.slos}
    # No red drift: that objective is not measured, and so not all of them are reached.
    assert verdict == "not_measured"
    assert [name for name, each in verdicts.items() if each is not SloVerdict.PASS] == [
        SloName.RED_DRIFT_PATCHED
    ]
    assert (await cli(*words, "--check")).returncode == 1
    shown = await cli(*words, "--check", "--unmeasured-ok")
    assert shown.returncode == 0
    assert "seal_integrity" in shown.stdout


async def test_without_a_trust_file_seals_are_not_measured(cli: Cli, bus: Bus) -> None:
    await seal_all(bus.client, episode("quick"), sealed_at=utc_millis(datetime.now(UTC)))
    told = await cli("report", "--url", bus.endpoints.nats_url, "--json")
    slos = {each["slo"]: each for each in json.loads(told.stdout)["slos"]}
    assert slos["seal_integrity"]["verdict"] == "not_measured"
    assert slos["deadline"]["verdict"] == "pass"


async def test_with_another_s_trust_file_no_seal_holds(cli: Cli, bus: Bus, tmp_path: Path) -> None:
    trust = tmp_path / "trust.json"
    trust.write_bytes(type(TRUST).of([]).to_bytes())
    await seal_all(bus.client, episode("quick"), sealed_at=utc_millis(datetime.now(UTC)))
    words = ("--trust", trust, "--json", "--check", "--unmeasured-ok")
    told = await cli("report", "--url", bus.endpoints.nats_url, *words)
    assert told.returncode == 1
    assert json.loads(told.stdout)["episodes"] == 0
