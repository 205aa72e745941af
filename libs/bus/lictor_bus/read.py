"""Reading a stream itself, beside any consumer: ranges by sequence, last messages by subject."""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from lictor_bus.delivery import Delivery, from_direct_get
from lictor_bus.errors import BusError

# The server answers at most 1 024 messages to one request; eight dispositions a task leave room.
_SUBJECTS_PER_REQUEST = 100


async def read_from(
    client: Client, stream: str, subject: str, sequence: int, limit: int
) -> list[Delivery]:
    """Up to ``limit`` messages on ``subject``, at ``sequence`` or later, in stream order."""
    return await _direct_get(
        client, stream, {"seq": max(1, sequence), "next_by_subj": subject, "batch": limit}
    )


async def read_since(
    client: Client, stream: str, subject: str, moment: datetime, limit: int
) -> list[Delivery]:
    """Up to ``limit`` messages on ``subject`` that were stored at ``moment`` or later."""
    start = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return await _direct_get(
        client, stream, {"start_time": start, "next_by_subj": subject, "batch": limit}
    )


async def last_on_subjects(client: Client, stream: str, subjects: Sequence[str]) -> list[Delivery]:
    """The last message on each subject that the given filters match."""
    found: list[Delivery] = []
    for start in range(0, len(subjects), _SUBJECTS_PER_REQUEST):
        chunk = list(subjects[start : start + _SUBJECTS_PER_REQUEST])
        found += await _direct_get(client, stream, {"multi_last": chunk})
    return found


async def _direct_get(client: Client, stream: str, request: dict[str, Any]) -> list[Delivery]:
    found: list[Delivery] = []
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def on_message(message: Msg) -> None:
        if done.done():
            return
        headers = message.headers or {}
        status = headers.get("Status")
        # An answer with a sequence is a stored message, whatever headers its sender gave it.
        if status is None or "Nats-Sequence" in headers:
            found.append(from_direct_get(message))
        elif status in {"204", "404"}:
            done.set_result(None)
        else:
            description = headers.get("Description", "")
            done.set_exception(
                BusError(f"reading {stream} failed: {status} {description}".rstrip())
            )

    inbox = client.new_inbox()
    subscription = await client.subscribe(
        inbox, cb=on_message, pending_msgs_limit=-1, pending_bytes_limit=-1
    )
    try:
        await client.publish(
            f"$JS.API.DIRECT.GET.{stream}", json.dumps(request).encode(), reply=inbox
        )
        async with asyncio.timeout(10):
            await done
    except TimeoutError:
        raise BusError(f"reading {stream} failed: no answer in 10 s") from None
    finally:
        if not client.is_closed:
            await subscription.unsubscribe()
    return found
