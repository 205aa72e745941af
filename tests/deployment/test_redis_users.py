"""A Redis user for each service, on a real server: everybody can do their work, and nobody touches another's keys."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import nats
import pytest
import redis.asyncio
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError
from reporting import ROOT, service_process, wait_until_ready

import lictor
from lictor_bus.names.redis_users import HEALTH, USERS, acl_file, acl_template, password_variable
from lictor_local.demo_story import play
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_schema.events.operator_context import OperatorContext
from lictor_seal import TrustStore, verify_bundle

PASSWORDS = {each.user: f"word/{number}@{each.user}" for number, each in enumerate(USERS)}
FORBIDDEN = (
    ("CONFIG", "GET", "*"),
    ("CONFIG", "SET", "dir", "/tmp"),
    ("FLUSHALL",),
    ("FLUSHDB",),
    ("KEYS", "*"),
    ("ACL", "LIST"),
    ("ACL", "SETUSER", "me", "on", "nopass", "~*", "+@all"),
    ("SCRIPT", "FLUSH"),
    ("FUNCTION", "LIST"),
    ("SHUTDOWN",),
    ("REPLICAOF", "127.0.0.1", "1"),
    ("MIGRATE", "127.0.0.1", "1", "k", "0", "1"),
    ("MONITOR",),
    ("CLIENT", "KILL", "TYPE", "normal"),
    ("PUBLISH", "c", "m"),
)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[EmbeddedServers]:
    async with EmbeddedServers(
        tmp_path / "servers", durable=False, redis_passwords=PASSWORDS
    ) as running:
        yield running


async def test_every_service_does_its_work_as_its_own_user(
    servers: EmbeddedServers, tmp_path: Path
) -> None:
    settings = {
        "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
        "LICTOR_SEAL_KEY_CREATE": "1",
        "LICTOR_SEAL_TRUST": str(tmp_path / "trust.json"),
        "LICTOR_LAYERS": str(ROOT / "examples/layers"),
        "LICTOR_PROOF_WORKERS": "1",
    }
    client = await nats.connect(servers.nats_url)
    async with AsyncExitStack() as running:
        running.push_async_callback(client.close)
        for each in USERS:
            endpoints = Endpoints(servers.nats_url, servers.redis_url_of(each.user))
            module = f"lictor_{each.user.replace('-', '_')}"
            await running.enter_async_context(
                service_process(module, endpoints, LICTOR_STATE_KEY=each.user * 32, **settings)
            )
        for each in USERS:
            await wait_until_ready(client, each.user)
        operator = OperatorContext(operator_id="you", channel="terminal")
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        async with lictor.connect(
            servers.nats_url, runtime="openclaw", agent_id="agent", operator=operator
        ) as governor:
            ending = await play(governor, workspace, lambda _: None, lambda _: None)
            program = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")
            (first,) = await governor.prove(program, task_id="t")
            (again,) = await governor.prove(program, task_id="t")
            assert first.verdict == again.verdict == "proved"
        assert verify_bundle(ending.bundle, TrustStore.load(tmp_path / "trust.json")).ok


def store_of(servers: EmbeddedServers, user: str) -> Any:
    return redis.asyncio.from_url(servers.redis_url_of(user))


@pytest.mark.parametrize("user", PASSWORDS)
async def test_nobody_reads_or_writes_what_is_another_s(
    servers: EmbeddedServers, user: str
) -> None:
    async with store_of(servers, user) as store:
        for other in USERS:
            for prefix in other.prefixes:
                key = f"{prefix}k"
                if other.user == user:
                    await store.set(key, "v")
                    assert await store.get(key) == b"v"
                    continue
                for command in (("GET", key), ("SET", key, "v"), ("HSET", key, "s", "v")):
                    with pytest.raises(NoPermissionError):
                        await store.execute_command(*command)
                with pytest.raises(NoPermissionError):
                    await store.eval("return redis.call('GET', KEYS[1])", 1, key)
        for command in FORBIDDEN:
            with pytest.raises(NoPermissionError):
                await store.execute_command(*command)


async def test_without_a_password_nobody_gets_in(servers: EmbeddedServers) -> None:
    async with redis.asyncio.from_url(servers.redis_url) as store:
        with pytest.raises(RedisConnectionError, match="already authenticated"):
            await store.ping()
    address = servers.redis_url.replace("unix://", f"unix://{HEALTH}:any@")
    async with redis.asyncio.from_url(address) as store:
        assert await store.ping()
        with pytest.raises(NoPermissionError):
            await store.get("k")


def test_the_shipped_file_is_what_the_code_says_and_secrets_are_made_for_it(tmp_path: Path) -> None:
    deploy = ROOT / "deploy"
    assert (deploy / "redis/users.acl.in").read_text("utf-8") == acl_template()
    for name in ("make-secrets", "redis/users.acl.in"):
        (tmp_path / "deploy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "deploy" / name).write_bytes((deploy / name).read_bytes())
    for _ in range(2):
        subprocess.run(
            ["sh", tmp_path / "deploy/make-secrets"],
            check=True,
            capture_output=True,
            env={**os.environ, "LICTOR": str(Path(sys.executable).with_name("lictor"))},
        )
    secrets = dict(
        line.split("=", 1) for line in (tmp_path / ".env").read_text("utf-8").splitlines()
    )
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    passwords = {each.user: secrets[password_variable(each.user)] for each in USERS}
    assert (tmp_path / "deploy/redis/users.acl").read_text("utf-8") == acl_file(passwords)
    made = [value for name, value in secrets.items() if name.startswith(("REDIS", "STATE"))]
    assert all(len(value) >= 32 for value in made)
