"""Somebody makes the system believe that a program is proved which is refuted: in Redis, or in the prover's place.

The services are processes, with an approval policy that would approve what the program promises, and a runner that runs
what the policy approves.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from reporting import acknowledged, service_process, sized_stream, wait_until_ready

import lictor
from lictor.programs import Program
from lictor_approval.request_life import RequestLife, folded
from lictor_bus.logs.certificates import store_certificate
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_ir.certificate.check import script_of
from lictor_ir.certificate.format import By, Certificate, Evidence, FrontEnd, Level, name_of, write
from lictor_ir.goals import Goal, goals
from lictor_ir.json.document import to_json
from lictor_local.embedded_servers import Endpoints
from lictor_prove.certificate.creation import certified
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import Proof, prove
from lictor_prove.proof.published_result import proof_result
from lictor_prove.rehearsal.rounds import rehearse
from lictor_run.rehearsal.local_stage import LocalStage
from lictor_schema.approvals.approval import ApprovalEntry
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofRehearsal, ProofResult, ProofVerdict
from lictor_schema.proofs.proof_strength import ProofStrength
from lictor_seal import SigningKey, TrustStore

ROOT = Path(__file__).parents[2]
LAYERS = ROOT / "examples/layers"
HONEST = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")
REFUTED = (ROOT / "examples/programs/newsletter_with_a_copy.py").read_text("utf-8")
PATIENCE_S = 60.0
POLICY = """
format: lictor-approval-policy/v1
rules:
  - name: newsletters
    decision: allow
    reason: at most sixty mails, to contacts alone
    when:
      coverage_at_most: required_enforced
      {more}
      entails:
        - contract: tools.mail.trusted.contracts.at_most
          arguments: [60]
        - contract: tools.mail.trusted.contracts.to_contacts
