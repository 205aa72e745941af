"""How long the shipped packs take to be analyzed and compared, and how that grows with the number of rules.

    python bench/packs_analysis.py [--json]

The shipped packs are analyzed as `lictor pack analyze` does, in a process in which the solver is loaded already (its
import is told apart), and compared with themselves as `lictor pack diff --prove` does, which has to prove that nothing
differs. Then ten and a hundred copies of them stand beside each other, each for a channel of its own, so that no copy
is like another. `growth_at_100x` is the time of a hundred copies over that of one: 100 would be as many times the time
as there are rules. Times are those of the processor, of which one core is used, so that other work on the machine does
not count; `analysis_on_the_clock_s` is what a person waited. A record may list 1 000 rules of one event, which a
hundred copies exceed; that limit is lifted here, because nothing is recorded.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from reporting import ROOT, emit

from lictor_policy.judge import config as policy_config
from lictor_policy.judge.config import EvaluatorConfig, build_config
from lictor_policy.packs.files import DirectoryFiles
from lictor_policy.packs.pack import LoadedPack, PackReader
from lictor_prove.packs.analysis import analyze
from lictor_prove.packs.comparison import compare

ROUNDS = 5


def copies(number: int) -> EvaluatorConfig:
    """So many copies of the shipped packs, each for one channel; one copy is for all of them."""
    files = DirectoryFiles(ROOT / "policy-packs")
    reader = PackReader(files)
    shipped = [reader.pack(name) for name in files.pack_ids()]
    if number == 1:
        return build_config(shipped)
    with patch.object(policy_config, "MAX_ITEMS", sys.maxsize):
        return build_config(_copy(pack, at) for at in range(number) for pack in shipped)


def _copy(loaded: LoadedPack, at: int) -> LoadedPack:
    metadata, spec = loaded.pack.metadata, loaded.pack.spec
    scope = metadata.applies_to.model_copy(update={"channels": (f"channel-{at}",)})
    named = metadata.model_copy(update={"id": f"{metadata.id}-{at}", "applies_to": scope})
    rules = tuple(rule.model_copy(update={"id": f"{rule.id}.{at}"}) for rule in spec.rules)
    pack = loaded.pack.model_copy(
        update={"metadata": named, "spec": spec.model_copy(update={"rules": rules})}
    )
    origins = tuple(replace(each, owner=f"{each.owner}-{at}") for each in loaded.origins)
    return replace(loaded, pack=pack, origins=origins)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def main() -> int:
    parser = argparse.ArgumentParser(description="analysis of policy packs, and its growth")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    loading, _ = timed(lambda: __import__("z3"))
    one = copies(1)
    began = time.perf_counter()
    analyze(one)
    waited = time.perf_counter() - began
    once = [timed(lambda: analyze(one)) for _ in range(ROUNDS)]
    seconds = statistics.median(each for each, _ in once)
    compared = statistics.median(timed(lambda: compare(one, one))[0] for _ in range(ROUNDS))
    analysis = once[0][1]
    ten, hundred = copies(10), copies(100)
    ten_s, of_ten = timed(lambda: analyze(ten))
    hundred_s, of_hundred = timed(lambda: analyze(hundred))
    for each in (analysis, of_ten, of_hundred):
        doubts = [finding for finding in each.findings if finding.level != "information"]
        if doubts:
            raise RuntimeError(f"the copies are no longer apart: {doubts[0]}")
    result = {
        "rules": analysis.rules,
        "analysis_s": round(seconds, 3),
        "analysis_on_the_clock_s": round(waited, 3),
        "share_of_the_2_s_aimed_at": round(seconds / 2, 3),
        "questions": analysis.questions,
        "comparison_s": round(compared, 3),
        "comparison_to_analysis": round(compared / seconds, 2),
        "analysis_of_10x_rules_s": round(ten_s, 2),
        "growth_at_10x": round(ten_s / seconds, 1),
        "analysis_of_100x_rules_s": round(hundred_s, 1),
        "growth_at_100x": round(hundred_s / seconds, 1),
        "unknown_at_100x": len(of_hundred.of("unknown")),
        "loading_the_solver_s": round(loading, 3),
    }
    emit("Analysis of the shipped packs, and of copies of them", result, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
