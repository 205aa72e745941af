"""Which subjects have a message, asked for many at once."""

import pytest

from lictor_bus.errors import TooManySubjects
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.publish import MAX_BATCH, Outgoing, publish_all
from lictor_bus.wire.read import any_on_subjects, last_on_subjects


@pytest.fixture
async def client(clean_infra):
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.RECEIPTS)
    yield client
    await close_nats(client)


def receipts(task: str, records: int) -> list[Outgoing]:
    return [
        Outgoing(subjects.receipt("rt", "planned", task, f"r{n}"), b"{}") for n in range(records)
    ]


async def test_filters_are_asked_together_and_each_subject_is_told(client):
    await publish_all(client, streams.RECEIPTS, [*receipts("a", 2), *receipts("b", 1)])
    filters = [
        f"lictor.rcpt.*.*.{task}.*" for task in ("a", "b", *(f"none-{n}" for n in range(250)))
    ]
    assert await any_on_subjects(client, streams.RECEIPTS, filters) == {
        "lictor.rcpt.rt.planned.a.r0",
        "lictor.rcpt.rt.planned.a.r1",
        "lictor.rcpt.rt.planned.b.r0",
    }


async def test_a_filter_with_more_subjects_than_the_broker_tells_stands_for_them_all(client):
    await publish_all(
        client, streams.RECEIPTS, [*receipts("many", MAX_BATCH + 100), *receipts("few", 1)]
    )
    filters = ["lictor.rcpt.*.*.few.*", "lictor.rcpt.*.*.many.*", "lictor.rcpt.*.*.none.*"]
    with pytest.raises(TooManySubjects):
        await last_on_subjects(client, streams.RECEIPTS, filters)
    assert await any_on_subjects(client, streams.RECEIPTS, filters) == {
        "lictor.rcpt.*.*.many.*",
        "lictor.rcpt.rt.planned.few.r0",
    }
