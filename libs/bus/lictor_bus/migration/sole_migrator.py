"""A migration has the streams for itself: no service runs, and no other migration.

Who migrates holds a consumer of a fixed name, which the broker gives to one client and removes when that one is gone.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.errors import NotFoundError

from lictor_bus.errors import BusError
from lictor_bus.migration.stream_api import StreamApi
from lictor_bus.names import streams, subjects

_CONSUMER = "lictor-migration"
_EXISTS = 10148
_GONE_AFTER_S = 2.0
_PATIENCE_S = 10.0
_LOOK_S = 0.2


class MigrationRefused(BusError):
    """The streams can't be migrated as things are; says what to do."""


class SoleMigrator:
    """Whoever may migrate now."""

    def __init__(self, api: StreamApi, deliver: str) -> None:
        self._api = api
        self._deliver = deliver

    async def check(self) -> None:
        """Raise MigrationRefused when another migration may have begun, because we were cut off for a while."""
        found = await self._api.ask(f"CONSUMER.INFO.{streams.EVENTS}.{_CONSUMER}", {})
        if found.get("config", {}).get("deliver_subject") != self._deliver:
            raise MigrationRefused("the connection to NATS was lost meanwhile; run it again")


@asynccontextmanager
async def sole_migrator(
    client: Client, services: Sequence[str]
) -> AsyncGenerator[SoleMigrator, None]:
    """Keep others from migrating; raises MigrationRefused while services run, or another migration."""
    api, deliver = StreamApi(client), client.new_inbox()
    subscription = await client.subscribe(deliver)
    request: dict[str, Any] = {
        "stream_name": streams.EVENTS,
        "action": "create",
        "config": {
            "name": _CONSUMER,
            "deliver_subject": deliver,
            "ack_policy": "none",
            # Nothing stands there: it is not to be delivered anything.
            "filter_subject": _CONSUMER,
            "inactive_threshold": int(_GONE_AFTER_S * 1e9),
        },
    }
    try:
        await _until_held(api, request)
        await _refuse_running(client, services)
        yield SoleMigrator(api, deliver)
    finally:
        if not client.is_closed:
            await subscription.unsubscribe()
            await api.ask(f"CONSUMER.DELETE.{streams.EVENTS}.{_CONSUMER}", {})


async def _until_held(api: StreamApi, request: dict[str, Any]) -> None:
    subject = f"CONSUMER.CREATE.{streams.EVENTS}.{_CONSUMER}.{_CONSUMER}"
    deadline = asyncio.get_running_loop().time() + _PATIENCE_S
    while error := (await api.ask(subject, request)).get("error"):
        if error.get("err_code") != _EXISTS:
            raise MigrationRefused(f"stream {streams.EVENTS}: {error.get('description')}")
        if asyncio.get_running_loop().time() > deadline:
            raise MigrationRefused("another migration is running; wait until it is done")
        await asyncio.sleep(_LOOK_S)


async def _refuse_running(client: Client, services: Sequence[str]) -> None:
    """Services would go on writing under the old subjects, or miss what is not there for a while."""
    running = [each for each in services if await _runs(client, each)]
    for stream in streams.STREAMS:
        try:
            consumers = await client.jetstream().consumers_info(stream)
        except NotFoundError:
            continue
        running += [f"whoever reads {stream} as {it.name}" for it in consumers if it.num_waiting]
    if running:
        raise MigrationRefused(f"stop these first: {', '.join(running)}")


async def _runs(client: Client, service: str) -> bool:
    """Whether a service is there: the broker says at once when nobody listens, so one that is slow to answer is."""
    try:
        await client.request(subjects.health(service), b"", timeout=1)
    except NoRespondersError:
        return False
    except NatsTimeout:
        pass
    return True
