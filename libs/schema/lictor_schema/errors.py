"""The error root of this library, and validation errors told as field, problem and excerpt."""

import json
import re
from typing import Any

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from lictor_schema.core.base_model import PATTERN_MEANINGS, Label, Model
from lictor_schema.events.event_types import EVENT_TYPES

WHOLE_DOCUMENT = "$"
"""The path of a problem that belongs to no single field."""

_EXCERPT_LENGTH = 80
_PATH_LENGTH = 256
_PROBLEM_LENGTH = 1024


class SchemaError(Exception):
    """Root of the errors this library raises itself."""


class FieldProblem(Model):
    """One thing wrong with one field of a document."""

    path: Label = Field(description="Dotted path of the field; `$` for the document itself")
    problem: str = Field(
        min_length=1, max_length=_PROBLEM_LENGTH, description="What is wrong, as a sentence"
    )
    excerpt: str = Field(
        max_length=_EXCERPT_LENGTH, description="The beginning of what was given, made printable"
    )


def describe_validation_error(error: ValidationError) -> tuple[FieldProblem, ...]:
    """Tell a pydantic error field by field, with paths as the sender spelled them."""
    found = error.errors(include_url=False)
    return tuple(
        _describe(problem) for problem in found if not _follows_from_another(problem, found)
    )


def _follows_from_another(problem: ErrorDetails, found: list[ErrorDetails]) -> bool:
    # Pydantic doesn't count the items it refused, and then calls the array too short as well.
    place = problem["loc"]
    return problem["type"] == "too_short" and any(
        len(other["loc"]) > len(place) and other["loc"][: len(place)] == place for other in found
    )


def _describe(problem: ErrorDetails) -> FieldProblem:
    kind, parts, context = problem["type"], problem["loc"], problem.get("ctx", {})
    # Pydantic puts the chosen member of the event union in front of the path; the sender never
    # wrote it, and no canonical model has a field of such a name.
    if parts and parts[0] in EVENT_TYPES:
        parts = parts[1:]
    given = problem["input"]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        parts = (*parts, str(context.get("discriminator", "")).strip("'"))
        given = context.get("tag")
    # A field that is absent has no input of its own: pydantic quotes its parent.
    absent = kind in ("missing", "union_tag_not_found")
    return FieldProblem(
        path=_printable(".".join(map(str, parts)) or WHOLE_DOCUMENT, _PATH_LENGTH),
        problem=_printable(
            _sentence(kind, problem["msg"], context) + _nearest(kind, given, context),
            _PROBLEM_LENGTH,
        ),
        excerpt="" if absent else _excerpt(given),
    )


def _sentence(kind: str, message: str, context: dict[str, Any]) -> str:
    match kind:
        case "missing" | "union_tag_not_found":
            return "is required and missing"
        case "extra_forbidden":
            return "is not a known field; remove it or correct its name"
        case "union_tag_invalid":
            return f"is not a known value; use one of {context.get('expected_tags')}"
        case "string_pattern_mismatch":
            pattern = str(context.get("pattern"))
            return PATTERN_MEANINGS.get(pattern, f"must match the pattern {pattern}")
        case "json_invalid":
            return f"is not valid JSON: {context.get('error', message)}"
        case _:
            for prefix, words in (
                ("Input should be ", "must be "),
                ("Input should ", "must "),
                ("String should ", "must "),
                ("Tuple should ", "must "),
                ("Dictionary should ", "must "),
                ("Value error, ", ""),
            ):
                if message.startswith(prefix):
                    return words + message.removeprefix(prefix)
            return message


def _nearest(kind: str, given: object, context: dict[str, Any]) -> str:
    """For a name that is none of those known: the one that was probably meant."""
    if kind not in ("literal_error", "enum") or not isinstance(given, str):
        return ""
    # Imported late: only mistakes need it, and it takes longer to load than this module.
    from difflib import get_close_matches

    known = re.findall(r"'([^']*)'", str(context.get("expected", "")))
    near = get_close_matches(given[:_EXCERPT_LENGTH], known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _excerpt(value: object) -> str:
    # Cut before repr: the input can be megabytes long.
    if isinstance(value, str):
        return _printable(value[: _EXCERPT_LENGTH + 1], _EXCERPT_LENGTH)
    if isinstance(value, bytes):
        text = value[: _EXCERPT_LENGTH + 1].decode("utf-8", "replace")
        return _printable(text, _EXCERPT_LENGTH)
    if isinstance(value, dict | list | tuple):
        size = len(value)  # pyright: ignore[reportUnknownArgumentType]  -- any JSON container
        return f"{'object' if isinstance(value, dict) else 'array'} of {size}"
    if isinstance(value, int) and abs(value) > 10**_EXCERPT_LENGTH:
        return "a very large number"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _printable(repr(value), _EXCERPT_LENGTH)


def _printable(text: str, limit: int) -> str:
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode("ascii")
        for char in text[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
