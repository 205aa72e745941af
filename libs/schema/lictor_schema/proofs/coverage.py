"""Coverage: which guarantees were stated about the domains a program uses, and which were not."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from lictor_schema.core.base_model import MAX_ITEMS, ContentHash, Label, Model

Names = Annotated[tuple[Label, ...], Field(max_length=MAX_ITEMS)]


class CoverageStatus(StrEnum):
    """How well a used domain is covered. `loudness` orders them for display: loudest first."""

    loudness: int

    def __new__(cls, value: str) -> "CoverageStatus":
        member = str.__new__(cls, value)
        member._value_ = value
        member.loudness = len(cls.__members__)
        return member

    COVERED = "covered"
    """Every recommended and required contract is stated."""
    COVERED_BY_ENTAILMENT = "covered_by_entailment"
    """What is proved implies those that are not stated."""
    REQUIRED_ENFORCED = "required_enforced"
    """A required contract was not stated; it was enforced and held."""
    COVERED_BY_NAME = "covered_by_name"
    """A contract that takes arguments is stated, and nobody compared what it was given with anything."""
    RECOMMENDED_GAP = "recommended_gap"
    """The domain is addressed, but a recommended contract is missing."""
    SILENT_GAP = "silent_gap"
    """The domain is used and nothing is stated about it."""
    REQUIRED_GAP = "required_gap"
    """A required contract is missing."""


class DomainCoverage(Model):
    """The coverage of one used domain."""

    domain: Label = Field(description="The domain's label")
    when_used: Names = Field(description="Trusted functions that make the domain used")
    used_calls: Names = Field(description="Those of them that the program calls")
    status: CoverageStatus = Field(description="How well it is covered")
    stated: Names = Field(default=(), description="Contracts the program states about it")
    entailed: Names = Field(default=(), description="Contracts implied by what is proved")
    by_name: Names = Field(
        default=(),
        # Reports from before it was told keep their hashes.
        exclude_if=lambda names: not names,
        description="Recommended contracts that are stated with arguments which were compared with nothing",
    )
    enforced: Names = Field(
        default=(), description="Required contracts that were added to the proof, and held"
    )
    missing_recommended: Names = Field(default=(), description="Recommended, neither of these")
    missing_required: Names = Field(default=(), description="Required, neither of these")

    def told(self) -> str:
        """What is missing and what else is known of its contracts, for whoever reads the report."""
        parts = (
            (self.missing_required, "required, not stated, and not proved"),
            (self.missing_recommended, "recommended, and neither stated nor implied"),
            (self.by_name, "named, and what it was given is compared with nothing"),
            (self.enforced, "required and not stated; it was added to the proof, and holds"),
            (self.entailed, "implied by what is proved"),
        )
        told = [f"{_are(names)} {words}" for names, words in parts if names]
        return "; ".join(told) or (
            f"{_are(self.stated)} stated" if self.stated else "nothing is stated about it"
        )


def _are(names: tuple[str, ...]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


class CoverageReport(Model):
    """The coverage of every domain a program uses."""

    program_hash: ContentHash = Field(description="The program")
    layer_hash: ContentHash | None = Field(default=None, description="The trusted layer")
    level: Literal["mention", "entailment"] = Field(
        description="Whether naming a contract covers it, or only implying it does"
    )
    domains: Annotated[tuple[DomainCoverage, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="Used domains, loudest first"
    )

    @property
    def worst(self) -> CoverageStatus:
        """The loudest status: what a badge shows."""
        return max(
            (domain.status for domain in self.domains),
            key=lambda status: status.loudness,
            default=CoverageStatus.COVERED,
        )
