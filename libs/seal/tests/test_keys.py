"""Key files: created for the owner only, refused when others can read them."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from hypothesis import given
from hypothesis import strategies as st

from lictor_seal import KeyFileError, SealError, SigningKey, VerifyingKey


def write(path: Path, data: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_a_saved_key_is_the_same_key_when_loaded(tmp_path: Path, key: SigningKey) -> None:
    key.save(tmp_path / "seal.key")
    loaded = SigningKey.load(tmp_path / "seal.key", key.name)
    assert loaded == key
    assert loaded.sign(b"message") == key.sign(b"message")


@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=300))
def test_a_signature_is_the_one_that_openssl_makes_and_takes(seed: bytes, message: bytes) -> None:
    key = SigningKey.from_seed("example.org/log", seed)
    signature = key.sign(message)
    assert signature == Ed25519PrivateKey.from_private_bytes(seed).sign(message)
    assert key.verifying_key.verifies(signature, message)


def test_the_first_test_vectors_of_rfc_8032_are_reproduced() -> None:
    vectors = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
    ]
    for seed, message, signature in vectors:
        key = SigningKey.from_seed("example.org/log", bytes.fromhex(seed))
        assert key.sign(bytes.fromhex(message)).hex() == signature


def test_a_key_file_is_created_for_its_owner_only_whatever_the_umask(
    tmp_path: Path, key: SigningKey
) -> None:
    before = os.umask(0)
    try:
        key.save(tmp_path / "seal.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "seal.key").stat().st_mode) == 0o600


def test_an_existing_key_file_is_never_replaced(tmp_path: Path, key: SigningKey) -> None:
    path = write(tmp_path / "seal.key", b"precious")
    with pytest.raises(KeyFileError, match="was left as it is"):
        key.save(path)
    assert path.read_bytes() == b"precious"


def test_a_key_is_not_written_through_a_planted_link(tmp_path: Path, key: SigningKey) -> None:
    (tmp_path / "seal.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyFileError, match="was left as it is"):
        key.save(tmp_path / "seal.key")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o602])
def test_a_key_file_open_to_others_is_refused_and_the_remedy_named(
    tmp_path: Path, key: SigningKey, mode: int
) -> None:
    path = tmp_path / "seal.key"
    key.save(path)
    path.chmod(mode)
    with pytest.raises(KeyFileError, match=rf"mode {mode:04o}.*chmod 600"):
        SigningKey.load(path, key.name)


def test_a_missing_key_file_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="there is no private key file"):
        SigningKey.load(tmp_path / "none.key", "name")


def test_a_directory_or_pipe_is_not_a_key_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(KeyFileError, match="not a regular file"):
        SigningKey.load(tmp_path / "pipe", "name")
    with pytest.raises(KeyFileError, match="not a regular file"):
        SigningKey.load(tmp_path, "name")


def test_a_key_file_in_a_missing_directory_is_one_clear_sentence(
    tmp_path: Path, key: SigningKey
) -> None:
    with pytest.raises(KeyFileError, match="cannot create"):
        key.save(tmp_path / "no" / "seal.key")


@pytest.mark.parametrize(
    "content", [b"", b"not a key", b"\xff\xfe", b"-----BEGIN PRIVATE KEY-----"]
)
def test_a_file_without_a_key_is_refused_without_quoting_it(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "seal.key", content)
    with pytest.raises(KeyFileError, match="is not an unencrypted PEM"):
        SigningKey.load(path, "name")


def test_an_encrypted_key_file_is_refused(tmp_path: Path, key: SigningKey) -> None:
    key.save(tmp_path / "plain.key")
    private = load_pem_private_key((tmp_path / "plain.key").read_bytes(), password=None)
    pem = private.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    with pytest.raises(KeyFileError, match="unencrypted"):
        SigningKey.load(write(tmp_path / "seal.key", pem), "name")


def test_a_key_of_another_algorithm_is_refused(tmp_path: Path) -> None:
    pem = X25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    with pytest.raises(KeyFileError, match="not Ed25519"):
        SigningKey.load(write(tmp_path / "seal.key", pem), "name")


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "a\u2003b", "a\ud800", "x" * 300])
def test_a_name_that_signed_note_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(SealError, match="key name"):
        SigningKey.generate(name)


def test_generated_keys_differ_and_keep_their_secret_out_of_their_repr(key: SigningKey) -> None:
    assert SigningKey.generate("name").key_id != SigningKey.generate("name").key_id
    assert "rivate" not in repr(key)


def test_a_key_has_the_same_id_under_every_name(key: SigningKey) -> None:
    assert VerifyingKey("other-name", key.verifying_key.public_bytes).key_id == key.key_id


def test_keys_of_a_wrong_size_are_refused() -> None:
    with pytest.raises(SealError, match="31 bytes"):
        VerifyingKey("name", b"x" * 31)
    with pytest.raises(SealError, match="seed"):
        SigningKey.from_seed("name", b"x")


def test_ed25519_matches_the_first_vector_of_rfc_8032() -> None:
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    key = SigningKey.from_seed("rfc8032", seed)
    assert key.verifying_key.public_bytes.hex() == (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    )
    assert key.sign(b"").hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4"
        "6bd25bf5f0595bbe24655141438e7a100b"
    )
