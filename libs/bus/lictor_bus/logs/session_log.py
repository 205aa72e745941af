"""Entries of sessions' logs as they are stored, told apart from what others get into a log.

A foreign message is passed over, or a runtime could stop another's sessions: see ``lictor_bus.wire.provenance``.
"""

from functools import partial

from lictor_bus.logs.entry_logs import entry_in, is_entry
from lictor_bus.wire.delivery import Delivery
from lictor_schema.sessions.session_log import SESSION_ENTRY_ADAPTER, AnySessionEntry

_BEGINNING = b'{"kind":"'


def is_session_entry(stored: Delivery) -> bool:
    """Whether the feedback service wrote this; no statement on whether this version can read it."""
    return is_entry(stored, _BEGINNING)


def read_session_entry(stored: Delivery) -> AnySessionEntry | None:
    """The entry, None for what is foreign; UnreadableEntry for one of a newer version."""
    # No search for names that are given twice: we wrote it, and a long log is read in half the time.
    read = partial(SESSION_ENTRY_ADAPTER.validate_json, stored.body, by_name=False, by_alias=True)
    return entry_in(stored, _BEGINNING, read)
