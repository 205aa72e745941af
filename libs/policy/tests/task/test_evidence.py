"""Evidence that is attached again: nothing new, and worth what was last said of it."""

from typing import Any

import pytest

from lictor_policy.offline.stories import Stage
from lictor_policy.task.state import class_bit, is_offered, note_evidence
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.evidence import EvidenceClass, Quality

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


HASH = {letter: letter * 64 for letter in "abcdef"}


def ref(place: str, sha256: str | None = None, kind: str = "log") -> dict[str, Any]:
    return {"refs": [{"kind": kind, "ref": place, "sha256": sha256 and HASH[sha256]}]}


def new_of(stage: Stage, at: float, item: dict[str, Any]) -> int:
    """How many new items a report has after an item was attached, when each item is followed by a report."""
    count = attach(stage, at, item).new_since_last_checkpoint
    stage.say("task_checkpoint_sent", at + 0.5)
    return count


def test_the_same_artefact_under_a_new_id_before_each_report_is_no_new_evidence(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    claim = {"type": "progress", "text": "It moves on."}
    decisions: list[Disposition] = []
    for number in range(4):
        attach(stage, 2 * number + 1, make_evidence(number, **ref("logs/run.txt", "a")))
        decisions.append(
            stage.say("task_checkpoint_sent", 2 * number + 2, claim=claim).decision.decision
        )
    assert decisions[0] is Disposition.ALLOW
    assert Disposition.ALLOW not in decisions[1:]


@pytest.mark.parametrize(
    ("shown", "new"),
    [
        pytest.param([("run.txt", "a"), ("run.txt", "b")], [1, 1], id="its content changed"),
        pytest.param([("run.txt", "a"), ("copy.txt", "a")], [1, 0], id="a copy elsewhere"),
        pytest.param([("run.txt", None), ("run.txt", None)], [1, 0], id="no hash, no change"),
        pytest.param([("run.txt", None), ("./a/../run.txt", None)], [1, 0], id="another spelling"),
        pytest.param([("run.txt", None), ("other.txt", None)], [1, 1], id="another place"),
        pytest.param([("run.txt", "a"), ("run.txt", None)], [1, 0], id="the hash is left out"),
        pytest.param(
            [("run.txt", None), ("run.txt", "a"), ("run.txt", "b")], [1, 0, 1], id="hashed later"
        ),
        pytest.param(
            [("run.txt", "a"), ("run.txt", None), ("run.txt", "b")], [1, 0, 1], id="hash between"
        ),
        pytest.param([("run.txt", "a"), ("run.txt", "b"), ("run.txt", "a")], [1, 1, 0], id="back"),
    ],
)
def test_evidence_is_new_by_what_it_points_at(
    stage: Stage, make_evidence: Any, shown: list[tuple[str, str | None]], new: list[int]
) -> None:
    stage.say("task_started")
    found = [
        new_of(stage, 2 * number + 1, make_evidence(number, **ref(*each)))
        for number, each in enumerate(shown)
    ]
    assert found == new


def test_an_item_with_something_old_and_something_new_is_new(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    old, fresh = ref("run.txt", "a")["refs"], ref("more.txt", "b")["refs"]
    assert new_of(stage, 1, make_evidence(1, refs=old)) == 1
    assert new_of(stage, 3, make_evidence(2, refs=[*old, *fresh])) == 1
    assert new_of(stage, 5, make_evidence(3, refs=[*old, *fresh])) == 0


def test_an_id_that_stands_for_another_artefact_is_new(stage: Stage, make_evidence: Any) -> None:
    stage.say("task_started")
    assert new_of(stage, 1, make_evidence("log", **ref("run.txt", "a"))) == 1
    assert new_of(stage, 3, make_evidence("log", **ref("run.txt", "b"))) == 1


def test_taking_back_after_the_report_does_not_make_an_artefact_new_again(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    assert new_of(stage, 1, make_evidence(1, **ref("run.txt", "a"))) == 1
    attach(stage, 3, make_evidence(1, "none", **ref("run.txt", "a")))
    assert new_of(stage, 4, make_evidence(1, **ref("run.txt", "a"))) == 0


def test_an_artefact_that_is_shown_with_every_report_is_not_forgotten(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    again = ref("run.txt", "a")
    attach(stage, 1, make_evidence("first", **again))
    for at in range(2, 12):
        others = [make_evidence(f"{at}-{number}") for number in range(100)]
        items = [*others, make_evidence(f"again-{at}", **again)]
        assert attach(stage, at, *items).new_since_last_checkpoint == 100 + (at == 2)
        stage.say("task_checkpoint_sent", at + 0.5)


def test_a_promise_is_not_kept_by_an_artefact_that_was_there_before(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    attach(stage, 1, make_evidence(1, **ref("run.txt", "a")))
    stage.say(
        "task_checkpoint_sent", 2, promised_followup={"what": "the counts", "due_at": "t+600"}
    )
    attach(stage, 3, make_evidence(2, **ref("run.txt", "a")))
    stage.say("task_checkpoint_sent", 4)
    assert stage.state is not None
    assert len(stage.state.promises) == 1


def test_an_item_that_is_called_of_another_class_counts_as_that(
    stage: Stage, make_evidence: Any
) -> None:
    stage.say("task_started")
    attach(stage, 1, make_evidence(1))
    attach(stage, 2, make_evidence(1, **{"class": "operator_message"}))
    assert stage.state is not None
    assert sum(stage.state.new_counts) == stage.state.new_items == 1
    attach(stage, 3, make_evidence(1, "none", **{"class": "operator_message"}))
    assert set(stage.state.new_counts) == {0}
    assert set(stage.state.completion_bests) == {0}


def test_of_a_class_whose_only_item_is_taken_back_nothing_is_there(
    stage: Stage, make_evidence: Any
) -> None:
    def classes() -> int:
        assert stage.state is not None
        return stage.state.class_mask

    reply, check = class_bit(EvidenceClass.EXTERNAL_REPLY), class_bit(EvidenceClass.TOOL_OUTPUT)
    stage.say("task_started")
    attach(stage, 1, make_evidence(1, "weak", **{"class": "external_reply"}))
    attach(stage, 2, make_evidence(2, "weak", **{"class": "external_reply"}))
    attach(stage, 3, make_evidence(3, "weak", **{"class": "tool_output"}))
    attach(stage, 4, make_evidence(1, "none", **{"class": "external_reply"}))
    assert classes() == reply | check
    attach(stage, 5, make_evidence(2, "weak", **{"class": "tool_output"}))
    assert classes() == check
    attach(stage, 6, *(make_evidence(each, "none") for each in (2, 3)))
    assert classes() == 0
