"""CERPA on the bus: claims and what happens to their subjects in, cycles out; one state for each subject.

Drift and the steps of patches come from their own streams, put among the claims by two workers, so that one order
holds for everything that a cycle depends on.
"""

import json
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.errors import MessageRefused, StaleState
from lictor_bus.fold.processor import (
    CountingState,
    Parsed,
    Stepped,
    StreamOutbox,
    read_or_refuse,
    refuse_newer_state,
    sequence_in_header,
)
from lictor_bus.fold.timers import Timer
from lictor_bus.logs.entry_logs import read_entry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing
from lictor_contracts.cerpa.claim_cycles import (
    CyclesMoved,
    KnownPatch,
    SubjectClaims,
    claimed,
    drift_as_event,
    happened,
    patch_moved,
)
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.cerpa_claim import ClaimMade, EventSeen
from lictor_schema.contracts.cerpa_cycle import CerpaClaim, CerpaCycle
from lictor_schema.contracts.drift import DriftEvent
from lictor_schema.contracts.patch import PatchEntry
from lictor_schema.core.canonical_json import CanonicalError
from lictor_supervisor.drift.recurrence import BY

CLAIMS = subjects.CLAIM.any

# Random once, fixed for ever: changing it makes every replay report all drift again.
_SEEN = uuid.UUID("f2a7c5e1-8d04-4b93-a1f6-30e9b7d64c58")
_STATE_FORMAT = 2
_REMEDY = "only the supervisor may write claims and what bears on them; find out who wrote this one"

Input = ClaimMade | EventSeen | PatchEntry
_KINDS = {
    "made": ClaimMade.from_json,
    "report": EventSeen.from_json,
    "drift": EventSeen.from_json,
    "patch": PatchEntry.from_json,
}


class ClaimsProcessor:
    """Folds what bears on the claims about each subject."""

    def parse(self, delivery: Delivery) -> Parsed[Input]:
        """Bytes to an input, of the subject that it stands under."""
        _, _, kind, key = delivery.subject.split(".")
        read = _KINDS.get(kind)
        if read is None:
            raise MessageRefused(f"there is no kind {kind} of input to a claim", remedy=_REMEDY)
        told: Input = read_or_refuse(read, delivery.body, _REMEDY)
        about = _subjects(told)
        if key not in map(subjects.token, about):
            raise MessageRefused(
                f"subject: {' and '.join(map(repr, about))} is not that of {delivery.subject}",
                remedy=_REMEDY,
            )
        # An event that is reported twice is one event: the second report is set aside as a duplicate.
        own = told.event.id if isinstance(told, EventSeen) else told.entry_id
        return Parsed(key, f"{kind}:{subjects.token(own)}", told)

    def step(
        self, state: SubjectClaims | None, message: Parsed[Input], delivery: Delivery
    ) -> Stepped[SubjectClaims, Outgoing]:
        """One input, and each cycle that it begins or moves."""
        try:
            learned, outcome = _learn(state, message.value, delivery.stored_at)
        except ContractError as error:
            raise MessageRefused(str(error), remedy="see what it says") from None
        outputs = tuple(
            Outgoing(
                subjects.CYCLE.at(cycle.status.value, message.key),
                cycle.to_json(),
                f"{cycle.cycle_id}:{delivery.sequence}",
            )
            for cycle in learned.cycles
        )
        return Stepped(learned.subject, outputs, outcome)

    def timers(
        self,
        before: SubjectClaims | None,  # noqa: ARG002
        after: SubjectClaims,  # noqa: ARG002
        certain: bool,  # noqa: ARG002
    ) -> Sequence[Timer]:
        """None: a claim that expires is found so by the next event."""
        return ()

    def decode_state(self, raw: bytes) -> SubjectClaims:
        """Bytes from the store to state."""
        try:
            value: dict[str, Any] = json.loads(raw)
            refuse_newer_state("claims", value["format"], _STATE_FORMAT)
            if value["format"] != _STATE_FORMAT:
                raise StaleState(f"claims were stored in format {value['format']}")
            claims = [CerpaClaim.from_json(each) for each in value["claims"]]
            cycles = [CerpaCycle.from_json(each) for each in value["cycles"]]
            return SubjectClaims(
                {each.id: each for each in claims},
                dict(value["made_by"]),
                {each["patch_id"]: _read_patch(each) for each in value["patches"]},
                {each.cycle_id: each for each in cycles},
            )
        except (ValueError, KeyError, TypeError, CanonicalError) as error:
            raise StaleState(f"{raw[:40]!r} are no claims: {error}") from None

    def encode_state(self, state: SubjectClaims) -> bytes:
        """State to bytes for the store."""
        return json.dumps(
            {
                "format": _STATE_FORMAT,
                "claims": [each.to_json().decode() for each in state.claims.values()],
                "made_by": dict(state.made_by),
                "patches": [_written_patch(each) for each in state.patches.values()],
                "cycles": [each.to_json().decode() for each in state.open_cycles.values()],
            }
        ).encode()


