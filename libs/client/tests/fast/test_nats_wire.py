"""The blocking client against a real server, and against servers that behave badly."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from lictor.fast.answer_reader import Silence
from lictor.fast.broker_address import Address, addresses
from lictor.fast.nats_wire import Connection
from lictor_bus.wire.connection import inbox_prefix
from lictor_local.embedded_servers import EmbeddedServers, Endpoints

INFO = b'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576,"headers":true}\r\n'


@pytest.fixture
async def responder(infra: Endpoints) -> AsyncIterator[Client]:
    client = await nats.connect(infra.nats_url)

    async def echo(message: Msg) -> None:
        await message.respond(message.data)

    await client.subscribe("wire.echo", cb=echo)
    await client.flush()
    yield client
    await client.close()


async def ask(url: str, subject: str, body: bytes, timeout_s: float = 5.0) -> bytes | Silence:
    def blocking() -> bytes | Silence:
        with Connection(url) as connection:
            return connection.request(subject, body, timeout_s)

    return await asyncio.to_thread(blocking)


@pytest.mark.parametrize("size", [0, 1, 65_536, 900_000])
@pytest.mark.usefixtures("responder")
async def test_an_answer_of_any_size_comes_back_whole(infra: Endpoints, size: int) -> None:
    body = (b"\r\nMSG x 1 5\r\n" + b"x" * size)[:size]
    assert await ask(infra.nats_url, "wire.echo", body) == body


@pytest.mark.usefixtures("responder")
async def test_one_connection_takes_many_questions(infra: Endpoints) -> None:
    def blocking() -> list[bytes | Silence]:
        with Connection(infra.nats_url) as connection:
            return [connection.request("wire.echo", b"%d" % n, 5.0) for n in range(200)]

    assert await asyncio.to_thread(blocking) == [b"%d" % n for n in range(200)]


async def test_a_question_that_nobody_hears_is_silence_at_once(infra: Endpoints) -> None:
    begun = time.monotonic()
    answer = await ask(infra.nats_url, "wire.nobody", b"?", 30.0)
    assert isinstance(answer, Silence)
    assert "no service" in answer.reason
    assert time.monotonic() - begun < 10


async def test_a_question_that_nobody_answers_is_silence_in_time(
    infra: Endpoints, responder: Client
) -> None:
    await responder.subscribe("wire.mute")
    await responder.flush()
    answer = await ask(infra.nats_url, "wire.mute", b"?", 0.2)
    assert isinstance(answer, Silence)
    assert "0.2 s" in answer.reason


async def test_the_answer_to_a_question_that_was_given_up_is_not_taken_for_another(
    infra: Endpoints, responder: Client
) -> None:
    waiting: list[Msg] = []

    async def late(message: Msg) -> None:
        waiting.append(message)

    await responder.subscribe("wire.late", cb=late)
    await responder.flush()
    connection = Connection(infra.nats_url)
    assert isinstance(await asyncio.to_thread(connection.request, "wire.late", b"1", 0.3), Silence)
    for message in waiting:
        await message.respond(b"too late")
    assert await asyncio.to_thread(connection.request, "wire.echo", b"2", 5.0) == b"2"
    connection.close()


@pytest.mark.usefixtures("responder")
async def test_more_than_the_server_takes_is_not_sent(infra: Endpoints) -> None:
    answer = await ask(infra.nats_url, "wire.echo", b"x" * 9_000_000)
    assert isinstance(answer, Silence)
    assert "9000000 bytes" in answer.reason
    assert "file" in answer.remedy


async def test_a_server_that_went_away_and_came_back_is_asked_again(
    own_servers: EmbeddedServers,
) -> None:
    url = own_servers.endpoints.nats_url
    connection = Connection(url)
    first = await asyncio.to_thread(connection.request, "wire.nobody", b"", 5.0)
    await own_servers.kill_nats()
    away = await asyncio.to_thread(connection.request, "wire.nobody", b"", 1.0)
    await own_servers.start_nats()
    back = await asyncio.to_thread(connection.request, "wire.nobody", b"", 5.0)
    connection.close()
    assert isinstance(first, Silence)
    assert "no service" in first.reason
    assert isinstance(away, Silence)
    assert "no service" not in away.reason
    assert isinstance(back, Silence)
    assert "no service" in back.reason


@contextlib.contextmanager
def server(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server of our own making, for one connection after another."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer, contextlib.suppress(OSError):
                    peer.settimeout(5)
                    behave(peer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"nats://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


def lines_of(peer: socket.socket) -> Iterator[bytes]:
    with peer.makefile("rb") as stream:
        yield from stream


def reply_of(peer: socket.socket) -> bytes:
    """Read up to the question, and give the inbox it wants its answer on."""
    for line in lines_of(peer):
        if line.startswith(b"PUB "):
            return line.split()[2]
    raise OSError("no question came")


def answers_piecemeal(peer: socket.socket) -> None:
    for byte in INFO:
        peer.send(bytes([byte]))
    inbox = reply_of(peer)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    text = b"PING\r\n+OK\r\nMSG other 1 3\r\nabc\r\nMSG " + inbox + b" 1 5\r\nhello\r\n"
    for byte in text:
        peer.send(bytes([byte]))
    peer.recv(100)


def test_an_answer_in_pieces_between_other_messages_is_found() -> None:
    with server(answers_piecemeal) as url, Connection(url) as connection:
        assert connection.request("a", b"?", 5.0) == b"hello"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not a NATS server"),
        (b"INFO nonsense\r\n", "can't be reached"),
        (b"INFO []\r\n", "can't be reached"),
        (b"x" * 2_000_000, "can't be reached"),
        (INFO + b"-ERR 'Authorization Violation'\r\n", "Authorization Violation"),
        (INFO + b"nonsense\r\n", "does not speak NATS"),
        (INFO + b"MSG\r\n", ""),
        (INFO + b"MSG x 1 nonsense\r\n", ""),
        (INFO + b"MSG x 1 -5\r\n", ""),
        (INFO + b"HMSG x 1 90 5\r\nhello\r\n", ""),
        (INFO + b"MSG x 1 100\r\npart", "closed the connection"),
        (INFO.replace(b'"headers"', b'"tls_required":true,"headers"'), "tls://"),
    ],
)
def test_a_server_that_behaves_badly_is_silence(said: bytes, words: str) -> None:
    def behave(peer: socket.socket) -> None:
        peer.sendall(said)
        if said.startswith(b"INFO {"):
            reply_of(peer)

    with server(behave) as url, Connection(url) as connection:
        answer = connection.request("a", b"?", 3.0)
    assert isinstance(answer, Silence)
    assert words in answer.reason


def test_a_server_that_says_nothing_is_silence_in_time() -> None:
    hold = threading.Event()

    def say_nothing(_: socket.socket) -> None:
        hold.wait(60)

    with server(say_nothing) as url, Connection(url) as connection:
        begun = time.monotonic()
        assert isinstance(connection.request("a", b"?", 0.3), Silence)
        assert time.monotonic() - begun < 30
        hold.set()


def test_users_passwords_tokens_and_inboxes_are_those_of_the_other_clients() -> None:
    said: list[bytes] = []

    def behave(peer: socket.socket) -> None:
        peer.sendall(INFO)
        for line in lines_of(peer):
            said.append(line)
            if line.startswith(b"PUB "):
                peer.sendall(b"MSG " + line.split()[2] + b" 1 0\r\n\r\n")
                return

    for credentials in ("claude-code:se%40cret@", "to%3Aken@", ""):
        said.clear()
        with server(behave) as url:
            whole = url.replace("://", f"://{credentials}")
            with Connection(whole) as connection:
                assert connection.request("a", b"", 5.0) == b""
        options = json.loads(said[0].removeprefix(b"CONNECT "))
        assert (options.get("user"), options.get("pass"), options.get("auth_token")) == (
            {"c": ("claude-code", "se@cret", None), "t": (None, None, "to:ken")}.get(
                credentials[:1], (None, None, None)
            )
        )
        assert said[1].decode().split()[1].startswith(inbox_prefix(whole) + ".")


def test_the_next_server_of_a_list_is_asked_when_the_first_is_away() -> None:
    with server(answers_piecemeal) as url, Connection(f"nats://127.0.0.1:1,{url}") as connection:
        assert connection.request("a", b"?", 5.0) == b"hello"


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1", "http://x:1", "nats://", "nats://x:y", "nats://x:0"]
)
def test_what_is_no_address_is_silence_that_says_so(url: str) -> None:
    answer = Connection(url).request("a", b"", 1.0)
    assert isinstance(answer, Silence)
    assert "is not an address" in answer.reason


def test_addresses_are_read_like_urls() -> None:
    assert addresses("nats://[::1]:5000/") == [Address(host="::1", port=5000)]
    assert addresses("tls://u:p%2F@h, nats://h2") == [
        Address(host="h", port=4222, tls=True, user="u", password="p/"),
        Address(host="h2", port=4222),
    ]
    assert "secret" not in addresses("nats://u:secret@h")[0].shown
