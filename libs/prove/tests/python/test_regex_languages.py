"""Python's regular expressions become languages that hold exactly the strings that Python matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_ir.regexes import full_match
from lictor_prove.python.operations.regex_languages import language
from lictor_prove.python.refusals import SubsetRefusal

PATTERNS = (
    "",
    "a",
    "abc",
    "a|b",
    "^a|b$",
    "^(a|b)$",
    "(^a)",
    "a*",
    "a+?b",
    "(ab){2,3}",
    "[a-c]x?",
    "[^ab]",
    "[^\\n]",
    ".",
    ".*",
    "a.b",
    "\\d+",
    "\\D",
    "\\s*x",
    "\\S+",
    "[\\d_]",
    "[\\Da]",
    "a$",
    "a\\Z",
    "^a",
    "\\Aa",
    "a$|b",
    "(?:a|bc)*",
    "(a)(b)?",
    "(?P<x>a)b",
    "x{0}",
    "a{,2}",
    "\\.",
    "[]]",
    "é",
    "[à-ü]+",
    "(|a)b",
    "$",
    "^$",
    "^",
    "a|",
)
TEXTS = (
    *("", "a", "b", "ab", "a\n", "\n", "a\nb", "abc", "bc", "x"),
    *("٣", "42", " x", "a.b", "é", "]", "_", "aab", "ababab"),
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("how", ["match", "fullmatch", "search"])
def test_language_is_what_python_matches(pattern: str, how: str) -> None:
    regex = language(pattern, how)
    for text in TEXTS:
        assert full_match(regex, text) == (getattr(re, how)(pattern, text) is not None), text


@given(
    st.sampled_from(PATTERNS),
    st.sampled_from(["match", "fullmatch", "search"]),
    st.text("ab\ncx.é٣ 1", max_size=8),
)
def test_language_is_what_python_matches_in_any_text(pattern: str, how: str, text: str) -> None:
    assert full_match(language(pattern, how), text) == (getattr(re, how)(pattern, text) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "\\w",
        "\\W",
        "[^\\D]",
        "\\bx",
        "a^b",
        "a$b",
        "(a$)b",
        "(?i)a",
        "(?i:a)",
        "(?a)\\d",
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(a)\\1",
        "(a)?(?(1)b|c)",
        "a{2000}",
        "a" * 2000,
        "\U00030000",
        "(?>a)",
        "a*+",
        "(?x) a",
    ],
)
def test_what_is_not_regular_is_refused(pattern: str) -> None:
    with pytest.raises(SubsetRefusal):
        language(pattern, "match")
