"""clauz3 itself, in an environment of its own outside the tree, asked through one long-lived process.

Its prover has no clock of its own around everything it does, so the process is ended when a case takes too long, and
the next case gets a new one.
"""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from prover_cases import VERSION, Case, archive, run

DRIVER = Path(__file__).with_name("prover_clauz3_driver.py")
STARTING_S = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """What a prover says about a case."""

    verdict: str
    ms: float
    detail: str = ""

    @property
    def proved(self) -> bool:
        return self.verdict == "proved"


def environment(cache: Path) -> Path:
    """The Python of an environment with clauz3 in it; made unless it is there."""
    folder = cache / f"venv-{VERSION}-py{sys.version_info.major}{sys.version_info.minor}"
    python, made = folder / "bin" / "python", folder / "made"
    if not made.is_file():
        source = archive(cache)
        run((sys.executable, "-m", "venv", "--clear", str(folder)))
        pip = (str(python), "-m", "pip", "--disable-pip-version-check", "--no-input")
        # Its layer for databases needs the extra.
        run((*pip, "install", "--quiet", f"clauz3[db] @ {source.as_uri()}"))
        made.touch()
    return python


class Clauz3:
    """The process that answers; a context manager."""

    def __init__(self, python: Path, timeout_s: float) -> None:
        self._python = python
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Clauz3:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def prove(self, case: Case, timeout_s: float | None = None) -> Answer:
        """Its verdict on a case; `timeout` when it took too long, `died` when its process ended."""
        request = {
            "entry": str(case.file),
            "trusted_roots": [str(root) for root in case.trusted_roots],
            "import_roots": [str(root) for root in case.import_roots],
        }
        process = self._started()
        limit = timeout_s or self._timeout_s
        begun = time.perf_counter()
        assert process.stdin
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = _line(process, limit)
        if line is None:
            self.close()
            return Answer("timeout", limit * 1000, f"no answer in {limit:g} s")
        if not line:
            self.close()
            return Answer("died", (time.perf_counter() - begun) * 1000, "its process ended")
        reply = json.loads(line)
        return Answer(reply["verdict"], reply["ms"], reply["detail"])

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                (str(self._python), str(DRIVER)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                bufsize=1,
            )
            if not _line(self._process, STARTING_S):
                self.close()
                raise RuntimeError("clauz3 did not start in its environment; remove the cache")
        return self._process

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _line(process: subprocess.Popen[str], limit_s: float) -> str | None:
    """The next line it says: empty when it ended, None when it took too long."""
    assert process.stdout
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        # It answers one line a request, so nothing can wait in the reader's own buffer.
        return process.stdout.readline() if ready.select(limit_s) else None
