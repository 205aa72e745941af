"""Definitions on the stream, with a real NATS: what is the newest, what stays loadable, what is not believed."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.definitions import store_definition, stored_definitions
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_feedback.definition_shelf import DefinitionShelf, Installation
from lictor_guard.definitions.compiled_definition import Guarded, compile_definition
from lictor_guard.definitions.loading import DEFAULT_NAME, default_definition
from lictor_guard.definitions.stored_versions import stored_form
from lictor_guard.errors import DefinitionError
from lictor_guard.plugins.installed import Plugin, Plugins
from lictor_guard.plugins.tool_policy import PolicyDecision, StatelessPolicy
from lictor_local.embedded_servers import Endpoints
from lictor_schema.sessions.agent_definition import AgentDefinition

NOTHING = Installation({}, DEFAULT_NAME, None)


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await connect_nats(clean_infra.nats_url, name="test")
    await streams.declare(connected, streams.DEFINITIONS)
    yield connected
    await connected.close()


class Calm(StatelessPolicy):
    def __init__(self, name: str, _settings: Any) -> None:
        self.name = name

    def check(self, *_: Any) -> PolicyDecision:
        return PolicyDecision.allow()


def calm(version: str) -> Plugins:
    return Plugins(policies={"calm": Plugin(lambda: Calm, f"calm=={version}")})


def defined(name: str, version: str, plugins: Plugins | None = None) -> Guarded:
    policies = [{"kind": "plugin", "name": "calm", "plugin": "calm"}] if plugins else []
    document = {
        "apiVersion": "lictor/v1",
        "kind": "AgentDefinition",
        "metadata": {"name": name, "version": version},
        "policies": policies,
    }
    definition = AgentDefinition.from_json(json.dumps(document))
    return compile_definition(definition, plugins or Plugins())


def installed(*definitions: Guarded, default: str = DEFAULT_NAME) -> Installation:
    by_name = {each.definition.metadata.name: each for each in definitions}
    return Installation(by_name, default, None)


async def stored(client: Client) -> list[str]:
    return [
        json.loads(each.body)["definition"]["metadata"]["version"]
        async for each in stored_definitions(client, "coder")
    ]


async def publish(client: Client, guarded: Guarded) -> None:
    name = guarded.definition.metadata.name
    await store_definition(client, name, stored_form(guarded, "an operator"))


async def test_the_definitions_of_the_installation_are_stored_once(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = defined("coder", "1"), defined("coder", "2")
    for _ in range(2):
        await DefinitionShelf(client, installed(first)).open()
    assert await stored(client) == ["1"]
    await DefinitionShelf(client, installed(second)).open()
    # An instance that still has the old folder takes nothing back.
    old = DefinitionShelf(client, installed(first))
    await old.open()
    assert await stored(client) == ["1", "2"]
    assert (await old.newest("coder")).hash == second.hash
    assert "coder 1 of this installation was replaced" in caplog.text


async def test_other_content_under_the_same_version_is_told(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    first = defined("coder", "1")
    await DefinitionShelf(client, installed(first)).open()
    changed = first.definition.model_copy(update={"deadline_s": 60})
    assert changed != first.definition
    await DefinitionShelf(client, installed(compile_definition(changed))).open()
    assert await stored(client) == ["1", "1"]
    assert "coder 1 of this installation has other content than the one" in caplog.text


async def test_a_version_that_is_published_meanwhile_is_the_newest_for_the_next_session(
    client: Client,
) -> None:
    first, second = defined("coder", "1"), defined("coder", "2")
    shelf = DefinitionShelf(client, installed(first, default="coder"))
    await shelf.open()
    assert (await shelf.newest("coder")).hash == first.hash
    await publish(client, second)
    assert (await shelf.newest(None)).hash == second.hash
    assert (await shelf.by_hash(first.hash)).hash == first.hash


async def test_an_old_version_stays_loadable_by_its_hash_in_a_new_process(client: Client) -> None:
    first, second = defined("coder", "1"), defined("coder", "2")
    await publish(client, first)
    await publish(client, second)
    shelf = DefinitionShelf(client, NOTHING)
    found = await shelf.by_hash(first.hash)
    assert (found.hash, found.definition) == (first.hash, first.definition)
    with pytest.raises(DefinitionError, match=f"has the hash sha256:{'0' * 64}"):
        await shelf.by_hash(f"sha256:{'0' * 64}")


async def test_the_built_in_definition_is_there_without_any_directory(client: Client) -> None:
    shelf = DefinitionShelf(client, NOTHING)
    await shelf.open()
    assert (await shelf.newest(None)).hash == default_definition().hash
    own = defined(DEFAULT_NAME, "own")
    await publish(client, own)
    await DefinitionShelf(client, NOTHING).open()
    assert (await shelf.newest(None)).hash == own.hash


async def test_a_default_that_is_nowhere_is_told_at_the_start(client: Client) -> None:
    shelf = DefinitionShelf(client, installed(default="coder"))
    with pytest.raises(DefinitionError, match="'coder' \\(the default, by LICTOR_DEFAULT_AGENT\\)"):
        await shelf.open()
    with pytest.raises(DefinitionError, match="is called 'nobody'"):
        await shelf.newest("nobody")


async def test_what_can_not_be_believed_is_passed_over_and_told(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    good = defined("coder", "1")
    await publish(client, good)
    broken = json.loads(stored_form(good, "somebody"))
    broken["definition"]["policies"] = [
        {"kind": "rate-limit", "name": "r", "tools": ["nowhere"], "limit": 1, "window_s": 1}
    ]
    for body in (
        b"nonsense",
        b"{}",
        b'{"definition": {}, "definition": {}}',
        json.dumps(broken).encode(),
        stored_form(defined("other", "1"), "somebody"),
    ):
        message = Outgoing(subjects.definition("coder"), body)
        await publish_one(client, streams.DEFINITIONS, message)
    shelf = DefinitionShelf(client, NOTHING)
    with caplog.at_level(logging.ERROR, "lictor.feedback"):
        assert (await shelf.newest("coder")).hash == good.hash
        assert (await shelf.newest("coder")).hash == good.hash
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 5
    assert any("policies[0].tools[0]: nowhere is not a tool" in text for text in told)
    assert any("other stands on the subject of another name" in text for text in told)


async def test_another_version_of_a_plugin_makes_a_stored_definition_unusable(
    client: Client,
) -> None:
    old = defined("coder", "1", calm("1"))
    await publish(client, old)
    same = DefinitionShelf(client, NOTHING, calm("1"))
    assert (await same.by_hash(old.hash)).hash == old.hash
    for plugins in (calm("2"), Plugins()):
        upgraded = DefinitionShelf(client, NOTHING, plugins)
        with pytest.raises(DefinitionError, match="has the hash"):
            await upgraded.by_hash(old.hash)
        with pytest.raises(DefinitionError, match="no usable agent definition is called 'coder'"):
            await upgraded.newest("coder")
        # What was decided under it still tells by what.
        assert await upgraded.name_of(old.hash) == "coder"
    assert await same.name_of(f"sha256:{'0' * 64}") == "unknown"


async def test_a_field_that_came_later_does_not_change_the_name_of_what_was_stored(
    client: Client,
) -> None:
    guarded = defined("coder", "1")
    earlier = json.loads(stored_form(guarded, "an earlier version"))
    del earlier["definition"]["budgets"]
    await store_definition(client, "coder", json.dumps(earlier).encode())
    shelf = DefinitionShelf(client, NOTHING)
    found = await shelf.newest("coder")
    assert found.definition == guarded.definition
    assert found.hash != guarded.hash
    assert (await DefinitionShelf(client, NOTHING).by_hash(found.hash)).hash == found.hash


async def test_without_a_broker_what_is_known_stays_known_and_the_rest_is_an_error(
    client: Client,
) -> None:
    first = defined("coder", "1")
    shelf = DefinitionShelf(client, installed(first))
    await client.jetstream().delete_stream(streams.DEFINITIONS)
    assert (await shelf.by_hash(first.hash)).hash == first.hash
    with pytest.raises(BusError):
        await shelf.newest("coder")


def test_the_environment_says_where_definitions_are(tmp_path: Path) -> None:
    content = defined("coder", "1").definition.to_json()
    (tmp_path / "coder.json").write_bytes(content)
    given = {"LICTOR_AGENTS": str(tmp_path), "LICTOR_DEFAULT_AGENT": "coder"}
    found = Installation.from_environment(given)
    assert (list(found.definitions), found.default) == (["coder"], "coder")
    nothing = Installation.from_environment({})
    assert (nothing.definitions, nothing.default) == ({}, DEFAULT_NAME)
    with pytest.raises(DefinitionError, match="elsewhere: can't be read"):
        Installation.from_environment({"LICTOR_AGENTS": str(tmp_path / "elsewhere")})
