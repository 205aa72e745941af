"""The journal of a run: what an approved program did, effect by effect, on the RUNS stream.

An effect is written down before it is made. So whoever finds a journal without an end knows everything that may have
happened, and can take it back. A run has the id of the request that approved it.
"""

from enum import StrEnum
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field, JsonValue, StringConstraints, TypeAdapter

from lictor_schema.approvals.approval import SignedNote
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    ContentHash,
    Count,
    Identifier,
    Label,
    Model,
    Text,
    UtcMillis,
    UuidText,
)
from lictor_schema.core.canonical_json import refuse_duplicate_keys
from lictor_schema.proofs.inputs import INPUTS, Inputs
from lictor_schema.proofs.program import PROGRAM_HASH_OF, ProgramHashOf

K = TypeVar("K", bound=str)

MAX_OUTPUT = 16 * 1024
Output = Annotated[str, StringConstraints(max_length=MAX_OUTPUT)]
"""What a run printed, or its beginning."""
Arguments = Annotated[dict[Label, JsonValue], Field(max_length=256)]


class RunOutcome(StrEnum):
    """What became of a run that began. Only `executed` did what was approved; the last two need somebody to look."""

    EXECUTED = "executed"
    FAILED = "failed"
    """It ended early, and had done nothing that lasts."""
    COMPENSATED = "compensated"
    """It ended early, and everything it had done was taken back."""
    PARTIAL = "partial"
    """It ended early, and something it did is still there."""
    IN_DOUBT = "in_doubt"
    """It ended early, and whether something happened is not known."""


class UndoKind(StrEnum):
    """Whether an effect can be taken back, as its layer declares."""

    IMPOSSIBLE = "impossible"
    POSSIBLE = "possible"
    """When it is known to have happened, with what it returned."""
    ALWAYS = "always"
    """Also when that is not known; it may be tried again."""
    NEEDLESS = "needless"
    """It leaves nothing behind."""


class RunReason(Model):
    """Why something went wrong."""

    code: Label = Field(description="Stable name of the reason")
    message: Text = Field(description="What is the case")
    remedy: Text | None = Field(default=None, description="What to do about it")


class RunEntry(Model, Generic[K]):
    """What every entry of a journal says."""

    entry_id: UuidText = Field(description="Of the run, the number and the writer; the message id")
    kind: K = Field(description="What happened")
    run_id: UuidText = Field(description="The run: the id of the request that was approved")
    task_id: Identifier = Field(description="The governed task")
    runtime: Label | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The runtime whose program it is; null in what was stored before 0.2",
    )
    number: Count = Field(description="Its place in the journal, from 0")
    at: UtcMillis = Field(description="When it was written")


class RunStarted(RunEntry[Literal["run_started"]]):
    """A runner claimed the approval; from here on nobody else runs by it."""

    runner: Label = Field(description="The runner")
    submission_id: Identifier = Field(description="The submission")
    binding_hash: ContentHash = Field(description="Everything that was approved")
    program_hash: ContentHash = Field(description="The program")
    program_hash_of: ProgramHashOf | None = Field(default=None, description=PROGRAM_HASH_OF)
    ir_hash: ContentHash = Field(description="Its Effect IR")
    layer_hash: ContentHash = Field(description="The trusted layer")
    guarantees_hash: ContentHash = Field(description="What was proved")
    inputs: Inputs | None = Field(
        default=None, exclude_if=lambda value: value is None, description=INPUTS
    )
    approved_by: Label = Field(description="The name of the key that approved it")
    signed: SignedNote = Field(description="The signed decision, as it was handed in")


class RunTakenOver(RunEntry[Literal["run_taken_over"]]):
    """The runner that began is gone, or can't be heard: another one takes back what it did."""

    runner: Label = Field(description="Who takes over")


class EffectStarted(RunEntry[Literal["effect_started"]]):
    """A trusted function is about to be called."""

    call: Count = Field(description="Its number among the calls of the run, from 0")
    effect: Label = Field(description="The trusted function")
    arguments: Arguments = Field(
        description="What it is given, as `lictor_prove.written_values` writes it"
    )
    idempotency_key: UuidText = Field(
        description="Of the run and the call; the function can read it"
    )
    undo: UndoKind = Field(description="Whether it can be taken back")


class EffectDone(RunEntry[Literal["effect_done"]]):
    """It returned what it is annotated and promised to return."""

    call: Count = Field(description="The call")
    result: JsonValue = Field(description="What it returned; null too when it is too large to keep")
    result_hash: ContentHash = Field(description="Hash of what it returned")
    kept: bool = Field(default=True, description="Whether `result` is what it returned")


class EffectFailed(RunEntry[Literal["effect_failed"]]):
    """It did not return, or not what it should."""

    call: Count = Field(description="The call")
    happened: Literal["no", "yes", "unknown"] = Field(description="Whether it had its effect")
    reason: RunReason = Field(description="What went wrong")


class UndoStarted(RunEntry[Literal["undo_started"]]):
    """An effect is about to be taken back."""

    call: Count = Field(description="The call")
    idempotency_key: UuidText = Field(description="Of the run and the undoing of that call")


class UndoDone(RunEntry[Literal["undo_done"]]):
    """It was taken back."""

    call: Count = Field(description="The call")


class UndoFailed(RunEntry[Literal["undo_failed"]]):
    """It could not be taken back."""

    call: Count = Field(description="The call")
    reason: RunReason = Field(description="What went wrong")


class RunResult(Model):
    """What the target returned. It is the program's own word: nothing is proved about it."""

    value: JsonValue = Field(
        default=None,
        description="The value, as `lictor_prove.written_values` writes it; null too where it is not kept",
    )
    hash: ContentHash | None = Field(
        default=None, description="Hash of the value; null where it is not kept"
    )
    problem: RunReason | None = Field(
        default=None, description="Why it is not kept: too large, or nothing that can be written"
    )

    @property
    def kept(self) -> bool:
        """Whether `value` is what was returned."""
        return self.problem is None


class RunFinished(RunEntry[Literal["run_finished"]]):
    """What became of it."""

    outcome: RunOutcome = Field(description="What became of it")
    reason: RunReason | None = Field(default=None, description="Why; null exactly for `executed`")
    effects: Count = Field(description="How many calls were made")
    undone: Count = Field(description="How many of them were taken back")
    left: Annotated[tuple[Count, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="The first calls that somebody has to look at"
    )
    output: Output = Field(default="", description="What was printed, or its beginning")
    elapsed_ms: Count = Field(description="How long it took")
    result: RunResult | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="What the target returned; left out of a run that ended early, and of what was stored before 0.2",
    )


AnyRunEntry = Annotated[
    RunStarted
    | RunTakenOver
    | EffectStarted
    | EffectDone
    | EffectFailed
    | UndoStarted
    | UndoDone
    | UndoFailed
    | RunFinished,
    Field(discriminator="kind"),
]
"""Any entry, told apart by `kind`."""

RUN_ENTRY_ADAPTER: TypeAdapter[AnyRunEntry] = TypeAdapter(AnyRunEntry)


def parse_run_entry(data: bytes | str) -> AnyRunEntry:
    """Read one entry; raises pydantic.ValidationError, or CanonicalError for duplicate keys."""
    refuse_duplicate_keys(data)
    return RUN_ENTRY_ADAPTER.validate_json(data, by_name=False, by_alias=True)
