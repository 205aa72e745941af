"""Terms in words.

Two terms that differ are told in different words: each operator has wording of its own, operands stand in parentheses
unless they are of one piece, and what would be too long is named by its sources and the beginning of its SHA-256.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from lictor_ir.contracts import FIELD_PREFIX, KEY_NAME, VALUE_NAME
from lictor_ir.provenance import ORIGIN_OPERATORS, origin_columns
from lictor_ir.spelling.literals import spell_float, spell_int, spell_real
from lictor_ir.summary import display
from lictor_ir.terms import App, Const, Matches, Result, Term, Var, children, postorder
from lictor_ir.text.term_writer import regex_text
from lictor_ir.types import STR, MapOf, RowOf, SetOf, Type

MAX_TERM: Final = 220
"""Longer wording is folded."""
MAX_LIST: Final = 160
MAX_ORIGIN: Final = 70
MAX_PATTERN: Final = 120
MAX_SOURCES: Final = 3
MAX_FOLDED: Final = 3
FEW: Final = 3
"""So few operands are told all, or folded."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A term in words."""

    text: str
    tight: bool
    """Whether it is of one piece, and needs no parentheses beside others."""
    digest: str
    sources: tuple[str, ...]
    """What it is made from: at most one more than are told."""

    @property
    def operand(self) -> str:
        return self.text if self.tight else f"({self.text})"


