"""The prover as a process on a real broker: verdicts, the cache, slow programs, kills."""

import asyncio
import dataclasses
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from reporting import reach, service_process, wait_until_ready

import lictor
from lictor.errors import LictorError, NotInTime
from lictor.governor import Governor
from lictor.history.everyones_history import EveryonesHistory
from lictor.programs import results
from lictor_bus.logs.dead_letters import list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all
from lictor_ir.json.document import to_json
from lictor_ir.text import write
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import document_of
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import ProofProgress, ProofResult, ProofVerdict
from lictor_schema.proofs.proof_strength import ProofStrength

ROOT = Path(__file__).parents[3]
LAYERS = ROOT / "examples/layers"
NEWSLETTER = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")
WITH_A_COPY = (ROOT / "examples/programs/newsletter_with_a_copy.py").read_text("utf-8")

MAIL = """\
from tools.mail.trusted import contracts as mail
from tools.mail.trusted.effects import send_mail
from lictor_layer import guarantee


@guarantee(mail.at_most({most}))
def main({inputs}) -> None:
{body}
"""
SEND = '    send_mail("a@b", "A", "hello")'
# Fermat: no solver finds the sum of two cubes that is a cube, and none proves in time that there is none.
XYZ = {"x": 1, "y": 1, "z": 1}
HARD = MAIL.format(
    most=0,
    inputs="x: int, y: int, z: int",
    body=f"""\
    if x > 0 and y > 0 and z > 0 and x * x * x + y * y * y == z * z * z:
    {SEND}""",
)


def mails(count: int, most: int = 5) -> str:
    return MAIL.format(most=most, inputs="", body="\n".join([SEND] * count))


@asynccontextmanager
async def prover(endpoints: Endpoints, *others: str, **environment: str) -> AsyncIterator[Governor]:
    """One prover with the example layer, other services, and an agent that asks it."""
    settings = {"LICTOR_LAYERS": str(LAYERS), "LICTOR_PROOF_WORKERS": "2", **environment}
    async with AsyncExitStack() as running:
        for name in ("prover", *others):
            await running.enter_async_context(
                service_process(f"lictor_{name}", endpoints, **settings)
            )
        client = await nats.connect(endpoints.nats_url)
        running.push_async_callback(client.close)
        for name in ("prover", *others):
            await wait_until_ready(client, name)
        yield await running.enter_async_context(lictor.connect(endpoints.nats_url))


async def stored(client: Client) -> list[ProofResult]:
    found = read_all(client, "PROOFS", subjects.PROOF.any)
    return [ProofResult.from_json(each.body) async for each in found]


async def test_a_program_is_proved_and_asked_again_it_is_answered_from_memory(clean_infra):
    async with prover(clean_infra) as governor:
        (first,) = await governor.prove(NEWSLETTER, task_id="t")
        (again,) = await governor.prove(NEWSLETTER, task_id="t")
    assert first.verdict is ProofVerdict.PROVED
    assert [each.verdict for each in first.guarantees] == [ProofVerdict.PROVED] * 4
    assert {each.strength for each in first.guarantees} == {ProofStrength.EVERY_PREFIX}
    assert first.ir_hash is not None
    assert first.layer_hash is not None
    assert first.coverage is not None
    assert (first.coverage.level, first.coverage.worst.value) == ("entailment", "required_enforced")
    assert first.analysis is not None
    assert [each.name for each in first.analysis.standings] == [
        each.name for each in first.guarantees
    ]
    assert not any(each.vacuous or each.redundant for each in first.analysis.standings)
    assert first.timings is not None
    assert (first.cached, again.cached) == (False, True)
    assert again.submission_id != first.submission_id
    told: dict[str, Any] = dict.fromkeys(
        ("submission_id", "decided_at", "elapsed_ms", "timings", "cached"), True
    )
    # A kept proof is rehearsed anew, in runs of its own.
    told["rehearsal"] = {"seed"}
    assert again.model_dump(exclude=told) == first.model_dump(exclude=told)


async def test_a_program_that_breaks_its_word_is_refuted_with_the_run_that_does(clean_infra):
    async with prover(clean_infra) as governor:
        (result,) = await governor.prove(WITH_A_COPY, task_id="t")
    assert result.verdict is ProofVerdict.REFUTED
    broken = {each.name: each.counterexample for each in result.guarantees if each.counterexample}
    assert "press@example.org" in broken["to_contacts()"]


