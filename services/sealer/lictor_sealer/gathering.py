"""Reads what the streams hold about a task, besides the decision records, up to a moment.

The moment is the broker's: so an episode is the same whoever assembles it, and whenever. What is stored later, or
becomes readable only after the sealer looked, is late: a correction covers it.
"""

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from nats.aio.client import Client

from lictor_bus import streams, subjects
from lictor_bus.delivery import Delivery
from lictor_bus.read import any_on_subjects, read_from, read_since
from lictor_schema.episode_sources import StrandName
from lictor_sealer.sources import Weaver

STREAMS: Final = (
    streams.PROOFS,
    streams.RUNS,
    streams.GATES,
    streams.RECEIPTS,
    streams.SESSIONS,
)

_PAGE = 500
# A session may hold the work of many tasks.
_MAX_SCANNED = 50_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Kind:
    stream: str
    subject: str
    """With the task's token as `{}`."""
    place: int
    """Which token of the subject that is."""


_KINDS: Final[dict[StrandName, _Kind]] = {
    # Those of the tool and stop gates, and refusals outside of a session; not the records on events.
    "guard": _Kind(streams.DECISIONS, "lictor.dec.*.*.{}", 4),
    "proofs": _Kind(streams.PROOFS, "lictor.proof.*.{}", 3),
    "runs": _Kind(streams.RUNS, "lictor.run.{}.*", 2),
    "gates": _Kind(streams.GATES, "lictor.gated.*.{}", 3),
    "receipts": _Kind(streams.RECEIPTS, "lictor.rcpt.*.{}.*", 3),
}


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when, in microseconds of the broker's time: after the first, up to and with the last."""

    after_us: int
    until_us: int


class Gathering:
    """Reads the streams."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def present(self, tasks: Collection[str]) -> dict[StrandName, set[str]]:
        """Of these tasks, by their tokens, those that have any message of a kind: most have none."""
        return {
            name: {
                subject.split(".")[kind.place]
                for subject in await any_on_subjects(
                    self._client, kind.stream, [kind.subject.format(task) for task in tasks]
                )
            }
            for name, kind in _KINDS.items()
        }

    async def present_sessions(self, sessions: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Of these sessions, those that have a log."""
        by_subject = {subjects.session_log(subjects.session_key(*each)): each for each in sessions}
        found = await any_on_subjects(self._client, streams.SESSIONS, [*by_subject])
        return {by_subject[subject] for subject in found}

    async def weave(
        self,
        weaver: Weaver,
        task: str,
        window: Window,
        kinds: Collection[StrandName] = tuple(_KINDS),
    ) -> None:
        """Give the weaver every message of these kinds."""
        for name, kind in _KINDS.items():
            if name not in kinds:
                continue
            async for stored in self._messages(kind.stream, kind.subject.format(task), window):
                if weaver.is_full(name):
                    weaver.cut(name)
                    break
                weaver.take(name, stored)

    async def weave_sessions(
        self, weaver: Weaver, sessions: Collection[tuple[str, str]], window: Window
    ) -> None:
        """Give the weaver what the logs of these sessions hold; it takes what is of its task."""
        for session in sorted(sessions):
            subject = subjects.session_log(subjects.session_key(*session))
            scanned = 0
            async for stored in self._messages(streams.SESSIONS, subject, window):
                scanned += 1
                if weaver.is_full("session") or scanned > _MAX_SCANNED:
                    weaver.cut("session")
                    break
                weaver.take("session", stored)

    async def _messages(self, stream: str, subject: str, window: Window) -> AsyncIterator[Delivery]:
        if window.after_us:
            moment = _EPOCH + timedelta(microseconds=window.after_us + 1)
            page = await read_since(self._client, stream, subject, moment, _PAGE)
        else:
            page = await read_from(self._client, stream, subject, 1, _PAGE)
        while page:
            for stored in page:
                if stored.stored_at_ns // 1000 > window.until_us:
                    return
                yield stored
            page = await read_from(self._client, stream, subject, page[-1].sequence + 1, _PAGE)
