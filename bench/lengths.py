"""Texts that must not be too long: our prover beside Z3's strings alone, for lengths from 10 to 5 000.

    python bench/lengths.py [--timeout 5] [--rounds 3] [--json]

A program joins two texts that trusted calls return and promises that the whole is not longer than a length. One program
keeps the promise, because it looks at the two lengths first (`proved`); the other is too long by a character
(`refuted`). Each is decided in this process by our prover, which derives the goals and confirms a refutation by a run,
and by Z3 alone, which is told the same goals with whole strings, and its own time limit. Times are the least of some
rounds.

- `…_ms` and `…_z3_ms`: of each; `-` where Z3 decided nothing in the time,
- `…_ratio_to_z3`: our time over Z3's; where Z3 gave up, over what it took until then,
- `worst_ratio_to_z3`, `undecided`, `z3_undecided`: over all of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from reporting import emit

from lictor_ir.document import Document
from lictor_ir.goals import stated_goals
from lictor_ir.goals.builder import Builder
from lictor_ir.solver import z3_lowering
from lictor_ir.solver.answers import Conclusion
from lictor_ir.text.document_reader import read
from lictor_prove.proof.prover import prove_document
from lictor_prove.proof.settings import ProofSettings
from lictor_schema.proofs.proof import ProofVerdict

LENGTHS = (10, 50, 100, 500, 1_000, 5_000)
MEMORY_MB = 1_024
_Found = TypeVar("_Found", Conclusion, ProofVerdict)
DOCUMENT = """effect-ir v1
program "bench.py" target main

trusted name() -> str
trusted title() -> str
trusted send(text: str) -> none

effect c1: name()
effect c2: title()
let $1 = len(result(c1)) <= {first} and len(result(c2)) <= {second}
effect c3: send(text = concat(result(c1), ", ", result(c2))) when $1

guarantee "short" : forall e in send : len(e.text) <= {length}
"""


def documents() -> Iterator[tuple[str, int, Document]]:
    """What becomes of each, how long texts may be, and the document."""
    for length in LENGTHS:
        first = (length - 2) // 2
        for verdict, more in (("proved", 0), ("refuted", 1)):
            second = length - 2 - first + more
            yield verdict, length, read(DOCUMENT.format(first=first, second=second, length=length))


def of_z3(document: Document, timeout_ms: int) -> tuple[Conclusion, float]:
    """What Z3 says of the goals by itself, and how long it took."""
    goals = [goal for goal in stated_goals(Builder(document)) if not goal.folded]
    begun = time.perf_counter()
    found = {z3_lowering.decide(goal, timeout_ms, MEMORY_MB).conclusion for goal in goals}
    ms = (time.perf_counter() - begun) * 1000
    if Conclusion.UNDECIDED in found:
        return Conclusion.UNDECIDED, ms
    return Conclusion.FAILS if Conclusion.FAILS in found else Conclusion.HOLDS, ms


def of_ours(document: Document, settings: ProofSettings) -> tuple[ProofVerdict, float]:
    """Our verdict, and how long it took."""
    begun = time.perf_counter()
    verdict = prove_document(document, settings).verdict
    return verdict, (time.perf_counter() - begun) * 1000


def least(decide: Callable[[], tuple[_Found, float]], rounds: int) -> tuple[_Found, float]:
    """What is found out, and the least time of all rounds; of what is undecided there is only one."""
    found, ms = decide()
    for _ in range(1, rounds):
        if found in (Conclusion.UNDECIDED, ProofVerdict.UNKNOWN):
            break
        ms = min(ms, decide()[1])
    return found, ms


def main() -> None:
    parser = argparse.ArgumentParser(description="Lengths of texts beside Z3's strings alone.")
    parser.add_argument("--timeout", type=float, default=5, help="seconds a goal, for both")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is decided")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    timeout_ms = round(options.timeout * 1000)
    settings = ProofSettings(analysis_ms=0).within(timeout_ms)
    of_ours(next(documents())[2], settings)
    of_z3(next(documents())[2], timeout_ms)
    told: dict[str, object] = {}
    ratios: list[float] = []
    undecided = z3_undecided = 0
    for wanted, length, document in documents():
        verdict, ms = least(partial(of_ours, document, settings), options.rounds)
        conclusion, z3_ms = least(partial(of_z3, document, timeout_ms), options.rounds)
        if verdict not in (wanted, ProofVerdict.UNKNOWN):
            raise RuntimeError(f"{wanted} at {length}: {verdict}")
        undecided += verdict is ProofVerdict.UNKNOWN
        z3_undecided += conclusion is Conclusion.UNDECIDED
        ratios.append(ms / z3_ms)
        name = f"{wanted}_{length}"
        told[f"{name}_ms"] = _rounded(ms)
        told[f"{name}_z3_ms"] = "-" if conclusion is Conclusion.UNDECIDED else _rounded(z3_ms)
        told[f"{name}_ratio_to_z3"] = _rounded(ratios[-1])
    told |= {
        "worst_ratio_to_z3": _rounded(max(ratios)),
        "undecided": undecided,
        "z3_undecided": z3_undecided,
    }
    emit("lengths: beside Z3's strings", told, options.json)


def _rounded(number: float) -> float:
    return float(f"{number:.3g}")


if __name__ == "__main__":
    main()
