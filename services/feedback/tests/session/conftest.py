"""A session whose calls wait for people, one or more instances of the service, and the people."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from deciding_people import AGENT, ALICE, People, payer_service, trust_file
from reporting import wait_until_ready

from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_local.embedded_servers import Endpoints

PAYER = """
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: payer, version: "1"}
tools:
  - {name: pay}
  - {name: look}
  - {name: write, access: write, resources: [path]}
policies:
  - kind: require-approval
    name: money
    tools: [pay]
    unless: [{param: amount, allow: ["[0-9]{1,2}"]}]
  - {kind: require-approval, name: writes, tools: [write]}
"""


@pytest.fixture
def payers(tmp_path: Path) -> Path:
    """A folder with one definition."""
    folder = tmp_path / "payers"
    folder.mkdir()
    (folder / "payer.yaml").write_text(PAYER)
    return folder


@pytest.fixture
def approvers(tmp_path: Path) -> Path:
    """A file with the keys of Alice and of somebody who is called like the agent."""
    return trust_file(tmp_path, ALICE, AGENT)


@pytest.fixture
async def people(clean_infra: Endpoints) -> AsyncIterator[People]:
    """Whoever decides."""
    client = await connect_nats(clean_infra.nats_url, name="people")
    found = People(client)
    await found.open()
    try:
        yield found
    finally:
        await close_nats(client)


@pytest.fixture
async def payer(
    clean_infra: Endpoints, payers: Path, approvers: Path, start: Callable[..., Any]
) -> AsyncIterator[Any]:
    """A session whose payments wait for Alice."""
    async with (
        start(clean_infra, payers, 0) as asker,
        payer_service(clean_infra, payers, approvers),
    ):
        await wait_until_ready(asker.client, "feedback")
        await asker.begin("payer")
        yield asker
