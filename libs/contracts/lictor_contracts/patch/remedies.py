"""The change of a policy pack that answers a request for a patch: the remedy of the envelope that drifts, in its pack.

Envelopes stand in packs, so the document that is patched is the pack's. The envelope takes a new version with it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from pydantic import ValidationError

from lictor_contracts.patch.document import PatchDocumentError, PolicyDocument, read_document
from lictor_contracts.patch.operations import pointer, pointer_parts
from lictor_contracts.patch.proposal import PatchRefused, next_version, propose
from lictor_schema.contracts.drift import DriftType
from lictor_schema.contracts.envelope import DTE, BlastRadius, DegradeStep, Threshold
from lictor_schema.contracts.patch import PatchOperation, PatchProposal, PatchRequest
from lictor_schema.core.canonical_json import CanonicalError, canonical_json
from lictor_schema.packs.pack import PolicyPack


@dataclass(frozen=True, slots=True)
class EnvelopeInPack:
    """An envelope, the pack that holds it, and its place there."""

    document: PolicyDocument
    index: int
    envelope: DTE


def envelopes_in(documents: Iterable[PolicyDocument]) -> dict[str, EnvelopeInPack]:
    """The envelopes of packs by decision type; the first counts where several hold one."""
    found: dict[str, EnvelopeInPack] = {}
    for document in documents:
        try:
            pack = PolicyPack.from_json(canonical_json(document.data))
        except (ValidationError, CanonicalError):
            # The evaluator refuses such a pack; it governs nothing.
            continue
        for index, envelope in enumerate(pack.spec.envelopes):
            place = EnvelopeInPack(document, index, envelope)
            found.setdefault(envelope.decision_type, place)
    return found


def pack_remedy(
    request: PatchRequest,
    envelopes: Mapping[str, EnvelopeInPack],
    *,
    proposed_by: str,
    proposed_at: str,
) -> PatchProposal | None:
    """The proposal that a type of drift suggests by itself; None when a human has to find the answer."""
    found = envelopes.get(request.decision_type)
    if found is None:
        return None
    remedy = suggested_operations(request.drift_type, found.envelope)
    if not remedy:
        return None
    try:
        return propose(
            found.document,
            in_envelope(found.document, found.index, remedy),
            reason=f"{request.drift_type.value} drift, seen {request.occurrences} times:"
            f" {request.cause}",
            severity=request.severity,
            proposed_by=proposed_by,
            proposed_at=proposed_at,
            caused_by=(request.request_id,),
        )
    except PatchRefused:
        return None


def in_envelope(
    document: PolicyDocument, index: int, operations: Iterable[PatchOperation]
) -> tuple[PatchOperation, ...]:
    """Operations on an envelope as operations on its pack; the envelope takes its next version."""
    at = pointer("spec", "envelopes", index)
    moved: list[PatchOperation] = []
    for each in operations:
        path = at + each.path
        # What is written, not what it means: a field that is left out is not there to be changed.
        old = None if each.op == "insert" else _value(document.data, path)
        moved.append(each.model_copy(update={"path": path, "old": old}))
    version = _value(document.data, f"{at}/version")
    moved.append(
        PatchOperation(op="set", path=f"{at}/version", old=version, new=next_version(str(version)))
    )
    return tuple(moved)


def pack_documents(files: Iterable[tuple[str, str]]) -> tuple[PolicyDocument, ...]:
    """The packs among files, by name and text; what can't be read is left out."""
    found: list[PolicyDocument] = []
    for name, text in files:
        try:
            found.append(read_document("policy_pack", name, text))
        except PatchDocumentError:
            continue
    return tuple(found)


def _value(data: Any, path: str) -> Any:
    for part in pointer_parts(path):
        if isinstance(data, list):
            items = cast("list[Any]", data)
            data = items[int(part)] if part.isdigit() and int(part) < len(items) else None
        elif isinstance(data, dict):
            data = cast("dict[str, Any]", data).get(part)
        else:
            return None
    return data


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
