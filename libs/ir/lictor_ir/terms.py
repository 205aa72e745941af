"""Terms: typed, immutable, shared.

A term is a constant, a variable, the result of a trusted call, a match against a regular expression, or an operator
applied to terms. Equal terms are one object, so comparing and hashing them costs nothing, a term that stands in many
places is stored once, and passes over terms remember by identity. `apply` is the only way to build an application: it
checks the operands' types and folds what is known.

Terms can be deep (a counter over a thousand branches): walk them with `postorder`, never by recursion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from lictor_ir import operators
from lictor_ir.errors import TermError, UnspecifiedError
from lictor_ir.regexes import Regex, full_match
from lictor_ir.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    REAL,
    STR,
    EnumOf,
    RowOf,
    Type,
)
from lictor_ir.values import EnumValue

HIGHEST_CHARACTER: Final = 0x2FF00
"""Solvers know characters up to U+2FFFF. Literals stay below this, so that every string over all of Unicode has a
string over theirs that no term can tell apart; what compares with a higher character can't be written."""

MAX_FOLDED: Final = 100_000
"""Folding never makes a string or number longer than this."""
MAX_FOLDED_REAL: Final = 16_384
"""The same for fractions, where every operation finds a common divisor."""
_ARITHMETIC: Final = frozenset({"add", "sub", "mul", "floordiv", "mod", "rdiv", "real_of_int"})


class Term:
    """A term; one object for all equal ones."""

    __slots__ = ("__weakref__", "below", "type")
    type: Type
    below: tuple[Term, ...]
    """The terms it is made of."""


class Const(Term):
    """A known scalar."""

    __slots__ = ("value",)
    value: bool | int | float | str | Fraction | EnumValue | None

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


class Var(Term):
    """An input, an index of a loop, a field of a relation (`e.addr`), or a fluent's key or value."""

    __slots__ = ("name",)
    name: str

    def __repr__(self) -> str:
        return f"Var({self.name})"


class Result(Term):
    """What a trusted call returned; inside loops, a function of their indices."""

    __slots__ = ("call", "indices")
    call: str
    indices: tuple[Term, ...]

    def __repr__(self) -> str:
        return f"Result({self.call}, {list(self.indices)})"


class Matches(Term):
    """Whether the whole string is in the language of a regular expression."""

    __slots__ = ("regex", "text")
    text: Term
    regex: Regex

    def __repr__(self) -> str:
        return f"Matches({self.text!r}, {self.regex!r})"


class App(Term):
    """An operator applied to terms."""

    __slots__ = ("args", "op", "param")
    op: str
    args: tuple[Term, ...]
    param: str
    """A static parameter of the operator: a column, a schema. Empty for most."""

    def __repr__(self) -> str:
        return f"App({self.op}{':' + self.param if self.param else ''}, {list(self.args)})"


_known: WeakValueDictionary[tuple[Any, ...], Term] = WeakValueDictionary()
_T = TypeVar("_T", bound=Term)


def _shared(
    kind: type[_T],
    type_: Type,
    parts: tuple[Any, ...],
    fields: tuple[Any, ...],
    below: tuple[Term, ...] = (),
) -> _T:
    """The one term with these parts; `fields`: what its slots hold, in their order."""
    key = (kind, type_, *parts)
    found = _known.get(key)
    if isinstance(found, kind):
        return found
    made = kind()
    made.type = type_
    made.below = below
    for name, value in zip(kind.__slots__, fields, strict=True):
        setattr(made, name, value)
    _known[key] = made
    return made


# -- leaves ----------------------------------------------------------------------------------------


def const(value: bool | int | float | str | Fraction | EnumValue | None) -> Const:
    """A known scalar, of the type that Python gives it."""
    type_, key = _typed(value)
    return _shared(Const, type_, (key,), (value,))


_CONSTANTS: Final = frozenset({bool, int, float, str, Fraction, EnumValue, type(None)})


