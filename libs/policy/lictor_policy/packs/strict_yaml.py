"""YAML without surprises, read from parser events: what it returns is plain JSON data.

Refused: anchors and aliases, explicit tags, duplicate keys, keys that aren't strings, a second
document, deep nesting, large files. Plain scalars are null, true, false, whole numbers, or text:
no dates, no `yes`/`no`, no fractions, so nothing changes its type by its looks.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import yaml

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 48

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PARSE: Any = cast(Any, yaml).parse
_CONSTANTS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "false": False,
}
# At most 15 digits: every JSON reader keeps these exactly.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})")

Path = tuple[str | int, ...]


class YamlError(Exception):
    """The text isn't YAML we accept; says what is wrong, and `line` where."""

    def __init__(self, problem: str, line: int | None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The data of a document and the line every part of it stands on."""

    data: Any
    lines: Mapping[Path, int]

    def line_of(self, path: Path) -> int | None:
        """The line of a part, or of the nearest part around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read_yaml(source: bytes) -> YamlDocument:
    """Read exactly one document."""
    if len(source) > MAX_BYTES:
        raise YamlError(f"has {len(source)} bytes; the limit is {MAX_BYTES}", None)
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        raise YamlError(f"is not UTF-8 (byte {error.start})", None) from error
    try:
        return _Reader(_PARSE(text, Loader=_LOADER)).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise YamlError(
            f"is not valid YAML: {problem}", None if mark is None else mark.line + 1
        ) from error


class _Reader:
    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._lines: dict[Path, int] = {}

    def document(self) -> YamlDocument:
        next(self._events)  # stream start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise YamlError("is empty", None)
        data = self._value(next(self._events), ())
        next(self._events)  # document end
        following = next(self._events)
        if not isinstance(following, yaml.StreamEndEvent):
            raise YamlError("holds more than one document", following.start_mark.line + 1)
        return YamlDocument(data, self._lines)

    def _value(self, event: Any, path: Path) -> Any:
        line = event.start_mark.line + 1
        self._lines.setdefault(path, line)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise YamlError("uses an anchor or alias; write the value out", line)
        if event.tag is not None and event.tag != "!":
            raise YamlError(f"uses the tag {event.tag}; tags are not allowed", line)
        if len(path) > MAX_DEPTH:
            raise YamlError(f"nests deeper than {MAX_DEPTH} levels", line)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        return _scalar(event)

    def _mapping(self, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            key = self._value(event, (*path, "")) if isinstance(event, yaml.ScalarEvent) else None
            if not isinstance(key, str):
                raise YamlError("has a key that is not text; quote it", line)
            if key in values:
                raise YamlError(f"names the key {key!r} twice", line)
            self._lines[(*path, key)] = line
            values[key] = self._value(next(self._events), (*path, key))
        return values

    def _sequence(self, path: Path) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(event, (*path, len(values))))
        return values


def _scalar(event: Any) -> str | int | bool | None:
    text: str = event.value
    if event.style is not None and event.style != "":
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return int(text) if _WHOLE.fullmatch(text) else text
