"""Which release came into force last: remembered in stream PACKS and in a file, and never a lower number again.

The file outlives the broker and the stream outlives the file, so replaying an old release needs both to be lost.
Beside the file stands the bundle: on a broker that was made anew, the packs in force stay the same.
"""

import os
from pathlib import Path

from nats.aio.client import Client
from pydantic import ValidationError

from lictor_bus.errors import BusError
from lictor_bus.logs.packs import read_taken
from lictor_bus.names import subjects
from lictor_bus.names.streams import PACKS
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_schema.core.canonical_json import CanonicalError, hash_bytes
from lictor_schema.packs.release import ReleaseTaken


class ReleaseMemory:
    """What one evaluator remembers of one channel; without a folder, only what the stream does."""

    def __init__(self, client: Client, channel: str, folder: Path | None) -> None:
        self._client = client
        self._channel = channel
        self._file = folder and folder / f"{channel}.json"
        self._bundle = folder and folder / f"{channel}.bundle.json"

    async def last(self) -> ReleaseTaken | None:
        """The release with the highest number that came into force."""
        known = await read_taken(self._client, self._channel)
        if in_file := self._in_file():
            # Its place was in a stream that may not be this one.
            known.append(in_file.model_copy(update={"sequence": 0}))
        return max(known, key=lambda each: each.number, default=None)

    def bundle(self, bundle_hash: str) -> bytes | None:
        """The bundle with this hash, if it is the one beside the file."""
        try:
            body = self._bundle.read_bytes() if self._bundle else b""
        except OSError:
            return None
        return body if hash_bytes(body) == bundle_hash else None

    async def remember(self, taken: ReleaseTaken, body: bytes) -> None:
        """Keep it, before anything is judged by it; what has a higher number stays."""
        in_file = self._in_file()
        if self._file and self._bundle and (in_file is None or in_file.number < taken.number):
            try:
                # A bundle that is not the file's own is not looked at, so it may come first.
                _replace(self._bundle, body)
                _replace(self._file, taken.to_json())
            except OSError as error:
                raise BusError(
                    f"{self._file} can't be written ({error.strerror}): no release is taken that would be forgotten;"
                    " make LICTOR_PACK_MEMORY writable"
                ) from None
        known = await read_taken(self._client, self._channel)
        if all(each.number < taken.number for each in known):
            message = Outgoing(subjects.pack_taken(self._channel), taken.to_json())
            await publish_one(self._client, PACKS, message)

    def _in_file(self) -> ReleaseTaken | None:
        try:
            text = self._file.read_bytes() if self._file else None
            found = text and ReleaseTaken.from_json(text)
        except FileNotFoundError:
            return None
        except (OSError, ValidationError, CanonicalError) as error:
            raise BusError(
                f"{self._file} can't be read ({error}), and says which release was in force; restore it, or remove it"
                " to trust what stream PACKS remembers"
            ) from None
        if found and found.channel != self._channel:
            raise BusError(
                f"{self._file} is about channel {found.channel}, not {self._channel}; restore it"
            )
        return found or None


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is the old or the new one, also after a power failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
