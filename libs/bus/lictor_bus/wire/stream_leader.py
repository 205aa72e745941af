"""What the leader of a stream says about it: the only word on which "there is nothing" may rest.

Of a stream with replicas any of them answers a direct get, also one that has not applied yet what the leader has
acknowledged. And a server that was paused or cut off may take itself for the leader until it hears of another: up to
ten seconds, while its followers elect a new one after four. So a leader is believed only if it has heard from a
majority within less than that.
"""

import asyncio
import json
import time
from datetime import datetime
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor_bus.errors import BusError, NotAllowed, StreamMissing
from lictor_bus.wire.delivery import nanoseconds
from lictor_bus.wire.error_codes import STREAM_NOT_FOUND, UNAVAILABLE
from lictor_schema.core.time import from_micros

READ_WITHIN_S = 10.0
# Followers wait at least four seconds for their leader before they elect another (NATS: minElectionTimeout).
_HEARD_WITHIN_NS = 3_000_000_000
_ANSWER_WITHIN_S = 2.0
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.25
_NO_MESSAGE_FOUND = 10037
MADE = "lictor-made"
"""In the metadata of a stream that was migrated: when the one was made that had its messages before."""
# The number of replicas can be changed while we run.
_ALONE_FOR_S = 5.0

# By connection and stream, until when a stream is taken to have one replica.
_alone: "WeakKeyDictionary[Client, dict[str, float]]" = WeakKeyDictionary()


class LeaderView(NamedTuple):
    """A stream as its leader sees it."""

    created: datetime
    """Distinguishes the stream from another one of the same name that has other messages."""
    messages: int
    first: int
    """The sequence of the first message that is still there."""
    last: int
    """The sequence of the last message that was stored."""
    last_at_ns: int
    """When that was, by the broker's time."""
    is_replicated: bool
    has_holes: bool
    """Messages were removed from between the first and the last."""

    def surely_has(self, sequence: int) -> bool:
        """Whether the message at a sequence must be there."""
        return self.first <= sequence <= self.last and not self.has_holes


class Patience:
    """Pauses that get longer, until the time is up."""

    def __init__(self, within_s: float) -> None:
        self._deadline = time.monotonic() + within_s
        self._pause = _FIRST_PAUSE_S

    @property
    def left_s(self) -> float:
        """How much time is left."""
        return self._deadline - time.monotonic()

    async def pause(self, waiting_for: str) -> None:
        """Wait a little; BusError when the time is up."""
        if self.left_s <= 0:
            raise BusError(waiting_for)
        await asyncio.sleep(min(self._pause, max(0.0, self.left_s)))
        self._pause = min(self._pause * 2, _LONGEST_PAUSE_S)


async def leader_view(
    client: Client,
    stream: str,
    within_s: float = READ_WITHIN_S,
    *,
    patience: Patience | None = None,
) -> LeaderView:
    """The stream as a leader sees it that a majority follows; BusError when none says so in time."""
    patience = patience or Patience(within_s)
    while True:
        told = await _ask(client, f"$JS.API.STREAM.INFO.{stream}", {}, stream, patience)
        if told is not None and _is_followed(told):
            return _view(client, stream, told)
        await patience.pause(f"reading {stream} failed: it has no leader that a majority follows")


async def is_alone(client: Client, stream: str, patience: Patience) -> bool:
    """Whether the stream has one replica, so that whoever answers has all there is."""
    until = _alone.get(client, {}).get(stream, 0.0)
    if time.monotonic() < until:
        return True
    return not (await leader_view(client, stream, patience=patience)).is_replicated


async def leader_finds(
    client: Client, stream: str, request: dict[str, Any], patience: Patience
) -> int:
    """The sequence of the one message that whoever takes itself for the leader finds; 0 when it finds none."""
    while True:
        told = await _ask(client, f"$JS.API.STREAM.MSG.GET.{stream}", request, stream, patience)
        if told is not None:
            return int(told["message"]["seq"]) if "message" in told else 0
        await patience.pause(f"reading {stream} failed: its leader does not answer")


def _view(client: Client, stream: str, told: dict[str, Any]) -> LeaderView:
    state = told["state"]
    metadata: dict[str, Any] = told["config"].get("metadata") or {}
    view = LeaderView(
        from_micros(nanoseconds(metadata.get(MADE) or str(told["created"])) // 1000),
        int(state["messages"]),
        int(state["first_seq"]),
        int(state["last_seq"]),
        nanoseconds(state["last_ts"]),
        bool(_others(told)) or int(told["config"].get("num_replicas", 1)) > 1,
        bool(state.get("num_deleted")),
    )
    known = _alone.setdefault(client, {})
    if view.is_replicated:
        known.pop(stream, None)
    else:
        known[stream] = time.monotonic() + _ALONE_FOR_S
    return view


def _is_followed(told: dict[str, Any]) -> bool:
    others = _others(told)
    heard = [
        each
        for each in others
        if not each.get("offline") and 0 <= int(each.get("active", -1)) < _HEARD_WITHIN_NS
    ]
    return 2 * (len(heard) + 1) > len(others) + 1


def _others(told: dict[str, Any]) -> list[dict[str, Any]]:
    cluster: dict[str, Any] = told.get("cluster") or {}
    return cluster.get("replicas") or []


async def _ask(
    client: Client, api: str, request: dict[str, Any], stream: str, patience: Patience
) -> dict[str, Any] | None:
    """An answer of the leader; None when there is none for now."""
    try:
        answer = await client.request(
            api,
            json.dumps(request).encode(),
            timeout=max(0.01, min(_ANSWER_WITHIN_S, patience.left_s)),
        )
    except NotAllowed:
        raise
    except (NatsError, TimeoutError):
        return None
    told: dict[str, Any] = json.loads(answer.data)
    error = told.get("error")
    if error is None or error.get("err_code") == _NO_MESSAGE_FOUND:
        return told
    if error.get("code") == UNAVAILABLE:
        return None
    kind = StreamMissing if error.get("err_code") == STREAM_NOT_FOUND else BusError
    raise kind(f"reading {stream} failed: {error.get('description')}")
