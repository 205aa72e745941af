"""A YAML document read into one of our models, or refused with every problem by file, line and field."""

import json
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, get_args, get_origin

from pydantic import ValidationError

from lictor_policy.errors import PackError, nearest
from lictor_policy.packs.strict_yaml import Path, YamlDocument, YamlError, read_yaml
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.errors import WHOLE_DOCUMENT, describe_validation_error
from lictor_schema.packs.pack import NEEDS_LICTOR_V1

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class ModelDocument(Generic[M]):
    """What a file says, and where in the file it says so."""

    model: M
    source: str
    yaml: YamlDocument

    @property
    def content_hash(self) -> str:
        """Hash of the data: comments and layout don't count."""
        return content_hash(self.yaml.data)

    def error(self, path: Path, problem: str) -> PackError:
        """An error that names file, line, rule and field."""
        return PackError(located(self.source, self.yaml, path, problem))


def read_document(source: bytes, name: str, model: type[M]) -> ModelDocument[M]:
    """Read a file; `name` stands for it in errors."""
    try:
        document = read_yaml(source)
    except YamlError as error:
        where = name if error.line is None else f"{name}:{error.line}"
        raise PackError(f"{where}: {error.problem}") from error
    try:
        # Through JSON: strict models take enumerations and arrays only from there.
        read = model.model_validate_json(json.dumps(document.data), by_name=False, by_alias=True)
    except ValidationError as error:
        lines = (
            located(name, document, path, problem)
            for path, problem in problems_of(error, document.data, model)
        )
        raise PackError("\n".join(dict.fromkeys(lines))) from error
    return ModelDocument(read, name, document)


def problems_of(error: ValidationError, data: Any, model: type[Model]) -> list[tuple[Path, str]]:
    """What is wrong with a document's data, each with its path as the author wrote it."""
    problems: list[tuple[Path, str]] = []
    for found in error.errors(include_url=False, include_input=False):
        if found["type"] == NEEDS_LICTOR_V1:
            problems += [
                (tuple(path), "needs apiVersion: lictor/v1")
                for path in found.get("ctx", {})["paths"]
            ]
    if problems:
        return problems
    for told in describe_validation_error(error):
        path = _spelled(told.path, data)
        problem = told.problem
        if "not a known field" in problem:
            known = _fields_at(model, path[:-1])
            problem = f"is not a known field; {nearest(str(path[-1]), known)}"
        problems.append((path, problem))
    return problems


def located(source: str, document: YamlDocument, path: Path, problem: str) -> str:
    """A problem with the file, line, rule and field it is about."""
    line = document.line_of(path)
    where = source if line is None else f"{source}:{line}"
    rule = ""
    start = 2 if path[:2] == ("spec", "rules") else 1 if path[:1] == ("rules",) else None
    if start is not None and len(path) > start:
        given: Any = document.data
        for part in path[: start + 1]:
            given = given[part]
        name = cast("dict[str, Any]", given).get("id") if isinstance(given, dict) else None
        rule = f"rule {name or '#' + str(path[start])}: "
    field = ".".join(str(part) for part in path) or "the document"
    return f"{where}: {rule}{field}: {problem}"


# What pydantic puts into a path for the members of a union; no author wrote them.
_UNION_MEMBERS = ("bool", "int", "str", "Name", "Moment")


def _spelled(dotted: str, data: Any) -> Path:
    """The path of a problem as the author wrote it, without the members of a union."""
    if dotted == WHOLE_DOCUMENT:
        return ()
    parts = dotted.split(".")
    path: Path = ()
    here = data
    while parts:
        found = _step(here, parts)
        if found is not None:
            part, taken = found
            path, here, parts = (*path, part), here[part], parts[taken:]
            continue
        # A missing field stands last and nowhere in the data.
        if len(parts) == 1 and parts[0] not in _UNION_MEMBERS:
            path = (*path, parts[0])
        parts = parts[1:]
    return path


def _step(here: Any, parts: list[str]) -> tuple[str | int, int] | None:
    """The next part that the data has, and how many dotted parts make it: a key may hold dots."""
    if isinstance(here, list):
        items = cast("list[Any]", here)
        index = int(parts[0]) if parts[0].isdigit() else len(items)
        return (index, 1) if index < len(items) else None
    if isinstance(here, dict):
        for taken in range(len(parts), 0, -1):
            key = ".".join(parts[:taken])
            if key in here:
                return key, taken
    return None


def _fields_at(model: type[Model], path: Path) -> list[str]:
    """The fields that the part at a path can have."""
    here: list[type[Model]] = [model]
    for part in path:
        if isinstance(part, int):
            continue
        here = [
            inner
            for each in here
            for name, field in each.model_fields.items()
            if part in (name, field.serialization_alias)
            for inner in _models_in(field.annotation)
        ] or here
    return [
        field.serialization_alias or name
        for each in here
        for name, field in each.model_fields.items()
    ]


def _models_in(annotation: Any) -> list[type[Model]]:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return [annotation] if issubclass(annotation, Model) else []
    return [inner for argument in get_args(annotation) for inner in _models_in(argument)]
