"""Whether a program can run at all, read off its document: asked before anybody is asked to approve it, and again by
the runner. What is refused here is refused every time, whatever was proved, whoever approved it, and whatever values it
is given (`lictor_prove.proof.given_inputs`).
"""

from __future__ import annotations

from typing import Final

from lictor_ir.document import Atom, Document
from lictor_ir.terms import TRUE, App, Const, Term
from lictor_prove.errors import Reason

MAX_ARGUMENTS: Final = 256 * 1024
"""Bytes of what a call is given, as JSON."""
MAX_PARTS: Final = 100_000
"""Parts of a value that crosses from a program to its layer."""
MAX_DEPTH: Final = 24
"""How deep such a value is nested."""


def why_not_run(document: Document) -> Reason | None:
    """Why no runner will ever run this program, whatever values it is given; None when nothing is known against it."""
    for atom in document.atoms:
        # Any other call may never be made.
        if atom.guard is TRUE and not atom.binders and _is_too_large(atom):
            return Reason(
                "argument.size",
                f"{atom.effect} is given more than {MAX_ARGUMENTS} bytes or {MAX_PARTS} parts, or what is nested"
                f" more than {MAX_DEPTH} deep",
                "give it less",
                atom.span.line if atom.span is not None else None,
                atom.span.column if atom.span is not None else None,
            )
    return None


def _is_too_large(atom: Atom) -> bool:
    """Whether what is written out of the arguments alone is more than a call may be given."""
    size = parts = 0
    # Lists may share their items, and be endless when written out: this ends early.
    left: list[tuple[Term, int]] = [(term, 0) for term in atom.arguments.values()]
    while left:
        term, depth = left.pop()
        parts += 1
        if isinstance(term, Const) and isinstance(term.value, str):
            size += len(term.value.encode())
        elif isinstance(term, App) and term.op in ("list", "tuple", "set", "dict"):
            left += [(each, depth + 1) for each in term.args]
        if size > MAX_ARGUMENTS or parts > MAX_PARTS or depth > MAX_DEPTH:
            return True
    return False
