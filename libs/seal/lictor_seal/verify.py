"""Offline verification of a seal bundle against a trust store.

No network, no clock, and no trust in anything inside the bundle. Every check is reported, also the
ones that could not be made because an earlier one failed: those count as failed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from io import BytesIO
from typing import Final, Protocol, TypeVar

from lictor_seal.bundle import MAX_BUNDLE_SIZE, SealBundle, leaf_data
from lictor_seal.contents.check import ContentsReport, Visit, check_contents
from lictor_seal.contents.parts import MAX_PART_SIZE
from lictor_seal.errors import BundleError, SealError, UnknownSignerError
from lictor_seal.keys import VerifyingKey
from lictor_seal.log.checkpoint import Checkpoint, verify_checkpoint
from lictor_seal.log.consistency_proof import ConsistencyProof, check_consistent
from lictor_seal.log.cosignature import Cosignature, cosignatures
from lictor_seal.log.merkle import verify_inclusion
from lictor_seal.note.signed_note import parse_note
from lictor_seal.seal import Seal, parse_utc, seal_hash, signed_envelope
from lictor_seal.trust import TrustStore

CHECK_NAMES: Final = ("bundle", "seal", "hash", "key", "signature", "checkpoint", "inclusion")
"""The checks of every report, in order. `contents` follows when the file carries the episode's messages, `complete`
when that was demanded, `witnesses` when the trust store names some, `consistency` when a known checkpoint was.
"""

_CONTENTS: Final = "contents"
_COMPLETE: Final = "complete"
_WITNESSES: Final = "witnesses"
_CONSISTENCY: Final = "consistency"

_T = TypeVar("_T")


class CheckStatus(StrEnum):
    """How a check ended; only ``held`` counts for the seal."""

    HELD = "held"
    FAILED = "failed"
    UNKNOWN_KEY = "unknown_key"
    """The trust store does not hold the key: nothing speaks against the seal, and nothing for it."""
    NOT_CHECKED = "not_checked"
    """It needs something that an earlier check did not find."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, and what was found."""

    name: str
    status: CheckStatus
    detail: str

    @property
    def ok(self) -> bool:
        """Whether it held."""
        return self.status is CheckStatus.HELD


class _UnknownKeyError(SealError):
    """A signature can't be judged, because its key is not in the trust store."""


class _NotCheckedError(SealError):
    """A check could not be made."""


@dataclass(frozen=True, slots=True)
class KnownHead:
    """A checkpoint that the verifier had from elsewhere, and the proof that joins it to the bundle's own."""

    checkpoint: str
    proof: ConsistencyProof | None = None


@dataclass(frozen=True, slots=True)
class VerifiedSeal:
    """What a bundle proves, once every check held."""

    sealed_episode: Mapping[str, object]
    hash: str
    version: int
    previous_hash: str | None
    sealed_at: str
    key_id: str
    sealed_by: str
    log_origin: str
    log_size: int
    leaf_index: int
    witnesses: tuple[str, ...] = ()
    """The names of the trusted witnesses that cosigned the checkpoint."""
    contents: ContentsReport | None = None
    """The messages that the file carries; None when it carries the seal alone."""


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The checks in the order of CHECK_NAMES; `verified` is there only when all of them held."""

    checks: tuple[Check, ...]
    verified: VerifiedSeal | None
    key_id: str | None = None
    """The key that the seal names, trusted or not; None when no seal could be read."""

    @property
    def ok(self) -> bool:
        """Whether every check held."""
        return self.verified is not None

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.ok)

    @property
    def only_the_key_is_unknown(self) -> bool:
        """Whether it failed for no other reason than a trust store without the sealer's key."""
        found = {check.status for check in self.failures}
        return CheckStatus.UNKNOWN_KEY in found and CheckStatus.FAILED not in found

    def to_json_value(self) -> dict[str, object]:
        """The JSON form, without the episode itself."""
        found = self.verified
        return {
            "ok": self.ok,
            "keyId": self.key_id,
            "checks": [
                {"name": c.name, "ok": c.ok, "status": c.status.value, "detail": c.detail}
                for c in self.checks
            ],
            "verified": found
            and {
                "hash": found.hash,
                "version": found.version,
                "previousHash": found.previous_hash,
                "sealedAt": found.sealed_at,
                "keyId": found.key_id,
                "sealedBy": found.sealed_by,
                "logOrigin": found.log_origin,
                "logSize": found.log_size,
                "leafIndex": found.leaf_index,
                "witnesses": list(found.witnesses),
                "contents": found.contents and found.contents.to_json_value(),
            },
        }


