"""The coherence report from a small real history: sealed episodes, drift and patches on a real bus."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from learning_bus import Bus, learning_bus, learning_supervisor, sighting
from sealed_history import TRUST, episode, seal_all

from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.coherence_report import (
    CoherenceAnswer,
    CoherenceQuestion,
    CoherenceReport,
    Share,
    SloName,
    SloVerdict,
)
from lictor_schema.contracts.drift import DriftSeverity, DriftType, TriageState
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.core.base_model import utc_millis
from lictor_seal.trust import TrustFile

NOW = datetime.now(UTC)
PASS, FAIL, UNMEASURED = SloVerdict.PASS, SloVerdict.FAIL, SloVerdict.NOT_MEASURED


@pytest.fixture
async def bus(clean_infra: Endpoints) -> AsyncIterator[Bus]:
    async with learning_bus(clean_infra) as ready, learning_supervisor(clean_infra, lambda: TRUST):
        yield ready


async def ask(bus: Bus, body: bytes | None = None) -> CoherenceAnswer:
    asked = body or CoherenceQuestion(request_id="q").to_json()
    answer = await bus.client.request(subjects.REPORT, asked, timeout=10)
    return CoherenceAnswer.from_json(answer.data)


async def report(bus: Bus, since: datetime | None = None) -> CoherenceReport:
    asked = CoherenceQuestion(request_id="q", since=since)
    told = await ask(bus, asked.to_json())
    assert told.report is not None
    return told.report


def verdicts(found: CoherenceReport) -> dict[SloName, SloVerdict]:
    return {each.slo: each.verdict for each in found.slos}


async def test_nothing_measured_is_no_pass(bus: Bus) -> None:
    found = await report(bus)
    assert set(verdicts(found).values()) == {UNMEASURED}
    assert found.verdict is UNMEASURED


async def test_every_objective_is_measured_from_what_is_sealed_and_published(bus: Bus) -> None:
    await seal_all(
        bus.client,
        episode("quick", tier="medium", verified=True),
        episode("slow", took_ms=2000, step=DegradeStep.RULES_ONLY, tier="large"),
        episode("stale", stale=2),
        episode("ungoverned", governed=False, took_ms=9999),
        sealed_at=utc_millis(NOW),
    )
    early = NOW - timedelta(hours=5)
    patched = sighting("p", severity=DriftSeverity.RED, at=early)
    waiting = sighting("w", drift_type=DriftType.VERIFY, severity=DriftSeverity.RED, at=early)
    await bus.see(patched, waiting, sighting("g", drift_type=DriftType.TIME, at=early))
    await bus.until_drift(3)
    for state in (TriageState.TRIAGED, TriageState.PATCH_PLANNED):
        await bus.move(patched.drift_id, state)
    await bus.move(patched.drift_id, TriageState.PATCHED, by="bob")
    found = await report(bus)
    shares = {each.slo: each.share for each in found.slos}
    assert found.episodes == 4
    assert shares[SloName.DEADLINE] == Share(part=2, whole=3)
    assert shares[SloName.FRESHNESS] == Share(part=2, whole=3)
    assert shares[SloName.VERIFICATION] == Share(part=1, whole=2)
    assert shares[SloName.UNDEGRADED] == Share(part=2, whole=3)
    assert shares[SloName.SEAL_INTEGRITY] == Share(part=4, whole=4)
    assert [(each.step, each.count) for each in found.rungs] == [("none", 2), ("rules_only", 1)]
    assert (found.patch_times.patched, found.patch_times.waiting) == (1, 1)
    told = verdicts(found)
    assert told[SloName.RED_DRIFT_PATCHED] is FAIL, "one took five hours, one still waits"
    assert told[SloName.WHY_RETRIEVAL] is PASS
    assert told[SloName.P99_WITHIN_WINDOW] is FAIL
    assert [(each.drift_type.value, each.severity.value) for each in found.drift] == [
        ("time", "green"),
        ("bypass", "red"),
        ("verify", "red"),
    ]


async def test_a_seal_that_does_not_verify_fails_and_its_episode_counts_for_nothing(
    bus: Bus,
) -> None:
    (bundle,) = await seal_all(bus.client, episode("quick"), sealed_at=utc_millis(NOW))
    forged = bundle.replace(b'"endToEndMs":500', b'"endToEndMs":400').replace(b"quick", b"forge")
    subject = subjects.episode("rt", "refund", "forge")
    await publish_one(bus.client, streams.EPISODES, Outgoing(subject, forged))
    await publish_one(bus.client, streams.EPISODES, Outgoing(subject, b"{}"))
    found = await report(bus)
    assert found.episodes == 1
    assert {each.slo: each.share for each in found.slos}[SloName.SEAL_INTEGRITY] == Share(
        part=1, whole=3
    )
    assert found.verdict is FAIL


async def test_only_what_lies_in_the_stretch_of_time_counts(bus: Bus) -> None:
    await seal_all(bus.client, episode("quick"), sealed_at=utc_millis(NOW - timedelta(days=2)))
    await bus.see(sighting("old", at=NOW - timedelta(days=2)), sighting("new", at=NOW))
    await bus.until_drift(2)
    found = await report(bus, NOW - timedelta(days=1))
    assert found.episodes == 0
    assert [each.count for each in found.drift] == [1]
    assert found.measured_from == utc_millis(NOW - timedelta(days=1))


@pytest.mark.parametrize("body", [b"{", b'{"request_id":""}', b'{"request_id":"q","since":1}'])
async def test_a_malformed_question_is_answered_with_what_is_wrong(bus: Bus, body: bytes) -> None:
    told = await ask(bus, body)
    assert told.report is None
    assert told.problem
    assert json.loads(told.to_json())["report"] is None


async def test_without_public_keys_there_is_no_report_and_the_answer_says_what_is_missing(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    path = tmp_path / "trust.json"
    async with learning_bus(clean_infra) as bus, learning_supervisor(clean_infra, TrustFile(path)):
        told = await ask(bus)
        assert told.report is None
        assert "there is no trust store" in str(told.problem)
        path.write_bytes(TRUST.to_bytes())
        assert (await ask(bus)).report is not None
