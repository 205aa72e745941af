"""The table of docs/glossary.md: what somebody finds who looks for a noun by its name.

Nothing is listed by hand. A cell holds the folders, modules, commands and pages whose names are the noun; where there
is none, those whose names hold it. So a concept that is called by another word somewhere has a hole there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from page_tables import NONE, ROOT, Tables, distributions, packages_in, table

PAGE = ROOT / "docs/glossary.md"
# Where the noun of the glossary is longer than what files are called, or Python has taken the word.
SPELLED = {
    "agent definition": ("agent_definition", "definition", "agent"),
    "CERPA claim": ("cerpa_claim", "cerpa", "claim"),
    "governed decision": ("governed_decision", "decision_contract", "contract"),
    "document": ("document", "effect_ir"),
    "layer": ("layer", "trusted_layer"),
    "report": ("report", "coherence_report"),
    "evaluator": ("evaluator", "policy_evaluator"),
    "dead letter": ("dead_letter", "dead"),
}
# Where a word is used in a second meaning: debt, which may only shrink.
SECOND_MEANINGS = {
    "claim": r"cerpa|claim_cycles|lictor claim|cli/claim",
    "document": r"patch",
    "event": r"drift|layer|clauz3",
    "fact": r"guard",
    "log": r"lictor_bus|lictor_guard|feedback|decision_log|session_log|libs/bus",
    "proof": r"cpc",
    "report": r"coverage|audit",
    "rule": r"cpc|certificates-rules",
    "verification": r"guard",
}
COLUMNS = ("model", "core", "service", "command", "page", "tests")
MOST = 3
_FORMER = re.compile(r"served_by_api\(__name__\)|DeprecationWarning")
_SINGULAR = {"policies": "policy", "coverages": "coverage"}


def nouns() -> list[str]:
    """The nouns that the page defines."""
    defined = PAGE.read_text("utf-8").partition("## Not to be confused")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", defined, re.MULTILINE)
    return [row for row in rows if row not in ("noun", "---")]


@cache
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in the singular."""
    parts = re.split(r"[_\- ]", name.lower())
    return tuple(
        _SINGULAR.get(it, it[:-1] if it.endswith("s") and len(it) > 3 else it) for it in parts
    )


def holds(name: str, noun: str) -> bool:
    """Whether a name has the words of a noun, one after the other."""
    have, want = words(name), words(noun)
    return any(have[at : at + len(want)] == want for at in range(len(have)))


def found(noun: str, among: Iterable[tuple[str, str]]) -> list[str]:
    """What stands under a noun, of places with their names: those called so, or else those whose names hold it."""
    meant_elsewhere = re.compile(SECOND_MEANINGS.get(noun, r"(?!)"))
    among = [it for it in among if not meant_elsewhere.search(it[0])]
    for spelled in SPELLED.get(noun, (noun,)):
        for fits in (
            lambda name, it=spelled: words(name) == words(it),
            lambda name, it=spelled: holds(name, it),
        ):
            hits = [shown for shown, name in among if fits(name)]
            # Of a folder and what is in it, the folder.
            tops = [it for it in hits if not any(inside(it, up) for up in hits)]
            if tops:
                return tops
    return []


def inside(place: str, folder: str) -> bool:
    return place.startswith((f"{folder.rstrip('`')}.", f"{folder.rstrip('`')}/"))


@cache
def modules(package: Path) -> tuple[tuple[str, str], ...]:
    """The rooms and modules of a package, by dotted name."""
    places: list[tuple[str, str]] = []
    for path in sorted(package.rglob("*.py")):
        # A former place, which only warns.
        if path.name != "__init__.py" and _FORMER.search(path.read_text("utf-8")):
            continue
        inside = path.relative_to(package.parent).with_suffix("")
        parts = inside.parts[:-1] if inside.name == "__init__" else inside.parts
        if not any(part.startswith("__") for part in parts):
            places.append((f"`{'.'.join(parts)}`", parts[-1].removeprefix("lictor_")))
    return tuple(sorted(places))


def in_packages(*, of: str, but: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for folder in distributions():
        if folder.parent.name == of:
            for package in packages_in(folder):
                if package.name not in but:
                    yield from modules(package)


def commands() -> Iterator[tuple[str, str]]:
    from lictor_cli.main import COMMANDS

    yield from ((f"`lictor {name}`", name) for name in COMMANDS)


def pages() -> Iterator[tuple[str, str]]:
    docs = ROOT / "docs"
    for path in sorted(docs.rglob("*.md")):
        inside = path.relative_to(docs)
        if inside.parts[0] != "decisions" and path.name not in ("README.md", "glossary.md"):
            yield f"[{inside.with_suffix('')}]({inside})", path.stem


def tests() -> Iterator[tuple[str, str]]:
    for folder in [*(it / "tests" for it in distributions()), ROOT / "tests"]:
        if folder.parent != ROOT:
            yield f"`{folder.relative_to(ROOT)}`", folder.parent.name
        for path in sorted(folder.rglob("test_*.py")):
            for room in reversed(path.relative_to(folder).parents[:-1]):
                yield f"`{(folder / room).relative_to(ROOT)}`", room.name
            yield f"`{path.relative_to(ROOT)}`", path.stem.removeprefix("test_")


@cache
def places() -> dict[str, tuple[tuple[str, str], ...]]:
    """By column, everything that could be found there, each with its name."""
    client = ("lictor", "lictor_cli", "lictor_local")
    libs = tuple(in_packages(of="libs", but=client))
    return {
        "model": tuple(it for it in libs if it[0].startswith("`lictor_schema")),
        "core": tuple(it for it in libs if not it[0].startswith("`lictor_schema")),
        "service": tuple(in_packages(of="services")),
        "command": tuple(commands()),
        "page": tuple(pages()),
        "tests": tuple(dict.fromkeys(tests())),
    }


def where(noun: str) -> dict[str, list[str]]:
    """By column, what is called like the noun."""
    return {column: found(noun, places()[column]) for column in COLUMNS}


def table_of_nouns() -> str:
    rows: list[tuple[str, ...]] = []
    for noun in nouns():
        cells = where(noun)
        shown = [
            ", ".join(cells[column][:MOST]) + (" …" if len(cells[column]) > MOST else "") or NONE
            for column in COLUMNS
        ]
        rows.append((noun, *shown))
    return table(("noun", *COLUMNS), rows)


GLOSSARY: Tables = {"nouns": table_of_nouns}
