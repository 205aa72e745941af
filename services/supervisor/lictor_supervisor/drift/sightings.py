"""What others learn from the logs of decisions: every sighting of drift, once; and the timers they ask for.

A fold of ACTIONS. A cause that several entries of an episode show is published when it is seen first, and again only
when it turns out to be worse.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import MessageRefused, StaleState
from lictor_bus.fold.entity_timers import EntityTimerKind
from lictor_bus.fold.processor import (
    KEEP_QUIET_S,
    SOURCE_SEQUENCE,
    Parsed,
    Sourced,
    Stepped,
    read_or_refuse,
)
from lictor_bus.fold.timers import Timer
from lictor_bus.logs.decision_log import key_of
from lictor_bus.logs.session_log import is_session_entry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_bus.wire.read import PAGE, read_from, read_since
from lictor_contracts.drift.sightings import sightings
from lictor_schema.contracts.decision_log import (
    DECISION_ENTRY_ADAPTER,
    AnyDecisionEntry,
    SwitchEngaged,
    SwitchReleased,
)
from lictor_schema.contracts.drift import DriftEvent

LOGS = subjects.DECISION_LOG.any
_REMEDY = "only the supervisor may write logs of decisions; find out who wrote this entry"
# How far the broker's clock may have gone back between an entry and what it led to.
_CLOCK = timedelta(seconds=60)


class SightingState(NamedTuple):
    """Of a decision: when its timer rings, and which drift was reported, how bad."""

    key: str
    due_us: int | None = None
    drift: Mapping[str, int] = {}


class SightingProcessor:
    """Entries become sightings and timers."""

    def parse(self, delivery: Delivery) -> Parsed[AnyDecisionEntry]:
        """An entry of the decision that the subject names."""
        if not is_session_entry(delivery):
            raise MessageRefused("this is no entry of a decision", remedy=_REMEDY)
        entry = read_or_refuse(
            lambda body: DECISION_ENTRY_ADAPTER.validate_json(body, by_name=False, by_alias=True),
            delivery.body,
            _REMEDY,
        )
        key = delivery.subject.rpartition(".")[2]
        if key_of(entry) != key:
            raise MessageRefused(
                f"task_id: the entry belongs to another log than {key}", remedy=_REMEDY
            )
        return Parsed(key, entry.entry_id, entry)

    def step(
        self, state: SightingState | None, message: Parsed[AnyDecisionEntry], delivery: Delivery
    ) -> Stepped[SightingState, Outgoing]:
        """One entry; a message for every cause in it that was not known, or not known to be so bad."""
        del delivery
        entry = message.value
        before = state or SightingState(message.key)
        if isinstance(entry, SwitchEngaged | SwitchReleased):
            return Stepped(before, (), "switched", KEEP_QUIET_S)
        drift = dict(before.drift)
        outputs: list[Outgoing] = []
        for event in sightings(entry):
            known = drift.get(event.drift_id)
            if known is not None and event.severity.rank <= known:
                continue
            drift[event.drift_id] = event.severity.rank
            name = event.drift_id
            if known is not None:
                name = f"{name}:{event.severity.value}"
            subject = subjects.sighting(event.fingerprint.key)
            outputs.append(Outgoing(subject, event.to_json(), name))
        after = SightingState(message.key, entry.next_due_us, drift)
        return Stepped(after, tuple(outputs), "sighted" if outputs else entry.kind, KEEP_QUIET_S)

    def timers(
        self, before: SightingState | None, after: SightingState, certain: bool
    ) -> Sequence[Timer]:
        """The decision's timer, if it changed."""
        was = None if before is None else before.due_us
        if (certain and was == after.due_us) or after.key == subjects.SWITCH_KEY:
            return ()
        return (BELL.timer(after.key, after.due_us),)

    def decode_state(self, raw: bytes) -> SightingState:
        """Bytes from the store to state."""
        try:
            key, due_us, drift = json.loads(raw)
            return SightingState(key, due_us, dict(drift))
        except (ValueError, TypeError):
            raise StaleState(f"{raw[:40]!r} is not the reported drift of a decision") from None

    def encode_state(self, state: SightingState) -> bytes:
        """State to bytes for the store."""
        return json.dumps(state).encode()


class SightingOutbox:
    """Sightings on DRIFT, each once.

    They lie under their causes, not under the decisions they come from. So after a restart each is looked for under
    its cause, among what was stored since its entry was; ids alone are known for a few minutes only.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._perhaps_published = False

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:
        """Nothing to leave out by key; from here on, ``publish`` looks for each."""
        del keys
        self._perhaps_published = True
        return {}

    async def publish(self, outputs: Sequence[Sourced[Outgoing]]) -> None:
        """Store the sightings exactly once."""
        if self._perhaps_published:
            outputs = [each for each in outputs if not await self._is_stored(each)]
        await publish_all(self._client, streams.DRIFT, [_message(each) for each in outputs])
        self._perhaps_published = False

    async def _is_stored(self, sourced: Sourced[Outgoing]) -> bool:
        output = sourced.output
        event = DriftEvent.from_json(output.body)
        since = event.detected_at - _CLOCK
        page = await read_since(self._client, streams.DRIFT, output.subject, since, PAGE)
        while page:
            if any(each.headers.get("Nats-Msg-Id") == output.message_id for each in page):
                return True
            page = await read_from(
                self._client, streams.DRIFT, output.subject, page[-1].sequence + 1, PAGE
            )
        return False


def _message(sourced: Sourced[Outgoing]) -> Outgoing:
    output = sourced.output
    headers = {**output.headers, **sourced.headers, SOURCE_SEQUENCE: str(sourced.sequence)}
    return Outgoing(output.subject, output.body, output.message_id, headers)


BELL = EntityTimerKind(kind="decision", of="decision", set_by="the sealer")
