"""The connections of a service end with it, however it ends, and after everything that uses them."""

import asyncio

import pytest
import redis.asyncio
from running_loops import connection

from lictor_bus.errors import BusError, NotAllowed
from lictor_bus.service.connections import Connections
from lictor_bus.service.service import connected
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_local.embedded_servers import Endpoints


def settings_of(endpoints: Endpoints) -> ServiceSettings:
    return ServiceSettings(nats_url=endpoints.nats_url, redis_url=endpoints.redis_url)


async def test_whatever_fails_after_they_were_made_leaves_none_open(clean_infra: Endpoints) -> None:
    made: list[TolerantClient] = []

    async def begin() -> None:
        telemetry = ServiceTelemetry("tries")
        async with connected("tries", settings_of(clean_infra), telemetry) as runtime:
            made.extend([runtime.client, await runtime.connections.nats("gates")])
            await (await runtime.connections.redis()).set("key", "value")
            # As of a subscription that the broker refuses.
            raise NotAllowed("the broker does not permit it")

    with pytest.raises(NotAllowed):
        await begin()
    assert [client.is_closed for client in made] == [True, True]
    async with redis.asyncio.from_url(clean_infra.redis_url) as watch, asyncio.timeout(30):
        while len(await watch.client_list()) > 1:
            await asyncio.sleep(0.01)


async def test_what_uses_a_connection_is_closed_before_it(clean_infra: Endpoints) -> None:
    found: list[object] = []
    async with Connections("tries", settings_of(clean_infra)) as connections:
        store = await connections.redis()
        await store.set("key", "value")

        async def read_last() -> None:
            found.append(await store.get("key"))

        connections.at_end(read_last)
    assert found == [b"value"]


async def test_one_that_fails_to_close_keeps_none_of_the_others_open(
    clean_infra: Endpoints,
) -> None:
    async def fail() -> None:
        raise BusError("it can't be closed")

    connections = Connections("tries", settings_of(clean_infra))
    client = await connections.nats("gates")
    connections.at_end(fail)
    with pytest.raises(BusError, match="can't be closed"):
        await connections.__aexit__(None, None, None)
    assert client.is_closed


async def test_a_connection_shows_whose_it_is_and_what_for(clean_infra: Endpoints) -> None:
    async with Connections("tries", settings_of(clean_infra)) as connections:
        assert (await connections.nats("gates")).options["name"] == "lictor-tries-gates"


async def test_a_cancelled_connect_leaves_no_connection(clean_infra: Endpoints) -> None:
    """At whatever moment; the event loop is asked for what is left when the test ends."""
    for count in range(60):
        block = connection(clean_infra.nats_url)
        entering = asyncio.create_task(block.__aenter__())
        for _ in range(count):
            await asyncio.sleep(0)
        entering.cancel()
        (client,) = await asyncio.gather(entering, return_exceptions=True)
        if isinstance(client, TolerantClient):
            await block.__aexit__(None, None, None)
