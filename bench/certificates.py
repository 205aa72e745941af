"""Certificates of clauz3's cases: how long checking one takes beside proving it, and how much it shows.

    python bench/certificates.py [--cases 40 | --all | --lines] [--rounds 3] [--json]

Every case that is proved gets a certificate, which is then checked, all in this process and in turn; the least of some
rounds counts. Without `--all`, the cases are a fixed spread over the whole list. `--lines` counts the code alone.

- `median_check_to_prove`, `worst_check_to_prove`: time of the check over that of the proof, case by case;
  `median_check_to_prove_with_proofs`: of the cases alone in which a proof is carried,
- `median_make_to_prove`: what making the certificate costs beside the proof,
- `share_checked_without_solver`: cases at level c: the checker found everything out itself;
  `share_by_evaluation`: those of them in which no proof had to be carried,
- `share_cross_checked`: cases at level b or above: at least two solvers agree on whatever the checker can't see itself,
- `own_*`: the same shares of our own adversarial programs that are proved,
- `median_bytes`, `max_bytes`: of the files,
- `missing_rules`: rules of cvc5's that kept a proof from being checked, with how often,
- `checker_lines`, `kernel_lines`: the checker (`check.py`, `format.py`) and the kernel for proofs; `trusted_lines`:
  all of our code that is loaded to check a certificate, which derives the goals too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from prover import rounded
from prover_cases import Case, cache_folder, find_cases, spread, unpacked
from prover_ours import SEED, Ours
from reporting import ROOT, emit

from lictor_ir.certificate import check as checker
from lictor_ir.certificate.check import Report, check
from lictor_ir.certificate.format import By, FrontEnd, Level
from lictor_prove.certificate.creation import certify
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import prove
from lictor_schema.proofs.proof import ProofVerdict

OWN = ROOT / "tests/prover"


@dataclass(frozen=True, slots=True)
class Row:
    """One certificate."""

    name: str
    prove_ms: float
    make_ms: float
    check_ms: float
    report: Report

    @property
    def by_evaluation(self) -> bool:
        return all(each.by is By.EVALUATION for each in self.report.goals)


def measured(source: str, name: str, layer: Layer, rounds: int) -> Row | None:
    """The certificate of a program that is proved, and the times; None when it is not proved."""
    proof = prove(source, name=name, layer=layer, seed=SEED)
    if proof.verdict is not ProofVerdict.PROVED:
        return None
    made = certify(proof, FrontEnd.PYTHON)
    report = check(made.data)
    if report.level is not made.level:
        raise RuntimeError(f"{name}: made at level {made.level}, checked at {report.level}")
    return Row(
        name,
        _least(lambda: prove(source, name=name, layer=layer, seed=SEED), rounds),
        _least(lambda: certify(proof, FrontEnd.PYTHON), 1),
        _least(lambda: check(made.data), rounds),
        report,
    )


def _least(do: Callable[[], object], rounds: int) -> float:
    taken: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        do()
        taken.append((time.perf_counter() - begun) * 1000)
    return min(taken)


def of_cases(cases: Sequence[Case], rounds: int) -> list[Row]:
    """Certificates of clauz3's cases."""
    ours = Ours()
    rows: list[Row] = []
    for number, case in enumerate(cases, 1):
        row = measured(case.file.read_text("utf-8"), case.file.name, ours.layer(case), rounds)
        rows += [] if row is None else [row]
        if sys.stderr.isatty():
            print(f"\r{number}/{len(cases)}", end="", file=sys.stderr, flush=True)
    return rows


def of_own() -> list[Row]:
    """Certificates of our own programs that are proved."""
    trusted = [OWN / f"layers/tools/{each}/trusted" for each in ("desk", "switched")]
    layer = load_layer(trusted, [OWN / "layers"])
    rows = (
        measured(file.read_text("utf-8"), file.name, layer, 1)
        for file in sorted((OWN / "adversarial").glob("*.py"))
    )
    return [row for row in rows if row is not None]


def figures(rows: Sequence[Row]) -> dict[str, object]:
    """The numbers of clauz3's cases."""
    ratios = [row.check_ms / row.prove_ms for row in rows]
    carrying = [row.check_ms / row.prove_ms for row in rows if not row.by_evaluation]
    sizes = [row.report.size for row in rows]
    return {
        "median_check_to_prove": rounded(statistics.median(ratios)),
        "worst_check_to_prove": rounded(max(ratios)),
        "median_check_to_prove_with_proofs": rounded(statistics.median(carrying)),
        "median_make_to_prove": rounded(statistics.median(r.make_ms / r.prove_ms for r in rows)),
        "median_check_ms": rounded(statistics.median(row.check_ms for row in rows)),
        "median_prove_ms": rounded(statistics.median(row.prove_ms for row in rows)),
        "certificates": len(rows),
        **shares(rows, ""),
        "share_by_evaluation": rounded(_share(row.by_evaluation for row in rows)),
        "median_bytes": statistics.median(sizes),
        "max_bytes": max(sizes),
    }


def shares(rows: Sequence[Row], prefix: str) -> dict[str, object]:
    """How many certificates show how much."""
    return {
        f"{prefix}share_checked_without_solver": rounded(
            _share(row.report.level is Level.C for row in rows)
        ),
        f"{prefix}share_cross_checked": rounded(
            _share(row.report.level >= Level.B for row in rows)
        ),
    }


def _share(flags: Iterable[bool]) -> float:
    found = list(flags)
    return sum(found) / len(found)


def missing_rules(rows: Iterable[Row]) -> dict[str, int]:
    """What the kernel would have had to know."""
    goals = (goal for row in rows for goal in row.report.goals)
    return dict(Counter(goal.unknown_rule for goal in goals if goal.unknown_rule).most_common(10))


def sizes() -> dict[str, object]:
    """How much of our code stands behind a check."""
    home = Path(checker.__file__).parent
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, json, lictor_ir.certificate.check\n"
            "print(json.dumps([m.__file__ for n, m in sys.modules.items() if n.startswith('lictor')]))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        "checker_lines": sum(map(_lines, (home / "check.py", home / "format.py"))),
        "kernel_lines": sum(map(_lines, (home / "cpc").glob("*.*"))),
        "trusted_lines": sum(_lines(Path(each)) for each in json.loads(loaded.stdout) if each),
    }


def _lines(file: Path) -> int:
    return len(file.read_text("utf-8").splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description="Certificates beside the proofs they carry.")
    parser.add_argument("--cases", type=int, default=40, help="how many, spread over the list")
    parser.add_argument("--all", action="store_true", help="every case")
    parser.add_argument(
        "--lines", action="store_true", help="how much code is trusted, and no more"
    )
    parser.add_argument("--rounds", type=int, default=3, help="the least of so many counts")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.lines:
        emit("certificates", sizes(), options.json)
        return

    every = tuple(case for case in find_cases(unpacked(cache_folder())) if case.expected)
    chosen = every if options.all else spread(every, options.cases)
    rows = of_cases(chosen, options.rounds)
    if all(row.by_evaluation for row in rows):
        raise RuntimeError("no case needs a proof; choose more with --cases")
    own = of_own()
    result = figures(rows) | {"own_certificates": len(own)} | shares(own, "own_")
    result |= {"missing_rules": missing_rules([*rows, *own])} | sizes()
    emit("certificates", result, options.json)


if __name__ == "__main__":
    main()
