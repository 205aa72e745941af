"""What was signed, in a file beside the key: a log that lost it is not gone on with.

A stream that was restored from an older backup looks like a log in good order. Whoever has a newer checkpoint of it
would find two trees signed by one key. So the sealer remembers what it signed, outside of the broker, and signs nothing
that does not follow from it, until an operator moves the file away.

It remembers before it publishes: an append whose answer gets lost may be stored, and read by others. Until the log
shows what became of it, nothing else is appended than its leaves.
"""

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from
from lictor_seal import SealError, StoredCheckpoint
from lictor_sealer.log.head_file import (
    DROPPED,
    STORED,
    HeadFileError,
    PendingAppend,
    Remembered,
    SignedTree,
)

log = logging.getLogger("lictor.sealer")

# Longer than another sealer waits for the broker's answer.
_LOCKED_WITHIN_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.01

FileState = tuple[int, int, int]


class SignedHead:
    """The file; without a path, what was signed is remembered as long as the process lives."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._remembered = Remembered()
        self._left: FileState | None = None
        """The file as we left it: another sealer of this machine may remember in it too."""
        self._is_read = path is None

    @classmethod
    def from_environment(cls) -> "SignedHead":
        """The file that ``LICTOR_SEAL_HEAD`` names, or `signed-head` beside the key."""
        named, key = os.environ.get("LICTOR_SEAL_HEAD"), os.environ.get("LICTOR_SEAL_KEY")
        if named:
            return cls(Path(named))
        if not key or not os.access(Path(key).parent, os.W_OK):
            log.warning(
                "the head of the log can't be remembered beside the key; name a file in LICTOR_SEAL_HEAD:"
                " without it, an older log that is restored would be gone on with"
            )
            return cls()
        return cls(Path(key).with_name("signed-head"))

    @property
    def remembered(self) -> Remembered:
        """What the file says, since it was last held."""
        return self._remembered

    @asynccontextmanager
    async def held(self) -> AsyncIterator[bool]:
        """Keep others from appending who remember in the same file; yields whether it is as we left it.

        Raises BusError when the file can't be read, or is held by another for too long.
        """
        if self._path is None:
            yield True
            return
        with self._reporting():
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            await self._lock(folder)
            yield self._read_again(self._path)
        finally:
            os.close(folder)

    def write_ahead(self, confirmed: SignedTree | None, pending: PendingAppend) -> None:
        """Remember an append before anybody else can see it, also if this machine crashes."""
        remembered = Remembered(confirmed, pending)
        if self._path is not None and remembered != self._remembered:
            draft = self._path.with_name(f".{self._path.name}.new")
            with self._reporting():
                draft.unlink(missing_ok=True)
                draft.touch(0o600)
                with draft.open("wb") as file:
                    file.write(remembered.to_bytes())
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(self._path)
                self._left = _state(self._path)
                _sync(self._path.parent)
        self._remembered = remembered

    def confirm(self) -> None:
        """What was pending is stored."""
        if self._remembered.pending is not None:
            self._remembered = Remembered(self._remembered.pending.tree)
            self._mark(STORED)

    def drop(self, head: SignedTree) -> None:
        """The log, signed with our key up to this head, went on without what was pending."""
        self.found(head)
        self._mark(DROPPED)

    def found(self, head: SignedTree) -> None:
        """What was pending is in the log, under this checkpoint; the file goes on saying which leaves they are."""
        self._remembered = Remembered(head)

    async def refuse_another_log(self, client: Client) -> None:
        """Raise BusError unless the stream holds what was signed last; what is pending and there, is confirmed."""
        pending, confirmed = self._remembered.pending, self._remembered.confirmed
        if pending is not None and await _holds(client, pending.tree):
            self.confirm()
        elif confirmed is not None and not await _holds(client, confirmed):
            raise self.older_log(confirmed, "the stream is older than the log, or another one")

    def older_log(self, signed: SignedTree, why: str) -> BusError:
        """The refusal to go on with a log that lost what was signed."""
        way_out = (
            "start again" if self._path is None else f"move {self._path} away, and start again"
        )
        return BusError(
            f"EPISODES does not hold the checkpoint of {signed.frontier.size} leaves that was signed at EPISODES "
            f"{signed.place}: {why}; nothing is sealed, because whoever keeps that checkpoint would see a fork. "
            f"Restore a newer backup; or tell them, {way_out}"
        )

    async def _lock(self, folder: int) -> None:
        end = time.monotonic() + _LOCKED_WITHIN_S
        while True:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise BusError(
                        f"another sealer has held {self._path} for {_LOCKED_WITHIN_S:.0f} s"
                    ) from None
                await asyncio.sleep(_LOOK_AGAIN_S)
            else:
                return

    def _read_again(self, path: Path) -> bool:
        """Whether the file is as we left it; else it is read."""
        with self._reporting():
            found = _state(path)
            if self._is_read and found == self._left:
                return True
            content = None if found is None else path.read_bytes()
            if content is not None:
                # Whoever wrote it may have crashed before it was on the disk, and we go on from what it says.
                _sync(path)
                _sync(path.parent)
        try:
            self._remembered = Remembered() if content is None else Remembered.from_bytes(content)
        except HeadFileError as error:
            raise BusError(
                f"{path} does not say what was signed last: {error}. Restore the file from a backup that is not older "
                "than the log; or compare the log with a checkpoint that somebody keeps, move the file away, and "
                "start again"
            ) from None
        self._left, self._is_read = found, True
        return False

    def _mark(self, became: bytes) -> None:
        """Note what became of the append; a note that gets lost is made up for by a look at the log."""
        if self._path is None:
            return
        with suppress(OSError):
            # Not made where it is gone: a file with this line alone would say nothing.
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(fd, became)
            finally:
                os.close(fd)
            self._left = _state(self._path)

    @contextmanager
    def _reporting(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise BusError(
                f"the head of the log can't be remembered in {self._path}: {error}"
            ) from None


def _sync(path: Path) -> None:
    """Returns when a file, or the names in a folder, would survive a crash of the machine."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _state(path: Path) -> FileState | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


async def _holds(client: Client, signed: SignedTree) -> bool:
    """Whether the stream holds a checkpoint where it was made to stand."""
    found = await read_from(client, streams.EPISODES, subjects.LOG_CHECKPOINT, signed.place, 1)
    if not found or found[0].sequence != signed.place:
        return False
    with suppress(SealError):
        return StoredCheckpoint.from_bytes(found[0].body).note == signed.note
    return False
