"""The whole of Lictor on one machine: servers, sealing key and services, kept running together.

Everything lives under one data directory; stopping keeps it, and the next start goes on from it.
"""

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from lictor.errors import LictorError, Unreachable
from lictor.installation.atomic_files import replace_file
from lictor.installation.directories import approvers_named, layers_named
from lictor.installation.endpoints import (
    Running,
    register,
    remove_running,
    unregister,
    write_running,
)
from lictor_bus.errors import BrokerUnreachable, BusError, StoreUnreachable
from lictor_bus.migration.stream_migration import migrate, to_migrate
from lictor_bus.names.roles import DEPLOY, OPERATORS
from lictor_bus.names.streams import STREAMS, declare
from lictor_bus.service.settings import ServiceSettings, replicas_wanted
from lictor_bus.wire.address import shown
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.redis_connection import connect_redis
from lictor_local.accounts import Accounts
from lictor_local.embedded_servers import EmbeddedServers
from lictor_local.kept_ports import HOST, KeptPorts, free_port, is_free
from lictor_local.server_process import writable
from lictor_local.service_process import SERVICES, ServiceCommand, ServiceProcess, how_it_ended
from lictor_seal import SealError, SigningKey, TrustStore

DEFAULT_LOG_ORIGIN = "lictor.local/log"

_DRAIN_SECONDS = 25.0
_LOOK_S = 0.2
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
# A service that ran this long before it died is restarted without the pauses of earlier deaths.
_STEADY_S = 60.0


@dataclass(frozen=True)
class StackEvent:
    """Something a person at the terminal wants to know."""

    what: str
    """`starting`, `moved`, `migrating`, `migrated`, `ready`, `unknown`, `died`, `restarted`, `draining`, `stopped`."""
    name: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class StackSettings:
    """What to run, and where. A URL that is given means: that server is somebody else's."""

    data_dir: Path
    packs: Path
    agents: Path | None = None
    nats_url: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)
    nats_port: int = 0
    http_port: int | None = None
    """Where the services' HTTP ports begin; 0 for any, None for no HTTP."""
    seal_key: Path | None = None
    log_origin: str = DEFAULT_LOG_ORIGIN
    secured: bool = False
    """Whether NATS has accounts, and every service a password of its own."""
    runtimes: tuple[str, ...] = ()
    """Runtimes that get an account, beside those that have one."""


