"""Whether a NATS server lets somebody in, and through to the services, asked by a bare handshake."""

import asyncio
import json
from contextlib import suppress

from lictor.fast.broker_address import addresses
from lictor_bus.names.subjects import health
from lictor_bus.wire.connection import inbox_prefix


async def is_permitted(url: str) -> bool:
    """Whether the user of this address may connect now."""
    return await _handshake(url, b"") is not None


async def reaches_services(url: str) -> bool:
    """Whether a question of this user gets to the evaluator, which runs wherever anything does."""
    inbox = f"{inbox_prefix(url)}.reached"
    question = f"SUB {inbox} 1\r\nPUB {health('policy-evaluator')} {inbox} 0\r\n\r\n".encode()
    told = await _handshake(url, question)
    # That nobody listens is said before the answer to the PING behind the question.
    return told is not None and b"NATS/1.0 503" not in told


async def _handshake(url: str, said: bytes) -> bytes | None:
    """What the server says up to the answer to a PING; None where it refuses."""
    (address,) = addresses(url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    options = {
        "verbose": False,
        "user": address.user,
        "pass": address.password,
        "headers": True,
        "no_responders": True,
    }
    try:
        writer.write(b"CONNECT " + json.dumps(options).encode() + b"\r\n" + said + b"PING\r\n")
        told = b""
        while line := await reader.readline():
            if line.startswith(b"-ERR"):
                return None
            if line.startswith(b"PONG"):
                return told
            told += line
    except ConnectionError:
        pass
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return None
