"""The logs of governed decisions on the stream ACTIONS, and that of the kill-switch: the truth about each."""

import logging
from collections.abc import AsyncIterator
from typing import NamedTuple

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.errors import BusError
from lictor_bus.logs.session_log import is_session_entry
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import last_sequence, read_from
from lictor_schema.contracts.decision_log import (
    DECISION_ENTRY_ADAPTER,
    AnyDecisionEntry,
    SwitchEngaged,
    SwitchReleased,
)
from lictor_schema.core.canonical_json import CanonicalError

log = logging.getLogger("lictor.decision_log")

_PAGE = 256
_ASK_WITHIN_S = 1.0


class Logged(NamedTuple):
    """An entry and where it stands."""

    sequence: int
    entry: AnyDecisionEntry | None
    """None for what is no entry: NATS puts answers wherever a question says, and so into a log too."""


class DecisionLog:
    """Reads the logs, and appends to them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.appends = Appends(client)

    async def last(self, key: str) -> int:
        """The sequence of the last message of a log; 0 when there is none."""
        return await last_sequence(
            self._client,
            streams.ACTIONS,
            subjects.decision_log(key),
            timeout_s=_ASK_WITHIN_S,
        )

    async def read(self, key: str, after: int, until: int) -> list[Logged]:
        """Every entry after a sequence, up to another that is known to be there, in their order."""
        return [
            Logged(each.sequence, read_entry(each, key))
            async for each in self.stored(key, after, until)
        ]

    async def stored(self, key: str, after: int, until: int) -> AsyncIterator[Delivery]:
        """The same, each message as it is stored."""
        while after < until:
            page = await read_from(
                self._client,
                streams.ACTIONS,
                subjects.decision_log(key),
                after + 1,
                _PAGE,
                known=until,
            )
            if not page:
                raise BusError(f"{until} of {key} can't be read in ACTIONS")
            for each in page:
                if each.sequence <= until:
                    yield each
            after = page[-1].sequence


def read_entry(stored: Delivery, key: str) -> AnyDecisionEntry | None:
    """The entry, None for a message that is no entry of this log; BusError for one that can't be read."""
    if not is_session_entry(stored):
        log.info("ACTIONS %d is no entry of a decision, and is passed over", stored.sequence)
        return None
    try:
        entry = DECISION_ENTRY_ADAPTER.validate_json(stored.body, by_name=False, by_alias=True)
    except (ValidationError, CanonicalError) as error:
        raise BusError(f"ACTIONS {stored.sequence} can't be read: {error}") from None
    if key_of(entry) != key:
        log.warning("ACTIONS %d belongs to another log, and is passed over", stored.sequence)
        return None
    return entry


def key_of(entry: AnyDecisionEntry) -> str:
    """The log that an entry belongs to."""
    if isinstance(entry, SwitchEngaged | SwitchReleased):
        return subjects.SWITCH_KEY
    return subjects.decision_key(entry.runtime, entry.task_id)