async def test_what_cannot_be_read_is_rejected_with_the_place(clean_infra):
    program = mails(1).replace(SEND, f"    with lock:\n    {SEND}")
    async with prover(clean_infra) as governor:
        (result,) = await governor.prove(program, task_id="t")
    assert result.verdict is ProofVerdict.REJECTED
    first, *_ = result.reasons
    assert (first.code, first.line) == ("unsupported.with", 8)
    assert result.reasons[0].remedy


async def test_a_batch_is_answered_program_by_program(clean_infra):
    programs = [mails(count) for count in range(1, 13)]
    async with prover(clean_infra) as governor:
        results = await governor.prove(*programs, task_id="t")
    verdicts = [each.verdict for each in results]
    assert verdicts == [ProofVerdict.PROVED] * 5 + [ProofVerdict.REFUTED] * 7


async def test_a_document_is_judged_by_what_the_layer_says_of_its_calls(clean_infra):
    root = LAYERS
    layer = load_layer(discover_trusted_roots([root]), [root])
    honest = document_of(NEWSLETTER, name="n.py", layer=layer)
    silent = dataclasses.replace(honest, assumptions=(), obligations=())
    asked = [
        lictor.Program(to_json(honest).decode(), language="ir"),
        lictor.Program(write(silent), language="ir"),
        lictor.Program("no document", language="ir"),
    ]
    async with prover(clean_infra) as governor:
        results = await governor.prove(*asked, task_id="t")
    assert [each.verdict.value for each in results] == ["proved", "proved", "rejected"]
    assert {each.layer_hash for each in results} == {layer.hash}
    assert results[2].reasons[0].code == "ir.unreadable"


async def test_commands_are_proved_like_python_and_only_programs_can_run(clean_infra):
    source = (ROOT / "examples/programs/newsletter.lictor").read_text("utf-8")
    root = LAYERS
    layer = load_layer(discover_trusted_roots([root]), [root])
    described = write(document_of(source, name="n", layer=layer, language="commands"))
    asked = [
        lictor.Program(source, language="commands"),
        lictor.Program(NEWSLETTER),
        lictor.Program(described, language="ir"),
        # What is written for one front-end is no program for another.
        lictor.Program(described, language="commands"),
        lictor.Program(source),
        lictor.Program(source, language="ir"),
    ]
    async with prover(clean_infra) as governor:
        results = await governor.prove(*asked, task_id="t")
        (again,) = await governor.prove(asked[0], task_id="t")
    assert [(each.verdict.value, each.executable) for each in results] == [
        ("proved", True),
        ("proved", True),
        ("proved", False),
        ("rejected", True),
        ("rejected", True),
        ("rejected", False),
    ]
    assert [each.cannot_run is None for each in results] == [each.executable for each in results]
    codes = [each.reasons[0].code for each in results[3:]]
    assert codes == ["program.descriptive", "source.syntax", "ir.unreadable"]
    assert (again.cached, again.executable) == (True, True)


COUNTED = NEWSLETTER.replace("def main()", "def main(count: int)")


async def test_a_program_with_parameters_is_proved_for_all_values_and_runs_with_those_given(
    clean_infra,
):
    async with prover(clean_infra) as governor:
        for cached, count in ((False, 1), (True, 2**60)):
            asked = lictor.Program(COUNTED, inputs={"count": count})
            (result,) = await governor.prove(asked, task_id="t")
            assert (result.cached, result.verdict.value) == (cached, "proved")
            assert (result.executable, result.cannot_run) == (True, None)
            assert [str(each) for each in result.parameters or ()] == ["count: int"]


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        (None, "inputs.not_run"),
        ({"count": True}, "inputs.type"),
        ({"count": 1, "more": 1}, "inputs.unknown"),
    ],
)
async def test_values_that_do_not_fit_are_refused_whoever_publishes_them(
    clean_infra, inputs: Any, code: str
):
    """The SDK refuses them before they are sent; others publish what they like."""
    asked = lictor.Program(COUNTED, inputs=inputs)
    async with prover(clean_infra) as governor:
        with pytest.raises(LictorError, match="main"):
            await governor.prove(asked, task_id="t")
        submission = ProgramSubmission(
            submission_id="s-1",
            task_id="t",
            agent_id="agent",
            runtime=governor.identity.runtime,
            correlation_id="t",
            submitted_at=datetime.now(UTC),
            language="python",
            source_name="program.py",
            program=COUNTED,
            inputs=inputs,
        )
        client = await nats.connect(clean_infra.nats_url)
        subject = subjects.program(submission.runtime, submission.task_id)
        await publish_one(client, streams.PROGRAMS, Outgoing(subject, submission.to_json()))
        async with aclosing(results(EveryonesHistory(client), [submission], 60)) as answers:
            result = await anext(answers)
        await client.close()
        assert result.verdict.value == "proved"
        assert result.cannot_run is not None
        assert result.cannot_run.code == code
        with pytest.raises(LictorError, match="main"):
            await governor.approval(result)


