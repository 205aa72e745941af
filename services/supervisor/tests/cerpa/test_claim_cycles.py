"""CERPA on a real bus: claims, drift and reports in, one cycle for each review, and a patch until it is settled."""

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import redis.asyncio
from learning_bus import PACK, Bus, learning_bus, learning_supervisor, sighting

from lictor_bus.fold.state_records import StateRecords
from lictor_bus.fold.state_tags import StateTags
from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from
from lictor_contracts.patch.document import read_document
from lictor_contracts.patch.proposal import propose
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.cerpa_claim import ClaimRequest, MeasurementReport
from lictor_schema.contracts.cerpa_cycle import (
    Assumption,
    CerpaClaim,
    CerpaCycle,
    CerpaDomain,
    CerpaEvent,
    Measurement,
)
from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.contracts.patch import PatchOperation, PatchProposal
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.services.desk_answer import DeskAnswer

NOW = datetime.now(UTC)
BEFORE = NOW - timedelta(hours=1)


def claim(name: str = "fast", *, hours: int = 2, **fields) -> CerpaClaim:
    fields.setdefault("assumptions", (Assumption(metric="latency_ms", operator="le", bound="200"),))
    return CerpaClaim(
        id=name,
        domain=CerpaDomain.ACTIONOPS,
        timestamp=NOW - timedelta(hours=hours),
        source="ops",
        text="refunds are quick",
        subject="refund",
        **fields,
    )


def event(latency: str | None = None, name: str | None = None, **fields) -> CerpaEvent:
    measured = () if latency is None else (_measured(latency),)
    return CerpaEvent(
        id=name or str(uuid.uuid4()),
        domain=CerpaDomain.ACTIONOPS,
        timestamp=BEFORE,
        source="meter",
        text=fields.pop("text", "measured"),
        subject=fields.pop("subject", "refund"),
        measurements=measured,
        **fields,
    )


def _measured(value: str) -> Measurement:
    return Measurement(metric="latency_ms", value=value, measured_at=BEFORE)


async def register(bus: Bus, *claims: CerpaClaim, by: str = "ada") -> list[DeskAnswer]:
    asked = (ClaimRequest(request_id=str(uuid.uuid4()), by=by, claim=each) for each in claims)
    return [await bus.ask("claim", each.to_json()) for each in asked]


async def tell(bus: Bus, *events: CerpaEvent) -> None:
    for each in events:
        asked = MeasurementReport(request_id=str(uuid.uuid4()), by="meter", event=each)
        assert (await bus.ask("event", asked.to_json())).outcome == "done"


async def cycles(bus: Bus, count: int) -> list[CerpaCycle]:
    """Wait until that many cycles are published; in their order."""
    async with asyncio.timeout(60):
        while True:
            stored = await read_from(bus.client, streams.CERPA, subjects.CYCLE.any, 1, 100)
            if len(stored) >= count:
                found = [CerpaCycle.from_json(each.body) for each in stored]
                assert [each.subject.split(".")[2] for each in stored] == [
                    cycle.status.value for cycle in found
                ]
                return found
            await asyncio.sleep(0.02)


def statuses(found: list[CerpaCycle]) -> list[str]:
    return [each.status.value for each in found]


@pytest.fixture
async def bus(clean_infra: Endpoints, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bus]:
    monkeypatch.setattr(streams, "DUPLICATE_WINDOW_S", 0.1)
    async with learning_bus(clean_infra) as ready:
        yield ready


async def test_each_event_is_one_review_of_each_claim_and_words_alone_contradict_nothing(
    bus: Bus,
) -> None:
    """Contract scenario 53: four verdicts and their patches."""
    async with learning_supervisor(bus.endpoints):
        await register(bus, claim(), claim("expired", expires_at=BEFORE))
        await tell(bus, event("150"), event("900"), event(text="notification not sent, failed"))
        found = await cycles(bus, 6)
    by_claim = {
        name: [each.review.verdict.value for each in found if each.claim.id == name]
        for name in ("fast", "expired")
    }
    assert by_claim["fast"] == ["aligned", "mismatch", "aligned"]
    assert by_claim["expired"] == ["expired", "expired", "expired"]
    asked = [each.patch.action.value for each in found if each.patch is not None]
    assert asked == ["expire", "adjust"], "one patch at a time for each claim"


async def test_red_drift_is_a_violation_that_escalates_and_drift_is_counted(bus: Bus) -> None:
    """Contract scenario 60: red escalates."""
    never = (Assumption(metric="drift.bypass", operator="eq", bound="0"),)
    async with learning_supervisor(bus.endpoints):
        await register(bus, claim(assumptions=never))
        await bus.see(
            sighting("e1", at=BEFORE),
            sighting("e2", cause="other", severity=DriftSeverity.RED, at=BEFORE),
        )
        await bus.see(sighting("e3", decision_type="another", at=BEFORE))
        found = await cycles(bus, 2)
    assert [each.review.verdict.value for each in found] == ["mismatch", "violation"]
    assert statuses(found) == ["patched", "escalated"]
    assert found[1].review.severity is DriftSeverity.RED


