"""What a run may use, and how its process is held to it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_MB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """The limits of one child process."""

    wall_s: float = 120.0
    """Without the time that the journal takes."""
    cpu_s: int = 60
    memory_mb: int = 512
    """By how much it may grow once Python and our packages are loaded."""
    file_mb: int = 64
    """The largest file it may write."""
    files: int = 256
    """How many it may have open."""


def end_with_parent(parent: int) -> None:
    """Die when the runner does: nobody would write down what happens."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def hold_to(limits: RunLimits) -> None:
    """Limit this process, for good."""
    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * os.sysconf("SC_PAGE_SIZE") + limits.memory_mb * _MB
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, limits.file_mb * _MB),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    # A second between the signal that says why, and the one that can't be held off.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 1))
