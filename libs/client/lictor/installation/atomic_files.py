"""Files that are the old or the new one for every reader, never half of one."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lictor.errors import LictorError


def replace_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file so that a reader never sees half of it."""
    with replacing(path, mode=mode) as file:
        file.write(content)


@contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Generator[BinaryIO]:
    """The same, written piece by piece; the file is not touched when anything fails."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        draft.touch(mode, exist_ok=False)
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise LictorError(f"{path} can't be written ({error.strerror}); choose another.") from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def replace_durably(path: Path, content: bytes) -> None:
    """Write a file so that it is the old or the new one, whatever happens, and stays when the power fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise LictorError(f"{path} can't be written ({error.strerror}).") from error
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