async def test_what_was_refuted_before_is_told_with_the_values_of_now(clean_infra):
    source = MAIL.format(most=0, inputs="x: int", body=SEND)
    async with prover(clean_infra) as governor:
        for value, cached in ((1, False), (2, True)):
            asked = lictor.Program(source, inputs={"x": value})
            (result,) = await governor.prove(asked, task_id="t")
            assert (result.verdict.value, result.cached) == ("refuted", cached)
            assert (result.executable, result.cannot_run) == (True, None)


async def test_a_layer_that_is_not_here_proves_nothing(clean_infra):
    asked = lictor.Program(NEWSLETTER, layer_hash="sha256:" + "0" * 64)
    async with prover(clean_infra) as governor:
        (result,) = await governor.prove(asked, task_id="t")
    assert result.verdict is ProofVerdict.REJECTED
    assert result.reasons[0].code == "layer.unknown"


async def test_without_a_layer_every_program_is_rejected(clean_infra):
    async with prover(clean_infra, LICTOR_LAYERS="") as governor:
        (result,) = await governor.prove(NEWSLETTER, task_id="t")
    assert result.verdict is ProofVerdict.REJECTED
    assert "no trusted layer" in result.reasons[0].message


async def test_a_hard_program_does_not_hold_up_the_others_and_tells_how_far_it_is(clean_infra):
    told: list[ProofProgress] = []
    async with prover(clean_infra) as governor:
        client = await nats.connect(clean_infra.nats_url)

        async def hear(message: Msg) -> None:
            told.append(ProofProgress.from_json(message.data))

        await client.subscribe(subjects.PROOF_PROGRESS.where(task="hard"), cb=hear)
        await client.flush()
        hard = lictor.Program(HARD, timeout_ms=6_000, inputs=XYZ)
        waiting = asyncio.create_task(governor.prove(hard, task_id="hard"))
        results = await governor.prove(*[mails(n) for n in range(1, 9)], task_id="easy")
        assert not waiting.done()
        (late,) = await waiting
        await client.close()
    assert {each.verdict for each in results} == {ProofVerdict.PROVED, ProofVerdict.REFUTED}
    assert late.verdict is ProofVerdict.UNKNOWN
    assert "solving" in {each.phase for each in told}
    # The next try may have more luck, so it is not remembered.
    assert not late.cached


async def test_the_same_submission_twice_has_one_result(clean_infra):
    async with prover(clean_infra) as governor:
        layer = (await governor.prove(NEWSLETTER, task_id="t"))[0].layer_hash
        asked = lictor.Program(mails(2), layer_hash=layer)
        (first,) = await governor.prove(asked, task_id="t")
        client = await nats.connect(clean_infra.nats_url)
        # Under another message id, as after the duplicate window.
        kept = [each async for each in read_all(client, "PROGRAMS", subjects.PROGRAM.any)][-1]
        await publish_one(client, "PROGRAMS", Outgoing(kept.subject, kept.body, "another id"))
        (other,) = await governor.prove(mails(3), task_id="t")
        results = await stored(client)
        await client.close()
    assert Counter(each.submission_id for each in results)[first.submission_id] == 1
    assert other.verdict is ProofVerdict.PROVED


async def test_a_malformed_submission_becomes_a_dead_letter_and_the_prover_goes_on(clean_infra):
    async with prover(clean_infra) as governor:
        client = await nats.connect(clean_infra.nats_url)
        await publish_one(client, "PROGRAMS", Outgoing("lictor.prog.rt.t", b'{"program": 7}'))
        other = mails(1)
        await publish_one(client, "PROGRAMS", Outgoing("lictor.prog.rt.t", b"\xff\x00"))
        (result,) = await governor.prove(other, task_id="t")
        await reach(client, "DEAD", 2)
        letters = [letter.letter async for letter in list_dead(client)]
        await client.close()
    assert result.verdict is ProofVerdict.PROVED
    assert {letter.service for letter in letters} == {"prover"}


