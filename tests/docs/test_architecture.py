"""docs/architecture.md says what the code says: packages, layers, rooms, services, streams and questions."""

from __future__ import annotations

import re

from architecture_tables import ARCHITECTURE, overlap
from page_tables import ROOT, distributions, packages_in, tables_in, with_tables

from lictor_bus.names.roles import roles
from lictor_bus.names.streams import STREAMS

PAGE = ROOT / "docs/architecture.md"
TEXT = PAGE.read_text("utf-8")


def test_the_page_has_every_table_once() -> None:
    assert sorted(tables_in(TEXT)) == sorted(ARCHITECTURE)


def test_the_tables_are_those_of_the_code() -> None:
    assert with_tables(TEXT, ARCHITECTURE) == TEXT, (
        "docs/architecture.md is stale: run ./taskw docs"
    )


def test_every_package_and_every_service_is_in_the_tables() -> None:
    for folder in distributions():
        for package in packages_in(folder):
            assert f"| `{package.name}` |" in TEXT, package.name
        if folder.parent.name == "services":
            assert f"(services/{folder.name.replace('_', '-')}.md)" in TEXT, folder.name


def test_the_prose_names_only_streams_that_exist() -> None:
    diagram = re.findall(r"\b([A-Z]{4,})\[\(", TEXT)
    assert diagram
    assert set(diagram) <= set(STREAMS)


def test_the_prose_names_the_streams_that_runtimes_follow() -> None:
    (runtime,) = (role for role in roles(["a-runtime"]) if role.is_runtime)
    assert not [subject for subject in runtime.publish if subject.startswith("$JS")]
    followed = {name for name, stream in STREAMS.items() if stream.followed}
    (said,) = re.findall(
        r"operators may read every stream; a runtime reads none, and\s([^.]*)\.", TEXT
    )
    assert set(re.findall(r"[A-Z]{4,}", said)) == followed


def test_patterns_of_subjects_overlap_as_the_broker_has_it() -> None:
    assert overlap("lictor.dec.*.*", "lictor.dec.block.a")
    assert overlap("lictor.>", "lictor.dec.block.a")
    assert not overlap("lictor.dec.*.*", "lictor.dec.*.guard.*")
    assert not overlap("lictor.ev.a.*", "lictor.ev.b.*")
