"""A certificate is checked again before a rule counts on its level: the prover's word does not help."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lictor_approval.request_binding import asked
from lictor_ir.certificate.format import FrontEnd
from lictor_prove.certificate.creation import certified
from lictor_prove.certificate.recheck import recheck
from lictor_prove.layers import load_layer
from lictor_prove.layers.installed import installed_layers
from lictor_prove.proof.prover import prove
from lictor_schema.approvals.approval import ApprovalRequest
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import GuaranteeResult, ProofResult, ProofVerdict
from lictor_schema.proofs.proof_strength import ProofStrength

ROOT = Path(__file__).parents[3]
NEWSLETTER = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Certified(NamedTuple):
    result: ProofResult
    data: bytes


@pytest.fixture(scope="module")
def proved() -> Certified:
    ((_, roots),) = installed_layers(
        {"LICTOR_LAYERS": str(ROOT / "examples/layers")}
    ).layers.items()
    layer = load_layer(
        [Path(each) for each in roots.trusted], [Path(each) for each in roots.imports]
    )
    proof = certified(prove(NEWSLETTER, name="n.py", layer=layer), FrontEnd.PYTHON)
    document, certificate = proof.ir, proof.certificate
    assert document is not None
    assert certificate is not None
    guarantees = tuple(
        GuaranteeResult(
            name=found.name,
            verdict=ProofVerdict.PROVED,
            strength=found.strength,
            required=bool(stated.required_by),
        )
        for stated, found in zip(document.document.guarantees, proof.guarantees, strict=True)
    )
    result = ProofResult(
        submission_id="s-1",
        task_id="t-1",
        program_hash=program_hash(NEWSLETTER),
        program_hash_of="bytes",
        ir_hash=proof.ir_hash,
        layer_hash=proof.layer_hash,
        verdict=ProofVerdict.PROVED,
        guarantees=guarantees,
        certificate_hash=certificate.hash,
        certificate_level=certificate.level.value,
        decided_at=NOW,
        elapsed_ms=1,
        engine="prover",
    )
    return Certified(result, certificate.data)


def request(result: ProofResult, **changes: Any) -> ApprovalRequest:
    submission = ProgramSubmission(
        submission_id="s-1",
        task_id="t-1",
        agent_id="agent-7",
        correlation_id="c-1",
        submitted_at=NOW,
        language="python",
        source_name="n.py",
        program=NEWSLETTER,
    )
    changed = result.model_copy(update=changes)
    return asked(submission, 1, changed, 2, at=NOW, within=timedelta(hours=1))


async def test_a_certificate_shows_its_level_to_whoever_checks_it(proved: Certified) -> None:
    found = await recheck(request(proved.result), proved.data, 60)
    assert (found.level, found.problem) == (proved.result.certificate_level, "")


OTHER = content_hash("another")


async def test_one_about_anything_else_than_the_request_shows_nothing(proved: Certified) -> None:
    weaker = [
        each.model_copy(update={"strength": ProofStrength.ON_COMPLETION})
        for each in proved.result.guarantees
    ]
    for change in (
        {"ir_hash": OTHER},
        {"layer_hash": OTHER},
        {"certificate_hash": OTHER},
        {"guarantees": proved.result.guarantees[1:]},
        {"guarantees": tuple(weaker)},
    ):
        found = await recheck(request(proved.result, **change), proved.data, 60)
        assert found.level is None, change
        assert "certificate" in found.problem


async def test_one_that_was_tampered_with_or_takes_too_long_shows_nothing(
    proved: Certified,
) -> None:
    level = f'"level":"{proved.result.certificate_level}"'.encode()
    assert level in proved.data
    raised = proved.data.replace(level, b'"level":"a"' if b'"a"' not in level else b'"level":"c"')
    for data in (raised, proved.data[:-10], b"", b"{}"):
        found = await recheck(request(proved.result), data, 60)
        assert found.level is None
        assert "refused" in found.problem
    late = await recheck(request(proved.result), proved.data, 0.01)
    assert late.level is None
