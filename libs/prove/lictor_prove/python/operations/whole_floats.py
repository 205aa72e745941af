"""Ints where floats are declared: Python passes them on as ints, an atom holds the float that equals it.

Both are the same number in a comparison. Computed with they are not: an int does not round. So a contract may compute
with such a field only as far as floats hold every whole number.
"""

from __future__ import annotations

from typing import Final

from lictor_ir.terms import App, Const, Term, Var, postorder
from lictor_ir.types import FLOAT
from lictor_prove.python.refusals import refuse

SMALL: Final = 2**26
"""Ints up to here are passed as the equal float: no sum of a run, and no product of two, leaves what floats hold."""
_HELD: Final = 2**53


def check_rounding(term: Term) -> None:
    """Refuse a predicate that could tell an int in a field of floats from the float that equals it."""
    sizes: dict[Term, int | None] = {}
    for part in postorder(term):
        if part.type == FLOAT:
            size = sizes[part] = _size(part, sizes)
            if isinstance(part, App) and size is not None and size > _HELD:
                refuse(
                    "predicate.rounding",
                    "the predicate computes with a float field beyond 2**53, where a call that passes an int there"
                    " gives another number",
                    "Compute with smaller numbers, or declare the parameter int",
                )


def _size(part: Term, sizes: dict[Term, int | None]) -> int | None:
    """The most that the whole number in its place can be; None where Python certainly computes with floats."""
    match part:
        case Var():
            return SMALL
        case Const(value=float() as held) if held.is_integer():
            return abs(int(held))
        case App(op="ite", args=(_, one, other)):
            known = [size for size in (sizes[one], sizes[other]) if size is not None]
            return max(known, default=None)
        case App(op="neg" | "abs", args=(one,)):
            return sizes[one]
        case App(op="add" | "sub" | "mul" as op, args=(one, other)):
            left, right = sizes[one], sizes[other]
            if left is None or right is None:
                return None
            return left * right if op == "mul" else left + right
        case _:
            return None
