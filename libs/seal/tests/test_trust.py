"""The trust store file: round trips, and every way it can be wrong."""

import json
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl.bindings import crypto_core_ed25519_is_valid_point

from lictor_seal import KeyGroup, SigningKey, TrustedKey, TrustStore, TrustStoreError
from lictor_seal.seal import parse_utc
from lictor_seal.trust import TrustFile


@pytest.fixture
def entry(key: SigningKey) -> dict[str, Any]:
    return TrustedKey(key.verifying_key).to_json_value()


def store_bytes(*entries: object) -> bytes:
    return json.dumps({"format": "lictor-trust-store/v1", "keys": entries}).encode()


def test_a_store_survives_its_file(tmp_path: Path, key: SigningKey, stranger: SigningKey) -> None:
    store = TrustStore(
        (
            TrustedKey(key.verifying_key, "2026-01-01T00:00:00.000Z", "2026-12-31T23:59:59.999Z"),
            TrustedKey(stranger.verifying_key, revoked=True),
        )
    )
    (tmp_path / "trust.json").write_bytes(store.to_bytes())
    assert TrustStore.load(tmp_path / "trust.json") == store


def test_a_key_is_found_by_its_id_only(key: SigningKey, stranger: SigningKey) -> None:
    store = TrustStore.of([key.verifying_key])
    found = store.by_id(key.key_id)
    assert found is not None
    assert found.key == key.verifying_key
    assert store.by_id(stranger.key_id) is None


def test_the_window_of_a_key_includes_its_ends(key: SigningKey) -> None:
    trusted = TrustedKey(key.verifying_key, "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z")
    for inside in ("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"):
        assert trusted.problem_at(parse_utc(inside)) is None
    assert "from" in str(trusted.problem_at(parse_utc("2025-12-31T23:59:59.999Z")))
    assert "until" in str(trusted.problem_at(parse_utc("2026-02-01T00:00:00.001Z")))
    moment = "2026-01-01T00:00:00.000Z"
    assert TrustedKey(key.verifying_key, moment, moment).problem_at(parse_utc(moment)) is None


def without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda entry: {k: v for k, v in entry.items() if k != name}


def with_(**members: object) -> Callable[[dict[str, Any]], object]:
    return lambda entry: {**entry, **members}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without("key_id"), r"keys\[0\] lacks key_id"),
        (without("name"), r"keys\[0\] lacks name"),
        (without("public_key"), r"keys\[0\] lacks public_key"),
        (with_(Revoked=True), r"keys\[0\] has unknown members \['Revoked'\]"),
        (with_(revoked="yes"), r"keys\[0\].revoked is neither"),
        (with_(revoked=1), r"keys\[0\].revoked is neither"),
        (with_(not_before=5), r"keys\[0\].not_before is not a string"),
        (with_(not_before=None), r"keys\[0\].not_before is not a string"),
        (with_(not_after="2026-01-01"), "is not a UTC time"),
        (with_(not_after="2026-01-01T00:00:00Z"), "is not a UTC time"),
        (with_(not_after="2026-01-01T00:00:00+00:00"), "is not a UTC time"),
        (with_(not_after="2026-02-30T00:00:00.000Z"), "is not a time that exists"),
        (
            with_(not_before="2026-02-01T00:00:00.000Z", not_after="2026-01-01T00:00:00.000Z"),
            "is before not_before",
        ),
        (with_(public_key="AAAA"), "has 32"),
        (with_(public_key="???"), "Base64"),
        (with_(key_id="ed25519:" + "0" * 64), "the id of its public_key is"),
        (with_(name="a b"), "key name"),
        (lambda _entry: "key", r"keys\[0\] is not an object"),
    ],
)
def test_a_wrong_entry_is_refused_with_place_and_reason(
    change: Callable[[dict[str, Any]], object], reason: str, entry: dict[str, Any]
) -> None:
    with pytest.raises(TrustStoreError, match=reason):
        TrustStore.from_bytes(store_bytes(change(entry)))


def test_one_key_cannot_stand_twice_even_under_two_names(entry: dict[str, Any]) -> None:
    with pytest.raises(TrustStoreError, match="stands twice"):
        TrustStore.from_bytes(store_bytes(entry, {**entry, "name": "example.org/second"}))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "JSON"),
        (b"[]", "expected a JSON object"),
        (b"{}", "`format` must be"),
        (b'{"format":"lictor-trust-store/v2","keys":[]}', "`format` must be"),
        (b'{"format":"lictor-trust-store/v1"}', "expected the members"),
        (b'{"format":"lictor-trust-store/v1","keys":{}}', "expected the members"),
        (b'{"format":"lictor-trust-store/v1","keys":[],"more":1}', "unknown members"),
        (b'{"format":"lictor-trust-store/v1","keys":[],"keys":[]}', "twice"),
        (b"\xff", "UTF-8"),
        (b" " * (4 * 1024 * 1024 + 1), "larger than"),
    ],
)
def test_a_file_that_is_no_trust_store_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(TrustStoreError, match=reason):
        TrustStore.from_bytes(data)


