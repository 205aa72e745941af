"""Where a server of a data directory has its Unix socket: in a folder that only its user can enter."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from lictor_local.server_process import EmbeddedError, writable

# The kernel takes 107 bytes on Linux and 103 on macOS.
_LONGEST = 100


def socket_path(folder: Path, name: str) -> Path:
    """The path of the socket, the same each time; the folder is made.

    In the given folder where the path is short enough for the kernel, else in a short one of this user's own.
    """
    path = folder / name
    if len(os.fsencode(path)) <= _LONGEST:
        with writable(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        return path
    short = hashlib.blake2b(os.fsencode(path), digest_size=12).hexdigest()
    for base in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if (
            base
            and len(os.fsencode(place := Path(base, f"lictor-{os.getuid()}", short))) <= _LONGEST
        ):
            _make_own(place.parent)
            return place
    raise EmbeddedError(
        f"{path} is too long for a Unix socket, and so is every folder for such files; set TMPDIR to a shorter one."
    )


def _make_own(folder: Path) -> None:
    """Make a folder where everybody may make some: it must turn out to be ours, and closed to others."""
    with writable(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise EmbeddedError(
            f"{folder} is not a folder of this user alone, so no socket can be put there; remove it."
        )
