"""The feedback service with a definition for each scenario, once for all of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import nats
import pytest
import pytest_asyncio
import yaml
from conformance_scenarios import SCENARIOS
from reporting import service_process, wait_until_ready
from scripted import definition_name, document_of

from lictor_local.embedded_servers import EmbeddedServers


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the definition of every scenario."""
    folder = tmp_path_factory.mktemp("agents")
    for scenario in SCENARIOS:
        name = definition_name(scenario)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(document_of(scenario, name)))
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(
    definitions: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[EmbeddedServers]:
    """The servers that the ready service runs on."""
    async with EmbeddedServers(tmp_path_factory.mktemp("servers"), durable=False) as servers:
        endpoints = servers.endpoints
        agents = str(definitions)
        async with service_process("lictor_feedback", endpoints, LICTOR_AGENTS=agents):
            client = await nats.connect(servers.nats_url)
            await wait_until_ready(client, "feedback")
            await client.close()
            yield servers