def _typed(value: object) -> tuple[Type, object]:
    # The key must tell apart what Python calls equal: True and 1, 0.0 and -0.0. Of classes below these types, such as
    # enums, the text and the order are their own: one that was made first would stand for the equal plain value, too.
    if type(value) not in _CONSTANTS:
        raise TermError(f"{type(value).__name__} is no scalar of the format")
    match value:
        case bool():
            return BOOL, value
        case int():
            return INT, value
        case float():
            return FLOAT, value.hex()
        case str():
            if value and ord(max(value)) > HIGHEST_CHARACTER:
                raise TermError(
                    f"the character {max(value)!r} is above U+{HIGHEST_CHARACTER:X}, where solvers can't follow"
                )
            return STR, value
        case Fraction():
            return REAL, value
        case EnumValue(enum):
            return EnumOf(enum), value
        case None:
            return NONE, value
        case _:
            raise TermError(f"{type(value).__name__} is no scalar of the format")


def var(name: str, type_: Type) -> Var:
    """A variable."""
    return _shared(Var, type_, (name,), (name,))


def result(call: str, type_: Type, indices: Sequence[Term] = ()) -> Result:
    """What the trusted call returned, in the iteration that the indices name."""
    place = tuple(indices)
    if any(index.type != INT for index in place):
        raise TermError(f"the indices of the result of {call} must be ints")
    return _shared(Result, type_, (call, place), (call, place), place)


TRUE: Final = const(value=True)
FALSE: Final = const(value=False)


# -- applications ----------------------------------------------------------------------------------


def matches(text: Term, regex: Regex) -> Term:
    """Whether the whole string is in the language."""
    if text.type != STR:
        raise TermError(f"a regular expression is matched against a str, not {text.type}")
    if isinstance(text, Const) and isinstance(text.value, str):
        return const(full_match(regex, text.value))
    return _shared(Matches, BOOL, (text, regex), (regex, text), (text,))


def apply(op: str, *args: Term, param: str = "") -> Term:
    """The operator applied to the terms, folded where the outcome is known."""
    type_ = operators.result_type(op, tuple([arg.type for arg in args]), param)
    simpler = _folded(op, args, param)
    return simpler if simpler is not None else application(op, args, param, type_)


def application(op: str, args: Sequence[Term], param: str, type_: Type) -> App:
    """The application as it stands, unfolded: for reading documents, which hold what they hold."""
    held = tuple(args)
    return _shared(App, type_, (op, held, param), (held, op, param), held)


def not_(term: Term) -> Term:
    """Its negation."""
    return apply("not", term)


def and_(*terms: Term) -> Term:
    """All of them; true for none."""
    return apply("and", *terms) if terms else TRUE


def or_(*terms: Term) -> Term:
    """One of them; false for none."""
    return apply("or", *terms) if terms else FALSE


def implies(condition: Term, term: Term) -> Term:
    """The term wherever the condition holds."""
    return or_(not_(condition), term)


def ite(condition: Term, then: Term, otherwise: Term) -> Term:
    """One or the other."""
    return apply("ite", condition, then, otherwise)


def eq(left: Term, right: Term) -> Term:
    """Python's `==`."""
    return apply("eq", left, right)


def column(row: Term, name: str, type_: Type) -> Term:
    """A column of a row."""
    if not isinstance(row.type, RowOf):
        raise TermError(f"{name} is asked of {row.type}, which has no columns")
    return apply("column", row, param=f"{name}:{type_}")


# -- walking ---------------------------------------------------------------------------------------


def children(term: Term) -> tuple[Term, ...]:
    """The terms it is made of."""
    return term.below


def postorder(*roots: Term, parts: Callable[[Term], tuple[Term, ...]] = children) -> Iterator[Term]:
    """Every term below the roots once, parts before wholes, in an order that depends only on their structure."""
    seen: set[Term] = set()
    stack: list[Term | None] = [*reversed(roots)]
    while stack:
        term = stack.pop()
        if term is None:
            # What is below the next one is done.
            whole = stack.pop()
            assert whole is not None
            yield whole
        elif term not in seen:
            seen.add(term)
            below = term.below if parts is children else parts(term)
            if not below:
                yield term
                continue
            stack += (term, None)
            stack += [part for part in reversed(below) if part not in seen]


