"""Proof times beside clauz3 0.2.1's, measured in the same run on the same machine.

    python bench/prover.py [--cases 40 | --all] [--timeout 60] [--rounds 3] [--json]

Both provers judge the same cases of clauz3's own, in turn: ours in this process, clauz3 in one long-lived process of
its own environment (`prover_clauz3.py`); the time of each is taken inside its process. Both have loaded the case's
layer and judged one case of it before. Ours rehearses what it proves, on a stage of its own that is warm; its times are
with that unless it is said. Without `--all`, the cases are a fixed spread over the whole list.

- `median_ratio_to_clauz3`, `worst_ratio_to_clauz3`: our time over clauz3's, case by case,
- `rehearsal_ratio_to_proof`: the median time of planning, performing and comparing a rehearsal over that of a proof
  without one, of the cases that were rehearsed; `…_median_ms` and `…_p95_ms` of each, and of both together,
- `agree`, `total`: our verdicts against the names of the cases; one case pins a hole that we close (docs/parity.md),
- `cli_ratio_to_clauz3`: `lictor prove FILE` over `clauz3 prove FILE`, whole processes, over some cases in turn,
- `warm_cache_ms`: the answer to a program that was proved before, from the content-addressed cache;
  `warm_cache_over_broker_ms`: the same asked by an agent, with submission and result stored durably,
- `worker_mb`: resident memory of a worker process after it judged all the cases,
- `growth`: straight lines of 10, 100 and 1 000 effects, and 4, 8 and 12 branches in a row (`branches`) or inside each
  other (`depth`), with a contract on count, sum or distinct keys; milliseconds of ours and of clauz3, which gets
  `--growth-timeout` seconds for each.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from prover_cases import Case, cache_folder, find_cases, spread, unpacked
from prover_clauz3 import Answer, Clauz3, environment
from prover_growth import growing_cases
from prover_ours import Ours
from prover_service import of_cache, worker_mb
from reporting import emit

from lictor_run.rehearsal.local_stage import LocalStage

CLI_CASES = 3


def side_by_side(
    cases: Sequence[Case], ours: Ours, clauz3: Clauz3
) -> list[tuple[Case, Answer, Answer]]:
    """Both provers' answers; a case of the same layer is judged first, and not counted."""
    rows: list[tuple[Case, Answer, Answer]] = []
    warm = ""
    for case in cases:
        if case.group != warm:
            ours.prove(case)
            clauz3.prove(case)
            warm = case.group
        rows.append((case, ours.prove(case), clauz3.prove(case)))
        if sys.stderr.isatty():
            print(f"\r{len(rows)}/{len(cases)}", end="", file=sys.stderr, flush=True)
    return rows


def of_cases(rows: Sequence[tuple[Case, Answer, Answer]]) -> dict[str, object]:
    """The ratios, and who agrees with the cases' names."""
    ratios = sorted((ours.ms / theirs.ms, case.name) for case, ours, theirs in rows)
    mine = sorted(ours.ms for _, ours, _ in rows)
    their = sorted(theirs.ms for _, _, theirs in rows)
    return {
        "median_ratio_to_clauz3": rounded(statistics.median(ratio for ratio, _ in ratios)),
        "worst_ratio_to_clauz3": rounded(ratios[-1][0]),
        "worst_case": ratios[-1][1],
        "agree": sum(ours.proved == case.expected for case, ours, _ in rows),
        "total": len(rows),
        "median_ms": rounded(statistics.median(mine)),
        "p95_ms": rounded(mine[int(len(mine) * 0.95)]),
        "max_ms": rounded(mine[-1]),
        "clauz3_median_ms": rounded(statistics.median(their)),
        "clauz3_p95_ms": rounded(their[int(len(their) * 0.95)]),
        "clauz3_agree": sum(theirs.proved == case.expected for case, _, theirs in rows),
    }


