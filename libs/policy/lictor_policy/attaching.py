"""Evidence attached to a task: what is new about it, how strong it is, what it is offered for."""

from base64 import b64encode
from zlib import crc32

from lictor_policy.state import MAX_EVIDENCE, TaskState, class_bit, is_offered, note_evidence
from lictor_schema.claims import ClaimType
from lictor_schema.evidence import EvidenceClass, EvidenceItem

_COMPLETIONS = frozenset((ClaimType.COMPLETION, ClaimType.VERIFIED_COMPLETION))
_BACKS_NEXT_STEP = frozenset(
    (
        EvidenceClass.DECISION_RECORD,
        EvidenceClass.TOOL_OUTPUT,
        EvidenceClass.FILE_CHANGE,
        EvidenceClass.RUNTIME_ARTIFACT,
        EvidenceClass.VERIFICATION_OUTPUT,
    )
)
_CHECK = 6
_CHECKS_KEPT = 256
"""So many items are known again. Not more: an agent that wants to can always give old evidence a new id."""


def attach(state: TaskState, items: tuple[EvidenceItem, ...]) -> TaskState:
    """The state of a task with more evidence; the latest word on an item is what counts."""
    kept = {note[2:]: note for note in state.evidence}
    new_items, new_best = state.new_items, state.new_best
    best, completion = state.best_quality, state.completion_quality
    mask, backed = state.class_mask, state.next_step_backed
    total, recent = state.items_total, state.recent_items
    weakened = False
    for item in items:
        rank = item.quality.rank
        check = _check(item.evidence_id)
        known = kept.get(item.evidence_id)
        before = 0 if known is None else int(known[0])
        # Neither is the same item attached again anything new, nor one that shows nothing.
        if rank and not before and check not in recent:
            recent = (recent + check)[-_CHECKS_KEPT * _CHECK :]
            new_items += 1
            total += 1
            new_best = max(new_best, rank)
            backed = backed or item.supports.next_step or item.evidence_class in _BACKS_NEXT_STEP
        elif rank < before:
            weakened = True
            if not rank and check in _latest(recent, new_items):
                at = recent.rindex(check)
                recent = recent[:at] + recent[at + _CHECK :]
                new_items -= 1
                total -= 1
        offered = not _COMPLETIONS.isdisjoint(item.supports.claim_types)
        best = max(best, rank)
        if offered:
            completion = max(completion, rank)
        if rank:
            mask |= class_bit(item.evidence_class)
        kept[item.evidence_id] = note_evidence(
            item.evidence_id,
            item.evidence_class,
            item.quality,
            offered=offered or (known is not None and is_offered(known)),
        )
    notes = tuple(kept.values())
    if weakened:
        best = _best(notes)
        completion = _best(tuple(filter(is_offered, notes)))
        latest = _latest(recent, new_items)
        new_best = _best(tuple(note for note in notes if _check(note[2:]) in latest))
        backed = backed and new_items > 0
    return state.changed(
        new_items=new_items,
        new_best=new_best,
        best_quality=best,
        completion_quality=completion,
        class_mask=mask,
        next_step_backed=backed,
        items_total=total,
        recent_items=recent,
        evidence=notes if len(notes) <= MAX_EVIDENCE else _strongest(notes),
    )


def _check(evidence_id: str) -> str:
    """A short check of an item, by which it is known again."""
    number = crc32(evidence_id.encode("utf-8", "surrogatepass"))
    return b64encode(number.to_bytes(4, "big"))[:_CHECK].decode()


def _latest(recent: str, number: int) -> str:
    return recent[-number * _CHECK :] if number else ""


def _best(notes: tuple[str, ...]) -> int:
    return int(max(note[0] for note in notes)) if notes else 0


def _strongest(notes: tuple[str, ...]) -> tuple[str, ...]:
    # A note begins with its quality, so the stronger is the greater.
    ranked = sorted(range(len(notes)), key=lambda at: (notes[at][0], at), reverse=True)
    stay = set([at for at in ranked if is_offered(notes[at])][: MAX_EVIDENCE // 2])
    others = [at for at in ranked if at not in stay]
    stay.update(others[: MAX_EVIDENCE - len(stay)])
    return tuple(notes[at] for at in sorted(stay))
