"""Terms as text: infix where people write infix, and `let` for what is deep or stands in several places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from lictor_ir.contracts import FIELD_PREFIX
from lictor_ir.errors import FormError
from lictor_ir.provenance import ORIGIN_OPERATORS, origin_columns
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
from lictor_ir.terms import App, Const, Matches, Result, Term, Var, children, postorder
from lictor_ir.text.keywords import (
    COMPARISON_LEVEL,
    INFIX,
    MATCHES,
    NOT_LEVEL,
    POSTFIX_LEVEL,
    PRIMARY_LEVEL,
    REPEATED,
    spell_name,
)
from lictor_ir.types import Type
from lictor_ir.values import EnumValue

MAX_INLINE_DEPTH: Final = 6
MAX_INLINE_REPEATED: Final = 24
"""What stands in several places and is longer than this gets a name."""

_SYMBOLS: Final = {op: (symbol, level) for symbol, (op, level) in INFIX.items()}
Rendered = tuple[str, int]


class TermText:
    """Writes the terms of one part of a document: of its program, or of its guarantees."""

    def __init__(
        self,
        roots: Iterable[Term],
        results: Mapping[str, Type],
        *,
        first_let: int = 1,
        of_contracts: bool = False,
    ) -> None:
        self._results = results
        self._of_contracts = of_contracts
        self.next_let = first_let
        self._lets: dict[Term, str] = {}
        self._inline: dict[Term, Rendered] = {}
        self._depth: dict[Term, int] = {}
        self._uses = Counter[Term]()
        roots = list(roots)
        self._uses.update(roots)
        for term in postorder(*roots):
            self._uses.update(children(term))
        self._ready: set[Term] = set()

    def lets(self, *roots: Term) -> list[str]:
        """The `let` lines that must stand before these terms can be written."""
        lines: list[str] = []
        for term in postorder(*roots):
            if term in self._ready:
                continue
            self._ready.add(term)
            text = self._rendered(term, inside_let=True)
            parts = children(term)
            depth = 1 + max((self._depth[part] for part in parts), default=-1)
            shared = self._uses[term] > 1 and len(text[0]) > MAX_INLINE_REPEATED
            if parts and (depth > MAX_INLINE_DEPTH or shared):
                name = f"${self.next_let}"
                self.next_let += 1
                lines.append(f"let {name} = {text[0]}")
                self._lets[term] = name
                text, depth = (name, PRIMARY_LEVEL), 0
            self._inline[term] = text
            self._depth[term] = depth
        return lines

    def text(self, term: Term) -> str:
        """The term as it stands in a statement, after its lets."""
        return self._in_statement(term)[0]

    def guarded(self, term: Term, level: int) -> str:
        """The same, in parentheses if it binds less tightly."""
        return _guard(self._in_statement(term), level)

    def _in_statement(self, term: Term) -> Rendered:
        # Outside of lets, fields need no types. What is written inline is shallow, so this may recurse.
        return self._rendered(term, inside_let=False) if self._of_contracts else self._inline[term]

    def _rendered(self, term: Term, *, inside_let: bool) -> Rendered:
        if term in self._lets:
            return self._lets[term], PRIMARY_LEVEL
        match term:
            case Const():
                return _constant(term), PRIMARY_LEVEL
            case Var():
                return self._variable(term, inside_let=inside_let)
            case Result():
                return self._result(term, inside_let=inside_let)
            case Matches():
                text = self._operand(term.text, COMPARISON_LEVEL + 1, inside_let=inside_let)
                return f"{text} {MATCHES} {regex_text(term.regex)}", COMPARISON_LEVEL
            case App():
                return self._application(term, inside_let=inside_let)
            case _:
                raise FormError(f"{term!r} is no term of the format")

    def _operand(self, term: Term, level: int, *, inside_let: bool) -> str:
        if inside_let:
            return _guard(self._inline[term], level)
        return _guard(self._rendered(term, inside_let=False), level)

    def _variable(self, term: Var, *, inside_let: bool) -> Rendered:
        if not self._of_contracts:
            return spell_name(term.name), PRIMARY_LEVEL
        owner, name = "s", term.name
        if term.name.startswith(FIELD_PREFIX):
            owner, name = "e", term.name.removeprefix(FIELD_PREFIX)
        spelled = f"{owner}.{spell_name(name)}"
        return (f"({spelled} as {term.type})" if inside_let else spelled), PRIMARY_LEVEL

    def _result(self, term: Result, *, inside_let: bool) -> Rendered:
        parts = [
            spell_name(term.call),
            *(self._operand(index, 0, inside_let=inside_let) for index in term.indices),
        ]
        spelled = f"result({', '.join(parts)})"
        if self._results.get(term.call) != term.type:
            spelled = f"({spelled} as {term.type})"
        return spelled, PRIMARY_LEVEL

    def _application(self, term: App, *, inside_let: bool) -> Rendered:
        def operand(at: int, level: int = 0) -> str:
            return self._operand(term.args[at], level, inside_let=inside_let)

        count = len(term.args)
        match term.op:
            case op if op in _SYMBOLS and (count == 2 or (op in REPEATED and count > 2)):
                symbol, level = _SYMBOLS[op]
                between = f" {symbol} "
                return between.join(operand(at, level + 1) for at in range(count)), level
            case "not":
                return f"not {operand(0, NOT_LEVEL)}", NOT_LEVEL
            case "ite":
                return (
                    f"(if {operand(0)} then {operand(1)} else {operand(2)})",
                    PRIMARY_LEVEL,
                )
            case "at":
                return f"{operand(0, POSTFIX_LEVEL)}[{operand(1)}]", POSTFIX_LEVEL
            case "column":
                name = term.param.partition(":")[0]
                return f"{operand(0, POSTFIX_LEVEL)}.{spell_name(name)}", POSTFIX_LEVEL
            case "list":
                return f"[{', '.join(map(operand, range(count)))}]", PRIMARY_LEVEL
            case "dict":
                pairs = (f"{operand(at)}: {operand(at + 1)}" for at in range(0, count, 2))
                return "{" + ", ".join(pairs) + "}", PRIMARY_LEVEL
            case "row":
                schema, _, names = term.param.partition(":")
                given = ", ".join(
                    f"{spell_name(name)} = {operand(at)}"
                    for at, name in enumerate(names.split(","))
                )
                return f"row {spell_name(schema)}({given})", PRIMARY_LEVEL
            case op if op in ORIGIN_OPERATORS:
                given = ", ".join(
                    f"{operand(at)}: {spell_name(schema)}.{spell_name(column)}"
                    for at, (schema, column) in enumerate(origin_columns(term.param))
                )
                return f"{op}({given})", PRIMARY_LEVEL
            case op:
                return f"{op}({', '.join(map(operand, range(count)))})", PRIMARY_LEVEL


def _guard(rendered: Rendered, level: int) -> str:
    text, own = rendered
    return text if own >= level else f"({text})"


def _constant(term: Const) -> str:
    match term.value:
        case bool():
            return "true" if term.value else "false"
        case None:
            return "none"
        case int():
            return literals.spell_int(term.value)
        case float():
            return repr(term.value)
        case Fraction():
            return literals.spell_real(term.value)
        case str():
            return literals.quote(term.value)
        case EnumValue(enum, member):
            return f"{spell_name(enum)}::{spell_name(member)}"


def regex_text(regex: Regex) -> str:
    """A regular expression; they are shallow, so this may recurse."""
    match regex:
        case ReText(text):
            return literals.quote(text)
        case ReRange():
            return _range(regex)
        case ReAny():
            return "any"
        case ReNothing():
            return "nothing"
        case ReConcat(parts):
            return f"seq({', '.join(map(regex_text, parts))})"
        case ReUnion(choices):
            return f"alt({', '.join(map(regex_text, choices))})"
        case ReRepeat(part, least, most):
            bounds = f"{least}" if most is None else f"{least}, {most}"
            return f"rep({regex_text(part)}, {bounds})"
        case ReNotIn(ranges):
            return f"except({', '.join(map(_range, ranges))})"


def _range(regex: ReRange) -> str:
    return f"{literals.quote(regex.first)}..{literals.quote(regex.last)}"
