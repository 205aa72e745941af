"""The change of an envelope that a type of drift suggests by itself; it never loosens.

Time, fan-out, contention and a ladder in use can only be cured by a wider envelope or by another way of working. The
first needs a human's judgement and the second no change of the envelope, so nothing is suggested for them.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from lictor_contracts.operations import pointer
from lictor_schema import DTE, BlastRadius, DegradeStep, DriftType, PatchOperation, Threshold


def suggested_operations(drift_type: DriftType, dte: DTE) -> tuple[PatchOperation, ...]:
    """The tightening that answers a type of drift; empty when a human has to find the answer."""
    return _SUGGESTED[drift_type](dte)


def _none(dte: DTE) -> tuple[PatchOperation, ...]:
    del dte
    return ()


def _no_stale_context(dte: DTE) -> tuple[PatchOperation, ...]:
    if not dte.freshness.allow_stale_if_safe:
        return ()
    return (PatchOperation(op="set", path="/freshness/allowStaleIfSafe", old=True, new=False),)


def _less_scope(dte: DTE) -> tuple[PatchOperation, ...]:
    found: list[PatchOperation] = []
    for index, rung in enumerate(dte.degrade_ladder):
        if rung.step is DegradeStep.BYPASS:
            old = rung.model_dump(mode="json", by_alias=True)
            found.append(PatchOperation(op="remove", path=pointer("degradeLadder", index), old=old))
    largest = dte.safe_action.blast_radius_max
    smaller = [tier for tier in BlastRadius if tier.rank == largest.rank - 1]
    found += [_set("/safeAction/blastRadiusMax", largest.value, tier.value) for tier in smaller]
    if not dte.safe_action.require_idempotency:
        found.append(_set("/safeAction/requireIdempotency", False, True))
    return tuple(found)


def _more_verification(dte: DTE) -> tuple[PatchOperation, ...]:
    above = dte.verification.required_above_blast_radius
    lower = [each for each in Threshold if each.rank == above.rank - 1]
    path = "/verification/requiredAboveBlastRadius"
    return tuple(_set(path, above.value, each.value) for each in lower)


def _set(path: str, old: str | bool, new: str | bool) -> PatchOperation:
    return PatchOperation(op="set", path=path, old=old, new=new)


_SUGGESTED: Mapping[DriftType, Callable[[DTE], tuple[PatchOperation, ...]]] = MappingProxyType(
    {
        DriftType.TIME: _none,
        DriftType.FRESHNESS: _no_stale_context,
        DriftType.FALLBACK: _none,
        DriftType.BYPASS: _less_scope,
        DriftType.VERIFY: _more_verification,
        DriftType.OUTCOME: _more_verification,
        DriftType.FANOUT: _none,
        DriftType.CONTENTION: _none,
    }
)
