"""A clean bus for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from approval_bus import Bus, approval_bus

from lictor_local.embedded_servers import Endpoints


@pytest.fixture
async def bus(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Bus]:
    """The streams of the service, and nobody at work on them."""
    async with approval_bus(clean_infra, tmp_path) as made:
        yield made
