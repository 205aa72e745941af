"""The files of a layer: which they are, what their modules are called, and the layer's hash.

A trusted root is a directory. Each file below it belongs to the layer; each `*.py` is a module, whose name is its path
from the first import root that holds it. Files are read once: what is hashed is what runs.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import lictor_layer
from lictor_prove.errors import ProverConfigError

FORMAT: Final = "lictor/trusted-layer/v1"
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
_CACHES: Final = "__pycache__"


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A module of a layer."""

    name: str
    """`tools.mail.trusted.effects`."""
    path: Path
    place: str
    """Its path from the import root, for messages: the same on every machine."""
    source: bytes
    is_package: bool


@dataclass(frozen=True, slots=True)
class LayerFiles:
    """A layer on disk."""

    modules: tuple[ModuleFile, ...]
    packages: tuple[str, ...]
    """The package of each trusted root."""
    hash: str


def discover_trusted_roots(import_roots: Sequence[Path]) -> tuple[Path, ...]:
    """Every `tools/<domain>/trusted` and `tools/<org>/<domain>/trusted` below the import roots."""
    found: dict[Path, None] = {}
    for import_root in import_roots:
        for pattern in ("tools/*/trusted", "tools/*/*/trusted"):
            for root in sorted(Path(import_root).glob(pattern)):
                hidden = any(part.startswith(".") for part in root.parts[-3:])
                if root.is_dir() and not hidden:
                    found[root.resolve()] = None
    # A root below another one is part of it.
    return tuple(root for root in found if not any(other in root.parents for other in found))


def read_files(trusted_roots: Sequence[Path], import_roots: Sequence[Path]) -> LayerFiles:
    """The files of these roots."""
    bases = [Path(root).resolve() for root in import_roots]
    roots = list(dict.fromkeys(Path(root).resolve() for root in trusted_roots))
    hashes: dict[str, str] = {}
    modules: dict[str, ModuleFile] = {}
    packages: list[str] = []
    for root in roots:
        if not root.is_dir():
            raise ProverConfigError(
                f"{root}: the trusted root is no directory; check --trusted-root"
            )
        base = _base_of(root, bases)
        packages.append(_module_name(root, base, f"{root}"))
        _refuse_shadowing(root, base, roots)
        files = _files_below(root)
        if not any(path.suffix == ".py" for path in files):
            raise ProverConfigError(
                f"{root}: the trusted root holds no module; check --trusted-root"
            )
        for path in files:
            place = path.relative_to(base).as_posix()
            content = _content(path)
            digest = hashlib.sha256(content).hexdigest()
            if hashes.setdefault(place, digest) != digest:
                raise ProverConfigError(
                    f"{place}: two import roots hold different files of this name;"
                    " load these layers one at a time"
                )
            if path.suffix == ".py":
                module = _module(path, base, place, content)
                known = modules.setdefault(module.name, module)
                if known.path != module.path:
                    raise ProverConfigError(
                        f"{module.name} is both {known.path} and {module.path};"
                        " load these layers one at a time"
                    )
    ordered = tuple(modules[name] for name in sorted(modules))
    return LayerFiles(ordered, tuple(packages), _hash(hashes))


def _hash(hashes: dict[str, str]) -> str:
    document = {
        "api": lictor_layer.API_VERSION,
        "files": [[place, hashes[place]] for place in sorted(hashes)],
        "format": FORMAT,
    }
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _base_of(root: Path, bases: Sequence[Path]) -> Path:
    for base in bases:
        if root != base and root.is_relative_to(base):
            return base
    raise ProverConfigError(
        f"{root}: the trusted root is below none of the import roots"
        f" ({', '.join(map(str, bases)) or 'none'}); give its parent with --import-root"
    )


def _files_below(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != _CACHES)
        for name in folders:
            if Path(folder, name).is_symlink():
                raise ProverConfigError(
                    f"{Path(folder, name)}: a folder of a trusted root is a link; what is behind it would be"
                    " read without being hashed; put the folder itself there"
                )
        found.extend(Path(folder, name) for name in sorted(names) if not name.endswith(".pyc"))
    return found


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ProverConfigError(f"{path}: the file can't be read: {error.strerror}") from None
    if len(content) > MAX_FILE_BYTES:
        raise ProverConfigError(f"{path}: the file is larger than {MAX_FILE_BYTES} bytes")
    return content


def _module(path: Path, base: Path, place: str, content: bytes) -> ModuleFile:
    is_package = path.name == "__init__.py"
    named = path.parent if is_package else path.with_suffix("")
    return ModuleFile(_module_name(named, base, place), path, place, content, is_package)


def _module_name(path: Path, base: Path, place: str) -> str:
    parts = path.relative_to(base).parts
    for part in parts:
        if not part.isidentifier():
            raise ProverConfigError(
                f"{place}: {part!r} can't be part of a module's name; rename it"
            )
    return ".".join(parts)


def _refuse_shadowing(root: Path, base: Path, roots: Sequence[Path]) -> None:
    """An `__init__.py` above a trusted root would run untrusted code, and hide what stands beside it."""
    for parent in root.parents:
        if parent == base:
            break
        inside = any(parent == other or parent.is_relative_to(other) for other in roots)
        if not inside and (parent / "__init__.py").exists():
            raise ProverConfigError(
                f"{parent / '__init__.py'}:1: a package outside the trusted root {root} stands above"
                " it; remove this file: such folders are namespace packages"
            )
