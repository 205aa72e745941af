"""``python -m lictor_bus.service.health SERVICE`` exits with 0 when the service answers ready, for container checks."""

import asyncio
import sys

from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor_bus.errors import BusError, NotAllowed
from lictor_bus.names import subjects
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.wire.connection import connect_nats
from lictor_schema.services.health import ServiceHealth


async def ask_health(client: Client, service: str, timeout_s: float = 2.0) -> ServiceHealth:
    """What the service says of itself; raises BusError when it says nothing, NotAllowed when this user may not ask."""
    try:
        answer = await client.request(subjects.health(service), b"", timeout=timeout_s)
    except NotAllowed:
        raise NotAllowed(f"{service} can't be asked by this user; ask as an operator.") from None
    except (NatsError, TimeoutError):
        raise BusError(
            f"{service} does not answer; `lictor up` starts it, its log says why it stopped."
        ) from None
    return ServiceHealth.from_json(answer.data)


async def _check(service: str) -> ServiceHealth:
    client = await connect_nats(ServiceSettings.from_environment().nats_url, name="lictor-health")
    try:
        return await ask_health(client, service)
    finally:
        await client.close()


def main() -> None:
    """Check the service that the command line names."""
    try:
        health = asyncio.run(_check(sys.argv[1]))
    except BusError as error:
        sys.exit(f"lictor: {error}")
    if not health.ready:
        sys.exit(f"lictor: {health.service} is not ready: {health.detail}")


if __name__ == "__main__":
    main()
