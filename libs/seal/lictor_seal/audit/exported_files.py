"""The check of a log as it was exported: its checkpoint, every entry and its seal, every key change, every tile.

The tree is rebuilt from the entries alone, and everything else is held against it.
"""

from collections.abc import Iterable, Mapping
from typing import Final, cast

from lictor_schema.core.canonical_json import CanonicalError, canonical_json, parse_json
from lictor_seal.audit.present_files import PresentFiles
from lictor_seal.audit.report import AuditReport, Findings, Leaves, witness_names
from lictor_seal.errors import CheckpointError, MerkleError, SealError
from lictor_seal.log.checkpoint import Checkpoint
from lictor_seal.log.entry_bundles import read_entries
from lictor_seal.log.key_handover import KeySuccession, hand_over_in, hand_over_path
from lictor_seal.log.merkle import Frontier
from lictor_seal.log.tiles import TILE_WIDTH, Edge, Read, TileFile
from lictor_seal.note.signed_note import parse_note, verify_note
from lictor_seal.trust import TrustStore
from lictor_seal.verify import checkpoint_since, count_witnesses, read_known_head, verify_seal

CHECKPOINT_PATH: Final = "checkpoint"


def audit_files(
    read: Read,
    trust: TrustStore,
    known: Checkpoint | None = None,
    *,
    names: Iterable[str] = (),
) -> AuditReport:
    """Check an exported log: its checkpoint, every entry and its seal, every change of keys, and every tile.

    And every file of ``names``, those that are there: none may be anything but a part of this log.
    """
    findings = Findings()
    present = PresentFiles(names, read, findings)
    present.expect(CHECKPOINT_PATH)
    leaves = Leaves(known, findings)
    note = read(CHECKPOINT_PATH)
    origin: str | None = None
    size = hand_overs = 0
    try:
        if note is None:
            raise CheckpointError("there is none; export the log into this directory")
        stated = read_known_head(note.decode("utf-8"), trust)
        origin, size = stated.origin, stated.size
        leaves.refuse_other_log(origin)
        writers = _FileWriters(KeySuccession(origin), read, trust, findings)
        hand_overs = writers.hand_overs
        for number in range(hand_overs):
            present.expect(hand_over_path(number))
        _audit_entries(stated, read, writers, leaves, findings, present)
        present.finish()
        writers.finish(note.decode("utf-8"), stated)
        # It is younger than every seal under it: a key that had retired by then can't have signed it.
        checkpoint_since(note.decode("utf-8"), leaves.sealed_at, trust)
        if leaves.frontier.root() != stated.root:
            findings.add(
                CHECKPOINT_PATH,
                f"it signs {size} leaves with another root than the entries have: the log was cut, rewritten or forked",
            )
        held, refused = count_witnesses(note.decode("utf-8"), trust, leaves.sealed_at)
        if len(held) < trust.witnesses_needed:
            told = "".join(f"; {problem}" for problem in refused)
            findings.add(
                CHECKPOINT_PATH,
                f"{len(held)} witnesses cosigned, {trust.witnesses_needed} needed{told}",
            )
    except (SealError, UnicodeDecodeError) as error:
        findings.add(CHECKPOINT_PATH, str(error))
    leaves.finish()
    return AuditReport(
        origin,
        leaves.frontier.size,
        leaves.frontier.root(),
        int(note is not None),
        hand_overs,
        witness_names(note.decode("utf-8", "replace") if note is not None else None, trust),
        tuple(findings.kept),
        findings.left_out,
    )


