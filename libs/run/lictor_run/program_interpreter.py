"""How Python is started wherever a program runs, rehearsed or in earnest: the same flags, hash seed and locale.

A rehearsal says nothing about a run in which the same program could do anything else.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# Not -I, which ignores the hash seed: the environment holds nothing else that Python reads.
FLAGS: Final = ("-s", "-P", "-X", "utf8")
ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType(
    {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
)
_READ_BY_PYTHON: Final = ("PYTHON", "LC_", "LANG")


def command(module: str, *arguments: str) -> list[str]:
    """What starts a module of ours in this Python."""
    return [sys.executable, *FLAGS, "-m", module, *arguments]


def environment(shown: Mapping[str, str] | None = None) -> dict[str, str]:
    """All that such a process sees: what it is shown, but nothing that changes Python."""
    others = {name: value for name, value in (shown or {}).items() if not is_read_by_python(name)}
    return {**others, **ENVIRONMENT}


def is_read_by_python(name: str) -> bool:
    """Whether Python reads a variable when it starts."""
    return name.startswith(_READ_BY_PYTHON)
