"""Seeing without a solver that formulas can't be true together: what must hold is put into the rest.

Every step keeps the models, so an outcome of false is one. Most implications between contracts end here: that a call
happens, and that an address is one of a list, decide the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lictor_ir.terms import FALSE, TRUE, App, Const, Term, Var, not_, substitute
from lictor_ir.types import INT, STR

MOST_STEPS: Final = 400
"""Formulas that are looked at; more are left to the solver."""


def plainly_contradict(formulas: Iterable[Term]) -> bool:
    """Whether they are seen to have no model; False says nothing."""
    known: dict[Term, Term] = {}
    waiting: list[Term] = list(formulas)
    left = MOST_STEPS
    while True:
        learnt = False
        todo = waiting[::-1]
        waiting = []
        while todo:
            left -= 1
            if left < 0:
                return False
            term = substitute(todo.pop(), known)
            parts = _parts(term)
            if term is FALSE:
                return True
            if parts is not None:
                todo.extend(reversed(parts))
            elif isinstance(term, App) and term.op in ("or", "ite"):
                waiting.append(term)
            elif term is not TRUE:
                place, value = _learnt(term)
                if isinstance(place, Var):
                    # What was learnt before may speak of it.
                    todo += [_fact(each) for each in known.items() if isinstance(each[0], App)]
                    known = {each: told for each, told in known.items() if isinstance(each, Var)}
                known[place] = value
                learnt = True
        if not learnt:
            return False


def ways_of(term: Term) -> tuple[Term, ...]:
    """The formulas of which one must hold for it to hold; none when it is false."""
    if term is FALSE:
        return ()
    if isinstance(term, App) and term.op == "or":
        return term.args
    if isinstance(term, App) and term.op == "not":
        (inside,) = term.args
        if isinstance(inside, App) and inside.op == "and":
            return tuple(not_(part) for part in inside.args)
    return (term,)


def _parts(term: Term) -> tuple[Term, ...] | None:
    """The formulas that it is the conjunction of."""
    if isinstance(term, App) and term.op == "and":
        return term.args
    if isinstance(term, App) and term.op == "not":
        (inside,) = term.args
        if isinstance(inside, App) and inside.op == "or":
            return tuple(not_(part) for part in inside.args)
    return None


def _learnt(term: Term) -> tuple[Term, Term]:
    """What a formula that must hold says: of a variable its value, where that is one, else that it holds."""
    if isinstance(term, App) and term.op == "not":
        return term.args[0], FALSE
    if isinstance(term, App) and term.op == "eq":
        for place, value in (term.args, term.args[::-1]):
            # Other types have equal values that are not the same: 0.0 and -0.0.
            known = isinstance(place, Var) and isinstance(value, Const)
            if known and place.type == value.type and place.type in (INT, STR):
                return place, value
    return term, TRUE


def _fact(learnt: tuple[Term, Term]) -> Term:
    return learnt[0] if learnt[1] is TRUE else not_(learnt[0])
