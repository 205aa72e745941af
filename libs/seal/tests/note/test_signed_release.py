"""Releases of policy packs: believed when a trusted key signed exactly this, and not otherwise."""

from datetime import UTC, datetime

import pytest

from lictor_schema.decisions.decision import PackStamp
from lictor_schema.packs.release import PackRelease
from lictor_seal import (
    ReleaseError,
    SigningKey,
    TrustedKey,
    TrustStore,
    open_release,
    sign_note,
    sign_release,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
HASH = "sha256:" + "a" * 64
KEY = SigningKey.from_seed("lictor-packs", bytes(32))
TRUST = TrustStore.of([KEY.verifying_key])
RELEASE = PackRelease(
    channel="main",
    number=7,
    bundle_hash=HASH,
    packs=(PackStamp(pack_id="no-silence", pack_version="1.2", pack_hash=HASH),),
    released_at="2026-06-01T00:00:00.000Z",
)


def test_a_release_reads_back_as_it_was_signed() -> None:
    assert open_release(sign_release(RELEASE, KEY).encode(), TRUST, NOW) == RELEASE


def test_a_release_that_was_changed_after_signing_is_refused() -> None:
    forged = sign_release(RELEASE, KEY).replace('"number":7', '"number":8')
    with pytest.raises(ReleaseError, match="does not hold"):
        open_release(forged.encode(), TRUST, NOW)


def test_a_release_signed_by_a_stranger_under_the_trusted_name_is_refused() -> None:
    stranger = SigningKey.from_seed("lictor-packs", bytes([1] * 32))
    with pytest.raises(ReleaseError, match="not signed by a trusted key"):
        open_release(sign_release(RELEASE, stranger).encode(), TRUST, NOW)


@pytest.mark.parametrize(
    "limits",
    [
        {"revoked": True},
        {"not_after": "2026-05-31T00:00:00.000Z"},
        {"not_before": "2026-06-02T00:00:00.000Z"},
    ],
)
def test_a_key_outside_its_limits_releases_nothing(limits: dict[str, object]) -> None:
    trust = TrustStore((TrustedKey(KEY.verifying_key, **limits),))  # pyright: ignore[reportArgumentType] -- drawn from the table above
    with pytest.raises(ReleaseError, match=r"is revoked|is trusted only"):
        open_release(sign_release(RELEASE, KEY).encode(), trust, NOW)


def test_a_signature_over_something_else_does_not_make_a_release() -> None:
    body = sign_release(RELEASE, KEY).split("\n")[1]
    other = sign_note(f"example.org/log\n{body}\n", KEY)
    with pytest.raises(ReleaseError, match="no lictor-pack-release"):
        open_release(other.encode(), TRUST, NOW)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"not a note", b"a\n\n"])
def test_what_is_no_note_is_refused(data: bytes) -> None:
    with pytest.raises(ReleaseError):
        open_release(data, TRUST, NOW)
