"""Terms as a flat table of JSON values: each row names its parts by the number of an earlier row.

Flat, because terms can be thousands deep and share their parts. Equal documents give equal tables: rows stand in
postorder of the document's terms, each term once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from lictor_ir import operators, terms
from lictor_ir.errors import FormError, TermError
from lictor_ir.json.regexes import read_regex, regex_table
from lictor_ir.json.strict_reading import Path, fail, integer, items, list_of, name, object_of, text
from lictor_ir.regexes import Regex
from lictor_ir.spelling import literals
from lictor_ir.spelling.type_names import MAX_DEPTH, parse_type
from lictor_ir.terms import App, Const, Matches, Result, Term, Var
from lictor_ir.types import EnumOf, ListOf, MapOf, OptionalOf, SetOf, TupleOf, Type
from lictor_ir.values import EnumValue

MAX_TERMS: Final = 1_000_000
MAX_TYPE_TEXT: Final = 4_096
MAX_TYPE_PARTS: Final = 2_000_000
"""Of all terms together. Nested tuples share their types in memory, but comparing and hashing walks every part."""

Json = Any


# -- writing ---------------------------------------------------------------------------------------


class TermWriter:
    """The table of a document's terms, and where each stands in it."""

    def __init__(self, roots: Iterable[Term]) -> None:
        self.rows: list[Json] = []
        self._number: dict[Term, int] = {}
        for term in terms.postorder(*roots):
            self._number[term] = len(self.rows)
            self.rows.append(self._row(term))

    def ref(self, term: Term) -> int:
        """The number of a term."""
        return self._number[term]

    def _refs(self, parts: Sequence[Term]) -> list[int]:
        return [self._number[part] for part in parts]

    def _row(self, term: Term) -> Json:
        match term:
            case Const():
                return const_row(term)
            case Var():
                return {"var": term.name, "type": str(term.type)}
            case Result():
                return {
                    "result": term.call,
                    "type": str(term.type),
                    "indices": self._refs(term.indices),
                }
            case Matches():
                return {"matches": self._number[term.text], "regex": regex_table(term.regex)}
            case App():
                row: dict[str, Json] = {"op": term.op, "args": self._refs(term.args)}
                return row | {"param": term.param} if term.param else row
            case _:
                raise FormError(f"{term!r} is no term of the format")


def const_row(term: Const) -> Json:
    """The row of a known value."""
    match term.value:
        case bool() | None:
            return {"const": str(term.type), "value": term.value}
        case int():
            return {"const": "int", "value": literals.spell_int(term.value)}
        case float():
            return {"const": "float", "value": literals.spell_float(term.value)}
        case Fraction():
            return {"const": "real", "value": literals.spell_real(term.value)}
        case str():
            return {"const": "str", "value": text_or_points(term.value)}
        case EnumValue(_, member):
            return {"const": str(term.type), "value": member}


def text_or_points(value: str) -> Json:
    """The string, or its code points where it holds halves of surrogate pairs, which JSON can't carry."""
    return value if literals.is_text(value) else [ord(char) for char in value]


# -- reading ---------------------------------------------------------------------------------------


def read_terms(value: Json, path: Path) -> list[Term]:
    """The terms of a table; every application is type-checked anew."""
    rows = items(value, path)
    if len(rows) > MAX_TERMS:
        raise fail(path, f"has {len(rows)} rows; a document may have {MAX_TERMS}")
    known: list[Term] = []
    budget = TypeBudget()
    for number, row in enumerate(rows):
        here = (*path, number)
        try:
            known.append(_read_row(row, here, known, budget))
        except TermError as error:
            raise fail(here, str(error)) from None
    return known


class TypeBudget:
    """How much the types of a document may still weigh."""

    def __init__(self) -> None:
        self._left = MAX_TYPE_PARTS

    def spend(self, type_: Type) -> None:
        """Count the parts of a type besides itself, never past the limit; TermError when there are too many."""
        todo = [(type_, 0)]
        while todo:
            part, depth = todo.pop()
            self._left -= depth > 0
            inside: Sequence[Type] = ()
            match part:
                case ListOf(item) | SetOf(item) | OptionalOf(item):
                    inside = (item,)
                case TupleOf(parts):
                    inside = parts
                case MapOf(key, value):
                    inside = (key, value)
                case _:
                    pass
            if depth > MAX_DEPTH or len(inside) > self._left:
                raise TermError("has a type that is too deep or too large; nest containers less")
            todo.extend((each, depth + 1) for each in inside)


