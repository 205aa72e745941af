"""Answers the gates of history by direct gets: no consumers, nothing of another runtime, and no more than fits."""

import json
from base64 import b64encode

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.gates.history import (
    PUBLISHED_KINDS,
    STORED_KINDS,
    HistoryKind,
    PublishedKind,
)
from lictor_bus.logs.dead_letters import first_dead
from lictor_bus.names import subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_foreign
from lictor_bus.wire.read import read_from, stored_page
from lictor_bus.wire.stream_leader import leader_view
from lictor_schema.gates.history import (
    HistoryAnswer,
    HistoryMessage,
    HistoryRequest,
    PublishedAnswer,
    PublishedRequest,
    SetAside,
)

# Of what the broker takes in one message: the rest is for the answer's own fields.
_SHARE_OF_BODIES = 3 / 4
# What a message has in an answer besides its body, its subject and its id.
_FRAME_BYTES = 256
# Pages are large and nobody acts on them: they may wait for each other, not take the service's time from its gates.
_AT_ONCE = 8
_MAX_WAITING = 256


class HistoryDesk:
    """Pages of one kind."""

    def __init__(self, client: Client, kind: HistoryKind) -> None:
        self._client = client
        self._kind = kind

    async def page(self, request: HistoryRequest) -> HistoryAnswer:
        """The next messages of the runtime; the gate has refused a runtime that is not the subject's."""
        sought = self._kind.sought(request.runtime, request.only)
        stream = self._kind.stream
        if request.limit == 0:
            end = (await leader_view(self._client, stream)).last
            return HistoryAnswer(request_id=request.request_id, last=end)
        room = int(self._client.max_payload * _SHARE_OF_BODIES)
        page = await stored_page(
            self._client,
            stream,
            sought.subject,
            request.after + 1,
            request.limit,
            max_bytes=room,
        )
        own = subjects.token(request.runtime)
        place = self._kind.pattern.place("runtime")
        messages: list[HistoryMessage] = []
        last = request.after
        for stored in page.found:
            # The filter has the runtime in it; what else would come here must not be shown, whatever the reason.
            if stored.subject.split(".")[place] != own:
                raise BusError(f"{stream} answered with a message on {stored.subject}")
            if sought.has(stored.subject) and not is_foreign(stored):
                offset = request.offset if stored is page.found[0] else 0
                message, taken = _message(stored, offset, room)
                if taken > room and messages:
                    return self._answer(request, messages, last, is_cut=True)
                messages.append(message)
                room -= taken
                if message.offset + len(message.body) < message.size:
                    return self._answer(request, messages, last, is_cut=True)
            last = stored.sequence
        return self._answer(request, messages, last, is_cut=page.is_cut)

    def _answer(
        self, request: HistoryRequest, messages: list[HistoryMessage], last: int, *, is_cut: bool
    ) -> HistoryAnswer:
        return HistoryAnswer(
            request_id=request.request_id, messages=tuple(messages), last=last, is_cut=is_cut
        )


class PublishedDesk:
    """What became of messages of one kind that runtimes published."""

    def __init__(self, client: Client, kind: PublishedKind) -> None:
        self._client = client
        self._kind = kind

    async def tell(self, request: PublishedRequest) -> PublishedAnswer:
        """Whether the message is the runtime's own; only then what else is known of it."""
        stream, at = self._kind.stream, request.sequence
        found = await read_from(self._client, stream, ">", at, 1)
        stored = found[0] if found and found[0].sequence == at else None
        if stored is not None and not self._is_own(stored.subject, request.runtime):
            return PublishedAnswer(request_id=request.request_id)
        dead = await first_dead(self._client, stream, at)
        # A stream may have forgotten what a dead letter still holds.
        if dead is not None and not self._is_own(dead.letter.subject, request.runtime):
            dead = None
        return PublishedAnswer(
            request_id=request.request_id,
            is_own=stored is not None or dead is not None,
            message_id=None if stored is None else stored.headers.get("Nats-Msg-Id"),
            set_aside=None if dead is None else SetAside.of(dead.sequence, dead.letter),
        )

    def _is_own(self, subject: str, runtime: str) -> bool:
        tokens = subject.split(".")
        place = self._kind.runtime_place
        return len(tokens) > place and tokens[place] == subjects.token(runtime)


def is_asked_for_history(service: str) -> bool:
    """Whether a service owns anything that runtimes ask for."""
    return any(kind.service == service for kind in (*STORED_KINDS, *PUBLISHED_KINDS))


def history_runner(client: TolerantClient, service: str, telemetry: ServiceTelemetry) -> GateRunner:
    """Answers all that a service is asked about history, on a connection of its own."""
    pages = [
        BoundGate(gate=gate, handle=HistoryDesk(client, kind).page)
        for kind, gate in STORED_KINDS.items()
        if kind.service == service
    ]
    words = [
        BoundGate(gate=gate, handle=PublishedDesk(client, kind).tell)
        for kind, gate in PUBLISHED_KINDS.items()
        if kind.service == service
    ]
    return GateRunner(
        client,
        service,
        [*pages, *words],
        telemetry,
        at_once=_AT_ONCE,
        max_waiting=_MAX_WAITING,
    )


def _message(stored: Delivery, offset: int, room: int) -> tuple[HistoryMessage, int]:
    """A message for an answer, and how many bytes it takes there; a part where the whole has no room."""
    message_id = stored.headers.get("Nats-Msg-Id")
    frame = _FRAME_BYTES + len(json.dumps([stored.subject, message_id]))
    if offset == 0 and (whole := _text(stored.body)) is not None:
        written = frame + len(json.dumps(whole, ensure_ascii=False).encode())
        if written <= room:
            return _told(stored, message_id, text=whole), written
    # Three bytes become four characters.
    most = max(0, room - frame) * 3 // 4
    rest = stored.body[offset:]
    part = rest[:most]
    encoded = b64encode(part).decode()
    told = _told(stored, message_id, offset=offset, base64=encoded)
    return told, frame + (len(rest) + 2) // 3 * 4


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _told(
    stored: Delivery,
    message_id: str | None,
    *,
    offset: int = 0,
    text: str | None = None,
    base64: str | None = None,
) -> HistoryMessage:
    return HistoryMessage(
        subject=stored.subject,
        sequence=stored.sequence,
        stored_at_us=stored.stored_at_ns // 1000,
        message_id=message_id,
        size=len(stored.body),
        offset=offset,
        text=text,
        base64=base64,
    )
