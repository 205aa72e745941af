"""Agent definitions from files: read, checked, and compiled, or refused with every problem by file, line and place.

A definition in YAML, in JSON, or built in Python is the same value with the same hash: comments, layout, and whether a
default is written out don't count.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from lictor_guard.definitions.compiled_definition import Guarded, compile_definition
from lictor_guard.errors import DefinitionError, Problem
from lictor_guard.plugins.installed import Plugins
from lictor_policy.packs.strict_yaml import YamlDocument, YamlError, read_yaml
from lictor_policy.packs.yaml_models import problems_of
from lictor_schema.core.canonical_json import CanonicalError, parse_json
from lictor_schema.sessions.agent_definition import AgentDefinition

DEFAULT_NAME = "lictor-default"
"""The definition that is there without any file."""
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class DefinitionSource:
    """A definition as a file says it, and where in the file it says so."""

    definition: AgentDefinition
    name: str
    document: YamlDocument

    def located(self, problem: Problem) -> Problem:
        """A problem with the file and line it is about."""
        return _located(self.name, self.document, problem)

    def compile(self, plugins: Plugins | None = None) -> Guarded:
        """Make it ready to judge with; DefinitionError reports every problem with its line."""
        try:
            return compile_definition(self.definition, plugins)
        except DefinitionError as error:
            raise DefinitionError.of([self.located(each) for each in error.problems]) from error


def read_source(content: bytes, name: str) -> DefinitionSource:
    """A definition from bytes: JSON when the name ends so, else YAML; `name` stands for it in errors."""
    document = _document(content, name)
    try:
        # Through JSON: strict models take arrays only from there.
        definition = AgentDefinition.model_validate_json(
            json.dumps(document.data), by_name=False, by_alias=True
        )
    except ValidationError as error:
        found = (
            _located(name, document, Problem(place, text))
            for place, text in problems_of(error, document.data, AgentDefinition)
        )
        raise DefinitionError.of(list(dict.fromkeys(found))) from error
    return DefinitionSource(definition, name, document)


def read_definition(content: bytes, name: str, plugins: Plugins | None = None) -> Guarded:
    """A definition from bytes, ready to judge with."""
    return read_source(content, name).compile(plugins)


def definition_files(directory: Path) -> list[Path]:
    """The files of a directory that hold definitions, by name."""
    try:
        return sorted(
            each for each in directory.iterdir() if each.suffix in _SUFFIXES and each.is_file()
        )
    except OSError as error:
        raise _unreadable(directory, error) from error


def read_files(paths: Iterable[Path], plugins: Plugins | None = None) -> Mapping[str, Guarded]:
    """The definitions in files, by name; when some can't be used, one error that lists all problems."""
    found: dict[str, Guarded] = {}
    files: dict[str, Path] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            guarded = read_definition(file_content(path), str(path), plugins)
        except DefinitionError as error:
            problems += error.problems
            continue
        name = guarded.definition.metadata.name
        if name in found:
            told = f"{name} is defined in {files[name]} already"
            problems.append(Problem(("metadata", "name"), told, str(path)))
        found[name], files[name] = guarded, path
    if problems:
        raise DefinitionError.of(problems)
    return found


def read_directory(directory: Path, plugins: Plugins | None = None) -> Mapping[str, Guarded]:
    """The definitions of a directory, by name."""
    return read_files(definition_files(directory), plugins)


def file_content(path: Path) -> bytes:
    """What a file holds; DefinitionError when it can't be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


@cache
def default_definition() -> Guarded:
    """The definition for sessions that name none: for the file tools of Claude Code."""
    resource = files("lictor_guard") / "builtin" / f"{DEFAULT_NAME}.yaml"
    return read_definition(resource.read_bytes(), f"{DEFAULT_NAME}.yaml", Plugins())


def _document(content: bytes, name: str) -> YamlDocument:
    if name.endswith(".json"):
        try:
            return YamlDocument(parse_json(content), {})
        except CanonicalError as error:
            raise DefinitionError.of([Problem((), str(error), name)]) from error
    try:
        return read_yaml(content)
    except YamlError as error:
        raise DefinitionError.of([Problem((), error.problem, name, error.line)]) from error


def _located(name: str, document: YamlDocument, problem: Problem) -> Problem:
    return replace(problem, source=name, line=document.line_of(problem.place))


def _unreadable(path: Path, error: OSError) -> DefinitionError:
    return DefinitionError.of([Problem((), f"can't be read: {error.strerror}", str(path))])
