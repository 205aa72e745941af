"""Reads the two texts: the SMT-LIB script of an obligation, and cvc5's CPC proof.

Terms are built while they are read, without recursion. What the two languages spell differently is named here: reals
(`0.5` and `1/2`), negative numerals (only a proof has them), repeated regular expressions.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.terms import SIGNATURES, SORTS, SPECIAL, Term, Terms

MAX_TEXT: Final = 8_000_000
MAX_LETS: Final = 50

_TOKEN: Final = re.compile(r'[()]|"(?:[^"]|"")*"|\|[^|\\]*\||;[^\n]*|[^\s()"|;]+|\S', re.ASCII)
_INT: Final = re.compile(r"(-?)(0|[1-9][0-9]{0,3899})(?:/([1-9][0-9]{0,3899}))?", re.ASCII)
_DECIMAL: Final = re.compile(r"(0|[1-9][0-9]{0,1899})\.([0-9]{1,1899})", re.ASCII)
_SYMBOL: Final = re.compile(r"(?!-?[0-9])[A-Za-z0-9~!@$%^&*_+=<>.?/-]+", re.ASCII)
_QUOTED: Final = re.compile(r"(?!-?[0-9])[^\"():;#].*", re.ASCII | re.DOTALL)
_ESCAPE: Final = re.compile(r"\\u\{([0-9a-fA-F]{1,5})\}|\\", re.ASCII)
_HIGHEST: Final = 0x2FFFF


def tokens(text: str) -> list[str]:
    """The tokens without comments; the text is ASCII and of bounded size."""
    if len(text) > MAX_TEXT:
        raise Refused("the text is too long")
    if not text.isascii():
        raise Refused("the text is not ASCII")
    found = _TOKEN.findall(text)
    return [each for each in found if each[0] != ";"] if ";" in text else found


def symbol(token: str) -> str:
    """The name that a token spells; bars around a name are no part of it, so it may not look like another token."""
    name = token[1:-1] if token[0] == "|" else token
    if not (_QUOTED if token[0] == "|" else _SYMBOL).fullmatch(name):
        raise Refused(f"a name was expected, not {token[:40]}")
    return name


class Reader:
    """Goes through the tokens of one text; `proof` says whose spelling is read."""

    def __init__(self, terms: Terms, text: str, *, proof: bool) -> None:
        self._terms = terms
        self._tokens = [*tokens(text), ""]
        self._proof = proof
        self._at = 0
        self._bound: list[list[str]] = []
        self._atoms: dict[str, Term] = {"true": terms.true, "false": terms.false}
        self.defined: dict[str, Term] = {}
        """Names that stand for terms: definitions, and constants that were declared."""

    # -- tokens ----------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return not self._tokens[self._at]

    def next(self) -> str:
        """The next token."""
        token = self._tokens[self._at]
        if not token:
            raise Refused("the text ends too early")
        self._at += 1
        return token

    def sees(self, token: str) -> bool:
        """Whether the next token is this one, and takes it."""
        if self._tokens[self._at] != token:
            return False
        self._at += 1
        return True

    def expect(self, token: str) -> None:
        """Take this token."""
        got = self.next()
        if got != token:
            raise Refused(f"{token} was expected, not {got[:40]}")

    def skip(self) -> None:
        """Pass over the rest of a command that means nothing for the assertions."""
        depth = 1
        while depth:
            token = self.next()
            depth += (token == "(") - (token == ")")

    # -- names -----------------------------------------------------------------------------------

    def fresh(self, *, declared: bool = False) -> str:
        """A name without a meaning; it may be declared if that is said again."""
        name = symbol(self.next())
        if (
            any(name in names for names in (SIGNATURES, SPECIAL, SORTS, self.defined))
            or (name in self._terms.declared and not declared)
            or (name[0] == "@" and not self._proof)
        ):
            raise Refused(f"{name[:40]} has a meaning already")
        return name

    def sort(self) -> str:
        """A sort."""
        token = self.next()
        if token in SORTS:
            return token
        raise NotKnown("the sort " + (f"({self.next()} …)" if token == "(" else token))

    def define(self, name: str, term: Term) -> None:
        """Let a name stand for a term."""
        self.defined[name] = term

    # -- terms -----------------------------------------------------------------------------------

    def term(self) -> Term:
        """The next term."""
        stack: list[tuple[str, list[Term]]] = []
        known, defined = self._atoms.get, self.defined.get
        while True:
            token = self.next()
            if token == "(":
                stack.append(self._head())
                continue
            if token != ")":
                made = known(token) or defined(token) or self._atom(token)
            elif not stack:
                raise Refused("a term was expected")
            else:
                op, args = stack.pop()
                made = self._closed(op, args)
            if not stack:
                return made
            stack[-1][1].append(made)

    def terms(self) -> list[Term]:
        """Terms in brackets."""
        self.expect("(")
        made: list[Term] = []
        while not self.sees(")"):
            made.append(self.term())
        return made

    def _head(self) -> tuple[str, list[Term]]:
        """What stands after an opening bracket: an operator, a `let` with its bindings, an operator with indices."""
        token = self.next()
        if token == "let":
            return self._let(), []
        if token == "(":
            self.expect("_")
            op = self.next()
            indices: list[Term] = []
            if op not in ("re.loop", "re.^"):
                raise NotKnown(f"the operator (_ {op} …)")
            while not self.sees(")"):
                indices.append(self._atom(self.next()))
            return op, indices
        if token == "_":
            raise NotKnown(f"(_ {self.next()} …)")
        return symbol(token), []

    def _let(self) -> str:
        names: list[str] = []
        self._bound.append(names)
        if len(self._bound) > MAX_LETS:
            raise Refused("let is nested too deeply")
        bound: dict[str, Term] = {}
        self.expect("(")
        while not self.sees(")"):
            self.expect("(")
            name = self.fresh()
            if name in bound:
                raise Refused(f"{name[:40]} is bound twice")
            bound[name] = self.term()
            self.expect(")")
        names += bound
        self.defined.update(bound)
        return "let"

    def _closed(self, op: str, args: list[Term]) -> Term:
        if op != "let":
            return self._terms.app(op, *args)
        if len(args) != 1:
            raise Refused("a let has one body")
        for name in self._bound.pop():
            del self.defined[name]
        return args[0]

    def _atom(self, token: str) -> Term:
        terms = self._terms
        if token[0] == '"' and len(token) > 1:
            made = terms.string(_unescaped(token[1:-1].replace('""', '"')))
        elif number := _INT.fullmatch(token):
            sign, top, bottom = number.groups()
            if (sign or bottom) and not self._proof:
                raise Refused(f"{token[:40]} is no numeral of SMT-LIB")
            value = -int(top) if sign else int(top)
            made = (
                terms.integer(value) if bottom is None else terms.real(Fraction(value, int(bottom)))
            )
        elif number := _DECIMAL.fullmatch(token):
            made = terms.real(Fraction(token))
        elif token == "@list.nil":
            made = terms.app("@list")
        elif token in SORTS or SIGNATURES.get(token, ("",))[0]:
            made = terms.app("@name", terms.string(token))
        else:
            name = symbol(token)
            if name in self.defined:
                return self.defined[name]
            if name not in SIGNATURES:
                raise Refused(f"{name} is not defined")
            made = terms.app(name)
        self._atoms[token] = made
        return made


def _unescaped(text: str) -> str:
    def spelled(found: re.Match[str]) -> str:
        if not found[1] or int(found[1], 16) > _HIGHEST:
            raise Refused("a backslash in a string is spelled \\u{5c}")
        return chr(int(found[1], 16))

    if not text.isprintable():
        raise Refused("a string holds a character that must be escaped")
    return _ESCAPE.sub(spelled, text) if "\\" in text else text
