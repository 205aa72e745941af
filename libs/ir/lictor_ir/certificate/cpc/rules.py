"""Rules: functions that are registered by name, and lines of `table.rules`, which says how they are written.

Arguments and premises are matched from left to right, and what is bound already must be the same term. The conclusion
is built, so its sorts fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple, TypeVar

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.parser import Spelled, literal, spelled
from lictor_ir.certificate.cpc.terms import MANY, SIGNATURES, Term, Terms, Value

Rule = Callable[[Terms, Sequence[Term], Sequence[Term]], Term]
"""What follows from premises, with arguments."""
Function = TypeVar("Function", bound=Callable[..., Term])
Bound = dict[str, tuple[Term, ...]]
"""The terms that a name stands for: one, or any number if it ends with two dots."""


def rule(*names: str, premises: int | None = 0, args: int = 0) -> Callable[[Function], Function]:
    """Make a function the rule of these names: it gets premises, one by one or (None) as they are, then arguments."""

    def registered(function: Function) -> Function:
        def counted(terms: Terms, shown: Sequence[Term], given: Sequence[Term]) -> Term:
            if len(given) != args or (not shown if premises is None else len(shown) != premises):
                raise Refused("another number of premises or arguments was expected")
            return function(terms, *(shown if premises is not None else (shown,)), *given)

        RULES.update(dict.fromkeys(names, counted))
        return function

    return registered


class Line(NamedTuple):
    """One rule of the table."""

    name: str
    premises: list[Spelled]
    args: list[Spelled]
    conclusion: Spelled

    def __call__(self, terms: Terms, premises: Sequence[Term], args: Sequence[Term]) -> Term:
        if len(args) != len(self.args) or len(premises) != len(self.premises):
            raise Refused("another number of premises or arguments was expected")
        bound: Bound = {}
        for pattern, term in zip((*self.args, *self.premises), (*args, *premises), strict=True):
            _match(terms, pattern, term, bound)
        return build(terms, self.conclusion, bound)


class Lines(tuple[Line, ...]):
    """The lines of one name; the form of premises and arguments says which of them is meant."""

    def __call__(self, terms: Terms, premises: Sequence[Term], args: Sequence[Term]) -> Term:
        if len(self) == 1:
            return self[0](terms, premises, args)
        for line in self:
            try:
                return line(terms, premises, args)
            except Refused:
                continue
        raise NotKnown(f"{self[0].name} in this form")


def _match(terms: Terms, pattern: Spelled, term: Term, bound: Bound) -> None:
    match pattern:
        case [str(op), str(name)] if name.endswith("..") and name not in bound:
            if term.op != op and term is not terms.neutral(op):
                raise Refused(f"operands of {op} were expected")
            bound[name] = term.args if term.op == op else ()
        case [str(op), *parts] if not any(str(part).endswith("..") for part in parts):
            if term.op != op or len(term.args) != len(parts):
                raise Refused(f"an application of {op} was expected")
            for part, arg in zip(parts, term.args, strict=True):
                _match(terms, part, arg, bound)
        case str(token) if constant(token) is None and token not in SIGNATURES:
            name, _, sort = token.partition(":")
            positive = type(term.value) is int and term.value > 0
            if sort not in ("", term.sort, "Positive" if positive else ""):
                raise Refused(f"a {sort} was expected, not a {term.sort}")
            if bound.setdefault(name, (term,)) != (term,):
                raise Refused("a premise or argument is not the term that the others ask for")
        case _:
            if build(terms, pattern, bound) is not term:
                raise Refused("a premise or argument is not what the rule asks for")


def build(terms: Terms, pattern: Spelled, bound: Bound) -> Term:
    """The term that a pattern stands for."""
    match pattern:
        case ["@at", str(index), str(name)]:
            at = bound[index][0].value
            if type(at) is not int or not 0 <= at < len(bound[name]):
                raise Refused("an index of an operand was expected")
            return bound[name][at]
        case [str(op), *parts]:
            args = [term for part in parts for term in _operands(terms, part, bound)]
            return terms.listed(op, args) if op in MANY else terms.app(op, *args)
        case str(token):
            name, value = token.partition(":")[0], constant(token)
            if name in bound:
                return bound[name][0]
            return terms.app(token) if value is None else terms.literal(value)
        case _:
            raise AssertionError("a pattern is a name or an application")


def _operands(terms: Terms, pattern: Spelled, bound: Bound) -> Sequence[Term]:
    """What a pattern stands for within an operator; `(not xs..)` for the negation of each."""
    match pattern:
        case str(name) if name in bound:
            return bound[name]
        case ["not", str(name)] if name.endswith(".."):
            return [terms.no(each) for each in bound[name]]
        case _:
            return (build(terms, pattern, bound),)


@cache
def constant(token: str) -> Value | None:
    """The value that a token of the table spells, if it does."""
    return literal(token, proof=True)


def read_line(line: str) -> Line:
    """The rule that a line of the table states."""
    name, premises, args, conclusion = line.split("|")
    (shown,) = spelled(conclusion)
    return Line(name.strip(), spelled(premises), spelled(args), shown)


def _table() -> dict[str, Lines]:
    text = files("lictor_ir.certificate.cpc").joinpath("table.rules").read_text("ascii")
    rules: dict[str, Lines] = {}
    for line in map(read_line, (each for each in text.splitlines() if each and each[0] != "#")):
        rules[line.name] = Lines((*rules.get(line.name, ()), line))
    return rules


TABLE: Final = _table()
RULES: Final[dict[str, Rule]] = {**TABLE}
"""Every rule that is implemented, once the functions are there."""
