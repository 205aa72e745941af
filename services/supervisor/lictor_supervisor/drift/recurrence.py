"""What becomes of sightings of drift: how often each cause came back, how bad that makes it, and what asks for a patch.

A fold of `lictor.drifting.>`, one state for each fingerprint. That a patch was applied or rejected stands among the
sightings it answers, in their order: so a fold from the start comes to the same.
"""

import json
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.concurrency import together
from lictor_bus.errors import MessageRefused, StaleState
from lictor_bus.fold.processor import (
    SOURCE_SEQUENCE,
    Parsed,
    Sourced,
    Stepped,
    read_or_refuse,
    refuse_newer_state,
    sequence_in_header,
)
from lictor_bus.fold.timers import Timer
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_bus.wire.read import PAGE, last_on_subjects, read_from
from lictor_contracts.drift.recurrence import Recurrence, RecurrenceError, counted, settled
from lictor_schema.contracts.drift import (
    DriftEvent,
    DriftSeverity,
    Fingerprint,
    TriageEntry,
    TriageState,
)
from lictor_schema.contracts.patch import (
    PatchEntry,
    PatchProposal,
    PatchRequest,
    PatchSettled,
    PatchState,
)
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import CanonicalError
from lictor_supervisor.ledgers import PATCHES

SIGHTINGS = subjects.SIGHTING.all
ALL_DRIFT = subjects.DRIFT.any
BY = "lictor-sealer"
"""Who files what no human did; by the name that stands in stored entries since the sealer did it."""

# Random once, fixed for ever: changing one makes every replay file everything again.
_RECEIVED = uuid.UUID("0f2c8a5e-7d91-4b36-a4e8-63b1d90c57f2")
_PROPOSED = uuid.UUID("b7915ce0-28f4-4d6a-9c03-1ea84d5f7b69")

_STATE_FORMAT = 2
_RAISED = "raised:"
_SETTLED = ".settled"
_AT_ONCE = 32
_REMEDY = "only the supervisor may write sightings of drift; find out who wrote this one"

Suggest = Callable[[PatchRequest, DriftEvent], PatchProposal | None]
"""The change that would answer a request, where one is known that never loosens."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A drift event with the severity that its recurrence gives it, and what it asks for."""

    event: DriftEvent
    request: PatchRequest | None


