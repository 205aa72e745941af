"""The threat model of SECURITY.md: every cell names tests, and every test that it names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
TABLE = PAGE[PAGE.index("| who | can |") : PAGE.index("## What is left")]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.strip().splitlines()[2:]]
NAMED = re.compile(r"`([\w/-]+\.py)::(test_\w+)`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_cell_names_tests_that_are_there(row: list[str]) -> None:
    _, can, can_not = row
    for cell in (can, can_not):
        named = NAMED.findall(cell)
        assert named, cell
        for path, name in named:
            text = (ROOT / path).read_text("utf-8")
            assert re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), f"{path}::{name}"
