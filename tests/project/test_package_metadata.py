"""What every distribution says about itself, and what helps those who carry on; new packages are held to it too."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from trove_classifiers import classifiers as known_classifiers

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = sorted(
    path.parent for part in ("libs", "services") for path in ROOT.glob(f"{part}/*/pyproject.toml")
)
every_distribution = pytest.mark.parametrize("folder", DISTRIBUTIONS, ids=lambda it: it.name)


@cache
def configuration(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))


def project(folder: Path) -> dict[str, Any]:
    return configuration(folder)["project"]


@every_distribution
def test_a_distribution_ships_every_package_of_its_folder_with_its_types(folder: Path) -> None:
    packages = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    shipped = configuration(folder)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(shipped) == [name for name in packages if name != "tests"]
    for name in shipped:
        assert (folder / name / "py.typed").is_file(), f"{name} has no py.typed"


@every_distribution
def test_a_distribution_has_the_licence_as_an_expression_and_as_a_file(folder: Path) -> None:
    assert project(folder)["license"] == "Apache-2.0"
    assert project(folder)["license-files"] == ["LICENSE"]
    assert (folder / "LICENSE").resolve() == ROOT / "LICENSE"
    # A classifier beside the expression is an error (PEP 639).
    assert not [it for it in project(folder)["classifiers"] if it.startswith("License")]


@every_distribution
def test_a_distribution_has_a_readme_that_begins_with_its_description(folder: Path) -> None:
    assert project(folder)["readme"] == "README.md"
    title, said, *_ = (folder / "README.md").read_text("utf-8").split("\n\n")
    assert title == f"# {project(folder)['name']}"
    assert said == f"{project(folder)['description']}."


@every_distribution
def test_a_distribution_describes_itself_as_its_siblings_do(folder: Path) -> None:
    first = project(DISTRIBUTIONS[0])
    for key in ("version", "authors", "urls", "classifiers", "requires-python"):
        assert project(folder)[key] == first[key], key


def test_the_classifiers_exist_and_the_urls_can_be_used() -> None:
    first = project(DISTRIBUTIONS[0])
    assert set(first["classifiers"]) <= set(known_classifiers)
    assert {"Documentation", "Source", "Issues", "Changelog"} <= set(first["urls"])
    for url in first["urls"].values():
        assert urlsplit(url).scheme == "https", url
        assert urlsplit(url).hostname, url


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert text.split()[:4] == ["Apache", "License", "Version", "2.0,"]
    for section in range(1, 10):
        assert re.search(rf"^   {section}\. ", text, re.MULTILINE), section


def test_the_changelog_names_the_version_and_what_is_not_released() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[:2] == ["Unreleased", project(DISTRIBUTIONS[0])["version"]]


def test_pre_commit_fetches_nothing_and_runs_what_check_runs() -> None:
    configured = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert {it["repo"] for it in configured["repos"]} == {"local"}
    hooks = [hook for it in configured["repos"] for hook in it["hooks"]]
    assert {hook["language"] for hook in hooks} == {"system"}
    ours = [hook["entry"].removeprefix(".venv/bin/").split(" --")[0] for hook in hooks]
    tasks = yaml.safe_load((ROOT / "Taskfile.yml").read_text("utf-8"))["tasks"]
    checked = [command.split(" --")[0] for command in tasks["check"]["cmds"]]
    assert [it for it in checked if it != "pyright"] == ours, "pyright is too slow for a hook"


@pytest.mark.parametrize("name", ["bug.yml", "change.yml"])
def test_an_issue_form_can_be_filled_in(name: str) -> None:
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / name).read_text("utf-8"))
    assert {"name", "description", "body"} <= set(form)
    fields = [it for it in form["body"] if it["type"] != "markdown"]
    assert len({it["id"] for it in fields}) == len(fields)
    assert all(it["attributes"]["label"] for it in fields)
