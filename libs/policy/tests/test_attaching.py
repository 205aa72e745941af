"""Evidence that is attached again: nothing new, and worth what was last said of it."""

from typing import Any

from lictor_policy.state import is_offered, note_evidence
from lictor_policy.stories import Stage
from lictor_schema.decisions import Disposition
from lictor_schema.evidence import EvidenceClass, Quality

PROGRESS = {"supports": {"claim_types": ["progress"]}}


def attach(stage: Stage, at: float, *items: dict[str, Any]) -> Any:
    return stage.say("task_evidence_attached", at, items=list(items)).record.evidence


def claim(stage: Stage, at: float) -> Disposition:
    return stage.say("task_claimed_complete", at).decision.decision


def test_evidence_that_is_taken_back_backs_no_completion(stage: Stage, make_evidence: Any) -> None:
    stage.say("task_started")
    attach(stage, 1, make_evidence(1, "strong"))
    evidence = attach(stage, 2, make_evidence(1, "none", summary="The check was wrong"))
    assert (evidence.best_quality, evidence.new_since_last_checkpoint) == (Quality.NONE, 0)
    assert claim(stage, 3) is Disposition.DOWNGRADE_STATUS


def test_what_is_left_counts_when_one_item_is_taken_back(stage: Stage, make_evidence: Any) -> None:
    stage.say("task_started")
    attach(stage, 1, make_evidence(1, "strong"), make_evidence(2, "moderate"))
    evidence = attach(stage, 2, make_evidence(1, "none"))
    assert (evidence.best_quality, evidence.new_since_last_checkpoint) == (Quality.MODERATE, 1)
    assert stage.state is not None
    assert stage.state.new_best == Quality.MODERATE.rank
    assert claim(stage, 3) is Disposition.ALLOW


def test_what_a_completion_rests_on_is_known_among_much_stronger_evidence(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    attach(stage, 1, make_evidence("only", "moderate"))
    attach(stage, 2, *(make_evidence(number, "strong", **PROGRESS) for number in range(40)))
    attach(stage, 3, make_evidence("only", "none"))
    assert claim(stage, 4) is Disposition.DOWNGRADE_STATUS


def test_an_item_shown_again_for_something_else_still_backs_the_completion(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    attach(stage, 1, make_evidence(1, "strong"))
    attach(stage, 2, make_evidence(1, "strong", **PROGRESS), make_evidence(2, "weak"))
    attach(stage, 3, make_evidence(2, "none"))
    assert claim(stage, 4) is Disposition.ALLOW


def test_what_was_taken_back_is_new_when_it_is_shown_again(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    shown = [
        attach(stage, at, make_evidence(1, quality)).new_since_last_checkpoint
        for at, quality in enumerate(("strong", "none", "strong"))
    ]
    assert shown == [1, 0, 1]


def test_two_hundred_items_attached_again_are_nothing_new(stage: Stage, make_evidence: Any) -> None:
    stage.say("task_started")
    items = [make_evidence(number) for number in range(200)]
    assert attach(stage, 1, *items).new_since_last_checkpoint == 200
    stage.say("task_checkpoint_sent", 2)
    assert attach(stage, 3, *items).new_since_last_checkpoint == 0


def test_a_note_says_whether_the_item_is_offered_for_a_completion() -> None:
    for offered in (True, False):
        note = note_evidence("1", EvidenceClass.TOOL_OUTPUT, Quality.WEAK, offered=offered)
        assert is_offered(note) is offered
