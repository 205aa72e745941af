"""`close` ends a client in whatever state it is, and cancels nobody who asks for it."""

import asyncio

import pytest
from lossy_wire import LossyWire

from lictor_bus.wire.connection import connect_nats


@pytest.mark.parametrize("turns", range(20))
async def test_a_client_can_be_closed_at_every_moment_of_its_coming_back(clean_infra, turns):
    async with LossyWire(clean_infra.nats_url).running() as wire:
        client = await connect_nats(wire.url, name="test")
        wire.lose_questions(that_hold=b"PUB")
        await client.publish("lost.subject", b"")
        async with asyncio.timeout(60):
            while not client.is_reconnecting:
                await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        await client.close()
        assert client.is_closed