class TermWords:
    """Tells the terms of one part of a document: of its program, or of its guarantees."""

    def __init__(
        self,
        roots: Iterable[Term],
        *,
        calls: Mapping[str, tuple[str, Type]] | None = None,
        loops: Mapping[Var, Term] | None = None,
        unknowns: frozenset[str] = frozenset(),
        of_contracts: bool = False,
    ) -> None:
        self._calls = calls or {}
        self._loops = loops or {}
        self._unknowns = unknowns
        self._of_contracts = of_contracts
        self._told: dict[Term, _Told] = {}
        self._short: dict[Term, _Told] = {}
        for term in postorder(*roots):
            self._told[term] = self._tell(term)

    def text(self, term: Term) -> str:
        """The term where nothing stands beside it."""
        return self._part(term).text

    def statement(self, term: Term) -> str:
        """A bool where a sentence says that it holds."""
        if _is_bare(term):
            return f"{self.text(term)} is true"
        return self.text(term)

    def operand(self, term: Term) -> str:
        """The term where something may stand beside it."""
        return self._part(term).operand

    def _part(self, term: Term) -> _Told:
        return self._short.get(term) or self._told[term]

    # -- one term, its parts being told ----------------------------------------------------------

    def _tell(self, term: Term) -> _Told:
        parts = [self._told[part] for part in children(term)]
        text, tight = self._words(term)
        own = (text,) if isinstance(term, Result) or self._is_source(term) else ()
        sources = tuple(dict.fromkeys([*own, *(each for part in parts for each in part.sources)]))[
            : MAX_SOURCES + 1
        ]
        digest = display.digest(str(term.type), *_identity(term), *(part.digest for part in parts))
        if len(text) > MAX_TERM:
            text, tight = self._shortened(term) or (_folded(sources, digest), True)
        return _Told(text, tight, digest, sources)

    def _shortened(self, term: Term) -> tuple[str, bool] | None:
        """The term with its longest parts folded, if that makes it short enough."""
        longest = sorted(dict.fromkeys(children(term)), key=lambda part: -len(self.text(part)))
        try:
            for part in longest[:MAX_FOLDED]:
                told = self._told[part]
                self._short[part] = replace(
                    told, text=_folded(told.sources, told.digest), tight=True
                )
                text, tight = self._words(term)
                if len(text) <= MAX_TERM:
                    return text, tight
            return None
        finally:
            self._short.clear()

    def _is_source(self, term: Term) -> bool:
        return isinstance(term, Var) and term not in self._loops

    def _words(self, term: Term) -> tuple[str, bool]:
        match term:
            case Const():
                return display.constant(term.value), True
            case Var():
                return self._variable(term), True
            case Result():
                return self._result(term), True
            case Matches():
                pattern = display.exact(regex_text(term.regex), MAX_PATTERN)
                return f"{self.operand(term.text)} matches as a whole the pattern {pattern}", False
            case App():
                return self._application(term)
            case _:
                raise AssertionError(f"{term!r} is no term of the format")

    def _variable(self, term: Var) -> str:
        if not self._of_contracts:
            return f"{'index' if term in self._loops else 'input'} {display.name(term.name)}"
        if term.name in (KEY_NAME, VALUE_NAME):
            return f"the {term.name}"
        return f"its {display.name(term.name.removeprefix(FIELD_PREFIX))}"

    def _result(self, term: Result) -> str:
        if term.call in self._unknowns:
            text = f"unknown {display.name(term.call)}"
            if term.indices:
                text += f" in round ({', '.join(map(self.text, term.indices))})"
            return text
        effect, declared = self._calls[term.call]
        text = f"result of {display.name(effect)} ({display.name(term.call)})"
        if term.indices:
            text += f" in round ({', '.join(map(self.text, term.indices))})"
        if declared != term.type:
            text += f" read as {display.exact(str(term.type), MAX_PATTERN)}"
        return text

    def _application(self, term: App) -> tuple[str, bool]:
        op, args = term.op, term.args
        if op == "not":
            return self._negated(args[0])
        if op in _BETWEEN and len(args) > 1:
            word = f" {_BETWEEN[op]} "
            most = MAX_LIST if len(args) > FEW else _ENDLESS
            return display.listed([*map(self.operand, args)], most, between=word), False
        if op in ("lt", "le"):
            return self._compared(op, *args), False
        if op in _RELATED:
            return _RELATED[op][0].format(*map(self.operand, args)), False
        if op in _FORMS:
            return _FORMS[op].format(*map(self.operand, args)), True
        if op in _MADE:
            before, after = _MADE[op]
            return f"{before}{display.listed([*map(self.text, args)], MAX_LIST)}{after}", True
        return self._shaped(term)

    def _shaped(self, term: App) -> tuple[str, bool]:
        """What is told by more than its operands."""
        op, args = term.op, term.args
        match op:
            case "in":
                item, items = args
                return f"{self.operand(item)} {self._among(items)} {self.operand(items)}", False
            case "at":
                items, index = args
                if isinstance(index, Var) and self._loops.get(index) is items:
                    return f"item {display.name(index.name)}", True
                return f"item {self.operand(index)} of {self.operand(items)}", True
            case "column":
                (row,) = args
                schema = row.type.schema if isinstance(row.type, RowOf) else ""
                column = term.param.partition(":")[0]
                return f"{display.name(schema)}.{display.name(column)} of {self.operand(row)}", True
            case "len":
                return f"{_length(args[0].type)} of {self.operand(args[0])}", True
            case "dict":
                pairs = [
                    f"{self.text(key)}: {self.text(value)}"
                    for key, value in zip(args[::2], args[1::2], strict=True)
                ]
                return f"{{{display.listed(pairs, MAX_LIST)}}}", True
            case "row":
                schema, _, names = term.param.partition(":")
                given = [
                    f"{display.name(column)} = {self.text(value)}"
                    for column, value in zip(names.split(","), args, strict=True)
                ]
                return f"new row {display.name(schema)}({display.listed(given, MAX_LIST)})", True
            case _ if op in ORIGIN_OPERATORS:
                return self._origin(term), False
            case _:
                # An operator of several operands that has only one, or one that got no wording.
                given = display.listed([*map(self.text, args)], MAX_LIST)
                param = f"{display.string(term.param)}; " if term.param else ""
                return f"{display.name(op)}({param}{given})", True

    def _negated(self, term: Term) -> tuple[str, bool]:
        if isinstance(term, App) and term.op in _RELATED:
            return _RELATED[term.op][1].format(*map(self.operand, term.args)), False
        if isinstance(term, App) and term.op == "in":
            item, items = term.args
            among = self._among(items).replace("is ", "is not ", 1)
            return f"{self.operand(item)} {among} {self.operand(items)}", False
        if _is_bare(term):
            return f"{self.text(term)} is false", False
        return f"not ({self.text(term)})", True

    def _compared(self, op: str, left: Term, right: Term) -> str:
        texts = left.type == STR
        if isinstance(left, Const) and not isinstance(right, Const):
            # "5 is at most x" is said as people say it.
            word = _MIRRORED[op, texts]
            return f"{self.operand(right)} {word} {self.operand(left)}"
        return f"{self.operand(left)} {_COMPARED[op, texts]} {self.operand(right)}"

    def _among(self, items: Term) -> str:
        if isinstance(items.type, MapOf):
            return "is a key of"
        written = isinstance(items, App) and items.op in ("list", "tuple", "set")
        return "is one of" if written else "is in"

    def _origin(self, term: App) -> str:
        values = [*map(self.operand, term.args)]
        places = [
            f"{display.name(schema)}.{display.name(column)}"
            for schema, column in origin_columns(term.param)
        ]
        if term.op == "same_row":
            one = display.listed(values, MAX_ORIGIN, between=" and ")
            other = display.listed(places, MAX_ORIGIN, between=" and ")
            return f"{one} are {other} of one and the same row that a trusted call returned"
        said = [
            f"{value} is {place} of a row that a trusted call returned"
            if term.op == "from"
            # What a call makes of its arguments does not carry their origin on: that is not the program's.
            else f"{value} is not made by the program from {place} of any returned row (it may equal one)"
            for value, place in zip(values, places, strict=True)
        ]
        return display.listed(said, MAX_LIST, between=" and ")


