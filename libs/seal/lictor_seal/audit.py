"""The check of a whole log: every leaf, every checkpoint, every key change, every tile.

A log is read as its stream (`StreamAudit`) or as exported files (`audit_files`). Both rebuild the tree from the leaves
alone: a checkpoint whose root comes out again covers exactly what was before it, so each is a prefix of the next.
Nothing is read here; the bytes are handed in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple, cast

from lictor_schema.canonical import CanonicalError, canonical_json, parse_json
from lictor_seal import base64_text
from lictor_seal.bundle import SealBundle, leaf_data
from lictor_seal.checkpoint import Checkpoint, parse_checkpoint_text
from lictor_seal.entries import read_entries
from lictor_seal.errors import CheckpointError, MerkleError, SealError
from lictor_seal.handover import hand_over_in, verify_hand_over
from lictor_seal.head import StoredCheckpoint, position_line
from lictor_seal.merkle import Frontier
from lictor_seal.note import parse_note, verify_note
from lictor_seal.seal import Seal
from lictor_seal.tiles import TILE_WIDTH, Edge, Read
from lictor_seal.times import parse_utc
from lictor_seal.trust import TrustStore
from lictor_seal.verify import (
    checkpoint_since,
    count_witnesses,
    read_known_head,
    verify_bundle,
    verify_seal,
)

MAX_FINDINGS: Final = 100
CHECKPOINT_PATH: Final = "checkpoint"

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not hold: where, and what."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the log is, and everything that does not hold in it."""

    origin: str | None
    size: int
    root: bytes
    checkpoints: int
    hand_overs: int
    witnesses: tuple[str, ...]
    findings: tuple[Finding, ...]
    more_findings: int = 0

    @property
    def ok(self) -> bool:
        """Whether all of it held."""
        return not self.findings

    def to_json_value(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "ok": self.ok,
            "origin": self.origin,
            "size": self.size,
            "root": base64_text.encode(self.root),
            "checkpoints": self.checkpoints,
            "handOvers": self.hand_overs,
            "witnesses": list(self.witnesses),
            "findings": [{"where": each.where, "what": each.what} for each in self.findings],
            "moreFindings": self.more_findings,
        }


@dataclass
class _Findings:
    kept: list[Finding] = field(default_factory=list[Finding])
    left_out: int = 0

    def add(self, where: str, what: str) -> None:
        if len(self.kept) < MAX_FINDINGS:
            self.kept.append(Finding(where, what))
        else:
            self.left_out += 1


class _Leaves:
    """The leaves so far: their tree, the versions of each episode, and whether they pass through the known head."""

    def __init__(self, known: Checkpoint | None, findings: _Findings) -> None:
        self.frontier = Frontier()
        self._known = known
        self._findings = findings
        self._versions: dict[str, tuple[int, str]] = {}
        self.sealed_at = _EARLIEST
        """When the youngest of them was sealed."""
        self._compare()

    def add(self, where: str, leaf: bytes, episode: Mapping[str, object]) -> None:
        """One more leaf."""
        self.frontier = self.frontier.append(leaf)
        self._compare()
        try:
            seal = Seal.of(episode)
        except SealError:
            return  # told by whoever checked the seal itself
        self.sealed_at = max(self.sealed_at, parse_utc(seal.metadata.sealed_at))
        name, version = str(episode.get("episodeId")), seal.metadata.version
        last, last_hash = self._versions.get(name, (0, None))
        if version <= last:
            self._findings.add(where, f"version {version} of episode {name} is in the log already")
        elif version != last + 1 or seal.metadata.previous_hash != last_hash:
            self._findings.add(
                where, f"version {version} of episode {name} does not follow from version {last}"
            )
        self._versions[name] = (version, seal.hash)

    def finish(self) -> None:
        """The log has ended."""
        if self._known is not None and self.frontier.size < self._known.size:
            self._findings.add(
                "known checkpoint",
                f"the log was cut: it has {self.frontier.size} leaves, {self._known.size} were signed before",
            )

    def refuse_other_log(self, origin: str) -> None:
        """The known head must be of this log."""
        if self._known is not None and self._known.origin != origin:
            self._findings.add(
                "known checkpoint", f"it is of the log {self._known.origin}, this one is {origin}"
            )

    def _compare(self) -> None:
        known = self._known
        if known is None or self.frontier.size != known.size or self.frontier.root() == known.root:
            return
        self._findings.add(
            "known checkpoint",
            f"the first {known.size} leaves are not those that were signed before: the log was rewritten or forked",
        )