class RecurrenceProcessor:
    """Counts the sightings of each cause."""

    def parse(self, delivery: Delivery) -> Parsed[DriftEvent | PatchSettled]:
        """Bytes to a sighting, or to what became of a patch."""
        if delivery.subject.endswith(_SETTLED):
            found: DriftEvent | PatchSettled = read_or_refuse(
                PatchSettled.from_json, delivery.body, _REMEDY
            )
            own, told = subjects.settlement(found.fingerprint.key), found.request_id
        else:
            found = read_or_refuse(DriftEvent.from_json, delivery.body, _REMEDY)
            own, told = subjects.sighting(found.fingerprint.key), found.drift_id
            if Fingerprint.of(found.decision_type, found.drift_type, found.cause) != (
                found.fingerprint
            ):
                raise MessageRefused(
                    f"fingerprint: drift {found.drift_id} has not that of its own cause",
                    remedy=_REMEDY,
                )
        if own != delivery.subject:
            raise MessageRefused(
                f"fingerprint: {found.fingerprint.key} is not that of subject {delivery.subject}",
                remedy=_REMEDY,
            )
        # With its place: a sighting that is published again is counted once, and is no dead letter for it.
        return Parsed(own.split(".")[2], f"{told}:{delivery.sequence}", found)

    def step(
        self,
        state: Recurrence | None,
        message: Parsed[DriftEvent | PatchSettled],
        delivery: Delivery,  # noqa: ARG002
    ) -> Stepped[Recurrence, Raised]:
        """One sighting more, or a patch less to wait for."""
        told = message.value
        if isinstance(told, PatchSettled):
            known = state or Recurrence(told.fingerprint.key)
            try:
                return Stepped(settled(known, told.request_id, told.at), (), "settled")
            except RecurrenceError as error:
                raise MessageRefused(f"request_id: {error}", remedy=_REMEDY) from None
        before = None if state is None else state.severities.get(told.drift_id)
        outcome = counted(state, told)
        if before is outcome.event.severity:
            return Stepped(outcome.state, (), "again")
        raised = Raised(outcome.event, outcome.request)
        return Stepped(outcome.state, (raised,), outcome.event.severity.value)

    def timers(
        self,
        before: Recurrence | None,  # noqa: ARG002
        after: Recurrence,  # noqa: ARG002
        certain: bool,  # noqa: ARG002
    ) -> Sequence[Timer]:
        """None: nothing here waits for a time."""
        return ()

    def decode_state(self, raw: bytes) -> Recurrence:
        """Bytes from the store to state."""
        try:
            value: dict[str, Any] = json.loads(raw)
            refuse_newer_state("recurrences", value["format"], _STATE_FORMAT)
            if value["format"] != _STATE_FORMAT:
                raise StaleState(f"recurrences were stored in format {value['format']}")
            at = value["settled_at"]
            return Recurrence(
                value["fingerprint"],
                {drift_id: DriftSeverity(each) for drift_id, each in value["severities"]},
                value["attempts"],
                value["open_request"],
                None if at is None else datetime.fromisoformat(at),
                value["before"],
                DriftSeverity(value["severity"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise StaleState(f"{raw[:40]!r} is no recurrence: {error}") from None

    def encode_state(self, state: Recurrence) -> bytes:
        """State to bytes for the store."""
        at = state.settled_at
        return json.dumps(
            {
                "format": _STATE_FORMAT,
                "fingerprint": state.fingerprint_key,
                "severities": [(each, found.value) for each, found in state.severities.items()],
                "attempts": state.attempts,
                "open_request": state.open_request,
                "settled_at": None if at is None else at.isoformat(),
                "before": state.before,
                "severity": state.severity.value,
            }
        ).encode()


class RecurrenceOutbox:
    """Publishes drift events, opens their triage, and files what asks for a patch: each exactly once."""

    def __init__(self, client: Client, suggest: Suggest) -> None:
        self._client = client
        self._appends = Appends(client)
        self._suggest = suggest

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:
        """How far the events are published: one worker publishes them in the order of the sightings."""
        until = 0
        for stored in await last_on_subjects(self._client, streams.DRIFT, [ALL_DRIFT]):
            source = _source(stored)
            if source is None:
                # Somebody else's message hides ours; all of them are looked at.
                until = await self._search()
                break
            until = max(until, source)
        return dict.fromkeys(keys, until)

    async def _search(self) -> int:
        until, sequence = 0, 1
        while page := await read_from(self._client, streams.DRIFT, ALL_DRIFT, sequence, PAGE):
            until = max(until, *(_source(stored) or 0 for stored in page))
            sequence = page[-1].sequence + 1
        return until

    async def publish(self, outputs: Sequence[Sourced[Raised]]) -> None:
        """Requests first: the events show, after a crash, how far everything was published."""
        asked = [
            (each.output.request, each.output.event)
            for each in outputs
            if each.output.request is not None
        ]
        # Each has a log of its own: no order among them is to be kept.
        for start in range(0, len(asked), _AT_ONCE):
            chunk = asked[start : start + _AT_ONCE]
            await together(*(self._file(request, event) for request, event in chunk))
        messages = [message for sourced in outputs for message in _messages(sourced)]
        await publish_all(self._client, streams.DRIFT, messages)

    async def _file(self, request: PatchRequest, event: DriftEvent) -> None:
        entry = PatchEntry(
            entry_id=str(uuid.uuid5(_PROPOSED, request.request_id)),
            patch_id=request.request_id,
            state=PatchState.PROPOSED,
            by=BY,
            at=utc_millis(event.detected_at),
            fingerprint=request.fingerprint,
            decision_type=request.decision_type,
            request=request,
            proposal=self._suggest(request, event),
        )
        log = PATCHES.log(self._client, subjects.patch_entries(entry.patch_id))
        await PATCHES.change(self._appends, log, lambda patch: entry if patch is None else None)


def _messages(sourced: Sourced[Raised]) -> tuple[Outgoing, Outgoing]:
    event = sourced.output.event
    # With its severity: a cause that is seen worse in the same episode is reported again.
    told = f"{event.drift_id}:{event.severity.value}"
    opened = TriageEntry(
        entry_id=str(uuid.uuid5(_RECEIVED, told)),
        drift_id=event.drift_id,
        state=TriageState.NEW,
        by=BY,
        at=event.detected_at,
        event=event,
    )
    headers = {**sourced.headers, SOURCE_SEQUENCE: str(sourced.sequence)}
    return (
        # The triage first: once the event is there, nothing of it is published again.
        Outgoing(subjects.triage(event.drift_id), opened.to_json(), opened.entry_id, headers),
        Outgoing(
            subjects.drift(event.drift_type.value, event.severity.value),
            event.to_json(),
            _RAISED + told,
            headers,
        ),
    )


def _source(stored: Delivery) -> int | None:
    """The sighting that a published event came from; None for a message of somebody else."""
    message_id = stored.headers.get("Nats-Msg-Id", "")
    try:
        event = DriftEvent.from_json(stored.body)
    except (ValidationError, CanonicalError):
        return None
    if message_id != f"{_RAISED}{event.drift_id}:{event.severity.value}":
        return None
    return sequence_in_header(stored)
