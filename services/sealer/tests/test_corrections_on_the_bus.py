"""A correction is the next version of a sealed episode: linked, on somebody's word, and both verify."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from closing_bus import KEY, TASK, Log, answering, closing_bus, record
from task_messages import gate_answer, proof, receipt, store, uuid

from lictor_bus.errors import MessageRefused
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from
from lictor_schema.core.canonical_json import canonical_json, content_hash
from lictor_schema.core.ids import episode_id
from lictor_schema.seals.correction import CorrectionAnswer, CorrectionOrder
from lictor_schema.seals.episode import EpisodeState, OutcomeCode, RecordDigest
from lictor_schema.seals.episode_sources import EpisodeSources
from lictor_schema.seals.erasure import ErasureOrder
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import SealBundle, SigningKey, StreamAudit, TrustStore, verify_bundle
from lictor_sealer.correction.desk import Corrections
from lictor_sealer.correction.next_version import CorrectionRefused
from lictor_sealer.episode.assembly import assemble
from lictor_sealer.episode.task_records import RecordsSeen
from lictor_sealer.erasure.desk import Erasures
from lictor_sealer.log.stream import DraftMessage, EpisodeLog
from lictor_sealer.log.tree import Draft

EPISODE = episode_id(TASK, "e1")
TRUST = TrustStore.of([KEY.verifying_key])
NOW = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
async def log(clean_infra) -> AsyncIterator[Log]:
    async with closing_bus(clean_infra) as log:
        yield log


@pytest.fixture
async def sealed(log: Log) -> SealedEpisode:
    """The episode of a task with two records."""
    await log.decide(record("e1"), record("e2", closes=True))
    await log.seal()
    [episode] = await log.episodes()
    return episode


def desk(log: Log, key: SigningKey = KEY, trust: TrustStore = TRUST) -> Corrections:
    return Corrections(log.client, EpisodeLog(log.client, key), trust, lambda: NOW)


def order(number: int = 1, **fields: object) -> CorrectionOrder:
    given = {"by": "ops", "reason": "a receipt came late", "episode_id": EPISODE, **fields}
    return CorrectionOrder.from_json(canonical_json({"request_id": uuid(number), **given}))


async def test_a_correction_covers_what_came_late_and_both_versions_verify(log, sealed):
    late = receipt(TASK, sealed.records[1].record_id)
    await store(log.client, late, gate_answer(TASK), proof(TASK))
    await log.decide(record("e3"))
    answer = await desk(log).correct(order())
    assert (answer.outcome, answer.version, answer.late) == ("done", 2, 4)

    # Each bundle is verified by `episodes`.
    one, two = await log.episodes()
    assert one == sealed
    assert (two.seal.version, two.seal.previous_hash) == (2, one.seal.hash)
    assert answer.hash == two.seal.hash
    assert two.seal.sealed_at == "2100-01-01T00:00:00.000Z"
    assert two.correction is not None
    assert (two.correction.by, two.correction.reason) == ("ops", "a receipt came late")
    assert [each.record_id for each in two.records] == [
        record(name).record_id for name in ("e1", "e2", "e3")
    ]
    assert two.sources is not None
    assert {each.name: each.count for each in two.sources.strands if each.count} == {
        "records": 3,
        "proofs": 1,
        "gates": 1,
        "receipts": 1,
    }
    # Each version carries what it covers.
    assert list(await log.messages(0)) == ["records"]
    assert (await log.messages(1))["receipts"] == [late.body]
    changed = {"records", "sources", "correction", "seal"}
    assert two.model_dump(exclude=changed) == one.model_dump(exclude=changed)


async def test_an_archived_episode_has_no_further_version(log, sealed):
    assert sealed.state is EpisodeState.SEALED
    answer = await desk(log).correct(order(1, archive=True, reason="kept for the auditor"))
    assert answer.version == 2
    with pytest.raises(CorrectionRefused, match="archived since version 2"):
        await desk(log).correct(order(2))
    # The order itself may be asked about again.
    again = await desk(log).correct(order(1, archive=True, reason="kept for the auditor"))
    assert again.version == 2
    assert [each.state.value for each in await log.episodes()] == ["sealed", "archived"]


@pytest.mark.usefixtures("sealed")
async def test_the_log_with_corrections_audits_clean(log):
    for number in (1, 2, 3):
        await desk(log).correct(order(number))
    audit = StreamAudit(TRUST)
    for stored in await read_from(log.client, streams.EPISODES, ">", 1, 100):
        take = audit.checkpoint if stored.subject == subjects.LOG_CHECKPOINT else audit.episode
        take(stored.sequence, stored.body)
    report = audit.finish()
    assert (report.size, report.findings) == (4, ())
    assert [each.seal.version for each in await log.episodes()] == [1, 2, 3, 4]


@pytest.mark.usefixtures("sealed")
async def test_an_order_that_is_given_again_corrects_once(log):
    first = await desk(log).correct(order())
    await store(log.client, proof(TASK))
    assert await desk(log).correct(order()) == first
    assert len(await log.episodes()) == 2


@pytest.mark.usefixtures("sealed")
async def test_a_closing_that_comes_again_after_a_correction_seals_nothing(log):
    await desk(log).correct(order())
    await log.seal()
    assert len(await log.episodes()) == 2
    assert await log.letters() == []


@pytest.mark.usefixtures("sealed")
async def test_two_sealers_that_correct_at_once_make_two_versions_in_a_row(log):
    one, two = desk(log), desk(log)
    # Both know the head, and one of them is wrong about it then.
    await one.correct(order(1))
    await two.correct(order(2))
    await one.correct(order(3))
    versions = await log.episodes()
    assert [each.seal.version for each in versions] == [1, 2, 3, 4]
    assert [each.seal.previous_hash for each in versions[1:]] == [
        each.seal.hash for each in versions[:-1]
    ]


@pytest.mark.usefixtures("sealed")
async def test_an_outcome_can_be_corrected_but_not_into_a_success(log):
    await desk(log).correct(order(1, outcome="fail", reason="the refund never arrived"))
    newest = (await log.episodes())[-1]
    assert newest.outcome.code is OutcomeCode.FAIL
    assert newest.outcome.reason == "the refund never arrived"
    with pytest.raises(CorrectionRefused, match="no correction makes a success of it"):
        await desk(log).correct(order(2, outcome="success"))
    assert len(await log.episodes()) == 2


@pytest.mark.usefixtures("sealed")
async def test_a_dry_run_tells_what_is_late_and_seals_nothing(log):
    await store(log.client, proof(TASK))
    answer = await desk(log).correct(order(dry_run=True))
    assert (answer.version, answer.late, answer.hash) == (2, 1, None)
    assert len(await log.episodes()) == 1


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"by": " \u200b"}, "names nobody"),
        ({"by": "AGENT "}, "is the actor of the episode"),
        ({"by": "Lictor.Sealer"}, "the sealer's own name"),
        ({"episode_id": "unknown"}, "there is no sealed episode unknown"),
    ],
)
@pytest.mark.usefixtures("sealed")
async def test_an_order_without_authority_or_episode_is_refused(log, fields, reason):
    with pytest.raises(CorrectionRefused, match=reason):
        await desk(log).correct(order(**fields))
    assert len(await log.episodes()) == 1


@pytest.mark.usefixtures("sealed")
async def test_nothing_is_built_on_a_seal_that_does_not_verify(log):
    stranger = SigningKey.from_seed("lictor.test/log", bytes([7]) * 32)
    with pytest.raises(CorrectionRefused, match="does not verify"):
        await desk(log, trust=TrustStore.of([stranger.verifying_key])).correct(order())


@pytest.mark.usefixtures("sealed")
async def test_what_came_late_stands_in_one_episode_only_when_the_task_runs_again(log):
    await store(log.client, gate_answer(TASK, 1))
    await log.decide(record("late"))
    await desk(log).correct(order())
    # The first record of a run carries what an episode needs to know.
    await log.decide(record("e3", opens=True))
    await store(log.client, gate_answer(TASK, 2))
    assert (await desk(log).correct(order(2))).late == 0
    await log.decide(record("e4", closes=True))
    await log.seal()
    assert (await desk(log).correct(order(3))).late == 0

    *_, corrected, again, _ = await log.episodes()
    assert [each.record_id for each in corrected.records] == [
        record(name).record_id for name in ("e1", "e2", "late")
    ]
    assert [each.record_id for each in again.records] == [
        record(name).record_id for name in ("e3", "e4")
    ]
    assert again.episode_id == episode_id(TASK, "e3")
    for each in (corrected, again):
        assert each.sources is not None
        assert [s.count for s in each.sources.strands if s.name == "gates"] == [1]


@pytest.mark.usefixtures("sealed")
async def test_late_messages_of_a_task_that_closed_again_stand_in_its_next_episode(log):
    await store(log.client, gate_answer(TASK, 1))
    await log.decide(record("e3", opens=True), record("e4", closes=True))
    await log.seal()
    assert (await desk(log).correct(order())).late == 0
    _, again, _ = await log.episodes()
    assert again.sources is not None
    assert [s.count for s in again.sources.strands if s.name == "gates"] == [1]


@pytest.mark.usefixtures("sealed")
async def test_the_desk_answers_what_can_not_be_read_with_the_field(log):
    async def ask(body: bytes) -> CorrectionAnswer:
        reply = await log.client.request(subjects.desk("correct"), body, timeout=5)
        return CorrectionAnswer.from_json(reply.data)

    async with answering(log, desk(log).bound()):
        answer = await ask(b'{"by": 7}')
        assert answer.outcome == "refused"
        assert "request_id" in (answer.reason or "")
        refused = await ask(order(by="agent").to_json())
        assert (refused.outcome, refused.request_id) == ("refused", uuid(1))


@pytest.mark.usefixtures("sealed")
async def test_a_correction_of_another_record_than_was_sealed_is_refused(log):
    """The stream was made anew, and holds another story of the same task."""
    js = log.client.jetstream()
    await js.delete_stream(streams.DECISIONS)
    await streams.declare(log.client, streams.DECISIONS)
    await log.decide(record("e1", missing=("proof",)), record("e2", closes=True))
    with pytest.raises(CorrectionRefused, match="does not hold the records"):
        await desk(log).correct(order())


async def test_messages_that_vanished_since_the_seal_are_told_not_left_out(log):
    await log.decide(record("e1"))
    await store(log.client, proof(TASK))
    await log.decide(record("e2", closes=True))
    await log.seal()
    await log.client.jetstream().delete_stream(streams.PROOFS)
    await streams.declare(log.client, streams.PROOFS)
    with pytest.raises(CorrectionRefused, match="1 messages fewer"):
        await desk(log).correct(order())


@pytest.mark.usefixtures("sealed")
async def test_a_bundle_of_each_version_is_verified_offline_by_itself(log):
    await desk(log).correct(order())
    stored = await read_from(log.client, streams.EPISODES, subjects.EPISODE.all, 1, 10)
    reports = [verify_bundle(each.body, TRUST) for each in stored]
    assert [each.verified and each.verified.version for each in reports] == [1, 2]
    newest = SealBundle.from_bytes(stored[1].body)
    tampered = {**newest.sealed_episode, "correction": None}
    changed = SealBundle(tampered, newest.leaf_index, newest.inclusion_proof, newest.checkpoint)
    assert not verify_bundle(changed.to_bytes(), TRUST).ok


async def test_an_episode_of_an_older_sealer_is_corrected_and_erasing_it_is_refused(log):
    """Its roots are over plain hashes, it names every record by its content hash, and no messages are stored."""
    records = [record("e1"), record("e2", closes=True)]
    await log.decide(*records)
    [closing] = await log.closings()
    seen = RecordsSeen()
    for each in records:
        seen.take(each)
    named = [
        RecordDigest(record_id=each.record_id, record_hash=content_hash(each)) for each in records
    ]
    older = assemble(seen, named).model_copy(
        update={
            "sources": EpisodeSources(
                covered_until_us=closing.stored_at_ns // 1000,
                events_root=content_hash("events"),
                strands=(),
            )
        }
    )
    draft = Draft(older, "2026-01-01T00:00:00.000Z")
    headers = {"Lictor-Source-Sequence": str(closing.sequence), "Lictor-Task": TASK}
    await EpisodeLog(log.client, KEY).append([DraftMessage(draft, older.episode_id, headers)])
    with pytest.raises(MessageRefused, match="older sealer"):
        await Erasures(log.client, EpisodeLog(log.client, KEY)).erase(
            ErasureOrder(request_id=uuid(5), episode_id=EPISODE, by="ada", reason="asked")
        )
    await store(log.client, gate_answer(TASK))
    answer = await desk(log).correct(order())
    assert (answer.version, answer.late) == (2, 1)
    assert verify_bundle(await log.bundle(0), TRUST).ok
    assert {name: len(each) for name, each in (await log.messages(1)).items()} == {
        "records": 2,
        "gates": 1,
    }
