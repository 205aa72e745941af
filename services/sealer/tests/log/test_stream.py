"""Appends to the log on a real broker: what was stored once is not stored again, whatever became of the answer."""

from collections.abc import AsyncIterator

import pytest
from closing_bus import Log, closing_bus
from sealed_history import KEY, episode

from lictor_bus.names import streams, subjects
from lictor_bus.wire.stream_leader import leader_view
from lictor_sealer.log import stream
from lictor_sealer.log.stream import DraftMessage, EpisodeLog, LogOvertaken
from lictor_sealer.log.tree import Draft

SEALED_AT = "2026-01-31T12:00:00.000Z"


@pytest.fixture
async def log(clean_infra) -> AsyncIterator[Log]:
    async with closing_bus(clean_infra) as log:
        yield log


def append_of(name: str) -> list[DraftMessage]:
    return [DraftMessage(Draft(episode(name), SEALED_AT), name, {})]


async def stored(log: Log) -> int:
    return (await leader_view(log.client, streams.EPISODES)).messages


async def test_an_append_whose_answer_got_lost_is_not_stored_twice(log: Log) -> None:
    """Whoever sends it again knows the new head, so that the expected sequence alone would let it through."""
    await EpisodeLog(log.client, KEY).append(append_of("quick"))
    assert await stored(log) == 2
    with pytest.raises(LogOvertaken):
        await EpisodeLog(log.client, KEY).append(append_of("quick"))
    assert await stored(log) == 2


async def test_an_id_that_somebody_s_copy_has_taken_keeps_nothing_out_for_ever(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    await EpisodeLog(log.client, KEY).append(append_of("first"))
    copied = subjects.episode("test", "refund", "elsewhere")
    await log.client.request(copied, b"{}", headers={"Nats-Msg-Id": "quick"})
    writing = EpisodeLog(log.client, KEY)
    with pytest.raises(LogOvertaken):
        await writing.append(append_of("quick"))
    monkeypatch.setattr(stream, "_TAKEN_AFTER_S", 0.0)
    await writing.append(append_of("quick"))
    assert await stored(log) == 5
