"""Checkpoints: the published form, and whose signature counts."""

import pytest

from lictor_seal import (
    EMPTY_ROOT,
    Checkpoint,
    CheckpointError,
    Frontier,
    NoteError,
    SigningKey,
    parse_checkpoint_text,
    parse_note,
    sign_checkpoint,
    sign_note,
    verify_checkpoint,
)

# The example in C2SP tlog-checkpoint.
C2SP_NOTE = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zh"
    "cyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
)
ROOT_TEXT = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="


def test_the_published_example_is_read_and_written_back() -> None:
    text = parse_note(C2SP_NOTE).text
    checkpoint = parse_checkpoint_text(text)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20852163)
    assert checkpoint.to_text() == text


def test_an_empty_log_has_a_checkpoint_too(key: SigningKey) -> None:
    note = sign_checkpoint(Checkpoint.of(key.name, Frontier()), key)
    checkpoint, signer = verify_checkpoint(note, [key.verifying_key])
    assert (checkpoint.size, checkpoint.root, signer) == (0, EMPTY_ROOT, key.verifying_key)


def test_extension_lines_are_kept() -> None:
    checkpoint = parse_checkpoint_text(f"log\n1\n{ROOT_TEXT}\nextra one\nextra two\n")
    assert checkpoint.extensions == ("extra one", "extra two")
    assert parse_checkpoint_text(checkpoint.to_text()) == checkpoint


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "newline"),
        ("log\n1\n", "three non-empty lines"),
        (f"\n1\n{ROOT_TEXT}\n", "non-empty"),
        (f"log\n1\n{ROOT_TEXT}\n\n", "non-empty"),
        (f"log\n01\n{ROOT_TEXT}\n", "decimal"),
        (f"log\n-1\n{ROOT_TEXT}\n", "decimal"),
        (f"log\n+1\n{ROOT_TEXT}\n", "decimal"),
        (f"log\n\u0661\n{ROOT_TEXT}\n", "decimal"),
        (f"log\n1_0\n{ROOT_TEXT}\n", "decimal"),
        (f"log\n{'9' * 5000}\n{ROOT_TEXT}\n", "decimal"),
        (f"log\n{2**53}\n{ROOT_TEXT}\n", "size"),
        (f"log\n1\n{ROOT_TEXT[:-1]}\n", "Base64"),
        (f"log\n1\n{ROOT_TEXT.replace('I=', 'J=')}\n", "canonical Base64"),
        ("log\n1\nAAAA\n", "3 bytes"),
        (f"log\n1\n{ROOT_TEXT}", "newline"),
    ],
)
def test_text_that_is_no_checkpoint_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(CheckpointError, match=reason):
        parse_checkpoint_text(text)


def test_a_log_signs_only_with_a_key_of_its_own_name(key: SigningKey) -> None:
    with pytest.raises(CheckpointError, match="a key of its own name"):
        sign_checkpoint(Checkpoint("example.org/other", 0, EMPTY_ROOT), key)


def test_a_trusted_key_of_another_log_does_not_vouch_for_this_one(key: SigningKey) -> None:
    foreign = sign_note(Checkpoint("example.org/other", 0, EMPTY_ROOT).to_text(), key)
    with pytest.raises(CheckpointError, match="own name"):
        verify_checkpoint(foreign, [key.verifying_key])


def test_a_checkpoint_by_a_namesake_of_the_trusted_key_is_refused(
    key: SigningKey, stranger: SigningKey
) -> None:
    note = sign_checkpoint(Checkpoint(stranger.name, 0, EMPTY_ROOT), stranger)
    with pytest.raises(NoteError, match="no trusted key"):
        verify_checkpoint(note, [key.verifying_key])