async def test_a_prover_without_redis_answers_and_remembers_nothing(own_servers: EmbeddedServers):
    endpoints = own_servers.endpoints
    async with prover(endpoints) as governor:
        await own_servers.kill_redis()
        (result,) = await governor.prove(NEWSLETTER, task_id="t")
        (again,) = await governor.prove(NEWSLETTER, task_id="t")
    assert (result.verdict, again.verdict) == (ProofVerdict.PROVED, ProofVerdict.PROVED)
    assert not again.cached


@pytest.mark.timeout(180)
async def test_killed_provers_leave_one_result_for_each_submission(clean_infra):
    programs = [mails(number % 9 + 1, most=number) for number in range(60)]
    settings = {"LICTOR_LAYERS": str(LAYERS), "LICTOR_PROOF_WORKERS": "2"}
    async with AsyncExitStack() as running:
        client = await nats.connect(clean_infra.nats_url)
        running.push_async_callback(client.close)
        process = await running.enter_async_context(
            service_process("lictor_prover", clean_infra, **settings)
        )
        await wait_until_ready(client, "prover")
        governor = await running.enter_async_context(lictor.connect(clean_infra.nats_url))
        proving = asyncio.create_task(governor.prove(*programs, task_id="t", timeout_s=150))
        for kill in (10, 30):
            await reach(client, "PROOFS", kill)
            process.kill()
            await process.wait()
            process = await running.enter_async_context(
                service_process("lictor_prover", clean_infra, **settings)
            )
        results = await proving
        found = await stored(client)
    assert len(results) == len(programs)
    assert Counter(each.submission_id for each in found) == Counter(
        each.submission_id for each in results
    )
    for number, result in enumerate(results):
        proved = number % 9 + 1 <= number
        assert result.verdict is (ProofVerdict.PROVED if proved else ProofVerdict.REFUTED)


async def test_nobody_there_is_not_a_proof(clean_infra):
    async with prover(clean_infra):
        pass
    async with lictor.connect(clean_infra.nats_url) as governor:
        with pytest.raises(NotInTime, match="not proved"):
            await governor.prove(NEWSLETTER, task_id="t", timeout_s=0.3)


async def _printed(*arguments: str | Path, cwd: Path) -> list[dict[str, Any]]:
    """The lines of `lictor prove --json`."""
    done = await asyncio.to_thread(
        subprocess.run,
        [Path(sys.executable).with_name("lictor"), "prove", "--json", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


async def test_the_command_prints_a_proof_made_here_as_one_that_was_submitted(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    texts = {"proved.py": NEWSLETTER, "refuted.py": WITH_A_COPY, "rejected.py": "def main(:\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    submitting = ("--submit", "--task", "t", "--url", clean_infra.nats_url)
    async with prover(clean_infra, "rehearser"):
        submitted = await _printed(*texts, *submitting, cwd=tmp_path)
    # With the seed of a result, anybody plans its runs again.
    seed = submitted[0]["proof"]["rehearsal"]["seed"]
    making = ("--import-root", LAYERS, "--certificate", "certs", "--seed", seed)
    here = await _printed(*texts, *making, cwd=tmp_path)
    verdicts = [each["proof"]["verdict"] for each in here]
    assert verdicts == ["proved", "refuted", "rejected"]
    # Who asked and when; and what depends on how fast solvers were: times, analysis, evidence in a certificate.
    own = {"submission_id", "task_id", "runtime", "decided_at"}
    own |= {"elapsed_ms", "timings", "analysis", "coverage", "certificate_hash"}
    for one, other in zip(here, submitted, strict=True):
        assert one.keys() == other.keys()
        assert one["file"] == other["file"]
        mine, theirs = one["proof"], other["proof"]
        assert list(mine) == list(theirs) == list(ProofResult.model_fields)
        for name in mine:
            if name != "runtime":
                assert (mine[name] is None) == (theirs[name] is None), (one["file"], name)
            if name not in own:
                assert mine[name] == theirs[name], (one["file"], name)
        assert ProofResult.from_json(json.dumps(mine)).verdict == mine["verdict"]
