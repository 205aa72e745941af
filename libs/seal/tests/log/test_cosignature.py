"""Witnesses: what they sign, what they refuse, and how many a trust store asks for."""

import base64
import dataclasses
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from lictor_seal import (
    Checkpoint,
    ConsistencyProof,
    Frontier,
    NoteError,
    SealBundle,
    SigningKey,
    TrustedKey,
    TrustStore,
    WitnessRefusedError,
    consistency_proof,
    cosign,
    cosignatures,
    extend,
    sign_checkpoint,
    verify_bundle,
    witness_checkpoint,
)

WITNESS = SigningKey.from_seed("witness.example/w1", b"1" * 32)
SECOND = SigningKey.from_seed("witness.example/w2", b"2" * 32)
TIME = 1_780_000_000
LEAVES = [b"leaf %d" % number for number in range(20)]


def head(size: int, key: SigningKey, leaves: list[bytes] = LEAVES) -> str:
    return sign_checkpoint(Checkpoint.of(key.name, extend(Frontier(), leaves[:size])[0]), key)


def test_a_cosignature_is_the_one_that_the_specification_describes(key: SigningKey) -> None:
    note = cosign(head(5, key), WITNESS, TIME)
    text, _, signatures = note.rpartition("\n\n")
    line = signatures.splitlines()[-1]
    dash, name, encoded = line.split(" ")
    data = base64.b64decode(encoded)
    assert (dash, name) == ("\u2014", "witness.example/w1")
    public = WITNESS.verifying_key.public_bytes
    identity = hashlib.sha256(b"witness.example/w1\n\x04" + public).digest()[:4]
    assert data[:12] == identity + TIME.to_bytes(8, "big")
    Ed25519PublicKey.from_public_bytes(public).verify(
        data[12:], f"cosignature/v1\ntime {TIME}\n{text}\n".encode()
    )


def test_a_cosignature_leaves_the_log_s_own_signature_and_those_of_others(key: SigningKey) -> None:
    note = cosign(cosign(head(5, key), WITNESS, TIME), SECOND, TIME + 1)
    found = cosignatures(note, [WITNESS.verifying_key, SECOND.verifying_key])
    assert [(each.witness.name, each.time) for each in found] == [
        ("witness.example/w1", TIME),
        ("witness.example/w2", TIME + 1),
    ]
    assert note.startswith(head(5, key))


def test_a_newer_cosignature_takes_the_place_of_the_older(key: SigningKey) -> None:
    note = cosign(cosign(head(5, key), WITNESS, TIME), WITNESS, TIME + 9)
    assert [each.time for each in cosignatures(note, [WITNESS.verifying_key])] == [TIME + 9]


@pytest.mark.parametrize("part", ["time", "signature", "text"])
def test_a_changed_cosignature_does_not_hold(part: str, key: SigningKey) -> None:
    note = cosign(head(5, key), WITNESS, TIME)
    first, _, encoded = note.rstrip("\n").rpartition(" ")
    data = bytearray(base64.b64decode(encoded))
    data[{"time": 11, "signature": 40, "text": 40}[part]] ^= 1 if part != "text" else 0
    changed = f"{first} {base64.b64encode(data).decode()}\n"
    if part == "text":
        changed = changed.replace("\n5\n", "\n6\n")
    with pytest.raises(NoteError, match=r"cosignature of witness.example/w1 does not hold"):
        cosignatures(changed, [WITNESS.verifying_key])


def test_a_cosignature_of_a_wrong_form_does_not_hold(key: SigningKey) -> None:
    note = cosign(head(5, key), WITNESS, TIME)
    first, _, encoded = note.rstrip("\n").rpartition(" ")
    cut = base64.b64encode(base64.b64decode(encoded)[:-1]).decode()
    with pytest.raises(NoteError, match="not a time and a signature"):
        cosignatures(f"{first} {cut}\n", [WITNESS.verifying_key])


def test_a_log_s_plain_signature_is_no_cosignature(key: SigningKey) -> None:
    assert cosignatures(head(5, key), [key.verifying_key]) == ()


@pytest.mark.parametrize("time", [-1, 2**63])
def test_a_time_that_can_not_be_is_refused(time: int, key: SigningKey) -> None:
    with pytest.raises(NoteError, match="POSIX"):
        cosign(head(5, key), WITNESS, time)


class Witness:
    """A witness and what it has seen."""

    def __init__(self, key: SigningKey) -> None:
        self.log_key = key
        self.seen: str | None = None

    def take(self, note: str, proof: ConsistencyProof | None = None) -> str:
        cosigned = witness_checkpoint(
            note,
            seen=self.seen,
            proof=proof,
            log_keys=[self.log_key.verifying_key],
            witness=WITNESS,
            time=TIME,
        )
        self.seen = note
        return cosigned


