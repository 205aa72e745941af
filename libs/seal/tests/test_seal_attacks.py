"""Attacks on a log and its bundles, each by someone who can do a little more than the last."""

import base64
import dataclasses
import json
from typing import Any

import pytest

from lictor_schema.core.canonical_json import canonical_json
from lictor_seal import (
    Checkpoint,
    Frontier,
    SealBundle,
    SealMetadata,
    SigningKey,
    TrustStore,
    consistency_proof,
    extend,
    leaf_data,
    seal_episode,
    seal_hash,
    sign_checkpoint,
    sign_note,
    tree_root,
    verify_bundle,
    verify_checkpoint,
    verify_consistency,
)
from lictor_seal.seal import signed_envelope


def failed(bundle: SealBundle | bytes, trust: TrustStore) -> set[str]:
    data = bundle if isinstance(bundle, bytes) else bundle.to_bytes()
    return {check.name for check in verify_bundle(data, trust).failures}


def with_sealed(bundle: SealBundle, sealed: dict[str, Any]) -> SealBundle:
    return dataclasses.replace(bundle, sealed_episode=sealed)


@pytest.fixture
def forged(make_episode) -> dict[str, Any]:
    return {**make_episode(4), "outcome": {"code": "success", "reason": "forged"}}


def rehashed(episode: dict[str, Any], old_seal: dict[str, Any]) -> dict[str, Any]:
    metadata = SealMetadata(
        old_seal["sealedAt"], old_seal["version"], old_seal["previousHash"], old_seal["keyId"]
    )
    return {**episode, "seal": {**old_seal, "hash": seal_hash(episode, metadata)}}


def test_an_edited_episode_under_the_old_seal(bundle, forged, trust) -> None:
    sealed = {**forged, "seal": bundle.sealed_episode["seal"]}
    assert failed(with_sealed(bundle, sealed), trust) == {"hash", "inclusion"}


def test_an_edited_episode_with_a_recomputed_hash(bundle, forged, trust) -> None:
    sealed = rehashed(forged, bundle.sealed_episode["seal"])
    assert failed(with_sealed(bundle, sealed), trust) == {"signature", "inclusion"}


def test_an_edited_episode_signed_with_a_strangers_key(
    bundle, forged, trust, stranger: SigningKey, seal
) -> None:
    sealed = seal(forged, stranger)
    assert failed(with_sealed(bundle, sealed), trust) == {"key", "signature", "inclusion"}


def test_a_strangers_signature_under_the_trusted_key_id(
    bundle, forged, trust, key: SigningKey, stranger: SigningKey
) -> None:
    sealed = rehashed(forged, bundle.sealed_episode["seal"])
    envelope = signed_envelope(key.key_id, sealed["seal"]["hash"])
    sealed["seal"]["signature"] = base64.b64encode(stranger.sign(envelope)).decode()
    assert failed(with_sealed(bundle, sealed), trust) == {"signature", "inclusion"}


def test_a_whole_log_of_a_stranger_with_our_name(
    forged, trust, stranger: SigningKey, seal, log
) -> None:
    """Contract scenario 40: a key from outside the trust store."""
    (bundle,) = log([seal(forged, stranger)], stranger)
    assert failed(bundle, TrustStore.of([stranger.verifying_key])) == set()
    assert failed(bundle, trust) == {"key", "signature", "checkpoint", "inclusion"}


def test_a_true_seal_in_a_strangers_log(
    make_episode, trust, stranger: SigningKey, seal, log
) -> None:
    (bundle,) = log([seal(make_episode(1))], stranger)
    assert failed(bundle, trust) == {"checkpoint", "inclusion"}


