"""A known checkpoint against a log that was cut, rewritten or forked."""

import dataclasses

import pytest

from lictor_seal import (
    Checkpoint,
    CheckpointError,
    ConsistencyProof,
    Frontier,
    KnownHead,
    MerkleError,
    SealBundle,
    SigningKey,
    TrustedKey,
    TrustStore,
    check_consistent,
    consistency_proof,
    extend,
    leaf_data,
    sign_checkpoint,
    tree_root,
    verify_bundle,
)


def leaves_of(size: int) -> list[bytes]:
    return [b"leaf %d" % number for number in range(size)]


def checkpoint(leaves: list[bytes], origin: str = "log") -> Checkpoint:
    return Checkpoint(origin, len(leaves), tree_root(leaves))


def test_a_proof_survives_its_text() -> None:
    proof = ConsistencyProof(6, consistency_proof(leaves_of(11), 6), "a note\n")
    assert ConsistencyProof.from_text(proof.to_text()) == proof
    assert proof.to_text().startswith("old 6\n")
    bare = dataclasses.replace(proof, checkpoint=None)
    assert ConsistencyProof.from_text(bare.to_text()) == bare
    assert ConsistencyProof.from_text("old 0\n\n") == ConsistencyProof(0, ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "old 5",
        "old 05\n\n",
        "old -1\n\n",
        "new 5\n\n",
        "old 5\nAAAA\n\n",
        "old 5\n!\n\n",
        "old 5\n \n\n",
    ],
)
def test_what_is_no_proof_is_refused(text: str) -> None:
    with pytest.raises(MerkleError, match="consistency proof"):
        ConsistencyProof.from_text(text)


@pytest.mark.parametrize(("known", "found"), [(6, 11), (11, 6), (8, 11), (11, 11), (0, 5), (5, 0)])
def test_two_heads_of_one_log_belong_together_whichever_is_older(known: int, found: int) -> None:
    leaves = leaves_of(11)
    old, new = sorted((known, found))
    proof = ConsistencyProof(old, consistency_proof(leaves[:new], old))
    assert check_consistent(checkpoint(leaves[:known]), checkpoint(leaves[:found]), proof)


def test_a_rewritten_and_a_forked_log_are_told() -> None:
    leaves = leaves_of(11)
    other = [*leaves[:3], b"rewritten", *leaves[4:]]
    for proof in (consistency_proof(other, 6), consistency_proof(leaves, 6)):
        with pytest.raises(CheckpointError, match="rewritten or forked"):
            check_consistent(checkpoint(leaves[:6]), checkpoint(other), ConsistencyProof(6, proof))
    with pytest.raises(CheckpointError, match="two different trees of 11 leaves"):
        check_consistent(checkpoint(leaves), checkpoint(other), None)


def test_a_proof_is_needed_and_must_be_of_these_sizes_and_this_log() -> None:
    leaves = leaves_of(11)
    old, new = checkpoint(leaves[:6]), checkpoint(leaves)
    with pytest.raises(CheckpointError, match="--from 6 --to 11"):
        check_consistent(old, new, None)
    with pytest.raises(CheckpointError, match="starts at 5"):
        check_consistent(old, new, ConsistencyProof(5, consistency_proof(leaves, 5)))
    with pytest.raises(CheckpointError, match="of the log 'other'"):
        check_consistent(checkpoint(leaves, "other"), new, None)


def known_head(leaves: list[bytes], size: int, key: SigningKey, new: int) -> KnownHead:
    frontier, _ = extend(Frontier(), leaves[:size])
    note = sign_checkpoint(Checkpoint.of(key.name, frontier), key)
    old = min(size, new)
    proof = consistency_proof(leaves[: max(size, new)], old)
    return KnownHead(note, ConsistencyProof(old, proof))


@pytest.fixture
def log_leaves(bundles: list[SealBundle]) -> list[bytes]:
    return [leaf_data(each.sealed_episode) for each in bundles]


@pytest.mark.parametrize("size", [0, 3, 4, 7, 9])
def test_a_bundle_is_held_against_a_head_from_outside(
    size: int, bundle: SealBundle, log_leaves: list[bytes], key: SigningKey, trust: TrustStore
) -> None:
    known = known_head([*log_leaves, b"later", b"still later"], size, key, 7)
    report = verify_bundle(bundle.to_bytes(), trust, known=known)
    assert report.ok, report.failures
    assert report.checks[-1].name == "consistency"


def failed(bundle: SealBundle, trust: TrustStore, known: KnownHead) -> dict[str, str]:
    report = verify_bundle(bundle.to_bytes(), trust, known=known)
    return {check.name: check.detail for check in report.failures}


def test_an_operator_who_rewrote_the_log_is_found_out_by_an_older_head(
    log_leaves: list[bytes], make_episode, seal, log, bundles, key: SigningKey, trust: TrustStore
) -> None:
    """Contract scenario 39: a log that was cut, rewritten or forked."""
    rewritten = [dict(each.sealed_episode) for each in bundles]
    rewritten[1] = seal(make_episode(77))
    forged = log(rewritten)[4]
    assert verify_bundle(forged.to_bytes(), trust).ok, "by itself it is flawless"
    for leaves in (log_leaves, [leaf_data(each) for each in rewritten]):
        known = known_head(log_leaves, 3, key, 7)
        known = dataclasses.replace(known, proof=ConsistencyProof(3, consistency_proof(leaves, 3)))
        assert "rewritten or forked" in failed(forged, trust, known)["consistency"]


def test_a_log_that_was_cut_and_grew_otherwise_is_found_out_by_a_later_head(
    log_leaves: list[bytes], make_episode, seal, log, bundles, key: SigningKey, trust: TrustStore
) -> None:
    cut = [*(dict(each.sealed_episode) for each in bundles[:5]), seal(make_episode(55))]
    known = known_head(log_leaves, 7, key, 6)
    assert "rewritten or forked" in failed(log(cut)[5], trust, known)["consistency"]


def test_a_known_head_counts_only_with_a_trusted_signature(
    bundle: SealBundle, log_leaves: list[bytes], key, stranger: SigningKey, trust: TrustStore
) -> None:
    by_stranger = known_head(log_leaves, 3, stranger, 7)
    assert "no trusted key signed" in failed(bundle, trust, by_stranger)["consistency"]
    revoked = TrustStore((TrustedKey(key.verifying_key, revoked=True),))
    assert "consistency" in failed(bundle, revoked, known_head(log_leaves, 3, key, 7))
    assert "consistency" in failed(bundle, trust, KnownHead("no note"))


def test_what_is_no_bundle_has_no_consistency_either(trust: TrustStore) -> None:
    report = verify_bundle(b"", trust, known=KnownHead("x"))
    assert [check.name for check in report.failures][-1] == "consistency"
