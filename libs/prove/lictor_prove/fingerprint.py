"""What decides answers here: the prover's own sources, and the versions of what it stands on.

`ENGINE` says which prover answered, and is changed by people, who may forget. Kept answers are also looked up by this
hash, so one that another build gave is decided anew.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lictor_prove.errors import ProverConfigError

PACKAGES: Final = ("lictor_prove", "lictor_ir", "lictor_layer")
"""Whose code decides an answer."""


@cache
def fingerprint() -> str:
    """The hash of this process's prover; ProverConfigError when its sources are not there to be read."""
    folders = [_folder(package) for package in PACKAGES]
    return hash_of(folders, (version("z3-solver"), platform.python_version()))


def hash_of(folders: Sequence[Path], versions: Sequence[str]) -> str:
    """The hash of every Python file below the folders, with its name, and of the versions."""
    whole = hashlib.sha256(repr(tuple(versions)).encode())
    for folder in folders:
        files = sorted(folder.rglob("*.py"))
        if not files:
            raise ProverConfigError(
                f"{folder}: the prover's sources are not there, so kept answers can't be told from"
                " those of another build; install it with its sources"
            )
        for path in files:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{folder.name}/{path.relative_to(folder).as_posix()} {digest}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ProverConfigError(f"{package}: the package can't be found; install it again")
    return Path(spec.origin).parent
