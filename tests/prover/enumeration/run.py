"""Hold the front-end against every Python that is here: ``./taskw enumerate``, ``./taskw enumerate -- --json``.

Each Python of `VERSIONS` that is found enumerates by itself, in an environment of its own that is made from
requirements.lock. The table tells how many combinations there were, how many the front-end accepted and refused, and in
how many it says something else than that Python does. One difference is exit code 1.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # What pytest is told by pyproject.toml.
    sys.path[:0] = [str(Path(__file__).parents[1])]

from enumeration.combinations import SECTIONS, everything
from enumeration.comparison import Combination, Difference, compared

ROOT = Path(__file__).parents[3]
VERSIONS = ("3.11", "3.12", "3.13")
COLUMNS = ("combinations", "accepted", "cautious", "rejected", "differences", "seconds")
BATCH = 500
SHOWN = 20
PATIENCE = 60
"""Seconds of CPU time for one batch, which takes about one; no program of it may run for ever. Others on the machine
may take as long as they like."""


# -- here ------------------------------------------------------------------------------------------


def enumerated(sections: Sequence[str], one_in: int) -> dict[str, Any]:
    """What came of all combinations of these sections, or of one in so many, with this Python."""
    began, tally = time.monotonic(), Counter[str]()
    found: dict[str, Difference] = {}
    chosen = (each for each in everything() if each.section in sections)
    batches = _batches(itertools.islice(chosen, 0, None, one_in))
    forked = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(mp_context=forked, initializer=_quiet) as pool:
        for outcomes in pool.map(_checked, batches):
            for outcome in outcomes:
                if isinstance(outcome, str):
                    tally[outcome] += 1
                    continue
                tally["differences"] += 1
                kind = f"{outcome.combination.section} {_kind(outcome.what)}"
                if kind not in found or _length(outcome) < _length(found[kind]):
                    found[kind] = outcome
            if tally.total() % (BATCH * 100) == 0:
                sys.stderr.write(f"{sys.version.split()[0]}: {tally.total()} combinations\n")
    numbers = {name: tally[name] for name in COLUMNS[1:-1]}
    return {
        "python": sys.version.split()[0],
        "combinations": tally.total(),
        **numbers,
        "seconds": round(time.monotonic() - began, 1),
        "findings": sorted(map(str, found.values()), key=len),
    }


def _batches(combinations: Iterable[Combination]) -> Iterator[list[Combination]]:
    waiting = iter(combinations)
    while batch := list(itertools.islice(waiting, BATCH)):
        yield batch


def _quiet() -> None:
    # Comparing with `is` and the like is warned of; here it is tried on purpose.
    warnings.simplefilter("ignore")


def _checked(batch: Sequence[Combination]) -> list[Difference | str]:
    # Ends this process, whatever it does: a loop inside of C hears of nothing else.
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        return [compared(each) for each in batch]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _kind(what: str) -> str:
    """What is alike in differences: no names, numbers and texts."""
    return re.sub(r"'[^']*'|\b\w*\d+\b", "_", what.split("; with the answers")[0])[:90]


def _length(difference: Difference) -> int:
    return len(difference.combination.source)


# -- everywhere ------------------------------------------------------------------------------------


def python_of(version: str) -> str | None:
    """A Python of that version: this one, one on the path, or one of pyenv."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"{version}.*/bin/python"))),
    ]
    for place in filter(None, places):
        asked = [place, "-c", "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False)
        if told.returncode == 0 and told.stdout.strip() == version:
            return place
    return None


def environment_of(version: str, python: str) -> str:
    """The Python of an environment with our dependencies; made where there is none yet."""
    if python == sys.executable:
        return python
    home = ROOT / ".cache" / f"python-{version}"
    stamp, lock = home / "stamp", ROOT / "requirements.lock"
    inside = home / "bin" / "python"
    if not stamp.exists() or stamp.read_text("utf-8") != lock.read_text("utf-8"):
        sys.stderr.write(f"{version}: installing into {home.relative_to(ROOT)}\n")
        shutil.rmtree(home, ignore_errors=True)
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        wanted = [*pip, "--no-deps", "--require-hashes", "-r", str(lock)]
        subprocess.run([python, "-m", "venv", str(home)], check=True, stdout=sys.stderr)
        subprocess.run(wanted, check=True, stdout=sys.stderr)
        stamp.write_text(lock.read_text("utf-8"), "utf-8")
    return str(inside)


def asked(version: str, options: argparse.Namespace) -> dict[str, Any]:
    """What enumerating with that Python gave; without counts where there is none."""
    python = python_of(version)
    if python is None:
        return {"python": version, "found": False}
    homes = os.pathsep.join(str(each.parent) for each in ROOT.glob("libs/*/pyproject.toml"))
    command = [environment_of(version, python), __file__, "--here", "--one-in", str(options.one_in)]
    for section in options.only or ():
        command += ["--only", section]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": homes}
    )
    return json.loads(done.stdout)


def main(argv: Sequence[str]) -> int:
    """Enumerate, and return 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="enumerate", description=__doc__, allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print JSON, one object a Python")
    parser.add_argument("--here", action="store_true", help="with this Python alone; prints JSON")
    parser.add_argument("--only", action="append", choices=SECTIONS, metavar="SECTION",
                        help=f"leave out the others: {', '.join(SECTIONS)}")  # fmt: skip
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="every Nth combination")
    options = parser.parse_args(list(argv))
    if options.here:
        sys.stdout.write(json.dumps(enumerated(options.only or list(SECTIONS), options.one_in)))
        return 0
    if not options.json:
        sys.stdout.write(f"{'python':10}{''.join(f'{name:>14}' for name in COLUMNS)}\n")
    differs = False
    for version in VERSIONS:
        told = asked(version, options)
        differs = differs or bool(told.get("differences"))
        _print(told, as_json=options.json)
    return 1 if differs else 0


def _print(told: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(f"{json.dumps(told)}\n")
    elif "combinations" not in told:
        sys.stdout.write(f"{told['python']:10}     not found\n")
    else:
        row = "".join(f"{told[name]:14}" for name in COLUMNS)
        findings = "".join(f"\nDIFFERENCE {each}" for each in told["findings"][:SHOWN])
        sys.stdout.write(f"{told['python']:10}{row}\n{findings}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
