"""What `lictor doctor` looks at; each check is one finding, and says what to do when it is bad."""

import asyncio
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from lictor.errors import LictorError
from lictor.installation.directories import (
    agents_directory,
    approvers_named,
    data_directory,
    layers_named,
    packs_directory,
)
from lictor.installation.endpoints import FoundAddress, find_running, in_use, nats_url, redis_url
from lictor_bus.errors import BusError, NotAllowed
from lictor_bus.names.streams import MINIMUM_SERVER
from lictor_bus.service.health import ask_health
from lictor_bus.wire.address import shown
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.redis_connection import connect_redis
from lictor_local.kept_ports import HOST
from lictor_local.server_process import EmbeddedError, find_nats_server, find_redis_server
from lictor_local.service_process import SERVICES

OLDEST_PYTHON = (3, 11)
OLDEST_REDIS = (6, 2)


@dataclass(frozen=True)
class DoctorFinding:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


# Somewhere else Redis is a matter between the services and itself: operators have no way to it, and need none.
_UNASKED = DoctorFinding("redis", True, "not asked: LICTOR_REDIS_URL names none for those services")


async def examine(
    *, url: str | None, data_dir: Path | None, ports: tuple[int, ...]
) -> AsyncGenerator[DoctorFinding, None]:
    """Every finding, as it is made: this machine first, then what runs."""
    machine = [
        python(),
        await asyncio.to_thread(
            binary, "nats-server", find_nats_server, MINIMUM_SERVER, "LICTOR_NATS_URL"
        ),
        await asyncio.to_thread(
            binary, "redis-server", find_redis_server, OLDEST_REDIS, "LICTOR_REDIS_URL"
        ),
        packs(),
        agents(),
        layers(),
        approvers(),
        writable_directory(data_dir),
    ]
    listening = loopback_ports(ports)
    for finding in (*machine, listening):
        yield finding
    where, store = nats_url(url), redis_url()
    client, broker = await nats(where)
    elsewhere = where.source == "given" or _is_named(where)
    stored = _UNASKED if elsewhere and store.source == "the default" else await redis(store)
    # Ports that were asked about need not be those of `lictor up`, which starts no server that somebody named.
    needed = [*machine, *([] if ports else [listening])]
    needed += [each for at, each in ((where, broker), (store, stored)) if _is_named(at)]
    start = how_to_start(needed, _data_folder(data_dir))
    yield replace(broker, remedy=_start_that(where, start))
    if client is not None:
        yield await jetstream(client)
        yield await definitions(client)
    yield replace(stored, remedy=_start_that(store, start))
    if client is None:
        names = ", ".join(SERVICES)
        remedy = _start_that(where, start)
        yield DoctorFinding("services", False, f"not asked, without NATS: {names}", remedy)
        return
    if where.source == "given":
        start = "start the services on that server: run `lictor up` with LICTOR_NATS_URL set to it"
    for service in SERVICES:
        yield await health(client, service, start)
    await client.close()


def _is_named(where: FoundAddress) -> bool:
    return where.source.startswith("LICTOR_")


def how_to_start(machine: Sequence[DoctorFinding], data_dir: Path) -> str:
    """How Lictor is started here: not by a `lictor up` that would fail by what was found before."""
    bad = ", ".join(finding.name for finding in machine if not finding.ok)
    if bad:
        return f"solve what is said of {bad}, then run `lictor up`"
    if in_use(data_dir):
        return (
            f"a `lictor up` has {data_dir} in use and is starting, stopping or stuck: wait, see its logs in"
            f" {data_dir / 'log'}, or stop it and run `lictor up`"
        )
    return "run `lictor up`"


def _start_that(where: FoundAddress, start: str) -> str:
    """How the server at an address is started: `lictor up` starts none where somebody named one."""
    if where.source == "given":
        return "start the server there, or leave --url out"
    if _is_named(where):
        return f"start the server there, or unset {where.source}, and run `lictor up`"
    return start


def python() -> DoctorFinding:
    """Whether this Python is new enough."""
    text = f"{platform.python_implementation()} {platform.python_version()}"
    return DoctorFinding(
        "python",
        sys.version_info >= OLDEST_PYTHON,
        text,
        f"use Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer",
    )


def binary(
    name: str, find: Callable[[], Path], oldest: tuple[int, int], url_variable: str
) -> DoctorFinding:
    """Whether `lictor up` has a server to start, and a new enough one."""
    if os.environ.get(url_variable):
        return DoctorFinding(name, True, f"not needed: {url_variable} is set")
    try:
        path = find()
    except EmbeddedError as error:
        return DoctorFinding(name, False, str(error), f"install it, or set {url_variable}")
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
        found = re.search(r"v[= ]?(\d+)\.(\d+)\.(\d+)", answer.stdout)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        found = None
    if found is None:
        return DoctorFinding(name, False, f"{path} does not say its version", "install it again")
    version = ".".join(found.groups())
    wanted = f"{oldest[0]}.{oldest[1]}"
    new_enough = (int(found[1]), int(found[2])) >= oldest
    detail = f"{version} at {path}" + ("" if new_enough else f", too old: {wanted} is needed")
    return DoctorFinding(name, new_enough, detail, f"install {wanted} or newer")


def packs() -> DoctorFinding:
    """Whether there are policy packs: those that a running `lictor up` uses, or that one would."""
    running = find_running()
    try:
        folder = packs_directory() if running is None else Path(running.packs)
    except LictorError as error:
        return DoctorFinding("packs", False, str(error), "set LICTOR_PACKS")
    names = sorted(path.parent.name for path in folder.glob("*/policy.yaml"))
    return DoctorFinding(
        "packs",
        bool(names),
        f"found {', '.join(names)} in {folder} (the evaluator checks them when it starts)"
        if names
        else f"none found in {folder}",
        "put packs there as <pack-id>/policy.yaml, or set LICTOR_PACKS",
    )


