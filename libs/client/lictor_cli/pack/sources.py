"""Where a command finds packs: a directory of them, one pack's folder, or its file."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

from lictor.errors import LictorError
from lictor.installation.directories import packs_directory
from lictor_policy.judge.config import EvaluatorConfig, load_config
from lictor_policy.packs.files import PACK_FILE, DirectoryFiles
from lictor_policy.packs.pack import LoadedPack, PackReader


class PackSource(NamedTuple):
    """Packs to load: all of a directory, or those named, as the profiles want them."""

    directory: Path
    names: tuple[str, ...] | None
    profiles: tuple[str, ...] = ()

    def load(self) -> EvaluatorConfig:
        """Compile them."""
        return load_config(self.directory, self.names, self.profiles)

    def loaded(self) -> list[LoadedPack]:
        """Read them, without compiling them."""
        reader = PackReader(DirectoryFiles(self.directory))
        return [reader.pack(name) for name in self.pack_names()]

    def pack_names(self) -> list[str]:
        """Their names."""
        if self.names is not None:
            return list(self.names)
        found = DirectoryFiles(self.directory).pack_ids()
        if not found:
            raise LictorError(f"{self.directory} holds no pack; `lictor pack new ID` starts one.")
        return found


def packs_argument(parser: ArgumentParser) -> None:
    """`--packs`, for commands that judge by packs."""
    parser.add_argument(
        "--packs",
        metavar="DIR",
        help="the packs to judge by (default: LICTOR_PACKS, or the nearest"
        " policy-packs, or those that come with Lictor)",
    )


def profiles_argument(parser: ArgumentParser) -> None:
    """`--profiles`, for commands that load packs as the evaluator does."""
    parser.add_argument(
        "--profiles",
        metavar="NAMES",
        default=os.environ.get("LICTOR_PROFILES", ""),
        help="overlays to apply in this order, between commas (default: LICTOR_PROFILES)",
    )


def methods_argument(parser: ArgumentParser) -> None:
    """`--methods`, for commands that check what envelopes name."""
    parser.add_argument(
        "--methods",
        metavar="NAMES",
        default="",
        help="verification methods that the supervisor has and this machine has not, between commas",
    )


def known_methods(more: str) -> frozenset[str]:
    """The verification methods that envelopes may name: those installed here, and more between commas."""
    from lictor_contracts.action.verification_plugins import installed_methods
    from lictor_contracts.errors import MethodUnusable

    try:
        here = installed_methods().names
    except MethodUnusable as error:
        raise LictorError(f"{error}.") from None
    return frozenset((*here, *(name.strip() for name in more.split(",") if name.strip())))


def find_packs(given: str | None, profiles: str = "") -> PackSource:
    """The packs that an argument names, or those of this installation."""
    chosen = tuple(name.strip() for name in profiles.split(",") if name.strip())
    if given is None:
        found, here = packs_directory(), Path.cwd()
        found = found.relative_to(here) if found.is_relative_to(here) else found
        return PackSource(found, None, chosen)
    path = Path(given)
    if path.is_file():
        path = path.parent.resolve() if path.name == PACK_FILE else _refuse(path)
    if not path.is_dir():
        raise LictorError(f"{given} does not exist; name a directory of packs, or one pack.")
    if (path / PACK_FILE).is_file():
        path = path.resolve()
        return PackSource(path.parent, (path.name,), chosen)
    return PackSource(path, None, chosen)


def _refuse(path: Path) -> Path:
    raise LictorError(f"{path} is not a {PACK_FILE}; name a directory of packs, or one pack.")