class _Run:
    """Collects the checks of one verification."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.checks: list[Check] = []

    def check(self, name: str, find: Callable[[], tuple[_T, str]]) -> _T | None:
        """What the check found, or None when it failed."""
        try:
            value, detail = find()
        except _UnknownKeyError as error:
            return self._failed(name, CheckStatus.UNKNOWN_KEY, str(error))
        except _NotCheckedError as error:
            return self._failed(name, CheckStatus.NOT_CHECKED, str(error))
        except SealError as error:
            return self._failed(name, CheckStatus.FAILED, str(error))
        # Fail closed on whatever input we did not think of: a verifier that dies has no verdict.
        except Exception as error:  # noqa: BLE001
            return self._failed(
                name, CheckStatus.FAILED, f"cannot be checked: {type(error).__name__}"
            )
        self.checks.append(Check(name, CheckStatus.HELD, detail))
        return value

    def _failed(self, name: str, status: CheckStatus, detail: str) -> None:
        self.checks.append(Check(name, status, detail))

    def skip_rest(self, reason: str) -> VerificationReport:
        for name in self.names[len(self.checks) :]:
            self._failed(name, CheckStatus.NOT_CHECKED, f"not checked: {reason}")
        return VerificationReport(tuple(self.checks), None)


def verify_bundle(
    data: bytes,
    trust: TrustStore,
    *,
    known: KnownHead | None = None,
    visit: Visit | None = None,
    complete: bool = False,
) -> VerificationReport:
    """Check a bundle file's bytes; never raises, whatever the bytes are.

    With a ``known`` head the bundle's checkpoint must be of the same, never rewritten log.
    """
    # Whatever else a caller brings along is no bundle.
    file = BytesIO(data if isinstance(data, bytes) else b"")  # pyright: ignore[reportUnnecessaryIsInstance]
    return verify_file(file, trust, known=known, visit=visit, complete=complete)


class Readable(Protocol):
    """A file, or anything else that is read line by line."""

    def readline(self, size: int, /) -> bytes:
        """The next line, or as much of it as that."""
        ...

    def read(self, size: int, /) -> bytes:
        """So many bytes, or all that are left."""
        ...


def verify_file(
    file: Readable,
    trust: TrustStore,
    *,
    known: KnownHead | None = None,
    visit: Visit | None = None,
    complete: bool = False,
) -> VerificationReport:
    """The same, read from a file as it goes: the messages it carries may be more than fit into memory.

    ``visit`` is handed every message that the file carries; believe none of them unless the report is ok.
    With ``complete`` the seal alone is not enough: every message must be carried, or signed as erased.
    """
    more = (
        *((_COMPLETE,) if complete else ()),
        *((_WITNESSES,) if trust.witnesses else ()),
        *((_CONSISTENCY,) if known is not None else ()),
    )
    run = _Run((*CHECK_NAMES, *more))
    bundle = run.check("bundle", lambda: _bundle(file))
    carries = bundle is not None and bundle.with_contents
    if carries:
        run.names = (*CHECK_NAMES, _CONTENTS, *more)
    if bundle is None:
        return run.skip_rest("the bundle cannot be read")
    sealed = bundle.sealed_episode

    seal = run.check("seal", lambda: _seal(sealed))
    if seal is None:
        return run.skip_rest("the seal cannot be read")
    sealed_at = parse_utc(seal.metadata.sealed_at)

    run.check("hash", lambda: _hash(sealed, seal))
    key = run.check("key", lambda: _key(seal, sealed_at, trust))
    run.check("signature", lambda: _signature(seal, key))
    checkpoint = run.check("checkpoint", lambda: _checkpoint(bundle.checkpoint, sealed_at, trust))
    run.check("inclusion", lambda: _inclusion(bundle, checkpoint, key))
    contents = None
    if carries:
        contents = run.check(_CONTENTS, lambda: _contents(bundle, file, trust, visit, key))
    if complete:
        run.check(_COMPLETE, lambda: _complete(bundle, contents))
    cosigned: Sequence[Cosignature] | None = ()
    if trust.witnesses:
        cosigned = run.check(
            _WITNESSES, lambda: _witnesses(bundle.checkpoint, checkpoint, sealed_at, trust)
        )
    if known is not None:
        run.check(_CONSISTENCY, lambda: _consistency(known, checkpoint, trust))

    checks = tuple(run.checks)
    if key is None or checkpoint is None or not all(check.ok for check in checks):
        return VerificationReport(checks, None, seal.metadata.key_id)
    verified = VerifiedSeal(
        sealed_episode=sealed,
        hash=seal.hash,
        version=seal.metadata.version,
        previous_hash=seal.metadata.previous_hash,
        sealed_at=seal.metadata.sealed_at,
        key_id=seal.metadata.key_id,
        sealed_by=key.name,
        log_origin=checkpoint.origin,
        log_size=checkpoint.size,
        leaf_index=bundle.leaf_index,
        witnesses=tuple(each.witness.name for each in cosigned or ()),
        contents=contents,
    )
    return VerificationReport(checks, verified, seal.metadata.key_id)


def _bundle(file: Readable) -> tuple[SealBundle, str]:
    """The first line; of a bundle that says that it is the seal alone that is all there may be."""
    line = file.readline(MAX_BUNDLE_SIZE + 1)
    try:
        bundle = SealBundle.from_bytes(line)
    except BundleError:
        # What is wrong with a file that is laid out otherwise is said of all of it.
        SealBundle.from_bytes(line + file.read(MAX_BUNDLE_SIZE + 1 - len(line)))
        raise
    if not bundle.with_contents and file.read(1):
        raise BundleError("something follows a bundle that says that it is the seal alone")
    return bundle, f"{len(line)} bytes"


def _parts(file: Readable) -> Iterator[bytes]:
    while line := file.readline(MAX_PART_SIZE + 2):
        if not line.endswith(b"\n"):
            raise BundleError("the file ends within a part, or a part is too long: it was cut")
        yield line[:-1]


def _contents(
    bundle: SealBundle,
    file: Readable,
    trust: TrustStore,
    visit: Visit | None,
    key: VerifyingKey | None,
) -> tuple[ContentsReport, str]:
    origin = None if key is None else key.name
    try:
        found = check_contents(bundle.sealed_episode, _parts(file), trust, visit, origin=origin)
    except UnknownSignerError as error:
        raise _UnknownKeyError(f"an erasure: {error}") from error
    told = f"{found.count} messages, each under its root"
    if found.erased:
        told += f"; {found.erased} of them erased"
        told += "".join(
            f"; {each.name}: {each.erased} of {each.count}" for each in found.strands if each.erased
        )
    return found, told


def _complete(bundle: SealBundle, contents: ContentsReport | None) -> tuple[None, str]:
    if not bundle.with_contents:
        raise BundleError("the file is the seal alone: it carries no messages")
    if contents is None:
        raise _NotCheckedError("not checked: the contents do not hold")
    return None, "every message is carried, or signed as erased"


def verify_seal(sealed: Mapping[str, object], trust: TrustStore) -> Seal:
    """The seal of an episode that holds with this trust store; raises SealError when it does not."""
    seal, _ = _seal(sealed)
    _hash(sealed, seal)
    key, _ = _key(seal, parse_utc(seal.metadata.sealed_at), trust)
    _signature(seal, key)
    return seal


def _seal(sealed: Mapping[str, object]) -> tuple[Seal, str]:
    seal = Seal.of(sealed)
    return seal, f"version {seal.metadata.version}, sealed at {seal.metadata.sealed_at}"


def _hash(sealed: Mapping[str, object], seal: Seal) -> tuple[str, str]:
    computed = seal_hash(sealed, seal.metadata)
    if computed != seal.hash:
        raise SealError(
            f"the seal says {seal.hash}, the episode and its seal hash to {computed};"
            " the episode or the seal was changed after sealing"
        )
    return computed, computed


def _key(seal: Seal, sealed_at: datetime, trust: TrustStore) -> tuple[VerifyingKey, str]:
    trusted = trust.by_id(seal.metadata.key_id)
    if trusted is None:
        raise _UnknownKeyError(f"the trust store does not hold the key {seal.metadata.key_id}")
    problem = trusted.problem_at(sealed_at)
    if problem is not None:
        raise SealError(
            f"the key {trusted.key.name} {problem}; the seal is of {seal.metadata.sealed_at}"
        )
    return trusted.key, f"{trusted.key.name} ({trusted.key.key_id})"


def _signature(seal: Seal, key: VerifyingKey | None) -> tuple[None, str]:
    if key is None:
        raise _NotCheckedError("not checked: no trusted key")
    if not key.verifies(seal.signature, signed_envelope(seal.metadata.key_id, seal.hash)):
        raise SealError(f"the signature over the seal was not made with the key {key.name}")
    return None, f"Ed25519 by {key.name}"


def _checkpoint(note: str, sealed_at: datetime, trust: TrustStore) -> tuple[Checkpoint, str]:
    checkpoint, signer = checkpoint_since(note, sealed_at, trust)
    return checkpoint, f"{checkpoint.origin}, {checkpoint.size} leaves, signed by {signer.name}"


def checkpoint_since(
    note: str, sealed_at: datetime, trust: TrustStore
) -> tuple[Checkpoint, VerifyingKey]:
    """The checkpoint over something sealed at that time, and its signer; raises SealError unless one may have been."""
    # A checkpoint carries no time, but it is younger than the seals under it: a key that had
    # retired by then cannot have signed it, while a newer key may well have.
    refused = {t.key.name: p for t in trust.keys if (p := t.problem_after(sealed_at))}
    usable = [t.key for t in trust.keys if t.problem_after(sealed_at) is None]
    try:
        return verify_checkpoint(note, usable)
    except SealError as error:
        hints = "".join(f"; the key {name} {problem}" for name, problem in refused.items())
        # A signer that the store holds and refuses is not unknown.
        unknown = isinstance(error, UnknownSignerError) and not any(
            signature.key_name in refused for signature in parse_note(note).signatures
        )
        raise (_UnknownKeyError if unknown else SealError)(f"{error}{hints}") from error


def _inclusion(
    bundle: SealBundle, checkpoint: Checkpoint | None, key: VerifyingKey | None
) -> tuple[None, str]:
    if checkpoint is None:
        raise _NotCheckedError("not checked: no trusted checkpoint")
    if key is not None and key.name != checkpoint.origin:
        raise SealError(
            f"{key.name} sealed the episode, and {checkpoint.origin} says that it holds it: a key of"
            " another log; ask for a bundle from its own"
        )
    if bundle.leaf_index >= checkpoint.size:
        raise SealError(
            f"leaf {bundle.leaf_index} is beyond the checkpoint's {checkpoint.size} leaves;"
            " the log was cut or the checkpoint is older than the seal"
        )
    leaf = leaf_data(bundle.sealed_episode)
    if not verify_inclusion(
        leaf, bundle.leaf_index, checkpoint.size, bundle.inclusion_proof, checkpoint.root
    ):
        raise SealError(
            f"the proof does not lead from the episode as leaf {bundle.leaf_index} to the"
            f" checkpoint's root; the log does not hold this episode there"
        )
    return None, f"leaf {bundle.leaf_index} of {checkpoint.size}"


def _witnesses(
    note: str, checkpoint: Checkpoint | None, sealed_at: datetime, trust: TrustStore
) -> tuple[tuple[Cosignature, ...], str]:
    if checkpoint is None:
        raise _NotCheckedError("not checked: no trusted checkpoint")
    held, refused = count_witnesses(note, trust, sealed_at)
    told = (
        f"{len(held)} of {len(trust.witnesses)} witnesses cosigned, {trust.witnesses_needed} needed"
    )
    told += "".join(f"; {each.witness.name} at {each.time}" for each in held)
    told += "".join(f"; {problem}" for problem in refused)
    if len(held) < trust.witnesses_needed:
        raise SealError(f"{told}; ask for a bundle with a cosigned checkpoint")
    return held, told


def count_witnesses(
    note: str, trust: TrustStore, not_before: datetime | None = None
) -> tuple[tuple[Cosignature, ...], tuple[str, ...]]:
    """The cosignatures of trusted witnesses on a checkpoint, and why others do not count."""
    held: list[Cosignature] = []
    refused: list[str] = []
    for trusted in trust.witnesses:
        for found in cosignatures(note, [trusted.key]):
            problem = trusted.problem_at(found.instant)
            # Cosignatures count whole seconds.
            if problem is None and not_before and found.time < int(not_before.timestamp()):
                problem = "cosigned before the episode was sealed"
            if problem is None:
                held.append(found)
            else:
                refused.append(f"the witness {trusted.key.name} {problem}")
    return tuple(held), tuple(refused)


def _consistency(
    known: KnownHead, checkpoint: Checkpoint | None, trust: TrustStore
) -> tuple[None, str]:
    head = read_known_head(known.checkpoint, trust)
    if checkpoint is None:
        raise _NotCheckedError("not checked: no trusted checkpoint")
    return None, check_consistent(head, checkpoint, known.proof)


def read_known_head(note: str, trust: TrustStore) -> Checkpoint:
    """A checkpoint that somebody kept, if a key of the trust store signed it that was not revoked."""
    usable = [trusted.key for trusted in trust.keys if not trusted.revoked]
    try:
        return verify_checkpoint(note, usable)[0]
    except UnknownSignerError as error:
        raise _UnknownKeyError(f"the known checkpoint: {error}") from error
    except SealError as error:
        raise SealError(f"the known checkpoint can't be used: {error}") from error
