"""The composition root of a service: where broker, store, telemetry and a pure core meet.

FastStream is the shell: it owns the process (signals, life cycle, HTTP), the request/reply gates and the AsyncAPI
document. The ``partition_worker`` folds the streams on a connection of its own, so a slow gate can't hold up a batch.
"""

import asyncio
import gc
import logging
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import FrameType
from typing import Any, Protocol, TypeVar, cast

import uvloop
from faststream import FastStream
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from faststream.nats import NatsBroker, NatsMessage
from prometheus_client import make_asgi_app  # pyright: ignore[reportUnknownVariableType] -- half typed
from redis.asyncio import Redis

from lictor_bus.errors import BrokerTooOld, BusError, JetStreamAway
from lictor_bus.fold.partition_worker import PartitionWorker
from lictor_bus.fold.processor import Outbox, Processor, R, S, Steering, T
from lictor_bus.fold.state_store import StateStore
from lictor_bus.fold.state_tags import StateTags
from lictor_bus.fold.take_over import TakeOver
from lictor_bus.gate import Gate
from lictor_bus.gates.gate_runner import GateRunner
from lictor_bus.gates.history_desk import history_runner, is_asked_for_history
from lictor_bus.gates.table import answered_by
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import subjects
from lictor_bus.names.streams import DEAD
from lictor_bus.service.connections import Connections
from lictor_bus.service.control_broker import ControlBroker
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.service.stream_presence import StreamPresence
from lictor_bus.service.telemetry import ServiceTelemetry, TelemetrySettings
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.provenance import passed_over
from lictor_bus.wire.pull import PullConsumer, PullSettings
from lictor_schema.services.health import ServiceHealth

log = logging.getLogger("lictor.service")

A = TypeVar("A")

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 3.0


class Runnable(Protocol):
    """A loop that a service keeps running."""

    @property
    def trouble(self) -> str | None:
        """What keeps it from working; None when nothing does."""
        ...

    def stop(self) -> None:
        """Finish what is in hand, then return from ``run``."""
        ...

    async def run(self) -> None:
        """Work until stopped."""
        ...


@dataclass(frozen=True, kw_only=True)
class ServiceRuntime:
    """What a running service stands on."""

    service: str
    settings: ServiceSettings
    connections: Connections
    """Where a loop gets a connection of its own."""
    client: TolerantClient
    redis: "Redis | None"
    """None for a service that keeps nothing."""
    telemetry: ServiceTelemetry

    @property
    def store(self) -> "Redis":
        """Redis, for a service that says in its ServiceSpec that it has one."""
        if self.redis is None:
            raise BusError(f"{self.service} has no Redis")
        return self.redis

    def tags(self) -> StateTags:
        """The tags of what this service keeps in Redis."""
        return StateTags(self.settings.state_key or b"", self.service, self.telemetry.state_forged)

    def worker(
        self,
        stream: str,
        filter_subject: str,
        processor: Processor[T, S, R],
        outbox: Outbox[R],
        *,
        partition: int | str | None = None,
        steering: Steering | None = None,
        formerly: str | None = None,
    ) -> PartitionWorker[T, S, R]:
        """A worker for one partition of a stream, or for the whole of it.

        A service that folds a stream in more ways than one gives each a word instead of a partition. ``formerly`` names
        the service that ran this fold before: it goes on where that one left off.
        """
        name = self.service if partition is None else f"{self.service}-{partition}"
        settings = PullSettings(batch=self.settings.batch)
        take_over = None
        if formerly is not None:
            take_over = TakeOver(
                self.client,
                stream,
                old=formerly,
                partition=str(partition),
                quiet_s=settings.pin_timeout_s,
            )
        return PartitionWorker(
            self.client,
            PullConsumer(self.client, stream, name, filter_subject, settings),
            StateStore(
                self.store,
                self.service,
                "all" if partition is None else str(partition),
                self.tags(),
            ),
            processor,
            outbox,
            DeadLetters(self.client, self.service, formerly=formerly),
            self.telemetry,
            self.settings.batch,
            steering,
            take_over,
        )


@dataclass(frozen=True, kw_only=True)
class StreamChannel:
    """A stream subject that a service folds or fills, for its AsyncAPI document."""

    subject: str
    message: Any
    description: str
    reads: bool


