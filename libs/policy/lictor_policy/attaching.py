"""Evidence attached to a task: what is new about it, how strong it is, what it is offered for."""

from zlib import crc32

from lictor_policy.state import MAX_EVIDENCE, TaskState, class_bit, note_evidence
from lictor_schema.claims import ClaimType
from lictor_schema.evidence import EvidenceClass, EvidenceItem

_COMPLETIONS = frozenset((ClaimType.COMPLETION, ClaimType.VERIFIED_COMPLETION))
_BACKS_NEXT_STEP = frozenset(
    (
        EvidenceClass.DECISION_RECORD,
        EvidenceClass.TOOL_OUTPUT,
        EvidenceClass.FILE_CHANGE,
        EvidenceClass.RUNTIME_ARTIFACT,
    )
)
# The check of an item that was attached is eight hex digits and a comma.
_CHECKS_KEPT = 64 * 9


def attach(state: TaskState, items: tuple[EvidenceItem, ...]) -> TaskState:
    """The state of a task with more evidence."""
    kept = {note[2:]: note for note in state.evidence}
    new_items, new_best = state.new_items, state.new_best
    best, completion = state.best_quality, state.completion_quality
    mask, backed = state.class_mask, state.next_step_backed
    total, recent = state.items_total, state.recent_items
    for item in items:
        rank = item.quality.rank
        check = f"{crc32(item.evidence_id.encode('utf-8', 'surrogatepass')):08x},"
        known = kept.get(item.evidence_id, "0")
        # Neither is the same item attached again anything new, nor one that shows nothing.
        if rank and known.startswith("0") and check not in recent:
            recent = (recent + check)[-_CHECKS_KEPT:]
            new_items += 1
            total += 1
            new_best = max(new_best, rank)
            backed = backed or item.supports.next_step or item.evidence_class in _BACKS_NEXT_STEP
        best = max(best, rank)
        if not _COMPLETIONS.isdisjoint(item.supports.claim_types):
            completion = max(completion, rank)
        mask |= class_bit(item.evidence_class)
        kept[item.evidence_id] = note_evidence(item.evidence_id, item.evidence_class, item.quality)
    notes = tuple(kept.values())
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


def _strongest(notes: tuple[str, ...]) -> tuple[str, ...]:
    # A note begins with its quality, so the stronger is the greater.
    ranked = sorted(range(len(notes)), key=lambda index: (notes[index][0], index))
    return tuple(notes[index] for index in sorted(ranked[-MAX_EVIDENCE:]))
