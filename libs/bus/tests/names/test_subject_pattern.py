"""One declaration gives the subject to publish on, the wildcards to listen to, and the address in a document."""

import pytest

from lictor_bus.names import subjects
from lictor_bus.names.subject_pattern import SubjectPattern

RECEIPT = SubjectPattern("lictor.rcpt.{status}.{task}.{record}")


def test_a_pattern_is_spelled_for_publishers_readers_and_documents() -> None:
    assert RECEIPT.at("done", "t", "r") == "lictor.rcpt.done.t.r"
    assert RECEIPT.any == "lictor.rcpt.*.*.*"
    assert RECEIPT.all == "lictor.rcpt.>"
    assert RECEIPT.prefix == "lictor.rcpt."
    assert RECEIPT.where(task="t") == "lictor.rcpt.*.t.*"
    assert RECEIPT.documented(status="done") == "lictor.rcpt.done.{task}.{record}"
    assert RECEIPT.place("task") == 3


def test_a_token_is_not_read_as_a_parameter() -> None:
    assert RECEIPT.where(task="{key}") == "lictor.rcpt.*.{key}.*"
    assert RECEIPT.documented(task="{key}") == "lictor.rcpt.{status}.{key}.{record}"
    assert RECEIPT.where(task=r"\\g<0>") == r"lictor.rcpt.*.\\g<0>.*"


def test_an_empty_token_is_a_token() -> None:
    assert RECEIPT.where(task="") == "lictor.rcpt.*..*"


def test_missing_and_unknown_parameters_are_refused() -> None:
    with pytest.raises(TypeError):
        RECEIPT.at("done", "t")
    with pytest.raises(TypeError):
        RECEIPT.at("done", "t", "r", "more")
    with pytest.raises(TypeError, match="has no session"):
        RECEIPT.where(session="s")
    with pytest.raises(TypeError, match="has no session"):
        RECEIPT.documented(session="s")


def test_no_two_declarations_are_the_same() -> None:
    declared = [each for each in vars(subjects).values() if isinstance(each, SubjectPattern)]
    assert len({each.pattern for each in declared}) == len(declared) > 40
