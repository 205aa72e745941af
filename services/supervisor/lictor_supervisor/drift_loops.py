"""What the supervisor runs to learn from drift: its recurrence, the patches it asks for, and the desk of operators."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lictor_bus.gates.desk import COHERENCE
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, ServiceRuntime, StreamChannel
from lictor_schema.contracts.cerpa_claim import (
    ClaimMade,
    EventSeen,
)
from lictor_schema.contracts.cerpa_cycle import CerpaCycle
from lictor_schema.contracts.drift import DriftEvent, TriageEntry
from lictor_schema.contracts.patch import (
    PatchEntry,
    PatchSettled,
)
from lictor_seal import TrustStore
from lictor_supervisor import FORMERLY
from lictor_supervisor.cerpa.claim_cycles import (
    CLAIMS,
    CerpaOutbox,
    ClaimsProcessor,
    DriftTelling,
    PatchTelling,
)
from lictor_supervisor.coherence_report import CoherenceReports, ReportPage
from lictor_supervisor.drift.recurrence import (
    ALL_DRIFT,
    SIGHTINGS,
    RecurrenceOutbox,
    RecurrenceProcessor,
)
from lictor_supervisor.operator_desk import Desk
from lictor_supervisor.patch.settlements import PATCH_ENTRIES, SettlementOutbox, SettlingProcessor
from lictor_supervisor.patch.suggestion import suggested_patch

STREAMS = (streams.DRIFT, streams.PATCHES, streams.CERPA)

CHANNELS = (
    StreamChannel(
        subject=subjects.SIGHTING.pattern,
        message=DriftEvent,
        description="Every sighting of drift, with its own severity (stream DRIFT).",
        reads=True,
    ),
    StreamChannel(
        subject=subjects.SETTLEMENT.pattern,
        message=PatchSettled,
        description="Among the sightings: their patch was applied or rejected (stream DRIFT).",
        reads=False,
    ),
    StreamChannel(
        subject=subjects.DRIFT.pattern,
        message=DriftEvent,
        description="Drift events with the severity that their recurrence gives them (stream DRIFT).",
        reads=False,
    ),
    StreamChannel(
        subject=subjects.TRIAGE.pattern,
        message=TriageEntry,
        description="How far the handling of each drift event is (stream DRIFT).",
        reads=False,
    ),
    StreamChannel(
        subject=subjects.PATCH.pattern,
        message=PatchEntry,
        description="Patches: proposed, approved, rejected, applied, failed (stream PATCHES).",
        reads=False,
    ),
    StreamChannel(
        subject=subjects.CLAIM.documented(kind="made"),
        message=ClaimMade,
        description="Claims about a subject (stream CERPA).",
        reads=False,
    ),
    StreamChannel(
        subject=subjects.CLAIM.documented(kind="report"),
        message=EventSeen,
        description="What operators reported of a subject; drift of it stands on `drift` (stream CERPA).",
        reads=False,
    ),
    StreamChannel(
        subject=subjects.CYCLE.pattern,
        message=CerpaCycle,
        description="Cycles of CERPA, each time they begin or move (stream CERPA).",
        reads=False,
    ),
)


async def learning_loops(
    runtime: ServiceRuntime, trust: Callable[[], TrustStore], page: ReportPage | None = None
) -> Sequence[Runnable]:
    """The workers and the desk."""
    desk = Desk(await runtime.connections.nats("desk"))
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
            CerpaOutbox(
                runtime.client,
                subjects.CLAIM.where(kind="drift", subject="{key}"),
                source=streams.DRIFT,
            ),
            partition="drift-telling",
            formerly=FORMERLY,
        ),
        runtime.worker(
            streams.PATCHES,
            PATCH_ENTRIES,
            PatchTelling(),
            CerpaOutbox(
                runtime.client,
                subjects.CLAIM.where(kind="patch", subject="{key}"),
                source=streams.PATCHES,
            ),
            partition="patch-telling",
            formerly=FORMERLY,
        ),
        runtime.worker(
            streams.CERPA,
            CLAIMS,
            ClaimsProcessor(),
            CerpaOutbox(
                runtime.client, subjects.CYCLE.where(subject="{key}"), source=streams.CERPA
            ),
            partition="claims",
            formerly=FORMERLY,
        ),
        GateRunner(desk.client, runtime.service, gates, runtime.telemetry),
    ]
