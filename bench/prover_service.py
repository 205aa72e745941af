"""What bench/prover.py measures of the prover as it is deployed: its cache, and the memory of its workers."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import nats
import psutil
import redis.asyncio
from prover_cases import Case
from reporting import ROOT, service_process, wait_until_ready

import lictor
from lictor_local.embedded_servers import EmbeddedServers
from lictor_prove.errors import ProverConfigError
from lictor_prove.proof.settings import DEFAULT
from lictor_prove.workers.pool import Job, Pool, Roots
from lictor_prover.answer_cache import AnswerCache
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import ProofResult

LAYERS = ROOT / "examples" / "layers"
PROGRAM = ROOT / "examples" / "programs" / "newsletter.py"
QUESTIONS = 100


def of_cache() -> dict[str, float]:
    """How soon a program that was proved before is answered: by the cache alone, and over the broker."""
    return asyncio.run(_of_cache())


async def _of_cache() -> dict[str, float]:
    source = PROGRAM.read_text("utf-8")
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        async with EmbeddedServers(Path(folder)) as servers:
            client = await nats.connect(servers.endpoints.nats_url)
            settings = {"LICTOR_LAYERS": str(LAYERS), "LICTOR_PROOF_WORKERS": "1"}
            async with service_process("lictor_prover", servers.endpoints, **settings):
                await wait_until_ready(client, "prover")
                async with lictor.connect(servers.endpoints.nats_url) as governor:
                    (first,) = await governor.prove(source, task_id="bench")
                    whole: list[float] = []
                    for _ in range(QUESTIONS):
                        begun = time.perf_counter()
                        (again,) = await governor.prove(source, task_id="bench")
                        whole.append(time.perf_counter() - begun)
                        if not again.cached or again.verdict != first.verdict:
                            raise RuntimeError(f"not answered from the cache: {again}")
            await client.close()
            alone = await _found(servers.endpoints.redis_url, source, first)
    return {
        "warm_cache_ms": statistics.median(alone) * 1000,
        "warm_cache_over_broker_ms": statistics.median(whole) * 1000,
    }


async def _found(redis_url: str, source: str, result: ProofResult) -> list[float]:
    submission = ProgramSubmission(
        submission_id="bench",
        task_id="bench",
        agent_id="bench",
        correlation_id="bench",
        submitted_at=datetime.now(UTC),
        language="python",
        source_name=PROGRAM.name,
        program=source,
    )
    taken: list[float] = []
    async with redis.asyncio.from_url(redis_url) as store:
        answers = AnswerCache(store)
        await answers.keep(submission, result, DEFAULT.key)
        for _ in range(QUESTIONS):
            begun = time.perf_counter()
            if await answers.find(submission, result.layer_hash, DEFAULT.key) is None:
                raise RuntimeError("what was kept is not found")
            taken.append(time.perf_counter() - begun)
    return taken


def worker_mb(cases: Sequence[Case]) -> float:
    """Resident memory of one worker after it judged the cases, with all their layers loaded."""
    with Pool(1) as pool:
        for case in cases:
            roots = Roots(tuple(map(str, case.trusted_roots)), tuple(map(str, case.import_roots)))
            try:
                pool.prove(Job(case.file.read_text("utf-8"), case.file.name, roots=roots))
            except ProverConfigError:
                continue
        return max(
            child.memory_info().rss
            for child in psutil.Process().children()
            if "lictor_prove.workers.process" in child.cmdline()
        ) / (1024 * 1024)
