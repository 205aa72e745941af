"""Cheap rewriting of comparisons between scalars, so that what is plain needs no solver.

Every rule keeps the value of the formula. `equal` and `ordered` are the only doors; what they leave stands as an `eq`,
`lt` or `le` between scalars of types that the solver compares exactly.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Final, cast

from lictor_ir.records import record
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Const,
    Term,
    and_,
    apply,
    const,
    eq,
    ite,
    not_,
)
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, EnumOf

NUMERIC: Final = (BOOL, INT, REAL, FLOAT)
EXACT_INTS: Final = 2**53
"""Below this, floats hold every int."""
MOST_FLOAT: Final = sys.float_info.max
MAX_DIGITS: Final = 4_000
"""Longer spellings of ints are left to the solver: Python refuses to read them."""
MAX_LIFTED: Final = 4_000
"""A comparison with a constant is pushed through at most so many alternatives."""


def equal(left: Term, right: Term) -> Term:
    """Python's == between scalars that are no containers, of any two types but `any`."""
    if left.type in NUMERIC and right.type in NUMERIC:
        left, right = _same_kind(left, right)
        left, right = _cancelled(left, right)
    elif left.type != right.type:
        return FALSE
    if isinstance(right, Const) and not isinstance(left, Const):
        return _lifted(left, lambda leaf: _equal_leaf(leaf, right))
    if isinstance(left, Const) and not isinstance(right, Const):
        return _lifted(right, lambda leaf: _equal_leaf(leaf, left))
    return _equal_leaf(left, right)


def ordered(op: str, left: Term, right: Term) -> Term:
    """`lt` or `le` between numbers or strings."""
    if isinstance(right, Const) and not isinstance(left, Const):
        return _lifted(left, lambda leaf: _ordered_leaf(op, leaf, right))
    if isinstance(left, Const) and not isinstance(right, Const):
        return _lifted(right, lambda leaf: _ordered_leaf(op, left, leaf))
    return _ordered_leaf(op, left, right)


# -- equality --------------------------------------------------------------------------------------


def _same_kind(left: Term, right: Term) -> tuple[Term, Term]:
    """Both sides as numbers of one type where that loses nothing; int against float may stay mixed."""
    if left.type == right.type:
        return left, right
    if left.type == BOOL:
        return _same_kind(apply("int_of_bool", left), right)
    if right.type == BOOL:
        return _same_kind(left, apply("int_of_bool", right))
    if left.type == INT and right.type == REAL:
        return apply("real_of_int", left), right
    if left.type == REAL and right.type == INT:
        return left, apply("real_of_int", right)
    return left, right


def _equal_leaf(left: Term, right: Term) -> Term:
    if isinstance(left, Const) and not isinstance(right, Const):
        left, right = right, left
    if left.type == right.type:
        if left.type == STR:
            return _equal_strings(left, right)
        if isinstance(left.type, EnumOf) and left is right:
            return TRUE
        if left.type == INT and _apart(left, right):
            return FALSE
        if left.type == FLOAT and isinstance(right, Const) and isinstance(right.value, float):
            number = _int_inside(left, right.value)
            if number is not None:
                return _equal_number(number, right)
        return eq(left, right)
    if isinstance(right, Const) and not isinstance(left, Const):
        return _equal_number(left, right)
    return eq(left, right)


def _equal_number(left: Term, right: Const) -> Term:
    """A number that is not known against a known one of another type."""
    value = right.value
    if not isinstance(value, int | float | Fraction):
        return FALSE
    if isinstance(value, float) and not math.isfinite(value):
        return FALSE
    exact = Fraction(value)
    if left.type == INT:
        return eq(left, const(int(exact))) if exact.denominator == 1 else FALSE
    if left.type == REAL:
        return eq(left, const(exact))
    if isinstance(left, App) and left.op == "float_of_int" and abs(exact) < EXACT_INTS:
        return equal(left.args[0], const(exact))
    # A float equals an int or a real only if that is exactly a float.
    nearest = _nearest(exact)
    return (
        eq(left, const(nearest)) if math.isfinite(nearest) and Fraction(nearest) == exact else FALSE
    )


