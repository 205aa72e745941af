"""Sealing: what the hash covers, what is refused, and how versions are linked."""

import copy
import hashlib
from typing import Any

import pytest
import rfc8785

from lictor_schema.core.canonical_json import canonical_json, content_hash
from lictor_schema.seals.episode import DecisionEpisode
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import AlreadySealedError, Seal, SealError, SealMetadata, SigningKey, seal_episode
from lictor_seal.seal import signed_envelope

SEALED_AT = "2026-03-01T12:00:00.000Z"


def test_the_hash_is_sha256_over_what_an_independent_rfc_8785_writes(
    make_episode, seal, key: SigningKey
) -> None:
    episode = make_episode(1)
    sealed = seal(episode)
    covered = {
        "episode": episode,
        "seal": {"sealedAt": SEALED_AT, "version": 1, "previousHash": None, "keyId": key.key_id},
    }
    expected = "sha256:" + hashlib.sha256(rfc8785.dumps(covered)).hexdigest()
    assert sealed["seal"]["hash"] == expected
    assert key.verifying_key.verifies(
        Seal.of(sealed).signature, f"lictor.seal.v1\n{key.key_id}\n{expected}\n".encode()
    )


def test_sealing_leaves_the_episode_as_it_was(make_episode, seal) -> None:
    episode = make_episode(1)
    before = copy.deepcopy(episode)
    sealed = seal(episode)
    assert episode == before
    assert {name: value for name, value in sealed.items() if name != "seal"} == before


def test_key_order_does_not_matter_and_sealing_is_deterministic(make_episode, seal) -> None:
    """Contract scenario 36: key order is irrelevant."""
    episode = make_episode(1)
    assert seal(dict(reversed(episode.items()))) == seal(episode)


def test_a_seal_supplied_by_the_caller_is_ignored(make_episode, seal, stranger: SigningKey) -> None:
    """Contract scenario 43: a caller's own seal."""
    bare = seal(make_episode(1))
    forged = seal(make_episode(1), stranger)["seal"]
    changed = {**bare["seal"], "signature": forged["signature"]}
    for own_seal in ({}, None, {"hash": "scaffold"}, "sealed", forged, changed):
        assert seal({**make_episode(1), "seal": own_seal}) == bare


def test_a_sealed_episode_is_not_sealed_again(make_episode, seal) -> None:
    """Contract scenario 44: sealed twice."""
    with pytest.raises(AlreadySealedError):
        seal(seal(make_episode(1)))


def correct(first: dict[str, Any], key: SigningKey, **changes: object) -> dict[str, Any]:
    corrected = {**{n: v for n, v in first.items() if n != "seal"}, **changes}
    return seal_episode(corrected, sealed_at="2026-03-02T00:00:00.000Z", signer=key, previous=first)


def test_a_correction_is_a_new_version_that_names_the_old_one(
    make_episode, seal, key: SigningKey
) -> None:
    """Contract scenario 42: a patch after the seal."""
    first = seal(make_episode(1))
    second = correct(first, key, outcome={"code": "partial"})
    third = correct(second, key, outcome={"code": "fail"})
    assert Seal.of(second).metadata.previous_hash == Seal.of(first).hash
    assert Seal.of(third).metadata.previous_hash == Seal.of(second).hash
    assert [Seal.of(each).metadata.version for each in (first, second, third)] == [1, 2, 3]
    assert first == seal(make_episode(1)), "the old version stays as it was"


def test_a_correction_of_a_changed_episode_is_refused(make_episode, seal, key: SigningKey) -> None:
    first = seal(make_episode(1))
    with pytest.raises(SealError, match="changed after it was sealed"):
        correct({**first, "outcome": {"code": "partial"}}, key)


def test_a_correction_keeps_the_id_of_what_it_corrects(make_episode, seal, key: SigningKey) -> None:
    with pytest.raises(SealError, match="a correction keeps the id"):
        correct(seal(make_episode(1)), key, episodeId="ep-2")


def test_what_was_never_sealed_can_not_be_corrected(make_episode, key: SigningKey) -> None:
    with pytest.raises(SealError, match="has no seal"):
        correct(make_episode(1), key)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"sealed_at": "2026-03-01T12:00:00.000"}, "sealedAt"),
        ({"sealed_at": "2026-03-01T12:00:00Z"}, "sealedAt"),
        ({"sealed_at": "2026-03-01T12:00:00.000+01:00"}, "sealedAt"),
        ({"sealed_at": "2026-13-01T12:00:00.000Z"}, "sealedAt"),
    ],
)
def test_impossible_seal_metadata_is_refused(
    arguments: dict[str, Any], reason: str, make_episode, key: SigningKey
) -> None:
    with pytest.raises(SealError, match=reason):
        seal_episode(make_episode(1), **{"sealed_at": SEALED_AT, "signer": key, **arguments})


