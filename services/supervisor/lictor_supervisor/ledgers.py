"""The logs that operators and recurrence change: triage of drift events, patches, claims."""

from lictor_bus.ledger import WholeLedger
from lictor_bus.names import streams, subjects
from lictor_contracts.patch.life import Patch, folded
from lictor_schema.contracts.cerpa_claim import ClaimMade
from lictor_schema.contracts.drift import TriageEntry
from lictor_schema.contracts.patch import PatchEntry

PATCHES = WholeLedger[PatchEntry, Patch | None](
    "patch",
    streams.PATCHES,
    parse=PatchEntry.from_json,
    fold=folded,
    subject_of=lambda entry: subjects.patch(entry.state.value, entry.patch_id),
)
TRIAGE = WholeLedger[TriageEntry, tuple[TriageEntry, ...]](
    "drift event",
    streams.DRIFT,
    parse=TriageEntry.from_json,
    fold=tuple,
    subject_of=lambda entry: subjects.triage(entry.drift_id),
)
CLAIMS = WholeLedger[ClaimMade, tuple[ClaimMade, ...]](
    "claims about the subject",
    streams.CERPA,
    parse=ClaimMade.from_json,
    fold=tuple,
    subject_of=lambda entry: subjects.claim("made", entry.claim.subject),
)
