"""`lictor log export`: the log as static files that any reader of C2SP tlog-tiles understands.

The stream is the log; the files follow from it. Each export goes on where the last one stopped: the tiles that are
there and the new leaves together must give the root that the log signed, so what was exported before is a prefix of
what is exported now, or nothing is written. Tiles are written before the checkpoint that needs them.
"""

import shutil
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field
from pathlib import Path

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.installation.atomic_files import replace_durably
from lictor_bus.names.subjects import LOG_CHECKPOINT
from lictor_cli.log.sources import (
    CHECKPOINT_FILE,
    episodes_stream,
    exported_note,
    messages,
    note_text,
    reader,
    trust_argument,
)
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json
from lictor_seal import (
    Checkpoint,
    CheckpointError,
    Edge,
    SealBundle,
    StoredCheckpoint,
    TileFile,
    TrustStore,
    checkpoint_in,
    entry_file,
    hand_over_in,
    leaf_data,
    position_in,
    read_entries,
    read_known_head,
)
from lictor_seal.log.key_handover import HAND_OVERS, hand_over_path
from lictor_seal.log.tiles import TILE_WIDTH, index_path

HELP = "Write the log as static files (C2SP tlog-tiles); a later export into the same directory goes on from there."
_LEAVES_AT_ONCE = 4096


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("directory", metavar="DIR", help="where to; made when it is not there")
    trust_argument(parser)
    common_arguments(parser)


@dataclass
class Exported:
    """What is in the directory: the edge of its tree, the entries of the open bundle, and its end in the stream."""

    edge: Edge = field(default_factory=Edge)
    open_entries: list[bytes] = field(default_factory=list[bytes])
    sequence: int = 0
    origin: str | None = None
    hand_overs: int = 0


async def run(options: Namespace) -> int:
    """Export what is new."""
    quiet_logs()
    directory, trust = Path(options.directory), TrustStore.load(Path(options.trust))
    there = _what_is_there(directory, trust)
    before = there.edge.size
    async with episodes_stream(options.url) as client:
        note = await _export(client, directory, trust, there)
    size = there.edge.size
    if options.json:
        say_json({"directory": str(directory), "from": before, "size": size, "checkpoint": note})
    elif size == before:
        say(f"{directory} is up to date; the log has {size}")
    else:
        say(f"wrote leaves {before} to {size - 1} to {directory}; the log has {size}")
    return OK


