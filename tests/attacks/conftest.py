"""What attackers are given: a secured server, and the password of one role."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from secured_nats import Secured, secured_server

from lictor_local.embedded_servers import Endpoints


@pytest.fixture
async def secured(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Secured]:
    async with secured_server(clean_infra, tmp_path) as found:
        yield found
