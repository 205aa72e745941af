"""Mutate a sample of our code and see whether the tests notice: ``./taskw mutations``.

Each mutant stands in a private copy of the repository. First the quick tests that are nearest to the mutated module run
on every mutant. Those that pass are then given to the other quick tests of the package, and to the nearest once more
with all examples and with the tests that start processes. A mutant whose tests don't end in time counts as killed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import json
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shutil import copyfile

from source_mutations import Mutation, mutated, mutations_of

ROOT = Path(__file__).parents[2]
PACKAGES = ("policy", "guard", "contracts", "ir", "prove", "seal")
WHOLE = 5
"""How many times as long the tests of a whole package may take as those nearest to a mutant."""
UNREACHED = sys.maxsize
KILLED, TIMED_OUT, SURVIVED, UNFINISHED = "killed", "timed out", "survived", "unfinished"
OUTCOMES = (KILLED, TIMED_OUT, SURVIVED, UNFINISHED)
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0")


@dataclass(frozen=True)
class Mutant:
    """A mutation of a module; the path starts at the root of the repository."""

    package: str
    path: Path
    mutation: Mutation


@dataclass(frozen=True)
class Result:
    """What the tests made of a mutant; unfinished is one that only its nearest tests have seen."""

    mutant: Mutant
    outcome: str
    killer: str
    """The test that noticed."""

    def __str__(self) -> str:
        found = self.mutant.mutation
        place = f"{self.mutant.path}:{found.line} {found.function}"
        return f"{place} [{found.operator}] {found.before}  ->  {found.after}"


def sample(packages: list[str], count: int, seed: int) -> list[Mutant]:
    """As many mutants of each package, in turns, so that a run cut short has some of each."""
    chance = random.Random(seed)
    drawn: list[list[Mutant]] = []
    for package in packages:
        sources = sorted((ROOT / "libs" / package).glob("lictor_*/**/*.py"))
        mutants = [
            Mutant(package, path.relative_to(ROOT), mutation)
            for path in sources
            for mutation in mutations_of(path.read_text("utf-8"))
        ]
        share = -(-count // len(packages))
        drawn.append(chance.sample(mutants, min(share, len(mutants))))
    longest = max(map(len, drawn))
    turns = [each[turn] for turn in range(longest) for each in drawn if turn < len(each)]
    return turns[:count]


def nearest_first(package: str, module: Path) -> tuple[list[str], int]:
    """The package's test files, those nearest to the module first, and how many of them reach it directly."""
    home = ROOT / "libs" / package
    files = {_module_name(each.relative_to(home)): each for each in home.glob("lictor_*/**/*.py")}
    imports = {name: _imported(each, files) for name, each in files.items()}
    target = _module_name(module.relative_to(home.relative_to(ROOT)))
    ranks: dict[str, int] = {}
    for test in sorted((home / "tests").rglob("test_*.py")):
        reached, distance = _imported(test, files), 1
        seen = set(reached)
        while target not in seen and reached:
            reached = {found for each in reached for found in imports[each]} - seen
            seen |= reached
            distance += 1
        mirrors = test.stem.startswith(f"test_{module.stem}") and test.parent.name in (
            module.parent.name,
            "tests",
        )
        ranks[str(test.relative_to(ROOT))] = (
            0 if mirrors else distance if target in seen else UNREACHED
        )
    ordered = sorted(ranks, key=lambda each: (ranks[each], each))
    closest = max(1, min(ranks.values()))
    return ordered, sum(rank <= closest and rank != UNREACHED for rank in ranks.values())


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, known: dict[str, Path]) -> set[str]:
    """The package's modules that the file names in its imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{each.name}" for each in node.names)
    return found & known.keys()


class Copy:
    """A private copy of the repository's files, to mutate and test in."""

    def __init__(self, root: Path, limit: float, seed: int) -> None:
        self.root, self.limit, self.seed = root, limit, seed
        command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                copyfile(ROOT / name, root / name)

    def judge(self, mutant: Mutant, runs: list[list[str]], patience: float) -> Result:
        """Run the tests on the mutant until one notices, and make the copy as it was."""
        source = (ROOT / mutant.path).read_text("utf-8")
        self._write(mutant.path, mutated(source, mutant.mutation.number))
        result = Result(mutant, SURVIVED, "")
        for arguments in runs:
            result = Result(mutant, *self.run(arguments, patience))
            if result.outcome != SURVIVED:
                break
        self._write(mutant.path, source)
        return result

    def _write(self, path: Path, source: str) -> None:
        place = self.root / path
        place.write_text(source, "utf-8")
        # Byte code is told by the second and the size: that of the last mutant might pass for this one's.
        Path(importlib.util.cache_from_source(str(place))).unlink(missing_ok=True)

    def run(self, arguments: list[str], patience: float = 1) -> tuple[str, str]:
        """What the tests say with this copy's code, and which one failed."""
        homes = (each.parent for each in self.root.glob("*/*/pyproject.toml"))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, homes)),
            "LICTOR_TEST_INFRA": "embedded",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                [*PYTEST, f"--hypothesis-seed={self.seed}", *arguments],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(self.limit * patience)
            except subprocess.TimeoutExpired:
                return TIMED_OUT, ""
            finally:
                # With what the tests started and left.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            # 5: no test was selected, so none noticed.
            if code in (0, 5):
                return SURVIVED, ""
            said.seek(0)
            failed = [each for each in said if each.startswith(("FAILED ", "ERROR "))]
            return KILLED, failed[0].split(" - ")[
                0
            ].strip() if failed else f"pytest exits with {code}"