def _nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf


def _cancelled(left: Term, right: Term) -> tuple[Term, Term]:
    """Sums of ints without the addends that both have."""
    if left.type != INT or right.type != INT:
        return left, right
    ours, theirs = _addends(left), _addends(right)
    if len(ours) + len(theirs) <= 2:
        return left, right
    rest: list[Term] = []
    remaining = list(theirs)
    for part in ours:
        if part in remaining:
            remaining.remove(part)
        else:
            rest.append(part)
    known = sum(_int(part) for part in rest if isinstance(part, Const))
    known -= sum(_int(part) for part in remaining if isinstance(part, Const))
    rest = [part for part in rest if not isinstance(part, Const)]
    remaining = [part for part in remaining if not isinstance(part, Const)]
    if not rest:
        return _sum(remaining), const(known)
    if not remaining:
        return _sum(rest), const(-known)
    return _sum([*rest, const(known)]) if known else _sum(rest), _sum(remaining)


def _known_difference(left: Term, right: Term) -> int | None:
    """The first less the second, where all that is not known of both is the same."""
    parts = [_addends(left), _addends(right)]
    known = [sum(_int(part) for part in side if isinstance(part, Const)) for side in parts]
    ours, theirs = (Counter(part for part in side if not isinstance(part, Const)) for side in parts)
    return known[0] - known[1] if ours == theirs else None


def _int(part: Const) -> int:
    return part.value if isinstance(part.value, int) else 0


def _addends(term: Term) -> tuple[Term, ...]:
    return term.args if isinstance(term, App) and term.op == "add" else (term,)


def _sum(terms: list[Term]) -> Term:
    return apply("add", *terms) if terms else const(0)


def _equal_strings(left: Term, right: Term) -> Term:
    if left is right:
        return TRUE
    if isinstance(left, App) and left.op == "str_of_int":
        if isinstance(right, App) and right.op == "str_of_int":
            return equal(left.args[0], right.args[0])
        if isinstance(right, Const) and len(str(right.value)) <= MAX_DIGITS:
            spelled = _spelled_int(str(right.value))
            return FALSE if spelled is None else equal(left.args[0], const(spelled))
    ours, theirs = _pieces(left), _pieces(right)
    ours, theirs = _without_common_start(ours, theirs)
    if ours is None or theirs is None:
        return FALSE
    ours.reverse()
    theirs.reverse()
    ours, theirs = _without_common_start(ours, theirs, backwards=True)
    if ours is None or theirs is None:
        return FALSE
    ours.reverse()
    theirs.reverse()
    if not ours and not theirs:
        return TRUE
    if not ours or not theirs:
        rest = ours or theirs
        if any(isinstance(part, Const) for part in rest):
            return FALSE
        return and_(*(eq(part, const("")) for part in rest))
    return eq(apply("concat", *ours), apply("concat", *theirs))