def proof(old: int, new: int, leaves: list[bytes] = LEAVES) -> ConsistencyProof:
    return ConsistencyProof(old, consistency_proof(leaves[:new], old))


def test_a_witness_follows_a_log_that_only_grows(key: SigningKey) -> None:
    witness = Witness(key)
    witness.take(head(5, key))
    witness.take(head(12, key), proof(5, 12))
    witness.take(head(12, key))
    assert cosignatures(witness.take(head(20, key), proof(12, 20)), [WITNESS.verifying_key])


def test_a_witness_refuses_whatever_does_not_follow_from_what_it_saw(
    key: SigningKey, stranger: SigningKey
) -> None:
    witness = Witness(key)
    witness.take(head(12, key))
    forked = [*LEAVES[:3], b"fork", *LEAVES[4:]]
    other = SigningKey.from_seed("example.org/other", b"o" * 32)
    for note, given, reason in (
        (head(5, key), proof(5, 12), "was cut"),
        (head(12, key, forked), None, "two different trees"),
        (head(15, key, forked), proof(12, 15, forked), "rewritten or forked"),
        (head(15, key, forked), proof(12, 15), "rewritten or forked"),
        (head(15, key), None, "no proof"),
        (head(15, stranger), proof(12, 15), "no trusted key"),
        (head(15, other), proof(12, 15), "no trusted key"),
    ):
        with pytest.raises(WitnessRefusedError, match=reason):
            witness.take(note, given)


def trusting(key: SigningKey, *witnesses: TrustedKey, needed: int) -> TrustStore:
    return TrustStore((TrustedKey(key.verifying_key),), witnesses, needed)


def cosigned(bundle: SealBundle, *witnesses: SigningKey, time: int = TIME) -> bytes:
    note = bundle.checkpoint
    for witness in witnesses:
        note = cosign(note, witness, time)
    return dataclasses.replace(bundle, checkpoint=note).to_bytes()


BOTH = (TrustedKey(WITNESS.verifying_key), TrustedKey(SECOND.verifying_key))


def test_as_many_witnesses_as_the_trust_store_needs_must_have_cosigned(
    bundle: SealBundle, key: SigningKey
) -> None:
    for needed in (0, 1, 2):
        trust = trusting(key, *BOTH, needed=needed)
        for given in ((), (WITNESS,), (WITNESS, SECOND)):
            report = verify_bundle(cosigned(bundle, *given), trust)
            assert report.ok == (len(given) >= needed), report.failures
            if report.verified is not None:
                assert len(report.verified.witnesses) == len(given)


def test_two_of_two_by_one_key_fails(bundle: SealBundle, key: SigningKey) -> None:
    """Contract scenario 41: two of two by one key."""
    twice = SigningKey.from_seed("witness.example/w2", b"1" * 32)
    report = verify_bundle(cosigned(bundle, WITNESS, twice), trusting(key, *BOTH, needed=2))
    assert [check.name for check in report.failures] == ["witnesses"]
    assert "1 of 2 witnesses cosigned, 2 needed" in report.failures[0].detail


def test_a_witness_out_of_its_window_or_revoked_does_not_count(
    bundle: SealBundle, key: SigningKey
) -> None:
    public = WITNESS.verifying_key
    for witness, reason in (
        (TrustedKey(public, revoked=True), "is revoked"),
        (TrustedKey(public, not_after="2026-03-02T00:00:00.000Z"), "only until"),
        (TrustedKey(public, not_before="2100-01-01T00:00:00.000Z"), "only from"),
    ):
        report = verify_bundle(cosigned(bundle, WITNESS), trusting(key, witness, needed=1))
        assert reason in report.failures[0].detail


def test_a_cosignature_from_before_the_seal_does_not_count(
    bundle: SealBundle, key: SigningKey
) -> None:
    data = cosigned(bundle, WITNESS, time=1)
    report = verify_bundle(data, trusting(key, BOTH[0], needed=1))
    assert "before the episode was sealed" in report.failures[0].detail


def test_a_forged_cosignature_fails_even_where_none_is_needed(
    bundle: SealBundle, key: SigningKey
) -> None:
    data = cosigned(bundle, WITNESS).decode()
    other = cosigned(bundle, SECOND).decode()
    line, wrong = (text.split("w1 " if text is data else "w2 ")[1][:40] for text in (data, other))
    forged = data.replace(line[16:], wrong[16:]).encode()
    assert not verify_bundle(forged, trusting(key, BOTH[0], needed=0)).ok


def test_a_stranger_s_checkpoint_has_no_witnesses(bundle: SealBundle, stranger: SigningKey) -> None:
    report = verify_bundle(cosigned(bundle, WITNESS), trusting(stranger, *BOTH, needed=1))
    assert report.checks[-1].detail == "not checked: no trusted checkpoint"
