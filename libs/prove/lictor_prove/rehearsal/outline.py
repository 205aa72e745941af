"""The outline of a layer: all that a program can import from it, as JSON and without any of its code.

A stage makes stand-ins from it, and a runner the namespaces of a program. What is not in an outline can't be imported.

| name in a module | JSON |
|---|---|
| a trusted function | `{"effect": "send"}`, with its parameters under `effects` |
| a row class | `{"row": "Contact"}`, with its columns under `rows` |
| a constant of exactly a builtin type | `{"value": …}`, as `lictor_prove.written_values` writes it |
| a member of an enum | `{"member": ["tools.bank.trusted.kinds.Kind", "LARGE"]}`, with all members under `enums` |
| a contract | `{"contract": true}` |
| a class of literals | `{"literal": "FilePath"}` |
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import FunctionType
from typing import Any, Final, cast

import lictor_layer
from lictor_ir.document import Parameter, Schema
from lictor_ir.spelling.type_names import parse_type
from lictor_prove.errors import ValueRefused
from lictor_prove.layer_model import Layer, LayerParameter, TrustedFunction
from lictor_prove.written_values import Json, written

_CONSTANTS: Final = frozenset({type(None), bool, int, float, str})
ENUM_BASES: Final[Mapping[str, tuple[type, ...]]] = {
    "Enum": (enum.Enum,),
    "IntEnum": (enum.IntEnum,),
    "StrEnum": (enum.StrEnum,),
    "int, Enum": (int, enum.Enum),
    "str, Enum": (str, enum.Enum),
}
"""What an enum may be made from, to be made again elsewhere."""


def outline_of(layer: Layer) -> Json:
    """What the layer offers to programs."""
    enums: dict[str, Json] = {}
    modules = {
        name: {
            each: told
            for each, held in sorted(module.names.items())
            if (told := _member(held, enums)) is not None
        }
        for name, module in sorted(layer.modules.items())
    }
    return {
        "modules": modules,
        "effects": {name: _effect(each) for name, each in sorted(layer.functions.items())},
        "rows": {name: _row(each) for name, each in sorted(layer.schemas.items())},
        "enums": enums,
    }


def layer_of(outline: Json) -> Layer:
    """As much of the layer as a program in commands is read with, which needs types and no contracts."""
    functions = {name: _function(name, told) for name, told in outline["effects"].items()}
    schemas = {
        name: Schema(
            name,
            tuple(
                Parameter(column, parse_type(type_)) for column, type_ in told["columns"].items()
            ),
        )
        for name, told in outline["rows"].items()
    }
    return Layer(hash="", modules={}, functions=functions, schemas=schemas)


def _member(held: object, enums: dict[str, Json]) -> Json:
    """How a name of a module is told; None for what no program may have."""
    match held:
        case TrustedFunction():
            return {"effect": held.name}
        case Schema():
            return {"row": held.name}
        case _ if type(held) in _CONSTANTS:
            try:
                return {"value": written(held)}
            except ValueRefused:
                return None
        case enum.Enum():
            return _enum_member(held, enums)
        case type() if getattr(held, "__lictor_literal__", False):
            return {"literal": held.__name__}
        case _ if callable(getattr(held, "build", None)) and hasattr(held, "nullary"):
            return {"contract": True}
        case _:
            return None


def _enum_member(held: enum.Enum, enums: dict[str, Json]) -> Json:
    made = type(held)
    kind = next((name for name, bases in ENUM_BASES.items() if made.__bases__ == bases), None)
    if kind is None or _has_code(made):
        return None
    try:
        members = [[name, written(each.value)] for name, each in made.__members__.items()]
    except ValueRefused:
        return None
    full = f"{made.__module__}.{made.__qualname__}"
    enums[full] = {"name": made.__name__, "base": kind, "members": members}
    return {"member": [full, held.name]}


def _has_code(made: type) -> bool:
    """Whether the layer gave the class functions of its own: what they do is known to nobody else."""
    for value in cast(Mapping[str, Any], vars(made)).values():
        inner = getattr(value, "fget", None) or getattr(value, "__func__", value)
        if isinstance(inner, FunctionType) and inner.__module__ == made.__module__:
            return True
    return False


def _effect(function: TrustedFunction) -> Json:
    return {
        "module": function.module,
        "parameters": [_parameter(each) for each in function.parameters],
        "result": None if function.result is None else str(function.result),
        "of_schema": function.result_of_schema,
    }


def _parameter(parameter: LayerParameter) -> Json:
    kind = (
        "positional"
        if parameter.positional_only
        else "keyword"
        if parameter.keyword_only
        else "either"
    )
    return {
        "name": parameter.name,
        "type": str(parameter.type),
        "kind": kind,
        "default": parameter.has_default,
        "schema": parameter.is_schema,
    }


def _function(name: str, told: Json) -> TrustedFunction:
    return TrustedFunction(
        name=name,
        module=told["module"],
        parameters=tuple(
            LayerParameter(
                each["name"],
                parse_type(each["type"]),
                has_default=each["default"],
                keyword_only=each["kind"] == "keyword",
                positional_only=each["kind"] == "positional",
                is_schema=each["schema"],
            )
            for each in told["parameters"]
        ),
        result=None if told["result"] is None else parse_type(told["result"]),
        result_of_schema=told["of_schema"],
    )


def _row(schema: Schema) -> Json:
    return {"columns": {column.name: str(column.type) for column in schema.columns}}


def literal_class(name: str) -> type | None:
    """The class of literals that programs are written with; None for one of a layer's own."""
    held = getattr(lictor_layer, name, None)
    return held if isinstance(held, type) and getattr(held, "__lictor_literal__", False) else None
