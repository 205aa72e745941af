"""How well a used domain is covered, from what is known of its contracts. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from lictor_prove.layer_model import DomainPolicy, Layer
from lictor_schema.coverage import CoverageReport, CoverageStatus, DomainCoverage


def mentioned(
    policy: DomainPolicy, triggers: tuple[str, ...], names: tuple[str, ...]
) -> DomainCoverage:
    """The status by what is named alone."""
    missing = tuple(name for name in policy.required if name not in names)
    unsaid = tuple(name for name in policy.recommended if name not in names)
    if missing:
        status = CoverageStatus.REQUIRED_GAP
    elif not names:
        status = CoverageStatus.SILENT_GAP
    elif unsaid:
        status = CoverageStatus.RECOMMENDED_GAP
    else:
        status = CoverageStatus.COVERED
    return DomainCoverage(
        domain=policy.label,
        when_used=policy.when_used,
        used_calls=triggers,
        status=status,
        stated=names,
        enforced=missing,
        missing_recommended=unsaid,
        missing_required=missing,
    )


def judged(
    policy: DomainPolicy,
    triggers: tuple[str, ...],
    names: tuple[str, ...],
    entailed: tuple[str, ...],
    held: Collection[str],
) -> DomainCoverage:
    """The status by what is named, implied, and was added to the proof and held."""
    known = {*names, *entailed}
    unsaid = tuple(name for name in policy.recommended if name not in known)
    added = [name for name in policy.required if name not in known]
    enforced = tuple(name for name in added if f"{name}()" in held)
    missing = tuple(name for name in added if name not in enforced)
    if missing:
        status = CoverageStatus.REQUIRED_GAP
    elif not known and (unsaid or not enforced):
        status = CoverageStatus.SILENT_GAP
    elif unsaid:
        status = CoverageStatus.RECOMMENDED_GAP
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
