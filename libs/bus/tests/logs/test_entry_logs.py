"""Logs of entries: read whole, added to by one at a time, and deaf to what others get into them."""

import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.entry_logs import all_entries, triage_log
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.drift import TriageEntry, TriageState


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(connected, streams.DRIFT)
    yield connected
    await connected.close()


def entry(drift: str = "d", state: TriageState = TriageState.TRIAGED) -> TriageEntry:
    now = datetime.now(UTC)
    return TriageEntry(entry_id=str(uuid.uuid4()), drift_id=drift, state=state, by="ada", at=now)


async def add(client: Client, each: TriageEntry) -> int:
    log = await triage_log(client, each.drift_id)
    message = Outgoing(subjects.triage(each.drift_id), each.to_json(), each.entry_id)
    return await Appends(client).append(streams.DRIFT, message, log.last)


async def test_entries_are_read_in_order_and_those_of_other_logs_are_not(client: Client) -> None:
    first, second, other = entry(), entry(state=TriageState.PATCH_PLANNED), entry("another")
    for each in (first, other, second):
        await add(client, each)
    log = await triage_log(client, "d")
    assert [each for _, each in log.entries] == [first, second]
    assert log.last == 3
    found = all_entries(client, streams.DRIFT, subjects.TRIAGE.any, TriageEntry.from_json)
    assert [each async for _, each in found] == [first, other, second]


@pytest.mark.parametrize(
    ("body", "message_id"),
    [
        (b"{}", None),
        (b'{"state":"verified"}', "somebody"),
        # A whole entry of another log, copied here by the server: its id is not that of its message.
        (entry("another").to_json(), str(uuid.UUID(int=7))),
        (b"", "x"),
        (b"\xff", None),
    ],
)
async def test_what_others_get_into_a_log_is_passed_over_and_stops_nobody(
    client: Client, body: bytes, message_id: str | None
) -> None:
    headers = {} if message_id is None else {"Nats-Msg-Id": message_id}
    await client.jetstream().publish(subjects.triage("d"), body, headers=headers)
    own = entry()
    await add(client, own)
    assert [each for _, each in (await triage_log(client, "d")).entries] == [own]


async def test_an_entry_of_ours_that_this_version_can_not_read_is_no_foreign_message(
    client: Client,
) -> None:
    body = b'{"entry_id":"later","of":"a newer version"}'
    await publish_one(client, streams.DRIFT, Outgoing(subjects.triage("d"), body, "later"))
    with pytest.raises(BusError, match="can't be read by this version"):
        await triage_log(client, "d")


async def test_everything_on_a_subject_is_read_page_after_page(client: Client) -> None:
    for number in range(7):
        await publish_one(client, streams.DRIFT, Outgoing(f"lictor.triage.{number}", b"x"))
    found = read_all(client, streams.DRIFT, subjects.TRIAGE.any, page=2)
    assert [each.sequence async for each in found] == [1, 2, 3, 4, 5, 6, 7]
