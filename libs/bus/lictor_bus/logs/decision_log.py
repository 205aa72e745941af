"""The logs of governed decisions on the stream ACTIONS, and that of the kill-switch: the truth about each."""

from collections.abc import AsyncIterator
from functools import partial
from typing import NamedTuple

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.logs.entry_logs import entry_in
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import pass_over
from lictor_bus.wire.read import last_sequence, stored_from
from lictor_schema.contracts.decision_log import (
    DECISION_ENTRY_ADAPTER,
    AnyDecisionEntry,
    SwitchEngaged,
    SwitchReleased,
)

_PAGE = 256
_ASK_WITHIN_S = 1.0


class Logged(NamedTuple):
    """An entry and where it stands."""

    sequence: int
    entry: AnyDecisionEntry | None
    """None for what is foreign."""


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
            page = await stored_from(
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
    """The entry, None for what is foreign to this log; UnreadableEntry for one of a newer version."""
    read = partial(DECISION_ENTRY_ADAPTER.validate_json, stored.body, by_name=False, by_alias=True)
    entry = entry_in(stored, b'{"kind":"', read)
    if entry is not None and key_of(entry) != key:
        pass_over(stored, "an entry of another log")
        return None
    return entry


def key_of(entry: AnyDecisionEntry) -> str:
    """The log that an entry belongs to."""
    if isinstance(entry, SwitchEngaged | SwitchReleased):
        return subjects.SWITCH_KEY
    return subjects.decision_key(entry.runtime, entry.task_id)