@pytest.mark.parametrize(
    ("version", "previous_hash", "reason"),
    [
        (0, None, "version"),
        (2**53, "sha256:" + "0" * 64, "version"),
        (2, None, "must name the hash of the version before"),
        (1, "sha256:" + "0" * 64, "must not name"),
        (2, "0" * 64, "previousHash"),
        (2, "sha256:" + "A" * 64, "previousHash"),
    ],
)
def test_versions_that_can_not_be_are_refused(
    version: int, previous_hash: str | None, reason: str, key: SigningKey
) -> None:
    with pytest.raises(SealError, match=reason):
        SealMetadata(SEALED_AT, version, previous_hash, key.key_id)


def nested(depth: int) -> object:
    value: object = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        "\ud800",
        {1: "one"},
        2**53 + 1,
        b"bytes",
        {"set"},
        nested(63),
    ],
    ids=[
        "nan",
        "infinity",
        "lone-surrogate",
        "number-as-key",
        "past-2**53",
        "bytes",
        "set",
        "too-deep",
    ],
)
def test_an_episode_without_canonical_json_is_refused(value: object, make_episode, seal) -> None:
    with pytest.raises(SealError, match="no canonical JSON"):
        seal({**make_episode(1), "value": value})


def test_an_episode_as_deep_as_can_be_sealed_can_also_be_bundled(make_episode, seal, log) -> None:
    (bundle,) = log([seal({**make_episode(1), "value": nested(62)})])
    assert bundle.to_bytes()


def test_composed_and_decomposed_text_are_different_episodes(make_episode, seal) -> None:
    composed = seal({**make_episode(1), "note": "\u00e9"})
    decomposed = seal({**make_episode(1), "note": "e\u0301"})
    assert composed["seal"]["hash"] != decomposed["seal"]["hash"]


def test_crlf_and_sub_second_times_are_kept_apart(make_episode, seal) -> None:
    texts = ["a\nb", "a\r\nb", "2026-01-01T00:00:00.001Z", "2026-01-01T00:00:00.999Z"]
    hashes = {seal({**make_episode(1), "note": text})["seal"]["hash"] for text in texts}
    assert len(hashes) == len(texts)


def test_a_signature_over_the_bare_hash_is_not_a_seal(make_episode, seal, key: SigningKey) -> None:
    found = Seal.of(seal(make_episode(1)))
    bare = key.sign(found.hash.encode())
    assert not key.verifying_key.verifies(bare, signed_envelope(key.key_id, found.hash))


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("sealedAt", 5),
        ("version", True),
        ("version", "1"),
        ("version", 1.0),
        ("previousHash", 7),
        ("keyId", None),
        ("keyId", "ed25519:short"),
        ("hash", "scaffold"),
        ("hash", 1),
        ("signature", "AAAA"),
        ("signature", "not base64"),
        ("signature", None),
        ("publicKey", "A" * 44),
    ],
)
def test_a_malformed_seal_is_refused_by_name(
    member: str, value: object, make_episode, seal
) -> None:
    sealed = seal(make_episode(1))
    with pytest.raises(SealError, match=rf"seal.*{member}"):
        Seal.of({**sealed, "seal": {**sealed["seal"], member: value}})


def test_an_episode_without_seal_is_not_taken_for_sealed(make_episode) -> None:
    for episode in (make_episode(1), {**make_episode(1), "seal": None}):
        with pytest.raises(SealError, match="has no seal"):
            Seal.of(episode)


def test_a_sealed_episode_is_a_sealed_episode_of_the_schema(make_episode, seal) -> None:
    sealed = seal(make_episode(1))
    model = SealedEpisode.from_json(canonical_json(sealed))
    assert model.episode_id == "ep-1"
    assert model.seal.hash == Seal.of(sealed).hash


def test_sealing_a_model_and_reading_it_back_keeps_the_hash(make_episode, key: SigningKey) -> None:
    episode = DecisionEpisode.from_json(canonical_json(make_episode(1)))
    sealed = seal_episode(
        episode.model_dump(mode="json", by_alias=True), sealed_at=SEALED_AT, signer=key
    )
    again = SealedEpisode.from_json(canonical_json(sealed))
    assert content_hash(again) == content_hash(sealed)
