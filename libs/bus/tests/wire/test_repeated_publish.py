"""A message that is published twice is stored once, and a copy that somebody made keeps no message out."""

from collections.abc import AsyncIterator

import pytest
from nats.aio.client import Client

from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.provenance import LOG
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.stream_leader import leader_view
from lictor_local.embedded_servers import Endpoints


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    client = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(client, streams.EVENTS, streams.PROOFS)
    yield client
    await client.close()


async def test_an_event_under_its_partition_is_known_again(client: Client) -> None:
    event = Outgoing(subjects.event("lictor", "t"), b"{}", "e-1")
    assert await publish_one(client, streams.EVENTS, event) is not None
    assert await publish_one(client, streams.EVENTS, event) is None
    assert (await leader_view(client, streams.EVENTS)).messages == 1


async def test_of_two_results_under_one_id_the_first_counts(client: Client) -> None:
    """Two provers that are given the same submission need not come to the same verdict."""
    for verdict in ("proved", "unknown"):
        await publish_one(
            client, streams.PROOFS, Outgoing(subjects.proof("rt", verdict, "t"), b"{}", "r-1")
        )
    assert (await leader_view(client, streams.PROOFS)).messages == 1


async def test_a_copy_elsewhere_keeps_nothing_out(client: Client) -> None:
    told = subjects.proof("rt", "proved", "t")
    copied = {"Nats-Msg-Id": "r-1", LOG: told}
    await client.request(subjects.proof("rt", "proved", "other"), b"{}", headers=copied)
    assert await publish_one(client, streams.PROOFS, Outgoing(told, b"{}", "r-1")) is not None
