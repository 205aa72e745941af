"""A NATS server with an account for each runtime, as an installation has it."""

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import nats
from nats.aio.client import Client

from lictor_bus.names.streams import STREAMS, declare
from lictor_bus.wire.connection import connect_nats
from lictor_local.accounts import Accounts, AccountsFolder
from lictor_local.embedded_servers import Endpoints
from lictor_local.server_process import find_nats_server

RUNTIMES = ("openclaw", "codex")


@dataclass(frozen=True)
class Secured:
    """A server with accounts, and how to come to it as one of its roles."""

    port: int
    redis_url: str
    folder: AccountsFolder
    process: asyncio.subprocess.Process

    def url(self, role: str) -> str:
        return self.folder.read().url(role)

    def endpoints(self, role: str) -> Endpoints:
        return Endpoints(self.url(role), self.redis_url)

    def change(self, change: Callable[[Accounts], Accounts]) -> None:
        """Write changed accounts, and have the server read them."""
        self.folder.write(change(self.folder.read()))
        self.reload()

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def secured_server(
    clean_infra: Endpoints, tmp_path: Path, runtimes: Sequence[str] = RUNTIMES
) -> AsyncIterator[Secured]:
    """A server of its own, with every role's user and all streams."""
    port = _free_port()
    folder = AccountsFolder(tmp_path / "accounts")
    folder.write(Accounts.new(runtimes, address=f"127.0.0.1:{port}"))
    config = tmp_path / "secured.conf"
    config.write_text(
        f'listen: "127.0.0.1:{port}"\nmax_payload: 4MB\n'
        f"jetstream {{ store_dir: {json.dumps(str(tmp_path / 'data'))} }}\n"
        f"include {folder.config.relative_to(tmp_path)}\n"
    )
    server = await asyncio.create_subprocess_exec(
        find_nats_server(), "-c", str(config), stderr=asyncio.subprocess.DEVNULL
    )
    found = Secured(port, clean_infra.redis_url, folder, server)
    try:
        async with asyncio.timeout(30):
            while not await _listens(port):
                assert server.returncode is None, "the server did not take its configuration"
                await asyncio.sleep(0.05)
        deploy = await connect_nats(found.url("deploy"), name="test")
        await declare(deploy, *STREAMS)
        await deploy.close()
        yield found
    finally:
        if server.returncode is None:
            server.terminate()
        await server.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def violation(url: str, act: Callable[[Client], Awaitable[object]]) -> str:
    """What the server says to a user who does something it may not."""
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def on_error(error: Exception) -> None:
        if not told.done():
            told.set_result(str(error).lower())

    client = await nats.connect(url, error_cb=on_error)
    try:
        await act(client)
        await client.flush()
        async with asyncio.timeout(60):
            return await told
    finally:
        await client.close()


async def refused_publish(url: str, subject: str, reply: str = "") -> bool:
    """Whether the server refuses to take a message there."""
    told = await violation(url, lambda client: client.publish(subject, b"{}", reply=reply))
    return f'permissions violation for publish to "{subject}"'.lower() in told


async def refused_subscription(url: str, subject: str) -> bool:
    """Whether the server refuses to let somebody listen there."""
    told = await violation(url, lambda client: client.subscribe(subject))
    return f'permissions violation for subscription to "{subject}"'.lower() in told
