"""Reads the two texts: the SMT-LIB script of an obligation, and cvc5's CPC proof.

Nothing here is recursive in the depth of a text. What the two languages spell differently is named here: reals (`0.5`
and `1/2`), negative numerals (only a proof has them), repeated regular expressions.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.terms import SIGNATURES, SORTS, Term, Terms, Value

MAX_TEXT: Final = 8_000_000
_TOKEN: Final = re.compile(r'[()]|"(?:[^"]|"")*"|\|[^|\\]*\||;[^\n]*|[^\s()"|;]+|\S', re.ASCII)
_NUMERAL: Final = re.compile(r"(-?(?:0|[1-9][0-9]{0,3899}))(?:/([1-9][0-9]{0,3899}))?", re.ASCII)
_DECIMAL: Final = re.compile(r"(0|[1-9][0-9]{0,1899})\.([0-9]{1,1899})", re.ASCII)
_SYMBOL: Final = re.compile(r"(?!-?[0-9])[A-Za-z0-9~!@$%^&*_+=<>.?/-]+", re.ASCII)
_QUOTED: Final = re.compile(r"(?!-?[0-9])[^\"():;#].*", re.ASCII | re.DOTALL)
_ESCAPE: Final = re.compile(r"\\u\{([0-9a-fA-F]{1,5})\}|\\", re.ASCII)
_HIGHEST: Final = 0x2FFFF
_RESERVED: Final = frozenset({"@list", "let", "_", "true", "false", *SIGNATURES})

Spelled = str | list["Spelled"]
"""A token, or what stands in brackets."""
_Closing = tuple[str, int, str]
"""An operator and how many terms it takes; or the name that a `let` binds, or (no operator) that ends with it."""


def tokens(text: str) -> list[str]:
    """The tokens without comments; the text is ASCII and of bounded size."""
    if len(text) > MAX_TEXT or not text.isascii():
        raise Refused("the text is too long, or not ASCII")
    return [token for token in _TOKEN.findall(text) if token[0] != ";"]


def spelled(text: str) -> list[Spelled]:
    """What stands in a text, nested as its brackets are."""
    nested: list[list[Spelled]] = [[]]
    for token in tokens(text):
        if token == "(":
            nested.append([])
        elif token != ")":
            nested[-1].append(token)
        elif len(nested) > 1:
            inner = nested.pop()
            nested[-1].append(inner)
        else:
            raise Refused("a bracket is closed that was not opened")
    if len(nested) > 1:
        raise Refused("the text ends too early")
    return nested[0]


def symbol(token: str) -> str:
    """The name that a token spells; bars around a name are no part of it, so it may not look like another token."""
    name = token[1:-1] if token[0] == "|" else token
    if not (_QUOTED if token[0] == "|" else _SYMBOL).fullmatch(name):
        raise Refused(f"a name was expected, not {token[:40]}")
    return name


def sort(given: Spelled) -> str:
    """A sort that has values."""
    if isinstance(given, str) and given in SORTS.values():
        return given
    raise NotKnown(f"the sort {given if isinstance(given, str) else '(…)'}")


def literal(token: str, *, proof: bool) -> Value | None:
    """The value that a token spells, if it does."""
    if token in ("true", "false"):
        return token == "true"
    if token[0] == '"' and len(token) > 1:
        return _unescaped(token[1:-1].replace('""', '"'))
    if _DECIMAL.fullmatch(token):
        return Fraction(token)
    number = _NUMERAL.fullmatch(token)
    if number is None:
        return None
    if not (proof or token.isdigit()):
        raise Refused(f"{token[:40]} is no numeral of SMT-LIB")
    return int(token) if number[2] is None else Fraction(int(number[1]), int(number[2]))


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        if not found[1] or int(found[1], 16) > _HIGHEST:
            raise Refused("a backslash in a string is spelled \\u{5c}")
        return chr(int(found[1], 16))

    if not text.isprintable():
        raise Refused("a string holds a character that must be escaped")
    return _ESCAPE.sub(character, text)


class Reader:
    """Builds terms from their spelling, and knows the names that were declared or defined so far."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self.proof = False
        """Whether it is the proof that is read, not the script."""
        self._literals: dict[str, Term] = {}
        self.defined: dict[str, Term] = {}

    def fresh(self, token: str) -> str:
        """A name without a meaning."""
        name = symbol(token)
        if (
            name in _RESERVED
            or name in self.defined
            or name in self._terms.declared
            or (name[0] == "@" and not self.proof)
        ):
            raise Refused(f"{name[:40]} has a meaning already")
        return name

    def term(self, given: Spelled) -> Term:
        """The term that is spelled so."""
        made: list[Term] = []
        todo: list[Spelled | _Closing] = [given]
        while todo:
            each = todo.pop()
            if isinstance(each, str):
                made.append(self._literals.get(each) or self.defined.get(each) or self._atom(each))
            elif isinstance(each, list):
                todo += self._opened(each)
            else:
                op, count, name = each
                args = made[len(made) - count :]
                del made[len(made) - count :]
                if op == "let":
                    self.defined[name] = args[0]
                elif op:
                    made.append(self._terms.app(op, *args))
                else:
                    del self.defined[name]
        return made.pop()

    def _opened(self, given: list[Spelled]) -> list[Spelled | _Closing]:
        """What is to be done for what stands in brackets, the last thing first."""
        match given:
            case ["let", [[str(token), value]], body]:
                name = self.fresh(token)
                return [("", 0, name), body, ("let", 1, name), value]
            case [["_", "re.loop" | "re.^" as op, *indices], *others]:
                parts = [*indices, *others]
            case ["_", *_] | [["_", *_], *_]:
                raise NotKnown("an operator with indices (_ …)")
            case [str(token), *parts] if token != "let":
                op = symbol(token)
            case _:
                raise Refused("a term was expected")
        return [(op, len(parts), ""), *reversed(parts)]

    def _atom(self, token: str) -> Term:
        value = literal(token, proof=self.proof)
        if value is not None:
            made = self._literals[token] = self._terms.literal(value)
            return made
        name = symbol(token)
        if name not in self.defined and name not in SIGNATURES:
            raise NotKnown(name) if name[0] == "@" else Refused(f"{name} is not defined")
        return self.defined.get(name) or self._terms.app(name)