def rebuild(root: Term, change: Callable[[Term], Term | None]) -> Term:
    """The term with every part changed, from the leaves up; None leaves a part as its changed parts make it."""
    done: dict[Term, Term] = {}
    for term in postorder(root):
        changed = change(term)
        if changed is None:
            below = term.below
            changed = with_children(term, tuple([done[part] for part in below])) if below else term
        done[term] = changed
    return done[root]


def substitute(root: Term, values: Mapping[Term, Term]) -> Term:
    """The term with variables or results replaced."""
    return rebuild(root, values.get) if values else root


def with_children(term: Term, parts: Sequence[Term]) -> Term:
    """The term made of these parts instead of its own."""
    # Equal terms are one object, so this compares no more than whether they are the same.
    if tuple(parts) == term.below:
        return term
    match term:
        case App():
            return apply(term.op, *parts, param=term.param)
        case Result():
            return result(term.call, term.type, parts)
        case Matches():
            return matches(parts[0], term.regex)
        case _:
            return term


def variables(*roots: Term) -> Set[Var]:
    """The variables that stand in the terms, in the order in which they do."""
    return {term: None for term in postorder(*roots) if isinstance(term, Var)}.keys()


def results(*roots: Term) -> Set[Result]:
    """The results of trusted calls that stand in the terms, in the order in which they do.

    Terms are hashed by where they are in memory: what is made of a plain set of them is another one in each process.
    """
    return {term: None for term in postorder(*roots) if isinstance(term, Result)}.keys()


# -- folding ---------------------------------------------------------------------------------------


class _Unknown(Exception):
    """A part of a term is not known."""


_MADE: Final = frozenset({"list", "tuple", "set", "dict", "row"})
_ORIGIN: Final = frozenset({"from", "not_from", "same_row"})


def known_value(term: Term) -> Any:
    """The value of a term without variables; UnspecifiedError when it has some, or its value is left open."""
    try:
        return _known_value(term)
    except _Unknown:
        raise UnspecifiedError("the term has variables") from None


def _known_value(term: Term) -> Any:
    if isinstance(term, Const):
        return term.value
    if isinstance(term, App) and term.op in _MADE:
        values = [_known_value(arg) for arg in term.args]
        # Containers compare NaN by identity, which terms don't have.
        if any(isinstance(value, float) and math.isnan(value) for value in values):
            raise _Unknown
        try:
            return operators.apply(term.op, term.param, values)
        except TypeError:  # an item that can't be hashed
            raise _Unknown from None
    raise _Unknown


def _folded(op: str, args: tuple[Term, ...], param: str) -> Term | None:
    if op in _ORIGIN or op in _MADE:
        return None
    if op == "column":
        return _fold_column(args[0], param)
    rule = _RULES.get(op)
    simpler = rule(args) if rule else None
    if simpler is not None:
        return simpler
    try:
        values = [_known_value(arg) for arg in args]
        if not _small(op, values):
            return None
        outcome = operators.apply(op, param, values)
    except (_Unknown, UnspecifiedError):
        return None
    if outcome is True or outcome is False:
        return TRUE if outcome else FALSE
    try:
        return const(outcome)
    except TermError:
        return None


