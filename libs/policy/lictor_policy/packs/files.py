"""The files that packs are read from: a directory, or a bundle held in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lictor_policy.errors import PackError

PACK_FILE = "policy.yaml"
PROFILES, SHARED, MAINTENANCE, RUNTIMES = "profiles", "shared", "maintenance", "runtimes"
RESERVED = frozenset({PROFILES, SHARED, MAINTENANCE, RUNTIMES})
"""Folders beside the packs that hold other things."""


class PackFiles(Protocol):
    """Files by their names below one root, such as `no-silence/policy.yaml`."""

    def said(self, name: str) -> str:
        """The name of a file as errors show it."""
        ...

    def read(self, name: str) -> bytes:
        """The bytes of a file; a PackError when there is none."""
        ...

    def listed(self, folder: str) -> list[str]:
        """The names of the YAML files that stand in a folder, sorted."""
        ...

    def pack_ids(self) -> list[str]:
        """The folders that hold a pack, sorted."""
        ...


@dataclass(frozen=True, slots=True)
class DirectoryFiles:
    """Files of a directory, read when asked for."""

    root: Path

    def said(self, name: str) -> str:
        """The path of a file."""
        return str(self.root / name)

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        path = self.root / name
        # A link may lead a whole pack elsewhere, but nothing in a pack leads out of it.
        inside = (self.root / name.partition("/")[0]).resolve()
        try:
            if not path.resolve(strict=True).is_relative_to(inside):
                raise PackError(f"{path}: leads out of its folder; put the file itself there")
            return path.read_bytes()
        except OSError as error:
            raise PackError(f"{path}: can't be read: {error.strerror}") from error

    def listed(self, folder: str) -> list[str]:
        """The YAML files of a folder."""
        return sorted(f"{folder}/{path.name}" for path in (self.root / folder).glob("*.yaml"))

    def pack_ids(self) -> list[str]:
        """The folders with a pack."""
        found = {path.parent.name for path in self.root.glob(f"*/{PACK_FILE}")}
        return sorted(found - RESERVED)


@dataclass(frozen=True, slots=True)
class MemoryFiles:
    """Files given as bytes; `root` stands for their place in errors."""

    root: str
    files: Mapping[str, bytes]

    def said(self, name: str) -> str:
        """The name of a file below the root."""
        return f"{self.root}/{name}" if self.root else name

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        try:
            return self.files[name]
        except KeyError:
            raise PackError(f"{self.said(name)}: is not there") from None

    def listed(self, folder: str) -> list[str]:
        """The YAML files of a folder."""
        return sorted(
            name
            for name in self.files
            if name.rpartition("/")[0] == folder and name.endswith(".yaml")
        )

    def pack_ids(self) -> list[str]:
        """The folders with a pack."""
        split = (name.rpartition("/") for name in self.files)
        found = {folder for folder, _, file in split if file == PACK_FILE and "/" not in folder}
        return sorted(found - RESERVED - {""})