class _Waiting(NamedTuple):
    """A leaf whose checkpoint is still to come."""

    where: str
    body: bytes
    note: str


class StreamAudit:
    """Takes the messages of EPISODES in order; `finish` tells what was found."""

    def __init__(self, trust: TrustStore, known: Checkpoint | None = None) -> None:
        self._trust = trust
        self._findings = _Findings()
        self._leaves = _Leaves(known, self._findings)
        self._waiting: list[_Waiting] = []
        self._origin: str | None = None
        self._writer: str | None = None
        self._checkpoints = self._hand_overs = 0
        self._root_before = Frontier()
        self._last_note: str | None = None

    def episode(self, sequence: int, body: bytes) -> None:
        """A message on `lictor.ep.>`."""
        where = f"EPISODES {sequence}"
        expected = self._leaves.frontier.size
        try:
            bundle = SealBundle.from_bytes(body)
            leaf = leaf_data(bundle.sealed_episode)
        except SealError as error:
            self._findings.add(where, f"no bundle: {error}")
            return
        if bundle.leaf_index != expected:
            self._findings.add(
                where,
                f"it is leaf {bundle.leaf_index}, but leaf {expected} comes here: leaves were cut, swapped or put in",
            )
        self._leaves.add(where, leaf, bundle.sealed_episode)
        self._waiting.append(_Waiting(where, body, bundle.checkpoint))

    def checkpoint(self, sequence: int, body: bytes) -> None:
        """A message on `lictor.log.checkpoint`."""
        where = f"EPISODES {sequence}"
        self._checkpoints += 1
        try:
            stored = StoredCheckpoint.from_bytes(body)
            self._judge(where, sequence, stored)
        except SealError as error:
            self._findings.add(where, f"checkpoint: {error}")
            stored = None
        for leaf in self._waiting:
            if stored is not None and leaf.note != stored.note:
                self._findings.add(
                    leaf.where, f"its checkpoint is not the one at {where} that covers it"
                )
            report = verify_bundle(leaf.body, self._batch_trust)
            for check in report.failures:
                self._findings.add(leaf.where, f"{check.name}: {check.detail}")
            if report.ok and report.key_id != self._writer:
                self._findings.add(
                    leaf.where, f"{report.key_id} sealed it, but {self._writer} writes the log"
                )
        self._waiting.clear()
        self._root_before = self._leaves.frontier

    def other(self, sequence: int, subject: str) -> None:
        """A message that is neither."""
        self._findings.add(f"EPISODES {sequence}", f"nothing of the log: subject {subject[:120]}")

    def finish(self) -> AuditReport:
        """The whole stream was handed in."""
        if not self._checkpoints:
            self._findings.add(
                "EPISODES", "there is no checkpoint: nothing was sealed yet, or the log was emptied"
            )
        for leaf in self._waiting:
            self._findings.add(leaf.where, "no checkpoint covers it")
        self._leaves.finish()
        frontier = self._leaves.frontier
        return AuditReport(
            self._origin,
            frontier.size,
            frontier.root(),
            self._checkpoints,
            self._hand_overs,
            _witness_names(self._last_note, self._trust),
            tuple(self._findings.kept),
            self._findings.left_out,
        )

    @property
    def _batch_trust(self) -> TrustStore:
        # Witnesses cosign what is exported; the checkpoints in the stream are as the log signed them.
        return TrustStore(self._trust.keys)

    def _judge(self, where: str, sequence: int, stored: StoredCheckpoint) -> None:
        checkpoint = parse_checkpoint_text(parse_note(stored.note).text)
        if self._origin is None:
            self._origin = checkpoint.origin
            self._leaves.refuse_other_log(checkpoint.origin)
        if checkpoint.origin != self._origin:
            raise CheckpointError(
                f"it is of {checkpoint.origin[:80]!r}, the log is {self._origin!r}"
            )
        self._judge_writer(stored.note, checkpoint)
        self._last_note = stored.note
        frontier = self._leaves.frontier
        if checkpoint.extensions[:1] != (position_line(sequence),):
            self._findings.add(where, "checkpoint: it was not made to stand here")
        if (checkpoint.size, checkpoint.root) != (frontier.size, frontier.root()):
            self._findings.add(
                where,
                f"checkpoint: it signs {checkpoint.size} leaves, and the {frontier.size} before it"
                " do not have its root: the log was cut, rewritten or forked",
            )
        if stored.frontier != frontier:
            self._findings.add(
                where, "checkpoint: its frontier is not that of the leaves before it"
            )

    def _judge_writer(self, note: str, checkpoint: Checkpoint) -> None:
        if hand_over_in(checkpoint) is not None:
            hand_over = verify_hand_over(note, self._trust)
            if self._writer not in (None, hand_over.old_key_id):
                raise CheckpointError(
                    f"hand-over: by {hand_over.old_key_id}, but {self._writer} writes the log"
                )
            if self._leaves.frontier != self._root_before:
                raise CheckpointError("hand-over: it may not add leaves")
            self._writer = hand_over.new_key_id
            self._hand_overs += 1
            return
        usable = [trusted.key for trusted in self._trust.keys if not trusted.revoked]
        signers = [
            key.key_id
            for key in verify_note(parse_note(note), usable).signers
            if key.name == checkpoint.origin
        ]
        if not signers:
            raise CheckpointError("no key of the log's own name signed it")
        if self._writer is None:
            self._writer = signers[0]
        elif self._writer not in signers:
            raise CheckpointError(
                f"{signers[0]} signed it, but {self._writer} writes the log and did not hand it over"
            )


