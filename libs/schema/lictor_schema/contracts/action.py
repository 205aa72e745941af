"""Safe actions: what a governed decision may do, on what, under which conditions, and how it is undone."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.contracts.envelope import BlastRadius
from lictor_schema.core.base_model import (
    MAX_ITEMS,
    CamelModel,
    Count,
    Details,
    Identifier,
    Label,
    Scalar,
)


class TargetRef(CamelModel):
    """One resource an action touches."""

    type: Label = Field(description="What kind of resource")
    id: Identifier = Field(description="Which one")


class Precondition(CamelModel):
    """A declarative check made before dispatch; never code."""

    fact: Label = Field(description="The fact looked at")
    operator: Literal["equals", "not_equals", "greater_than", "less_than", "in", "contains"] = (
        Field(description="How it is compared")
    )
    value: Scalar = Field(default=None, description="What it is compared with")
    values: Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The choices, exactly for the operator `in`"
    )

    @model_validator(mode="after")
    def _choices_go_with_in(self) -> Self:
        if (self.operator == "in") != (self.values is not None):
            raise PydanticCustomError(
                "precondition_values", "values must be given exactly for the operator `in`"
            )
        return self


class Authorization(CamelModel):
    """Who lets the action happen."""

    mode: Literal["auto", "hitl", "blocked"] = Field(
        description="At once, after a human's approval, or not at all"
    )
    policy_ref: Identifier | None = Field(default=None, description="The rule that says so")
    approver: Identifier | None = Field(default=None, description="Who approves")


class RollbackPlan(CamelModel):
    """How the action can be undone."""

    type: Literal["none", "compensate", "restore", "revert"] = Field(description="In which way")
    instructions: Details | None = Field(default=None, description="Parameters of the undoing")
    timeout_ms: Count | None = Field(default=None, description="Time the undoing may take")


class RetryPolicy(CamelModel):
    """How often an action is tried again."""

    max_retries: Count | None = Field(default=None, description="Tries after the first")
    backoff_ms: Count | None = Field(default=None, description="Wait between tries")


class ExecutionPlan(CamelModel):
    """How the action is carried out."""

    execution_slo_ms: Count | None = Field(default=None, description="Time it should take")
    timeout_ms: Count | None = Field(default=None, description="Time it may take")
    retry_policy: RetryPolicy | None = Field(default=None, description="Tries after a failure")


class SafeActionContract(CamelModel):
    """What one action may do; satisfied before it is dispatched (the strict form)."""

    action_id: Identifier = Field(description="Unique, never reused")
    action_type: Label = Field(description="What is done")
    blast_radius_tier: BlastRadius = Field(description="How far it can reach")
    target_refs: Annotated[tuple[TargetRef, ...], Field(min_length=1, max_length=MAX_ITEMS)] = (
        Field(description="What it touches; at least one resource")
    )
    preconditions: Annotated[tuple[Precondition, ...], Field(max_length=64)] = Field(
        default=(), description="Checks made before dispatch"
    )
    constraints: Details = Field(description="Rate limits, scope bounds, change windows")
    authorization: Authorization = Field(description="Who lets it happen")
    idempotency_key: Identifier | None = Field(
        default=None,
        description="Same key and body: done once; null only where the envelope demands no key",
    )
    rollback_plan: RollbackPlan = Field(description="How it is undone")
    execution: ExecutionPlan | None = Field(default=None, description="How it is carried out")
