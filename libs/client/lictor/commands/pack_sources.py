"""Where a command finds packs: a directory of them, one pack's folder, or its file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

from lictor.errors import LictorError
from lictor.where import packs_directory
from lictor_policy.config import PACK_FILE, EvaluatorConfig, load_config
from lictor_policy.packs import load_pack
from lictor_schema.packs import PolicyPack


class PackSource(NamedTuple):
    """Packs to load: all of a directory, or those named."""

    directory: Path
    names: tuple[str, ...] | None

    def load(self) -> EvaluatorConfig:
        """Compile them."""
        return load_config(self.directory, self.names)

    def packs(self) -> list[PolicyPack]:
        """Their models."""
        return [load_pack(self.directory / name / PACK_FILE).pack for name in self.pack_names()]

    def pack_names(self) -> list[str]:
        """Their names."""
        if self.names is not None:
            return list(self.names)
        found = sorted(path.parent.name for path in self.directory.glob(f"*/{PACK_FILE}"))
        if not found:
            raise LictorError(f"{self.directory} holds no pack; `lictor pack new ID` starts one.")
        return found


def packs_argument(parser: ArgumentParser) -> None:
    """`--packs`, for commands that judge by packs."""
    parser.add_argument(
        "--packs",
        metavar="DIR",
        help="the packs to judge by (default: LICTOR_PACKS, or the nearest policy-packs)",
    )


def find_packs(given: str | None) -> PackSource:
    """The packs that an argument names, or those of this installation."""
    if given is None:
        return PackSource(packs_directory(), None)
    path = Path(given)
    if path.is_file():
        path = path.parent.resolve() if path.name == PACK_FILE else _refuse(path)
    if not path.is_dir():
        raise LictorError(f"{given} does not exist; name a directory of packs, or one pack.")
    if (path / PACK_FILE).is_file():
        path = path.resolve()
        return PackSource(path.parent, (path.name,))
    return PackSource(path, None)


def _refuse(path: Path) -> Path:
    raise LictorError(f"{path} is not a {PACK_FILE}; name a directory of packs, or one pack.")
