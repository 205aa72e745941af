"""The proof cases of clauz3 0.2.1, fetched into a cache outside the tree, and which layers each of them is judged by.

The source distribution is fetched by pip from whatever package index it is set up with; version and hash are pinned
here, so it is the same bytes wherever they come from. A case's file name tells the verdict that its authors expect:
`*_pass.py` must be proved, `*_fail.py` must not. Nothing of it enters our tree.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

VERSION = "0.2.1"
SHA256 = "216f20a3d05ff05edf52604af1d7c5c48886717675e399b7f0e877ae1d6bcfe7"
ENDINGS = {"_pass.py": True, "_fail.py": False}


@dataclass(frozen=True, slots=True)
class Case:
    """A program, the roots it is proved with, and what its name promises."""

    name: str
    """Its path below the root of the distribution, for people."""
    file: Path
    expected: bool
    """Whether it should be proved."""
    import_roots: tuple[Path, ...]
    trusted_roots: tuple[Path, ...]

    @property
    def group(self) -> str:
        """The folder of cases it stands in; the cases of one share their layers."""
        return self.name.rpartition("/")[0]


def cache_folder() -> Path:
    """Where what was fetched is kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home else Path.home() / ".cache"
    return base / "lictor" / "parity"


def archive(cache: Path) -> Path:
    """The source distribution, fetched unless it is there, with the hash that is pinned."""
    wanted = cache / f"clauz3-{VERSION}.tar.gz"
    if not wanted.is_file() or _digest(wanted) != SHA256:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            # pip itself compares the hash, and has no other file to offer.
            pin = Path(folder) / "requirements.txt"
            pin.write_text(f"clauz3=={VERSION} --hash=sha256:{SHA256}\n", "utf-8")
            pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
            fetch = ("download", "--quiet", "--no-deps", "--no-binary", "clauz3")
            run((*pip, *fetch, "--require-hashes", "-r", str(pin), "-d", folder))
            (fetched,) = Path(folder).glob("*.tar.gz")
            fetched.replace(wanted)
    if _digest(wanted) != SHA256:
        raise RuntimeError(f"{wanted} is not the distribution that is pinned; remove it")
    return wanted


def unpacked(cache: Path) -> Path:
    """The root of the unpacked distribution."""
    root = cache / f"clauz3-{VERSION}"
    if not root.is_dir():
        source = archive(cache)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            with tarfile.open(source) as tar:
                tar.extractall(folder, filter="data")
            (Path(folder) / root.name).replace(root)
    return root


def run(command: Iterable[str]) -> None:
    """Run a command; what it says is shown only when it fails."""
    done = subprocess.run(tuple(command), capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{said}")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- the cases below a folder ----------------------------------------------------------------------


def find_cases(root: Path) -> tuple[Case, ...]:
    """Every case in every folder named `cases` below the root, sorted by name."""
    return tuple(
        case
        for folder in sorted(root.rglob("cases"))
        if folder.is_dir()
        for case in _in_folder(root, folder)
    )


def _in_folder(root: Path, folder: Path) -> list[Case]:
    project = folder.parent.parent if folder.parent.name == "tests" else folder.parent
    trusted = trusted_below(project)
    return [
        Case(
            name=file.relative_to(root).as_posix(),
            file=file,
            expected=expected,
            import_roots=(project,),
            trusted_roots=trusted,
        )
        for file in sorted(folder.glob("*.py"))
        for ending, expected in ENDINGS.items()
        if file.name.endswith(ending)
    ]


def trusted_below(project: Path) -> tuple[Path, ...]:
    """`tools/*/trusted` and `tools/*/*/trusted`; a project without tools has its layers beside its cases."""
    tools = sorted((*project.glob("tools/*/trusted"), *project.glob("tools/*/*/trusted")))
    beside = (
        folder for folder in sorted(project.iterdir()) if folder.is_dir() and folder.name != "cases"
    )
    return tuple(tools) or tuple(folder for folder in beside if any(folder.glob("*.py")))


def spread(cases: tuple[Case, ...], count: int) -> tuple[Case, ...]:
    """As many cases as asked for, evenly over the whole list: the same ones each time."""
    if count >= len(cases):
        return cases
    return tuple(cases[place * len(cases) // count] for place in range(count))
