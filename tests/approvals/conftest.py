"""An installation for the tests of this folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from asking_installation import Installation, install

import lictor
from lictor_local.embedded_servers import EmbeddedServers


@pytest.fixture
async def place(own_servers: EmbeddedServers, tmp_path: Path) -> AsyncIterator[Installation]:
    """An installation on servers of its own, which may be killed."""
    found = await install(own_servers, tmp_path)
    try:
        yield found
    finally:
        await found.close()


@pytest.fixture
async def governor(place: Installation) -> AsyncIterator[lictor.Governor]:
    """An agent's connection to it."""
    async with lictor.connect(place.nats_url) as connected:
        yield connected
