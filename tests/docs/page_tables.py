"""Tables in the documentation that are written from the code: `./taskw docs`. Tests compare the pages with them.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
NONE = "\N{EN DASH}"
"""What stands in a cell with nothing in it."""

Row = Sequence[str]
Tables = Mapping[str, Callable[[], str]]
_TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(heads: Row, rows: Iterable[Row]) -> str:
    """Rows in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_tables(text: str, tables: Tables) -> str:
    """A page with each of its tables as the code has it."""
    return _TABLE.sub(lambda it: f"{it[1]}{tables[it[2]]()}\n{it[3]}", text)


def tables_in(text: str) -> list[str]:
    """The names of a page's tables."""
    return [it[2] for it in _TABLE.finditer(text)]


def distributions() -> list[Path]:
    """The folders of our distributions."""
    found = [*ROOT.glob("libs/*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml")]
    return sorted(path.parent for path in found)


def packages_in(folder: Path) -> list[Path]:
    """The packages that a distribution ships."""
    return sorted(path.parent for path in folder.glob("lictor*/__init__.py"))


def main() -> None:
    from architecture_tables import ARCHITECTURE
    from glossary_table import GLOSSARY
    from subset_table import SUBSET

    for page, tables in (
        ("architecture", ARCHITECTURE),
        ("glossary", GLOSSARY),
        ("python-subset", SUBSET),
    ):
        path = ROOT / f"docs/{page}.md"
        path.write_text(with_tables(path.read_text("utf-8"), tables), "utf-8")


if __name__ == "__main__":
    main()
