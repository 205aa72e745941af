"""What judges now, asked of the stream by an instance that folds nothing: real NATS, no evaluator beside."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.aio.client import Client
from reporting import ROOT

from lictor_bus.logs.packs import publish_switch, store_bundle
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import Bundled, bundle_directory
from lictor_policy.version import ENGINE_VERSION
from lictor_policy_evaluator.packs.configs_in_force import ConfigsInForce, NoConfig
from lictor_policy_evaluator.packs.partition_configs import Library
from lictor_schema.packs.release import ConfigSwitch

PACKS = ROOT / "policy-packs"


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(connected, streams.EVENTS, streams.PACKS, partitions=2)
    yield connected
    await connected.close()


@pytest.fixture
def fewer(tmp_path: Path) -> Bundled:
    shutil.copytree(PACKS / "no-silence", tmp_path / "no-silence")
    return bundle_directory(tmp_path)


async def switch(client: Client, to: Bundled) -> None:
    await store_bundle(client, to.body)
    written = ConfigSwitch(
        bundle_hash=to.bundle_hash,
        config_hash=to.config.config_hash,
        engine=ENGINE_VERSION,
        why="a test",
    )
    await publish_switch(client, 1, written)


async def test_a_switch_by_another_instance_counts_for_the_next_question(
    client: Client, fewer: Bundled
):
    configs = ConfigsInForce(client, Library(client), fewer.config)
    await switch(client, fewer)
    assert (await configs.now(1, 5)).config_hash == fewer.config.config_hash
    everything = bundle_directory(PACKS)
    await switch(client, everything)
    assert (await configs.now(1, 5)).config_hash == everything.config.config_hash
    assert configs.last_known(1).config_hash == everything.config.config_hash
    assert configs.last_known(0) is fewer.config


async def test_what_is_no_switch_changes_nothing(client: Client, fewer: Bundled):
    configs = ConfigsInForce(client, Library(client), fewer.config)
    await switch(client, fewer)
    await publish_one(client, streams.EVENTS, Outgoing(subjects.config_switch(1), b"nonsense"))
    assert (await configs.now(1, 5)).config_hash == fewer.config.config_hash


async def test_before_the_first_switch_nothing_is_in_force(client: Client, fewer: Bundled):
    configs = ConfigsInForce(client, Library(client), fewer.config)
    with pytest.raises(NoConfig, match="no configuration is known"):
        await configs.now(1, 5)
    await switch(client, fewer)
    with pytest.raises(NoConfig, match="no configuration is known"):
        await configs.now(0, 5)
