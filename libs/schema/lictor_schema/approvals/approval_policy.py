"""Approval policies: which requests are approved or rejected without asking anybody. Written in YAML.

A rule holds when each of its conditions does. `allow` rules must say what has to be guaranteed, and how much may be
left unsaid: a policy can't allow what it does not describe.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    MAX_SAFE_INTEGER,
    ContentHash,
    Identifier,
    Label,
    Model,
    Scalar,
    Text,
)
from lictor_schema.proofs.coverage import CoverageStatus
from lictor_schema.proofs.proof import CertificateLevel
from lictor_schema.proofs.proof_strength import ProofStrength

_MAX_LISTED = 100
Identifiers = Annotated[tuple[Identifier, ...], Field(min_length=1, max_length=_MAX_LISTED)]
Effects = Annotated[tuple[Label, ...], Field(min_length=1, max_length=_MAX_LISTED)]
Hashes = Annotated[tuple[ContentHash, ...], Field(min_length=1, max_length=_MAX_LISTED)]
DottedName = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$", max_length=256
    ),
]
RuleName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
Several = Field(max_length=_MAX_LISTED)
Item = Scalar | Annotated[tuple[Scalar, ...], Several] | Annotated[dict[Label, Scalar], Several]
Argument = Scalar | Annotated[tuple[Item, ...], Several] | Annotated[dict[Label, Item], Several]
"""A literal: a scalar, a list or a map, nested once. What it means is told by what the contract asks for."""


class ContractCall(Model):
    """A contract of the trusted layer's vocabulary, with literal arguments."""

    contract: DottedName = Field(
        description="Its module and name: `tools.mail.trusted.contracts.at_most`"
    )
    arguments: Annotated[tuple[Argument, ...], Field(max_length=20)] = Field(
        default=(), description="By position"
    )
    named: Annotated[dict[Label, Argument], Field(max_length=20)] = Field(
        default_factory=dict[str, Argument], description="By name"
    )

    def __str__(self) -> str:
        named = (f"{name}={_spelled(value)}" for name, value in self.named.items())
        return f"{self.contract}({', '.join([*map(_spelled, self.arguments), *named])})"


def _spelled(value: Argument | Item) -> str:
    """A literal as the policy has it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_spelled(each)}' for name, each in value.items())}}}"
    return repr(value)


Contracts = Annotated[tuple[ContractCall, ...], Field(min_length=1, max_length=_MAX_LISTED)]


Bound = Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]


class ValueCondition(Model):
    """What a value has to be: all that is given."""

    any: Literal[True] | None = Field(
        default=None, description="Whatever it is; what is proved holds for every value"
    )
    one_of: Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=_MAX_LISTED)] | None = (
        Field(
            default=None,
            description="One of these. A text stands for a float (`1.5`), or an int beyond 2**53, where the value"
            " is one; what stands for no value of its type leaves the condition unknown",
        )
    )
    at_least: Bound | None = Field(default=None, description="A number not below this")
    at_most: Bound | None = Field(default=None, description="A number not above this")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.one_of is not None and None in self.one_of:
            raise PydanticCustomError(
                "value_null",
                "one_of names null, and no value is ever null; quote it if it is a text",
            )
        bounds = (self.one_of, self.at_least, self.at_most)
        if (self.any is None) == all(each is None for each in bounds):
            raise PydanticCustomError(
                "value_condition", "give `any: true`, or one_of, at_least or at_most"
            )
        return self


Values = Annotated[dict[Label, ValueCondition], Field(min_length=1, max_length=_MAX_LISTED)]


class PolicyConditions(Model):
    """What has to be so for a rule to hold: all that is given."""

    agents: Identifiers | None = Field(
        default=None, description="The submitting agent is one of these"
    )
    tasks: Identifiers | None = Field(default=None, description="The task is one of these")
    layers: Hashes | None = Field(default=None, description="The trusted layer is one of these")
    only_effects: Effects | None = Field(
        default=None, description="The program calls no trusted function but these"
    )
    any_effect: Effects | None = Field(
        default=None, description="The program calls at least one of these"
    )
    entails: Contracts | None = Field(
        default=None, description="What is proved implies each of these"
    )
    not_entailed: Contracts | None = Field(
        default=None, description="What is proved does not imply one of these, and a trace shows it"
    )
    coverage_at_most: CoverageStatus | None = Field(
        default=None, description="No domain is covered worse than this"
    )
    coverage_at_least: CoverageStatus | None = Field(
        default=None, description="Some domain is covered as badly as this, or worse"
    )
    strength: ProofStrength | None = Field(
        default=None, description="Every guarantee holds for at least these runs"
    )
    certificate: Literal[True] | None = Field(
        default=None, description="The proof comes with a certificate"
    )
    certificate_level_at_least: CertificateLevel | None = Field(
        default=None,
        description="The certificate was checked again, and shows this much: `a` the least, `c` the most."
        " A rule that allows and does not say so demands `c`",
    )
    # Left out where they are null, so that the hash of an older policy stays what it was.
    rehearsed: bool | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Whether the proof was compared with Python. A rule that allows and does not say so demands it;"
        " `false` there lifts that, and in other rules holds of what was not rehearsed",
    )
    rehearsal_coverage_at_least: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="How many of a hundred call sites and branch outcomes that a run can reach were reached",
    )
    inputs: Values | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Each of these values is given, and is so. A rule that allows has to name every value that is"
        " given; one that names none allows only programs without",
    )


class PolicyRule(Model):
    """One rule."""

    name: RuleName = Field(description="Unique in the policy")
    decision: Literal["allow", "ask", "reject"] = Field(description="What it decides")
    reason: Text = Field(description="Why; told with the decision")
    when: PolicyConditions = Field(description="When it holds")

    @model_validator(mode="after")
    def _says_enough(self) -> Self:
        when = self.when
        if not when.model_dump(exclude_none=True):
            raise PydanticCustomError(
                "rule_conditions", "when must give a condition; a rule for everything is no rule"
            )
        if self.decision != "allow":
            return self
        if when.entails is None or when.coverage_at_most is None:
            raise PydanticCustomError(
                "rule_allow",
                "a rule that allows must give entails and coverage_at_most: what has to be"
                " guaranteed, and how much may be left unsaid",
            )
        if when.coverage_at_most is CoverageStatus.REQUIRED_GAP:
            raise PydanticCustomError(
                "rule_gap", "a rule can't allow a required gap; name a better coverage"
            )
        return self


class ApprovalPolicy(Model):
    """The rules. Every `reject` rule counts before any `ask`, and every `ask` before any `allow`."""

    format: Literal["lictor-approval-policy/v1"] = Field(description="The form of this document")
    good_for_s: Annotated[int, Field(ge=1, le=3600)] = Field(
        default=600, description="How long a program may be started by an approval"
    )
    rules: Annotated[tuple[PolicyRule, ...], Field(max_length=200)] = Field(
        description="The rules; of several that hold, the first is told"
    )

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [rule.name for rule in self.rules]
        if len(set(names)) < len(names):
            raise PydanticCustomError("rule_names", "two rules must not have one name")
        return self
