"""How fast an envelope is checked, beside DeepSigma's enforcer with the same signals in the same run.

    pip install --target peer deepsigma==2.1.3
    PYTHONPATH=peer python bench/contracts.py [--json]

Both check the same envelope, with four stages, two features and four counts, all within their bounds. Blocks of calls
take turns, and of each pair of blocks beside each other the ratio is taken: `dte_ratio_to_deepsigma` is the median,
above 1 when ours is faster. The peer is given the ages that ours has to compute from the capture times. Both get maps
that were made before; our signals, which hold them, are put together anew for every call, and
`dte_ratio_with_signals_at_hand` tells how much that costs.
Before that, each gate is broken in turn to see that the peer does look at all four.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from reporting import emit

from lictor_contracts.envelope.bounds import Envelope, Signals
from lictor_schema.contracts.envelope import DTE

BLOCK = 2_000
ROUNDS = 300
NOW = 1_700_000_000_000_000
SPEC: dict[str, Any] = {
    "decisionType": "refund",
    "version": "1.0.0",
    "deadlineMs": 120,
    "stageBudgetsMs": {"context": 40, "plan": 40, "act": 30, "verify": 10},
    "freshness": {"defaultTtlMs": 500, "featureTtls": {"price": 250}, "allowStaleIfSafe": False},
    "limits": {"maxHops": 3, "maxFanout": 4, "maxToolCalls": 10, "maxChainDepth": 5},
    "degradeLadder": [{"step": "cache_bundle", "maxExtraMs": 20}, {"step": "abstain"}],
    "verification": {"requiredAboveBlastRadius": "small", "methods": ["read_after_write"]},
    "safeAction": {
        "requireIdempotency": True,
        "requireRollbackAbove": "small",
        "blastRadiusMax": "medium",
    },
}
ELAPSED = 95
STAGES = {"context": 30, "plan": 30, "act": 30, "verify": 5}
AGES_MS = {"price": 100, "profile": 200}
COUNTS = {"hops": 1, "fanout": 2, "tool_calls": 3, "chain_depth": 4}
BROKEN: dict[str, dict[str, Any]] = {
    "deadline": {"elapsed_ms": 121},
    "stage_budget": {"stage_elapsed": {"plan": 41}},
    "feature_ttl": {"feature_ages": {"price": 251}},
    "limits": {"counts": {"hops": 4}},
}


def measured(elapsed_ms: int, ages_ms: dict[str, int], **rest: dict[str, int]) -> Signals:
    """The peer's arguments as our signals."""
    captured = {name: NOW - age * 1000 for name, age in ages_ms.items()}
    return Signals(NOW, elapsed_ms, rest["stage_ms"], captured, rest["counts"])


def peer_at_work() -> Callable[..., list[Any]]:
    """The peer's check, once it has shown that each of its gates finds what is broken."""
    from core.dte_enforcer import DTEEnforcer  # pyright: ignore[reportMissingImports]

    enforce = DTEEnforcer(SPEC).enforce
    clean: dict[str, Any] = {
        "elapsed_ms": ELAPSED,
        "stage_elapsed": STAGES,
        "feature_ages": AGES_MS,
        "counts": COUNTS,
    }
    if enforce(**clean):
        raise RuntimeError("the peer finds a violation in clean signals; compare other ones")
    for gate, broken in BROKEN.items():
        found = [each.gate for each in enforce(**{**clean, **broken})]
        if found != [gate]:
            raise RuntimeError(f"the peer does not check {gate}: it found {found}")
    return enforce


def block_us(call: Callable[[], object]) -> float:
    """Microseconds a call, over one block."""
    turns = range(BLOCK)
    began = time.perf_counter_ns()
    for _ in turns:
        call()
    return (time.perf_counter_ns() - began) / 1000 / BLOCK


def main() -> int:
    parser = argparse.ArgumentParser(description="envelope checks beside DeepSigma's enforcer")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    try:
        enforce = peer_at_work()
    except ImportError:
        print(
            "DeepSigma is not here, so there is nothing to compare with; install deepsigma==2.1.3"
            " into a folder and name it in PYTHONPATH",
            file=sys.stderr,
        )
        return 1
    envelope = Envelope.of(DTE.from_json(json.dumps(SPEC)))
    signals = measured(ELAPSED, AGES_MS, stage_ms=STAGES, counts=COUNTS)
    if envelope.violations(signals):
        raise RuntimeError("our envelope does not hold clean signals; correct them")
    captured = signals.captured_at_us

    def ours() -> object:
        return envelope.violations(Signals(NOW, ELAPSED, STAGES, captured, COUNTS))

    def ours_at_hand() -> object:
        return envelope.violations(signals)

    def theirs() -> object:
        return enforce(
            elapsed_ms=ELAPSED, stage_elapsed=STAGES, feature_ages=AGES_MS, counts=COUNTS
        )

    gc.disable()
    taken: list[tuple[float, float, float]] = []
    for _ in range(ROUNDS):
        taken.append((block_us(ours), block_us(theirs), block_us(ours_at_hand)))
    checked, peer, at_hand = zip(*taken, strict=True)
    result = {
        "dte_ratio_to_deepsigma": round(statistics.median(p / c for c, p, _ in taken), 2),
        "dte_ratio_with_signals_at_hand": round(statistics.median(p / h for _, p, h in taken), 2),
        "dte_check_us": round(statistics.median(checked), 2),
        "dte_check_with_signals_at_hand_us": round(statistics.median(at_hand), 2),
        "deepsigma_enforce_us": round(statistics.median(peer), 2),
        "rounds": ROUNDS,
        "calls_a_block": BLOCK,
    }
    emit("Envelope checks, four gates, clean", result, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