@pytest.mark.parametrize("where", ["bundle", "seal"])
@pytest.mark.parametrize("member", ["publicKey", "key", "trust", "certificate"])
def test_a_key_embedded_anywhere_is_refused_not_used(
    where: str, member: str, forged, trust, stranger: SigningKey, seal, log
) -> None:
    """Contract scenario 40: a key from outside the trust store."""
    (bundle,) = log([seal(forged, stranger)], stranger)
    document = json.loads(bundle.to_bytes())
    place = {
        "bundle": document,
        "seal": document["sealedEpisode"]["seal"],
    }[where]
    place[member] = base64.b64encode(stranger.verifying_key.public_bytes).decode()
    data = canonical_json(document) + b"\n"
    assert failed(data, trust)
    assert failed(data, TrustStore.of([stranger.verifying_key])), "unknown members are refused"


def test_a_key_embedded_in_a_signed_episode_changes_nothing(
    forged, trust, stranger: SigningKey, seal, log
) -> None:
    public_key = base64.b64encode(stranger.verifying_key.public_bytes).decode()
    (bundle,) = log([seal({**forged, "publicKey": public_key}, stranger)], stranger)
    assert "key" in failed(bundle, trust)


def test_a_sealed_episode_that_never_went_into_the_log(bundle, make_episode, trust, seal) -> None:
    assert failed(with_sealed(bundle, seal(make_episode(99))), trust) == {"inclusion"}


def test_a_swapped_leaf(bundles: list[SealBundle], trust) -> None:
    for first in bundles:
        for second in bundles:
            if first.leaf_index != second.leaf_index:
                swapped = with_sealed(first, dict(second.sealed_episode))
                assert failed(swapped, trust) == {"inclusion"}


def test_a_wrong_index(bundle: SealBundle, trust) -> None:
    for index in (0, 3, 5, 6, 7, 2**53 - 1):
        assert failed(dataclasses.replace(bundle, leaf_index=index), trust) == {"inclusion"}


def test_a_shortened_lengthened_or_reordered_proof(bundle: SealBundle, trust) -> None:
    proof = bundle.inclusion_proof
    for wrong in (proof[:-1], proof[1:], (), (*proof, proof[0]), proof[::-1]):
        changed = dataclasses.replace(bundle, inclusion_proof=wrong)
        assert failed(changed, trust) == {"inclusion"}


def test_a_log_cut_back_before_the_episode(bundles: list[SealBundle], key, trust) -> None:
    data = [leaf_data(bundle.sealed_episode) for bundle in bundles]
    cut, _ = extend(Frontier(), data[:3])
    note = sign_checkpoint(Checkpoint.of(key.name, cut), key)
    report = verify_bundle(dataclasses.replace(bundles[4], checkpoint=note).to_bytes(), trust)
    assert [check.name for check in report.failures] == ["inclusion"]
    assert "beyond the checkpoint's 3 leaves" in report.failures[0].detail


def test_a_log_rewritten_by_its_own_operator(
    bundles: list[SealBundle], key, trust, make_episode, seal, log
) -> None:
    rewritten = [dict(bundle.sealed_episode) for bundle in bundles]
    rewritten[2] = seal(make_episode(77))
    new_note = log(rewritten)[0].checkpoint
    # The old bundle does not fit the new root...
    moved = dataclasses.replace(bundles[4], checkpoint=new_note)
    assert failed(moved, trust) == {"inclusion"}
    # ...and whoever kept the old checkpoint sees two roots for one size.
    old, _ = verify_checkpoint(bundles[4].checkpoint, [key.verifying_key])
    new, _ = verify_checkpoint(new_note, [key.verifying_key])
    assert not verify_consistency(old.size, old.root, new.size, new.root, ())


def test_a_forked_log_cannot_prove_consistency_with_either_branch(
    bundles: list[SealBundle],
) -> None:
    common = [leaf_data(bundle.sealed_episode) for bundle in bundles[:5]]
    left, right = [*common, b"left"], [*common, b"right", b"more"]
    proof = consistency_proof(right, 6)
    assert verify_consistency(6, tree_root(right[:6]), 7, tree_root(right), proof)
    assert not verify_consistency(6, tree_root(left), 7, tree_root(right), proof)


