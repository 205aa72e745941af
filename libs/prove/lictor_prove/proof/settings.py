"""What a proof is asked for: in which language, how long and with how much memory it may try.

Part of what an answer depends on, so part of every cache key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

Executable = Literal["python", "commands"]
"""What a program can be written in. An Effect IR document is no program: nothing runs it."""

ENGINE: Final = "lictor-prove/5"
"""Changes whenever the same program could get another answer."""

GRACE_MS: Final = 3_000
"""For what comes after the verdict: analysis, coverage, planning a rehearsal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofSettings:
    """The limits of one proof."""

    goal_ms: int = 5_000
    """For one question to solvers; more where the others that wait leave it, so the last may take all that is left."""
    total_ms: int = 30_000
    """For reading and for all questions; what is undecided then is unknown."""
    memory_mb: int = 1_024
    """For the solver; a worker process may grow by so much."""
    wall_ms: int = 60_000
    """For everything: a worker process that takes longer is killed."""

    analysis_ms: int = 250
    """For what guarantees imply and how they stand, after the verdict; twice that at most, 0 for none."""
    coverage: Literal["mention", "entailment"] = "entailment"
    """Whether a contract is covered when it is named, or also when what is proved implies it."""

    rehearsal_ms: int = 250
    """For planning the runs that compare what is proved with Python, or as long as solving took; 0 for no rehearsal."""

    def within(self, total_ms: int) -> ProofSettings:
        """The same in so much time, after which the process is soon killed: nothing that solvers do takes longer."""
        return replace(self, total_ms=total_ms, wall_ms=total_ms + GRACE_MS)

    @property
    def key(self) -> str:
        """What of an answer's key comes from here."""
        return (
            f"{ENGINE} goal={self.goal_ms} total={self.total_ms} memory={self.memory_mb} wall={self.wall_ms} "
            f"analysis={self.analysis_ms} coverage={self.coverage} rehearsal={self.rehearsal_ms}"
        )


DEFAULT: Final = ProofSettings()
