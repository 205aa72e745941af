"""The JSON Schema of the JSON form, for readers in other languages: `python -m lictor_ir.json.schema PATH` writes it.

It says what the grammar says. That numbers name earlier terms, that terms are well typed and in scope, and that the
form is the one canonical one, no schema can say: `lictor_ir.json.document` and `lictor_ir.validation.document` do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lictor_ir.contracts import Comparison
from lictor_ir.document import FORMAT, FactKind, ObligationKind
from lictor_ir.json.contracts import CONTRACT_KEYS
from lictor_ir.operators import OPERATORS

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_NAME: Json = {"type": "string", "minLength": 1}
_REF: Json = {"type": "integer", "minimum": 0}
_HASH: Json = {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}]}
_POINT: Json = {"type": "integer", "minimum": 0, "maximum": 0x10FFFF}
_CHARACTERS: Json = {"anyOf": [_TEXT, {"type": "array", "items": _POINT}]}
_RANGE: Json = {"type": "array", "items": _POINT, "minItems": 2, "maxItems": 2}
_COUNT: Json = {"type": "integer", "minimum": 0}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _map(values: Json) -> Json:
    return {"type": "object", "additionalProperties": values}


def _maybe(schema: Json) -> Json:
    return {"anyOf": [{"type": "null"}, schema]}


def _object(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _definition(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _term() -> Json:
    application = _object(op={"enum": list(OPERATORS)}, args=_list(_REF))
    application["properties"]["param"] = _NAME
    value = {"anyOf": [*_CHARACTERS["anyOf"], {"type": "boolean"}, {"type": "null"}]}
    return {
        "anyOf": [
            _object(const=_NAME, value=value),
            _object(var=_NAME, type=_NAME),
            _object(result=_NAME, type=_NAME, indices=_list(_REF)),
            _object(matches=_REF, regex=_list(_definition("regex"))),
            application,
        ]
    }


def _regex() -> Json:
    return {
        "anyOf": [
            _object(text=_CHARACTERS),
            _object(range=_RANGE),
            _object(any={"const": True}),
            _object(nothing={"const": True}),
            _object(concat=_list(_REF)),
            _object(union=_list(_REF)),
            _object(repeat=_REF, least=_COUNT, most=_maybe(_COUNT)),
            _object(not_in=_list(_RANGE)),
        ]
    }


def _contract() -> Json:
    relation = _definition("relation")
    kinds: dict[str, Json] = {
        **dict.fromkeys(("relation", "left", "right", "first", "then"), relation),
        **dict.fromkeys(("holds", "of", "bound"), _REF),
        **dict.fromkeys(("key", "first_key", "then_key"), _maybe(_REF)),
        "comparison": {"enum": [each.value for each in Comparison]},
        "fluent": _NAME,
        "parts": _list(_definition("contract")),
    }
    return {
        "anyOf": [
            _object(contract={"const": kind}, **{key: kinds[key] for key in keys})
            for kind, keys in CONTRACT_KEYS.items()
        ]
    }


def schema() -> Json:
    """The schema of a document."""
    parameters = _list(_object(name=_NAME, type=_NAME))
    binders = _list(_object(index=_REF, over=_REF))
    span = _maybe({**_list({"type": "integer", "minimum": 1}), "minItems": 4, "maxItems": 4})
    document = _object(
        format={"const": FORMAT},
        program=_TEXT,
        source_hash=_HASH,
        layer_hash=_HASH,
        target=_NAME,
        effects=_list(
            _object(
                name=_NAME, parameters=parameters, result=_NAME, markers=_list(_NAME), module=_TEXT
            )
        ),
        events=_list(_object(name=_NAME, kinds=_list(_NAME), fields=parameters)),
        schemas=_list(_object(name=_NAME, columns=parameters)),
        enums=_list(_object(name=_NAME, members=_list(_NAME))),
        fluents=_list(_object(name=_NAME, key=_NAME, value=_NAME, initial=_REF)),
        inputs=parameters,
        terms=_list(_definition("term")),
        atoms=_list(
            _object(
                id=_NAME,
                effect=_NAME,
                arguments=_map(_REF),
                guard=_REF,
                binders=binders,
                events=_list(_object(event=_NAME, fields=_map(_REF))),
                updates=_list(_object(fluent=_NAME, key=_REF, value=_REF)),
                labels=_map(_list(_NAME)),
                span=span,
            )
        ),
        assumptions=_list(
            _object(call=_NAME, formula=_REF, guard=_REF, binders=binders, text=_TEXT)
        ),
        obligations=_list(
            _object(
                kind={"enum": [each.value for each in ObligationKind]},
                formula=_REF,
                text=_TEXT,
                guard=_REF,
                binders=binders,
                call=_maybe(_NAME),
                span=span,
            )
        ),
        guarantees=_list(
            _object(
                name=_TEXT,
                contract=_definition("contract"),
                description=_TEXT,
                required_by=_TEXT,
                span=span,
            )
        ),
    )
    # Of a call that does not fail, nothing is said.
    document["properties"]["atoms"]["items"]["properties"]["fails"] = {"const": True}
    document["properties"]["unknowns"] = {
        **_list(
            _object(
                id=_NAME,
                type=_NAME,
                text=_TEXT,
                binders=binders,
                labels=_list(_NAME),
                carried=_list(_NAME),
                may_raise={"type": "boolean"},
            )
        ),
        "minItems": 1,
    }
    document["properties"]["facts"] = {
        **_list(
            _object(
                about=_NAME,
                kind={"enum": [each.value for each in FactKind]},
                first=_maybe(_REF),
                guard=_REF,
                term=_REF,
            )
        ),
        "minItems": 1,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": FORMAT,
        "title": "Effect IR v1",
        **document,
        "$defs": {
            "term": _term(),
            "regex": _regex(),
            "relation": _object(effects=_list(_NAME), events=_list(_NAME), where=_maybe(_REF)),
            "contract": _contract(),
        },
    }


def text() -> str:
    """The schema as it is checked in."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
