"""docs/versions.md names every version that the code has, with the value that it has there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/versions.md").read_text("utf-8")
ROWS = re.findall(r"^\| [^|]+ \| ([^|]+) \| `([\w.]+:[\w.]+)` \|", PAGE, re.MULTILINE)
NAMES_A_VERSION = re.compile(r"_?([A-Z0-9_]+_)?(FORMAT|VERSION|ENGINE)")
# lictor/certificate/v1, lictor-commands v1, urn:lictor:effect-ir:v1#
IS_A_VERSION = re.compile(r"[a-z][a-z0-9:/.-]*[/: ]v[0-9]+(alpha[0-9]+)?#?")
SCHEMA = re.compile(r"urn:lictor:schema:[a-z-]+:v1")
# Of other people's standards.
THEIRS = {"cosignature/v1"}


@cache
def code() -> Mapping[str, ast.Module]:
    """The modules in which a version may stand, by name."""
    found: dict[str, ast.Module] = {}
    for path in [*ROOT.glob("libs/*/lictor*/**/*.py"), *ROOT.glob("services/*/lictor*/**/*.py")]:
        text = path.read_text("utf-8")
        if re.search(r"FORMAT|VERSION|ENGINE|\bv[0-9]", text):
            parts = path.relative_to(ROOT).with_suffix("").parts[2:]
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = ast.parse(text)
    return found


def defined(place: str) -> Any:
    """The value behind `module:NAME` or `module:Model.field`."""
    module, _, path = place.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        if isinstance(found, type) and issubclass(found, BaseModel):
            annotation = found.model_fields[name].annotation
            assert get_origin(annotation) is Literal, place
            (found,) = get_args(annotation)
        else:
            found = getattr(found, name)
    return found


def written(value: object) -> str:
    return ".".join(map(str, value)) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(("value", "place"), ROWS, ids=[place for _, place in ROWS])
def test_a_version_on_the_page_is_the_one_in_the_code(value: str, place: str) -> None:
    found = defined(place)
    if value.startswith("`"):
        assert value == f"`{written(found)}`"
    else:
        assert callable(found), f"{place} is a constant: name its value"


def constants() -> Iterator[tuple[str, object]]:
    """Every constant of a module whose name says that it is a version."""
    for module, tree in code().items():
        for node in tree.body:
            if isinstance(node, ast.Assign):
                (target, *_), value = node.targets, node.value
            elif isinstance(node, ast.AnnAssign):
                target, value = node.target, node.value
            else:
                continue
            if (
                isinstance(target, ast.Name)
                and NAMES_A_VERSION.fullmatch(target.id)
                and isinstance(value, ast.Constant)
                and " " not in str(value.value)
            ):
                yield f"{module}:{target.id}", value.value


def test_every_constant_that_is_a_version_is_on_the_page() -> None:
    places = {place for _, place in ROWS}
    values = {value.strip("`") for value, _ in ROWS}
    missing = [
        place
        for place, value in constants()
        if place not in places and not (IS_A_VERSION.fullmatch(str(value)) and value in values)
    ]
    assert missing == []


def test_every_form_that_the_code_writes_is_on_the_page() -> None:
    found = {
        node.value
        for tree in code().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and IS_A_VERSION.fullmatch(node.value)
        and not SCHEMA.fullmatch(node.value)
    }
    assert found - THEIRS <= {value.strip("`") for value, _ in ROWS}
