"""What a desk answers to an operator."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import Count, Identifier, Label, Model, Text


class DeskAnswer(Model):
    """What came of a request: it was done and kept, or nothing was."""

    request_id: Identifier = Field(description="The request")
    outcome: Literal["done", "refused"] = Field(description="Whether it was done")
    state: Label | None = Field(default=None, description="Where it stands now, if that is known")
    sequence: Count | None = Field(default=None, description="The place of the entry")
    reason: Text | None = Field(default=None, description="Why not")
    remedy: Text | None = Field(default=None, description="What to do")

    @model_validator(mode="after")
    def _a_refusal_says_why(self) -> Self:
        refused = self.outcome == "refused"
        if refused != (self.reason is not None and self.remedy is not None):
            raise PydanticCustomError(
                "desk_reason", "reason and remedy must be given exactly for a refusal"
            )
        return self

    @classmethod
    def refused(cls, request_id: str, reason: str, remedy: str, state: str | None = None) -> Self:
        """Nothing was changed."""
        return cls(
            request_id=request_id, outcome="refused", reason=reason, remedy=remedy, state=state
        )