def test_a_checkpoint_with_another_size_or_root_under_the_old_signature(bundle, trust) -> None:
    origin, size, root, *rest = bundle.checkpoint.split("\n")
    for lines in (
        [origin, "8", root, *rest],
        [origin, "5", root, *rest],
        [origin, size, base64.b64encode(b"\0" * 32).decode(), *rest],
        [origin, size, root, "extension", *rest],
        ["example.org/other", size, root, *rest],
    ):
        changed = dataclasses.replace(bundle, checkpoint="\n".join(lines))
        assert failed(changed, trust) == {"checkpoint", "inclusion"}


def test_a_checkpoint_of_another_trusted_log(bundle, key: SigningKey) -> None:
    other = SigningKey.from_seed("example.org/other-log", b"o" * 32)
    both = TrustStore.of([key.verifying_key, other.verifying_key])
    text = bundle.checkpoint.partition("\n\n")[0] + "\n"
    assert failed(bundle, both) == set()
    signed_by_other = dataclasses.replace(bundle, checkpoint=sign_note(text, other))
    assert failed(signed_by_other, both) == {"checkpoint", "inclusion"}


def test_a_strangers_line_beside_the_logs_signature_is_ignored_as_the_format_demands(
    bundle, trust, stranger: SigningKey
) -> None:
    text = bundle.checkpoint.partition("\n\n")[0] + "\n"
    line = sign_note(text, stranger).rpartition("\n\n")[2]
    assert failed(dataclasses.replace(bundle, checkpoint=bundle.checkpoint + line), trust) == set()


@pytest.mark.parametrize("member", ["sealedAt", "version", "previousHash", "keyId"])
def test_seal_metadata_is_under_the_hash(member: str, bundle, trust, stranger: SigningKey) -> None:
    """Contract scenario 40: a key from outside the trust store."""
    other = {
        "sealedAt": {"sealedAt": "2026-02-01T00:00:00.000Z"},
        "version": {"version": 2, "previousHash": "sha256:" + "0" * 64},
        "previousHash": {"version": 3, "previousHash": "sha256:" + "1" * 64},
        "keyId": {"keyId": stranger.key_id},
    }[member]
    sealed = dict(bundle.sealed_episode)
    sealed["seal"] = {**sealed["seal"], **other}
    both = TrustStore((*trust.keys, *TrustStore.of([stranger.verifying_key]).keys))
    assert "hash" in failed(with_sealed(bundle, sealed), both)


def test_a_correction_leaves_the_old_version_verifiable(
    make_episode, seal, log, trust, key: SigningKey
) -> None:
    """Contract scenario 42: a patch after the seal."""
    first = seal(make_episode(1))
    second = seal_episode(
        {**make_episode(1), "outcome": {"code": "partial"}},
        sealed_at="2026-03-02T00:00:00.000Z",
        signer=key,
        previous=first,
    )
    old, new = (verify_bundle(b.to_bytes(), trust).verified for b in log([first, second]))
    assert old is not None
    assert new is not None
    assert new.previous_hash == old.hash


def test_after_a_key_change_old_and_new_seals_verify(make_episode, seal, log, key) -> None:
    successor = SigningKey.from_seed(key.name, b"n" * 32)
    rotated = TrustStore.of([key.verifying_key, successor.verifying_key])
    for bundle in log([seal(make_episode(1), key), seal(make_episode(2), successor)], successor):
        assert failed(bundle, rotated) == set()


def test_a_seal_in_the_log_of_another_trusted_key_was_never_in_its_own(
    key: SigningKey, make_episode, seal, log
) -> None:
    """Two logs are trusted: the one can't stand for what the other never showed its readers."""
    other = SigningKey.from_seed("other.example/log", b"o" * 32)
    both = TrustStore.of([key.verifying_key, other.verifying_key])
    (hidden,) = log([seal(make_episode(1))], other)
    report = verify_bundle(hidden.to_bytes(), both)
    assert [check.name for check in report.failures] == ["inclusion"]
    assert "of another log" in report.failures[0].detail
