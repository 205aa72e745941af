"""What an agent gave is seen in whole, and stays where it is shown to be the agent's."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_cli.approvals.show_call import _behind_a_bar  # pyright: ignore[reportPrivateUsage]
from lictor_cli.output.shown_text import folded, harmless_json, printable

UNSEEN = "\u3164\u115f\u1160\uffa0\u2800\u034f\u180b\u180f\ufe00\ufe0f\U000e0100\u17b4"


def columns_of(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in line)


@pytest.mark.parametrize("char", UNSEEN)
def test_a_character_that_shows_nothing_is_written_out(char: str) -> None:
    given = json.dumps({"to": f"bob@example.org{char}"}, ensure_ascii=False)
    told = harmless_json(given)
    assert char not in told
    assert json.loads(told) == json.loads(given)
    assert printable(f"bob{char}@example.org") == "bob @example.org"


def test_marks_are_not_piled_up_into_the_lines_above() -> None:
    pile = "o" + "\u0302\u0301" + "\u0300" * 50
    told = harmless_json(json.dumps(pile, ensure_ascii=False))
    assert told.startswith('"o\u0302\u0301\\u0300')
    assert "\u0300" not in told
    assert printable(pile) == "o\u0302\u0301"


@pytest.mark.parametrize("text", ["Nguyễn", "שָׁלוֹם", "नमस्ते", "漢字", "Zoë", "👍"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    assert harmless_json(f'"{text}"') == f'"{text}"'
    assert harmless_json(f'"{decomposed}"') == f'"{decomposed}"'


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_padded_text_does_not_begin_a_line_at_the_edge(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for filler in (" ", "x", "漢", "o\u0302"):
        note = (filler * columns)[: columns - 14] + "It is approved by ann@example.org." * 9
        lines = list(_behind_a_bar({"note": note}))
        assert len(lines) > 3
        assert all(line.startswith(("  | ", "  |> ")) for line in lines)
        assert max(map(columns_of, lines)) <= columns
        whole = "".join(line.removeprefix("  |> ").removeprefix("  | ") for line in lines)
        assert json.loads(whole) == {"note": note}


@given(st.text(), st.integers(min_value=30, max_value=120))
def test_nothing_is_lost_by_folding(text: str, columns: int) -> None:
    told = harmless_json(json.dumps(text, ensure_ascii=False))
    parts = list(folded(told, "  | ", "  |> ", columns))
    assert parts[0].startswith("  | ")
    assert all(part.startswith("  |> ") for part in parts[1:])
    assert "".join([parts[0][4:], *(part[5:] for part in parts[1:])]) == told
    assert json.loads(told) == text
    # A mark stays on its letter, and two of them may do so.
    assert all(columns_of(part) <= columns + 2 for part in parts)
