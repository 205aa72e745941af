"""Texts that members of the standard library can read: without them no rehearsal comes past `date.fromisoformat`."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lictor_prove.python.syntax.walking import nodes_below

_MOMENTS: Final = (
    datetime(2024, 2, 29, tzinfo=UTC),
    datetime(2024, 7, 1, 12, 30, tzinfo=UTC),
    datetime(2023, 1, 31, 23, 59, 59, tzinfo=UTC),
    datetime(1999, 12, 31, tzinfo=UTC),
)
_DATES: Final = tuple(each.date().isoformat() for each in _MOMENTS)
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "fromisoformat": _DATES,
    "Decimal": ("12.50", "0", "-3"),
    "Fraction": ("1/3", "2"),
    "UUID": ("12345678123456781234567812345678",),
    "b64decode": ("YWJj", ""),
    "urlsafe_b64decode": ("YWJj", ""),
    "urlparse": ("https://example.com/a?b=1",),
}
"""By the name of the function that reads them."""
MAX_KEYS: Final = 40
FLAT: Final = 8
"""How often an object of numbers is there for once that each other shape is: settings mostly are one."""


@dataclass(frozen=True, slots=True)
class SampleText:
    """A text for answers and inputs, as it is."""

    text: str


def sample_texts(tree: ast.Module) -> tuple[SampleText, ...]:
    """What the functions can read that a program calls; what is read most often stands there several times."""
    return tuple(map(SampleText, _texts(tree)))


@dataclass(frozen=True, slots=True)
class NumberText:
    """That a program reads numbers from texts."""


def number_texts(tree: ast.Module) -> tuple[NumberText, ...]:
    """Whether a program calls `int` or `float`, which read texts."""
    names = (
        node.func.id
        for node in nodes_below(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return (NumberText(),) if any(each in ("int", "float") for each in names) else ()


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in nodes_below(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        yield from _READ.get(name, ())
        if name == "loads":
            yield from _objects(tree)
        if name == "strptime":
            yield from _moments(tree)


def _written(tree: ast.Module) -> list[str]:
    """The texts that stand in a program."""
    return [
        node.value
        for node in nodes_below(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def _objects(tree: ast.Module) -> Iterator[str]:
    """JSON that has what a program may ask for: nobody knows which texts are its keys."""
    keys = list(dict.fromkeys(_written(tree)))[:MAX_KEYS]
    yield from [json.dumps(dict.fromkeys(keys, 3))] * FLAT
    for value in (3, "a", True, None):
        inner = dict.fromkeys(keys, value)
        yield json.dumps(inner)
        yield json.dumps({key: [inner, inner] for key in keys})
    yield json.dumps([dict.fromkeys(keys, 3)])
    yield from ("[1, 2]", "null", "true", "7", "2.5", '"a"')


def _moments(tree: ast.Module) -> Iterator[str]:
    for text in _written(tree):
        if "%" in text and len(text) < 100:
            for each in _MOMENTS:
                try:
                    yield each.strftime(text)
                except ValueError:
                    continue