class Stack:
    """`async with Stack(settings, tell) as stack: await stack.tend()`."""

    def __init__(self, settings: StackSettings, tell: Callable[[StackEvent], None]) -> None:
        self._settings = settings
        self._tell = tell
        self._data_dir = settings.data_dir.absolute()
        self._servers = EmbeddedServers(
            self._data_dir,
            nats_port=None if settings.nats_url else settings.nats_port,
            redis=settings.redis_url is None,
            secured=settings.secured,
        )
        self._accounts = self._servers.accounts
        self._accounts_read: tuple[int, int] | None = None
        self._reloads = 0
        self._services: list[ServiceProcess] = []
        self._http_ports: Mapping[str, int] = {}
        self._running: Running | None = None
        self._state_key = Path()
        self._announced = False

    @property
    def running(self) -> Running:
        """Where everything is."""
        if self._running is None:
            raise LictorError("the stack has not been started")
        return self._running

    @property
    def services(self) -> Mapping[str, int | None]:
        """The process ids of the services."""
        return {service.spec.name: service.pid for service in self._services}

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stop()

    async def tend(self) -> None:
        """Start again whatever dies, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tend_servers())
            for service in self._services:
                group.create_task(self._tend_service(service))

    async def _start(self) -> None:
        self._tell(StackEvent("starting", "servers"))
        with writable(self._data_dir):
            # Before anything is put there: logs and states tell of every runtime's tasks.
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._settings.secured:
            self._write_accounts()
        await self._servers.start()
        for name, port in self._servers.moved.items():
            self._tell_moved(name, port)
        self._http_ports = self._service_ports()
        nats_url = self._settings.nats_url or self._servers.nats_url
        if self._settings.secured:
            self._write_accounts(nats_url.removeprefix("nats://"))
        redis_url = self._settings.redis_url or self._servers.redis_url
        keys = self._data_dir / "keys"
        key, trust = prepare_key(keys, self._settings.seal_key, self._settings.log_origin)
        self._state_key = prepare_state_key(keys)
        try:
            running = self._describe(nats_url, redis_url, trust)
            await self._prepare_streams(running.nats_url_of(DEPLOY))
            client = await connect_nats(running.nats_url_of(OPERATORS), name="lictor-up")
            try:
                await (await connect_redis(redis_url)).aclose()
                self._tell(StackEvent("ready", "nats", shown(nats_url)))
                self._tell(StackEvent("ready", "redis", shown(redis_url)))
                self._running = running
                self._tell(StackEvent("starting", "services"))
                for name, module in SERVICES.items():
                    spec = self._service_spec(name, module, self._running, key)
                    self._services.append(ServiceProcess(spec))
                    self._services[-1].start(self._servers.held_lock())
                for service in self._services:
                    await service.ready(client)
                    self._tell(StackEvent("ready", service.spec.name, self._where(service)))
            finally:
                await client.close()
        except (BrokerUnreachable, StoreUnreachable) as error:
            raise Unreachable(str(error)) from None
        except BusError as error:
            raise LictorError(str(error)) from None
        write_running(self._data_dir, self._running)
        self._announced = True
        try:
            register(self._data_dir, self._running)
        except LictorError as error:
            # All else works, so it goes on; hooks and guards have to be told the address then.
            self._tell(StackEvent("unknown", "to guards", str(error)))

    async def _prepare_streams(self, url: str) -> None:
        """What an installation does before its services start: take over older streams, and make what is missing."""
        client = await connect_nats(url, name="lictor-up")
        try:
            todo = await to_migrate(client)
            if todo:
                messages = sum(each.messages for each in todo)
                needs = max(each.size for each in todo)
                detail = (
                    f"{messages} messages of version 0.1, which takes {needs} bytes more meanwhile"
                )
                self._tell(StackEvent("migrating", "streams", detail))
                await migrate(client, tuple(SERVICES))
                self._tell(StackEvent("migrated", "streams", f"{messages} messages"))
            partitions = ServiceSettings.from_environment().partitions
            await declare(client, *STREAMS, partitions=partitions, replicas=replicas_wanted())
        finally:
            await client.close()

    def _write_accounts(self, address: str | None = None) -> None:
        """A password for everybody who has none yet, and where the server is, once that is known."""
        if self._settings.nats_url:
            raise LictorError(
                "--secured is about the built-in NATS, and LICTOR_NATS_URL names another; unset it, or give that"
                " server accounts with `lictor account init`."
            )
        with writable(self._accounts.path), self._accounts.changing():
            accounts = (
                self._accounts.read()
                if self._accounts.exists
                else Accounts.new((), address=address or f"{HOST}:0")
            ).completed(self._settings.runtimes)
            if address is not None:
                accounts = replace(accounts, address=address, service_address=address)
            self._accounts.write(accounts)
            self._accounts_read = self._accounts.stamp()

    def _tell_moved(self, name: str, last: int) -> None:
        # Whoever was told the address by hand does not find it again; all others look it up.
        self._tell(
            StackEvent(
                "moved", name, f"port {last} is taken by another process, so it has a new one"
            )
        )

    def _service_ports(self) -> Mapping[str, int]:
        """The HTTP ports of the services: consecutive ones, or those that they had last, or free ones."""
        first = self._settings.http_port
        if first is None:
            return {}
        if first:
            return {name: first + number for number, name in enumerate(SERVICES)}
        kept, chosen = KeptPorts(self._data_dir), dict[str, int]()
        for name in SERVICES:
            last = kept.last(name)
            if last is not None and is_free(last):
                chosen[name] = last
                continue
            if last is not None:
                self._tell_moved(name, last)
            chosen[name] = free_port({*chosen.values(), *map(kept.last, SERVICES)})
            kept.keep(name, chosen[name])
        return chosen

    def _where(self, service: ServiceProcess) -> str:
        return self.running.http.get(service.spec.name, f"pid {service.pid}")

    def _describe(self, nats_url: str, redis_url: str, trust: Path) -> Running:
        return Running(
            pid=os.getpid(),
            nats_url=nats_url,
            redis_url=redis_url,
            data_dir=str(self._data_dir),
            packs=str(self._settings.packs.absolute()),
            trust_file=str(trust),
            logs=str(self._data_dir / "log"),
            http={name: f"http://{HOST}:{port}" for name, port in self._http_ports.items()},
            agents=None if self._settings.agents is None else str(self._settings.agents.absolute()),
            # The services inherit both.
            layers=layers_named(),
            approvers=approvers_named(),
            credentials=str(self._accounts.credentials) if self._settings.secured else None,
        )

    def _service_spec(self, name: str, module: str, running: Running, key: Path) -> ServiceCommand:
        secured = self._settings.secured
        environment = {
            "LICTOR_NATS_URL": "" if secured else running.nats_url,
            "LICTOR_NATS_URL_FILE": str(self._accounts.credential(name)) if secured else "",
            "LICTOR_REDIS_URL": running.redis_url,
            "LICTOR_STATE_KEY": "",
            "LICTOR_STATE_KEY_FILE": str(self._state_key),
            "LICTOR_PACKS": running.packs,
            "LICTOR_AGENTS": running.agents or "",
            # What we were started with names private keys: only the sealer gets any.
            "LICTOR_SEAL_KEY": "",
            "LICTOR_SEAL_KEY_PREVIOUS": "",
            "LICTOR_LOG_ORIGIN": self._settings.log_origin,
            "LICTOR_HTTP_PORT": str(self._http_ports.get(name, "")),
        }
        if name == "sealer":
            previous = os.environ.get("LICTOR_SEAL_KEY_PREVIOUS", "")
            environment |= {"LICTOR_SEAL_KEY": str(key), "LICTOR_SEAL_KEY_PREVIOUS": previous}
        elif name == "rehearser":
            # It runs what nobody has approved, and is given nothing that it does not need.
            kept = (
                "LICTOR_REDIS_URL",
                "LICTOR_STATE_KEY_FILE",
                "LICTOR_LAYERS",
                "LICTOR_APPROVERS",
            )
            environment |= dict.fromkeys(kept, "")
        elif name == "policy-evaluator":
            memory = os.environ.get("LICTOR_PACK_MEMORY") or str(self._data_dir / "pack-releases")
            environment["LICTOR_PACK_MEMORY"] = memory
        elif name == "supervisor":
            trust = os.environ.get("LICTOR_SEAL_TRUST") or running.trust_file
            environment["LICTOR_SEAL_TRUST"] = trust
        return ServiceCommand(
            name=name,
            module=module,
            environment=environment,
            log_path=self._data_dir / "log" / f"{name}.log",
        )

    async def _tend_servers(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            for name in await self._servers.revive():
                self._tell(StackEvent("restarted", name, "it had died; its data is kept"))
            if self._settings.secured:
                self._reload_accounts()

    def _reload_accounts(self) -> None:
        """Have the server read accounts that changed; twice, since it uses the imports of a new one from then on."""
        if (stamp := self._accounts.stamp()) != self._accounts_read:
            self._accounts_read, self._reloads = stamp, 2
        if self._reloads:
            self._reloads -= 1
            self._servers.reload_nats()

    async def _tend_service(self, service: ServiceProcess) -> None:
        pause = _FIRST_PAUSE_S
        while True:
            await service.ended(_LOOK_S)
            name = service.spec.name
            how = how_it_ended(service.exit_code or 0)
            pause = _FIRST_PAUSE_S if service.age_s > _STEADY_S else pause
            self._tell(StackEvent("died", name, f"{how}; starting it again in {pause:g} s"))
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)
            service.start(self._servers.held_lock())
            self._tell(StackEvent("restarted", name, f"pid {service.pid}"))

    async def _stop(self) -> None:
        try:
            await self._drain()
        finally:
            # Also when the drain was cut short by a second signal.
            for service in self._services:
                service.kill()
            for service in self._services:
                await service.ended()
            if self._announced:
                # Not before: the file could be that of another `lictor up` on the same directory.
                with suppress(OSError):
                    remove_running(self._data_dir)
                with suppress(OSError):
                    unregister(self._data_dir)
            await self._servers.stop()
        if self._services:
            self._tell_if_possible(StackEvent("stopped", "all", str(self._data_dir)))

    async def _drain(self) -> None:
        if not self._services:
            return
        self._tell_if_possible(StackEvent("draining", "services"))
        for service in self._services:
            service.ask_to_stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                for service in self._services:
                    await service.ended()

    def _tell_if_possible(self, happening: StackEvent) -> None:
        # Nothing that goes wrong with the terminal may keep a child alive.
        with suppress(OSError):
            self._tell(happening)


def prepare_state_key(folder: Path) -> Path:
    """The file with the key for the tags on stored states: the one that is named, or one that is made here once."""
    if given := os.environ.get("LICTOR_STATE_KEY_FILE"):
        return Path(given).absolute()
    path = folder / "state.key"
    if given := os.environ.get("LICTOR_STATE_KEY"):
        replace_file(path, f"{given}\n".encode(), mode=0o600)
    elif not path.exists():
        replace_file(path, f"{secrets.token_hex(32)}\n".encode(), mode=0o600)
    return path


def prepare_key(folder: Path, given: Path | None, origin: str) -> tuple[Path, Path]:
    """The sealing key and the trust file that goes with it, made where they are missing."""
    key_path, trust_path = (given or folder / "seal.pem").absolute(), folder / "trust.json"
    with writable(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        if given is None and not key_path.exists():
            SigningKey.generate(origin).save(key_path)
        key = SigningKey.load(key_path, origin)
        if not trust_path.exists():
            replace_file(trust_path, TrustStore.of([key.verifying_key]).to_bytes())
        trusted = TrustStore.load(trust_path).by_id(key.key_id)
    except SealError as error:
        raise LictorError(str(error)) from None
    if trusted is None or trusted.key.name != origin:
        raise LictorError(
            f"The trust file {trust_path} does not hold the key {key.key_id} under the name"
            f" {origin}, so nobody could verify what it seals; add the key to the file, or move the"
            " file away and a new one is made."
        )
    return key_path, trust_path
