"""The check of a log as its stream has it: every leaf, every checkpoint, every key change.

The tree is rebuilt from the leaves alone: a checkpoint whose root comes out again covers exactly what was before it,
so each is a prefix of the next. Nothing is read here; the bytes are handed in.
"""

from typing import NamedTuple

from lictor_seal.audit.report import AuditReport, Findings, Leaves, witness_names
from lictor_seal.bundle import SealBundle, leaf_data
from lictor_seal.errors import CheckpointError, SealError
from lictor_seal.log.checkpoint import Checkpoint, parse_checkpoint_text
from lictor_seal.log.key_handover import hand_over_in, verify_hand_over
from lictor_seal.log.merkle import Frontier
from lictor_seal.log.stored_checkpoint import StoredCheckpoint, position_line
from lictor_seal.note.signed_note import parse_note, verify_note
from lictor_seal.trust import TrustStore
from lictor_seal.verify import verify_bundle


class _Waiting(NamedTuple):
    """A leaf whose checkpoint is still to come."""

    where: str
    body: bytes
    note: str


class StreamAudit:
    """Takes the messages of EPISODES in order; `finish` returns what was found."""

    def __init__(self, trust: TrustStore, known: Checkpoint | None = None) -> None:
        self._trust = trust
        self._findings = Findings()
        self._leaves = Leaves(known, self._findings)
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
            witness_names(self._last_note, self._trust),
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