def test_groups_survive_the_file(key: SigningKey) -> None:
    groups = (KeyGroup("finance", (key.name, "somebody else")), KeyGroup("security", (key.name,)))
    store = TrustStore(TrustStore.of([key.verifying_key]).keys, groups=groups)
    assert TrustStore.from_bytes(store.to_bytes()) == store
    # They give nobody a key, and a file without them has the bytes that it always had.
    assert store.by_id("finance") is None
    assert b"groups" not in TrustStore.of([key.verifying_key]).to_bytes()


@pytest.mark.parametrize(
    "groups", [[], {"finance": []}, {"finance": "bob"}, {"": ["bob"]}, {"f": [1]}]
)
def test_a_group_that_is_no_list_of_names_is_refused(groups: object) -> None:
    document = {"format": "lictor-trust-store/v1", "keys": [], "groups": groups}
    with pytest.raises(TrustStoreError, match="group"):
        TrustStore.from_bytes(json.dumps(document).encode())


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    with pytest.raises(TrustStoreError, match=r"there is no trust store .*trust\.json"):
        TrustStore.load(path)
    path.write_text("{}")
    with pytest.raises(TrustStoreError, match=r"trust\.json: `format`"):
        TrustStore.load(path)
    with pytest.raises(TrustStoreError, match="cannot read"):
        TrustStore.load(tmp_path)


def test_witnesses_survive_the_file() -> None:
    witness = SigningKey.from_seed("example.org/witness", b"w" * 32)
    keys = (TrustedKey(SigningKey.from_seed("example.org/log", b"k" * 32).verifying_key),)
    store = TrustStore(keys, (TrustedKey(witness.verifying_key),), 1)
    assert TrustStore.from_bytes(store.to_bytes()) == store


@pytest.mark.parametrize("needed", [-1, 2, True, "1", 1.0])
def test_a_number_of_witnesses_that_can_not_be_is_refused(needed: object) -> None:
    witness = SigningKey.from_seed("example.org/witness", b"w" * 32)
    document = json.loads(TrustStore((), (TrustedKey(witness.verifying_key),), 1).to_bytes())
    document["witnesses_needed"] = needed
    with pytest.raises(TrustStoreError, match="witnesses"):
        TrustStore.from_bytes(json.dumps(document).encode())


def test_one_key_is_one_voice_whatever_it_is_called() -> None:
    """Contract scenario 41: two of two by one key."""
    key = TrustedKey(SigningKey.from_seed("example.org/log", b"k" * 32).verifying_key)
    same = TrustedKey(SigningKey.from_seed("example.org/other", b"k" * 32).verifying_key)
    with pytest.raises(TrustStoreError, match="stands twice"):
        TrustStore((key,), (same,))
    with pytest.raises(TrustStoreError, match="stands twice"):
        TrustStore((), (key, same), 2)


SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
]
SECOND_SPELLINGS = [
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
]


def test_anybody_can_sign_for_a_point_of_small_order() -> None:
    """Why they are refused: our library takes a signature that nobody made, over any text."""
    forged = b"\x01" + 63 * b"\x00"
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(SMALL_ORDER[0])).verify(forged, b"any text")


@pytest.mark.parametrize("where", ["keys", "witnesses"])
@pytest.mark.parametrize("encoded", [*SMALL_ORDER, *SECOND_SPELLINGS])
def test_a_key_without_a_private_half_is_refused(
    encoded: str, where: str, entry: dict[str, Any]
) -> None:
    public = bytes.fromhex(encoded)
    weak = {
        **entry,
        "public_key": b64encode(public).decode(),
        "key_id": f"ed25519:{sha256(public).hexdigest()}",
    }
    store = {"format": "lictor-trust-store/v1", "keys": [], where: [weak]}
    with pytest.raises(TrustStoreError, match=rf"{where}\[0\].*(small order|RFC 8032)"):
        TrustStore.from_bytes(json.dumps(store).encode())


def test_the_list_of_points_is_that_of_libsodium() -> None:
    assert not any(crypto_core_ed25519_is_valid_point(bytes.fromhex(each)) for each in SMALL_ORDER)


def key(seed: bytes) -> SigningKey:
    return SigningKey.from_seed("example.org/log", seed * 32)


def test_keys_are_added_and_an_entry_that_stands_there_stays() -> None:
    retired = TrustedKey(key(b"a").verifying_key, not_after="2026-01-01T00:00:00.000Z")
    store = TrustStore((retired,))
    added = [TrustedKey(key(b"a").verifying_key), TrustedKey(key(b"b").verifying_key)]
    merged = store.including([*added, *added])
    assert merged.by_id(retired.key.key_id) == retired
    assert {each.key.key_id for each in merged.keys} == {each.key.key_id for each in added}
    assert merged.including(added) == merged


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    trust = TrustFile(path)
    with pytest.raises(TrustStoreError, match="there is no trust store"):
        trust()
    first, second = (
        TrustStore.of([key(b"a").verifying_key]),
        TrustStore.of([key(b"b").verifying_key]),
    )
    path.write_bytes(first.to_bytes())
    assert trust() == first
    assert trust() is trust()
    (tmp_path / "new").write_bytes(second.to_bytes())
    (tmp_path / "new").replace(path)
    assert trust() == second
    path.write_bytes(b"{}")
    with pytest.raises(TrustStoreError, match="`format`"):
        trust()