def _small(op: str, values: Sequence[Any]) -> bool:
    """Whether the outcome stays small: a program must not make the prover multiply itself out of memory."""
    if op in _ARITHMETIC:
        real = op == "real_of_int" or any(isinstance(v, Fraction) for v in values)
        return sum(map(operators.bits, values)) <= (MAX_FOLDED_REAL if real else MAX_FOLDED)
    if op == "replace":
        return len(values[0]) * (len(values[2]) + 1) <= MAX_FOLDED
    if op in ("concat", "str_of_int"):
        return (
            sum(len(v) if isinstance(v, str) else v.bit_length() // 3 for v in values) <= MAX_FOLDED
        )
    return True


def _fold_not(args: tuple[Term, ...]) -> Term | None:
    (arg,) = args
    return arg.args[0] if isinstance(arg, App) and arg.op == "not" else None


def _junction(
    op: str, neutral: Const, deciding: Const
) -> Callable[[tuple[Term, ...]], Term | None]:
    def fold(args: tuple[Term, ...]) -> Term | None:
        flat: dict[Term, None] = {}
        for arg in args:
            parts = arg.args if isinstance(arg, App) and arg.op == op else (arg,)
            for part in parts:
                if part is not neutral:
                    flat[part] = None
        if deciding in flat:
            return deciding
        for part in flat:
            if isinstance(part, App) and part.op == "not" and part.args[0] in flat:
                return deciding
        if not flat:
            return neutral
        if len(flat) == 1:
            return next(iter(flat))
        return None if tuple(flat) == args else application(op, tuple(flat), "", BOOL)

    return fold


def _fold_ite(args: tuple[Term, ...]) -> Term | None:
    condition, then, otherwise = args
    if condition is TRUE or then is otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if then is TRUE and otherwise is FALSE:
        return condition
    if then is FALSE and otherwise is TRUE:
        return not_(condition)
    if then.type == otherwise.type == BOOL:
        if then is TRUE:
            return or_(condition, otherwise)
        if otherwise is FALSE:
            return and_(condition, then)
    return None


def _fold_eq(args: tuple[Term, ...]) -> Term | None:
    left, right = args
    if left is right and left.type in (BOOL, INT, REAL, STR, NONE):
        return TRUE
    if left.type == right.type == BOOL:
        for side, other in ((left, right), (right, left)):
            if side is TRUE:
                return other
            if side is FALSE:
                return not_(other)
    return None


def _fold_le(args: tuple[Term, ...]) -> Term | None:
    return TRUE if args[0] is args[1] and args[0].type in (INT, REAL, STR) else None


def _fold_lt(args: tuple[Term, ...]) -> Term | None:
    return FALSE if args[0] is args[1] else None


def _fold_add(args: tuple[Term, ...]) -> Term | None:
    """Sums of ints are flat, with one constant at the end; floats keep their order, which rounds differently."""
    if args[0].type != INT:
        return args[0] if len(args) == 1 else None
    flat = _flat("add", args)
    known = sum(
        part.value for part in flat if isinstance(part, Const) and isinstance(part.value, int)
    )
    rest = [part for part in flat if not isinstance(part, Const)]
    parts = (*rest, const(known)) if known or not rest else tuple(rest)
    if len(parts) == 1:
        return parts[0]
    return None if parts == args else application("add", parts, "", INT)


def _fold_concat(args: tuple[Term, ...]) -> Term | None:
    joined: list[Term] = []
    for part in _flat("concat", args):
        last = joined[-1] if joined else None
        if isinstance(part, Const) and isinstance(last, Const):
            text = f"{last.value}{part.value}"
            if len(text) > MAX_FOLDED:
                return None
            joined[-1] = const(text)
        elif not (isinstance(part, Const) and part.value == ""):
            joined.append(part)
    if not joined:
        return const("")
    if len(joined) == 1:
        return joined[0]
    return None if tuple(joined) == args else application("concat", joined, "", STR)


def _fold_len(args: tuple[Term, ...]) -> Term | None:
    (arg,) = args
    made = isinstance(arg, App) and arg.op in ("list", "tuple")
    return const(len(arg.args)) if made and isinstance(arg, App) else None


def _fold_at(args: tuple[Term, ...]) -> Term | None:
    items, index = args
    if (
        isinstance(items, App)
        and items.op == "list"
        and isinstance(index, Const)
        and isinstance(index.value, int)
        and 0 <= index.value < len(items.args)
    ):
        return items.args[index.value]
    return None


def _fold_column(row: Term, param: str) -> Term | None:
    if isinstance(row, App) and row.op == "row":
        names = row.param.partition(":")[2].split(",")
        return row.args[names.index(param.partition(":")[0])]
    return None


def _flat(op: str, args: Iterable[Term]) -> list[Term]:
    return [
        part
        for arg in args
        for part in (arg.args if isinstance(arg, App) and arg.op == op else (arg,))
    ]


_RULES: Final[dict[str, Callable[[tuple[Term, ...]], Term | None]]] = {
    "not": _fold_not,
    "and": _junction("and", TRUE, FALSE),
    "or": _junction("or", FALSE, TRUE),
    "ite": _fold_ite,
    "eq": _fold_eq,
    "le": _fold_le,
    "lt": _fold_lt,
    "add": _fold_add,
    "concat": _fold_concat,
    "len": _fold_len,
    "at": _fold_at,
}
