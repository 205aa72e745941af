"""What a request shows must be what its proof says, also where no hash binds it."""

from datetime import UTC, datetime, timedelta

import pytest

from lictor_approval.request_binding import asked
from lictor_runner.approved_program import StaleApproval, approved_of
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofRehearsal, ProofResult, ProofVerdict

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
LAYER = content_hash("a layer")
SUBMITTED = ProgramSubmission(
    submission_id="s-1",
    task_id="t-1",
    agent_id="agent-7",
    correlation_id="c-1",
    submitted_at=NOW,
    language="python",
    source_name="program.py",
    program="def main() -> None:\n    pass\n",
)
REHEARSED = ProofRehearsal(
    runs=1,
    sites=0,
    sites_reached=0,
    sites_unreachable=0,
    outcomes=0,
    outcomes_reached=0,
    outcomes_unreachable=0,
)
PROVED = ProofResult(
    submission_id="s-1",
    task_id="t-1",
    program_hash=program_hash(SUBMITTED.program),
    program_hash_of="bytes",
    ir_hash=content_hash("ir"),
    layer_hash=LAYER,
    verdict=ProofVerdict.PROVED,
    rehearsal=REHEARSED.model_copy(update={"runs": 0, "refused": "no rehearser is running"}),
    decided_at=NOW,
    elapsed_ms=1,
    engine="prover-1",
    python="cpython 3.11",
)
REQUEST = asked(SUBMITTED, 3, PROVED, 5, at=NOW, within=timedelta(hours=1))


def test_a_request_as_it_is_made_from_its_proof_may_run() -> None:
    assert approved_of(REQUEST, [(3, SUBMITTED)], PROVED, [LAYER]).layer_hash == LAYER


def test_what_runs_is_bound_to_the_python_that_it_was_proved_for() -> None:
    assert approved_of(REQUEST, [(3, SUBMITTED)], PROVED, [LAYER]).python == "cpython 3.11"
    other = PROVED.model_copy(update={"python": "cpython 3.13"})
    with pytest.raises(StaleApproval, match="is not what was approved"):
        approved_of(REQUEST, [(3, SUBMITTED)], other, [LAYER])


def test_the_hash_of_a_binding_that_names_no_python_is_what_it_was() -> None:
    """People signed it; its program does not run, but what they signed still verifies."""
    older = PROVED.model_copy(update={"python": None})
    request = asked(SUBMITTED, 3, older, 5, at=NOW, within=timedelta(hours=1))
    assert b"python" not in request.binding.to_json().replace(b'"language":"python"', b"")
    assert approved_of(request, [(3, SUBMITTED)], older, [LAYER]).python is None


def test_a_request_that_shows_a_rehearsal_which_nobody_did_never_runs() -> None:
    forged = REQUEST.model_copy(update={"rehearsal": REHEARSED})
    assert forged.binding_hash == REQUEST.binding_hash
    with pytest.raises(StaleApproval, match="shows another rehearsal than its proof"):
        approved_of(forged, [(3, SUBMITTED)], PROVED, [LAYER])
