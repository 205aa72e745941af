"""What an episode covers besides its decision records: every other message about the task, by digest.

What an auditor should be able to read without our services stands here in short, beside the hash of the message that it
was taken from. The rest is named by one root for each kind, so that a message can be shown to be among them, and that
none is missing.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from lictor_schema.approvals.approval import SignedNote
from lictor_schema.approvals.run import RunOutcome
from lictor_schema.core.base_model import (
    CamelModel,
    ContentHash,
    Count,
    Identifier,
    Label,
    Positive,
    Text,
    UtcMillis,
    UuidText,
)
from lictor_schema.decisions.decision import Disposition
from lictor_schema.decisions.receipt import DeliveryState, ReceiptStatus
from lictor_schema.proofs.program import PROGRAM_HASH_OF, ProgramHashOf
from lictor_schema.proofs.proof import ProofVerdict
from lictor_schema.sessions.feedback import FeedbackSeverity

MAX_NOTES = 200
"""How many messages of a kind can be read in an episode; the others are covered by the root alone."""

MAX_NOTE_TEXT = 500

_MESSAGE = "The message's salted commitment; where `contents` is null, the hash of its exact bytes"

NoteText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NOTE_TEXT)]
"""The beginning of a text."""

StrandName = Literal[
    "records",
    "events",
    "decision",
    "switch",
    "guard",
    "proofs",
    "runs",
    "gates",
    "receipts",
    "session",
]

CONTENTS_FORMAT: Final = "lictor-episode-part/v1"


class Strand(CamelModel):
    """Every message of one kind about the task, in stream order."""

    name: StrandName = Field(description="The kind")
    count: Count = Field(
        description="How many are covered; 0 where there were some, and none is left"
    )
    root: ContentHash = Field(
        description="RFC 6962 tree hash; the leaves are the `sha256:` texts of the messages' salted commitments, "
        "or, where `contents` is null, of their exact bytes"
    )
    complete: bool = Field(
        description="False when not every message could be covered, or was in its stream any more"
    )


class ProofNote(CamelModel):
    """What the prover found about a program of the task."""

    submission_id: Identifier = Field(description="The submission")
    verdict: ProofVerdict = Field(description="What was found as a whole")
    program_hash: ContentHash = Field(description="The program")
    program_hash_of: ProgramHashOf | None = Field(default=None, description=PROGRAM_HASH_OF)
    ir_hash: ContentHash | None = Field(default=None, description="Its Effect IR")
    layer_hash: ContentHash | None = Field(default=None, description="The trusted layer")
    certificate_hash: ContentHash | None = Field(
        default=None, description="The certificate that carries the proof"
    )
    reason: NoteText | None = Field(default=None, description="Why it was not proved")
    message_hash: ContentHash = Field(description=_MESSAGE)


class RunNote(CamelModel):
    """What a program of the task did when it ran: its beginning and its end; each effect is under the root."""

    run_id: UuidText = Field(description="The run: the request by which it was approved")
    submission_id: Identifier = Field(description="The submission")
    program_hash: ContentHash = Field(description="The program")
    program_hash_of: ProgramHashOf | None = Field(default=None, description=PROGRAM_HASH_OF)
    ir_hash: ContentHash = Field(description="Its Effect IR")
    layer_hash: ContentHash = Field(description="The trusted layer")
    binding_hash: ContentHash = Field(description="Everything that was approved")
    approved_by: Label = Field(description="The name of the key that approved it")
    signed: SignedNote = Field(description="The signed decision, which its key verifies")
    outcome: RunOutcome | None = Field(
        default=None, description="What became of it; null when that was not known yet"
    )
    effects: Count = Field(default=0, description="How many calls it made")
    undone: Count = Field(default=0, description="How many of them were taken back")
    reason: NoteText | None = Field(default=None, description="Why it ended early")
    message_hash: ContentHash = Field(description=f"Of the entry by which it began: {_MESSAGE}")


class GuardNote(CamelModel):
    """A denied call, a blocked stop, a bypass or an escalation of a guarded session."""

    record_id: UuidText = Field(description="The decision")
    recorded_at: UtcMillis = Field(description="When it was decided")
    gate: Literal["tool", "stop"] = Field(description="The gate")
    tool: Label | None = Field(default=None, description="The tool of a denied call")
    call_id: Identifier | None = Field(default=None, description="The denied call")
    decision: Disposition = Field(description="What was decided")
    policy_id: Identifier = Field(description="By which policy")
    reason: NoteText = Field(description="Why")
    message_hash: ContentHash = Field(description=_MESSAGE)


class GateNote(CamelModel):
    """An answer of a gate that did not simply allow; allowed acts are covered by the root alone."""

    record_id: UuidText = Field(description="The answer")
    recorded_at: UtcMillis = Field(description="When it was given")
    gate: Literal["report", "dispatch", "tool", "stop", "action"] = Field(description="The gate")
    decision: Literal["deny", "rewrite", "wait", "ask"] = Field(description="The answer")
    policy_id: Identifier = Field(description="The rule that decided")
    reason: NoteText = Field(description="Why")
    message_hash: ContentHash = Field(description=_MESSAGE)


class GuidanceNote(CamelModel):
    """Advice that was raised for the agent."""

    feedback_id: UuidText = Field(description="The advice")
    session_id: Identifier = Field(description="The session")
    provider: Label = Field(description="Who gave it")
    severity: FeedbackSeverity = Field(description="How urgent it was")
    summary: NoteText = Field(description="What it said")
    raised_at: UtcMillis = Field(description="When")
    delivered_after: Identifier | None = Field(
        default=None, description="The call after which the agent was told; null when it was not"
    )
    message_hash: ContentHash = Field(
        description=f"Of the session's entry that raised it: {_MESSAGE}"
    )


class ReceiptNote(CamelModel):
    """What a runtime reported to have done with a decision."""

    report_id: Identifier = Field(description="The report")
    record_id: UuidText = Field(description="The decision record it is about")
    status: ReceiptStatus = Field(description="How enforcement stands")
    delivery_state: DeliveryState = Field(description="How far the notice got")
    reported_at: UtcMillis = Field(description="When")
    message_hash: ContentHash = Field(description=_MESSAGE)


class EpisodeSources(CamelModel):
    """Everything else that the streams hold about the task."""

    covered_until_us: Positive = Field(
        description="The broker's time, in microseconds since 1970, up to which messages are covered"
    )
    events_root: ContentHash = Field(
        description="The events that the records decide on, one for each record: as the root of a strand"
    )
    contents: Literal["lictor-episode-part/v1"] | None = Field(
        default=None,
        description="How the messages that the roots cover are stored and committed to; null in older episodes, "
        "whose roots are over plain hashes, and whose messages no bundle carries",
    )
    strands: Annotated[tuple[Strand, ...], Field(max_length=10)] = Field(
        description="A kind that is not named had no message"
    )
    unreadable: Count = Field(
        default=0, description="Messages that are covered, and that the sealer could not read"
    )
    proofs: Annotated[tuple[ProofNote, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(), description="The first proofs"
    )
    runs: Annotated[tuple[RunNote, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(), description="The first runs"
    )
    guard: Annotated[tuple[GuardNote, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(), description="The first decisions of the tool and stop gates"
    )
    gates: Annotated[tuple[GateNote, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(),
        description="The first answers of gates that did not simply allow, denied actions before others",
    )
    guidance: Annotated[tuple[GuidanceNote, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(), description="The first advice"
    )
    receipts: Annotated[tuple[ReceiptNote, ...], Field(max_length=MAX_NOTES)] = Field(
        default=(), description="The first receipts, of failures before others"
    )


class Correction(CamelModel):
    """Why there is a further version of an episode, and on whose word."""

    request_id: UuidText = Field(description="The order; given again, it corrects nothing again")
    by: Identifier = Field(description="Who ordered it")
    reason: Text = Field(description="Why")
    ordered_at: UtcMillis = Field(description="When the sealer took it")
    late: Count = Field(
        description="How many messages it covers that the version before it did not"
    )
    archived: bool = Field(
        default=False, description="Whether it is the last: an archived episode has no next version"
    )
