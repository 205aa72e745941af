"""What fills a field and says nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_schema.core.placeholders import is_answer, names_something, says_not_yet, says_nothing

PLACEHOLDERS = [
    "to be determined",
    "to be decided",
    "not applicable",
    "idk",
    "TBD",
    "T.B.D.",
    "[tbd]",
    "(tba)",
    "tbc",
    "n/a",
    "N / A",
    "n.a.",
    "n\u2215a",
    "To-Be-Determined!",
    "to_be_decided",
    "TO BE DETERMINED…",
    "to be determined later",
    "still to be decided",
    "currently unknown",
    "n/a at this time",
    "tbd tbd tbd",
    "TBD / to be decided",
    "tbd: unknown",
    "I don't know",
    "i don\u2019t know yet",
    "dunno",
    "no idea",
    "not sure yet",
    "unclear",
    "undecided",
    "todo",
    "???",
    "-",
    "…",
    "   ",
    "\u200b",
    "\u3164",
    "\uff34\uff22\uff24",
    "\uff2e\uff0f\uff21",
    "t\u200bb\u200bd",
    "\u0422\u0412D",
    "tbd\u00ad",
    "lorem ipsum dolor sit amet, consectetur",
    "Lorem",
    "xxx",
    "<placeholder>",
    "null",
]
ANSWERS = [
    "half done",
    "the first table",
    "in 20 minutes",
    "no",
    "none",
    "nothing",
    "42",
    "da",
    "нет",
    "完了",
    "ask Idko",
    "TBD was resolved: we use Postgres",
    "decide whether the unknown column can go",
    "n/a for staging, done for production",
    "foo.py is migrated",
    "whatever was to be determined is determined",
]


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_placeholder_is_no_answer(text: str) -> None:
    assert not is_answer(text)
    assert says_nothing(text)


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_placeholder_is_no_name(text: str) -> None:
    assert not names_something(text)


@pytest.mark.parametrize("text", ["X", "#bar", "Nan", "@sample", "chat-1", "-1001234567"])
def test_names_that_would_be_no_answers_are_names(text: str) -> None:
    assert names_something(text)


@pytest.mark.parametrize("text", ["x", "foo bar", "the sample", "dummy"])
def test_what_is_only_a_name_answers_nothing(text: str) -> None:
    assert not is_answer(text)
    assert says_nothing(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_one(text: str) -> None:
    assert is_answer(text)


@pytest.mark.parametrize("text", ["none", "Nothing.", "no changes", "none yet", "Nothing so far!"])
def test_that_there_is_nothing_is_an_answer_that_says_nothing(text: str) -> None:
    assert is_answer(text)
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["none yet", "Nothing yet.", "not yet", "none so far"])
def test_nothing_yet_is_known_as_that(text: str) -> None:
    assert says_not_yet(text)
    assert not says_not_yet("the second table")


@given(
    st.sampled_from(["tbd", "to be determined", "not applicable", "idk"]),
    st.text(st.sampled_from(" .!?-_…()[]*\u200b\u00a0\t")),
    st.text(st.sampled_from(" .!?-_…()[]*\u200b\u00a0\t")),
    st.booleans(),
)
def test_case_and_punctuation_make_no_answer_of_a_placeholder(
    text: str, before: str, after: str, upper: bool
) -> None:
    assert not is_answer(before + (text.upper() if upper else text) + after)


@given(st.text())
def test_any_text_can_be_asked_about(text: str) -> None:
    assert is_answer(text) or says_nothing(text)
