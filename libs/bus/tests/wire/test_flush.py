"""`flush` says that the broker has what was sent before it; that of nats-py sends its PING past what still waits."""

from lictor_bus.wire.connection import close_nats, connect_nats

SUBJECT = "flushed.subject"


async def test_what_was_published_before_a_flush_has_come_to_the_broker(clean_infra):
    client = await connect_nats(clean_infra.nats_url, name="test")
    try:
        heard = []
        await client.subscribe_direct(SUBJECT, lambda *message: heard.append(message))
        await client.flush()
        for number in range(1, 51):
            await client.publish(SUBJECT, b"x")
            # The broker answers on one connection in order: first with the message, then with its PONG.
            await client.flush()
            assert len(heard) == number
    finally:
        await close_nats(client)