@dataclass(frozen=True, kw_only=True)
class ServiceSpec:
    """What a service is, whatever it is configured with."""

    name: str
    version: str
    description: str
    streams: tuple[str, ...]
    channels: tuple[StreamChannel, ...] = ()
    only_answers: bool = False
    """Whether it needs neither Redis nor a stream: it has no right to any."""

    @property
    def gates(self) -> tuple[Gate[Any, Any], ...]:
        """What the service answers."""
        return answered_by(self.name)


Page = Callable[[], Awaitable[bytes | None]]
"""Makes a JSON document for HTTP; None when it can't be made now."""


@dataclass(kw_only=True)
class Service:
    """A service with its configuration, ready to run."""

    spec: ServiceSpec
    loops: Callable[[ServiceRuntime], Awaitable[Sequence[Runnable]]]
    pages: Mapping[str, Page] = field(default_factory=dict[str, Page])
    """JSON documents by their path, beside `/health` and `/metrics`."""
    config_hash: str | None = None
    detail: str = ""
    _started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _running: list[Runnable] = field(default_factory=list[Runnable])
    _open: bool = False
    _client: TolerantClient | None = None
    _told_to_stop: float = 0.0
    _telemetry: ServiceTelemetry | None = None

    @property
    def name(self) -> str:
        """The service's name on the bus."""
        return self.spec.name

    def telemetry(self) -> ServiceTelemetry:
        """The instruments; silent ones before the service runs."""
        if self._telemetry is None:
            self._telemetry = ServiceTelemetry(self.name)
        return self._telemetry

    def health(self) -> ServiceHealth:
        """Whether every loop is at work, and what it runs."""
        troubles = [loop.trouble for loop in self._running if loop.trouble]
        # An idle loop takes a while to notice it.
        if self._client is not None and not self._client.is_connected:
            troubles.insert(0, "not connected to NATS")
        return ServiceHealth(
            service=self.name,
            version=self.spec.version,
            ready=self._open and not troubles,
            started_at=self._started_at,
            config_hash=self.config_hash,
            detail="; ".join(dict.fromkeys(troubles)) or self._detail(),
        )

    def _detail(self) -> str:
        count = sum(passed_over().values())
        more = f"{count} foreign messages passed over, see the log" if count else ""
        return "; ".join(filter(None, (self.detail, more)))

    def broker(self, settings: ServiceSettings) -> NatsBroker:
        """The FastStream side: health and gates, answered by one instance of many."""
        broker = ControlBroker(
            settings.nats_url,
            # The loops drain at the same time, and need the server for it more than the gates do.
            stop_within_s=settings.drain_timeout_s / 2,
            name=f"lictor-{self.name}",
            # Without types applied, a malformed question reaches the gate, which answers it with a denial.
            apply_types=False,
            logger=None,
            **_RECONNECT,
        )
        add_control(broker, self.spec, self.health)
        return broker

    async def run(self, settings: ServiceSettings) -> None:
        """Run until a signal; raises BusError when it can't start, or when a loop breaks."""
        prometheus = settings.http_port is not None
        self._telemetry = ServiceTelemetry(
            self.name, TelemetrySettings.from_environment(prometheus=prometheus)
        )
        broken: list[BaseException] = []

        @asynccontextmanager
        async def lifespan(**_options: Any) -> AsyncGenerator[None, None]:
            async with self._loops_running(runtime, presence, broken):
                yield

        try:
            # Before FastStream takes the signals: until there is work in hand, one may end the process at once.
            async with connected(
                self.name, settings, self._telemetry, only_answers=self.spec.only_answers
            ) as runtime:
                if runtime.redis is not None and not settings.state_key:
                    log.warning(
                        "%s: LICTOR_STATE_KEY is not set, so whoever can write to Redis can forge states",
                        self.name,
                    )
                needed = () if self.spec.only_answers else (*self.spec.streams, DEAD)
                presence = StreamPresence(runtime.client, needed, partitions=settings.partitions)
                await self._look_for_streams(presence, settings.start_timeout_s)
                await self._run_application(settings, lifespan)
        finally:
            self._telemetry.close()
        if broken:
            raise broken[0]

    async def _look_for_streams(self, presence: StreamPresence, within_s: float) -> None:
        """See whether the streams are there; a cluster that is electing its leaders is waited for, but not for ever."""
        deadline = asyncio.get_running_loop().time() + within_s
        while True:
            try:
                if not await presence.complete():
                    log.warning("%s: %s. Waiting.", self.name, presence.trouble)
                return
            except JetStreamAway as error:
                if asyncio.get_running_loop().time() > deadline:
                    raise
                log.warning("%s: %s Waiting.", self.name, error)
            await asyncio.sleep(_FIRST_PAUSE_S)

    async def _run_application(
        self, settings: ServiceSettings, lifespan: Callable[[], Any]
    ) -> None:
        app = self._application(settings, lifespan)
        options: dict[str, Any] = {}
        if settings.http_port is not None:
            options = {
                "host": settings.http_host,
                "port": settings.http_port,
                "access_log": "false",
            }
            # uvicorn raises the signal again when it has shut down; by then there is nothing left to end.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _already_ended)
        await app.run(log_level=logging.WARNING, run_extra_options=options)

    def _application(
        self, settings: ServiceSettings, lifespan: Callable[[], Any]
    ) -> FastStream | AsgiFastStream:
        broker = self.broker(settings)
        if settings.http_port is None:
            return FastStream(
                broker, lifespan=lifespan, logger=None, on_shutdown=[self._stop_loops]
            )

        @get
        async def health(_scope: Any) -> AsgiResponse:
            state = self.health()
            return AsgiResponse(
                state.to_json(), 200 if state.ready else 503, {"content-type": "application/json"}
            )

        return AsgiFastStream(
            broker,
            lifespan=lifespan,
            logger=None,
            on_shutdown=[self._stop_loops],
            asgi_routes=[
                ("/health", health),
                ("/metrics", cast(Any, make_asgi_app())),
                *((path, _json_page(page)) for path, page in self.pages.items()),
            ],
        )

    @asynccontextmanager
    async def _loops_running(
        self, runtime: ServiceRuntime, presence: StreamPresence, broken: list[BaseException]
    ) -> AsyncGenerator[None, None]:
        self._client = runtime.client
        self._running = [presence]
        tasks: list[asyncio.Task[None]] = []

        def on_done(task: "asyncio.Task[None]") -> None:
            # A loop that ends by itself is a defect: better to leave and be restarted than to look alive.
            if not task.cancelled() and task.exception() is not None:
                log.critical("%s: a loop broke", self.name, exc_info=task.exception())
                broken.append(task.exception() or BusError("a loop ended"))
                # With HTTP, FastStream's own exit() does nothing.
                signal.raise_signal(signal.SIGTERM)

        def run(coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
            task = asyncio.create_task(coroutine)
            task.add_done_callback(on_done)
            return task

        async def begin() -> None:
            loops = [*await self.loops(runtime), *await _history(runtime)]
            self._refuse_unanswered_gates(loops)
            self._running = [presence, *loops]
            tasks.extend(run(loop.run()) for loop in self._running)
            self._open = True
            log.info(
                "%s %s is ready%s",
                self.name,
                self.spec.version,
                f": {self.detail}" * bool(self.detail),
            )

        async def begin_when_complete() -> None:
            await presence.until_complete()
            await begin()

        waiting = None
        if presence.trouble is None:
            await begin()
        else:
            # In the background: whoever asks for our health hears what is missing.
            waiting = run(begin_when_complete())
        try:
            yield
        finally:
            if waiting is not None:
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
            self._stop_loops()
            await self._drain(tasks, runtime.settings.drain_timeout_s)

    def _refuse_unanswered_gates(self, loops: Sequence[Runnable]) -> None:
        """A gate that is declared and has no handler would be silent, and one without a declaration nobody may ask."""
        bound = [each.gate for loop in loops if isinstance(loop, GateRunner) for each in loop.gates]
        told = {gate.subject for gate in self.spec.gates} ^ {gate.subject for gate in bound}
        if told:
            raise BusError(
                f"{self.name}: gates and their handlers differ: {', '.join(sorted(told))};"
                " bind a handler to each gate of lictor_bus.gates that names this service"
            )

    def _stop_loops(self) -> None:
        """Tell the loops to finish what they have in hand; called when the service is told to stop."""
        if self._open:
            self._open = False
            self._told_to_stop = time.monotonic()
            for loop in self._running:
                loop.stop()

    async def _drain(self, tasks: Sequence["asyncio.Task[None]"], timeout_s: int) -> None:
        if not tasks:
            return
        left = max(0.0, self._told_to_stop + timeout_s - time.monotonic())
        _, late = await asyncio.wait(tasks, timeout=left)
        for task in late:
            # Safe: what was not committed is delivered again.
            log.warning("%s: a batch did not end in %d s and is given up", self.name, timeout_s)
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        log.info("%s: drained", self.name)


async def _history(runtime: ServiceRuntime) -> Sequence[Runnable]:
    """What a service that owns streams answers to runtimes about them; whatever else it does or waits for."""
    if not is_asked_for_history(runtime.service):
        return ()
    client = await runtime.connections.nats("history")
    return [history_runner(client, runtime.service, runtime.telemetry)]


def _json_page(page: Page) -> Any:
    @get
    async def respond(_scope: Any) -> AsgiResponse:
        body = await page()
        headers = {"content-type": "application/json"}
        return AsgiResponse(body or b"null", 200 if body else 503, headers)

    return respond


def _already_ended(_number: int, _frame: FrameType | None) -> None:
    """Take no notice of a signal."""


async def _keep_bytes(message: NatsMessage) -> bytes:
    """A question about health says nothing that has to be parsed."""
    return message.body


def add_control(
    broker: NatsBroker,
    spec: ServiceSpec,
    health: Callable[[], ServiceHealth],
) -> None:
    """Register what every service answers: its health. What it is asked besides is in its ``gates``."""

    async def answer_health(_request: bytes) -> ServiceHealth:
        return health()

    broker.subscriber(
        subjects.health(spec.name),
        queue=spec.name,
        title="health",
        description="Is the service ready, and what does it run?",
        decoder=_keep_bytes,
    )(answer_health)


_RECONNECT: dict[str, Any] = {
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": 0.25,
    "connect_timeout": 2,
    "ping_interval": 5,
    "max_outstanding_pings": 2,
}


@asynccontextmanager
async def connected(
    service: str,
    settings: ServiceSettings,
    telemetry: ServiceTelemetry,
    *,
    only_answers: bool = False,
) -> AsyncGenerator[ServiceRuntime, None]:
    """What a service runs on, until the block ends; waits for servers that are still starting, but not for ever."""
    deadline = asyncio.get_running_loop().time() + settings.start_timeout_s
    async with Connections(service, settings) as connections:
        client = await _waited_for(lambda: connections.nats("streams"), service, deadline)
        redis = None
        if not only_answers:
            redis = await _waited_for(connections.redis, service, deadline)
        yield ServiceRuntime(
            service=service,
            settings=settings,
            connections=connections,
            client=client,
            redis=redis,
            telemetry=telemetry,
        )


async def _waited_for(connect: Callable[[], Awaitable[A]], service: str, deadline: float) -> A:
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return await connect()
        except BrokerTooOld:
            raise
        except BusError as error:
            if asyncio.get_running_loop().time() + pause > deadline:
                raise
            log.warning("%s: %s Waiting.", service, error)
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)


def _spare_the_collector() -> None:
    """Look for cycles seldom: a batch makes many values and no cycles, and each look walks all of them."""
    gc.collect()
    gc.freeze()
    # More than the values of all batches that are in hand at once.
    gc.set_threshold(500_000, 10, 10)


def main(make_service: Callable[[], Service]) -> None:
    """The entry point of ``python -m lictor_<service>``: one sentence and exit 1 when it can't run."""
    try:
        settings = ServiceSettings.from_environment()
        logging.basicConfig(
            level=settings.log_level,
            format="%(asctime)s %(levelname)s %(name)s %(message)s",
            stream=sys.stderr,
        )
        service = make_service()
        _spare_the_collector()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(service.run(settings))
    except BusError as error:
        sys.exit(f"lictor: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
