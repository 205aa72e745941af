"""The infrastructure fixtures of every test in the repository.

`LICTOR_TEST_INFRA` chooses where the shared NATS and Redis run: `embedded` (child processes),
`docker` (testcontainers), or `auto`, the default: Docker where an engine answers and has or gets
the images, else embedded.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import nats
import pytest
import pytest_asyncio
import redis.asyncio
import yaml
from hypothesis import settings

from lictor_local.embedded_servers import EmbeddedServers, Endpoints

pytest_plugins = ["open_connections", "quick_tests", "warm_processes"]

ROOT = Path(__file__).parent
NATS_PORT, REDIS_PORT = 4222, 6379
ENGINE_SECONDS = 3
PULL_SECONDS = 60
CONTAINER_SECONDS = 30

# No deadline: the time one example takes says more about the machine than about the code.
settings.register_profile("test", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=20_000)
settings.register_profile("parity", deadline=None, max_examples=2_000)
settings.load_profile("test")

CHOICE = pytest.StashKey[tuple[str, str]]()
STORED = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CHOICE] = _choose(os.environ.get("LICTOR_TEST_INFRA", "auto"))


@pytest.fixture(scope="session", autouse=True)
def users_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is kept for the user is not that of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_report_header(config: pytest.Config) -> str:
    return "infrastructure: {} ({})".format(*config.stash[CHOICE])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def infra(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Endpoints]:
    """NATS and Redis, shared by the whole test run."""
    if pytestconfig.stash[CHOICE][0] == "embedded":
        data_dir = tmp_path_factory.mktemp("infra")
        pytestconfig.stash[STORED] = data_dir / "nats" / "jetstream"
        async with EmbeddedServers(data_dir, durable=False) as servers:
            yield servers.endpoints
        return

    from testcontainers.core.config import testcontainers_config
    from testcontainers.core.container import DockerContainer

    # Its cleaner is a third image to fetch; the `with` below removes both containers.
    testcontainers_config.ryuk_disabled = True
    images = _compose_images()
    # The deployed configs, so that the tests also prove them.
    nats_box = (
        DockerContainer(images["nats"])
        .with_volume_mapping(ROOT / "deploy/nats/nats.conf", "/etc/nats/nats.conf", "ro")
        .with_command(["-c", "/etc/nats/nats.conf"])
        .with_exposed_ports(NATS_PORT)
    )
    redis_box = (
        DockerContainer(images["redis"])
        .with_volume_mapping(ROOT / "deploy/redis/redis.conf", "/etc/redis/redis.conf", "ro")
        .with_command(["redis-server", "/etc/redis/redis.conf"])
        .with_exposed_ports(REDIS_PORT)
    )
    with nats_box, redis_box:
        nats_address = await _answering(nats_box, NATS_PORT, b"", b"INFO ")
        redis_address = await _answering(redis_box, REDIS_PORT, b"PING\r\n", b"+PONG")
        yield Endpoints(f"nats://{nats_address}", f"redis://{redis_address}/0")


@pytest_asyncio.fixture
async def clean_infra(pytestconfig: pytest.Config, infra: Endpoints) -> Endpoints:
    """The shared NATS and Redis with nothing in them."""
    connection = await nats.connect(infra.nats_url)
    js = connection.jetstream()
    for stream in await js.streams_info():
        await js.delete_stream(cast("str", stream.config.name))
    await connection.close()
    if STORED in pytestconfig.stash:
        # NATS removes files after it has answered, or not at all: a stream made again might find its old messages.
        # Listed account by account, because NATS may remove the folder meanwhile.
        stored = pytestconfig.stash[STORED]
        for account in stored.iterdir() if stored.exists() else ():
            with contextlib.suppress(FileNotFoundError):
                for left in list((account / "streams").iterdir()):
                    shutil.rmtree(left, ignore_errors=True)
    async with redis.asyncio.from_url(infra.redis_url) as store:
        await store.flushall()
    return infra


@pytest_asyncio.fixture
async def own_servers(tmp_path: Path) -> AsyncIterator[EmbeddedServers]:
    """Embedded servers for one test alone, to kill and restart at will."""
    async with EmbeddedServers(tmp_path / "servers", durable=False) as servers:
        yield servers


def _choose(wanted: str) -> tuple[str, str]:
    if wanted not in ("auto", "docker", "embedded"):
        raise pytest.UsageError(
            f"LICTOR_TEST_INFRA is {wanted!r}; set it to auto, docker or embedded."
        )
    if wanted == "embedded":
        return "embedded", "LICTOR_TEST_INFRA=embedded"
    obstacle = _docker_obstacle()
    if obstacle is None:
        return "docker", "an engine answers and has the images"
    if wanted == "docker":
        raise pytest.UsageError(f"LICTOR_TEST_INFRA is docker, but {obstacle}.")
    return "embedded", obstacle


def _docker_obstacle() -> str | None:
    """Why the containers cannot be used, or None."""
    # Asked by hand first: the docker package leaks its socket when nobody listens.
    if not _engine_listens(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"):
        return "no Docker engine answers"
    import docker
    import docker.errors

    try:
        engine = docker.from_env(timeout=ENGINE_SECONDS)
    except (docker.errors.DockerException, OSError):
        return "no Docker engine answers"
    try:
        for image in _compose_images().values():
            try:
                engine.images.get(image)
            except docker.errors.ImageNotFound:
                if not _pulled(image):
                    return f"the Docker image {image} is not here and cannot be pulled"
    finally:
        engine.close()
    return None


def _engine_listens(url: str) -> bool:
    parts = urlsplit(url)
    try:
        if parts.scheme == "unix":
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(ENGINE_SECONDS)
                probe.connect(parts.path)
        else:
            address = (parts.hostname or "", parts.port or 2375)
            socket.create_connection(address, timeout=ENGINE_SECONDS).close()
    except OSError:
        return False
    return True


def _pulled(image: str) -> bool:
    import docker
    import docker.errors

    done: list[bool] = []

    def pull() -> None:
        try:
            with contextlib.closing(docker.from_env(timeout=PULL_SECONDS)) as engine:
                engine.images.pull(image)
            done.append(True)
        except (docker.errors.DockerException, OSError):
            done.append(False)

    worker = threading.Thread(target=pull, daemon=True)
    worker.start()
    worker.join(PULL_SECONDS)
    return done == [True]


def _compose_images() -> dict[str, str]:
    """The images docker-compose.yml runs, so that tests and deployment use the same."""
    compose: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    return {name: compose["services"][name]["image"] for name in ("nats", "redis")}


async def _answering(container: Any, port: int, request: bytes, answer: bytes) -> str:
    """Where the container's port is reached, once it gives that answer."""
    host, published = container.get_container_host_ip(), int(container.get_exposed_port(port))
    async with asyncio.timeout(CONTAINER_SECONDS):
        # The engine's proxy accepts connections before the server in the container does.
        while True:
            try:
                reader, writer = await asyncio.open_connection(host, published)
                writer.write(request)
                line = await reader.readline()
                writer.close()
                await writer.wait_closed()
            except OSError:
                line = b""
            if line.startswith(answer):
                return f"{host}:{published}"
            await asyncio.sleep(0.05)
