"""The errors of this library; every message says what was wrong, where, and what to do."""


class SealError(Exception):
    """Root of every error that lictor_seal raises on purpose."""


class AlreadySealedError(SealError):
    """The episode carries a seal; a sealed episode is never sealed again."""


class MerkleError(SealError):
    """A tree, frontier or proof was asked for that cannot exist."""


class NoteError(SealError):
    """A signed note or a verifier key is malformed, or no trusted key signed the note."""


class UnknownSignerError(NoteError):
    """A note is well formed, but no key that signed it is among those known."""


class CheckpointError(SealError):
    """The text of a note is not a transparency log checkpoint."""


class KeyFileError(SealError):
    """A private key file is missing, malformed or readable by others."""


class TrustStoreError(SealError):
    """A trust store is missing or malformed."""


class BundleError(SealError):
    """Bytes are not a seal bundle."""


class ReleaseError(SealError):
    """Bytes are not a release of policy packs that a trusted key signed."""


class WitnessRefusedError(SealError):
    """A witness does not cosign a checkpoint: it does not follow from what was seen before."""
