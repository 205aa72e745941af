"""The ways to reach Redis: a Unix socket, TLS; and what is printed of an address."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lictor_bus.errors import BusError, StoreUnreachable
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.wire.address import shown
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.redis_connection import connect_redis


@pytest.mark.parametrize(
    "url", ["unix://u:s3cret@/nowhere/redis.sock", "redis://u:s3cret@127.0.0.1:9/0"]
)
async def test_an_error_names_the_store_and_not_its_password(url: str) -> None:
    with pytest.raises(StoreUnreachable) as caught:
        await connect_redis(url)
    assert shown(url) in str(caught.value)
    assert "s3cret" not in str(caught.value)


async def test_an_address_that_is_none_is_refused_without_its_password() -> None:
    with pytest.raises(BusError) as caught:
        await connect_nats("nats://u:s3cret@host:port", name="test")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "k" * 64])
def test_a_state_key_comes_by_value_or_in_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(f"{'f' * 64}\n")
    by_value = ServiceSettings.from_environment({"LICTOR_STATE_KEY": text})
    assert by_value.state_key == (text.encode() or None)
    assert "k" * 8 not in repr(by_value)
    in_file = ServiceSettings.from_environment({"LICTOR_STATE_KEY_FILE": str(tmp_path / "key")})
    assert in_file.state_key == b"f" * 64


def test_a_state_key_that_can_not_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for environment, said in (
        ({"LICTOR_STATE_KEY": "short"}, "LICTOR_STATE_KEY gives a key of 5 characters"),
        ({"LICTOR_STATE_KEY_FILE": str(tmp_path / "empty")}, "a key of 0 characters"),
        ({"LICTOR_STATE_KEY_FILE": str(tmp_path / "none")}, "can't be read"),
        ({"LICTOR_STATE_KEY": "k" * 64, "LICTOR_STATE_KEY_FILE": "f"}, "not both"),
    ):
        with pytest.raises(BusError, match=said):
            ServiceSettings.from_environment(environment)


# The server of our wheel is built without TLS, so something in front of it does that part.


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "redis")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder / "ca.crt", folder / "server.key"


@asynccontextmanager
async def behind_tls(socket: str, ca: Path, key: Path) -> AsyncIterator[int]:
    """The port of a TLS server in front of a Unix socket."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca, key)

    async def pass_on(reader: Any, writer: Any) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def serve(reader: Any, writer: Any) -> None:
        store_reader, store_writer = await asyncio.open_unix_connection(socket)
        await asyncio.gather(pass_on(reader, store_writer), pass_on(store_reader, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def test_a_store_behind_tls_is_known_by_the_certificates_that_were_named(
    own_servers: Any, tmp_path: Path
) -> None:
    ca, key = certificate(tmp_path)
    socket = unquote(urlsplit(own_servers.redis_url).path)
    async with behind_tls(socket, ca, key) as port:
        url = f"rediss://127.0.0.1:{port}/0"
        client = await connect_redis(url, ca=ca)
        await client.set("k", "v")
        assert await client.get("k") == b"v"
        await client.aclose()
        with pytest.raises(StoreUnreachable, match="certificate"):
            await connect_redis(url)
