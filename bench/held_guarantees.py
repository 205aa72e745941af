"""What it costs to hold the guarantees before each call of a run, beside the same run of a document without any.

    python bench/held_guarantees.py [--calls 5000]

The document is followed as in a runner's child, without the program, its layer and the journal: `bare_us`, microseconds
a call when only the calls are compared; `held_us`, when `all`, `distinct`, `count` and `sum` are held, too. Each is the
least of three runs. `held_twice_us` is for a run of twice as many calls: it must not grow.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser

from reporting import emit

from lictor_ir.document import Document
from lictor_ir.text.document_reader import read
from lictor_run.lockstep import Lockstep

DOCUMENT = """effect-ir v1
program "bench.py" target main

trusted size() -> int
trusted pay(account: str, cents: int) -> none

effect c1: size()
effect c2: pay(account = concat("account ", str_of_int(i)), cents = abs(i)) for i in result(c1)
"""
GUARANTEES = """
guarantee "each" : forall e in pay : startswith(e.account, "account") and e.cents < 1000000
guarantee "once" : distinct e in pay : e.account
guarantee "few" : (count e in pay) <= 1000000
guarantee "cap" : (sum e in pay : e.cents) <= 1000000000000
"""


def _microseconds(document: Document, calls: int) -> float:
    """A call, of one run to its end."""
    begun = time.perf_counter()
    lockstep = Lockstep(document)
    lockstep.expect("size", {})
    lockstep.returned(calls)
    for number in range(calls):
        lockstep.expect("pay", {"account": f"account {number}", "cents": number})
        lockstep.returned(None)
    lockstep.complete()
    return (time.perf_counter() - begun) / calls * 1e6


def _measured(calls: int) -> dict[str, float]:
    bare, held = read(DOCUMENT), read(DOCUMENT + GUARANTEES)
    without = min(_microseconds(bare, calls) for _ in range(3))
    with_them = min(_microseconds(held, calls) for _ in range(3))
    twice = min(_microseconds(held, 2 * calls) for _ in range(3))
    return {
        "calls": calls,
        "bare_us": round(without, 1),
        "held_us": round(with_them, 1),
        "held_to_bare": round(with_them / without, 1),
        "held_twice_us": round(twice, 1),
        "twice_to_once": round(twice / with_them, 2),
    }


def main() -> None:
    """Measure and print."""
    parser = ArgumentParser(description="What holding guarantees before each call costs.")
    parser.add_argument("--calls", type=int, default=5_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    emit("runner: guarantees before each call", _measured(options.calls), options.json)


if __name__ == "__main__":
    main()
