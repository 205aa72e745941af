"""A connection that only listens: whatever is said or fails, it returns in time, and nobody is believed."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator

import nats
import pytest

from lictor.fast.hints import Hints
from lictor_local.embedded_servers import Endpoints

INFO = b'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576,"headers":true}\r\n'
Serve = Callable[[Callable[[socket.socket], None]], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A server that does as the test says with each connection."""
    listeners: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def served(talk: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        connection.sendall(INFO)
                        talk(connection)
                    except OSError:
                        continue

        thread = threading.Thread(target=accept)
        thread.start()
        threads.append(thread)
        return f"nats://127.0.0.1:{listener.getsockname()[1]}"

    yield served
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for thread in threads:
        thread.join(10)


def took(hints: Hints, seconds: float) -> float:
    begun = time.monotonic()
    hints.heard("told.here", seconds)
    return time.monotonic() - begun


async def test_what_is_said_ends_the_wait_also_when_it_was_said_between_two(
    infra: Endpoints,
) -> None:
    client = await nats.connect(infra.nats_url)
    with Hints(infra.nats_url) as hints:
        # The first one subscribes.
        await asyncio.to_thread(hints.heard, "told.here", 0.01)
        for size in (0, 5, 100_000):
            await client.publish("told.here", b"x" * size, headers={"a": "b"} if size else None)
            await client.flush()
            assert await asyncio.to_thread(took, hints, 30) < 20
        assert await asyncio.to_thread(took, hints, 0.2) >= 0.2
        await client.publish("told.elsewhere", b"")
        await client.flush()
        assert await asyncio.to_thread(took, hints, 0.2) >= 0.2
    await client.close()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"PING\r\nPING\r\n",
        b"-ERR 'Permissions Violation for Subscription to \"told.here\"'\r\n",
        b"MSG told.here 2 what\r\n",
        b"MSG told.here 2 9999\r\nhalf of it",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"MSG told",
    ],
)
def test_a_server_that_says_nothing_useful_is_waited_for_and_no_longer(
    serve: Serve, said: bytes
) -> None:
    closing = threading.Event()

    def talk(connection: socket.socket) -> None:
        connection.sendall(said)
        closing.wait(10)

    url = serve(talk)
    with Hints(url) as hints:
        for _ in range(2):
            assert 0.2 <= took(hints, 0.2) < 10
        closing.set()


def test_a_server_that_hangs_up_is_no_hint(serve: Serve) -> None:
    with Hints(serve(lambda connection: connection.close())) as hints:
        assert took(hints, 0.3) >= 0.3


def test_without_a_server_the_time_passes_all_the_same() -> None:
    with Hints("nats://127.0.0.1:1") as hints:
        assert took(hints, 0.3) >= 0.3
