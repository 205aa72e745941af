"""Where `lictor log` finds the log: in its stream, or in a directory that it was exported to."""

import os
import stat
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from nats.aio.client import Client
from nats.js.errors import NotFoundError

from lictor.errors import LictorError
from lictor.history.stream_contents import streams_at
from lictor_bus.names.streams import EPISODES
from lictor_bus.names.subjects import LOG_CHECKPOINT
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_named, pass_over
from lictor_bus.wire.read import PAGE, last_on_subjects, read_from
from lictor_seal import (
    Checkpoint,
    SealBundle,
    SealError,
    StoredCheckpoint,
    TileTree,
    TrustStore,
    checkpoint_in,
    leaf_data,
    position_line,
    read_known_head,
)
from lictor_seal.log.tiles import Edge

CHECKPOINT_FILE = "checkpoint"
_MAX_NOTE = 1_000_000
# Far more than 256 episodes have; what is larger is not read into memory.
_MAX_ENTRIES = 2**30


def size_of_tree(text: str) -> int:
    """A tree size on the command line."""
    if not text.isdecimal() or not text.isascii() or int(text) >= 2**53:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def trust_argument(parser: ArgumentParser, *, required: bool = True) -> None:
    """The trust file."""
    parser.add_argument(
        "--trust",
        metavar="KEYFILE",
        required=required,
        help="the trust file: whose log you believe",
    )


def reader(directory: Path) -> Callable[[str], bytes | None]:
    """The files of an exported log by their paths."""
    if not directory.is_dir():
        raise LictorError(
            f"{directory} is not a directory; export the log with `lictor log export`."
        )

    def read(path: str) -> bytes | None:
        try:
            # A pipe would be waited for, and a link may lead to another log, or to one that changes.
            file = os.open(directory / path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise LictorError(f"{directory / path} can't be read ({error.strerror}).") from None
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise LictorError(f"{directory / path} is no regular file, so it holds no log.")
            limit = _MAX_ENTRIES if "entries" in path else _MAX_NOTE
            data = opened.read(limit + 1)
        if len(data) > limit:
            raise LictorError(f"{directory / path} has more than {limit} bytes: it holds no log.")
        return data

    return read


def names_in(directory: Path) -> list[str]:
    """All that lies in an exported log, by path: files, and links and whatever else is no folder."""
    found: list[str] = []
    for folder, folders, files in os.walk(directory):
        links = [each for each in folders if (Path(folder) / each).is_symlink()]
        inside = Path(folder).relative_to(directory)
        found += (str(inside / each) for each in (*files, *links))
    return found


def exported_note(directory: Path) -> str:
    """The checkpoint of an exported log, as the file has it."""
    data = reader(directory)(CHECKPOINT_FILE)
    if data is None:
        raise LictorError(
            f"{directory} holds no checkpoint; export the log with `lictor log export`."
        )
    return note_text(data, directory / CHECKPOINT_FILE)


def exported_tree(directory: Path) -> TileTree:
    """The tree of an exported log; its tiles must have the root that its checkpoint states."""
    stated = checkpoint_in(exported_note(directory))
    tree = TileTree(stated.size, reader(directory))
    if tree.root() != stated.root:
        raise LictorError(
            f"the tiles in {directory} do not have the root of its checkpoint: they were changed;"
            " see `lictor log verify`."
        )
    return tree


def read_note(path: Path) -> str:
    """A checkpoint or proof that somebody kept in a file."""
    with path.open("rb") as file:
        return note_text(file.read(_MAX_NOTE + 1), path)


def note_text(data: bytes, path: Path) -> str:
    """Bytes of a file as text."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise LictorError(f"{path} is not UTF-8; it holds no signed note.") from None


def known_checkpoint(path: str | None, trust: TrustStore) -> Checkpoint | None:
    """The checkpoint that a reader kept, if a trusted key signed it."""
    return None if path is None else read_known_head(read_note(Path(path)), trust)


@asynccontextmanager
async def episodes_stream(url: str | None) -> AsyncGenerator[Client]:
    """A connection to a broker that has the log."""
    async with streams_at(url, "log") as client:
        try:
            await client.jetstream().stream_info(EPISODES)  # pyright: ignore[reportUnknownMemberType]
            yield client
        except NotFoundError:
            raise LictorError("there is no log yet: no sealer has run on this broker.") from None


async def messages(client: Client, after: int = 0, size: int = 0) -> AsyncGenerator[Delivery]:
    """The log in its stream: leaves and checkpoints, in order, after the checkpoint of that sequence and size.

    The leaves are what the checkpoints say: an append is stored as a whole, so the leaves that a checkpoint adds stand
    right before it. What stands elsewhere is foreign, and passed over; at the end, leaves of ours that no checkpoint
    covers are not.
    """
    waiting: list[Delivery] = []
    while page := await read_from(client, EPISODES, ">", after + 1, PAGE):
        for stored in page:
            if stored.subject != LOG_CHECKPOINT:
                waiting.append(stored)
                continue
            stated = _stated(stored)
            if stated is None:
                continue
            first = stored.sequence - max(0, stated.size - size)
            for leaf in _split(waiting, first):
                yield leaf
            yield stored
            waiting, size = [], stated.size
        after = page[-1].sequence
    for leaf in waiting:
        if is_named(leaf) or _is_bundle(leaf):
            yield leaf
        else:
            pass_over(leaf, "no leaf of the log")


def _split(waiting: Sequence[Delivery], first: int) -> Sequence[Delivery]:
    for each in waiting:
        if each.sequence < first:
            pass_over(each, "no checkpoint of the log covers it")
    return [each for each in waiting if each.sequence >= first]


def _stated(stored: Delivery) -> Checkpoint | None:
    """What a stored checkpoint says; None for one that was not made to stand there, and so is none of the log."""
    try:
        stated = checkpoint_in(StoredCheckpoint.from_bytes(stored.body).note)
    except SealError:
        stated = None
    if is_named(stored) or (stated and stated.extensions[:1] == (position_line(stored.sequence),)):
        return stated
    pass_over(stored, "no checkpoint of the log")
    return None


def _is_bundle(stored: Delivery) -> bool:
    try:
        SealBundle.from_bytes(stored.body)
    except SealError:
        return False
    return True


async def streamed_head(client: Client) -> StoredCheckpoint | None:
    """The last checkpoint in the stream; None while there is no log."""
    found = await last_on_subjects(
        client, EPISODES, [LOG_CHECKPOINT], lambda stored: _stated(stored) is not None
    )
    return StoredCheckpoint.from_bytes(found[0].body) if found else None


async def streamed_tree(client: Client) -> tuple[TileTree, dict[int, str]]:
    """The tree over the leaves in the stream, and the signed checkpoints by their sizes."""
    edge, files = Edge(), dict[str, bytes]()
    notes: dict[int, str] = {}
    leaves: list[bytes] = []
    async for stored in messages(client):
        if stored.subject == LOG_CHECKPOINT:
            edge, completed = edge.append(leaves)
            files |= dict(completed)
            leaves.clear()
            notes[edge.size] = StoredCheckpoint.from_bytes(stored.body).note
        else:
            leaves.append(leaf_data(SealBundle.from_bytes(stored.body).sealed_episode))
    files |= dict(edge.partial_tiles())
    return TileTree(edge.size, files.get), notes
