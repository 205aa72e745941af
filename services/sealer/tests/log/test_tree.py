"""Appends have the bytes of the plain way; only our own last checkpoint, where it was made to stand, is a head."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sealed_history import episode

from lictor_seal import (
    Frontier,
    SealBundle,
    SigningKey,
    TrustedKey,
    TrustStore,
    extend,
    leaf_data,
    seal_episode,
    verify_bundle,
)
from lictor_sealer.log.tree import Draft, Head, LogError, append, hand_over, read_head

KEY = SigningKey.from_seed("lictor.test/log", bytes(32))
OTHER = SigningKey.from_seed("lictor.test/log", bytes([1]) * 32)

SEALED_AT = "2026-03-01T12:00:00.000Z"
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)


@settings(deadline=None, max_examples=40)
@given(before=st.integers(0, 300), names=st.lists(NAMES, max_size=40), corrected=st.booleans())
def test_an_append_of_any_length_has_the_bytes_of_sealing_one_by_one(
    before: int, names: list[str], corrected: bool
):
    frontier, _ = extend(Frontier(), [b"%d" % number for number in range(before)])
    episodes = [episode(name) for name in names]
    members: list[dict[str, Any]] = [e.model_dump(mode="json", by_alias=True) for e in episodes]
    previous = [
        seal_episode(each, sealed_at=SEALED_AT, signer=KEY) if corrected else None
        for each in members
    ]
    drafts = (Draft(e, SEALED_AT, p) for e, p in zip(episodes, previous, strict=True))
    appended = append(Head(frontier, before), drafts, KEY)

    sealed = [
        seal_episode(each, sealed_at=SEALED_AT, signer=KEY, previous=earlier)
        for each, earlier in zip(members, previous, strict=True)
    ]
    extended, proofs = extend(frontier, [leaf_data(each) for each in sealed])
    assert appended.frontier == extended
    trust = TrustStore.of([KEY.verifying_key])
    assert len(appended.bundles) == len(sealed)
    for number, bundle in enumerate(appended.bundles):
        note = SealBundle.from_bytes(bundle).checkpoint
        plain = SealBundle(sealed[number], before + number, proofs[number], note)
        assert bundle == plain.to_bytes()
        assert verify_bundle(bundle, trust).ok


def test_a_checkpoint_is_the_head_where_it_was_made_to_stand():
    appended = append(Head(Frontier(), 7), [], KEY)
    assert read_head(appended.checkpoint, 8, KEY) == Head(Frontier(), 8)


def test_a_checkpoint_published_again_elsewhere_is_no_head():
    appended = append(Head(Frontier(), 7), [], KEY)
    with pytest.raises(LogError, match="somebody put it there"):
        read_head(appended.checkpoint, 9, KEY)


def test_a_checkpoint_of_another_key_is_no_head():
    appended = append(Head(Frontier(), 0), [], OTHER)
    with pytest.raises(LogError, match="does not verify with this key"):
        read_head(appended.checkpoint, 1, KEY)


@pytest.mark.parametrize("garbage", [b"", b"{}", b"null", b'{"checkpoint": 1, "frontier": {}}'])
def test_garbage_is_no_head(garbage: bytes):
    with pytest.raises(LogError):
        read_head(garbage, 1, KEY)


WINDOWS = TrustStore(
    (
        TrustedKey(KEY.verifying_key, None, "2026-06-30T00:00:00.000Z"),
        TrustedKey(OTHER.verifying_key, "2026-06-01T00:00:00.000Z", None),
    )
)
JUNE = "2026-06-15T00:00:00.000Z"


def test_a_log_is_handed_over_when_both_keys_sign_and_are_trusted_then():
    head = read_head(append(Head(Frontier(), 0), [], KEY).checkpoint, 1, KEY)
    handed = hand_over(head, KEY, OTHER, at=JUNE, trust=WINDOWS)
    assert handed.bundles == ()
    assert read_head(handed.checkpoint, 2, OTHER) == Head(Frontier(), 2)


def test_the_old_key_does_not_go_on_after_the_hand_over():
    handed = hand_over(Head(Frontier(), 1), KEY, OTHER, at=JUNE, trust=WINDOWS)
    with pytest.raises(LogError, match=f"handed over to {OTHER.key_id}"):
        read_head(handed.checkpoint, 2, KEY)


def test_a_hand_over_stands_only_where_it_was_made_to_stand():
    handed = hand_over(Head(Frontier(), 1), KEY, OTHER, at=JUNE, trust=WINDOWS)
    with pytest.raises(LogError, match="somebody put it there"):
        read_head(handed.checkpoint, 3, OTHER)


@pytest.mark.parametrize(
    ("trust", "at", "reason"),
    [
        (TrustStore.of([KEY.verifying_key]), JUNE, "does not hold the new key"),
        (TrustStore.of([OTHER.verifying_key]), JUNE, "does not hold the old key"),
        (TrustStore.of([KEY.verifying_key, OTHER.verifying_key]), JUNE, "must say until when"),
        (WINDOWS, "2026-05-01T00:00:00.000Z", "trusted only from"),
        (WINDOWS, "2026-07-01T00:00:00.000Z", "trusted only until"),
        (WINDOWS, "yesterday", "is not a UTC time"),
        (
            TrustStore(
                (
                    TrustedKey(KEY.verifying_key, None, "2026-06-30T00:00:00.000Z", True),
                    *WINDOWS.keys[1:],
                )
            ),
            JUNE,
            "is revoked",
        ),
    ],
)
def test_a_hand_over_that_the_trust_store_does_not_back_is_refused(
    trust: TrustStore, at: str, reason: str
):
    with pytest.raises(LogError, match=reason):
        hand_over(Head(Frontier(), 1), KEY, OTHER, at=at, trust=trust)
