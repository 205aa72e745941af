"""Opening a connection to a running Lictor."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from nats.errors import Error as NatsError

from lictor.errors import LictorError
from lictor.governor import Governor, Identity
from lictor.history.everyones_history import EveryonesHistory
from lictor.installation.broker_connection import reach
from lictor.installation.endpoints import FoundAddress, judge_url
from lictor_bus.errors import BusError
from lictor_schema.events.operator_context import OperatorContext


@asynccontextmanager
async def connect(
    url: str | FoundAddress | None = None,
    *,
    runtime: str = "python",
    agent_id: str = "agent",
    adapter_version: str | None = None,
    operator: OperatorContext | None = None,
    reads_all: bool = False,
    timeout_s: float = 5.0,
) -> AsyncGenerator[Governor, None]:
    """Connect as an agent of a runtime: `async with lictor.connect() as governor`.

    Without a URL: `LICTOR_NATS_URL`, then this user's `lictor up` of the nearest directory upwards, then
    `nats://127.0.0.1:4222`. The connection comes back by itself when NATS does, and with the `lictor up` also when
    it was started again on another port.

    With ``reads_all`` what is stored of every runtime is read, from the streams themselves: for operators, whose NATS
    user may do that. Without, only what is stored of this runtime's own.
    """
    identity = Identity(
        runtime=runtime,
        agent_id=agent_id,
        adapter_version=adapter_version or f"lictor-client/{version('lictor-client')}",
        operator=operator or OperatorContext(),
    )
    found = url if isinstance(url, FoundAddress) else judge_url(url, runtime=runtime)
    try:
        client = await reach(found, f"lictor-client {runtime}", timeout_s)
    except BusError as error:
        raise LictorError(str(error)) from None
    try:
        yield Governor(client, identity, EveryonesHistory(client) if reads_all else None)
    finally:
        # A connection that is down can't be told goodbye, which is no reason to fail.
        with suppress(OSError, NatsError):
            await client.close()
