"""What the sealer runs to learn from drift: its recurrence, the patches it asks for, and the desk of operators."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from lictor_bus.gates.desk import COHERENCE
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.names import streams
from lictor_bus.service.service import Runnable, ServiceRuntime, StreamChannel
from lictor_bus.wire.connection import connect_nats
from lictor_contracts.patch.remedies import (
    EnvelopeInPack,
    envelopes_in,
    pack_documents,
    pack_remedy,
)
from lictor_policy.errors import PackError
from lictor_policy.packs.files import PACK_FILE, DirectoryFiles
from lictor_schema.contracts.cerpa_claim import (
    ClaimMade,
    EventSeen,
)
from lictor_schema.contracts.cerpa_cycle import CerpaCycle
from lictor_schema.contracts.drift import DriftEvent
from lictor_schema.contracts.patch import (
    PatchEntry,
    PatchProposal,
    PatchRequest,
    PatchSettled,
    TriageEntry,
)
from lictor_schema.core.base_model import utc_millis
from lictor_seal import TrustStore
from lictor_supervisor.cerpa.claim_cycles import (
    CLAIMS,
    CerpaOutbox,
    ClaimsProcessor,
    DriftTelling,
    PatchTelling,
)
from lictor_supervisor.coherence_report import CoherenceReports
from lictor_supervisor.drift.recurrence import (
    ALL_DRIFT,
    BY,
    SIGHTINGS,
    RecurrenceOutbox,
    RecurrenceProcessor,
)
from lictor_supervisor.operator_desk import Desk
from lictor_supervisor.patch.settlements import PATCH_ENTRIES, SettlementOutbox, SettlingProcessor

log = logging.getLogger("lictor.supervisor")

FORMERLY = "sealer"
"""The service that ran all this before."""
STREAMS = (streams.DRIFT, streams.PATCHES, streams.CERPA)

CHANNELS = (
    StreamChannel(
        subject="lictor.drifting.{fingerprint}",
        message=DriftEvent,
        description="Every sighting of drift, with its own severity (stream DRIFT).",
        reads=True,
    ),
    StreamChannel(
        subject="lictor.drifting.{fingerprint}.settled",
        message=PatchSettled,
        description="Among the sightings: their patch was applied or rejected (stream DRIFT).",
        reads=False,
    ),
    StreamChannel(
        subject="lictor.drift.{type}.{severity}",
        message=DriftEvent,
        description="Drift events with the severity that their recurrence gives them (stream DRIFT).",
        reads=False,
    ),
    StreamChannel(
        subject="lictor.triage.{drift}",
        message=TriageEntry,
        description="How far the handling of each drift event is (stream DRIFT).",
        reads=False,
    ),
    StreamChannel(
        subject="lictor.patch.{state}.{patch}",
        message=PatchEntry,
        description="Patches: proposed, approved, rejected, applied, failed (stream PATCHES).",
        reads=False,
    ),
    StreamChannel(
        subject="lictor.claim.made.{subject}",
        message=ClaimMade,
        description="Claims about a subject (stream CERPA).",
        reads=False,
    ),
    StreamChannel(
        subject="lictor.claim.report.{subject}",
        message=EventSeen,
        description="What operators reported of a subject; drift of it stands on `drift` (stream CERPA).",
        reads=False,
    ),
    StreamChannel(
        subject="lictor.cycle.{status}.{subject}",
        message=CerpaCycle,
        description="Cycles of CERPA, each time they begin or move (stream CERPA).",
        reads=False,
    ),
)


class ReportPage:
    """The coherence report over HTTP, as soon as the service runs."""

    def __init__(self) -> None:
        self.reports: CoherenceReports | None = None

    async def __call__(self) -> bytes | None:
        """The report as JSON."""
        return None if self.reports is None else await self.reports.page()


async def learning_loops(
    runtime: ServiceRuntime, trust: Callable[[], TrustStore], page: ReportPage | None = None
) -> Sequence[Runnable]:
    """The workers and the desk."""
    desk = Desk(
        await connect_nats(runtime.settings.nats_url, name=f"lictor-{runtime.service}-desk")
    )
    reports = CoherenceReports(desk.client, trust)
    if page is not None:
        page.reports = reports
    packs = Path(os.environ.get("LICTOR_PACKS", "policy-packs"))
    gates = (
        *desk.bound(),
        BoundGate(gate=COHERENCE, handle=reports.answer, explain=reports.explain),
    )
    return [
        runtime.worker(
            streams.DRIFT,
            SIGHTINGS,
            RecurrenceProcessor(),
            RecurrenceOutbox(runtime.client, partial(suggested_patch, packs)),
            partition="recurrence",
            formerly=FORMERLY,
        ),
        runtime.worker(
            streams.PATCHES,
            PATCH_ENTRIES,
            SettlingProcessor(),
            SettlementOutbox(runtime.client),
            partition="settling",
            formerly=FORMERLY,
        ),
        runtime.worker(
            streams.DRIFT,
            ALL_DRIFT,
            DriftTelling(),
            CerpaOutbox(runtime.client, "lictor.claim.drift.{key}"),
            partition="drift-telling",
            formerly=FORMERLY,
        ),
        runtime.worker(
            streams.PATCHES,
            PATCH_ENTRIES,
            PatchTelling(),
            CerpaOutbox(runtime.client, "lictor.claim.patch.{key}"),
            partition="patch-telling",
            formerly=FORMERLY,
        ),
        runtime.worker(
            streams.CERPA,
            CLAIMS,
            ClaimsProcessor(),
            CerpaOutbox(runtime.client, "lictor.cycle.*.{key}"),
            partition="claims",
            formerly=FORMERLY,
        ),
        GateRunner(desk.client, runtime.service, gates, runtime.telemetry),
    ]


def suggested_patch(packs: Path, request: PatchRequest, event: DriftEvent) -> PatchProposal | None:
    """The change of the packs of this installation, as they are now, that answers a request."""
    files = DirectoryFiles(packs)
    found: list[tuple[str, str]] = []
    for pack_id in files.pack_ids():
        name = f"{pack_id}/{PACK_FILE}"
        try:
            found.append((name, files.read(name).decode("utf-8")))
        except (PackError, UnicodeDecodeError) as error:
            log.warning("no patch is suggested for %s: %s", name, error)
    return pack_remedy(
        request,
        _envelopes_in(tuple(found)),
        proposed_by=BY,
        proposed_at=utc_millis(event.detected_at),
    )


@lru_cache(maxsize=1)
def _envelopes_in(files: tuple[tuple[str, str], ...]) -> Mapping[str, EnvelopeInPack]:
    """Packs rarely change, and reading one takes longer than everything else about a request."""
    return envelopes_in(pack_documents(files))
