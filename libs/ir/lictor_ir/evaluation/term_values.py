"""What a term comes to when everything it reads is known: the meaning that lowering must agree with.

The value of a term may be left open: an item outside a list, the result of a call that did not happen, a field that was
left to its default. What rests on something open is open too, unless the rest decides it: `false and open` is false.
Asking for a value that is open raises UnspecifiedError; UnknownError when nothing is open but what the document
declares unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import field
from fractions import Fraction
from typing import Any, Final, Protocol, cast

from lictor_ir import operators
from lictor_ir.errors import TermError, UnknownError, UnspecifiedError
from lictor_ir.records import record
from lictor_ir.regexes import full_match
from lictor_ir.terms import (
    App,
    Const,
    Matches,
    Result,
    Term,
    Var,
    const,
    postorder,
    with_children,
)
from lictor_ir.types import INT
from lictor_ir.values import Open, RowValue, Value

MAX_BITS: Final = 10_000_000
"""Bits of an int that evaluation goes on with; Python itself writes none of more than 4 300 digits."""
MAX_CHARACTERS: Final = 16 * 1024 * 1024
"""Characters of a string: many times what a call may be given, or what a journal keeps of a result."""
IDENTITY_OF_NAN: Final = "NaN is compared inside containers, where Python looks at identity"


def _nothing_happened(call: str, _indices: tuple[int, ...]) -> Value:
    raise UnspecifiedError(f"{call} did not happen")


@record()
class Environment:
    """What terms read: variables by name, and what calls returned."""

    variables: Mapping[str, Value] = field(default_factory=dict[str, Value])
    results: Callable[[str, tuple[int, ...]], Value | Open] = _nothing_happened
    """By call and iteration; raises UnspecifiedError for a call that did not happen. Open for a declared unknown."""

    def extended(self, name: str, value: Value) -> Environment:
        """The same with one more variable."""
        return Environment({**self.variables, name: value}, self.results)


def value(term: Term, environment: Environment) -> Value:
    """The value of a term, or UnspecifiedError when it is left open."""
    return Evaluation(environment).value(term)


class Facts(Protocol):
    """What is known of terms that rest on declared unknowns."""

    @property
    def fixed(self) -> set[Term]:
        """Terms that are `settled` in every iteration: they read no index of a loop."""
        ...

    def value(self, term: Term) -> Any:
        """The value of a term that is `settled`; Open when it is not known."""
        ...


class Evaluation:
    """Values of terms in one environment; each term is evaluated once."""

    def __init__(self, environment: Environment, facts: Facts | None = None) -> None:
        self.environment = environment
        self._facts = facts
        self._known: dict[Term, Any] = {}
        self._settled: dict[Term, Term] = {}

    def value(self, term: Term) -> Any:
        """The value of a term, or UnspecifiedError when it is left open."""
        found = self.found(term)
        if isinstance(found, Open):
            raise (UnknownError if found.declared else UnspecifiedError)(found.why)
        return found

    def holds(self, term: Term) -> bool:
        """The value of a formula."""
        found = self.value(term)
        if not isinstance(found, bool):
            raise TermError(f"a formula must be a bool, not {type(found).__name__}")
        return found

    def is_false(self, term: Term) -> bool:
        """Whether the formula is false, whatever open values are."""
        return self.found(term) is False

    def inside(self, index: str, value: int) -> Evaluation:
        """Values in an iteration of a loop."""
        return Evaluation(self.environment.extended(index, value), self._facts)

    def by_parts(self, term: Term) -> Any:
        """Its value as its parts make it, whatever is known of the whole."""
        while waiting := [part for part in self._needed(term) if part not in self._known]:
            for part in waiting:
                self.found(part)
        return self._of(term)

    def settled(self, root: Term) -> Term:
        """The term without indices of loops, so that it is one and the same wherever it means the same."""
        done, fixed = self._settled, set[Term]() if self._facts is None else self._facts.fixed
        if root in fixed:
            return root

        def unsettled(term: Term) -> tuple[Term, ...]:
            return () if term in done or term in fixed else term.below

        for term in postorder(root, parts=unsettled):
            if term in done or term in fixed:
                continue
            parts = term.below
            if all(part in fixed for part in parts) and _is_fixed(term):
                fixed.add(term)
            else:
                done[term] = self._settle(
                    term, [part if part in fixed else done[part] for part in parts]
                )
        return root if root in fixed else done[root]

    def _settle(self, term: Term, parts: list[Term]) -> Term:
        if isinstance(term, Var) and term.type == INT and not isinstance(self.found(term), Open):
            return const(self.found(term))
        if isinstance(term, Result):
            places = [self.found(index) for index in term.indices]
            if not any(isinstance(place, Open) for place in places):
                parts = [const(place) for place in places]
        return with_children(term, parts)

    def found(self, root: Term) -> Any:
        """The value of a term, or Open."""
        known_values = self._known
        stack = [root]
        while stack:
            term = stack[-1]
            if term in known_values:
                stack.pop()
                continue
            if isinstance(term, Const):
                known_values[term] = term.value
                continue
            needed = self._needed(term)
            waiting = [part for part in needed if part not in known_values] if needed else ()
            if waiting:
                stack.extend(reversed(waiting))
            else:
                found = self._of(term)
                if self._facts is not None and isinstance(found, Open) and found.declared:
                    found = self._learned(term, found, self._facts)
                known_values[term] = found
        return known_values[root]

    def _learned(self, term: Term, found: Open, facts: Facts) -> Any:
        """What is known of a term that unknowns leave open, or that nothing is."""
        settled = self.settled(term)
        known = facts.value(settled)
        if isinstance(known, Open) and settled is not term:
            # Settling folds: in the first round, `p(i) or not p(0)` is true, whatever `p` is.
            known = self.found(settled)
        return found if isinstance(known, Open) and known.declared else known

    def _needed(self, term: Term) -> Sequence[Term]:
        if not isinstance(term, App) or term.op != "ite":
            return term.below
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
            case App():
                return self._application(term)
            case Const():
                return term.value
            case Var():
                if term.name in self.environment.variables:
                    return self.environment.variables[term.name]
                return Open(f"{term.name} has no value here")
            case Result():
                return self._result(term)
            case Matches():
                text = self._known[term.text]
                return text if isinstance(text, Open) else full_match(term.regex, text)
            case _:
                raise TermError(f"{term!r} is no term of the format")

    def _result(self, term: Result) -> Any:
        indices = [self._known[index] for index in term.indices]
        for index in indices:
            if isinstance(index, Open):
                return index
        try:
            return self.environment.results(term.call, tuple(indices))
        except UnspecifiedError as error:
            return Open(str(error))

    def _application(self, term: App) -> Any:
        if term.op == "ite":
            condition, then, otherwise = term.args
            chosen = self._known[condition]
            return (
                chosen if isinstance(chosen, Open) else self._known[then if chosen else otherwise]
            )
        values = [self._known[arg] for arg in term.args]
        if term.op in ("and", "or"):
            return _junction(values, deciding=term.op == "or")
        return _open_of(values) or _applied(term.op, term.param, values)


def _is_fixed(term: Term) -> bool:
    """Whether a term is settled in every iteration, if its parts are."""
    if isinstance(term, Var):
        return term.type != INT
    return not isinstance(term, Result) or all(isinstance(index, Const) for index in term.indices)


def _open_of(values: Iterable[Any]) -> Open | None:
    """What leaves something open that is made of these: one that is not declared before one that is."""
    found: Open | None = None
    for each in values:
        if isinstance(each, Open):
            if not each.declared:
                return each
            found = found or each
    return found


def _junction(values: Sequence[Any], *, deciding: bool) -> Any:
    if any(each is deciding for each in values):
        return deciding
    return _open_of(values) or (not deciding)


def _applied(op: str, param: str, values: Sequence[Any]) -> Any:
    if op in ("eq", "in") and _depends_on_identity(op, *values):
        return Open(IDENTITY_OF_NAN)
    if op in ("set", "dict") and sum(map(has_nan, values[:: 2 if op == "dict" else 1])) > 1:
        return Open("a container with two NaN as keys depends on their identity")
    is_too_large = _IS_TOO_LARGE.get(op)
    if is_too_large is not None and is_too_large(values):
        return Open(f"the outcome of {op} is too large to evaluate")
    try:
        return operators.apply(op, param, values)
    except UnspecifiedError as error:
        return Open(str(error))
    except TypeError:
        if op not in ("set", "dict"):
            raise
        return Open("an item that can't be hashed stands in a set or as a key")


def same(one: Any, other: Any) -> bool:
    """Python's `==`; UnspecifiedError where it would look at the identity of NaN."""
    if _depends_on_identity("eq", one, other):
        raise UnspecifiedError(IDENTITY_OF_NAN)
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


def _has_many_bits(values: Sequence[Any]) -> bool:
    # Finding the common divisor of fractions takes the square of the length.
    weight = 100 if any(isinstance(each, Fraction) for each in values) else 1
    return weight * sum(map(operators.bits, values)) > MAX_BITS


def _has_many_bits_of_fractions(values: Sequence[Any]) -> bool:
    return any(isinstance(each, Fraction) for each in values) and _has_many_bits(values)


def _has_many_characters(values: Sequence[Any]) -> bool:
    return sum(map(len, values)) > MAX_CHARACTERS


def _grows_long(values: Sequence[Any]) -> bool:
    text, old, new = values
    grows = len(new) - len(old)
    return grows > 0 and len(text) + text.count(old) * grows * bool(old) > MAX_CHARACTERS


_IS_TOO_LARGE: Final[Mapping[str, Callable[[Sequence[Any]], bool]]] = {
    **dict.fromkeys(("add", "sub", "rdiv"), _has_many_bits_of_fractions),
    **dict.fromkeys(("mul", "floordiv", "mod", "str_of_int"), _has_many_bits),
    "concat": _has_many_characters,
    "replace": _grows_long,
}
"""Whether the outcome, or the work to find it, is more than evaluation goes on with; exact for strings."""
