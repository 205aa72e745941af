"""Places: values that a run is given from outside, as functions of indices.

An input, the result of a trusted call, and what is read of them by `at`, `column` and `len` have no definition in the
document. A solver sees each as an uninterpreted function of the indices on the way: `at(c1, i).email` is `c1[].email`
of `i`, and `len(c1)` is `c1.len()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lictor_ir.records import record
from lictor_ir.terms import App, Result, Term, Var, children, postorder
from lictor_ir.types import STR

LENGTH: Final = "len()"
"""The step from a container to its length; no column is named so."""


@record()
class Place:
    """Where a value comes from."""

    name: str
    """`x` for an input or index, `c1`, `c1[]`, `c1[].email`, `c1.len()` for what a call returned."""
    root: Var | Result
    steps: tuple[str, ...]
    """From the root inwards: `[]`, a column's name, or `LENGTH` at the end."""
    indices: tuple[Term, ...]
    """The result's own indices, then one for each `[]`."""


def place(term: Term) -> Place | None:
    """The place that a term names, or None when operators made its value."""
    steps: list[str] = []
    indices: list[Term] = []
    at = term
    while isinstance(at, App):
        if at.op == "at":
            steps.append("[]")
            indices.append(at.args[1])
        elif at.op == "column":
            steps.append(at.param.partition(":")[0])
        elif at.op == "len" and at is term and at.args[0].type != STR:
            steps.append(LENGTH)
        else:
            return None
        at = at.args[0]
    if not isinstance(at, Var | Result):
        return None
    own = at.indices if isinstance(at, Result) else ()
    name = at.name if isinstance(at, Var) else f"{at.call}!"
    steps.reverse()
    for step in steps:
        name += step if step == "[]" else f".{step}"
    return Place(name, at, tuple(steps), (*own, *reversed(indices)))


def parts(term: Term) -> tuple[Term, ...]:
    """What a solver sees a term made of: for a place, only its indices."""
    found = place(term)
    return children(term) if found is None else found.indices


def solver_order(*roots: Term) -> Iterator[Term]:
    """Every term below the roots that a solver sees, once, parts before wholes."""
    return postorder(*roots, parts=parts)
