"""The keys that the environment names: the private one that seals, and the public ones, written for others."""

import os
from pathlib import Path

from lictor_bus.errors import BusError
from lictor_seal import KeyFileError, SealError, SigningKey, TrustStore
from lictor_sealer.log.succession import LogSuccession


def load_key() -> SigningKey:
    """The sealing key named by the environment.

    With ``LICTOR_SEAL_KEY_CREATE=1`` a missing key is made, with the trust file that auditors need beside it.
    """
    path = os.environ.get("LICTOR_SEAL_KEY")
    name = os.environ.get("LICTOR_LOG_ORIGIN", "lictor.local/log")
    if not path:
        raise BusError("LICTOR_SEAL_KEY is not set: name the file with the Ed25519 sealing key.")
    try:
        if os.environ.get("LICTOR_SEAL_KEY_CREATE") == "1" and not Path(path).exists():
            key = SigningKey.generate(name)
            key.save(Path(path))
            Path(path).with_name("trust.json").write_bytes(
                TrustStore.of([key.verifying_key]).to_bytes()
            )
        return SigningKey.load(Path(path), name)
    except (KeyFileError, SealError, OSError) as error:
        raise BusError(str(error)) from None


def load_succession(key: SigningKey) -> LogSuccession:
    """The key before ours and the trust store, where the environment names them."""
    path, trust = os.environ.get("LICTOR_SEAL_KEY_PREVIOUS"), os.environ.get("LICTOR_SEAL_TRUST")
    if path and not trust:
        raise BusError(
            "LICTOR_SEAL_KEY_PREVIOUS is set and LICTOR_SEAL_TRUST is not: a log changes its key only by a "
            "trust store that holds both keys."
        )
    try:
        return LogSuccession(
            SigningKey.load(Path(path), key.name) if path else None,
            TrustStore.load(Path(trust)) if trust else None,
        )
    except SealError as error:
        raise BusError(str(error)) from None


def publish_keys(key: SigningKey, succession: LogSuccession) -> None:
    """Write the public keys where the environment says, for those who verify what we seal.

    Keys that stand there already stay: what they sealed is still verified.
    """
    name = os.environ.get("LICTOR_SEAL_TRUST_PUBLISH")
    if not name:
        return
    path, ours = Path(name), TrustStore.of([key.verifying_key])
    try:
        there = TrustStore.load(path) if path.exists() else TrustStore(())
        # Who was given a store knows until when each key is believed; else what stands there does.
        trust = (succession.trust or there).including((*there.keys, *ours.keys))
        # A reader never sees half of it.
        written = path.with_name(f"{path.name}.new")
        written.write_bytes(trust.to_bytes())
        written.replace(path)
    except (SealError, OSError) as error:
        raise BusError(
            f"the public keys can't be written (LICTOR_SEAL_TRUST_PUBLISH): {error}"
        ) from None
