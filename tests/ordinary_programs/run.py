"""How many ordinary programs are proved as they were written: a table, one program a line.

    python tests/ordinary_programs/run.py [--json] [--only TEXT] [--timeout 30] [--processes 2]

The sixty numbered programs keep what they state, the eight that start with B break it (tasks.md). Ends with 1 when
a broken one is proved, or when a program was not judged at all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from lictor_schema.proofs.proof import ProofResult, ProofVerdict

HERE = Path(__file__).parent
LAYERS = HERE / "layers"
COMMAND = Path(sys.executable).with_name("lictor")
FILES_A_PROCESS = 6
# `lictor prove` ends a proof by itself when its time is up; this is for a command that hangs.
SPARE_SECONDS = 30.0

NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Judged:
    """One line of the table."""

    program: str
    verdict: str
    rehearsed: bool
    reason: str
    ms: int

    @property
    def is_broken(self) -> bool:
        """Its guarantee fails in some run."""
        return self.program.startswith("B")

    @property
    def is_proved(self) -> bool:
        return self.verdict == ProofVerdict.PROVED.value

    @property
    def is_refuted(self) -> bool:
        return self.verdict == ProofVerdict.REFUTED.value

    def as_json(self) -> dict[str, object]:
        return {
            "program": self.program,
            "broken": self.is_broken,
            "verdict": self.verdict,
            "rehearsed": self.rehearsed,
            "reason": self.reason,
            "ms": self.ms,
        }


def first_reason(proof: ProofResult) -> str:
    """Why it is not proved, or not rehearsed, in one line."""
    if proof.verdict is ProofVerdict.PROVED:
        return "" if proof.is_rehearsed else (proof.rehearsal.words if proof.rehearsal else "")
    for reason in proof.reasons:
        place = f"line {reason.line}: " if reason.line else ""
        return " ".join(f"{place}{reason.message} [{reason.code}]".split())
    for guarantee in proof.guarantees:
        if guarantee.verdict is not ProofVerdict.PROVED:
            return f"{guarantee.name} is {guarantee.verdict.value}"
    return ""


def judged(path: Path, proof: ProofResult) -> Judged:
    """A program and what the prover said of it."""
    return Judged(
        program=path.stem,
        verdict=proof.verdict.value,
        rehearsed=proof.is_rehearsed,
        reason=first_reason(proof),
        ms=proof.elapsed_ms,
    )


def prove(paths: Sequence[Path], timeout: float) -> list[Judged]:
    """Proves a few files in one process of `lictor prove`."""
    command = [
        *(str(COMMAND), "prove", "--json"),
        *("--import-root", str(LAYERS), "--timeout", str(timeout)),
        *map(str, paths),
    ]
    limit = len(paths) * timeout + SPARE_SECONDS
    problem = ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        output, problem = done.stdout, f"exit code {done.returncode} {done.stderr.strip()[-300:]}"
    except subprocess.TimeoutExpired as late:
        stdout = late.stdout or b""
        output = stdout.decode() if isinstance(stdout, bytes) else stdout
        problem = f"no answer within {limit:.0f} s"
    answers: dict[str, ProofResult] = {}
    for line in output.splitlines():
        try:
            answer = json.loads(line)
        except json.JSONDecodeError:  # Cut off by the time limit.
            continue
        answers[answer["file"]] = ProofResult.model_validate_json(json.dumps(answer["proof"]))
    return [
        judged(path, answers[str(path)])
        if str(path) in answers
        else Judged(path.stem, NOT_JUDGED, rehearsed=False, reason=problem, ms=0)
        for path in paths
    ]


def prove_all(paths: Sequence[Path], timeout: float, processes: int) -> Iterator[Judged]:
    """All of them in order, a few files a process."""
    parts = [paths[at : at + FILES_A_PROCESS] for at in range(0, len(paths), FILES_A_PROCESS)]
    with ThreadPoolExecutor(processes) as pool:
        for part in pool.map(lambda part: prove(part, timeout), parts):
            yield from part


@dataclass(frozen=True, slots=True)
class Figures:
    """What the table comes to."""

    right: int
    proved: int
    rehearsed: int
    right_but_refuted: tuple[str, ...]
    broken: int
    refuted: int
    broken_but_proved: tuple[str, ...]
    not_judged: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Judged]) -> Figures:
        right = [row for row in rows if not row.is_broken]
        broken = [row for row in rows if row.is_broken]
        return cls(
            right=len(right),
            proved=sum(row.is_proved for row in right),
            rehearsed=sum(row.is_proved and row.rehearsed for row in right),
            right_but_refuted=tuple(row.program for row in right if row.is_refuted),
            broken=len(broken),
            refuted=sum(row.is_refuted for row in broken),
            broken_but_proved=tuple(row.program for row in broken if row.is_proved),
            not_judged=tuple(row.program for row in rows if row.verdict == NOT_JUDGED),
        )

    @property
    def is_alarming(self) -> bool:
        """A false proof, or a sample that is not whole."""
        return bool(self.broken_but_proved or self.not_judged)

    def lines(self) -> Iterator[str]:
        yield f"proved as written    {share(self.proved, self.right)}"
        yield f"  and rehearsed      {share(self.rehearsed, self.proved)}"
        yield f"broken ones refuted  {share(self.refuted, self.broken)}"
        for title, programs in (
            ("REFUTED, but keeps what it states", self.right_but_refuted),
            ("NOT JUDGED", self.not_judged),
            ("FALSE PROOF of what it breaks", self.broken_but_proved),
        ):
            if programs:
                yield f"{title}: {', '.join(programs)}"


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"


def line_of(row: Judged) -> str:
    rehearsed = ("yes" if row.rehearsed else "no") if row.is_proved else "-"
    return f"{row.program:<31} {row.verdict:<10} {rehearsed:<9} {row.reason}".rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="programs with this in their name"
    )
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="for one program")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    options = parser.parse_args()

    paths = [path for path in sorted((HERE / "programs").glob("*.py")) if options.only in path.name]
    if not paths:
        parser.error(f"no program has {options.only!r} in its name")
    rows: list[Judged] = []
    if not options.json:
        print(f"{'program':<31} {'verdict':<10} {'rehearsed':<9} first reason")
    for row in prove_all(paths, options.timeout, options.processes):
        rows.append(row)
        if not options.json:
            print(line_of(row), flush=True)

    told = Figures.of(rows)
    if options.json:
        print(json.dumps({"programs": [row.as_json() for row in rows], "figures": asdict(told)}))
    else:
        print("", *told.lines(), sep="\n")
    return 1 if told.is_alarming else 0


if __name__ == "__main__":
    sys.exit(main())
