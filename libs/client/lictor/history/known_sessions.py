"""Guarded sessions as their logs name them: which there are, and which one is meant."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.id_prefixes import one_of
from lictor.history.stream_contents import extent, subjects_at
from lictor_bus.errors import UnreadableEntry
from lictor_bus.logs.session_log import read_session_entry
from lictor_bus.names import subjects
from lictor_bus.names.streams import SESSIONS
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import last_on_subjects, read_all
from lictor_schema.sessions.session_log import AnySessionEntry

LISTING = "lictor session list"
_EVERY_LOG = subjects.SESSION_LOG.any


@dataclass(frozen=True)
class KnownSession:
    """A session, by the last entry of its log."""

    runtime: str
    session_id: str
    task_id: str
    entries: int
    last_at: datetime
    subject: str


async def known_sessions(client: Client) -> list[KnownSession]:
    """Every session, the one that went on last first."""
    await extent(client, SESSIONS)
    counts = await subjects_at(client, SESSIONS, _EVERY_LOG)
    found: list[KnownSession] = []
    for stored in await last_on_subjects(client, SESSIONS, list(counts)):
        entry = _entry(stored) or await _any_entry(client, stored.subject)
        if entry is not None:
            found.append(
                KnownSession(
                    entry.runtime,
                    entry.session_id,
                    entry.task_id,
                    counts[stored.subject],
                    stored.stored_at,
                    stored.subject,
                )
            )
    return sorted(found, key=lambda each: each.last_at, reverse=True)


async def session_named(client: Client, given: str, runtime: str | None) -> KnownSession:
    """A session by its id, or by the first characters of it, of one runtime or of any."""
    known = [each for each in await known_sessions(client) if runtime in (None, each.runtime)]
    what = "session" if runtime is None else f"session of {runtime}"
    session_id = one_of(given, (each.session_id for each in known), what, LISTING)
    matching = [each for each in known if each.session_id == session_id]
    if len(matching) > 1:
        runtimes = ", ".join(sorted(each.runtime for each in matching))
        raise LictorError(
            f"several runtimes have a session {session_id}: {runtimes}; name one with --runtime."
        )
    return matching[0]


async def first_entry(client: Client, session: KnownSession) -> AnySessionEntry | None:
    """How its log begins."""
    return await _any_entry(client, session.subject)


async def _any_entry(client: Client, subject: str) -> AnySessionEntry | None:
    # Others can get messages into a log, which are passed over: see lictor_bus.logs.session_log.
    log: AsyncIterator[Delivery] = read_all(client, SESSIONS, subject, 20)
    async for stored in log:
        entry = _entry(stored)
        if entry is not None:
            return entry
    return None


def _entry(stored: Delivery) -> AnySessionEntry | None:
    try:
        return read_session_entry(stored)
    except UnreadableEntry:
        # Of another version: what it says can't be known.
        return None
