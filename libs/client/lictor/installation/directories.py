"""Where the files of an installation are: packs, agent definitions, layers, approvers, and its data."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from lictor.errors import LictorError
from lictor.fast.broker_address import DATA_DIR

PACKS_DIR = "policy-packs"
AGENTS_DIR = "agents"


def packs_directory(start: Path | None = None) -> Path:
    """The policy packs to judge by: one's own, or without any those that come with Lictor."""
    return own_packs(start) or shipped_packs()


def own_packs(start: Path | None = None) -> Path | None:
    """One's own policy packs: `LICTOR_PACKS`, or `policy-packs` in the nearest directory upwards."""
    if given := os.environ.get("LICTOR_PACKS"):
        if not Path(given).is_dir():
            raise LictorError(
                f"LICTOR_PACKS names {given}, which is not a directory; correct it or unset it."
            )
        return Path(given).absolute()
    for folder in upwards(start):
        if (folder / PACKS_DIR).is_dir():
            return folder / PACKS_DIR
    return None


def changeable_packs() -> Path:
    """One's own policy packs, for whoever is going to change or release them."""
    if found := own_packs():
        return found
    copying = f"cp -rL {shlex.quote(str(shipped_packs()))} {PACKS_DIR}"
    raise LictorError(
        f"No {PACKS_DIR} directory was found in {here()} or above it, and the packs that come with Lictor are not"
        f" yours to change; copy them with `{copying}`, or set LICTOR_PACKS."
    )


def shipped_packs() -> Path:
    """The packs that come with Lictor."""
    # A link in the source tree, to the one place where they are written; a folder where it is installed.
    return (Path(__file__).parents[1] / "policy_packs").resolve()


def agents_directory(start: Path | None = None) -> Path | None:
    """The agent definitions: `LICTOR_AGENTS`, or `agents` in the nearest directory upwards that has some."""
    if given := os.environ.get("LICTOR_AGENTS"):
        if not Path(given).is_dir():
            raise LictorError(
                f"LICTOR_AGENTS names {given}, which is not a directory; correct it or unset it."
            )
        return Path(given).absolute()
    for folder in upwards(start):
        if _has_definitions(folder / AGENTS_DIR):
            return folder / AGENTS_DIR
    return None


def _has_definitions(folder: Path) -> bool:
    """Whether it is ours: others call folders `agents` too."""
    try:
        return any(
            b"AgentDefinition" in path.read_bytes()
            for path in folder.iterdir()
            if path.suffix in (".yaml", ".yml", ".json") and path.is_file()
        )
    except OSError:
        return False


def layers_named() -> str | None:
    """The directories of trusted layers that the services read, each in full."""
    named = [part for part in os.environ.get("LICTOR_LAYERS", "").split(os.pathsep) if part]
    return os.pathsep.join(str(Path(part).absolute()) for part in named) or None


def approvers_named() -> str | None:
    """The file of approvers that the services read."""
    named = os.environ.get("LICTOR_APPROVERS")
    return str(Path(named).absolute()) if named else None


def data_directory(packs: Path | None = None, start: Path | None = None) -> Path:
    """Where data goes unless told: the nearest `.lictor` upwards, or beside the packs, or here."""
    for folder in upwards(start):
        if (folder / DATA_DIR).is_dir():
            return folder / DATA_DIR
    # Packs that were named by LICTOR_PACKS may lie anywhere, also where nobody may write.
    beside = packs is not None and packs.parent in upwards(start)
    return (packs.parent if packs is not None and beside else start or here()) / DATA_DIR


def here() -> Path:
    """The current directory."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise LictorError("The current directory was removed; change to one that exists.") from None


def upwards(start: Path | None = None) -> Iterator[Path]:
    """A directory, by default the current one, and all above it."""
    first = start or here()
    yield first
    yield from first.parents
