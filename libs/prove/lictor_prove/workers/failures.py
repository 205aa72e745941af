"""What is said of a program whose proof did not come to an end: always `unknown`, and why."""

from __future__ import annotations

import signal

from lictor_prove.proof.result import Proof, unknown
from lictor_prove.proof.settings import ProofSettings

_REPORT = "report this program; until then it must not run"


def too_slow(settings: ProofSettings) -> Proof:
    """Its process was killed because the time was up."""
    return unknown(
        "prover.timeout",
        f"the proof took longer than {settings.wall_ms} ms",
        "make the program simpler, or give the proof more time",
    )


def too_large(settings: ProofSettings) -> Proof:
    """It asked for more memory than it may have."""
    return unknown(
        "prover.memory",
        f"the proof needs more than {settings.memory_mb} MB",
        "make the program simpler, or give the proof more memory",
    )


def failed(error: Exception) -> Proof:
    """The prover has a defect."""
    told = f"the prover failed: {type(error).__name__}: {error}"
    return unknown("prover.internal", told, _REPORT)


def crashed(code: int, settings: ProofSettings) -> Proof:
    """Its process ended before it answered; `code` is that of its exit, or minus its signal."""
    if code >= 0:
        told = f"the proof's process ended with {code} and without an answer"
        return unknown("prover.crashed", told, _REPORT)
    return unknown(
        "prover.crashed",
        f"the proof's process was ended by {signal.Signals(-code).name}; that happens where more than "
        f"{settings.memory_mb} MB are needed",
        "give the proof more memory; if that does not help, report this program",
    )
