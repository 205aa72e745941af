"""What a policy approved runs by a certificate that the runner checked; what a person signed runs without one."""

import uuid

import pytest
from runner_bus import ALICE, Bus
from runs_on_disk import program

from lictor_approval.signed_decisions import Approvers
from lictor_bus.errors import BusError
from lictor_bus.logs.certificates import store_certificate
from lictor_ir.certificate.format import FrontEnd
from lictor_prove.certificate.creation import certified
from lictor_prove.proof.result import Proof
from lictor_runner.app import RunnerSettings
from lictor_runner.runner import Runner
from lictor_schema.approvals.approval import PolicyGround
from lictor_schema.core.canonical_json import content_hash
from lictor_seal import SigningKey, TrustStore

PAY = program("pay('ada', 5)")
MACHINE = SigningKey.generate("lictor-approvals")
GROUND = PolicyGround(policy_hash=content_hash("policy"), rule="small", why="it is small")
TRUSTED = Approvers(TrustStore.of([ALICE.verifying_key]), TrustStore.of([MACHINE.verifying_key]))


def runner_of(bus: Bus) -> Runner:
    return bus.runner(approvers=lambda: TRUSTED)


def with_certificate(proof: Proof) -> Proof:
    return certified(proof, FrontEnd.PYTHON)


async def test_a_proof_without_a_certificate_never_runs_by_a_policy(bus: Bus) -> None:
    life = await bus.request(PAY)
    delivery = await bus.approve(life, MACHINE, automatic=GROUND)
    assert await runner_of(bus).handle(delivery) == "stale"
    ended = await bus.life(life.request.request_id)
    assert ended.reason == "a policy approved it, and its proof has no certificate"
    assert bus.bank.done() == []


async def test_a_proof_without_a_certificate_runs_by_the_signature_of_a_person(bus: Bus) -> None:
    _, delivery = await bus.approved(PAY)
    assert await runner_of(bus).handle(delivery) == "executed"


async def test_a_certificate_that_is_not_stored_or_was_changed_does_not_help(bus: Bus) -> None:
    life = await bus.request(PAY, certify=with_certificate)
    delivery = await bus.approve(life, MACHINE, automatic=GROUND)
    assert await runner_of(bus).handle(delivery) == "stale"
    assert "is not stored" in str((await bus.life(life.request.request_id)).reason)

    other = await bus.request(PAY, certify=with_certificate, source_name=f"{uuid.uuid4().hex}.py")
    named = other.program.binding.certificate_hash
    assert named is not None
    await store_certificate(bus.client, named, b'{"certificate":{},"hash":""}')
    delivery = await bus.approve(other, MACHINE, automatic=GROUND)
    assert await runner_of(bus).handle(delivery) == "stale"
    assert "refused" in str((await bus.life(other.request.request_id)).reason)
    assert bus.bank.done() == []


async def test_what_a_policy_approved_runs_when_its_certificate_shows_it(bus: Bus) -> None:
    proofs: list[Proof] = []

    def noted(proof: Proof) -> Proof:
        proofs.append(with_certificate(proof))
        return proofs[-1]

    life = await bus.request(PAY, certify=noted)
    certificate = proofs[0].certificate
    assert certificate is not None
    await store_certificate(bus.client, certificate.hash, certificate.data)
    delivery = await bus.approve(life, MACHINE, automatic=GROUND)
    assert await runner_of(bus).handle(delivery) == "executed"
    assert len(bus.bank.done()) == 1


def test_the_level_is_one_of_three() -> None:
    assert RunnerSettings.from_environment({}).certificate_level == "c"
    told = RunnerSettings.from_environment({"LICTOR_RUN_CERTIFICATE_LEVEL": "b"})
    assert told.certificate_level == "b"
    with pytest.raises(BusError, match="LICTOR_RUN_CERTIFICATE_LEVEL"):
        RunnerSettings.from_environment({"LICTOR_RUN_CERTIFICATE_LEVEL": "none"})
