"""The coherence report of the streams as they are, for callers over the bus or over HTTP.

Seals are verified here as anybody would verify them, against a trust store; work that takes its time is done beside
the event loop, one report at a time.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

from nats.aio.client import Client
from nats.errors import Error as NatsError
from pydantic import ValidationError

from lictor_bus.errors import BusError
from lictor_bus.gate import GateRefusal
from lictor_bus.gates.desk import COHERENCE
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import last_on_subjects, read_all
from lictor_contracts.errors import ContractError
from lictor_contracts.report.measurements import Measuring
from lictor_schema.contracts.coherence_report import (
    CoherenceAnswer,
    CoherenceQuestion,
    CoherenceReport,
)
from lictor_schema.contracts.drift import DriftEvent, TriageEntry
from lictor_schema.contracts.patch import PatchEntry
from lictor_schema.core.canonical_json import CanonicalError, canonical_json
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import SealBundle, SealError, TrustStore, verify_bundle

log = logging.getLogger("lictor.reports")

_ASKED_WHY = 5
"""How many episodes are looked up to measure how long that takes."""
_PAGE_LASTS_S = 15.0
_PAGE_LASTS_TIMES = 9
"""How many times as long as it took to make: so callers can't take more than a tenth of our time."""


class CoherenceReports:
    """Makes reports."""

    def __init__(
        self,
        client: Client,
        trust: Callable[[], TrustStore],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._trust = trust
        self._now = now
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._page: asyncio.Task[bytes | None] | None = None
        self._page_until = 0.0

    async def answer(self, asked: CoherenceQuestion) -> CoherenceAnswer:
        """The report since the moment that was asked for."""
        report = await self.make(asked.since)
        return CoherenceAnswer(request_id=asked.request_id, report=report)

    @staticmethod
    def explain(error: Exception, _asked: object) -> GateRefusal | None:
        """Keys or streams that can't be used are as good as away."""
        if isinstance(error, SealError):
            why = f"seals can't be verified: {error}"
        elif isinstance(error, ContractError):
            why = f"no report can be made: {error}"
        else:
            return None
        return GateRefusal(COHERENCE.refusals.unavailable, why, "ask again")

    async def page(self) -> bytes | None:
        """The report of everything there is, as JSON; None when the streams can't be read.

        Anybody may ask over HTTP, and a report verifies every seal: so all callers get the same one for a while, and
        the longer it took to make, the longer. It says itself until when it measured.
        """
        if self._page is None or (self._page.done() and self._clock() >= self._page_until):
            self._page = asyncio.create_task(self._make_page())
        # A caller that goes away does not cancel it for the others.
        return await asyncio.shield(self._page)

    async def _make_page(self) -> bytes | None:
        started = self._clock()
        try:
            return (await self.make(None)).to_json()
        except (BusError, ContractError, SealError, NatsError, OSError, TimeoutError) as error:
            log.warning("no report: %s", error)
            return None
        finally:
            ended = self._clock()
            lasts = max(_PAGE_LASTS_S, (ended - started) * _PAGE_LASTS_TIMES)
            self._page_until = ended + lasts

    async def make(self, since: datetime | None) -> CoherenceReport:
        """Measure what the streams hold now."""
        async with self._one_at_a_time:
            trust = self._trust()
            measuring = Measuring(since, self._now())
            async for stored in read_all(self._client, streams.EPISODES, subjects.EPISODE.any):
                if measuring.covers(stored.stored_at):
                    await asyncio.to_thread(_look_at, stored, trust, measuring)
            async for stored in read_all(self._client, streams.DRIFT, subjects.DRIFT.any):
                _read_drift(stored, measuring)
            triage = all_entries(
                self._client, streams.DRIFT, subjects.TRIAGE.any, TriageEntry.from_json
            )
            async for _, entry in triage:
                measuring.triage(entry)
            patches = all_entries(
                self._client, streams.PATCHES, subjects.PATCH.any, PatchEntry.from_json
            )
            async for _, entry in patches:
                measuring.patch(entry)
            for episode in measuring.latest[:_ASKED_WHY]:
                measuring.why(await self._ask_why(episode))
            return measuring.report()

    async def _ask_why(self, episode: SealedEpisode) -> int:
        """How long it takes to get an episode, and the records of what was decided in it."""
        started = time.monotonic()
        subject = subjects.episodes_with_id(episode.episode_id)
        await last_on_subjects(self._client, streams.EPISODES, [subject])
        task = subjects.decisions_on_task(episode.task_id)
        async for _ in read_all(self._client, streams.DECISIONS, task):
            pass
        return round((time.monotonic() - started) * 1000)


class ReportPage:
    """The coherence report over HTTP, as soon as the service runs."""

    def __init__(self) -> None:
        self.reports: CoherenceReports | None = None

    async def __call__(self) -> bytes | None:
        """The report as JSON."""
        return None if self.reports is None else await self.reports.page()


def _look_at(stored: Delivery, trust: TrustStore, measuring: Measuring) -> None:
    verified = verify_bundle(stored.body, trust).ok
    measuring.seal(intact=verified)
    if not verified:
        # What it says of itself counts for nothing.
        return
    try:
        episode = SealBundle.from_bytes(stored.body).sealed_episode
        measuring.episode(SealedEpisode.from_json(canonical_json(dict(episode))))
    except (SealError, ValidationError, CanonicalError) as error:
        log.warning("%s is sealed and no episode of ours: %s", stored.subject, error)


def _read_drift(stored: Delivery, measuring: Measuring) -> None:
    try:
        measuring.drift(DriftEvent.from_json(stored.body))
    except (ValidationError, CanonicalError):
        # Somebody else's message; see lictor_bus.logs.entry_logs.
        log.warning("%s %d is no drift event", stored.subject, stored.sequence)