def of_rehearsals(times: Sequence[tuple[float, float]]) -> dict[str, object]:
    """Proofs with and without their rehearsal, of the cases that were rehearsed."""
    without = sorted(proof for proof, _ in times)
    added = sorted(rehearsal for _, rehearsal in times)
    whole = sorted(map(sum, times))
    late = int(len(times) * 0.95)
    return {
        "rehearsed": len(times),
        "rehearsal_ratio_to_proof": rounded(statistics.median(added) / statistics.median(without)),
        "without_rehearsal_median_ms": rounded(statistics.median(without)),
        "without_rehearsal_p95_ms": rounded(without[late]),
        "rehearsal_median_ms": rounded(statistics.median(added)),
        "rehearsal_p95_ms": rounded(added[late]),
        "with_rehearsal_median_ms": rounded(statistics.median(whole)),
        "with_rehearsal_p95_ms": rounded(whole[late]),
    }


def of_commands(cases: Sequence[Case], python: Path, rounds: int) -> dict[str, object]:
    """Whole processes on one file, in turn."""
    lictor = Path(sys.executable).with_name("lictor")
    taken: dict[str, list[float]] = {"ours": [], "clauz3": []}
    for _ in range(rounds):
        for case in cases:
            roots = [f"--import-root={root}" for root in case.import_roots]
            roots += [f"--trusted-root={root}" for root in case.trusted_roots]
            for name, command in (("ours", lictor), ("clauz3", python.with_name("clauz3"))):
                begun = time.perf_counter()
                done = subprocess.run(
                    (str(command), "prove", str(case.file), *roots),
                    capture_output=True,
                    text=True,
                    check=False,
                )
                taken[name].append(time.perf_counter() - begun)
                if (done.returncode == 0) != case.expected:
                    raise RuntimeError(f"{command} on {case.name}: {done.stdout}{done.stderr}")
    mine, theirs = statistics.median(taken["ours"]), statistics.median(taken["clauz3"])
    return {
        "cli_ratio_to_clauz3": rounded(mine / theirs),
        "cli_ms": rounded(mine * 1000),
        "clauz3_cli_ms": rounded(theirs * 1000),
    }


def of_growth(ours: Ours, clauz3: Clauz3, timeout_s: float) -> dict[str, object]:
    """How both take programs that grow; `-` for what clauz3 did not prove in its time."""
    told: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        cases = growing_cases(Path(folder))
        ours.prove(cases[0][1])
        clauz3.prove(cases[0][1])
        for name, case in cases:
            mine, theirs = ours.prove(case), clauz3.prove(case, timeout_s)
            if not mine.proved:
                raise RuntimeError(f"{name}: {mine}")
            told[f"growth_{name}_ms"] = rounded(mine.ms)
            told[f"growth_{name}_clauz3_ms"] = rounded(theirs.ms) if theirs.proved else "-"
    return told


def rounded(number: float) -> float:
    """Three figures that mean something."""
    return float(f"{number:.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Proof times beside clauz3's.")
    parser.add_argument("--cases", type=int, default=40, help="how many, spread over the list")
    parser.add_argument("--all", action="store_true", help="every case")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a case, for clauz3")
    parser.add_argument("--growth-timeout", type=float, default=30, help="for growing programs")
    parser.add_argument("--rounds", type=int, default=3, help="how often commands are started")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    cache = cache_folder()
    every = find_cases(unpacked(cache))
    python = environment(cache)
    chosen = every if options.all else spread(every, options.cases)
    with LocalStage() as stage, Clauz3(python, options.timeout) as clauz3:
        # Waits until it is warm, and starts nothing where nothing can be rehearsed.
        stage.why_refused()
        ours = Ours(stage)
        result = of_cases(side_by_side(chosen, ours, clauz3))
        result |= of_rehearsals(list(ours.times.values()))
        growth = of_growth(ours, clauz3, options.growth_timeout)
        proved = [case for case in chosen if case.expected and ours.prove(case).proved]
    result |= of_commands(
        proved[:: max(1, len(proved) // CLI_CASES)][:CLI_CASES], python, options.rounds
    )
    result |= {name: rounded(ms) for name, ms in of_cache().items()}
    result |= {"worker_mb": rounded(worker_mb(chosen))}
    emit("prover: beside clauz3 0.2.1", {**result, **growth}, options.json)


if __name__ == "__main__":
    main()
