"""Seals, the Merkle log's proofs, and their offline verification.

From an episode to a file an auditor can check:

    sealed = seal_episode(episode, sealed_at=..., signer=key)
    frontier, (proof,) = extend(frontier, [leaf_data(sealed)])
    note = sign_checkpoint(Checkpoint.of(origin, frontier), key)
    data = SealBundle(sealed, frontier.size - 1, proof, note).to_bytes()
    assert verify_bundle(data, TrustStore.of([key.verifying_key])).ok

This is the whole public surface.
"""

from lictor_seal.audit.exported_files import audit_files
from lictor_seal.audit.report import AuditReport, Finding
from lictor_seal.audit.stream import StreamAudit
from lictor_seal.bundle import SealBundle, leaf_data
from lictor_seal.contents.check import (
    ERASURE,
    ContentsReport,
    StrandFound,
    check_contents,
    committed_strands,
    incomplete_strands,
)
from lictor_seal.contents.parts import (
    ContentsWriter,
    Entry,
    Erased,
    Message,
    Part,
    entries_hash,
    erased_by,
    is_part,
    last_part_id,
    with_erased,
)
from lictor_seal.errors import (
    AlreadySealedError,
    BundleError,
    CheckpointError,
    KeyFileError,
    MerkleError,
    NoteError,
    ReleaseError,
    SealError,
    TrustStoreError,
    UnknownSignerError,
    WitnessRefusedError,
)
from lictor_seal.keys import SigningKey, VerifyingKey
from lictor_seal.leaf import UnsignedLeaf, bundle_of_leaf, seal_leaf, unsigned_leaf
from lictor_seal.log.checkpoint import (
    Checkpoint,
    parse_checkpoint_text,
    sign_checkpoint,
    verify_checkpoint,
)
from lictor_seal.log.consistency_proof import ConsistencyProof, check_consistent
from lictor_seal.log.cosignature import (
    Cosignature,
    checkpoint_in,
    cosign,
    cosignatures,
    witness_checkpoint,
)
from lictor_seal.log.entry_bundles import entry_file, read_entries
from lictor_seal.log.key_handover import HandOver, hand_over_in, sign_hand_over, verify_hand_over
from lictor_seal.log.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    extend,
    leaf_hash,
    node_hash,
    tree_root,
    verify_consistency,
    verify_inclusion,
)
from lictor_seal.log.stored_checkpoint import StoredCheckpoint, position_in, position_line
from lictor_seal.log.tiles import Edge, Tile, TileFile, TileTree, tiles_of
from lictor_seal.note.signed_note import (
    Note,
    NoteSignature,
    VerifiedNote,
    format_verifier_key,
    parse_note,
    parse_verifier_key,
    sign_note,
    verify_note,
)
from lictor_seal.note.statement import (
    Statement,
    open_release,
    open_statement,
    sign_release,
    sign_statement,
)
from lictor_seal.seal import Seal, SealMetadata, seal_episode, seal_hash
from lictor_seal.trust import KeyGroup, TrustedKey, TrustStore
from lictor_seal.verify import (
    CHECK_NAMES,
    Check,
    CheckStatus,
    KnownHead,
    VerificationReport,
    VerifiedSeal,
    read_known_head,
    verify_bundle,
    verify_file,
    verify_seal,
)

__all__ = [
    "CHECK_NAMES",
    "EMPTY_ROOT",
    "ERASURE",
    "AlreadySealedError",
    "AuditReport",
    "BundleError",
    "Check",
    "CheckStatus",
    "Checkpoint",
    "CheckpointError",
    "ConsistencyProof",
    "ContentsReport",
    "ContentsWriter",
    "Cosignature",
    "Edge",
    "Entry",
    "Erased",
    "Finding",
    "Frontier",
    "HandOver",
    "KeyFileError",
    "KeyGroup",
    "KnownHead",
    "MerkleError",
    "Message",
    "Note",
    "NoteError",
    "NoteSignature",
    "Part",
    "ReleaseError",
    "Seal",
    "SealBundle",
    "SealError",
    "SealMetadata",
    "SigningKey",
    "Statement",
    "StoredCheckpoint",
    "StrandFound",
    "StreamAudit",
    "Tile",
    "TileFile",
    "TileTree",
    "TrustStore",
    "TrustStoreError",
    "TrustedKey",
    "UnknownSignerError",
    "UnsignedLeaf",
    "VerificationReport",
    "VerifiedNote",
    "VerifiedSeal",
    "VerifyingKey",
    "WitnessRefusedError",
    "audit_files",
    "bundle_of_leaf",
    "check_consistent",
    "check_contents",
    "checkpoint_in",
    "committed_strands",
    "consistency_proof",
    "cosign",
    "cosignatures",
    "entries_hash",
    "entry_file",
    "erased_by",
    "extend",
    "format_verifier_key",
    "hand_over_in",
    "incomplete_strands",
    "is_part",
    "last_part_id",
    "leaf_data",
    "leaf_hash",
    "node_hash",
    "open_release",
    "open_statement",
    "parse_checkpoint_text",
    "parse_note",
    "parse_verifier_key",
    "position_in",
    "position_line",
    "read_entries",
    "read_known_head",
    "seal_episode",
    "seal_hash",
    "seal_leaf",
    "sign_checkpoint",
    "sign_hand_over",
    "sign_note",
    "sign_release",
    "sign_statement",
    "tiles_of",
    "tree_root",
    "unsigned_leaf",
    "verify_bundle",
    "verify_checkpoint",
    "verify_consistency",
    "verify_file",
    "verify_hand_over",
    "verify_inclusion",
    "verify_note",
    "verify_seal",
    "with_erased",
    "witness_checkpoint",
]
