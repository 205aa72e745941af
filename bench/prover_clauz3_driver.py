"""Runs in clauz3's own environment: proves cases one after the other, in process, as long as it is asked to.

One JSON object a line on stdin (`entry`, `trusted_roots`, `import_roots`), one a line on stdout (`verdict`, `ms`,
`detail`). `proved` means what its own command line means by exit code 0.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def answer(prover: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The verdict on one case, and how long it took."""
    begun = time.perf_counter()
    try:
        results = prover.prove_path(
            Path(request["entry"]),
            trusted_roots=[Path(root) for root in request["trusted_roots"]],
            import_roots=[Path(root) for root in request["import_roots"]],
        )
        said = [result.proof.conclusion.value for result in results]
        detail = "; ".join(f"{each.proof.conclusion.value} {each.proof}" for each in results)
        verdict = "proved" if said and set(said) == {"proved!"} else "; ".join(said) or "nothing"
    except (prover.ProverConfigError, OSError, SyntaxError, UnicodeDecodeError) as error:
        verdict, detail = "refused", f"{error}"
    except Exception as error:  # noqa: BLE001 -- its crash is an answer that the table shows
        verdict, detail = "crashed", f"{type(error).__name__}: {error}"
    taken = time.perf_counter() - begun
    return {"verdict": verdict, "ms": taken * 1000, "detail": detail[:2000]}


def main() -> None:
    # Trusted layers run in this process, and may print.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    prover = importlib.import_module("clauz3.prover")
    replies.write(json.dumps({"ready": True}) + "\n")
    replies.flush()
    for line in sys.stdin:
        replies.write(json.dumps(answer(prover, json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
