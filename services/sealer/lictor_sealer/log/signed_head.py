"""The head that was signed last, in a file beside the key: a log that lost it is not gone on with.

A stream that was restored from an older backup looks like a log in good order. Whoever has a newer checkpoint of it
would find two trees signed by one key. So the sealer remembers what it signed, outside of the broker, and signs nothing
that does not follow from it, until an operator moves the file away.
"""

import contextlib
import logging
import os
from pathlib import Path

from nats.aio.client import Client

from lictor_bus.errors import BusError
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_from
from lictor_seal import SealError, StoredCheckpoint, checkpoint_in, position_in

log = logging.getLogger("lictor.sealer")


class SignedHead:
    """The file; without a path nothing is remembered."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

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

    def remember(self, checkpoint: bytes) -> None:
        """Keep the checkpoint that was stored last, so that it is there after a crash of the machine."""
        if self._path is None:
            return
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            with draft.open("wb") as file:
                file.write(checkpoint)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise BusError(
                f"the head of the log can't be remembered in {self._path}: {error}"
            ) from None

    async def refuse_another_log(self, client: Client) -> None:
        """Raise BusError unless the stream holds the checkpoint that is remembered."""
        if self._path is None or not self._path.exists():
            return
        try:
            kept = StoredCheckpoint.from_bytes(self._path.read_bytes())
            stated = checkpoint_in(kept.note)
            place = position_in(stated)
        except (OSError, SealError) as error:
            raise BusError(f"{self._path} can't be read: {error}; restore it") from None
        found = await read_from(client, streams.EPISODES, subjects.LOG_CHECKPOINT, place, 1)
        if found and found[0].sequence == place:
            with contextlib.suppress(SealError):
                if StoredCheckpoint.from_bytes(found[0].body).note == kept.note:
                    return
        raise BusError(
            f"EPISODES does not hold the checkpoint of {stated.size} leaves that was signed at EPISODES {place}: the "
            "stream is older than the log, or another one; nothing is sealed, because whoever keeps that checkpoint "
            f"would see a fork. Restore a newer backup; or tell them, move {self._path} away, and start again"
        )
