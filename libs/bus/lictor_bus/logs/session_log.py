"""Entries of sessions' logs as they are stored, told apart from what others get into a log.

NATS puts an answer wherever the question says. So whoever may ask anything at all can put an answer of the server, or
a copy of a stored message, into any log. What comes of that never looks like an entry of ours: it does not begin with a
kind, or its message id is not that of an entry. It is to be passed over, or a runtime could stop another's sessions.
"""

from lictor_bus.wire.delivery import Delivery
from lictor_schema.sessions.session_log import SESSION_ENTRY_ADAPTER, AnySessionEntry

_BEGINNING = b'{"kind":"'


def is_session_entry(stored: Delivery) -> bool:
    """Whether the feedback service wrote this; no statement on whether this version can read it."""
    message_id = stored.headers.get("Nats-Msg-Id")
    return (
        message_id is not None
        and stored.body.startswith(_BEGINNING)
        and b'"entry_id":"%b"' % message_id.encode("utf-8", "replace") in stored.body
    )


def read_session_entry(stored: Delivery) -> AnySessionEntry | None:
    """The entry, None for a message that is no entry; raises pydantic.ValidationError when it can't be read."""
    if not is_session_entry(stored):
        return None
    # No search for names that are given twice: we wrote it, and a long log is read in half the time.
    return SESSION_ENTRY_ADAPTER.validate_json(stored.body, by_name=False, by_alias=True)
