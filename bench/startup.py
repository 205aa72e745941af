"""How long `lictor --help` takes, beside `python -c pass` of the same interpreter, in the same run.

The two alternate, so that what else the machine does falls on both; medians are compared.

    python bench/startup.py [--rounds 40] [--json]
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from reporting import emit

LICTOR = Path(sys.executable).with_name("lictor")


def milliseconds(command: Sequence[str]) -> float:
    """The wall time of one run."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def measure(rounds: int) -> dict[str, float]:
    """The medians of both, and their ratio."""
    commands = {"help": [str(LICTOR), "--help"], "python": [sys.executable, "-c", "pass"]}
    for command in commands.values():
        # The first run fills the caches: it measures the disk.
        milliseconds(command)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(milliseconds(command))
    help_ms, python_ms = (statistics.median(times[name]) for name in ("help", "python"))
    return {
        "help_ms": round(help_ms, 2),
        "python_ms": round(python_ms, 2),
        "help_ratio": round(help_ms / python_ms, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    emit("start-up time of `lictor --help`", measure(options.rounds), options.json)


if __name__ == "__main__":
    main()
