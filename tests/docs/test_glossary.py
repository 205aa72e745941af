"""The glossary is whole, and each noun is found by its name in every layer that it has."""

from __future__ import annotations

import re

import pytest
from glossary_table import COLUMNS, GLOSSARY, PAGE, SECOND_MEANINGS, holds, nouns, where
from page_tables import with_tables

TEXT = PAGE.read_text("utf-8")
# Through all layers, by the same word.
WHOLE = ("patch", "session", "approval", "release", "drift")
# The verb that makes a release is `lictor pack publish`, and verbs don't change.
ELSEWHERE = {("release", "command")}


def test_the_table_is_that_of_the_tree() -> None:
    assert with_tables(TEXT, GLOSSARY) == TEXT, "docs/glossary.md is stale: run ./taskw docs"


def test_every_noun_has_one_sentence() -> None:
    assert len(nouns()) == len(set(nouns()))
    for noun in nouns():
        (sentence,) = re.findall(rf"^\| {re.escape(noun)} \| ([^|]+) \|$", TEXT, re.MULTILINE)
        assert len(sentence.split()) > 3, noun
        assert "." not in re.sub(r"\([^)]*\)", "", sentence), f"{noun}: one sentence"


@pytest.mark.parametrize("noun", WHOLE)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_noun_is_found_by_its_name_in_every_layer(noun: str, column: str) -> None:
    found = where(noun)[column]
    if (noun, column) in ELSEWHERE:
        assert not found, f"{noun} has a {column} now: take it out of ELSEWHERE"
    else:
        assert found, f"no {column} is called {noun}"


@pytest.mark.parametrize("noun", SECOND_MEANINGS)
def test_a_second_meaning_is_listed_only_as_long_as_there_is_one(
    noun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = where(noun)
    monkeypatch.delitem(SECOND_MEANINGS, noun)
    assert where(noun) != without, f"{noun} has one meaning now: take it out of SECOND_MEANINGS"


def test_names_are_compared_word_by_word() -> None:
    assert holds("patch_settlements", "patch")
    assert holds("pack-releases", "release")
    assert not holds("dispatch", "patch")
    assert not holds("running", "run")
