"""The JSON Schema of certificates, for readers in other languages.

`python -m lictor_ir.certificate.json_schema PATH` writes it. It says what the form is; what a certificate shows, no
schema can say. The Effect IR inside has a schema of its own (`lictor_ir.json.schema`).
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any

from lictor_ir.certificate.format import FORMAT, OUTSIDE, By, FrontEnd, Level
from lictor_ir.goals.goal import GoalKind

Json = dict[str, Any]

_HASH: Json = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_NAME: Json = {"type": "string", "minLength": 1}


def schema() -> Json:
    """The schema of a file."""
    row: Json = {"type": "integer", "minimum": 0}
    witness = _object(
        call=_NAME,
        terms={"type": "array", "items": {"type": "object"}},
        value=row,
        length=_maybe(row),
    )
    solvers: Json = {
        "type": "array",
        "items": {"enum": ["cvc5", "z3"]},
        "uniqueItems": True,
    }
    goal = _object(
        goal=_NAME,
        kind=_one_of(GoalKind),
        by=_one_of(By),
        level=_one_of(Level),
        script_hash=_maybe(_HASH),
        solvers=solvers,
        proof=_maybe({"type": "string"}),
    )
    versions = {
        "type": "object",
        "properties": {"cvc5": _NAME, "z3": _NAME},
        "additionalProperties": False,
    }
    certificate = _object(
        format={"const": FORMAT},
        verdict={"const": "proved"},
        level=_one_of(Level),
        program_hash=_maybe(_HASH),
        layer_hash=_maybe(_HASH),
        ir_hash=_HASH,
        ir={"type": "object", "description": "An Effect IR document, lictor/effect-ir/v1"},
        front_end=_one_of(FrontEnd),
        witnesses={"type": "array", "items": witness},
        goals={"type": "array", "items": goal},
        engine=_NAME,
        settings={"type": "string"},
        solvers=versions,
        outside={"const": list(OUTSIDE)},
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": FORMAT,
        "title": "Certificate v2",
        **_object(certificate=certificate, hash=_HASH),
    }


def text() -> str:
    """The schema as it is checked in."""
    return json.dumps(schema(), indent=2) + "\n"


def _one_of(words: type[StrEnum]) -> Json:
    return {"enum": [word.value for word in words]}


def _maybe(of: Json) -> Json:
    return {"anyOf": [{"type": "null"}, of]}


def _object(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
