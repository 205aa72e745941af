"""The documentation says what is there: links, tasks, settings, defaults and metrics are compared with the code."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from lictor_bus.service.settings import ServiceSettings
from lictor_cli.groups import GROUPS
from lictor_cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
OPERATIONS = ROOT / "docs/operations.md"
TELEMETRY = ROOT / "libs/bus/lictor_bus/service/telemetry.py"

# Where settings are read. Tests set them, and this file must not count as a place that knows one.
CODE = [
    ROOT / "taskw",
    ROOT / "conftest.py",
    *sorted((ROOT / "libs").glob("*/lictor*/**/*.py")),
    *sorted((ROOT / "services").glob("*/lictor*/**/*.py")),
    *sorted((ROOT / "bench").glob("*.py")),
]
SETTING = re.compile(r"\bLICTOR_[A-Z]+(?:_[A-Z]+)*\b")
# What pages tell a reader to make, or make up.
TO_BE_MADE = {
    "deploy/secrets",
    "services/notifier",
    "notices.py",
    "a.py",
}
SOURCES = {
    path.name
    for part in ("libs", "services", "tests", "bench", "examples")
    for path in (ROOT / part).rglob("*.py")
}


def label(page: Path) -> str:
    return str(page.relative_to(ROOT))


def settings(files: list[Path]) -> set[str]:
    return {name for path in files for name in SETTING.findall(path.read_text("utf-8"))}


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def tables(page: Path) -> list[list[str]]:
    """The lines of each table: what stands between lines that are no row."""
    found: list[list[str]] = [[]]
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("|"):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [rows for rows in found if rows]


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_every_row_stands_in_a_table_and_once(page: Path) -> None:
    for rows in tables(page):
        assert re.fullmatch(r"[|\s:-]+", "".join(rows[1:2])), f"a row without a table: {rows[0]}"
        assert len(rows) == len(set(rows))


@pytest.mark.parametrize("page", sorted((ROOT / "docs/cli").glob("*.md")), ids=label)
def test_every_command_has_one_row(page: Path) -> None:
    """Up to its options: a row of an older form tells of others."""
    for rows in tables(page):
        firsts = (row.split("|")[1].split("[--")[0].replace("`", "").strip() for row in rows)
        commands = [first for first in firsts if first.startswith("lictor ")]
        assert len(commands) == len(set(commands)), commands


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), f"{label(page)} links to {target}, which is not there"
        assert not anchor or anchor in headings(found), f"{label(page)}: no heading for {target}"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_every_file_that_is_named_exists(page: Path) -> None:
    inline = re.findall(r"`((?:libs|services|tests|bench|deploy|examples)/[\w./-]+)`", _told(page))
    for name in set(inline) - TO_BE_MADE:
        assert (ROOT / name).exists(), f"{label(page)} names {name}, which is not there"
    for name in re.findall(r"`(?:[\w-]+/)*(\w+\.py)`", _told(page)):
        assert name in SOURCES | TO_BE_MADE, f"{label(page)} names {name}, and no file is called so"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_every_module_that_is_named_exists(page: Path) -> None:
    for name in re.findall(r"`(lictor_\w+(?:\.\w+)+)(?::[\w.]+)?`", _told(page)):
        if f"services/{name.split('.')[0].removeprefix('lictor_')}" not in TO_BE_MADE:
            assert _leads_somewhere(name), f"{label(page)} names {name}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_every_task_that_is_named_exists(page: Path) -> None:
    tasks = set(yaml.safe_load((ROOT / "Taskfile.yml").read_text("utf-8"))["tasks"])
    for name in re.findall(r"\./taskw ([a-z][\w-]*)", page.read_text("utf-8")):
        assert name in tasks, f"{label(page)} names ./taskw {name}, which is no task"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_every_command_that_is_named_exists(page: Path) -> None:
    for name in re.findall(r"(?:`|\$ )lictor ([a-z]+)", page.read_text("utf-8")):
        assert name in COMMANDS, f"{label(page)} names lictor {name}, which is no command"
    for noun, (_, verbs) in GROUPS.items():
        named = rf"(?:`|\$ )lictor {noun} ([a-z][a-z-]*)"
        for verb in re.findall(named, page.read_text("utf-8")):
            assert verb in verbs, f"{label(page)} names lictor {noun} {verb}, which is no command"


def test_the_settings_in_the_docs_are_those_in_the_code() -> None:
    assert settings(PAGES) == settings(CODE)


def test_the_defaults_in_operations_are_those_in_the_code() -> None:
    told = dict(
        re.findall(r"^\| `LICTOR_(\w+)` \| `?([^|`]+?)`? \|", OPERATIONS.read_text(), re.MULTILINE)
    )
    for setting in fields(ServiceSettings):
        default = "off" if setting.default is None else str(setting.default)
        assert told[setting.name.upper()] == default, setting.name


def test_the_metrics_in_operations_are_those_in_the_code() -> None:
    made = re.findall(
        r"create_(?:observable_)?(?:counter|gauge|histogram)\(\s*\"([\w.]+)\"",
        TELEMETRY.read_text("utf-8"),
    )
    section = OPERATIONS.read_text("utf-8").partition("## Metrics")[2].partition("\n## ")[0]
    told = re.findall(r"^\| `(lictor\.[\w.]+)`", section, re.MULTILINE)
    assert sorted(told) == sorted(made)


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text("utf-8")
    for page in DOCS:
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "README.md" or f"({name})" in index, f"docs/README.md does not name {name}"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 180


def _told(page: Path) -> str:
    """A page without its longer examples, which may name files that a reader is to make."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def _leads_somewhere(name: str) -> bool:
    """Whether a dotted name is a module, or a name in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
