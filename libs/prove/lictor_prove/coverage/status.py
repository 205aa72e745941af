"""How well a used domain is covered, from what is known of its contracts. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum, auto
from typing import Literal

from lictor_prove.layer_model import Layer, LayerPolicy
from lictor_schema.proofs.coverage import CoverageReport, CoverageStatus, DomainCoverage


class StatementKind(Enum):
    """How far what a policy names is said of a program."""

    STATED = auto()
    BY_NAME = auto()
    """A contract of that name is stated, with arguments that were compared with nothing."""
    ENTAILED = auto()
    MISSING = auto()


def judged(
    policy: LayerPolicy,
    triggers: tuple[str, ...],
    names: tuple[str, ...],
    said: Mapping[str, StatementKind],
    held: Collection[str],
) -> DomainCoverage:
    """The status by what is named of the domain, how what its policy names is said, and what was added and held."""

    def those(listed: tuple[str, ...], *how: StatementKind) -> tuple[str, ...]:
        return tuple(each for each in dict.fromkeys(listed) if said[each] in how)

    every = (*policy.required, *policy.recommended)
    entailed = those(every, StatementKind.ENTAILED)
    by_name = those(policy.recommended, StatementKind.BY_NAME)
    unsaid = those(policy.recommended, StatementKind.MISSING)
    added = those(policy.required, StatementKind.MISSING)
    enforced = tuple(name for name in added if name in held)
    missing = tuple(name for name in added if name not in enforced)
    if missing:
        status = CoverageStatus.REQUIRED_GAP
    elif not (names or entailed) and (unsaid or not enforced):
        status = CoverageStatus.SILENT_GAP
    elif unsaid:
        status = CoverageStatus.RECOMMENDED_GAP
    elif by_name:
        status = CoverageStatus.COVERED_BY_NAME
    elif enforced:
        status = CoverageStatus.REQUIRED_ENFORCED
    elif entailed:
        status = CoverageStatus.COVERED_BY_ENTAILMENT
    else:
        status = CoverageStatus.COVERED
    return DomainCoverage(
        domain=policy.label,
        when_used=policy.when_used,
        used_calls=triggers,
        status=status,
        stated=names,
        entailed=entailed,
        by_name=by_name,
        enforced=enforced,
        missing_recommended=unsaid,
        missing_required=missing,
    )


def reported(
    found: list[DomainCoverage],
    layer: Layer,
    program_hash: str,
    level: Literal["mention", "entailment"],
) -> CoverageReport:
    """The report, loudest domain first."""
    found.sort(key=lambda domain: (-domain.status.loudness, domain.domain))
    return CoverageReport(
        program_hash=program_hash, layer_hash=layer.hash, level=level, domains=tuple(found)
    )