async def test_events_of_others_and_from_before_the_claim_are_not_reviewed(bus: Bus) -> None:
    """Contract scenario 58: another claim's or an earlier event."""
    async with learning_supervisor(bus.endpoints):
        await register(bus, claim(), claim("young", hours=0))
        await tell(bus, event("900", subject="another"), event("900"))
        (only,) = await cycles(bus, 1)
        late = MeasurementReport(
            request_id=str(uuid.uuid4()),
            by="meter",
            event=event("1").model_copy(update={"timestamp": NOW + timedelta(days=1)}),
        )
        refused = await bus.ask("event", late.to_json())
    assert only.claim.id == "fast"
    assert "in the future" in (refused.reason or "")


async def test_a_new_form_of_a_claim_settles_what_was_found_against_the_old(bus: Bus) -> None:
    async with learning_supervisor(bus.endpoints):
        await register(bus, claim())
        await tell(bus, event("900"))
        await cycles(bus, 1)
        looser = (Assumption(metric="latency_ms", operator="le", bound="1000"),)
        await register(bus, claim(hours=1, assumptions=looser))
        found = await cycles(bus, 2)
        (stale,) = await register(bus, claim(hours=3))
    assert statuses(found) == ["patched", "applied"]
    assert found[1].apply_result is not None
    assert found[1].apply_result.updated_claims == ("fast",)
    assert "date it anew" in (stale.reason or "")


async def test_a_red_violation_waits_for_a_second_person_whatever_its_claimant_does(
    bus: Bus,
) -> None:
    """Contract scenario 60: red escalates."""
    looser = (Assumption(metric="latency_ms", operator="le", bound="1000"),)
    async with learning_supervisor(bus.endpoints):
        await register(bus, claim(hours=5))
        await tell(bus, event(violation="refunded twice"))
        await register(bus, claim(hours=4, assumptions=looser))
        await register(bus, claim(hours=3, assumptions=(), expires_at=BEFORE))
        await register(bus, claim(hours=2, assumptions=looser), by="bob")
        found = await cycles(bus, 4)
    assert statuses(found) == ["escalated", "escalated", "escalated", "applied"]
    reasons = [each.apply_result and each.apply_result.reason for each in found[1:3]]
    assert all("ada stands for the claim" in (reason or "") for reason in reasons)
    last = found[-1].apply_result
    assert last is not None
    assert (last.settled_by, last.by) == ("second_person", "bob")


async def last_statuses(bus: Bus, wanted: list[str], claim_id: str = "fast") -> list[CerpaCycle]:
    """Wait until the cycles of a claim have come to these; every message about them, in order."""
    async with asyncio.timeout(30):
        while True:
            found = [each for each in await cycles(bus, 1) if each.claim.id == claim_id]
            last = {each.cycle_id: each.status.value for each in found}
            if list(last.values()) == wanted:
                return found
            await asyncio.sleep(0.02)


