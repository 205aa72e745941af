"""Every proof case of clauz3 0.2.1, judged by our prover and by clauz3 itself, against what the case's name promises.

    python bench/prover_parity.py [--json] [--without-clauz3] [--only TEXT] [--timeout 60]

Ends with 1 when our verdict differs from a case's name and docs/parity.md does not explain why. The differences it may
explain are of one kind: clauz3 documents a hole, its case pins the hole as `_pass`, and we refuse to prove it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from prover_cases import Case, cache_folder, find_cases, unpacked
from prover_clauz3 import Answer, Clauz3, environment
from prover_ours import Ours

EXPLAINED = Path(__file__).resolve().parent.parent / "docs" / "parity.md"
HOLDS = frozenset({"tests/fixtures/loop_email/cases/loop_var_rebind_fail.py"})
"""Cases that clauz3 can't read, and whose guarantees hold in every run."""
_ROW = re.compile(
    r"^\|\s*`(?:clauz3-[\d.]+/)?(?P<case>[^`]+_(?:pass|fail)\.py)`\s*\|(?P<why>.+)\|\s*$", re.M
)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    case: Case
    ours: Answer
    clauz3: Answer | None

    @property
    def agrees(self) -> bool:
        return self.ours.proved == self.case.expected

    def as_json(self) -> dict[str, object]:
        theirs = self.clauz3
        return {
            "case": self.case.name,
            "expected": expected(self.case),
            "ours": self.ours.verdict,
            "clauz3": theirs.verdict if theirs else None,
            "agrees": self.agrees,
            "ours_ms": round(self.ours.ms, 2),
            "clauz3_ms": round(theirs.ms, 2) if theirs else None,
            "reason": "" if self.agrees else self.ours.detail,
        }


def expected(case: Case) -> str:
    return "proved" if case.expected else "not proved"


def explained(text: str) -> dict[str, str]:
    """The cases that a page explains, and why they differ."""
    return {found["case"]: found["why"].strip() for found in _ROW.finditer(text)}


def compared(cases: Iterable[Case], ours: Ours, clauz3: Clauz3 | None) -> Iterator[Row]:
    """The verdicts, case by case."""
    for case in cases:
        yield Row(case, ours.prove(case), clauz3.prove(case) if clauz3 else None)


def unexplained(rows: Iterable[Row], why: Mapping[str, str]) -> list[Row]:
    """Disagreements that nothing excuses. A proof of what should not be proved is excused by name alone (`HOLDS`)."""
    return [
        row
        for row in rows
        if not row.agrees
        and (not why.get(row.case.name, "") or (row.ours.proved and row.case.name not in HOLDS))
    ]


def summary(rows: list[Row], why: Mapping[str, str]) -> dict[str, object]:
    """The numbers, and every disagreement with its reason."""
    differ = [row for row in rows if not row.agrees]
    theirs = [row for row in rows if row.clauz3 is not None]
    return {
        "agree": len(rows) - len(differ),
        "total": len(rows),
        "explained": len(differ) - len(unexplained(rows, why)),
        "unexplained": len(unexplained(rows, why)),
        "clauz3_agree": sum(row.clauz3.proved == row.case.expected for row in theirs if row.clauz3),
        "clauz3_total": len(theirs),
        "disagreements": [
            {
                "case": row.case.name,
                "expected": expected(row.case),
                "ours": row.ours.verdict,
                "clauz3": row.clauz3.verdict if row.clauz3 else None,
                "explained": None if row in unexplained(rows, why) else why[row.case.name],
                "reason": row.ours.detail,
            }
            for row in differ
        ],
    }


def print_row(row: Row, width: int) -> None:
    theirs, ms = ("-", "-") if row.clauz3 is None else (row.clauz3.verdict, f"{row.clauz3.ms:.0f}")
    mark = " " if row.agrees else "!"
    print(
        f"{mark} {row.case.name:<{width}}  {expected(row.case):<10}  {row.ours.verdict:<9}"
        f"  {theirs:<16}  {row.ours.ms:>8.1f}  {ms:>8}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="clauz3's cases, judged by both provers.")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--without-clauz3", action="store_true", help="our verdicts alone")
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose name holds this")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a case, for clauz3")
    options = parser.parse_args()

    cache = cache_folder()
    cases = [case for case in find_cases(unpacked(cache)) if options.only in case.name]
    if not cases:
        parser.error(f"no case's name holds {options.only!r}")
    width = max(len(case.name) for case in cases)
    rows: list[Row] = []
    if not options.json:
        print(f"  {'case':<{width}}  expected    ours       clauz3             ours ms  clauz3 ms")
    peer = None if options.without_clauz3 else Clauz3(environment(cache), options.timeout)
    try:
        for row in compared(cases, Ours(), peer):
            rows.append(row)
            if not options.json:
                print_row(row, width)
            elif sys.stderr.isatty():
                print(f"\r{len(rows)}/{len(cases)}", end="", file=sys.stderr, flush=True)
    finally:
        if peer:
            peer.close()
    why = explained(EXPLAINED.read_text("utf-8"))
    result = summary(rows, why)
    if options.json:
        print(json.dumps({**result, "cases": [row.as_json() for row in rows]}))
    else:
        print_summary(result)
    return 1 if result["unexplained"] else 0


def print_summary(result: dict[str, object]) -> None:
    print(f"\nagree {result['agree']}/{result['total']}", end="")
    if result["clauz3_total"]:
        print(f", clauz3 itself {result['clauz3_agree']}/{result['clauz3_total']}", end="")
    print()
    differences = result["disagreements"]
    assert isinstance(differences, list)
    for each in differences:
        said = each["explained"] or f"UNEXPLAINED: {each['reason']}"
        print(f"  {each['case']}: expected {each['expected']}, ours {each['ours']}: {said}")


if __name__ == "__main__":
    sys.exit(main())