def agents() -> DoctorFinding:
    """Whether the agent definitions that are named are there."""
    running = find_running()
    try:
        folder = agents_directory() if running is None else running.agents
    except LictorError as error:
        return DoctorFinding("agents", False, str(error), "set LICTOR_AGENTS, or unset it")
    return DoctorFinding("agents", True, "no directory" if folder is None else f"{folder}")


def layers() -> DoctorFinding:
    """Where the trusted layers are, and whether they are there."""
    running = find_running()
    return _named("layers", layers_named() if running is None else running.layers, "LICTOR_LAYERS")


def approvers() -> DoctorFinding:
    """Where the approvers' keys are, and whether they are there."""
    running = find_running()
    named = approvers_named() if running is None else running.approvers
    return _named("approvers", named, "LICTOR_APPROVERS")


def _named(name: str, paths: str | None, variable: str) -> DoctorFinding:
    """What a variable names; it may name nothing."""
    if paths is None:
        return DoctorFinding(name, True, f"none ({variable} is not set)")
    missing = [path for path in paths.split(os.pathsep) if not Path(path).exists()]
    detail = f"{', '.join(missing)} does not exist" if missing else paths
    return DoctorFinding(name, not missing, detail, f"correct {variable}, or unset it")


async def definitions(client: Client) -> DoctorFinding:
    """Which agent definitions are stored: a session names one of these."""
    # After the first findings are shown: it takes a while to load.
    from lictor.history.stored_definitions import stored_names

    try:
        names = await stored_names(client)
    except LictorError:
        return DoctorFinding("definitions", True, "none stored: no service has run here")
    except (BusError, NatsError, JetStreamError) as error:
        return DoctorFinding("definitions", False, str(error), "see what is said of jetstream")
    return DoctorFinding(
        "definitions", True, f"stored: {', '.join(names)}" if names else "none stored"
    )


def writable_directory(given: Path | None) -> DoctorFinding:
    """Whether the data directory, or the nearest directory above it that exists, can be written."""
    existing = folder = _data_folder(given)
    while not os.path.lexists(existing) and existing != existing.parent:
        existing = existing.parent
    try:
        # Tried, not asked: permissions say nothing of a full disk or a special file system.
        with tempfile.TemporaryDirectory(prefix=".lictor-doctor-", dir=existing):
            pass
    except OSError as error:
        detail = f"{folder} is not writable ({error.strerror})"
        remedy = "fix its permissions, or choose another with --data-dir"
        return DoctorFinding("data", False, detail, remedy)
    return DoctorFinding("data", True, f"{folder} is writable")


def _data_folder(given: Path | None) -> Path:
    try:
        return (given or data_directory(packs_directory())).absolute()
    except LictorError:
        return data_directory()


def loopback_ports(wanted: tuple[int, ...]) -> DoctorFinding:
    """Whether servers can listen on loopback, on the wanted ports or any."""
    taken: list[str] = []
    for port in wanted or (0,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError as error:
                taken.append(f"{port} ({error.strerror})")
    if taken:
        remedy = "stop what listens there, or choose other ports"
        return DoctorFinding("ports", False, f"can't listen on {HOST}: {', '.join(taken)}", remedy)
    free = ", ".join(map(str, wanted)) or "any"
    return DoctorFinding("ports", True, f"free on {HOST}: {free}")


async def jetstream(client: Client) -> DoctorFinding:
    """Whether the server stores streams."""
    try:
        account = await client.jetstream().account_info()  # pyright: ignore[reportUnknownMemberType] -- nats-py leaves **opts open
    except (NatsError, JetStreamError):
        return DoctorFinding(
            "jetstream", False, "it does not answer", "start NATS with JetStream (-js)"
        )
    return DoctorFinding("jetstream", True, f"{account.streams} streams")


async def nats(where: FoundAddress) -> tuple[Client | None, DoctorFinding]:
    """Whether NATS answers, and a connection to it."""
    try:
        client = await connect_nats(where.now, name="lictor-doctor", timeout_s=3.0)
    except BusError as error:
        return None, DoctorFinding("nats", False, f"{_what(error)} (address: {where.source})")
    found = client.connected_server_version
    version = f"{found.major}.{found.minor}.{found.patch}"
    return client, DoctorFinding("nats", True, f"{version} at {shown(where.url)} ({where.source})")


async def redis(where: FoundAddress) -> DoctorFinding:
    """Whether Redis answers."""
    try:
        client = await connect_redis(where.url)
    except BusError as error:
        return DoctorFinding("redis", False, f"{_what(error)} (address: {where.source})")
    await client.aclose()
    return DoctorFinding("redis", True, f"{shown(where.url)} ({where.source})")


async def health(client: Client, service: str, start: str) -> DoctorFinding:
    """Whether a service runs and can work."""
    running = find_running()
    remedy = start if running is None else f"see {Path(running.logs) / f'{service}.log'}"
    try:
        state = await ask_health(client, service)
    except NotAllowed:
        detail = "not asked: only operators may, and this is another user"
        return DoctorFinding(service, True, detail)
    except BusError as error:
        return DoctorFinding(service, False, _what(error), remedy)
    detail = f"version {state.version}" + (f", {state.detail}" if state.detail else "")
    return DoctorFinding(service, state.ready, detail, remedy)


def _what(error: BusError) -> str:
    """The error without its advice, which a finding gives on a line of its own."""
    return str(error).partition(";")[0]
