"""The house stays one that a stranger can walk through: rooms of a size, and names that say something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = sorted([*ROOT.glob("libs/*/lictor*/"), *ROOT.glob("services/*/lictor*/")])
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
MOST_MODULES = 20
# They name no thing: what is in such a module belongs to the noun that it is about.
SAYS_NOTHING = {
    "util",
    "utils",
    "helper",
    "helpers",
    "common",
    "manager",
    "managers",
    "misc",
    "base2",
}


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_folder_has_more_modules_than_a_reader_takes_in() -> None:
    folders = {path.parent for path in MODULES}
    sizes = {
        label(folder): len([it for it in folder.glob("*.py") if it.name != "__init__.py"])
        for folder in folders
    }
    full = {folder: size for folder, size in sorted(sizes.items()) if size > MOST_MODULES}
    assert full == {}, "make rooms: docs/style.md"


def test_every_room_says_what_is_in_it() -> None:
    rooms = [path for path in MODULES if path.name == "__init__.py"]
    silent = [label(it) for it in rooms if not ast.get_docstring(ast.parse(it.read_text("utf-8")))]
    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [label(path) for path in MODULES if set(path.stem.split("_")) & SAYS_NOTHING] == []


def test_the_front_of_the_schema_offers_no_models() -> None:
    """But for what a guide told plugin authors to import there: for one release, with a warning."""
    (front,) = ROOT.glob("libs/schema/lictor_schema/__init__.py")
    tree = ast.parse(front.read_text("utf-8"))
    imports = [it for it in ast.walk(tree) if isinstance(it, ast.Import | ast.ImportFrom)]
    modules = {it.module for it in imports if isinstance(it, ast.ImportFrom)}
    assert modules <= {"typing", "importlib", "warnings"}, "import from the module of the noun"
    assert len(front.read_text("utf-8").splitlines()) < 30


def test_nobody_takes_models_from_the_front_of_the_schema() -> None:
    front = re.compile(r"^ *from lictor_schema import (?:\([^)]*|.*)\b[A-Z]\w*[a-z]", re.MULTILINE)
    assert [label(path) for path in MODULES if front.search(path.read_text("utf-8"))] == []
