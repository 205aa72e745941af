"""A program has one hash, that of its bytes; what people signed before that was so still counts for what it was."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from approval_samples import APPROVERS, LIMITS, NOW, PROGRAM, proof, request, submission

from lictor_approval.decision_validity import decided, requested
from lictor_approval.errors import NotApprovable
from lictor_approval.request_binding import bound, is_of
from lictor_approval.request_life import folded
from lictor_schema.approvals.approval import ApprovalBinding, ApprovalRequest, ApprovalState
from lictor_schema.core.canonical_json import canonical_json, content_hash, hash_bytes
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import ProofResult

OLDER = Path(__file__).parent / "older"
"""A submission, its proof, the request and the signed decision, as they were written before."""


@pytest.fixture
def old() -> ApprovalRequest:
    return ApprovalRequest.from_json((OLDER / "request.json").read_bytes())


@pytest.fixture
def submitted() -> ProgramSubmission:
    return ProgramSubmission.from_json((OLDER / "submission.json").read_bytes())


@pytest.fixture
def proved() -> ProofResult:
    return ProofResult.from_json((OLDER / "proof.json").read_bytes())


def test_a_program_is_named_by_the_hash_of_its_bytes_in_proof_coverage_and_binding():
    found = proof(submission())
    assert found.program_hash == hash_bytes(PROGRAM.encode())
    assert found.coverage is not None
    assert found.coverage.program_hash == found.program_hash
    binding = request().binding
    assert (binding.program_hash, binding.program_hash_of) == (found.program_hash, "bytes")
    # What it was made of is signed with it.
    assert content_hash(binding) != content_hash(
        binding.model_copy(update={"program_hash_of": None})
    )


def test_an_older_signed_approval_still_verifies_and_binds_the_same(old, submitted, proved):
    stored = json.loads((OLDER / "request.json").read_bytes())
    assert old.binding_hash == content_hash(stored["binding"])
    assert canonical_json(old.binding) == canonical_json(stored["binding"])
    assert old.binding.program_hash == content_hash(PROGRAM)
    signed = (OLDER / "decision.txt").read_text()
    asked = folded([requested(old)])
    assert asked is not None
    entry = decided(asked, signed, APPROVERS, NOW + timedelta(seconds=2), LIMITS)
    life = folded([requested(old), entry])
    assert life is not None
    assert life.state is ApprovalState.APPROVED
    # The runner binds anew, and finds what was signed.
    assert is_of(old, submitted)
    assert content_hash(bound(submitted, proved)) == old.binding_hash


def test_a_hash_of_one_kind_is_never_taken_for_one_of_the_other(old, submitted, proved):
    # The text in quotes is a program, too: by its bytes it has the hash that the text had as a JSON string.
    quoted = submitted.model_copy(update={"program": json.dumps(submitted.program)})
    assert hash_bytes(quoted.program.encode()) == old.binding.program_hash
    assert not is_of(old, quoted)
    with pytest.raises(NotApprovable, match="about program"):
        bound(quoted, proved)
    now = proved.model_copy(update={"program_hash_of": "bytes"})
    with pytest.raises(NotApprovable, match="about program"):
        bound(submitted, now)
    assert content_hash(bound(quoted, now)) != old.binding_hash


def test_an_older_binding_is_written_as_it_was_read(old):
    assert "program_hash_of" not in json.loads(old.to_json())["binding"]
    again = ApprovalBinding.from_json(old.binding.to_json())
    assert again == old.binding
