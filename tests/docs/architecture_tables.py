"""The tables of docs/architecture.md.

Packages come from the `pyproject.toml` files and their imports,
rooms from the docstrings of folders, layers from import-linter's contract, streams and who writes or folds them from
`lictor_bus`, questions from the AsyncAPI documents.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from page_tables import NONE, ROOT, Row, Tables, distributions, packages_in, table

from lictor_bus.names.roles import DEPLOY, Role, roles
from lictor_bus.names.streams import STREAMS, StreamSpec

RUNTIME = "a-runtime"
_IMPORT = re.compile(r"^ *(?:from|import) (lictor\w*)", re.MULTILINE)


@cache
def our_packages() -> frozenset[str]:
    return frozenset(it.name for folder in distributions() for it in packages_in(folder))


def imported_packages(package: Path) -> set[str]:
    """Which packages of ours a package imports, anywhere in it."""
    found: set[str] = set()
    for path in package.rglob("*.py"):
        found |= set(_IMPORT.findall(path.read_text("utf-8")))
    return (found & our_packages()) - {package.name}


def packages() -> str:
    rows: list[Row] = []
    for folder in distributions():
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        for package in packages_in(folder):
            docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8")))
            several = len(packages_in(folder)) > 1
            job = first_sentence(docstring) if several else project["description"]
            rows.append(
                (
                    f"`{folder.relative_to(ROOT)}`",
                    f"`{package.name}`",
                    job,
                    ", ".join(sorted(short(it) for it in imported_packages(package))) or NONE,
                )
            )
    return table(("folder", "package", "what it is", "imports of ours"), rows)


def short(package: str) -> str:
    return package.removeprefix("lictor_")


def first_sentence(docstring: str | None) -> str:
    return re.split(r"(?<=\.)\s", " ".join((docstring or "").split("\n\n")[0].split()))[0].rstrip(
        "."
    )


def rooms() -> str:
    rows: list[Row] = []
    for folder in distributions():
        for package in packages_in(folder):
            for path in sorted(package.rglob("__init__.py")):
                room = path.parent
                if room == package:
                    continue
                docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
                name = room.relative_to(package.parent).as_posix()
                rows.append((f"`{name}`", first_sentence(docstring)))
    return table(("room", "what is in it"), rows)


def layers() -> str:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    # Without containers: the layers of packages, not of the modules in one.
    (contract,) = (
        it
        for it in configured["tool"]["importlinter"]["contracts"]
        if it["type"] == "layers" and "containers" not in it
    )
    rows = [
        (str(number), ", ".join(f"`{name.strip()}`" for name in re.split(r"[|:]", layer)))
        for number, layer in enumerate(contract["layers"], 1)
    ]
    return table(("", "packages"), rows)


def forbidden() -> str:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    rows = [
        (
            it["name"],
            ", ".join(f"`{name}`" for name in it["source_modules"]),
            ", ".join(f"`{name}`" for name in it["forbidden_modules"]),
        )
        for it in configured["tool"]["importlinter"]["contracts"]
        if it["type"] == "forbidden"
    ]
    return table(("rule", "of", "may not import"), rows)


def overlap(left: str, right: str) -> bool:
    """Whether some subject fits both patterns."""
    ours, theirs = left.split("."), right.split(".")
    for a, b in zip(ours, theirs, strict=False):
        if ">" in (a, b):
            return True
        if a != b and "*" not in (a, b):
            return False
    return len(ours) == len(theirs)


def users(stream: StreamSpec, may: Callable[[Role, StreamSpec], bool]) -> str:
    # Not the deploy-time user, under which nothing runs: it makes all of them.
    found = [it.user for it in roles([RUNTIME]) if it.name != DEPLOY and may(it, stream)]
    return ", ".join("runtimes" if user == RUNTIME else user for user in found) or NONE


def writes(role: Role, stream: StreamSpec) -> bool:
    return any(overlap(own, subject) for own in role.publish for subject in stream.subjects)


def folds(role: Role, stream: StreamSpec) -> bool:
    return f"$JS.ACK.{stream.name}.>" in role.publish


def kept(stream: StreamSpec) -> str:
    said = [
        "delete and purge denied" if stream.audit else "",
        "one message a subject" if stream.one_per_subject else "",
        "partitioned" if stream.partitioned else "",
        "schedules" if stream.timers else "",
    ]
    return "; ".join(it for it in said if it) or NONE


def streams() -> str:
    rows = [
        (
            stream.name,
            ", ".join(f"`{spelled(it)}`" for it in stream.subjects),
            stream.description,
            kept(stream),
            users(stream, writes),
            users(stream, folds),
        )
        for stream in STREAMS.values()
    ]
    heads = ("stream", "subjects", "carries", "kept", "may write", "may fold")
    return table(heads, rows)


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((ROOT / "schemas/asyncapi").glob("*.json")):
        yield path.stem, json.loads(path.read_text("utf-8"))


def addresses(document: dict[str, Any], action: str) -> Iterator[tuple[str, str]]:
    """Subject and description of each channel that a service receives from, or sends to."""
    channels = document["channels"]
    for operation in document["operations"].values():
        if operation["action"] == action:
            name = operation["channel"]["$ref"].removeprefix("#/channels/")
            channel = channels[name.replace("%7B", "{").replace("%7D", "}")]
            yield channel["address"], channel["description"]


def pattern(address: str) -> str:
    return re.sub(r"\{[^}]*\}", "*", address)


@cache
def addresses_by_pattern() -> dict[str, str]:
    """How the documents of the services write each subject, by the pattern that it fits."""
    return {
        pattern(address): re.sub(r"\{([^}]*)\}", r"<\1>", address)
        for _, document in documents()
        for action in ("receive", "send")
        for address, _ in addresses(document, action)
    }


def spelled(subject: str) -> str:
    """A subject with the names of its tokens, where some service's document has them."""
    return addresses_by_pattern().get(subject, subject)


def stream_of(address: str) -> str | None:
    for stream in STREAMS.values():
        if any(overlap(pattern(address), subject) for subject in stream.subjects):
            return stream.name
    return None


def services() -> str:
    rows = [
        (
            f"[{name}](services/{name}.md)",
            document["info"]["description"].rstrip("."),
            f"[AsyncAPI](../schemas/asyncapi/{name}.json)",
        )
        for name, document in documents()
    ]
    return table(("service", "what it does", "messages"), rows)


def questions() -> str:
    rows: list[Row] = []
    for name, document in documents():
        for subject, description in sorted(addresses(document, "receive")):
            if stream_of(subject) or subject.startswith("lictor.health."):
                continue
            askers = [
                "runtimes" if role.user == RUNTIME else role.user
                for role in roles([RUNTIME])
                if any(
                    overlap(it, pattern(subject)) for it in role.publish if not it.startswith("_")
                )
            ]
            said = description.removeprefix("For operators: ").rstrip(".")
            rows.append((f"`{spelled(pattern(subject))}`", name, ", ".join(askers) or NONE, said))
    return table(("subject", "answered by", "may ask", "question"), rows)


ARCHITECTURE: Tables = {
    "packages": packages,
    "layers": layers,
    "forbidden": forbidden,
    "rooms": rooms,
    "services": services,
    "streams": streams,
    "questions": questions,
}