def checked_application(op: str, args: tuple[Term, ...], param: str, budget: TypeBudget) -> Term:
    """The application as it stands, type-checked; TermError when it does not fit."""
    try:
        type_ = operators.result_type(op, tuple(arg.type for arg in args), param)
    except FormError as error:  # a type inside the parameter
        raise TermError(str(error)) from None
    budget.spend(type_)
    return terms.application(op, args, param, type_)


def _read_row(row: Json, path: Path, known: Sequence[Term], budget: TypeBudget) -> Term:
    kind = next((k for k in ("op", "const", "var", "result", "matches") if _has(row, k)), None)
    match kind:
        case "op":
            fields = object_of(row, path, "op", "args", optional=("param",))
            args = tuple(_parts(fields["args"], (*path, "args"), known))
            op = text(fields["op"], (*path, "op"))
            param = text(fields.get("param", ""), (*path, "param"))
            if "param" in fields and not param:
                raise fail((*path, "param"), "is empty; leave it out")
            return checked_application(op, args, param, budget)
        case "const":
            return read_const(row, path)
        case "var":
            fields = object_of(row, path, "var", "type")
            return terms.var(
                name(fields["var"], (*path, "var")), read_type(fields["type"], (*path, "type"))
            )
        case "result":
            fields = object_of(row, path, "result", "type", "indices")
            return terms.result(
                name(fields["result"], (*path, "result")),
                read_type(fields["type"], (*path, "type")),
                _parts(fields["indices"], (*path, "indices"), known),
            )
        case "matches":
            fields = object_of(row, path, "matches", "regex")
            return _read_match(fields, path, known)
        case _:
            raise fail(path, "is no term: it must have one of op, const, var, result, matches")


def _read_match(fields: Mapping[str, Json], path: Path, known: Sequence[Term]) -> Term:
    subject = read_ref(fields["matches"], (*path, "matches"), known)
    if isinstance(subject, Const):
        # Building the term would match, and how long that takes is for the document to say.
        raise fail((*path, "matches"), "is a known string; write what the match comes to")
    regex: Regex = read_regex(fields["regex"], (*path, "regex"))
    return terms.matches(subject, regex)


_NUMBERS: Final[Mapping[str, Callable[[str], int | float | Fraction]]] = {
    "int": literals.read_int,
    "float": literals.read_float,
    "real": literals.read_real,
}


def read_const(row: Json, path: Path) -> Const:
    """The known value of a row."""
    fields = object_of(row, path, "const", "value")
    kind, value = fields["const"], fields["value"]
    here = (*path, "value")
    spelled = text(kind, (*path, "const"))
    if spelled == "str":
        return terms.const(read_text_or_points(value, here))
    if spelled in _NUMBERS:
        digits = text(value, here)
        try:
            return terms.const(_NUMBERS[spelled](digits))
        except FormError as error:
            raise fail(here, str(error)) from None
    if (spelled == "none" and value is None) or (spelled == "bool" and isinstance(value, bool)):
        return terms.const(value)
    type_ = read_type(kind, (*path, "const"))
    if not isinstance(type_, EnumOf):
        raise fail(here, f"is no {spelled}")
    return terms.const(EnumValue(type_.name, name(value, here)))


def read_text_or_points(value: Json, path: Path) -> str:
    """The string that `text_or_points` gave."""
    if isinstance(value, str):
        return value
    points = [integer(point, (*path, at)) for at, point in enumerate(items(value, path))]
    if any(not 0 <= point <= 0x10FFFF for point in points):
        raise fail(path, "holds a number that is no code point")
    string = "".join(map(chr, points))
    if literals.is_text(string):
        raise fail(path, "is text; write it as a string")
    return string


def read_type(value: Json, path: Path) -> Type:
    """A type, spelled as the format spells it."""
    spelled = text(value, path)
    if len(spelled) > MAX_TYPE_TEXT:
        raise fail(path, f"is longer than {MAX_TYPE_TEXT} characters")
    try:
        type_ = parse_type(spelled)
    except FormError as error:
        raise fail(path, str(error)) from None
    if str(type_) != spelled:
        raise fail(path, f"must be spelled {str(type_)!r}")
    return type_


def read_ref(value: Json, path: Path, known: Sequence[Term]) -> Term:
    """The term that a number names."""
    number = integer(value, path)
    if not 0 <= number < len(known):
        raise fail(path, f"names term {number}, which does not stand before it")
    return known[number]


def _parts(value: Json, path: Path, known: Sequence[Term]) -> list[Term]:
    return list_of(value, path, lambda each, here: read_ref(each, here, known))


def _has(row: Json, key: str) -> bool:
    return isinstance(row, dict) and key in row
