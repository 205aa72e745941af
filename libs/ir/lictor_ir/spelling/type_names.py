"""How types are spelled, in the text form and inside terms."""

from __future__ import annotations

import re
from functools import lru_cache

from lictor_ir.errors import FormError
from lictor_ir.types import SCALARS, EnumOf, ListOf, MapOf, OptionalOf, RowOf, SetOf, TupleOf, Type

MAX_DEPTH = 16
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.]*|[<>,])")


@lru_cache(maxsize=1024)
def parse_type(text: str) -> Type:
    """The type that `str(type)` spells, or a FormError."""
    tokens: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise FormError(f"{text!r} is no type: {text[at:]!r} can't be read")
        tokens.append(found.group(1))
        at = found.end()
    type_, rest = _type(text, tokens, 0)
    if rest:
        raise FormError(f"{text!r} is no type: {''.join(rest)!r} is left over")
    return type_


def _type(text: str, tokens: list[str], depth: int) -> tuple[Type, list[str]]:
    if not tokens or depth > MAX_DEPTH:
        raise FormError(f"{text!r} is no type: it is cut short, or too deep")
    name, rest = tokens[0], tokens[1:]
    if name in SCALARS:
        return SCALARS[name], rest
    if rest[:1] != ["<"]:
        raise FormError(f"{text!r} is no type: {name!r} is unknown, or its parts are missing")
    rest = rest[1:]
    if name in ("row", "enum"):
        if len(rest) < 2 or rest[1] != ">":
            raise FormError(f"{text!r} is no type: {name} takes one name")
        return (RowOf(rest[0]) if name == "row" else EnumOf(rest[0])), rest[2:]
    parts: list[Type] = []
    while rest[:1] != [">"]:
        if parts:
            if rest[:1] != [","]:
                raise FormError(
                    f"{text!r} is no type: the parts of {name} must be separated by commas"
                )
            rest = rest[1:]
        part, rest = _type(text, rest, depth + 1)
        parts.append(part)
    return _made(text, name, parts), rest[1:]


def _made(text: str, name: str, parts: list[Type]) -> Type:
    match name, parts:
        case "list", [item]:
            return ListOf(item)
        case "optional", [item]:
            return OptionalOf(item)
        case "set", [item]:
            return SetOf(item)
        case "map", [key, value]:
            return MapOf(key, value)
        case "tuple", _:
            return TupleOf(tuple(parts))
        case _:
            raise FormError(f"{text!r} is no type: {name} with {len(parts)} parts is unknown")
