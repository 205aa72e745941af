"""Rules: functions that are registered by name, and lines of `table.rules`, which says how they are written.

Premises and arguments are matched from left to right, and what is bound already must be the same term. The conclusion
is built, so its sorts fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, NamedTuple, TypeVar

from lictor_ir.certificate.cpc.errors import Refused
from lictor_ir.certificate.cpc.reading import Reader
from lictor_ir.certificate.cpc.terms import MANY, SIGNATURES, Term, Terms, operands

Rule = Callable[[Terms, Sequence[Term], Sequence[Term]], Term]
"""What follows from premises, with arguments."""
Function = TypeVar("Function", bound=Callable[..., Term])
Bound = dict[str, "Term | tuple[Term, ...]"]


class Variable(NamedTuple):
    """Stands for any term, of a sort if it says one."""

    name: str
    sort: str = ""


class Several(NamedTuple):
    """Stands for operands of an operator."""

    name: str
    op: str


class Applied(NamedTuple):
    """An operator over patterns; open if some of them stand for several operands."""

    op: str
    parts: tuple[Pattern, ...]
    open: bool


Pattern = Variable | Several | Applied | str
"""A literal is kept as it is written."""


def rule(
    rules: dict[str, Rule], *names: str, premises: int | None = 0, args: int = 0
) -> Callable[[Function], Function]:
    """Make a function the rule of these names: it gets premises, one by one or (None) as they are, then arguments."""

    def registered(function: Function) -> Function:
        def counted(terms: Terms, shown: Sequence[Term], given: Sequence[Term]) -> Term:
            if len(given) != args or len(shown) != (
                len(shown) or 1 if premises is None else premises
            ):
                raise Refused("another number of premises or arguments was expected")
            return function(terms, *(shown if premises is not None else (shown,)), *given)

        rules.update(dict.fromkeys(names, counted))
        return function

    return registered


@dataclass(frozen=True, slots=True)
class Line:
    """One rule of a table."""

    name: str
    premises: tuple[Pattern, ...]
    args: tuple[Pattern, ...]
    conclusion: Pattern

    def __call__(self, terms: Terms, premises: Sequence[Term], args: Sequence[Term]) -> Term:
        if len(args) != len(self.args) or len(premises) != len(self.premises):
            raise Refused("another number of premises or arguments was expected")
        bound: Bound = {}
        for pattern, term in zip((*self.args, *self.premises), (*args, *premises), strict=True):
            _match(terms, pattern, term, bound)
        return build(terms, self.conclusion, bound)


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one name; the form of the argument says which of them is meant."""

    lines: tuple[Line, ...]

    def __call__(self, terms: Terms, premises: Sequence[Term], args: Sequence[Term]) -> Term:
        for line in self.lines[:-1]:
            try:
                return line(terms, premises, args)
            except Refused:
                continue
        return self.lines[-1](terms, premises, args)


# -- patterns --------------------------------------------------------------------------------------

_PART: Final = re.compile(r'[()]|"[^"]*"|[^\s()]+')
_LITERAL: Final = re.compile(r'-?[0-9]+(/[0-9]+)?|".*"|true|false|String')


def read_line(line: str) -> Line:
    """The rule that a line of the table states."""
    name, premises, args, conclusion = (part.strip() for part in line.split("|"))
    several: dict[str, Several] = {}
    (shown,) = _patterns(conclusion, several)
    demanded = tuple(_patterns(premises, several))
    return Line(name, demanded, tuple(_patterns(args, several)), shown)


def _patterns(text: str, several: dict[str, Several]) -> list[Pattern]:
    stack: list[list[Pattern]] = [[]]
    for part in _PART.findall(text):
        if part == "(":
            stack.append([])
        elif part == ")":
            op, *parts = stack.pop()
            assert isinstance(op, str)
            is_open = any(isinstance(each, Several) for each in parts)
            stack[-1].append(Applied(op, tuple(parts), is_open))
        elif len(stack) > 1 and not stack[-1]:
            stack[-1].append(part)
        elif part.endswith(".."):
            if part not in several:
                op = stack[-1][0]
                assert op in MANY, f"{part} stands outside of a flat operator"
                several[part] = Several(part, str(op))
            stack[-1].append(several[part])
        elif _LITERAL.fullmatch(part):
            stack[-1].append(part)
        elif part in SIGNATURES:
            stack[-1].append(Applied(part, (), False))
        else:
            name, _, sort = part.partition(":")
            stack[-1].append(Variable(name, sort))
    return stack[0]


def _match(terms: Terms, pattern: Pattern, term: Term, bound: Bound) -> None:
    if isinstance(pattern, Variable):
        if pattern.sort and term.sort != pattern.sort:
            raise Refused(f"a {pattern.sort} was expected, not a {term.sort}")
        if bound.setdefault(pattern.name, term) is not term:
            raise Refused("a premise or argument is not the term that the others ask for")
    elif isinstance(pattern, Several):
        many = () if term is terms.neutral(pattern.op) else operands(pattern.op, term)
        if many and term.op != pattern.op:
            raise Refused(f"operands of {pattern.op} were expected")
        bound[pattern.name] = many
    elif isinstance(pattern, Applied) and not pattern.open:
        if term.op != pattern.op or len(term.args) != len(pattern.parts):
            raise Refused(f"an application of {pattern.op} was expected")
        for part, arg in zip(pattern.parts, term.args, strict=True):
            _match(terms, part, arg, bound)
    elif build(terms, pattern, bound) is not term:
        raise Refused("a premise or argument is not what the rule asks for")


def build(terms: Terms, pattern: Pattern, bound: Bound) -> Term:
    """The term that a pattern stands for."""
    if isinstance(pattern, Variable):
        made = bound[pattern.name]
        assert isinstance(made, Term)
        return made
    if isinstance(pattern, str):
        return Reader(terms, pattern, proof=True).term()
    assert isinstance(pattern, Applied)
    parts: list[Term] = []
    for part in pattern.parts:
        if isinstance(part, Several):
            many = bound[part.name]
            parts += many if isinstance(many, tuple) else (many,)
        else:
            parts.append(build(terms, part, bound))
    return terms.listed(pattern.op, parts) if pattern.open else terms.app(pattern.op, *parts)


def _table() -> Mapping[str, Lines]:
    """The rules that the table states."""
    text = files("lictor_ir.certificate.cpc").joinpath("table.rules").read_text("ascii")
    rules: dict[str, Lines] = {}
    for line in map(read_line, (each for each in text.splitlines() if each and each[0] != "#")):
        known = rules.get(line.name, Lines(()))
        rules[line.name] = Lines((*known.lines, line))
    return rules


TABLE: Final = _table()
