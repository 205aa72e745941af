"""Terms read from text: by how tightly operators bind, never deeper than a fixed nesting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from lictor_ir import terms
from lictor_ir.contracts import KEY_NAME, VALUE_NAME, field
from lictor_ir.errors import FormError, IrError
from lictor_ir.json.regexes import check_repeats, check_size
from lictor_ir.json.terms import TypeBudget, checked_application
from lictor_ir.operators import OPERATORS
from lictor_ir.provenance import ORIGIN_OPERATORS
from lictor_ir.regexes import (
    ReAny,
    ReConcat,
    Regex,
    ReNothing,
    ReNotIn,
    ReRange,
    ReRepeat,
    ReText,
    ReUnion,
)
from lictor_ir.spelling import literals
from lictor_ir.terms import Const, Term
from lictor_ir.text.keywords import COMPARISON_LEVEL, INFIX, KEYWORDS, MATCHES, NOT_LEVEL, REPEATED
from lictor_ir.text.scanner import Scanner, Token
from lictor_ir.types import INT, RowOf, Type
from lictor_ir.values import EnumValue

MAX_NESTING: Final = 64

_FIELD_WITH_TYPE: Final = re.compile(r"\(\s*[es]\s*\.\s*(?:`[^`\n]+`|\w+)\s+as\s")
_T = TypeVar("_T")


class TermReader:
    """Reads terms; what names mean is told to it as the document declares it."""

    def __init__(self, scanner: Scanner, *, closed: bool = False) -> None:
        self._scan = scanner
        self._closed = closed
        """Only `inputs` may be named: no results, lets, enums, and origins in contracts alone."""
        self._budget = TypeBudget()
        self._nesting = 0
        self.inputs: dict[str, Type] = {}
        self.results: dict[str, Type] = {}
        self.columns: dict[str, Mapping[str, Type]] = {}
        self.lets: dict[str, Term] = {}
        self.fields: Mapping[str, Term] | None = None
        """In contracts: what `e.` or `s.` may be followed by."""
        self.owner = "e"

    def term(self, least: int = 0) -> Term:
        """Pass a term whose outermost operator binds at least so tightly."""
        return self._nested(lambda: self._infix(least))

    def _nested(self, read: Callable[[], _T]) -> _T:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise self._scan.fail(f"terms are nested deeper than {MAX_NESTING}; use let")
        found = read()
        self._nesting -= 1
        return found

    def _infix(self, least: int) -> Term:
        start = self._scan.token
        left = self._prefix(least)
        tightest = 99
        while (symbol := self._symbol()) is not None:
            op, level = INFIX.get(symbol, (MATCHES, COMPARISON_LEVEL))
            if level < least:
                break
            if level >= tightest:
                raise self._scan.fail(f"{symbol!r} stands beside its like; use parentheses")
            tightest = level
            self._scan.skip()
            if op == MATCHES:
                left = self._match(left, start)
                continue
            args = [left, self.term(level + 1)]
            while op in REPEATED and self._symbol() == symbol:
                self._scan.skip()
                args.append(self.term(level + 1))
            left = self._applied(op, args, start)
        return left

    def _symbol(self) -> str | None:
        token = self._scan.token
        found = token.kind in ("word", "mark") and (token.text in INFIX or token.text == MATCHES)
        return token.text if found else None

    def _prefix(self, least: int) -> Term:
        start = self._scan.token
        if not self._scan.sees("not"):
            return self._postfix()
        if least > NOT_LEVEL:
            raise self._scan.fail("'not' needs parentheses here")
        self._scan.skip()
        return self._applied("not", [self.term(NOT_LEVEL)], start)

    def _postfix(self) -> Term:
        start = self._scan.token
        term = self._primary()
        while self._scan.sees("[", "."):
            if self._scan.skip().text == "[":
                index = self.term()
                self._scan.expect("]")
                term = self._applied("at", [term, index], start)
            else:
                term = self._column(term, start)
        return term

    def _column(self, row: Term, start: Token) -> Term:
        at = self._scan.token
        name = self._scan.name()
        schema = row.type.schema if isinstance(row.type, RowOf) else None
        if schema is None or name not in self.columns.get(schema, {}):
            raise self._scan.fail(f"{row.type} has no column {name}", at)
        return self._applied("column", [row], start, f"{name}:{self.columns[schema][name]}")

    # -- operands ------------------------------------------------------------------------------

    def _primary(self) -> Term:
        scan = self._scan
        token = scan.token
        match token.kind:
            case "string":
                return self._const(scan.string(), token)
            case "int" | "real" | "float":
                return self._number()
            case "let":
                self._open_only(token)
                if token.text not in self.lets:
                    raise scan.fail(f"{token.text} is not defined before")
                return self.lets[scan.skip().text]
            case "quoted":
                return self._named()
            case "word":
                return self._word()
            case "mark":
                return self._bracketed()
            case _:
                raise scan.fail("a term is expected, not the end")

    def _number(self) -> Term:
        token = self._scan.skip()
        try:
            match token.kind:
                case "int":
                    return terms.const(literals.read_int(token.text))
                case "real":
                    return terms.const(literals.read_real(token.text))
                case _:
                    value = float(token.text)
        except FormError as error:
            raise self._scan.fail(str(error), token) from None
        if value in (float("inf"), float("-inf")) and token.text != "-inf":
            raise self._scan.fail(f"{token.text} is too large for a float; write inf", token)
        return terms.const(value)

    def _word(self) -> Term:
        scan = self._scan
        token = scan.token
        match token.text:
            case "true" | "false":
                scan.skip()
                return terms.const(token.text == "true")
            case "none":
                scan.skip()
                return terms.const(None)
            case "nan" | "inf":
                scan.skip()
                return terms.const(float(token.text))
            case "result":
                return self._result()
            case "row":
                return self._row()
            case "e" | "s" if self.fields is not None:
                return self._field()
            case op if op in ORIGIN_OPERATORS:
                return self._origin()
            case op if op in OPERATORS and (op in KEYWORDS or self._is_call()):
                scan.skip()
                scan.expect("(")
                return self._applied(op, self.until(")", self.term), token)
            case _:
                return self._named()

    def _is_call(self) -> bool:
        token = self._scan.token
        return self._scan.source.startswith("(", token.start + len(token.text))

    def _open_only(self, token: Token) -> None:
        if self._closed:
            raise self._scan.fail(f"{token.text} stands in documents alone", token)

    def _named(self) -> Term:
        """An input, an index of a loop, or a member of an enum."""
        token = self._scan.token
        name = self._scan.name()
        if self._scan.sees("::"):
            self._open_only(token)
            self._scan.skip()
            return self._const(EnumValue(name, self._scan.name()), token)
        if self.fields is not None:
            raise self._scan.fail(f"{name} is no field: contracts read e. or s. alone", token)
        if self._closed and name not in self.inputs:
            raise self._scan.fail(f"{name} has no value here", token)
        return terms.var(name, self.inputs.get(name, INT))

    def _result(self) -> Term:
        scan = self._scan
        start = scan.expect("result")
        self._open_only(start)
        scan.expect("(")
        at = scan.token
        call = scan.name()
        indices = self.until(")", self.term) if scan.takes(",") else []
        if not indices:
            scan.expect(")")
        if call not in self.results:
            raise scan.fail(f"{call} is no call before this", at)
        return self._made(lambda: terms.result(call, self.results[call], indices), start)

    def _row(self) -> Term:
        scan = self._scan
        start = scan.expect("row")
        schema = scan.name()
        scan.expect("(")
        names: list[str] = []

        def given() -> Term:
            names.append(scan.name())
            scan.expect("=")
            return self.term()

        args = self.until(")", given)
        return self._applied("row", args, start, f"{schema}:{','.join(names)}")

    def _origin(self) -> Term:
        scan = self._scan
        start = scan.skip()
        if self.fields is None:
            self._open_only(start)
        scan.expect("(")
        places: list[str] = []

        def given() -> Term:
            term = self.term()
            scan.expect(":")
            schema = scan.name()
            scan.expect(".")
            places.append(f"{schema}.{scan.name()}")
            return term

        return self._applied(start.text, self.until(")", given), start, ",".join(places))

    def _field(self) -> Term:
        scan = self._scan
        token = scan.skip()
        scan.expect(".")
        at = scan.token
        name = scan.name()
        if token.text != self.owner or self.fields is None or name not in self.fields:
            told = ", ".join(f"{self.owner}.{known}" for known in self.fields or {}) or "nothing"
            raise scan.fail(f"{token.text}.{name} can't be read here; {told} can", at)
        return self.fields[name]

    def _bracketed(self) -> Term:
        scan = self._scan
        start = scan.token
        match start.text:
            case "(":
                if scan.sees_text(_FIELD_WITH_TYPE):
                    return self._typed_field()
                scan.skip()
                term = self._nested(self._conditional) if scan.sees("if") else self.term()
                if scan.takes("as"):
                    term = self._read_as(term, start)
                scan.expect(")")
                return term
            case "[":
                scan.skip()
                return self._applied("list", self.until("]", self.term), start)
            case "{":
                scan.skip()
                return self._applied("dict", self._pairs(), start)
            case _:
                raise scan.fail(f"a term is expected, not {scan.shown()}")

    def _conditional(self) -> Term:
        start = self._scan.expect("if")
        condition = self.term()
        self._scan.expect("then")
        then = self.term()
        self._scan.expect("else")
        return self._applied("ite", [condition, then, self.term()], start)

    def _read_as(self, term: Term, start: Token) -> Term:
        type_ = self._scan.type()
        if not isinstance(term, terms.Result):
            raise self._scan.fail("only results and fields are read as a type", start)
        return terms.result(term.call, type_, term.indices)

    def _typed_field(self) -> Term:
        """A field in a let, which does not know yet of what effect: `(e.addr as str)`."""
        scan = self._scan
        scan.expect("(")
        owner = scan.skip()
        self._open_only(owner)
        scan.expect(".")
        at = scan.token
        name = scan.name()
        scan.expect("as")
        type_ = scan.type()
        scan.expect(")")
        if owner.text == "e":
            return field(name, type_)
        if name not in (KEY_NAME, VALUE_NAME):
            raise scan.fail(f"s has a key and a value, no {name}", at)
        return terms.var(name, type_)

    def _pairs(self) -> list[Term]:
        pairs: list[Term] = []

        def pair() -> None:
            pairs.append(self.term())
            self._scan.expect(":")
            pairs.append(self.term())

        self.until("}", pair)
        return pairs

    def until(self, end: str, read: Callable[[], _T]) -> list[_T]:
        """What stands between commas, up to a mark that is passed too."""
        found: list[_T] = []
        while not self._scan.takes(end):
            if found:
                self._scan.expect(",")
            found.append(read())
        return found

    # -- applications --------------------------------------------------------------------------

    def _applied(self, op: str, args: list[Term], start: Token, param: str = "") -> Term:
        return self._made(lambda: checked_application(op, tuple(args), param, self._budget), start)

    def _const(self, value: str | EnumValue, start: Token) -> Term:
        return self._made(lambda: terms.const(value), start)

    def _made(self, make: Callable[[], Term], start: Token) -> Term:
        try:
            return make()
        except IrError as error:
            raise self._scan.fail(str(error), start) from None

    # -- regular expressions -------------------------------------------------------------------

    def _match(self, subject: Term, start: Token) -> Term:
        regex = self._regex()
        if isinstance(subject, Const):
            raise self._scan.fail("a match of a known string: write what it comes to", start)

        def make() -> Term:
            check_size(regex)
            return terms.matches(subject, regex)

        return self._made(make, start)

    def _regex(self) -> Regex:
        return self._nested(self._regex_part)

    def _regex_part(self) -> Regex:
        scan = self._scan
        if scan.token.kind == "string":
            start = scan.token
            text = scan.string()
            return self._range(text, start) if scan.sees("..") else ReText(text)
        token = scan.skip()
        match token.text:
            case "any":
                return ReAny()
            case "nothing":
                return ReNothing()
            case "seq" | "alt":
                scan.expect("(")
                parts = tuple(self.until(")", self._regex))
                return ReConcat(parts) if token.text == "seq" else ReUnion(parts)
            case "except":
                scan.expect("(")
                return ReNotIn(tuple(self.until(")", self._one_range)))
            case "rep":
                return self._repeat(token)
            case _:
                raise scan.fail("a regular expression is expected", token)

    def _one_range(self) -> ReRange:
        start = self._scan.token
        return self._range(self._scan.string(), start)

    def _range(self, first: str, start: Token) -> ReRange:
        self._scan.expect("..")
        last = self._scan.string()
        if len(first) != 1 or len(last) != 1 or first > last:
            raise self._scan.fail("a range needs two characters, the lower first", start)
        return ReRange(first, last)

    def _repeat(self, start: Token) -> Regex:
        scan = self._scan
        scan.expect("(")
        part = self._regex()
        scan.expect(",")
        least = self._count()
        most = self._count() if scan.takes(",") else None
        scan.expect(")")
        try:
            check_repeats(least, most, ("rep",))
        except FormError as error:
            raise scan.fail(str(error), start) from None
        return ReRepeat(part, least, most)

    def _count(self) -> int:
        token = self._scan.token
        if token.kind != "int" or len(token.text) > 9:
            raise self._scan.fail("a count is expected")
        return int(self._scan.skip().text, 0)
