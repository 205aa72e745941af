"""What is proved is rehearsed before anybody sees it, by a rehearser whose answer can only take a proof away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

import lictor
from lictor.governor import Governor
from lictor_bus.names import subjects
from lictor_bus.service.health import ask_health
from lictor_local.embedded_servers import Endpoints
from lictor_prove.this_python import this_python
from lictor_schema.proofs.proof import ProofResult, ProofVerdict

ROOT = Path(__file__).parents[3]
NEWSLETTER = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")

Lie = Callable[[dict[str, Any]], dict[str, Any]]


@asynccontextmanager
async def prover(endpoints: Endpoints, *others: str) -> AsyncIterator[tuple[Governor, Client]]:
    """A prover and other services, an agent that asks, and a connection."""
    settings = {
        "LICTOR_LAYERS": str(ROOT / "examples/layers"),
        "LICTOR_PROOF_WORKERS": "1",
        "LICTOR_REHEARSAL_STAGES": "1",
    }
    async with AsyncExitStack() as running:
        client = await nats.connect(endpoints.nats_url)
        running.push_async_callback(client.close)
        for name in ("prover", *others):
            await running.enter_async_context(
                service_process(f"lictor_{name}", endpoints, **settings)
            )
        for name in ("prover", *others):
            await wait_until_ready(client, name)
        governor = await running.enter_async_context(lictor.connect(endpoints.nats_url))
        yield governor, client


async def asked(governor: Governor) -> ProofResult:
    (result,) = await governor.prove(NEWSLETTER, task_id="rehearsed")
    return result


async def test_a_proof_is_rehearsed_also_when_it_was_kept(clean_infra: Endpoints) -> None:
    seeds: set[str | None] = set()
    async with prover(clean_infra, "rehearser") as (governor, _):
        for cached in (False, True):
            result = await asked(governor)
            assert (result.verdict, result.cached) == (ProofVerdict.PROVED, cached)
            assert result.rehearsal is not None
            assert result.rehearsal.refused is None
            assert result.rehearsal.runs > 0
            seeds.add(result.rehearsal.seed)
            assert result.python == result.rehearsal.python == this_python()
    # Whoever read the first result knows nothing of the runs of the second.
    assert len(seeds) == 2
    assert None not in seeds


async def test_without_a_rehearser_it_is_proved_and_not_rehearsed(clean_infra: Endpoints) -> None:
    async with prover(clean_infra) as (governor, _):
        result = await asked(governor)
        assert result.verdict is ProofVerdict.PROVED
        assert result.rehearsal is not None
        assert result.rehearsal.refused == "no rehearser is running"
        assert result.rehearsal.runs == 0


def _one_call_more(run: dict[str, Any]) -> dict[str, Any]:
    return {**run, "calls": [*run["calls"], {"effect": "send_mail", "arguments": {}}]}


def _raised(run: dict[str, Any]) -> dict[str, Any]:
    return {**run, "ended": "raised", "error": "TypeError: no"}


@pytest.mark.parametrize("lie", [_one_call_more, _raised])
async def test_a_difference_takes_the_proof_away_and_raises_an_alarm(
    clean_infra: Endpoints, capfd: pytest.CaptureFixture[str], lie: Lie
) -> None:
    async with prover(clean_infra) as (governor, client):

        async def answer(message: Any) -> None:
            order = json.loads(message.data)
            runs = [lie({"calls": [], "ended": "completed", "error": ""}) for _ in order["runs"]]
            told = {"request_id": order["request_id"], "runs": runs, "python": this_python()}
            await message.respond(json.dumps(told).encode())

        await client.subscribe(subjects.REHEARSAL, cb=answer)
        result = await asked(governor)
        assert result.verdict is ProofVerdict.UNKNOWN
        assert [reason.code for reason in result.reasons] == ["prover.differs"]
        assert result.certificate_hash is None
        assert "ALARM" in ((await ask_health(client, "prover", timeout_s=10)).detail or "")
        # It is not kept: asked again, it is compared again.
        again = await asked(governor)
        assert (again.verdict, again.cached) == (ProofVerdict.UNKNOWN, False)
    assert "ALARM: submission" in capfd.readouterr().err


@pytest.mark.parametrize("said", [{"python": "cpython 3.9"}, {}], ids=["another", "none"])
async def test_a_rehearser_with_another_python_rehearses_nothing(
    clean_infra: Endpoints, said: dict[str, str]
) -> None:
    """Nor does an older one, which does not say what it is."""
    async with prover(clean_infra) as (governor, client):

        async def answer(message: Any) -> None:
            order = json.loads(message.data)
            runs = [{"calls": [], "ended": "completed", "error": ""} for _ in order["runs"]]
            told = {"request_id": order["request_id"], "runs": runs, **said}
            await message.respond(json.dumps(told).encode())

        await client.subscribe(subjects.REHEARSAL, cb=answer)
        result = await asked(governor)
        assert result.verdict is ProofVerdict.PROVED
        assert result.verdict_words == "proved, not rehearsed"
        assert result.rehearsal is not None
        assert f"the program was read by {this_python()}" in (result.rehearsal.refused or "")


async def test_a_rehearser_that_refuses_or_lies_about_the_number_of_runs_proves_nothing(
    clean_infra: Endpoints,
) -> None:
    async with prover(clean_infra) as (governor, client):
        answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for runs, refused in (([], "no seccomp here"), ([], "")):
            answers.put_nowait({"runs": runs, "refused": refused})

        async def answer(message: Any) -> None:
            told = {"request_id": json.loads(message.data)["request_id"], **await answers.get()}
            await message.respond(json.dumps(told).encode())

        await client.subscribe(subjects.REHEARSAL, cb=answer)
        for why in ("no seccomp here", "something else"):
            result = await asked(governor)
            assert result.verdict is ProofVerdict.PROVED
            assert result.rehearsal is not None
            assert why in (result.rehearsal.refused or "")
