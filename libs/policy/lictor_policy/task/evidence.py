"""Evidence attached to a task: what is new about it, how strong it is, what it is offered for."""

from lictor_policy.task.artefacts import KnownArtefacts, all_old
from lictor_policy.task.state import (
    MAX_EVIDENCE,
    NO_CLASSES,
    TaskState,
    as_reported,
    class_bit,
    class_index,
    class_index_of,
    is_new,
    is_offered,
    note_evidence,
    shows_again,
)
from lictor_schema.events.claim import COMPLETION_CLAIMS
from lictor_schema.events.evidence import EvidenceClass, EvidenceItem

_BACKS_NEXT_STEP = frozenset(
    (
        EvidenceClass.DECISION_RECORD,
        EvidenceClass.TOOL_OUTPUT,
        EvidenceClass.FILE_CHANGE,
        EvidenceClass.RUNTIME_ARTIFACT,
        EvidenceClass.VERIFICATION_OUTPUT,
    )
)


def attach(state: TaskState, items: tuple[EvidenceItem, ...]) -> TaskState:
    """The state of a task with more evidence.

    An item is known by its id, and the latest word on it counts. Whether it brings anything new depends on what it
    points at: the same artefact under another id is not new.
    """
    kept = {note[3:]: note for note in state.evidence}
    artefacts = KnownArtefacts(state.artefacts)
    new_items, total, backed = state.new_items, state.items_total, state.next_step_backed
    mask = state.class_mask
    counts = list(state.new_counts or NO_CLASSES)
    new_bests = list(state.new_bests or NO_CLASSES)
    offered_bests = list(state.completion_bests or NO_CLASSES)
    best = state.best_quality
    weakened, withdrawn = False, 0
    for item in items:
        rank = item.quality.rank
        at = class_index(item.evidence_class)
        known = kept.get(item.evidence_id)
        before = 0 if known is None else int(known[0])
        counted = known is not None and is_new(known)
        again = rank > 0 if known is None else shows_again(known)
        # What shows nothing is nothing new, and is not remembered as seen.
        if rank and artefacts.bring_something_new(item.refs) and not counted:
            new_items, total, counted, again = new_items + 1, total + 1, True, False
            counts[at] += 1
            backed = backed or item.supports.next_step or item.evidence_class in _BACKS_NEXT_STEP
        elif rank < before:
            weakened = True
            if not rank and known is not None:
                withdrawn |= 1 << class_index_of(known)
            if not rank and counted and known is not None:
                artefacts.take_back(item.refs)
                new_items, total, counted = new_items - 1, total - 1, False
                counts[class_index_of(known)] -= 1
        if known is not None and class_index_of(known) != at:
            weakened = True
            withdrawn |= 1 << class_index_of(known)
            if is_new(known) and counted:
                counts[class_index_of(known)] -= 1
                counts[at] += 1
        offered = any(each in COMPLETION_CLAIMS for each in item.supports.claim_types)
        best = max(best, rank)
        if offered:
            offered_bests[at] = max(offered_bests[at], rank)
        if counted:
            new_bests[at] = max(new_bests[at], rank)
        if rank:
            mask |= class_bit(item.evidence_class)
        kept[item.evidence_id] = note_evidence(
            item.evidence_id,
            item.evidence_class,
            item.quality,
            offered=offered or (known is not None and is_offered(known)),
            new=counted,
            again=again,
        )
    notes = tuple(kept.values())
    if weakened:
        best = max((int(note[0]) for note in notes), default=0)
        offered_bests = _bests(tuple(filter(is_offered, notes)))
        new_bests = _bests(tuple(filter(is_new, notes)))
        shown = sum({1 << class_index_of(note) for note in notes if note[0] != "0"})
        # Of a class whose last item that we know was withdrawn, nothing is there any more.
        mask = mask & ~withdrawn | shown if best else 0
        backed = backed and new_items > 0
    return state.changed(
        new_items=new_items,
        new_best=max(new_bests),
        new_counts=tuple(counts),
        new_bests=tuple(new_bests),
        best_quality=best,
        completion_quality=max(offered_bests),
        completion_bests=tuple(offered_bests),
        class_mask=mask,
        next_step_backed=backed,
        items_total=total,
        artefacts=artefacts.marks,
        evidence=notes if len(notes) <= MAX_EVIDENCE else _strongest(notes),
    )


def reported(state: TaskState) -> TaskState:
    """The state after a report: evidence from here on is new."""
    if not state.new_items:
        return state.changed(next_step_backed=False)
    return state.changed(
        new_items=0,
        new_best=0,
        new_counts=(),
        new_bests=(),
        artefacts=all_old(state.artefacts),
        next_step_backed=False,
        evidence=tuple(map(as_reported, state.evidence)),
    )


def _bests(notes: tuple[str, ...]) -> list[int]:
    """The strongest of the noted items, by class."""
    bests = list(NO_CLASSES)
    for note in notes:
        at = class_index_of(note)
        bests[at] = max(bests[at], int(note[0]))
    return bests


def _strongest(notes: tuple[str, ...]) -> tuple[str, ...]:
    # A note begins with its quality, so the stronger is the greater.
    ranked = sorted(range(len(notes)), key=lambda at: (notes[at][0], at), reverse=True)
    offered = [at for at in ranked if is_offered(notes[at])]
    # Of each class the strongest that a completion can rest on, then the strongest of all.
    first_of_class = {class_index_of(notes[at]): at for at in reversed(offered)}
    stay = set(first_of_class.values())
    stay.update([at for at in offered if at not in stay][: max(0, MAX_EVIDENCE // 2 - len(stay))])
    others = [at for at in ranked if at not in stay]
    stay.update(others[: MAX_EVIDENCE - len(stay)])
    return tuple(notes[at] for at in sorted(stay))
