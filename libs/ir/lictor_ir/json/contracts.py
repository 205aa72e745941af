"""Contracts as JSON values; their terms stand in the document's table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from lictor_ir.contracts import (
    All,
    Anything,
    AtEnd,
    Before,
    Both,
    Comparison,
    Contract,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
)
from lictor_ir.errors import FormError
from lictor_ir.json.strict_reading import Path, fail, name, object_of, text, tuple_of
from lictor_ir.terms import Term

MAX_DEPTH: Final = 16

Json = Any
Write = Callable[[Term], int]
Read = Callable[[Json, Path], Term]


def contract_terms(contract: Contract, depth: int = 0) -> Iterator[Term]:
    """The terms of a contract, in the order of the form."""
    if depth > MAX_DEPTH:
        raise FormError(f"a contract is nested deeper than {MAX_DEPTH}; flatten its conjunctions")
    match contract:
        case Anything():
            return
        case All(relation, holds):
            yield from _where(relation)
            yield holds
        case Empty(relation):
            yield from _where(relation)
        case Distinct(relation, key):
            yield from _where(relation)
            yield key
        case Count(relation, _, bound):
            yield from _where(relation)
            yield bound
        case Sum(relation, of, _, bound):
            yield from _where(relation)
            yield from (of, bound)
        case SharesValue(left, right, key):
            yield from (*_where(left), *_where(right))
            yield key
        case AtEnd(_, holds, key):
            yield holds
            if key is not None:
                yield key
        case Before(first, then, first_key, then_key):
            yield from (*_where(first), *_where(then))
            yield from (key for key in (first_key, then_key) if key is not None)
        case NeverAfter(first, then):
            yield from (*_where(first), *_where(then))
        case Both(parts):
            for part in parts:
                yield from contract_terms(part, depth + 1)


def _where(relation: Relation) -> Iterator[Term]:
    if relation.where is not None:
        yield relation.where


def contract_json(contract: Contract, ref: Write) -> Json:
    """The JSON value of a contract."""
    match contract:
        case Anything():
            return {"contract": "anything"}
        case All(relation, holds):
            return {"contract": "all", "relation": _relation(relation, ref), "holds": ref(holds)}
        case Empty(relation):
            return {"contract": "empty", "relation": _relation(relation, ref)}
        case Distinct(relation, key):
            return {"contract": "distinct", "relation": _relation(relation, ref), "key": ref(key)}
        case Count(relation, comparison, bound):
            return {
                "contract": "count",
                "relation": _relation(relation, ref),
                "comparison": comparison.value,
                "bound": ref(bound),
            }
        case Sum(relation, of, comparison, bound):
            return {
                "contract": "sum",
                "relation": _relation(relation, ref),
                "of": ref(of),
                "comparison": comparison.value,
                "bound": ref(bound),
            }
        case SharesValue(left, right, key):
            return {
                "contract": "shares_value",
                "left": _relation(left, ref),
                "right": _relation(right, ref),
                "key": ref(key),
            }
        case AtEnd(fluent, holds, key):
            return {
                "contract": "at_end",
                "fluent": fluent,
                "holds": ref(holds),
                "key": None if key is None else ref(key),
            }
        case Before(first, then, first_key, then_key):
            return {
                "contract": "before",
                "first": _relation(first, ref),
                "then": _relation(then, ref),
                "first_key": None if first_key is None else ref(first_key),
                "then_key": None if then_key is None else ref(then_key),
            }
        case NeverAfter(first, then):
            return {
                "contract": "never_after",
                "first": _relation(first, ref),
                "then": _relation(then, ref),
            }
        case Both(parts):
            return {"contract": "both", "parts": [contract_json(part, ref) for part in parts]}


def _relation(relation: Relation, ref: Write) -> Json:
    return {
        "effects": list(relation.effects),
        "events": list(relation.events),
        "where": None if relation.where is None else ref(relation.where),
    }


CONTRACT_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anything": (),
    "all": ("relation", "holds"),
    "empty": ("relation",),
    "distinct": ("relation", "key"),
    "count": ("relation", "comparison", "bound"),
    "sum": ("relation", "of", "comparison", "bound"),
    "shares_value": ("left", "right", "key"),
    "at_end": ("fluent", "holds", "key"),
    "before": ("first", "then", "first_key", "then_key"),
    "never_after": ("first", "then"),
    "both": ("parts",),
}
"""What each kind of contract has, beside its kind."""


def read_contract(value: Json, path: Path, read: Read, depth: int = 0) -> Contract:
    """The contract of a JSON value."""
    if depth > MAX_DEPTH:
        raise fail(path, f"is nested deeper than {MAX_DEPTH}; flatten its conjunctions")
    every = sorted({key for keys in CONTRACT_KEYS.values() for key in keys})
    kind = text(object_of(value, path, "contract", optional=tuple(every))["contract"], path)
    if kind not in CONTRACT_KEYS:
        raise fail((*path, "contract"), f"must be one of {', '.join(CONTRACT_KEYS)}")
    fields = object_of(value, path, "contract", *CONTRACT_KEYS[kind])

    def term(key: str) -> Term:
        return read(fields[key], (*path, key))

    def maybe(key: str) -> Term | None:
        return None if fields[key] is None else term(key)

    def relation(key: str) -> Relation:
        return _read_relation(fields[key], (*path, key), read)

    match kind:
        case "all":
            return All(relation("relation"), term("holds"))
        case "empty":
            return Empty(relation("relation"))
        case "distinct":
            return Distinct(relation("relation"), term("key"))
        case "count":
            return Count(relation("relation"), _comparison(fields, path), term("bound"))
        case "sum":
            return Sum(relation("relation"), term("of"), _comparison(fields, path), term("bound"))
        case "shares_value":
            return SharesValue(relation("left"), relation("right"), term("key"))
        case "at_end":
            return AtEnd(name(fields["fluent"], (*path, "fluent")), term("holds"), maybe("key"))
        case "before":
            return Before(
                relation("first"), relation("then"), maybe("first_key"), maybe("then_key")
            )
        case "never_after":
            return NeverAfter(relation("first"), relation("then"))
        case "both":
            return Both(
                tuple_of(
                    fields["parts"],
                    (*path, "parts"),
                    lambda part, here: read_contract(part, here, read, depth + 1),
                )
            )
        case _:
            return Anything()


def _read_relation(value: Json, path: Path, read: Read) -> Relation:
    fields = object_of(value, path, "effects", "events", "where")
    where = fields["where"]
    return Relation(
        effects=tuple_of(fields["effects"], (*path, "effects"), name),
        events=tuple_of(fields["events"], (*path, "events"), name),
        where=None if where is None else read(where, (*path, "where")),
    )


def _comparison(fields: Mapping[str, Json], path: Path) -> Comparison:
    spelled = text(fields["comparison"], (*path, "comparison"))
    if spelled not in {known.value for known in Comparison}:
        raise fail((*path, "comparison"), f"must be one of {' '.join(Comparison)}")
    return Comparison(spelled)
