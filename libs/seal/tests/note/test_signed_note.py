"""Signed notes: vectors from other implementations, and what must be refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_seal import (
    NoteError,
    SigningKey,
    VerifyingKey,
    format_verifier_key,
    parse_note,
    parse_verifier_key,
    sign_note,
    verify_note,
)
from lictor_seal.note.signed_note import MAX_NOTE_SIZE, MAX_SIGNATURES

# The example in the documentation of Go's golang.org/x/mod/sumdb/note.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngo"
    "tpRZb6KE6RyyBwJnAM=\n"
)


def test_a_note_signed_by_go_verifies() -> None:
    verified = verify_note(parse_note(GO_NOTE), [parse_verifier_key(GO_KEY)])
    assert verified.text.endswith("your problem is.\n")
    assert [signer.name for signer in verified.signers] == ["PeterNeumann"]


def test_a_verifier_key_survives_its_text_form() -> None:
    assert format_verifier_key(parse_verifier_key(GO_KEY)) == GO_KEY


@given(st.binary(min_size=32, max_size=32))
def test_every_key_survives_its_text_form(seed: bytes) -> None:
    key = SigningKey.from_seed("example.org/log", seed).verifying_key
    assert parse_verifier_key(format_verifier_key(key)) == key


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected name"),
        ("PeterNeumann", "expected name"),
        (GO_KEY.replace("c74f20a3", "c74f20a4"), "does not belong"),
        (GO_KEY.replace("Peter", "Petra"), "does not belong"),
        (GO_KEY.replace("+ARpc", "+BBpc"), "not of type Ed25519"),
        (GO_KEY[:-4], "has 32"),
        (GO_KEY + "=", "Base64"),
        ("+c74f20a3+" + GO_KEY.rpartition("+")[2], "is empty"),
    ],
)
def test_a_wrong_verifier_key_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(NoteError, match=reason):
        parse_verifier_key(text)


def test_text_with_empty_lines_is_signed_whole(key: SigningKey) -> None:
    text = "first\n\n\u2014 not a signature\n\nlast\n"
    note = sign_note(text, key)
    assert verify_note(parse_note(note), [key.verifying_key]).text == text


def test_signatures_by_unknown_keys_are_ignored_and_counted(
    key: SigningKey, stranger: SigningKey
) -> None:
    note = sign_note("text\n", key)
    foreign_line = sign_note("text\n", stranger).rpartition("\n\n")[2]
    verified = verify_note(parse_note(note + foreign_line), [key.verifying_key])
    assert (verified.signers, verified.ignored) == ((key.verifying_key,), 1)


def test_a_note_signed_by_strangers_only_is_refused(key: SigningKey, stranger: SigningKey) -> None:
    with pytest.raises(NoteError, match="no trusted key"):
        verify_note(parse_note(sign_note("text\n", stranger)), [key.verifying_key])


def test_one_wrong_signature_by_a_known_key_spoils_the_note(
    key: SigningKey, stranger: SigningKey
) -> None:
    good = sign_note("text\n", key)
    wrong_line = sign_note("other text\n", stranger).rpartition("\n\n")[2]
    with pytest.raises(NoteError, match="does not hold"):
        verify_note(parse_note(good + wrong_line), [key.verifying_key, stranger.verifying_key])


def test_a_key_with_the_right_name_and_hash_but_other_bytes_does_not_verify(
    key: SigningKey, monkeypatch: pytest.MonkeyPatch, stranger: SigningKey
) -> None:
    # Four bytes are cheap to collide; here the collision is made by force.
    monkeypatch.setattr("lictor_seal.note.signed_note.key_hash", lambda _key: b"same")
    note = parse_note(sign_note("text\n", stranger))
    with pytest.raises(NoteError, match="does not hold"):
        verify_note(note, [key.verifying_key])
    both: list[VerifyingKey] = [key.verifying_key, stranger.verifying_key]
    assert verify_note(note, both).signers == (stranger.verifying_key,)


def test_a_second_signature_by_the_same_key_is_refused(key: SigningKey) -> None:
    note = sign_note("text\n", key)
    with pytest.raises(NoteError, match="two signatures by the same key"):
        parse_note(note + note.rpartition("\n\n")[2])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda note: note[:-1], "end with a newline"),
        (lambda note: note.replace("\n", "\r\n"), "control character"),
        (lambda note: note.replace("text", "te\tt"), "control character"),
        (lambda note: note.replace("text", "te\ud800"), "lone surrogate"),
        (lambda note: note.replace("\n\n", "\n"), "no signatures"),
        (lambda note: note + "\n", "no signatures"),
        (lambda note: note.replace("\u2014", "-"), "em dash"),
        (lambda note: note.replace("example.org/", "example.org/ "), "Base64"),
        (lambda note: note.replace("example.org/", "example.org/+"), "plus sign"),
        (lambda note: note.replace("example.org/", "example.org/\u00a0"), "space"),
        (lambda note: note.replace("\u2014 ", "\u2014  "), "is empty"),
        (lambda note: note.replace("=\n", "\n"), "Base64"),
        (lambda note: note[:-40] + "\n", "Base64"),
        (lambda _note: "text\n\n\u2014 name AAAA\n", "too short"),
        (lambda _note: "", "newline"),
        (lambda note: "x" * MAX_NOTE_SIZE + note, "longer than"),
        (lambda note: note + "\u2014 a AAAAAAA=\n" * MAX_SIGNATURES, "at most"),
    ],
)
def test_a_malformed_note_is_refused_with_the_reason(change, reason, key: SigningKey) -> None:
    with pytest.raises(NoteError, match=reason):
        parse_note(change(sign_note("text\n", key)))


@pytest.mark.parametrize("text", ["", "no newline", "tab\t\n", "\ud800\n"])
def test_text_that_no_note_can_carry_is_not_signed(text: str, key: SigningKey) -> None:
    with pytest.raises(NoteError, match="the text of a note"):
        sign_note(text, key)


def test_sixteen_cosignatures_are_accepted(key: SigningKey) -> None:
    note = sign_note("text\n", key)
    for number in range(16):
        witness = SigningKey.from_seed(f"witness-{number}.example", bytes([number]) * 32)
        note += sign_note("text\n", witness).rpartition("\n\n")[2]
    assert verify_note(parse_note(note), [key.verifying_key]).ignored == 16
