"""Whether streams are there and as they should be: asked by services before they work, and by operators.

Nobody but `lictor streams apply` and `migrate` makes or changes a stream, so whoever needs one says what to run.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

from collections.abc import Sequence
from typing import Literal, NamedTuple

from nats.aio.client import Client
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import StreamConfig
from nats.js.errors import APIError, NotFoundError

from lictor_bus.errors import BusError, JetStreamAway, StreamMismatch
from lictor_bus.names import streams
from lictor_bus.names.streams import OLDER, UNFINISHED

# Nothing goes wrong with other ones: how many copies there are, and how the broker is set up, is the operator's choice.
_ANY_WILL_DO = {"description", "num_replicas", "max_msg_size", "placement"}

Shortcoming = Literal["missing", "older", "unfinished", "different"]


class StreamTrouble(NamedTuple):
    """What is wrong with a stream, and what to run."""

    stream: str
    what: Shortcoming
    detail: str

    def __str__(self) -> str:
        return f"stream {self.stream} {self.detail}"


async def examine(
    client: Client, names: Sequence[str], *, partitions: int | None = None
) -> list[StreamTrouble]:
    """What is wrong with these streams; with ``partitions``, StreamMismatch when there is another number of them.

    JetStreamAway while the broker can't tell.
    """
    found = [await _examine(client, name, partitions) for name in names]
    return [each for each in found if each is not None]


async def require(client: Client, *names: str) -> None:
    """Raise StreamMismatch unless these streams are there and as they should be."""
    if troubles := await examine(client, names):
        raise StreamMismatch(f"{'; '.join(map(str, troubles))}.")


async def _examine(client: Client, name: str, partitions: int | None) -> StreamTrouble | None:
    found = await config_of(client, name)
    if found is None:
        if await config_of(client, streams.copy_of(name)) is not None:
            return StreamTrouble(name, "unfinished", UNFINISHED)
        return StreamTrouble(name, "missing", "is missing: run `lictor streams apply`")
    if streams.is_older(found):
        return StreamTrouble(name, "older", OLDER)
    if streams.in_migration(found):
        return StreamTrouble(name, "unfinished", UNFINISHED)
    wanted = streams.STREAMS[name].config(
        partitions=streams.partitions_of(found) if partitions is None else partitions,
        replicas=1,
        max_payload=client.max_payload,
    )
    streams.check_partitions(found, wanted)
    others = [each for each in streams.differing(found, wanted) if each not in _ANY_WILL_DO]
    if not others:
        return None
    detail = f"differs in {', '.join(others)}: run `lictor streams apply`"
    return StreamTrouble(name, "different", detail)


async def config_of(client: Client, name: str) -> StreamConfig | None:
    """How a stream is set up; None for one that is not there. JetStreamAway while the broker can't tell."""
    try:
        return (await client.jetstream().stream_info(name)).config
    except NotFoundError:
        return None
    except NoRespondersError:
        raise BusError(
            "the NATS server answers but JetStream does not: start it with JetStream enabled (`-js`)."
        ) from None
    except (NatsTimeout, APIError) as error:
        raise JetStreamAway(
            f"the NATS server answers but JetStream does not, about stream {name}: see whether its cluster"
            " has a leader, and whether this user may ask it."
        ) from error
