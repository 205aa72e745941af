"""Attack what must refuse, at random, and count what it did: ``./taskw fuzz -- --count 5000 --seed 1``.

Every target is tried in turn with its own count, or with the one given; the table at the end tells how many attempts
were refused, accepted and right, and wrong. One wrong attempt is exit code 1. The same seed repeats the same run.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    # What pytest is told by pyproject.toml.
    _TESTS = Path(__file__).parents[2]
    sys.path[:0] = [
        str(_TESTS / "attacks"),
        str(_TESTS / "prover"),
        str(_TESTS.parent / "libs/ir/tests"),
    ]

from fuzz import bundles, hook_inputs, kernel_rules, mutated_certificates, programs, stream_readers
from fuzz.tally import Tally, Told

COLUMNS = ("applied", "refused", "right", "open", "wrong")
SHOWN = 20


@dataclass(frozen=True)
class Target:
    """What is attacked, and how often unless a count is given: about a minute each."""

    fuzz: Callable[[int, int, Told], Tally]
    count: int


TARGETS: Mapping[str, Target] = {
    "kernel-rules": Target(kernel_rules.fuzz, 20_000),
    "certificates": Target(mutated_certificates.fuzz, 2_000),
    "bundles": Target(bundles.fuzz, 5_000),
    "hook-inputs": Target(hook_inputs.fuzz, 2_000),
    "readers": Target(stream_readers.fuzz, 2_000),
    "programs": Target(programs.fuzz, 2_000),
}


def main(argv: Sequence[str]) -> int:
    """Run them, and return 1 if anything was wrong."""
    parser = ArgumentParser(prog="fuzz", description=__doc__, allow_abbrev=False)
    parser.add_argument("--count", type=int, help="attempts a target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", choices=TARGETS, metavar="TARGET",
                        help=f"leave out the others: {', '.join(TARGETS)}")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, one object a target")
    options = parser.parse_args(list(argv))
    if not options.json:
        sys.stdout.write(f"{'target':14}{''.join(f'{name:>10}' for name in COLUMNS)}   seconds\n")
    is_wrong = False
    for name in options.target or TARGETS:
        target = TARGETS[name]
        count = target.count if options.count is None else options.count
        began = time.monotonic()
        tally = target.fuzz(count, options.seed, _progress(name, count))
        seconds = round(time.monotonic() - began, 1)
        is_wrong = is_wrong or bool(tally.wrong)
        _print(name, tally, seconds, as_json=options.json)
    return 1 if is_wrong else 0


def _progress(name: str, count: int) -> Told:
    def told(applied: int) -> None:
        sys.stderr.write(f"{name}: {applied} of {count}\n")

    return told


def _print(name: str, tally: Tally, seconds: float, *, as_json: bool) -> None:
    numbers = {
        column: len(tally.wrong) if column == "wrong" else getattr(tally, column)
        for column in COLUMNS
    }
    if as_json:
        told = {"target": name, **numbers, "seconds": seconds, "findings": tally.wrong[:SHOWN]}
        sys.stdout.write(f"{json.dumps(told)}\n")
    else:
        row = "".join(f"{number:10}" for number in numbers.values())
        findings = [f"  WRONG {each}\n" for each in tally.wrong[:SHOWN]]
        sys.stdout.write(f"{name:14}{row}{seconds:10}\n{''.join(findings)}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
