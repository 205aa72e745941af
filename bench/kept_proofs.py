"""What a proof costs that was kept: its certificate is checked against the program again, and no solver is asked.

    python bench/kept_proofs.py [--questions 30]

Over the broker, with one worker, each the median: `fresh_ms`, a program that nobody asked about before, proved and
certified; `kept_ms`, the same asked again; `believed_ms`, an answer that is taken from Redis as it is, as refutations
are, and as proofs were when Redis was believed. `…_solved_ms`: of a program whose goals need solvers.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path

import nats
from reporting import ROOT, emit, service_process, wait_until_ready

import lictor
from lictor.governor import Governor
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.proofs.proof import ProofVerdict

LAYERS = ROOT / "examples" / "layers"
PROGRAMS = ROOT / "examples" / "programs"
SOLVED = """\
from tools.mail.trusted import contracts as mail
from tools.mail.trusted.effects import send_mail
from lictor_layer import guarantee


@guarantee(mail.at_most(1))
def main(a: int, b: int, c: int, d: int) -> None:
    if a + b + c + d > 10:
        send_mail("a@b", "A", "hello")
    if a < 3 and b < 3 and c < 3 and d < 3 and a + b < c + d and a + c < b:
        send_mail("a@b", "A", "hello")
    if a > 20 and b > 20 and c + d < -50 and a + b < 45:
        send_mail("a@b", "A", "hello")
"""


async def _asked(governor: Governor, source: str, *, again: bool) -> tuple[float, ProofVerdict]:
    begun = time.perf_counter()
    (result,) = await governor.prove(source, task_id="bench")
    if result.cached is not again:
        raise RuntimeError(f"cached is {result.cached}: {result}")
    return (time.perf_counter() - begun) * 1000, result.verdict


async def _measured(questions: int) -> dict[str, float]:
    kinds = {
        "": (PROGRAMS / "newsletter.py").read_text("utf-8"),
        "solved_": SOLVED,
        "refuted": (PROGRAMS / "newsletter_with_a_copy.py").read_text("utf-8"),
    }
    fresh: dict[str, list[float]] = {kind: [] for kind in kinds}
    again: dict[str, list[float]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        async with EmbeddedServers(Path(folder)) as servers:
            client = await nats.connect(servers.endpoints.nats_url)
            settings = {"LICTOR_LAYERS": str(LAYERS), "LICTOR_PROOF_WORKERS": "1"}
            async with service_process("lictor_prover", servers.endpoints, **settings):
                await wait_until_ready(client, "prover")
                async with lictor.connect(servers.endpoints.nats_url) as governor:
                    for number in range(questions):
                        for kind, source in kinds.items():
                            other = f"{source}\n# {number}\n"
                            ms, verdict = await _asked(governor, other, again=False)
                            wanted = "refuted" if kind == "refuted" else "proved"
                            if verdict.value != wanted:
                                raise RuntimeError(f"the verdict is {verdict}")
                            fresh[kind].append(ms)
                            ms, _ = await _asked(governor, other, again=True)
                            again[kind].append(ms)
            await client.close()
    believed = statistics.median(again["refuted"])
    result = {"believed_ms": believed}
    for kind in ("", "solved_"):
        new, kept = statistics.median(fresh[kind]), statistics.median(again[kind])
        result |= {
            f"fresh_{kind}ms": new,
            f"kept_{kind}ms": kept,
            f"kept_{kind}by_fresh": kept / new,
            f"kept_{kind}by_believed": kept / believed,
        }
    return result


def main() -> None:
    """Measure, and print."""
    parser = ArgumentParser(description="What a kept proof costs, beside a fresh one.")
    parser.add_argument("--questions", type=int, default=30, help="of each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = asyncio.run(_measured(options.questions))
    result = {name: float(f"{number:.3g}") for name, number in found.items()}
    emit("prover: kept proofs", result, options.json)


if __name__ == "__main__":
    main()
