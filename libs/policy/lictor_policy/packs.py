"""How a pack file is read: strict YAML into the models of `lictor_schema.packs`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from lictor_policy.errors import PackError
from lictor_policy.strict_yaml import YamlDocument, YamlError, read_yaml
from lictor_schema.canonical import content_hash
from lictor_schema.errors import WHOLE_DOCUMENT, describe_validation_error
from lictor_schema.packs import PolicyPack


@dataclass(frozen=True, slots=True)
class LoadedPack:
    """A pack as read: its model, the hash of its JSON form, and where its parts stand."""

    pack: PolicyPack
    pack_hash: str
    source: str
    document: YamlDocument

    def error(self, path: tuple[str | int, ...], problem: str) -> PackError:
        """An error that names file, line, rule and field."""
        return _error(self.source, self.document, path, problem)


def load_pack(path: Path) -> LoadedPack:
    """Read one pack file."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise PackError(f"{path}: can't be read: {error.strerror}") from error
    return read_pack(source, str(path))


def read_pack(source: bytes, name: str) -> LoadedPack:
    """Read a pack from YAML text; `name` stands for the file in errors."""
    try:
        document = read_yaml(source)
    except YamlError as error:
        where = name if error.line is None else f"{name}:{error.line}"
        raise PackError(f"{where}: {error.problem}") from error
    try:
        # Through JSON: strict models take enumerations and arrays only from there.
        pack = PolicyPack.model_validate_json(
            json.dumps(document.data), by_name=False, by_alias=True
        )
    except ValidationError as error:
        lines = (
            str(_error(name, document, _spelled(told.path, document), told.problem))
            for told in describe_validation_error(error)
        )
        raise PackError("\n".join(dict.fromkeys(lines))) from error
    loaded = LoadedPack(pack, content_hash(document.data), name, document)
    _refuse_doubled_rules(loaded)
    return loaded


def _refuse_doubled_rules(loaded: LoadedPack) -> None:
    seen: set[str] = set()
    for index, rule in enumerate(loaded.pack.spec.rules):
        if rule.id in seen:
            raise loaded.error(
                ("spec", "rules", index, "id"), f"the id {rule.id} is used twice; ids are unique"
            )
        seen.add(rule.id)


_UNION_MEMBERS = ("bool", "int", "str", "Name", "Moment")


def _spelled(dotted: str, document: YamlDocument) -> tuple[str | int, ...]:
    """The path of a problem as the author wrote it, without the members of a union."""
    if dotted == WHOLE_DOCUMENT:
        return ()
    parts = [int(part) if part.isdigit() else part for part in dotted.split(".")]
    path: tuple[str | int, ...] = ()
    for index, part in enumerate(parts):
        here = (*path, part)
        # A missing field stands last and on no line.
        missing = index == len(parts) - 1 and part not in _UNION_MEMBERS
        if here in document.lines or missing:
            path = here
    return path


def _error(
    source: str, document: YamlDocument, path: tuple[str | int, ...], problem: str
) -> PackError:
    line = document.line_of(path)
    where = source if line is None else f"{source}:{line}"
    rule = ""
    if path[:2] == ("spec", "rules") and len(path) > 2:
        given: Any = document.data["spec"]["rules"][path[2]]
        name = cast("dict[str, Any]", given).get("id") if isinstance(given, dict) else None
        rule = f"rule {name or '#' + str(path[2])}: "
    field = ".".join(str(part) for part in path) or "the document"
    return PackError(f"{where}: {rule}{field}: {problem}")