def _what_is_there(directory: Path, trust: TrustStore) -> Exported:
    directory.mkdir(parents=True, exist_ok=True)
    read = reader(directory)
    if read(CHECKPOINT_FILE) is None:
        # Tiles may be there from an export that was stopped; they are compared, never replaced.
        if {path.name for path in directory.iterdir()} - {"tile", "entries-u32", HAND_OVERS}:
            raise LictorError(
                f"{directory} holds other files and no checkpoint; choose an empty directory."
            )
        return Exported()
    stated = read_known_head(exported_note(directory), trust)
    edge = Edge.load(stated.size, read)
    if edge.root() != stated.root:
        raise LictorError(
            f"the tiles in {directory} do not have the root of its checkpoint: they were changed;"
            " export into an empty directory, and compare."
        )
    opened = stated.size % TILE_WIDTH
    entries = read_entries(stated.size // TILE_WIDTH, opened, read) if opened else []
    if opened and Edge().append(entries)[0].levels[0] != edge.levels[0]:
        raise LictorError(
            f"the last entries in {directory} are not those of its tiles: they were changed;"
            " export into an empty directory, and compare."
        )
    stands_at = _stands_at(stated, directory)
    return Exported(edge, entries, stands_at, stated.origin, _hand_overs(directory, stands_at))


def _hand_overs(directory: Path, until: int) -> int:
    """How many hand-overs were exported with the checkpoint; one that an export was stopped at comes again."""
    count = 0
    while (note := reader(directory)(hand_over_path(count))) is not None:
        path = directory / hand_over_path(count)
        if _stands_at(checkpoint_in(note_text(note, path)), directory) > until:
            break
        count += 1
    return count


def _stands_at(stated: Checkpoint, directory: Path) -> int:
    """The stream sequence that a checkpoint was made to stand at."""
    try:
        return position_in(stated)
    except CheckpointError:
        raise LictorError(f"the checkpoint in {directory} is not one of a Lictor log.") from None


async def _export(
    client: Client, directory: Path, trust: TrustStore, there: Exported
) -> str | None:
    leaves: list[bytes] = []
    hand_overs: list[str] = []
    covered = 0
    note: str | None = None
    last = there.sequence
    async for stored in messages(client, there.sequence, there.edge.size):
        if stored.subject != LOG_CHECKPOINT:
            leaves.append(leaf_data(SealBundle.from_bytes(stored.body).sealed_episode))
            continue
        note = StoredCheckpoint.from_bytes(stored.body).note
        covered, last = len(leaves), stored.sequence
        if hand_over_in(checkpoint_in(note)) is not None:
            hand_overs.append(note)
        if covered >= _LEAVES_AT_ONCE:
            _write(directory, trust, there, leaves, hand_overs, note, last)
            leaves, hand_overs, covered, note = [], [], 0, None
    if len(leaves) > covered:
        raise LictorError(
            f"{len(leaves) - covered} leaves at the end of the log have no checkpoint;"
            " only the sealer may write there: see `lictor log verify`."
        )
    if note is not None:
        _write(directory, trust, there, leaves, hand_overs, note, last)
    elif there.sequence and last == there.sequence:
        await _refuse_other_end(client, directory, there)
    return exported_note(directory) if there.sequence else None


async def _refuse_other_end(client: Client, directory: Path, there: Exported) -> None:
    """Nothing is new: then the stream's last message must be the checkpoint that was exported."""
    kept = checkpoint_in(exported_note(directory))
    async for stored in messages(client, there.sequence - 1, kept.size):
        if stored.subject == LOG_CHECKPOINT:
            found = checkpoint_in(StoredCheckpoint.from_bytes(stored.body).note)
            if found == kept:
                return
        break
    raise LictorError(
        f"the log does not hold the checkpoint that was exported to {directory} ({kept.size} leaves):"
        " it was cut or rewritten; keep the directory as proof."
    )


def _write(
    directory: Path,
    trust: TrustStore,
    there: Exported,
    leaves: list[bytes],
    hand_overs: list[str],
    note: str,
    sequence: int,
) -> None:
    """Write the next leaves, if they and what is there have the root that the log signed."""
    stated = read_known_head(note, trust)
    edge, completed = there.edge.append(leaves)
    same = (stated.size, stated.root) == (edge.size, edge.root())
    if not same or there.origin not in (None, stated.origin):
        raise LictorError(
            f"{directory} ({there.edge.size} leaves) is not a prefix of the log that the checkpoint at EPISODES"
            f" {sequence} signs ({stated.size} leaves): the log was cut, rewritten or forked, or it is another one;"
            " nothing was written, keep the directory as proof."
        )
    entries, opened = _entry_files(there, leaves)
    changes = (
        TileFile(hand_over_path(number), each.encode())
        for number, each in enumerate(hand_overs, there.hand_overs)
    )
    for file in (*completed, *edge.partial_tiles(), *entries, *changes):
        _store(directory, file)
    replace_durably(directory / CHECKPOINT_FILE, note.encode())
    for file in completed:
        _drop_partials(directory, file.path)
    there.edge, there.open_entries, there.sequence = edge, opened, sequence
    there.origin = stated.origin
    there.hand_overs += len(hand_overs)


def _entry_files(there: Exported, leaves: list[bytes]) -> tuple[list[TileFile], list[bytes]]:
    waiting = [*there.open_entries, *leaves]
    first = there.edge.size // TILE_WIDTH
    files = [
        entry_file(first + number, waiting[start : start + TILE_WIDTH])
        for number, start in enumerate(range(0, len(waiting), TILE_WIDTH))
    ]
    return files, waiting[len(waiting) // TILE_WIDTH * TILE_WIDTH :]


def _store(directory: Path, file: TileFile) -> None:
    path = directory / file.path
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        replace_durably(path, file.data)
        return
    if found != file.data:
        raise LictorError(
            f"{path} holds something else than the log has there; it is never replaced."
        )


def _drop_partials(directory: Path, full: str) -> None:
    """Partial tiles and entries, once the full tile is there: a reader falls back to that."""
    shutil.rmtree(directory / f"{full}.p", ignore_errors=True)
    _, level, index = full.split("/", 2)
    if level == "0":
        number = int(index.replace("x", "").replace("/", ""))
        for folder in ("tile/entries", "entries-u32"):
            shutil.rmtree(directory / folder / f"{index_path(number)}.p", ignore_errors=True)
