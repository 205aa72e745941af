"""The coherence report: how well decisions kept to their contracts, from measured values only.

Shares are exact fractions. What nobody measured is `not_measured`, and that is never a pass.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.contracts.drift import DriftSeverity, DriftType
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    Count,
    Identifier,
    Label,
    Model,
    Positive,
    Text,
    Timestamp,
    UtcMillis,
)


class SloName(StrEnum):
    """The objectives that a report answers, all of them, in this order."""

    P99_WITHIN_WINDOW = "p99_within_window"
    FRESHNESS = "freshness"
    DEADLINE = "deadline"
    VERIFICATION = "verification"
    SEAL_INTEGRITY = "seal_integrity"
    RED_DRIFT_PATCHED = "red_drift_patched"
    UNDEGRADED = "undegraded"
    WHY_RETRIEVAL = "why_retrieval"


class SloVerdict(StrEnum):
    """Whether an objective was reached."""

    PASS = "pass"
    FAIL = "fail"
    NOT_MEASURED = "not_measured"


class Share(Model):
    """So many of so many, exactly."""

    part: Count = Field(description="Those it holds for")
    whole: Positive = Field(description="Those it was measured for")

    @model_validator(mode="after")
    def _is_a_share(self) -> Self:
        if self.part > self.whole:
            raise PydanticCustomError("share", "part is more than whole; count them again")
        return self


class DriftCount(Model):
    """How often one kind of drift was seen."""

    drift_type: DriftType = Field(description="What drifted")
    severity: DriftSeverity = Field(description="How bad it was")
    count: Positive = Field(description="How often")


class PatchTimes(Model):
    """How long drift waited for its patch."""

    patched: Count = Field(description="Drift events whose patch was applied")
    waiting: Count = Field(description="Drift events that still wait for one")
    median_ms: Count | None = Field(
        default=None, description="The time of the middle one (the lower of two); null without any"
    )
    slowest_ms: Count | None = Field(default=None, description="The longest; null without any")
    longest_wait_ms: Count | None = Field(
        default=None, description="How long the oldest has waited; null when none waits"
    )


class RungCount(Model):
    """How often one rung of the ladder was used."""

    step: Label = Field(description="The rung; `none` for the undegraded path")
    count: Positive = Field(description="How often")


class SloResult(Model):
    """One objective and what was measured about it."""

    slo: SloName = Field(description="The objective")
    target: Label = Field(description="What is asked for, in words")
    verdict: SloVerdict = Field(description="Whether it was reached")
    share: Share | None = Field(default=None, description="What was measured, as a share")
    worst_ms: Count | None = Field(default=None, description="What was measured, as a time")
    explanation: Text = Field(description="The result in words")

    @model_validator(mode="after")
    def _a_verdict_was_measured(self) -> Self:
        measured = self.share is not None or self.worst_ms is not None
        if measured != (self.verdict is not SloVerdict.NOT_MEASURED):
            raise PydanticCustomError(
                "slo_measured",
                "share or worst_ms must be given exactly when something was measured",
            )
        return self


class CoherenceReport(Model):
    """How decisions kept to their contracts between two moments."""

    measured_from: UtcMillis = Field(description="The first moment it covers")
    measured_to: UtcMillis = Field(description="The last one")
    episodes: Count = Field(description="Episodes sealed in between")
    drift: Annotated[tuple[DriftCount, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="Drift by type and severity; what isn't listed was not seen"
    )
    patch_times: PatchTimes = Field(description="How long red drift waited for its patch")
    rungs: Annotated[tuple[RungCount, ...], Field(max_length=16)] = Field(
        description="Use of the degrade ladder"
    )
    slos: Annotated[tuple[SloResult, ...], Field(min_length=8, max_length=8)] = Field(
        description="Every objective"
    )

    @model_validator(mode="after")
    def _answers_every_objective(self) -> Self:
        if tuple(each.slo for each in self.slos) != tuple(SloName):
            raise PydanticCustomError("slos", "slos must hold each objective once, in their order")
        if self.measured_to < self.measured_from:
            raise PydanticCustomError(
                "report_window", "measured_to lies before measured_from; correct one of them"
            )
        return self

    @property
    def verdict(self) -> SloVerdict:
        """Fail when one failed; pass only when every one passed."""
        verdicts = {each.verdict for each in self.slos}
        if SloVerdict.FAIL in verdicts:
            return SloVerdict.FAIL
        return SloVerdict.PASS if verdicts == {SloVerdict.PASS} else SloVerdict.NOT_MEASURED


class CoherenceQuestion(Model):
    """How do decisions keep to their contracts?"""

    request_id: Identifier = Field(description="Unique id")
    since: Timestamp | None = Field(
        default=None, description="From when on; null for everything there is"
    )


class CoherenceAnswer(Model):
    """The report, or why there is none."""

    request_id: Identifier = Field(description="The question")
    report: CoherenceReport | None = Field(default=None, description="The report")
    problem: Text | None = Field(default=None, description="Why there is none, and what to do")

    @model_validator(mode="after")
    def _says_one_of_both(self) -> Self:
        if (self.report is None) == (self.problem is None):
            raise PydanticCustomError(
                "coherence_answer", "exactly one of report and problem must be given"
            )
        return self
