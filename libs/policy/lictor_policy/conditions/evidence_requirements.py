"""The evidence that a rule asks for: what of it is missing, and the fact by which conditions ask for it.

`evidence.requirements_met` is about the rule that asks it. When a rule is compiled, its requirements are written into
the name of the fact, so that from then on a condition can be read, reduced and analysed without its rule.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

from lictor_policy.conditions.condition_text import leaves_of
from lictor_policy.conditions.facts import (
    FACTS,
    REQUIREMENTS_MET,
    Fact,
    FactType,
    bears_progress,
    unknown_name,
)
from lictor_policy.errors import PackError
from lictor_policy.events.content import claim_type_of
from lictor_policy.events.position import EventPosition
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.task.state import NO_CLASSES, QUALITIES, TaskState, class_bit, class_index
from lictor_schema.events.claim import ClaimType, TaskStatus
from lictor_schema.events.event import Event
from lictor_schema.events.evidence import EvidenceClass, Quality
from lictor_schema.packs.pack import Condition, EvidenceRequirements, Rule

Claimed = Literal["progress", "completion", "verified_completion", "nothing"]
"""What of the requirements an event is held to."""
CLAIMED: tuple[Claimed, ...] = ("progress", "completion", "verified_completion", "nothing")


class Need(NamedTuple):
    """One thing that must be there."""

    what: Literal["new", "completion", "verified completion", "any"]
    """Evidence since the last checkpoint, offered for a completion, or at all."""
    items: int
    floor: int
    """The rank of quality that the best must have."""
    classes: tuple[EvidenceClass, ...]
    """Only evidence of these counts; any when empty."""

    def missing(self, state: TaskState) -> str | None:
        """What is missing of it, in words; None when it is there."""
        match self.what:
            case "any":
                there = any(state.class_mask & class_bit(each) for each in self.classes)
                return (
                    None if there else f"evidence of one of the classes {', '.join(self.classes)}"
                )
            case "new":
                return self._missing_new(state)
            case _:
                best = state.completion_quality
                if self.classes:
                    best = _most(state.completion_bests, self.classes)
                if best >= self.floor:
                    return None
                wanted, there = QUALITIES[self.floor].value, QUALITIES[best].value
                return (
                    f"evidence for {self.what}: at least {wanted} wanted, {there} there"
                    f"{self._counting()}"
                )

    def _missing_new(self, state: TaskState) -> str | None:
        count, best = state.new_items, state.new_best
        if self.classes:
            counts = state.new_counts or NO_CLASSES
            count = sum(counts[class_index(each)] for each in self.classes)
            best = _most(state.new_bests, self.classes)
        if count < self.items:
            return (
                f"new evidence since the last checkpoint: {self.items} wanted, {count} there"
                f"{self._counting()}"
            )
        if count and best < self.floor:
            least = QUALITIES[self.floor].value
            return f"new evidence of at least {least} quality{self._counting()}"
        return None

    def _counting(self) -> str:
        return f" (counting only {', '.join(self.classes)})" if self.classes else ""


Needs = dict[Claimed, tuple[Need, ...]]


def needs_of(requirements: EvidenceRequirements) -> Needs:
    """What a rule asks for, by what an event claims.

    A claim is held to the requirement of its own type; a verified completion to that of a completion where no other is
    stated. An event that claims nothing is held to all of them; a report that claims completion and mentions something
    finished, to both.
    """
    done, verified = requirements.completion, requirements.verified_completion
    classes = requirements.must_reference_evidence_classes
    new = _progress(requirements)
    of_completion = () if done is None else (_quality("completion", done.min_quality, classes),)
    of_verified = (
        of_completion
        if verified is None
        else (_quality("verified completion", verified.min_quality, classes),)
    )
    # Classes alone ask for evidence of one of them, whatever is claimed.
    alone = (Need("any", 1, 0, classes),)
    if requirements.progress is None and done is None and verified is None:
        return dict.fromkeys(CLAIMED, alone if classes else ())
    both = of_completion if verified is None else (*of_completion, *of_verified)
    return {
        "progress": new,
        "completion": of_completion,
        "verified_completion": of_verified,
        "nothing": (*new, *both),
    }


def _progress(requirements: EvidenceRequirements) -> tuple[Need, ...]:
    progress, classes = requirements.progress, requirements.must_reference_evidence_classes
    if progress is None:
        return ()
    count = progress.min_new_items_since_last_checkpoint or 0
    floor = progress.allowed_quality_floor or Quality.NONE
    if count or floor.rank:
        return (Need("new", count, floor.rank, classes),)
    return (Need("any", 1, 0, classes),) if classes else ()


def _quality(
    what: Literal["completion", "verified completion"],
    least: Quality,
    classes: tuple[EvidenceClass, ...],
) -> Need:
    # Of a class that is asked for there must be something that shows anything.
    return Need(what, 1, max(least.rank, Quality.WEAK.rank) if classes else least.rank, classes)


def claimed_by(event: Event) -> tuple[Claimed, ...]:
    """What of a rule's requirements an event is held to."""
    claim = claim_type_of(event)
    told: tuple[Claimed, ...] = ()
    if claim is ClaimType.VERIFIED_COMPLETION:
        told = ("verified_completion",)
    # Setting the status to completed claims no less, whatever else is claimed.
    elif claim is ClaimType.COMPLETION or (
        event.event_type == "task_status_changed"
        and event.payload.to_status is TaskStatus.COMPLETED
    ):
        told = ("completion",)
    # To call it done as well makes a report of progress no better founded.
    if bears_progress(event):
        told = (*told, "progress")
    return told or ("nothing",)


