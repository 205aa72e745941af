"""When a request is about something that is not so any more."""

from typing import Any

import pytest
from approval_samples import LAYER, LIMITS, NOW, REHEARSED, proof, request, submission

from lictor_approval.request_binding import asked
from lictor_approval.stale_requests import layer_changed, proved_anew, shown_otherwise, superseded
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.proof import GuaranteeResult, ProofReason, ProofVerdict

OTHER = content_hash("another layer")


def test_a_later_submission_under_the_same_name_takes_its_place() -> None:
    again = submission(submission_id="s-2", program="def main() -> None: ...")
    assert "submitted anew as s-2" in str(superseded(request(), [(3, submission()), (4, again)]))


@pytest.mark.parametrize(
    "other",
    [
        {"submission_id": "s-1"},
        {"source_name": "other.py"},
        {"target": "other"},
        {"agent_id": "agent-8"},
        {"task_id": "t-2"},
    ],
)
def test_a_submission_of_something_else_does_not(other: Any) -> None:
    assert superseded(request(), [(4, submission(**{"submission_id": "s-2", **other}))]) is None


def test_an_earlier_submission_does_not_however_late_it_is_proved() -> None:
    assert superseded(request(), [(2, submission(submission_id="s-0"))]) is None


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"engine": "prover-2"}, "engine"),
        ({"python": "cpython 3.13"}, "python"),
        ({"python": None}, "python"),
        ({"ir_hash": OTHER}, "ir_hash"),
        ({"layer_hash": OTHER}, "layer_hash"),
        ({"certificate_hash": OTHER, "certificate_level": "c"}, "certificate_hash"),
        ({"rehearsal": REHEARSED.model_copy(update={"refused": "no rehearser"})}, "rehearsal"),
        ({"rehearsal": REHEARSED.model_copy(update={"outcomes_reached": 3})}, "rehearsal"),
        ({"rehearsal": None}, "rehearsal"),
        (
            {"guarantees": (GuaranteeResult(name="less", verdict=ProofVerdict.PROVED),)},
            "guarantees_hash",
        ),
        (
            {
                "verdict": ProofVerdict.REFUTED,
                "guarantees": (),
                "reasons": (ProofReason(code="c", message="m", remedy="r"),),
            },
            "refuted",
        ),
    ],
)
def test_a_later_proof_that_binds_anything_else_does(change: Any, names: str) -> None:
    one = submission()
    assert names in str(proved_anew(request(), one, proof(one, **change), 6))


def test_the_same_proof_again_or_an_earlier_one_or_one_of_another_submission_does_not() -> None:
    one, other = submission(), submission(submission_id="s-2")
    assert proved_anew(request(), one, proof(one), 6) is None
    assert proved_anew(request(), one, proof(one, engine="prover-0"), 4) is None
    assert proved_anew(request(), other, proof(other, engine="prover-2"), 6) is None


def test_a_proof_with_other_runs_that_show_as_much_does_not() -> None:
    """Each proof draws a seed of its own: the same program must not need a new decision for that."""
    one = submission()
    for other in ({"seed": "b" * 32}, {"runs": 9}, {"outcomes_reached": 5}):
        again = proof(one, rehearsal=REHEARSED.model_copy(update=other))
        assert proved_anew(request(), one, again, 6) is None
        assert asked(one, 3, again, 6, at=NOW, within=LIMITS.decide_within).request_id == (
            request().request_id
        )


def test_the_same_program_with_other_values_is_another_call_and_takes_no_place() -> None:
    mine = request(inputs={"limit": 50})
    for other in ({"limit": 51}, {"limit": {"float": "50.0"}}, {"limit": True}, None):
        assert superseded(mine, [(4, submission(submission_id="s-2", inputs=other))]) is None
    # Submitted anew as it was, or changed: whatever values it comes with now.
    same = submission(submission_id="s-2", inputs={"limit": 50})
    assert "submitted anew" in str(superseded(mine, [(4, same)]))
    for values in ({"limit": 50}, {"limit": 51}, None):
        changed = submission(submission_id="s-2", inputs=values, program="pass")
        assert "submitted anew" in str(superseded(mine, [(4, changed)]))


def test_true_and_one_are_other_values() -> None:
    mine = request(inputs={"on": True})
    assert superseded(mine, [(4, submission(submission_id="s-2", inputs={"on": 1}))]) is None


def test_a_layer_that_is_no_longer_installed_does() -> None:
    assert layer_changed(request(), [LAYER, OTHER]) is None
    assert "no longer installed" in str(layer_changed(request(), [OTHER]))
    assert "no longer installed" in str(layer_changed(request(), []))


def test_a_new_current_layer_does_unless_the_submission_named_its_own() -> None:
    assert "current trusted layer" in str(layer_changed(request(), [OTHER, LAYER]))
    named = request(layer_hash=LAYER)
    assert layer_changed(named, [OTHER, LAYER]) is None


def test_a_request_that_shows_what_its_proof_says_is_not_stale() -> None:
    assert shown_otherwise(request(), proof(submission())) is None


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"rehearsal": None}, "rehearsal"),
        ({"rehearsal": REHEARSED.model_copy(update={"refused": "no rehearser"})}, "rehearsal"),
        ({"rehearsal": REHEARSED.model_copy(update={"outcomes_reached": 1})}, "rehearsal"),
        ({"rehearsal": REHEARSED.model_copy(update={"seed": "b" * 32})}, "rehearsal"),
        ({"summary": "it pays everybody"}, "summary"),
    ],
)
def test_a_request_that_shows_more_than_its_proof_says_is_stale(said: Any, names: str) -> None:
    """Its binding is right: whoever could write to the log of requests chose what people and policies see."""
    assert names in str(shown_otherwise(request(), proof(submission(), **said)))