class Judge:
    """Several copies that judge at the same time, until their time is up."""

    def __init__(self, copies: list[Copy], seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._pool = ThreadPoolExecutor(len(copies))
        self._free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for each in copies:
            self._free.put(each)

    def check(self, packages: Iterable[str]) -> None:
        """Refuse to judge with tests that fail without any mutation."""

        def check(package: str) -> None:
            copy = self._free.get()
            outcome, test = copy.run(["--quick", f"libs/{package}/tests"], WHOLE)
            self._free.put(copy)
            if outcome != SURVIVED:
                raise SystemExit(f"mutations: {package}: {outcome} without any mutation {test}")

        list(self._pool.map(check, packages))

    def near(self, mutants: list[Mutant]) -> Iterator[Result]:
        """What the quick tests nearest to each mutant say, in the order of the mutants."""

        def near(mutant: Mutant) -> Result | None:
            tests, close = nearest_first(mutant.package, mutant.path)
            result = self._judge(mutant, [["--quick", *tests[:close]]] if close else [])
            if result and result.outcome == SURVIVED:
                return replace(result, outcome=UNFINISHED)
            return result

        return filter(None, self._pool.map(near, mutants))

    def rest(self, unfinished: list[Result]) -> Iterator[Result]:
        """What all other tests of the package say."""

        def rest(result: Result) -> Result:
            tests, close = nearest_first(result.mutant.package, result.mutant.path)
            runs = [["--quick", *tests[close:]]] if tests[close:] else []
            runs += [tests[:close]] if close else []
            return self._judge(result.mutant, runs, WHOLE) or result

        return self._pool.map(rest, unfinished)

    def _judge(self, mutant: Mutant, runs: list[list[str]], patience: float = 1) -> Result | None:
        if time.monotonic() > self._end:
            return None
        copy = self._free.get()
        try:
            return copy.judge(mutant, runs, patience)
        finally:
            self._free.put(copy)


def judged(mutants: list[Mutant], copies: list[Copy], seconds: float) -> list[Result]:
    """What the tests say of each, as far as time allows."""
    judge = Judge(copies, seconds)
    judge.check(sorted({each.package for each in mutants}))
    results: list[Result] = []
    for result in judge.near(mutants):
        results.append(result)
        _tell(len(results), result)
    unfinished = [each for each in results if each.outcome == UNFINISHED]
    results = [each for each in results if each.outcome != UNFINISHED]
    for result in judge.rest(unfinished):
        results.append(result)
        _tell(len(results), result)
    return results


def _tell(number: int, result: Result) -> None:
    print(f"{number:4} {result.outcome:10} {result} {result.killer}", file=sys.stderr, flush=True)


def main() -> None:
    """Judge a sample and print the figures."""
    parser = argparse.ArgumentParser(prog="./taskw mutations --", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="mutants at most")
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--packages", default=",".join(PACKAGES))
    parser.add_argument("--seconds", type=float, default=3600, help="start no mutant after these")
    parser.add_argument("--limit", type=float, default=60, help="seconds of the nearest tests")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at the same time")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    mutants = sample(options.packages.split(","), options.count, options.seed)
    with tempfile.TemporaryDirectory(prefix="lictor-mutants-") as folder:
        roots = [Path(folder) / str(number) for number in range(options.jobs)]
        copies = [Copy(each, options.limit, options.seed) for each in roots]
        results = judged(mutants, copies, options.seconds)
    if options.json:
        print(json.dumps([asdict(each) for each in results], default=str, indent=2))
        return
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        counts[result.mutant.package][result.outcome] += 1
        counts["all"][result.outcome] += 1
    print(f"seed {options.seed}: {len(results)} of {len(mutants)} mutants")
    print(f"{'package':10}", *(f"{each:>10}" for each in OUTCOMES))
    for package, found in counts.items():
        print(f"{package:10}", *(f"{found[each]:10}" for each in OUTCOMES))
    for outcome in OUTCOMES[1:]:
        print(f"\n{outcome}:")
        for result in results:
            if result.outcome == outcome:
                print(f"  {result}")


if __name__ == "__main__":
    main()
