"""What it costs to rehearse a program: an order on a stage, beside a bare fork of a process of the same size.

    python bench/rehearsal.py [--orders 100]

Each the median, of orders and forks in turn, all asked for from another process: `fork_ms`, a fork that ends at once,
in a process that has imported what a stage has; `order_1_ms` and `order_16_ms`, an order with so many runs; `start_ms`,
from no stage to the first answer. `…_least_ms` is the least of each: on a busy machine, a median is mostly waiting for
a core. `stage_mb` is what the warm parent holds. Ratios are to `fork_ms` of the same run.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from argparse import ArgumentParser

import psutil
from reporting import ROOT, emit

from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.rehearsal.orders import Answer, PlannedRun, StageOrder
from lictor_prove.rehearsal.outline import outline_of
from lictor_run.rehearsal.local_stage import LocalStage

LAYERS = ROOT / "examples" / "layers"
PROGRAM = """\
from tools.mail.trusted.effects import send_mail


def main(count: int) -> None:
    for number in range(count):
        if number % 2 == 0:
            send_mail("a@b", f"number {number}", "hello")
"""
# A process like the warm parent, which forks whenever it is asked to.
FORKS = """\
import gc, os, sys
import lictor_run.rehearsal.stage
gc.disable()
gc.freeze()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    print("done", flush=True)
"""


def _order(runs: int) -> StageOrder:
    layer = load_layer(discover_trusted_roots([LAYERS]), [LAYERS])
    answers = tuple(Answer("send_mail", None) for _ in range(4))
    planned = tuple(PlannedRun({"count": 8}, answers) for _ in range(runs))
    return StageOrder("python", PROGRAM, "program.py", "main", outline_of(layer), planned)


def _timed(stage: LocalStage, order: StageOrder) -> float:
    begun = time.perf_counter()
    seen = stage.perform(order)
    took = (time.perf_counter() - begun) * 1000
    if seen.refused or any(run.ended != "completed" for run in seen.runs):
        raise RuntimeError(f"not rehearsed: {seen}")
    return took


def _measured(orders: int) -> dict[str, float]:
    one, sixteen = _order(1), _order(16)
    times: dict[str, list[float]] = {"fork": [], "order_1": [], "order_16": []}
    with (
        LocalStage() as stage,
        subprocess.Popen(
            [sys.executable, "-s", "-P", "-c", FORKS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as forks,
    ):
        assert forks.stdin is not None
        assert forks.stdout is not None
        start = _timed(stage, one)
        for _ in range(orders):
            begun = time.perf_counter()
            forks.stdin.write("fork\n")
            forks.stdin.flush()
            forks.stdout.readline()
            times["fork"].append((time.perf_counter() - begun) * 1000)
            times["order_1"].append(_timed(stage, one))
            times["order_16"].append(_timed(stage, sixteen))
        held = psutil.Process(stage.pid or os.getpid()).memory_info().rss / 2**20
        forks.stdin.close()
    medians = {name: statistics.median(each) for name, each in times.items()}
    return {
        **{f"{name}_ms": round(each, 2) for name, each in medians.items()},
        **{f"{name}_least_ms": round(min(each), 2) for name, each in times.items()},
        "order_1_to_fork": round(medians["order_1"] / medians["fork"], 1),
        "order_16_to_fork": round(medians["order_16"] / medians["fork"], 1),
        "orders_per_s": round(1000 / medians["order_1"]),
        "start_ms": round(start),
        "stage_mb": round(held, 1),
    }


def main() -> None:
    """Measure and print."""
    parser = ArgumentParser(description="What a rehearsal costs, beside a bare fork.")
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    emit("prover: rehearsal", _measured(options.orders), options.json)


if __name__ == "__main__":
    main()
