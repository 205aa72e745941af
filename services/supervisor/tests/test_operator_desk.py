"""The desk on a real bus: operators move drift events and patches, one legal step at a time, each kept once."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from learning_bus import PACK, Bus, learning_bus, learning_supervisor, sighting

from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_contracts.patch.life import Patch, folded
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.drift import DriftSeverity, DriftType, TriageState
from lictor_schema.contracts.envelope import BlastRadius
from lictor_schema.contracts.patch import PatchEntry
from lictor_schema.core.canonical_json import content_hash


@pytest.fixture
async def bus(
    clean_infra: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Bus]:
    (tmp_path / "packs/refunds").mkdir(parents=True)
    (tmp_path / "packs/refunds/policy.yaml").write_text(PACK)
    monkeypatch.setenv("LICTOR_PACKS", str(tmp_path / "packs"))
    async with learning_bus(clean_infra) as ready, learning_supervisor(clean_infra):
        yield ready


async def asked_for(bus: Bus, drift_type: DriftType = DriftType.BYPASS) -> Patch:
    """The patch that three sightings of one cause ask for."""
    await bus.see(*(sighting(f"e{number}", drift_type=drift_type) for number in range(3)))
    await bus.until_drift(3)
    patch = folded(await bus.patches())
    assert patch is not None
    return patch


async def test_a_drift_event_moves_forward_step_by_step_and_never_back(bus: Bus) -> None:
    """Contract scenario 50: an illegal triage move."""
    event = sighting("e1")
    await bus.see(event)
    await bus.until_drift(1)
    skipped = await bus.move(event.drift_id, TriageState.PATCHED)
    assert (skipped.outcome, skipped.state) == ("refused", "new")
    assert "it may become triaged" in (skipped.reason or "")
    for state in list(TriageState)[1:]:
        answer = await bus.move(event.drift_id, state)
        assert (answer.outcome, answer.state) == ("done", state.value)
    assert (await bus.move(event.drift_id, TriageState.NEW)).outcome == "refused"
    unknown = await bus.move("nobody-saw-it", TriageState.TRIAGED)
    assert "there is no drift event" in (unknown.reason or "")


async def test_red_drift_is_patched_by_a_patch_or_by_the_word_of_a_second_person(bus: Bus) -> None:
    patch = await asked_for(bus)
    assert patch.request is not None
    *_, drift_id = patch.request.drift_ids
    for state in (TriageState.TRIAGED, TriageState.PATCH_PLANNED):
        await bus.move(drift_id, state, by="ada")
    alone = await bus.move(drift_id, TriageState.PATCHED, by="ada")
    assert (alone.outcome, alone.state) == ("refused", "patch_planned")
    assert "apply a patch, or have somebody else say" in (alone.reason or "")
    proposal = patch.proposal
    assert proposal is not None
    about = {"patch_id": patch.patch_id, "proposal_hash": patch.proposal_hash}
    await bus.step(**about, step="approve", by="bob")
    made = {"before": proposal.target.content_hash, "after": proposal.target.content_hash}
    applied = {**made, "version": proposal.new_version}
    await bus.step(**about, step="applied", by="bob", applied=applied)
    cured = await bus.move(drift_id, TriageState.PATCHED, by="ada")
    assert (cured.outcome, cured.state) == ("done", "patched")
    other = sighting("o", cause="other", severity=DriftSeverity.RED)
    await bus.see(other)
    await bus.until_drift(4)
    for state in (TriageState.TRIAGED, TriageState.PATCH_PLANNED):
        await bus.move(other.drift_id, state, by="ada")
    second = await bus.move(other.drift_id, TriageState.PATCHED, by="bob")
    assert (second.outcome, second.state) == ("done", "patched")


async def test_a_request_that_is_repeated_is_answered_the_same_and_kept_once(bus: Bus) -> None:
    event = sighting("e1")
    await bus.see(event)
    await bus.until_drift(1)
    request = str(uuid.uuid4())
    answers = [
        await bus.move(event.drift_id, TriageState.TRIAGED, request_id=request) for _ in range(3)
    ]
    assert answers[0].outcome == "done"
    assert answers == [answers[0]] * 3
    kept = await read_from(bus.client, streams.DRIFT, subjects.triage(event.drift_id), 1, 10)
    assert len(kept) == 2


async def test_of_many_who_move_at_once_one_does(bus: Bus) -> None:
    event = sighting("e1")
    await bus.see(event)
    await bus.until_drift(1)
    moves = [bus.move(event.drift_id, TriageState.TRIAGED, by=f"op{n}") for n in range(5)]
    answers = await asyncio.gather(*moves)
    assert sorted(answer.outcome for answer in answers) == ["done", *["refused"] * 4]


async def test_a_foreign_message_in_a_log_is_passed_over(bus: Bus) -> None:
    event = sighting("e1")
    await bus.see(event)
    await bus.until_drift(1)
    foreign = Outgoing(subjects.triage(event.drift_id), b'{"state":"verified"}', "somebody")
    await publish_one(bus.client, streams.DRIFT, foreign)
    assert (await bus.move(event.drift_id, TriageState.TRIAGED)).outcome == "done"


async def test_the_service_suggests_a_change_that_never_loosens_where_it_knows_one(
    bus: Bus,
) -> None:
    patch = await asked_for(bus)
    assert patch.proposal is not None
    assert patch.proposal.target.id == "refunds"
    assert patch.proposal.new_version == "1.4.1"
    assert "-        - {step: bypass, approver: duty-officer}" in patch.proposal.diff
    assert BlastRadius.MEDIUM.value in [each.new for each in patch.proposal.operations]
    assert patch.needs_human


async def test_where_only_a_human_can_find_the_answer_the_patch_waits_for_one(bus: Bus) -> None:
    patch = await asked_for(bus, DriftType.TIME)
    assert (patch.proposal, patch.request is not None) == (None, True)
    hasty = await bus.step(patch_id=patch.patch_id, step="approve", by="ada")
    assert "holds no change yet" in (hasty.reason or "")


async def test_a_patch_is_approved_by_a_human_who_did_not_propose_it_and_saw_it(bus: Bus) -> None:
    """Contract scenario 51: loosening needs a human."""
    patch = await asked_for(bus)
    assert patch.proposal is not None
    name, about = patch.patch_id, patch.proposal_hash
    by_itself = await bus.step(
        patch_id=name, step="approve", by=patch.proposal.proposed_by, proposal_hash=about
    )
    assert "have somebody else approve it" in (by_itself.remedy or "")
    unseen = await bus.step(
        patch_id=name, step="approve", by="ada", proposal_hash=content_hash("another")
    )
    assert unseen.outcome == "refused"
    made = {"before": patch.proposal.target.content_hash, "after": content_hash(1), "version": "9"}
    early = await bus.step(
        patch_id=name,
        step="applied",
        by="ada",
        proposal_hash=about,
        applied={**made, "version": "1.4.1"},
    )
    assert "has approved" in (early.reason or "")
    assert (
        await bus.step(patch_id=name, step="approve", by="ada", proposal_hash=about)
    ).state == "approved"
    wrong = await bus.step(
        patch_id=name, step="applied", by="ada", proposal_hash=about, applied=made
    )
    assert wrong.outcome == "refused"
    failed = await bus.step(
        patch_id=name, step="failed", by="ada", proposal_hash=about, reason="lint"
    )
    assert failed.state == "failed"
    right = {**made, "version": "1.4.1"}
    done = await bus.step(
        patch_id=name, step="applied", by="ada", proposal_hash=about, applied=right
    )
    assert done.state == "applied"
    await bus.until_settled(1)
    late = await bus.step(patch_id=name, step="reject", by="bob", proposal_hash=about, reason="no")
    assert (late.outcome, late.state) == ("refused", "applied")
    assert [each.state.value for each in await bus.patches()] == [
        "proposed",
        "approved",
        "failed",
        "applied",
    ]


@pytest.mark.parametrize("name", ["triage", "patch"])
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"request_id":1}', b"\xff\xfe", b'{"a":1,"a":2}', b'{"by":NaN}'],
    ids=str,
)
async def test_a_malformed_request_is_refused_with_the_field_and_the_remedy(
    bus: Bus, name: str, body: bytes
) -> None:
    answer = await bus.ask(name, body)
    assert answer.outcome == "refused"
    assert answer.reason
    assert answer.remedy


async def test_entries_are_what_their_schema_says(bus: Bus) -> None:
    await asked_for(bus)
    stored = await read_from(bus.client, streams.PATCHES, subjects.PATCH.all, 1, 10)
    for each in stored:
        entry = PatchEntry.from_json(each.body)
        assert each.subject == subjects.patch(entry.state.value, entry.patch_id)
        assert json.loads(each.body)["entry_id"] == each.headers["Nats-Msg-Id"]
