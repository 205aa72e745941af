"""Sealed once a frozen decision goes on: whoever was away, and however often it is looked at."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from governing_bus import Asker, governing_bus, sealing, supervising

from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_bus.wire.redis_connection import connect_redis
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.decision_log import parse_decision_entry
from lictor_sealer.episode.resumed import ResumedProcessor

PATIENCE_S = 15.0


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as found, supervising(clean_infra):
        yield found


async def letters(asker: Asker) -> list[tuple[str, int]]:
    return [(each.letter.stream, each.letter.sequence) async for each in list_dead(asker.client)]


async def until_dead_lettered(asker: Asker) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await letters(asker):
            await asyncio.sleep(0.02)


async def until_read(asker: Asker, durable: str, stream: str = streams.ACTIONS) -> None:
    """Wait until a fold has committed everything that its stream holds."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            info = await asker.client.jetstream().consumer_info(stream, durable)
            if not info.num_pending and not info.num_ack_pending:
                return
            await asyncio.sleep(0.02)


async def test_a_resume_is_answered_though_no_sealer_runs_and_one_that_comes_back_seals(
    asker: Asker, clean_infra: Endpoints
) -> None:
    await asker.ready()
    await asker.order("freeze")
    async with sealing(clean_infra):
        await asker.close()
        await until_dead_lettered(asker)
    assert (await asker.order("resume"))["ok"]
    assert await asker.sealed() == []
    async with sealing(clean_infra):
        assert (await asker.until_sealed()).dte_ref is not None
    assert len(await letters(asker)) == 1


async def test_a_fold_from_the_start_seals_nothing_twice_and_buries_nothing_again(
    asker: Asker, clean_infra: Endpoints
) -> None:
    await asker.ready()
    await asker.order("freeze")
    async with sealing(clean_infra):
        await asker.close()
        await until_dead_lettered(asker)
        await asker.order("resume")
        await asker.until_sealed()
        await until_read(asker, "sealer-resumed")
    before = await letters(asker)
    redis = await connect_redis(clean_infra.redis_url)
    await redis.flushdb()
    await redis.aclose()
    await asker.client.jetstream().delete_consumer(streams.ACTIONS, "sealer-resumed")
    async with sealing(clean_infra):
        await until_read(asker, "sealer-resumed")
    assert len(await asker.sealed()) == 1
    assert await letters(asker) == before


async def test_what_was_frozen_again_is_sealed_after_the_next_resume(
    asker: Asker, clean_infra: Endpoints
) -> None:
    await asker.ready()
    await asker.order("freeze")
    await asker.order("resume")
    await asker.order("freeze")
    async with sealing(clean_infra):
        await asker.close()
        await until_dead_lettered(asker)
        await until_read(asker, "sealer-resumed")
        assert await asker.sealed() == []
        await asker.order("resume")
        await asker.until_sealed()
    assert len(await letters(asker)) == 1


async def test_what_only_looks_like_a_resume_is_no_dead_letter_of_the_sealer(
    asker: Asker, clean_infra: Endpoints
) -> None:
    await asker.ready()
    subject = subjects.decision_log(asker.key)
    for body, name in (
        (b'{"kind":"decision_resumed","entry_id":"x"}', "x"),
        (b'"decision_resumed"', "y"),
    ):
        await publish_one(asker.client, streams.ACTIONS, Outgoing(subject, body, name))
    async with sealing(clean_infra):
        await until_read(asker, "sealer-resumed")
        await until_read(asker, "supervisor-sightings")
    letters_stored = await letters(asker)
    assert len(letters_stored) == len(set(letters_stored)) == 2
    assert await sifted(asker) == []


async def sifted(asker: Asker) -> Sequence[str]:
    """The kinds of entries that are left of a log."""
    found = await read_from(asker.client, streams.ACTIONS, subjects.decision_log(asker.key), 1, 100)
    left = await ResumedProcessor().sift(found)
    return [parse_decision_entry(each.body).kind for each in left]


async def test_only_entries_that_resume_are_folded(asker: Asker) -> None:
    await asker.ready()
    await asker.order("freeze", reason='"decision_resumed"')
    await asker.order("resume")
    assert await sifted(asker) == ["decision_resumed"]
