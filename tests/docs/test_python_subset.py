"""The page of the subset lists the attributes that the front-end knows."""

from __future__ import annotations

from page_tables import ROOT, tables_in, with_tables
from subset_table import SUBSET

TEXT = (ROOT / "docs/python-subset.md").read_text("utf-8")


def test_the_attributes_are_those_of_the_front_end() -> None:
    assert tables_in(TEXT) == list(SUBSET)
    assert with_tables(TEXT, SUBSET) == TEXT, "docs/python-subset.md is stale: run ./taskw docs"
