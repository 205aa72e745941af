"""A clean bus for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from runner_bus import Bus, runner_bus

from lictor_local.embedded_servers import Endpoints


@pytest.fixture
async def bus(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Bus]:
    """The streams of the runner, and nobody at work on them."""
    async with runner_bus(clean_infra, tmp_path) as made:
        yield made
