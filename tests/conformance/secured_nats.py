"""A NATS server with a user for each role, as an installation has it."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lictor_bus.names.roles import password_variable, roles, users_config
from lictor_local.embedded_servers import Endpoints
from lictor_local.server_process import find_nats_server

RUNTIMES = ("openclaw", "codex")


@dataclass(frozen=True)
class Secured:
    """A server with users, and how to come to it as one of them."""

    port: int
    redis_url: str

    def url(self, user: str) -> str:
        return f"nats://{user}:p-{user}@127.0.0.1:{self.port}"

    def endpoints(self, user: str) -> Endpoints:
        return Endpoints(self.url(user), self.redis_url)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def secured_server(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Secured]:
    """A server of its own, with every role's user."""
    port = _free_port()
    (tmp_path / "users.conf").write_text(users_config(RUNTIMES))
    config = tmp_path / "secured.conf"
    config.write_text(
        f'listen: "127.0.0.1:{port}"\nmax_payload: 4MB\n'
        f"jetstream {{ store_dir: {json.dumps(str(tmp_path / 'data'))} }}\ninclude users.conf\n"
    )
    passwords = {password_variable(role.user): f"p-{role.user}" for role in roles(RUNTIMES)}
    server = await asyncio.create_subprocess_exec(
        find_nats_server(),
        "-c",
        str(config),
        env={**os.environ, **passwords},
        stderr=asyncio.subprocess.DEVNULL,
    )
    found = Secured(port, clean_infra.redis_url)
    try:
        async with asyncio.timeout(30):
            while not await _listens(port):
                assert server.returncode is None, "the server did not take its configuration"
                await asyncio.sleep(0.05)
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