def audit_files(read: Read, trust: TrustStore, known: Checkpoint | None = None) -> AuditReport:
    """Check an exported log: its checkpoint, every entry and its seal, and every tile."""
    findings = _Findings()
    leaves = _Leaves(known, findings)
    note = read(CHECKPOINT_PATH)
    origin: str | None = None
    size = 0
    try:
        if note is None:
            raise CheckpointError("there is none; export the log into this directory")
        stated = read_known_head(note.decode("utf-8"), trust)
        origin, size = stated.origin, stated.size
        leaves.refuse_other_log(origin)
        _audit_entries(stated, read, trust, leaves, findings)
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
        0,
        _witness_names(note.decode("utf-8", "replace") if note is not None else None, trust),
        tuple(findings.kept),
        findings.left_out,
    )


def _audit_entries(
    stated: Checkpoint, read: Read, trust: TrustStore, leaves: _Leaves, findings: _Findings
) -> None:
    edge, size = Edge(), stated.size
    for first in range(0, size, TILE_WIDTH):
        width = min(TILE_WIDTH, size - first)
        entries = read_entries(first // TILE_WIDTH, width, read)
        for number, leaf in enumerate(entries, first):
            _audit_entry(f"leaf {number}", leaf, stated.origin, trust, leaves, findings)
        edge, completed = edge.append(entries)
        for tile in completed:
            _compare_tile(tile.path, tile.data, read, findings)
    for tile in edge.partial_tiles():
        _compare_tile(tile.path, tile.data, read, findings)


def _compare_tile(path: str, data: bytes, read: Read, findings: _Findings) -> None:
    found = read(path)
    if found is None:
        findings.add(path, "the tile is missing")
    elif found != data:
        findings.add(path, "the tile is not that of the entries below it")


def _audit_entry(
    where: str,
    leaf: bytes,
    origin: str,
    trust: TrustStore,
    leaves: _Leaves,
    findings: _Findings,
) -> None:
    episode: Mapping[str, object] = {}
    try:
        value: object = parse_json(leaf)
        if not isinstance(value, dict) or canonical_json(cast(object, value)) != leaf:
            raise MerkleError("it is not the canonical JSON of a sealed episode")
        episode = cast(Mapping[str, object], value)
        sealer = trust.by_id(verify_seal(episode, trust).metadata.key_id)
        if sealer is None or sealer.key.name != origin:
            raise SealError(f"a key of another log than {origin} sealed it")
    except (SealError, CanonicalError) as error:
        findings.add(where, str(error))
    leaves.add(where, leaf, episode)


def _witness_names(note: str | None, trust: TrustStore) -> tuple[str, ...]:
    if note is None:
        return ()
    try:
        return tuple(each.witness.name for each in count_witnesses(note, trust)[0])
    except SealError:
        return ()