def _written_patch(patch: KnownPatch) -> dict[str, str | None]:
    return {
        "patch_id": patch.patch_id,
        "fingerprint": patch.fingerprint,
        "proposed": None if patch.proposed is None else patch.proposed.to_json().decode(),
        "taken_by": patch.taken_by,
        "applied": None if patch.applied is None else patch.applied.to_json().decode(),
    }


def _read_patch(value: dict[str, Any]) -> KnownPatch:
    proposed, applied = (
        None if value[name] is None else PatchEntry.from_json(value[name])
        for name in ("proposed", "applied")
    )
    return KnownPatch(value["patch_id"], value["fingerprint"], proposed, value["taken_by"], applied)


def _learn(state: SubjectClaims | None, told: Input, now: datetime) -> tuple[CyclesMoved, str]:
    if isinstance(told, ClaimMade):
        learned = claimed(state, told.claim, told.by, now, red_needs_another=told.red_needs_another)
        return learned, "claimed"
    if isinstance(told, EventSeen):
        learned = happened(state, told.event, now, at_least=told.at_least)
        return learned, "reviewed" if learned.cycles else "not reviewable"
    return patch_moved(state, told, now), told.state.value


def _subjects(told: Input) -> tuple[str, ...]:
    """What an input is about: a patch may answer a cycle, and drift of another subject."""
    if isinstance(told, ClaimMade):
        return (told.claim.subject,)
    if isinstance(told, EventSeen):
        return (told.event.subject,)
    cycle = None if told.cycle is None else told.cycle.subject
    return tuple(dict.fromkeys(each for each in (told.decision_type, cycle) if each is not None))


class CerpaOutbox(StreamOutbox):
    """Results on the stream of claims; a message from somebody else says nothing about what was published."""

    def __init__(self, client: Client, subjects_of_key: str, *, source: str) -> None:
        super().__init__(client, streams.CERPA, subjects_of_key, source=source)
        self._source_of = _source


def _source(stored: Delivery) -> int:
    """The source of a result of ours, which begins with its own message id; 0 for any other message."""
    own, _, _ = stored.headers.get("Nats-Msg-Id", "").partition(":")
    begins = (b'{"%b":"%b"' % (name, own.encode()) for name in (b"entry_id", b"cycle_id"))
    if not stored.body.startswith(tuple(begins)):
        return 0
    return sequence_in_header(stored)


class DriftTelling(CountingState):
    """Passes drift events to the claims about their decision type: DRIFT in, CERPA out."""

    def parse(self, delivery: Delivery) -> Parsed[DriftEvent | None]:
        """Bytes to a drift event; nothing for what somebody else got there."""
        try:
            event = DriftEvent.from_json(delivery.body)
        except (ValidationError, CanonicalError):
            return Parsed("other", str(delivery.sequence), None)
        key = subjects.token(event.decision_type)
        return Parsed(key, f"{event.drift_id}:{delivery.sequence}", event)

    def step(
        self, state: int | None, message: Parsed[DriftEvent | None], delivery: Delivery
    ) -> Stepped[int, Outgoing]:
        """One drift event is one event."""
        count, drift = (state or 0) + 1, message.value
        if drift is None:
            return Stepped(count, (), "other")
        seen = EventSeen(
            entry_id=str(uuid.uuid5(_SEEN, f"{drift.drift_id}:{drift.severity.value}")),
            by=BY,
            at=delivery.stored_at,
            at_least=drift.severity,
            event=drift_as_event(drift, delivery.stored_at),
        )
        out = Outgoing(subjects.claim("drift", drift.decision_type), seen.to_json(), seen.entry_id)
        return Stepped(count, (out,), "told")


class PatchTelling(CountingState):
    """Passes the steps of patches that answer a cycle, or drift, to the claims they affect: PATCHES in, CERPA out."""

    def parse(self, delivery: Delivery) -> Parsed[PatchEntry | None]:
        """Bytes to an entry; nothing for what somebody else got there."""
        entry = read_entry(delivery, PatchEntry.from_json)
        if entry is None or not _subjects(entry):
            return Parsed("other", str(delivery.sequence), None)
        # The last of them: its publication shows, after a crash, that all of them were published.
        key = subjects.token(_subjects(entry)[-1])
        return Parsed(key, f"{entry.entry_id}:{delivery.sequence}", entry)

    def step(
        self,
        state: int | None,
        message: Parsed[PatchEntry | None],
        delivery: Delivery,
    ) -> Stepped[int, Outgoing]:
        """An entry is passed on as it is."""
        count, entry = (state or 0) + 1, message.value
        if entry is None:
            return Stepped(count, (), "other")
        *more, last = _subjects(entry)
        outputs = [
            Outgoing(subjects.claim("patch", each), delivery.body, f"{entry.entry_id}:drift")
            for each in more
        ]
        outputs.append(Outgoing(subjects.claim("patch", last), delivery.body, entry.entry_id))
        return Stepped(count, tuple(outputs), "told")
