"""The verification of an action: what was looked at after it, and what was found."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import CamelModel, Details, Label, Text


class VerificationResult(StrEnum):
    """What a verifier found; `na` when none had to run."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NA = "na"


class Verification(CamelModel):
    """Whether the result of a decision was checked, and what came out."""

    required: bool = Field(description="Whether it was mandatory")
    result: VerificationResult = Field(description="What came out")
    method: Label | None = Field(default=None, description="The verifier used")
    details: Details | None = Field(default=None, description="What it saw")
    explanation: Text | None = Field(default=None, description="The result in words")

    @model_validator(mode="after")
    def _result_names_its_method(self) -> Self:
        if self.result is not VerificationResult.NA and self.method is None:
            raise PydanticCustomError(
                "verification_without_method", "a verification result must name its method"
            )
        return self
