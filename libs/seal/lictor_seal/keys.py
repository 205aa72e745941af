"""Ed25519 keys (RFC 8032) with a name, and the private key file they are kept in.

A key's id is a fingerprint of its public half alone, so one key can never appear under two ids. Its
name is the key name of C2SP signed-note; for a log's key it is the log's origin.
"""

import hashlib
import hmac
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from lictor_seal.errors import KeyFileError, SealError

PUBLIC_KEY_SIZE: Final = 32
SIGNATURE_SIZE: Final = 64

_FIELD: Final = 2**255 - 19
_Y_OF_ORDER_8: Final = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_SMALL_ORDER_Y: Final = frozenset({0, 1, _FIELD - 1, _Y_OF_ORDER_8, _FIELD - _Y_OF_ORDER_8})
"""The y of the eight points that have no private half: anybody can sign for them."""

_MAX_NAME_LENGTH: Final = 256
_MAX_KEY_FILE_SIZE: Final = 16 * 1024


def public_key_problem(public_bytes: bytes) -> str | None:
    """Why 32 bytes can't be believed as a public key, or None when they may be one.

    Under a point of small order signatures of nobody hold over many texts, and a y beyond the field is a second
    spelling of another key.
    """
    y = int.from_bytes(public_bytes, "little") & (1 << 255) - 1
    if y >= _FIELD:
        return "is not spelled as RFC 8032 does"
    if y in _SMALL_ORDER_Y:
        return "is a point of small order, for which anybody can sign"
    return None


def key_name_problem(name: str) -> str | None:
    """Why signed-note would not take the text as a key name, or None when it would."""
    if not name:
        return "is empty"
    if len(name) > _MAX_NAME_LENGTH:
        return f"is longer than {_MAX_NAME_LENGTH} characters"
    for character in name:
        if character.isspace() or character < " ":
            return "contains a space or control character"
        if character == "+":
            return "contains a plus sign"
        if "\ud800" <= character <= "\udfff":
            return "contains a lone surrogate"
    return None


def _check_name(name: str) -> None:
    problem = key_name_problem(name)
    if problem is not None:
        raise SealError(f"key name {name[:80]!r} {problem}; use a name like example.org/log")


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """The public half of a key, and its name."""

    name: str
    public_bytes: bytes

    def __post_init__(self) -> None:
        _check_name(self.name)
        if len(self.public_bytes) != PUBLIC_KEY_SIZE:
            raise SealError(
                f"public key of {self.name}: {len(self.public_bytes)} bytes,"
                f" an Ed25519 public key has {PUBLIC_KEY_SIZE}"
            )
        problem = public_key_problem(self.public_bytes)
        if problem is not None:
            raise SealError(
                f"public key of {self.name}: it {problem}; ask the key's owner for the real one"
            )

    @property
    def key_id(self) -> str:
        """`ed25519:` and the SHA-256 of the public key in hexadecimal."""
        return f"ed25519:{hashlib.sha256(self.public_bytes).hexdigest()}"

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether the signature over the message was made with this key's private half."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public_bytes).verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and its name; the private half never shows in its repr."""

    name: str
    verifying_key: VerifyingKey
    key_id: str
    _private: Ed25519PrivateKey = field(repr=False, compare=False)
    _crypto_sign: Callable[[bytes], bytes] = field(repr=False, compare=False)

    @classmethod
    def _of(cls, name: str, private: Ed25519PrivateKey) -> Self:
        # libsodium signs in two thirds of the time that OpenSSL takes. Ed25519 leaves no choice in a signature, so
        # both give the same one (a test compares). Imported here, because who only verifies needs none of it.
        from nacl.bindings import crypto_sign, crypto_sign_seed_keypair

        public, secret = crypto_sign_seed_keypair(private.private_bytes_raw())
        verifying_key = VerifyingKey(name, public)
        return cls(
            name, verifying_key, verifying_key.key_id, private, partial(crypto_sign, sk=secret)
        )

    @classmethod
    def generate(cls, name: str) -> Self:
        """A new random key."""
        return cls._of(name, Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, name: str, seed: bytes) -> Self:
        """The key that RFC 8032 derives from 32 secret bytes."""
        if len(seed) != PUBLIC_KEY_SIZE:
            raise SealError(f"seed of {name}: {len(seed)} bytes, Ed25519 needs {PUBLIC_KEY_SIZE}")
        return cls._of(name, Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def load(cls, path: Path, name: str) -> Self:
        """The key in a private key file; refused when anyone but the owner may touch the file."""
        pem = _read_private_file(path)
        try:
            private = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            # The library's own text is left out: it may quote what it could not read.
            raise KeyFileError(
                f"{path} is not an unencrypted PEM (PKCS #8) private key;"
                " restore it from a backup or generate a new key"
            ) from error
        if not isinstance(private, Ed25519PrivateKey):
            raise KeyFileError(
                f"{path} holds a private key that is not Ed25519; only Ed25519 keys can seal"
            )
        return cls._of(name, private)

    def save(self, path: Path) -> None:
        """Write the private key to a new file with mode 0600; never replaces a file."""
        pem = self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            # O_EXCL also refuses a symbolic link planted at the path.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError as error:
            raise KeyFileError(
                f"{path} exists and was left as it is; choose another path or move the old key"
            ) from error
        except OSError as error:
            raise KeyFileError(f"cannot create the private key file {path}: {error}") from error
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(pem)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            path.unlink(missing_ok=True)
            raise KeyFileError(f"cannot write the private key file {path}: {error}") from error

    def secret_for(self, purpose: bytes) -> bytes:
        """32 secret bytes that follow from the private key, and reveal nothing about it or about those for another."""
        return hmac.digest(self._private.private_bytes_raw(), purpose, hashlib.sha256)

    def sign(self, message: bytes) -> bytes:
        """The 64-byte Ed25519 signature over the message."""
        # libsodium gives the signature with the message behind it.
        return self._crypto_sign(message)[:SIGNATURE_SIZE]


def _read_private_file(path: Path) -> bytes:
    try:
        # O_NONBLOCK: opening a named pipe at the path must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise KeyFileError(
            f"there is no private key file {path}; generate a key or correct the path"
        ) from error
    except OSError as error:
        raise KeyFileError(f"cannot open the private key file {path}: {error}") from error
    try:
        # The open file is examined, not the path, so it cannot be swapped in between.
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KeyFileError(f"{path} is not a regular file; a private key must be one")
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o077:
            raise KeyFileError(
                f"{path} has mode {mode:04o}, so others than its owner can use the private key;"
                f" run `chmod 600 {path}` and replace the key if others had access"
            )
        return os.read(descriptor, _MAX_KEY_FILE_SIZE)
    except OSError as error:
        raise KeyFileError(f"cannot read the private key file {path}: {error}") from error
    finally:
        os.close(descriptor)
