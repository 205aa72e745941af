"""What the client's tests share: the command as a process, and a broker with our streams."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from nats.aio.client import Client

import lictor
from lictor.embedded import Endpoints
from lictor_bus import streams
from lictor_bus.connection import connect_nats

ROOT = Path(__file__).parents[3]
COMMAND = Path(sys.executable).with_name("lictor")
Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


@pytest.fixture
def environment() -> dict[str, str]:
    """An environment in which nothing of the caller's configures Lictor."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LICTOR_")}
    return {**kept, "LICTOR_PACKS": str(ROOT / "policy-packs")}


@pytest.fixture
def cli(tmp_path: Path, environment: dict[str, str]) -> Cli:
    """Run `lictor` with some arguments in an empty directory, and give what it did."""

    def run(
        *arguments: str | Path, stdin: str = "", cwd: Path = tmp_path, **more: str
    ) -> asyncio.Future[subprocess.CompletedProcess[str]]:
        return asyncio.ensure_future(
            asyncio.to_thread(
                subprocess.run,
                [COMMAND, *arguments],
                input=stdin,
                capture_output=True,
                text=True,
                cwd=cwd,
                env={**environment, **more},
                timeout=90,
                check=False,
            )
        )

    return run


@pytest.fixture
async def broker(clean_infra: Endpoints) -> AsyncIterator[Client]:
    """A connection to a broker that has our streams, with nothing in them."""
    client = await connect_nats(clean_infra.nats_url, name="test")
    await declare_all(client)
    yield client
    await client.close()


@pytest.fixture
async def governor(broker: Client) -> AsyncIterator[lictor.Governor]:
    """The SDK, connected to that broker."""
    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    async with lictor.connect(url, runtime="test", agent_id="tester") as connected:
        yield connected


async def declare_all(client: Client) -> None:
    await streams.declare(client, streams.EVENTS, streams.DECISIONS, streams.EPISODES, streams.DEAD)