async def test_the_patch_of_a_recurring_drift_settles_the_cycle_of_the_same_drift(
    bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the store is lost between the approval and the application."""
    (tmp_path / "refunds").mkdir()
    (tmp_path / "refunds/policy.yaml").write_text(PACK)
    monkeypatch.setenv("LICTOR_PACKS", str(tmp_path))
    never = (Assumption(metric="drift.bypass", operator="eq", bound="0"),)
    async with learning_supervisor(bus.endpoints):
        await register(bus, claim(assumptions=never), claim("quick"))
        await bus.see(*(sighting(f"e{number}", at=BEFORE) for number in range(3)))
        await last_statuses(bus, ["patched", "mismatched", "escalated"])
        (filed,) = await bus.patches("proposed")
        assert filed.proposal is not None
        about, name = content_hash(filed.proposal), filed.patch_id
        await bus.step(patch_id=name, step="approve", by="bob", proposal_hash=about)
        await last_statuses(bus, ["patched", "mismatched", "patched"])
    async with redis.asyncio.from_url(bus.endpoints.redis_url) as store:
        await store.flushall()
    async with learning_supervisor(bus.endpoints):
        made = {"before": filed.proposal.target.content_hash, "after": content_hash(1)}
        await bus.step(
            patch_id=name,
            step="applied",
            by="bob",
            proposal_hash=about,
            applied={**made, "version": filed.proposal.new_version},
        )
        found = await last_statuses(bus, ["applied", "mismatched", "applied"])
        await last_statuses(bus, ["aligned"] * 3, "quick")
    told = [each.status.value for each in found if each.review.verdict.value == "violation"]
    assert told == ["escalated", "patched", "applied"]
    assert {each.apply_result.settled_by for each in found if each.apply_result} == {"patch"}


def change() -> PatchProposal:
    document = read_document("policy_pack", "refunds/policy.yaml", PACK)
    set_deadline = PatchOperation(op="set", path="/spec/envelopes/0/deadlineMs", old=1000, new=1200)
    return propose(
        document,
        [set_deadline],
        reason="so",
        severity=DriftSeverity.RED,
        proposed_by="ada",
        proposed_at="2026-01-01T00:00:00.000Z",
    )


async def test_a_pack_patch_moves_its_cycle_and_a_failed_one_leaves_it_patched(bus: Bus) -> None:
    """Contract scenario 59: a failed apply."""
    proposal = change()
    about = content_hash(proposal)
    async with learning_supervisor(bus.endpoints):
        await register(bus, claim())
        await tell(bus, event(violation="refunded twice"))
        (escalated,) = await cycles(bus, 1)
        reference = {"cycle_id": escalated.cycle_id, "subject": "refund"}
        name = proposal.proposal_id
        await bus.step(patch_id=name, step="propose", by="ada", proposal=proposal, cycle=reference)
        await bus.step(patch_id=name, step="approve", by="bob", proposal_hash=about)
        await bus.step(
            patch_id=name, step="failed", by="bob", proposal_hash=about, reason="moved on"
        )
        await cycles(bus, 3)
        made = {"before": proposal.target.content_hash, "after": content_hash(1)}
        await bus.step(
            patch_id=name,
            step="applied",
            by="bob",
            proposal_hash=about,
            applied={**made, "version": proposal.new_version},
        )
        found = await cycles(bus, 4)
    assert statuses(found) == ["escalated", "patched", "patched", "applied"]
    assert {each.cycle_id for each in found} == {escalated.cycle_id}
    failed = found[2].apply_result
    assert failed is not None
    assert (failed.success, "moved on" in (failed.reason or "")) == (False, True)
    assert found[1].patch is not None
    assert found[1].patch.loosens_safety


async def test_restarts_a_lost_store_and_repeated_requests_make_no_second_cycle(
    bus: Bus,
) -> None:
    asked = MeasurementReport(request_id=str(uuid.uuid4()), by="m", event=event("900")).to_json()
    registered = ClaimRequest(request_id=str(uuid.uuid4()), by="ada", claim=claim()).to_json()
    async with learning_supervisor(bus.endpoints):
        await bus.ask("claim", registered)
        await bus.ask("event", asked)
        await bus.see(sighting("e1", at=BEFORE))
        await cycles(bus, 2)
    async with redis.asyncio.from_url(bus.endpoints.redis_url) as store:
        await store.flushall()
    await asyncio.sleep(0.2)
    async with learning_supervisor(bus.endpoints):
        await bus.ask("claim", registered)
        await bus.ask("event", asked)
        await tell(bus, event("1"))
        found = await cycles(bus, 3)
        await asyncio.sleep(0.1)
        assert len(await cycles(bus, 3)) == 3
    assert statuses(found) == ["patched", "aligned", "aligned"]
    letters = [each async for each in list_dead(bus.client)]
    assert all("was handled already" in each.letter.reason for each in letters)


async def test_the_states_of_a_newer_version_are_left_alone(bus: Bus) -> None:
    """An older worker that folded them anew would take turns with the newer one at it, for ever."""
    async with learning_supervisor(bus.endpoints):
        await register(bus, claim())
        await tell(bus, event("150"))
        await cycles(bus, 1)
    async with redis.asyncio.from_url(bus.endpoints.redis_url) as store:
        (key,) = [each async for each in store.scan_iter(match="lictor:{supervisor:claims}:0:t:*")]
        state = await store.hget(key, "s")
        assert isinstance(state, bytes)
        prefix, _, name = key.decode().rpartition(":t:")
        records = StateRecords(StateTags(b"", "supervisor"), prefix)
        known = records.read(prefix.encode(), name, state, sys.maxsize)
        content = json.dumps({**json.loads(known.state), "format": 99}).encode()
        newer = records.record(prefix.encode(), name, content, known.position, known.until_us or 0)
        await store.hset(key, "s", newer)
        async with learning_supervisor(bus.endpoints):
            await tell(bus, event("900"))
            await asyncio.sleep(0.5)
            assert await store.get("lictor:{supervisor:claims}:generation") is None
            assert await store.hget(key, "s") == newer
            assert len(await cycles(bus, 1)) == 1
            await store.hset(key, "s", state)
            await cycles(bus, 2)


@pytest.mark.parametrize("name", ["claim", "event"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"request_id":"x"}', b'{"a":1,"a":2}'])
async def test_a_malformed_request_is_refused(bus: Bus, name: str, body: bytes) -> None:
    async with learning_supervisor(bus.endpoints):
        answer = await bus.ask(name, body)
    assert answer.outcome == "refused"
    assert answer.reason