def _is_bare(term: Term) -> bool:
    """Whether a term says nothing by itself: `input flag`."""
    return isinstance(term, Var | Result) or (
        isinstance(term, App) and term.op in ("at", "column", "ite")
    )


def _identity(term: Term) -> tuple[str, ...]:
    """What tells a term from others that have the same type and parts."""
    match term:
        case Const():
            return ("const", _spelled(term.value))
        case Var():
            return ("var", term.name)
        case Result():
            return ("result", term.call)
        case Matches():
            return ("matches", regex_text(term.regex))
        case App():
            return ("app", term.op, term.param)
        case _:
            raise AssertionError(f"{term!r} is no term of the format")


def _spelled(value: object) -> str:
    match value:
        case float():
            return spell_float(value)
        case int() if not isinstance(value, bool):
            return spell_int(value)
        case Fraction():
            return spell_real(value)
        case _:
            return repr(value)


def _folded(sources: tuple[str, ...], digest: str) -> str:
    made = ", ".join(display.cut(each, 60) for each in sources[:MAX_SOURCES])
    others = " and others" if len(sources) > MAX_SOURCES else ""
    of = f" of {made}{others}" if sources else ""
    return f"[a long formula{of}; sha256 {digest}]"


def _length(type_: Type) -> str:
    if type_ == STR:
        return "length"
    if isinstance(type_, SetOf | MapOf):
        return "number of different items" if isinstance(type_, SetOf) else "number of keys"
    return "number of items"


_ENDLESS: Final = 1 << 60

_BETWEEN: Final = {
    "and": "and",
    "or": "or",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "concat": "followed by",
}
"""Operators that stand between their operands."""

_RELATED: Final = {
    "eq": ("{0} equals {1}", "{0} does not equal {1}"),
    "contains": ("{0} contains {1}", "{0} does not contain {1}"),
    "startswith": ("{0} starts with {1}", "{0} does not start with {1}"),
    "endswith": ("{0} ends with {1}", "{0} does not end with {1}"),
    "is_nan": ("{0} is no number (NaN)", "{0} is not NaN"),
    "is_inf": ("{0} is infinite", "{0} is not infinite"),
}
"""Statements about operands, and their negations."""

_COMPARED: Final = {
    ("lt", False): "is less than",
    ("le", False): "is at most",
    ("lt", True): "sorts before",
    ("le", True): "sorts before or equals",
}
_MIRRORED: Final = {
    ("lt", False): "is more than",
    ("le", False): "is at least",
    ("lt", True): "sorts after",
    ("le", True): "sorts after or equals",
}

_FORMS: Final = {
    "ite": "(if {0} then {1} else {2})",
    "neg": "(minus {0})",
    "abs": "absolute value of {0}",
    "floordiv": "(quotient of {0} by {1}, rounded down, 0 if by 0)",
    "mod": "(remainder of {0} by {1}, the first if by 0)",
    "fdiv": "(float quotient of {0} by {1})",
    "rdiv": "(exact quotient of {0} by {1}, 0 if by 0)",
    "int_of_bool": "(1 if {0}, else 0)",
    "float_of_int": "(float of {0})",
    "real_of_int": "(fraction of {0})",
    "substring": "(part of {0} from index {1}, {2} long)",
    "find": "(place of {1} in {0} from index {2} on, or -1)",
    "replace": "({0} with every {1} replaced by {2})",
    "count": "(how often {1} stands in {0})",
    "str_of_int": "digits of {0}",
}
"""Operators that enclose their operands."""

_MADE: Final[Mapping[str, tuple[str, str]]] = {
    "list": ("[", "]"),
    "tuple": ("tuple(", ")"),
    "set": ("set(", ")"),
}
