"""Seals, the Merkle log's proofs, and their offline verification.

From an episode to a file an auditor can check:

    sealed = seal_episode(episode, sealed_at=..., signer=key)
    frontier, (proof,) = extend(frontier, [leaf_data(sealed)])
    note = sign_checkpoint(Checkpoint.of(origin, frontier), key)
    data = SealBundle(sealed, frontier.size - 1, proof, note).to_bytes()
    assert verify_bundle(data, TrustStore.of([key.verifying_key])).ok

This is the whole public surface.
"""

from lictor_seal.bundle import SealBundle, leaf_data
from lictor_seal.checkpoint import (
    Checkpoint,
    parse_checkpoint_text,
    sign_checkpoint,
    verify_checkpoint,
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
)
from lictor_seal.keys import SigningKey, VerifyingKey
from lictor_seal.merkle import (
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
from lictor_seal.note import (
    Note,
    NoteSignature,
    VerifiedNote,
    format_verifier_key,
    parse_note,
    parse_verifier_key,
    sign_note,
    verify_note,
)
from lictor_seal.release import open_release, sign_release
from lictor_seal.seal import Seal, SealMetadata, seal_episode, seal_hash
from lictor_seal.trust import TrustedKey, TrustStore
from lictor_seal.verify import (
    CHECK_NAMES,
    Check,
    CheckStatus,
    VerificationReport,
    VerifiedSeal,
    verify_bundle,
)

__all__ = [
    "CHECK_NAMES",
    "EMPTY_ROOT",
    "AlreadySealedError",
    "BundleError",
    "Check",
    "CheckStatus",
    "Checkpoint",
    "CheckpointError",
    "Frontier",
    "KeyFileError",
    "MerkleError",
    "Note",
    "NoteError",
    "NoteSignature",
    "ReleaseError",
    "Seal",
    "SealBundle",
    "SealError",
    "SealMetadata",
    "SigningKey",
    "TrustStore",
    "TrustStoreError",
    "TrustedKey",
    "UnknownSignerError",
    "VerificationReport",
    "VerifiedNote",
    "VerifiedSeal",
    "VerifyingKey",
    "consistency_proof",
    "extend",
    "format_verifier_key",
    "leaf_data",
    "leaf_hash",
    "node_hash",
    "open_release",
    "parse_checkpoint_text",
    "parse_note",
    "parse_verifier_key",
    "seal_episode",
    "seal_hash",
    "sign_checkpoint",
    "sign_note",
    "sign_release",
    "tree_root",
    "verify_bundle",
    "verify_checkpoint",
    "verify_consistency",
    "verify_inclusion",
    "verify_note",
]