"""


@dataclass
class Place:
    """Services at work, and what an attacker can reach."""

    endpoints: Endpoints
    client: TolerantClient

    async def lives(self) -> list[RequestLife]:
        """Every request."""
        read = all_entries(self.client, "APPROVALS", subjects.APPROVAL.any, ApprovalEntry.from_json)
        entries = [entry async for _, entry in read]
        ids = dict.fromkeys(each.request_id for each in entries)
        lives = [folded(e for e in entries if e.request_id == each) for each in ids]
        return [life for life in lives if life is not None]

    async def until_taken_in(self) -> None:
        """Wait until the approval service has seen every proof, and the runner every approval."""
        await acknowledged(self.client, streams.PROOFS, "approvals")
        await acknowledged(self.client, streams.APPROVALS, "runner")

    async def ran(self) -> int:
        """How many entries the journals of runs have."""
        return await sized_stream(self.client, streams.RUNS)

    async def publish(self, submission: ProgramSubmission, result: ProofResult) -> None:
        """A program and its proof, with the rights of an agent and of the prover."""
        program = Outgoing(
            subjects.program(submission.runtime, submission.task_id), submission.to_json()
        )
        await publish_one(self.client, streams.PROGRAMS, program)
        subject = subjects.proof(result.runtime, result.verdict.value, result.task_id)
        await publish_one(self.client, streams.PROOFS, Outgoing(subject, result.to_json()))


@asynccontextmanager
async def installation(
    endpoints: Endpoints, keys: Path, *services: str, more: str = "", **settings: str
) -> AsyncIterator[Place]:
    """These services, with a policy whose decisions the runner accepts."""
    key = SigningKey.generate("lictor-approvals")
    key.save(keys / "policy.pem")
    (keys / "policy.yaml").write_text(POLICY.format(more=more), "utf-8")
    (keys / "policies.json").write_bytes(TrustStore.of([key.verifying_key]).to_bytes())
    environment = {
        "LICTOR_LAYERS": str(LAYERS),
        "LICTOR_PROOF_WORKERS": "1",
        "LICTOR_APPROVAL_POLICY": str(keys / "policy.yaml"),
        "LICTOR_APPROVAL_KEY": str(keys / "policy.pem"),
        "LICTOR_POLICY_APPROVERS": str(keys / "policies.json"),
        **settings,
    }
    async with AsyncExitStack() as running:
        client = await connect_nats(endpoints.nats_url, name="attacker")
        running.push_async_callback(client.close)
        await streams.declare(
            client, streams.PROGRAMS, streams.PROOFS, streams.CERTIFICATES, streams.RUNS
        )
        for name in services:
            await running.enter_async_context(
                service_process(f"lictor_{name}", endpoints, **environment)
            )
        for name in services:
            await wait_until_ready(client, name)
        yield Place(endpoints, client)


def as_proved(result: ProofResult, **more: object) -> ProofResult:
    """A refutation, rewritten into the proof that it is not."""
    guarantees = tuple(
        each.model_copy(
            update={
                "verdict": ProofVerdict.PROVED,
                "strength": ProofStrength.EVERY_PREFIX,
                "counterexample": None,
            }
        )
        for each in result.guarantees
    )
    rehearsal = ProofRehearsal(
        runs=9,
        sites=2,
        sites_reached=2,
        sites_unreachable=0,
        outcomes=4,
        outcomes_reached=4,
        outcomes_unreachable=0,
    )
    forged = {
        "verdict": ProofVerdict.PROVED,
        "reasons": (),
        "guarantees": guarantees,
        "rehearsal": rehearsal,
        **more,
    }
    return result.model_copy(update=forged)


async def kept_answers(redis: Redis) -> dict[bytes, bytes]:
    """What the prover keeps."""
    keys = [key async for key in redis.scan_iter("lictor:prover:answer:*")]
    return {key: value for key in keys if isinstance(value := await redis.get(key), bytes)}


async def test_no_rewritten_answer_in_redis_makes_a_refuted_program_run(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    async with (
        installation(clean_infra, tmp_path, "rehearser", "prover", "approvals", "runner") as place,
        lictor.connect(clean_infra.nats_url) as agent,
        Redis.from_url(clean_infra.redis_url) as redis,
    ):
        (refuted,) = await agent.prove(Program(REFUTED, name="n.py"), task_id="before")
        ((key, refutation),) = (await kept_answers(redis)).items()
        (honest,) = await agent.prove(Program(HONEST, name="n.py"), task_id="honest")
        (moved,) = [value for name, value in (await kept_answers(redis)).items() if name != key]
        assert (refuted.verdict, honest.verdict) == (ProofVerdict.REFUTED, ProofVerdict.PROVED)
        genuine = ProofResult.from_json(refutation)
        coverage = honest.coverage
        assert coverage is not None
        coverage = coverage.model_copy(update={"program_hash": genuine.program_hash})
        certificate = {
            "certificate_hash": honest.certificate_hash,
            "certificate_level": honest.certificate_level,
        }
        forgeries = {
            "without a certificate": as_proved(genuine, coverage=coverage).to_json(),
            "with another program's certificate": as_proved(
                genuine, coverage=coverage, **certificate
            ).to_json(),
            "another program's answer": moved,
            "another program's answer under this program's name": ProofResult.from_json(moved)
            .model_copy(update={"program_hash": genuine.program_hash})
            .to_json(),
            "a certificate that nobody made": as_proved(
                genuine,
                coverage=coverage,
                certificate_hash="sha256:" + "0" * 64,
                certificate_level="c",
            ).to_json(),
            "no answer at all": b"{",
        }
        for number, (name, value) in enumerate(forgeries.items()):
            await redis.set(key, value)
            (again,) = await agent.prove(Program(REFUTED, name="n.py"), task_id=f"t{number}")
            assert (again.verdict, again.cached) == (ProofVerdict.REFUTED, False), name
        await place.until_taken_in()
        lives = await place.lives()
        # The honest program alone was asked about, approved by the policy, and run.
        assert [life.program.binding.program_hash for life in lives] == [program_hash(HONEST)]
        await until_ended(place)


async def test_what_redis_says_about_a_proved_program_is_not_what_is_published(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    async with (
        installation(clean_infra, tmp_path, "prover") as place,
        lictor.connect(clean_infra.nats_url) as agent,
        Redis.from_url(clean_infra.redis_url) as redis,
    ):
        del place
        (first,) = await agent.prove(HONEST, task_id="t")
        ((key, value),) = (await kept_answers(redis)).items()
        lies = {"summary": "It does nothing.", "coverage": None, "guarantees": ()}
        await redis.set(key, ProofResult.from_json(value).model_copy(update=lies).to_json())
        (again,) = await agent.prove(HONEST, task_id="t")
    told: dict[str, Any] = dict.fromkeys(
        ("submission_id", "decided_at", "elapsed_ms", "timings", "cached"), True
    )
    # It is rehearsed anew, in runs of its own.
    told["rehearsal"] = {"seed"}
    assert again.cached
    assert again.model_dump(exclude=told) == first.model_dump(exclude=told)


# -- in the prover's place ---------------------------------------------------------------------------


def proof_of(program: str) -> Proof:
    layer = load_layer(discover_trusted_roots([LAYERS]), [LAYERS])
    with LocalStage() as stage:
        proof = rehearse(prove(program, name="n.py", layer=layer, seed="5eed"), stage)
    return certified(proof, FrontEnd.PYTHON)


def submitted(program: str, task_id: str) -> ProgramSubmission:
    return ProgramSubmission(
        submission_id=str(uuid.uuid4()),
        task_id=task_id,
        agent_id="agent-7",
        correlation_id="c",
        submitted_at=datetime.now(UTC),
        language="python",
        source_name="n.py",
        program=program,
    )


def result_of(proof: Proof, submission: ProgramSubmission) -> ProofResult:
    return proof_result(
        proof,
        submission_id=submission.submission_id,
        task_id=submission.task_id,
        program=submission.program,
        language=submission.language,
        source_name=submission.source_name,
        decided_at=datetime.now(UTC),
    )


def on_the_solvers_word(proof: Proof) -> bytes:
    """A certificate of what does not hold: that solvers said so can be written by anybody."""
    assert proof.ir is not None
    document = proof.ir.document

    def evidence(goal: Goal) -> Evidence:
        if goal.folded:
            return Evidence(goal.id, goal.kind, By.EVALUATION, Level.C)
        text = script_of(goal)
        name = None if text is None else hash_bytes(text.encode())
        return Evidence(goal.id, goal.kind, By.SOLVER, Level.B, name, ("cvc5", "z3"))

    ir = to_json(document)
    return write(
        Certificate(
            ir=ir,
            ir_hash=hash_bytes(ir),
            layer_hash=document.layer_hash,
            program_hash=document.source_hash,
            front_end=FrontEnd.PYTHON,
            level=Level.B,
            witnesses=tuple(proof.witnesses.items()),
            goals=tuple(map(evidence, goals(document, proof.witnesses))),
            engine="forged",
            settings="",
            solvers=(("cvc5", "1"), ("z3", "4")),
        )
    )


async def until_ended(place: Place) -> None:
    """Wait until the one request has run to its end."""
    end = time.monotonic() + PATIENCE_S
    while [life.state.value for life in await place.lives() if life.execution] != ["executed"]:
        assert time.monotonic() < end, [life.state for life in await place.lives()]
        await asyncio.sleep(0.05)


async def test_no_forged_proof_without_a_certificate_that_shows_it_is_approved_by_a_policy(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    refuted, honest = proof_of(REFUTED), proof_of(HONEST)
    assert honest.certificate is not None
    said = on_the_solvers_word(refuted)
    certificates = {
        "null": (None, None),
        "unknown": ("sha256:" + "0" * 64, "c"),
        "of-another": (honest.certificate.hash, "c"),
        "of-solvers": (name_of(said), "b"),
        "of-solvers-called-c": (name_of(said), "c"),
    }
    async with installation(clean_infra, tmp_path, "approvals", "runner") as place:
        await store_certificate(place.client, honest.certificate.hash, honest.certificate.data)
        await store_certificate(place.client, name_of(said), said)
        coverage = honest.coverage
        assert coverage is not None
        for task, (name, level) in certificates.items():
            submission = submitted(REFUTED, task)
            forged = as_proved(
                result_of(refuted, submission),
                coverage=coverage.model_copy(update={"program_hash": program_hash(REFUTED)}),
                certificate_hash=name,
                certificate_level=level,
            )
            await place.publish(submission, forged)
        await place.until_taken_in()
        lives = await place.lives()
        # A person is asked: of all these, the prover says that they are proved.
        assert {life.request.binding.task_id: life.state.value for life in lives} == dict.fromkeys(
            certificates, "requested"
        )
        assert await place.ran() == 0
        # The same with a certificate that shows it is approved, and runs.
        submission = submitted(HONEST, "honest")
        await place.publish(submission, result_of(honest, submission))
        await until_ended(place)


async def test_the_runner_does_not_take_the_policys_word_for_a_certificate(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    """A policy that believes solvers approves; the runner, which is not told to, does not run it."""
    refuted = proof_of(REFUTED)
    said = on_the_solvers_word(refuted)
    honest = proof_of(HONEST)
    believing = "certificate_level_at_least: b"
    async with installation(clean_infra, tmp_path, "approvals", "runner", more=believing) as place:
        await store_certificate(place.client, name_of(said), said)
        submission = submitted(REFUTED, "t")
        assert honest.coverage is not None
        forged = as_proved(
            result_of(refuted, submission),
            coverage=honest.coverage.model_copy(update={"program_hash": program_hash(REFUTED)}),
            certificate_hash=name_of(said),
            certificate_level="b",
        )
        await place.publish(submission, forged)
        end = time.monotonic() + PATIENCE_S
        while [life.state.value for life in await place.lives()] != ["stale"]:
            assert time.monotonic() < end, [life.state for life in await place.lives()]
            await asyncio.sleep(0.05)
        (life,) = await place.lives()
        assert "shows level b, less than c" in str(life.reason)
        assert await place.ran() == 0