def _spelled_int(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(text) if str(int(text)) == text else None


def _pieces(term: Term) -> list[Term]:
    whole = term.args if isinstance(term, App) and term.op == "concat" else (term,)
    return [part for part in whole if not (isinstance(part, Const) and part.value == "")]


def _without_common_start(
    ours: list[Term], theirs: list[Term], *, backwards: bool = False
) -> tuple[list[Term] | None, list[Term] | None]:
    """Both without the parts that they share at the start (the end, for lists turned round); None when they clash."""
    ours, theirs = list(ours), list(theirs)
    while ours and theirs:
        one, other = ours[0], theirs[0]
        if one is other:
            del ours[0], theirs[0]
            continue
        if not (isinstance(one, Const) and isinstance(other, Const)):
            break
        a, b = str(one.value), str(other.value)
        size = min(len(a), len(b))
        if backwards:
            if a[-size:] != b[-size:]:
                return None, None
            a, b = a[:-size], b[:-size]
        else:
            if a[:size] != b[:size]:
                return None, None
            a, b = a[size:], b[size:]
        ours[:1] = [const(a)] if a else []
        theirs[:1] = [const(b)] if b else []
    return ours, theirs


# -- order -----------------------------------------------------------------------------------------


def _ordered_leaf(op: str, left: Term, right: Term) -> Term:
    for side, other in ((left, right), (right, left)):
        if isinstance(other, Const) and isinstance(other.value, float):
            number = _int_inside(side, other.value)
            if number is not None:
                return _int_against(op, number, other.value, number_is_left=side is left)
        if isinstance(other, Const) and side.type == FLOAT and other.type == INT:
            return _float_against(op, side, _int(other), number_is_left=side is left)
    if left.type == right.type == INT:
        strict = op == "lt"
        apart = _known_difference(left, right)
        if apart is not None:
            return const(apart < 0 or (not strict and apart == 0))
        if _below(left, right, strict=strict):
            return TRUE
        if _below(right, left, strict=not strict):
            return FALSE
    return apply(op, left, right)


def _int_inside(term: Term, limit: float) -> Term | None:
    """The int that a comparison with this float is really about; the nearest float keeps the order of ints."""
    if isinstance(term, Const):
        return None
    if term.type == INT:
        return term
    if isinstance(term, App) and term.op == "float_of_int" and abs(limit) < EXACT_INTS:
        return term.args[0]
    return None


def _int_against(op: str, number: Term, limit: float, *, number_is_left: bool) -> Term:
    if math.isnan(limit):
        return FALSE
    if math.isinf(limit):
        return const((limit > 0) == number_is_left)
    if number_is_left:
        top = math.floor(limit) if op == "le" else math.ceil(limit) - 1
        return ordered("le", number, const(top))
    bottom = math.ceil(limit) if op == "le" else math.floor(limit) + 1
    return ordered("le", const(bottom), number)


def _float_against(op: str, number: Term, limit: int, *, number_is_left: bool) -> Term:
    below, above = _neighbours(limit)
    if below == above:
        edge = const(below)
        return apply(op, number, edge) if number_is_left else apply(op, edge, number)
    # No float is that int: less, or less and equal, come to the same.
    return (
        apply("le", number, const(below)) if number_is_left else apply("le", const(above), number)
    )


def _neighbours(limit: int) -> tuple[float, float]:
    """The greatest float that is not above an int, and the least that is not below it."""
    try:
        nearest = float(limit)
    except OverflowError:
        return (MOST_FLOAT, math.inf) if limit > 0 else (-math.inf, -MOST_FLOAT)
    if int(nearest) == limit:
        return nearest, nearest
    if int(nearest) > limit:
        return math.nextafter(nearest, -math.inf), nearest
    return nearest, math.nextafter(nearest, math.inf)


def _apart(left: Term, right: Term) -> bool:
    return _below(left, right, strict=True) or _below(right, left, strict=True)


def _below(left: Term, right: Term, *, strict: bool) -> bool:
    """Whether the ranges alone say that left is less than right, or equal where that is enough."""
    top, bottom = interval(left).top, interval(right).bottom
    return (
        top is not None and bottom is not None and (top < bottom or (not strict and top == bottom))
    )


def _lifted(term: Term, leaf: Callable[[Term], Term]) -> Term:
    """A comparison with a constant, pushed through the alternatives of the other side."""
    if not (isinstance(term, App) and term.op == "ite"):
        return leaf(term)
    done: dict[Term, Term] = {}
    seen: set[Term] = set()
    stack: list[tuple[Term, bool]] = [(term, False)]
    while stack:
        at, ready = stack.pop()
        if ready and isinstance(at, App):
            done[at] = ite(at.args[0], done[at.args[1]], done[at.args[2]])
        elif at not in seen:
            seen.add(at)
            if len(seen) > MAX_LIFTED:
                return leaf(term)
            if isinstance(at, App) and at.op == "ite":
                stack += [(at, True), (at.args[2], False), (at.args[1], False)]
            else:
                done[at] = leaf(at)
    return done[term]


# -- what an int can be ----------------------------------------------------------------------------


@record()
class Interval:
    """From `bottom` to `top`, both included; None is open."""

    bottom: int | None
    top: int | None


def interval(term: Term) -> Interval:
    """A range that holds the value of an int term, whatever its variables are."""
    done: dict[Term, Interval] = {}
    for at in _arithmetic_order(term):
        done[at] = _interval(at, done)
    return done[term]


def _arithmetic_order(root: Term) -> list[Term]:
    """The int terms below the root through which ranges are computed, parts first."""
    order: list[Term] = []
    seen: set[Term] = set()
    stack: list[tuple[Term, bool]] = [(root, False)]
    while stack:
        term, ready = stack.pop()
        if ready:
            order.append(term)
        elif term not in seen:
            seen.add(term)
            stack.append((term, True))
            if isinstance(term, App) and term.op in ("add", "sub", "neg", "mul"):
                stack.extend((part, False) for part in term.args)
            elif isinstance(term, App) and term.op == "ite":
                stack.extend((part, False) for part in term.args[1:])
    return order


def _interval(term: Term, known: dict[Term, Interval]) -> Interval:
    if isinstance(term, Const):
        value = _int(term)
        return Interval(value, value)
    if not isinstance(term, App):
        return Interval(None, None)
    match term.op:
        case "add":
            parts = [known[part] for part in term.args]
            return Interval(
                _total([part.bottom for part in parts]), _total([part.top for part in parts])
            )
        case "sub":
            left, right = known[term.args[0]], known[term.args[1]]
            return Interval(
                _total([left.bottom, _negative(right.top)]),
                _total([left.top, _negative(right.bottom)]),
            )
        case "neg":
            part = known[term.args[0]]
            return Interval(_negative(part.top), _negative(part.bottom))
        case "mul":
            return _product([known[part] for part in term.args])
        case "ite":
            then, otherwise = known[term.args[1]], known[term.args[2]]
            return Interval(
                None
                if then.bottom is None or otherwise.bottom is None
                else min(then.bottom, otherwise.bottom),
                None if then.top is None or otherwise.top is None else max(then.top, otherwise.top),
            )
        case "int_of_bool":
            return Interval(0, 1)
        case "len" | "count" | "abs":
            return Interval(0, None)
        case "find":
            return Interval(-1, None)
        case _:
            return Interval(None, None)


def _total(ends: list[int | None]) -> int | None:
    total = 0
    for end in ends:
        if end is None:
            return None
        total += end
    return total


def _negative(end: int | None) -> int | None:
    return None if end is None else -end


def _product(parts: list[Interval]) -> Interval:
    whole = Interval(1, 1)
    for part in parts:
        ends = [whole.bottom, whole.top, part.bottom, part.top]
        if any(end is None for end in ends):
            if all(end is not None and end >= 0 for end in (whole.bottom, part.bottom)):
                whole = Interval((whole.bottom or 0) * (part.bottom or 0), None)
                continue
            return Interval(None, None)
        a, b, c, d = cast(list[int], ends)
        corners = (a * c, a * d, b * c, b * d)
        whole = Interval(min(corners), max(corners))
    return whole


def negated(term: Term) -> Term:
    """Its negation, with comparisons of ints turned round instead of wrapped."""
    if isinstance(term, App) and term.op in ("lt", "le") and term.args[0].type == INT:
        left, right = term.args
        if right.type == INT:
            return ordered("le" if term.op == "lt" else "lt", right, left)
    return not_(term)
