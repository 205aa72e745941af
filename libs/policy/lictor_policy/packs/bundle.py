"""Bundles: everything a configuration is built from, in one document that its hash names.

The examples beside a pack (`tests.yaml`) and profiles that were not chosen shape no decision and stay out.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from lictor_policy.errors import PackError
from lictor_policy.judge.config import EvaluatorConfig, compile_files
from lictor_policy.packs.files import PROFILES, DirectoryFiles, MemoryFiles
from lictor_policy.packs.overlays import refuse_unknown_profiles
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes
from lictor_schema.errors import describe_validation_error
from lictor_schema.packs.release import PackBundle

_EXAMPLES = "tests.yaml"


class Bundled(NamedTuple):
    """A bundle as bytes, its name, and what it compiles to."""

    body: bytes
    bundle_hash: str
    config: EvaluatorConfig


def bundle_directory(directory: Path, profiles: Sequence[str] = ()) -> Bundled:
    """Read the packs of a directory once, and compile exactly what was read."""
    if not directory.is_dir():
        raise PackError(f"{directory}: is not a directory; point it at the policy packs")
    found = DirectoryFiles(directory)
    # Before the others are left out, so that the nearest of them can be named.
    refuse_unknown_profiles(found, profiles)
    # Folder by folder: a link may lead a whole pack elsewhere, and a search from the top would not follow it.
    paths = [path for folder in directory.iterdir() for path in folder.rglob("*.yaml")]
    names = sorted(path.relative_to(directory).as_posix() for path in paths)
    files = {name: _text(found, name) for name in names if _shapes_decisions(name, profiles)}
    if not files:
        raise PackError(f"{directory}: holds no <pack-id>/policy.yaml; nothing would be governed")
    try:
        bundle = PackBundle(profiles=tuple(profiles), files=files)
    except ValidationError as error:
        told = describe_validation_error(error)[0]
        raise PackError(f"{directory}: {told.path} {told.problem}") from error
    body = canonical_json(bundle.model_dump(mode="json"))
    return Bundled(body, hash_bytes(body), _compile(bundle, str(directory)))


def read_bundle(body: bytes) -> Bundled:
    """Compile a bundle that was stored; raises PackError when it is no bundle, or does not load."""
    try:
        bundle = PackBundle.from_json(body)
    except (ValidationError, CanonicalError) as error:
        raise PackError(f"the bundle can't be read: {error}") from error
    bundle_hash = hash_bytes(body)
    return Bundled(body, bundle_hash, _compile(bundle, f"bundle {bundle_hash[7:19]}"))


def _shapes_decisions(name: str, profiles: Sequence[str]) -> bool:
    folder, _, rest = name.partition("/")
    if name.startswith(".") or "/." in name or rest == _EXAMPLES:
        return False
    return folder != PROFILES or rest.removesuffix(".yaml") in profiles


def _text(files: DirectoryFiles, name: str) -> str:
    try:
        return files.read(name).decode("utf-8")
    except UnicodeDecodeError:
        raise PackError(f"{files.said(name)}: is not UTF-8 text; save it as UTF-8") from None


def _compile(bundle: PackBundle, said: str) -> EvaluatorConfig:
    files = {name: text.encode() for name, text in bundle.files.items()}
    return compile_files(MemoryFiles(said, files), profiles=bundle.profiles)
