"""What the sealer makes of closings that come together, come again, or cover more than one answer of the broker."""

from collections.abc import AsyncIterator

import pytest
from closing_bus import HASH, TASK, Log, closing_bus, record

from lictor_bus.names import streams
from lictor_bus.wire.read import read_from
from lictor_schema.core.ids import episode_id


@pytest.fixture
async def log(clean_infra) -> AsyncIterator[Log]:
    async with closing_bus(clean_infra) as log:
        yield log


async def test_two_closings_of_one_task_in_one_batch_are_two_episodes(log):
    first = [record("e1"), record("e2", closes=True)]
    second = [record("e3"), record("e4"), record("e5", closes=True)]
    await log.decide(*first, *second)
    await log.seal()
    episodes = await log.episodes()
    assert [[digest.record_id for digest in episode.records] for episode in episodes] == [
        [each.record_id for each in first],
        [each.record_id for each in second],
    ]
    assert [episode.episode_id for episode in episodes] == [
        episode_id(TASK, "e1"),
        episode_id(TASK, "e3"),
    ]
    assert await log.letters() == []


async def test_an_episode_names_the_profiles_that_changed_its_packs(log):
    await log.decide(record("e1"), record("e2", closes=True))
    await log.seal()
    (episode,) = await log.episodes()
    assert [(each.profile_id, each.profile_hash) for each in episode.policy.profiles] == [
        ("solo", HASH)
    ]


async def test_a_batch_that_comes_again_seals_nothing_twice(log):
    await log.decide(record("e1", closes=True), record("e2", closes=True))
    await log.seal()
    await log.seal()
    assert len(await log.episodes()) == 2
    assert await log.letters() == []


@pytest.mark.parametrize("together", [True, False])
async def test_a_run_under_the_event_ids_of_an_earlier_one_is_buried_not_dropped(log, together):
    await log.decide(record("e1"), record("e2", closes=True))
    if not together:
        await log.seal()
    await log.decide(record("e1"), record("e2", closes=True))
    await log.seal()
    assert len(await log.episodes()) == 1
    [letter] = await log.letters()
    assert letter.letter.sequence == 4
    assert "of the closing at DECISIONS 2" in letter.letter.reason


async def test_an_episode_longer_than_one_answer_of_the_broker_is_sealed_whole(log):
    large = ("x" * 60_000,) * 60
    records = [record(f"e{number}", missing=large) for number in range(5)]
    records.append(record("last", closes=True))
    await log.decide(*records)
    assert len(await read_from(log.client, streams.DECISIONS, ">", 1, 100)) < len(records)
    await log.seal()
    [episode] = await log.episodes()
    assert [digest.record_id for digest in episode.records] == [each.record_id for each in records]