class _FileWriters:
    """Whose leaves an exported log may hold: keys change only where a hand-over in it says so."""

    def __init__(
        self, succession: KeySuccession, read: Read, trust: TrustStore, findings: Findings
    ) -> None:
        self._succession = succession
        self._findings = findings
        self.trust = trust
        self._roots: dict[int, list[tuple[str, bytes]]] = {}
        """By size, what hand-overs sign there."""
        self._writer: str | None = None
        number = 0
        while (note := read(hand_over_path(number))) is not None:
            where = hand_over_path(number)
            try:
                stated = succession.add(note.decode("utf-8"), trust)
            except (SealError, UnicodeDecodeError) as error:
                findings.add(where, str(error))
                break
            self._roots.setdefault(stated.size, []).append((where, stated.root))
            number += 1
        self.hand_overs = len(succession)

    def sealed(self, where: str, leaf: int, key_id: str) -> None:
        """A leaf was sealed by a key."""
        writer = self._succession.writer_of(leaf) or self._writer or key_id
        if writer != key_id:
            self._findings.add(
                where,
                f"{key_id} sealed it, but {writer} writes the log there and did not hand it over;"
                " if the export is older than its hand-over, export into an empty directory",
            )
        self._writer = key_id

    def passed(self, frontier: Frontier) -> None:
        """The log has come so far; a hand-over of that size must have signed just these leaves."""
        for where, signed in self._roots.pop(frontier.size, ()):
            if signed != frontier.root():
                self._findings.add(
                    where,
                    f"it signs {frontier.size} leaves with another root than the entries have",
                )

    def finish(self, note: str, stated: Checkpoint) -> None:
        """The log has ended: its head must be signed by who writes it."""
        for size, signed in self._roots.items():
            for where, _ in signed:
                self._findings.add(where, f"it is of {size} leaves, the log has {stated.size}")
        last = self._succession.last
        stands = hand_over_in(stated)
        if stands is not None and (last is None or last[1] != stands):
            self._findings.add(CHECKPOINT_PATH, "it is a hand-over that stands in no file")
        writer = self._writer if last is None else last[1].new_key_id
        keys = [each.key for each in self.trust.keys if not each.revoked]
        signers = [each.key_id for each in verify_note(parse_note(note), keys).signers]
        if writer is not None and writer not in signers:
            self._findings.add(
                CHECKPOINT_PATH,
                f"{signers[0]} signed it, but {writer} writes the log and did not hand it over",
            )


def _audit_entries(
    stated: Checkpoint,
    read: Read,
    writers: _FileWriters,
    leaves: Leaves,
    findings: Findings,
    present: PresentFiles,
) -> None:
    edge, size = Edge(), stated.size
    writers.passed(leaves.frontier)
    for first in range(0, size, TILE_WIDTH):
        width = min(TILE_WIDTH, size - first)
        entries = read_entries(first // TILE_WIDTH, width, read)
        for number, leaf in enumerate(entries, first):
            _audit_entry(number, leaf, stated.origin, writers, leaves, findings)
            writers.passed(leaves.frontier)
        present.entries(first // TILE_WIDTH, entries)
        edge, completed = edge.append(entries)
        for tile in completed:
            _compare_tile(tile, read, findings, present)
    for tile in edge.partial_tiles():
        _compare_tile(tile, read, findings, present)


def _compare_tile(tile: TileFile, read: Read, findings: Findings, present: PresentFiles) -> None:
    found = read(tile.path)
    if found is None:
        findings.add(tile.path, "the tile is missing")
    elif found != tile.data:
        findings.add(tile.path, "the tile is not that of the entries below it")
    present.expect(tile.path)
    present.tile(tile)


def _audit_entry(
    number: int,
    leaf: bytes,
    origin: str,
    writers: _FileWriters,
    leaves: Leaves,
    findings: Findings,
) -> None:
    where = f"leaf {number}"
    episode: Mapping[str, object] = {}
    try:
        value: object = parse_json(leaf)
        if not isinstance(value, dict) or canonical_json(cast(object, value)) != leaf:
            raise MerkleError("it is not the canonical JSON of a sealed episode")
        episode = cast(Mapping[str, object], value)
        sealer = writers.trust.by_id(verify_seal(episode, writers.trust).metadata.key_id)
        if sealer is None or sealer.key.name != origin:
            raise SealError(f"a key of another log than {origin} sealed it")
        writers.sealed(where, number, sealer.key.key_id)
    except (SealError, CanonicalError) as error:
        findings.add(where, str(error))
    leaves.add(where, leaf, episode)
