"""Direct gets: many messages in one answer, from whichever replica of a stream is asked.

For `read` alone: what is missing in an answer may only be missing in that replica.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import json
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from lictor_bus.errors import BusError, NotAllowed, TooManySubjects
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery, from_direct_get

_TOO_MANY_RESULTS = "413"
# The server's own limit is all that it keeps for a client that reads slowly: it would cut the connection for it.
BYTES_PER_ANSWER = 8 * 1024 * 1024


class DirectAnswer(NamedTuple):
    """What one replica answered."""

    found: list[Delivery]
    is_cut: bool
    """There is more that did not fit."""
    upto: int
    """The last sequence that the replica has; 0 when it did not say."""


class Last(NamedTuple):
    """Where a last message stands."""

    subject: str
    sequence: int


async def direct_last(client: Client, stream: str, subject: str, within_s: float) -> Last | None:
    """The last message on a subject that one replica has, without its body."""
    request = {"last_by_subj": subject}
    try:
        answer = await client.request(
            f"$JS.API.DIRECT.GET.{stream}",
            json.dumps(request).encode(),
            timeout=max(0.01, within_s),
        )
    except NotAllowed:
        raise
    except NoRespondersError:
        # nats-py takes a stored message for this that has a header `Status: 503`; anybody can store one.
        found = (await direct_get(client, stream, request, within_s, single=True)).found
        return Last(found[0].subject, found[0].sequence) if found else None
    except (NatsError, TimeoutError) as error:
        raise BusError(f"{stream} could not be asked for its last message: {error}") from None
    headers = answer.headers or {}
    # An answer with a sequence is a stored message, whatever headers its sender gave it.
    if "Nats-Sequence" in headers:
        return Last(headers["Nats-Subject"], int(headers["Nats-Sequence"]))
    if headers.get("Status") == "404":
        return None
    raise BusError(f"reading {stream} failed: {headers.get('Status')} {headers.get('Description')}")


async def direct_get(
    client: Client,
    stream: str,
    request: dict[str, Any],
    within_s: float,
    *,
    single: bool = False,
) -> DirectAnswer:
    """One answer; ``single`` for a request that is answered by one message, without an end."""
    found: list[Delivery] = []
    done: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()

    async def on_message(message: Msg) -> None:
        if done.done():
            return
        headers = message.headers or {}
        status = headers.get("Status")
        # An answer with a sequence is a stored message, whatever headers its sender gave it.
        if status is None or "Nats-Sequence" in headers:
            found.append(from_direct_get(message))
            if single:
                done.set_result((0, 0))
        elif status in {"204", "404"}:
            left, upto = headers.get("Nats-Num-Pending", 0), headers.get("Nats-UpTo-Sequence", 0)
            done.set_result((int(left), int(upto)))
        else:
            description = headers.get("Description", "")
            kind = TooManySubjects if status == _TOO_MANY_RESULTS else BusError
            done.set_exception(kind(f"reading {stream} failed: {status} {description}".rstrip()))

    inbox, subject = client.new_inbox(), f"$JS.API.DIRECT.GET.{stream}"
    if isinstance(client, TolerantClient):
        client.fail_if_refused(inbox, done)
        client.fail_if_refused(subject, done)
    subscription = await client.subscribe(
        inbox, cb=on_message, pending_msgs_limit=-1, pending_bytes_limit=-1
    )
    try:
        await client.publish(
            subject,
            json.dumps(request if single else {"max_bytes": BYTES_PER_ANSWER, **request}).encode(),
            reply=inbox,
        )
        async with asyncio.timeout(max(0.01, within_s)):
            left, upto = await done
    except TimeoutError:
        raise BusError(f"reading {stream} failed: no answer in {within_s:.3g} s") from None
    finally:
        done.cancel()
        if not client.is_closed:
            await subscription.unsubscribe()
    # An answer that holds nothing has no end to go on from.
    return DirectAnswer(found, bool(left and found), upto)
