"""What a term comes to when everything it reads is known: the meaning that lowering must agree with.

The value of a term may be left open: an item outside a list, the result of a call that did not happen, a field that was
left to its default. What rests on something open is open too, unless the rest decides it: `false and open` is false.
Asking for a value that is open raises UnspecifiedError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, cast

from lictor_ir import operators
from lictor_ir.errors import TermError, UnspecifiedError
from lictor_ir.regexes import full_match
from lictor_ir.terms import App, Const, Matches, Result, Term, Var, children
from lictor_ir.values import RowValue, Value

MAX_SIZE: Final = 10_000_000
"""Characters of a string, or bits of an int, that evaluation goes on with."""


def _nothing_happened(call: str, _indices: tuple[int, ...]) -> Value:
    raise UnspecifiedError(f"{call} did not happen")


@dataclass(frozen=True, slots=True)
class Environment:
    """What terms read: variables by name, and what calls returned."""

    variables: Mapping[str, Value] = field(default_factory=dict[str, Value])
    results: Callable[[str, tuple[int, ...]], Value] = _nothing_happened
    """By call and iteration; raises UnspecifiedError for a call that did not happen."""

    def extended(self, name: str, value: Value) -> Environment:
        """The same with one more variable."""
        return Environment({**self.variables, name: value}, self.results)


def value(term: Term, environment: Environment) -> Value:
    """The value of a term, or UnspecifiedError when it is left open."""
    return Evaluation(environment).value(term)


class Evaluation:
    """Values of terms in one environment; each term is evaluated once."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._known: dict[Term, Any] = {}

    def value(self, term: Term) -> Any:
        """The value of a term, or UnspecifiedError when it is left open."""
        found = self._found(term)
        if isinstance(found, _Open):
            raise UnspecifiedError(found.why)
        return found

    def holds(self, term: Term) -> bool:
        """The value of a formula."""
        found = self.value(term)
        if not isinstance(found, bool):
            raise TermError(f"a formula must be a bool, not {type(found).__name__}")
        return found

    def is_false(self, term: Term) -> bool:
        """Whether the formula is false, whatever open values are."""
        return self._found(term) is False

    def _found(self, root: Term) -> Any:
        stack = [root]
        while stack:
            term = stack[-1]
            if term in self._known:
                stack.pop()
                continue
            waiting = [part for part in self._needed(term) if part not in self._known]
            if waiting:
                stack.extend(reversed(waiting))
            else:
                self._known[term] = self._of(term)
        return self._known[root]

    def _needed(self, term: Term) -> Sequence[Term]:
        if not (isinstance(term, App) and term.op == "ite"):
            return children(term)
        condition, then, otherwise = term.args
        match self._known.get(condition):
            case True:
                return (then,)
            case False:
                return (otherwise,)
            case _:
                return (condition,)

    def _of(self, term: Term) -> Any:
        match term:
            case Const():
                return term.value
            case Var():
                if term.name in self.environment.variables:
                    return self.environment.variables[term.name]
                return _Open(f"{term.name} has no value here")
            case Result():
                return self._result(term)
            case Matches():
                text = self._known[term.text]
                return text if isinstance(text, _Open) else full_match(term.regex, text)
            case App():
                return self._application(term)
            case _:
                raise TermError(f"{term!r} is no term of the format")

    def _result(self, term: Result) -> Any:
        indices = [self._known[index] for index in term.indices]
        for index in indices:
            if isinstance(index, _Open):
                return index
        try:
            return self.environment.results(term.call, tuple(indices))
        except UnspecifiedError as error:
            return _Open(str(error))

    def _application(self, term: App) -> Any:
        if term.op == "ite":
            condition, then, otherwise = term.args
            chosen = self._known[condition]
            return (
                chosen if isinstance(chosen, _Open) else self._known[then if chosen else otherwise]
            )
        values = [self._known[arg] for arg in term.args]
        if term.op in ("and", "or"):
            return _junction(values, deciding=term.op == "or")
        for each in values:
            if isinstance(each, _Open):
                return each
        return _applied(term.op, term.param, values)


@dataclass(frozen=True, slots=True)
class _Open:
    """A value that the format leaves open."""

    why: str


def _junction(values: Sequence[Any], *, deciding: bool) -> Any:
    if any(each is deciding for each in values):
        return deciding
    return next((each for each in values if isinstance(each, _Open)), not deciding)


def _applied(op: str, param: str, values: Sequence[Any]) -> Any:
    if op in ("eq", "in") and _depends_on_identity(op, *values):
        return _Open("NaN is compared inside containers, where Python looks at identity")
    if op in ("set", "dict") and sum(map(has_nan, values[:: 2 if op == "dict" else 1])) > 1:
        return _Open("a container with two NaN as keys depends on their identity")
    if _size(op, values) > MAX_SIZE:
        return _Open(f"the outcome of {op} is too large to evaluate")
    try:
        return operators.apply(op, param, values)
    except UnspecifiedError as error:
        return _Open(str(error))
    except TypeError:
        if op not in ("set", "dict"):
            raise
        return _Open("an item that can't be hashed stands in a set or as a key")


def same(one: Any, other: Any) -> bool:
    """Python's `==`; UnspecifiedError where it would look at the identity of NaN."""
    if _depends_on_identity("eq", one, other):
        raise UnspecifiedError("NaN is compared inside containers, where Python looks at identity")
    return bool(one == other)


def _depends_on_identity(op: str, one: Any, other: Any) -> bool:
    both_scalars = isinstance(one, float) and isinstance(other, float)
    return (op == "in" or not both_scalars) and has_nan(one) and has_nan(other)


def has_nan(found: Any) -> bool:
    """Whether the value is NaN or holds it somewhere."""
    todo: list[Any] = [found]
    while todo:
        match todo.pop():
            case float(number) if math.isnan(number):
                return True
            case RowValue(_, columns):
                todo.extend(columns.values())
            case str() | bytes():
                pass
            case Mapping() as members:  # pyright: ignore[reportUnknownVariableType]
                todo.extend(cast(Iterable[Any], members.keys()))
                todo.extend(cast(Iterable[Any], members.values()))
            case (Sequence() | Set()) as items:  # pyright: ignore[reportUnknownVariableType]
                todo.extend(cast(Iterable[Any], items))
            case _:
                pass
    return False


def _size(op: str, values: Sequence[Any]) -> int:
    match op:
        case "add" | "sub" | "mul" | "rdiv" if any(isinstance(each, Fraction) for each in values):
            # Finding the common divisor takes the square of the length.
            return 100 * sum(map(operators.bits, values))
        case "mul" | "floordiv" | "mod":
            return sum(map(operators.bits, values))
        case "concat":
            return sum(map(len, values))
        case "replace":
            return len(values[0]) * (len(values[2]) + 1)
        case "str_of_int":
            return values[0].bit_length()
        case _:
            return 0