def missing(needs: Needs, state: TaskState, event: Event) -> list[str]:
    """What a rule asks for at an event and the task doesn't have."""
    told = (need.missing(state) for kind in claimed_by(event) for need in needs[kind])
    return list(dict.fromkeys(text for text in told if text is not None))


def bound(rule: Rule, fail: Callable[[Path, str], PackError]) -> Rule:
    """The rule with its requirements in the conditions that ask whether they are met."""
    name = REQUIREMENTS_MET
    if any(needs_of(rule.evidence_requirements).values()):
        stated = rule.evidence_requirements.model_dump(
            mode="json", exclude_defaults=True, exclude={"must_reference_event_types"}
        )
        name = f"{REQUIREMENTS_MET} {json.dumps(stated, sort_keys=True)}"
    conditions = _bound(rule.conditions, name, ("conditions",), fail)
    if conditions is rule.conditions:
        return rule
    return rule.model_copy(update={"conditions": conditions})


def _bound(
    condition: Condition, name: str, path: Path, fail: Callable[[Path, str], PackError]
) -> Condition:
    groups = (("all", "all_of", condition.all_of), ("any", "any_of", condition.any_of))
    for group, field, parts in groups:
        if parts is not None:
            within = tuple(
                _bound(part, name, (*path, group, index), fail) for index, part in enumerate(parts)
            )
            same = all(one is other for one, other in zip(parts, within, strict=True))
            return condition if same else condition.model_copy(update={field: within})
    if condition.negated is not None:
        inner = _bound(condition.negated, name, (*path, "not"), fail)
        same = inner is condition.negated
        return condition if same else condition.model_copy(update={"negated": inner})
    if condition.fact is None or not condition.fact.startswith(REQUIREMENTS_MET):
        return condition
    if condition.fact != REQUIREMENTS_MET:
        raise fail((*path, "fact"), unknown_name("fact", condition.fact, FACTS))
    return condition if name == condition.fact else condition.model_copy(update={"fact": name})


def asks_requirements(condition: Condition) -> bool:
    """Whether a condition asks if the requirements of its rule are met."""
    return any((leaf.fact or "").startswith(REQUIREMENTS_MET) for leaf in leaves_of(condition))


def stated_in(name: str) -> EvidenceRequirements | None:
    """The requirements that stand in the name of a fact, if some do."""
    head, _, stated = name.partition(" ")
    if head != REQUIREMENTS_MET or not stated:
        return None
    return EvidenceRequirements.from_json(stated)


@lru_cache(maxsize=1024)
def named_fact(name: str) -> Fact | None:
    """A fact by its name, with the requirements in it or without; None when there is none."""
    requirements = stated_in(name)
    if requirements is None:
        return FACTS.get(name)
    needs = needs_of(requirements)

    def met(state: TaskState, event: Event, _position: EventPosition) -> bool:
        return not missing(needs, state, event)

    return Fact(name, FactType.BOOL, FACTS[REQUIREMENTS_MET].meaning, met)


def _most(bests: tuple[int, ...], classes: tuple[EvidenceClass, ...]) -> int:
    return max(bests[class_index(each)] for each in classes) if bests else 0
