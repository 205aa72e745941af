"""Witnesses: a result with which a trusted call keeps its promises, as a term over what is known before the call.

Whether it keeps them is a goal (`lictor_ir.goals.promises`). Here is what may be a witness, and what a formula says
with one in the place of the result. Nobody has to believe whoever found it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lictor_ir.document import Atom
from lictor_ir.errors import UnsupportedError
from lictor_ir.json.strict_reading import Path, fail, object_of
from lictor_ir.json.terms import TermWriter, read_ref, read_terms
from lictor_ir.terms import TRUE, App, Result, Term, and_, not_, rebuild, results, substitute
from lictor_ir.types import INT, NEVER, ListOf, Type, accepts
from lictor_ir.validation.terms import TermRules, TermScope, refuse


@dataclass(frozen=True, slots=True)
class Witness:
    """A result of a call: a value, or a list of some length whose items are all that value."""

    value: Term
    length: Term | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return read_witness, (witness_json(self), ())


MAX_CASES: Final = 16
Witnesses = Mapping[str, Witness]
"""By the ids of calls."""


def check_witness(
    witness: Witness, atom: Atom, position: int, wanted: Type, rules: TermRules
) -> None:
    """DocumentError unless it reads only what an argument of the call may read, and has the type of the result."""
    path = ("witnesses", atom.id)
    scope = TermScope(atom.binders, position)
    rules.check(witness.value, (*path, "value"), scope)
    given = witness.value.type
    if witness.length is None:
        fits = accepts(wanted, given)
    else:
        rules.check(witness.length, (*path, "length"), scope)
        fits = isinstance(wanted, ListOf) and accepts(wanted.item, given)
        fits = fits and witness.length.type == INT
    if not fits or given == NEVER:
        raise refuse(path, f"must be {wanted}, as the result of {atom.effect} is")


def witnessed(term: Term, returned: Result, witness: Witness) -> Term:
    """The term with the witness in the place of the result."""
    if witness.length is None:
        return substitute(term, {returned: witness.value})
    length, item = witness.length, witness.value

    def change(part: Term) -> Term | None:
        if isinstance(part, App) and part.op in ("len", "at") and part.args[0] is returned:
            return length if part.op == "len" else item
        return None

    made = rebuild(term, change)
    if returned in results(made):
        raise UnsupportedError("a promise reads the list as a whole, not its length and its items")
    return made


def cases(witness: Witness) -> list[tuple[Term, Witness]]:
    """The witnesses that it is, each under its condition: exactly one of them holds."""
    found: list[tuple[Term, Witness]] = []
    condition, value = TRUE, witness.value
    while isinstance(value, App) and value.op == "ite" and len(found) < MAX_CASES:
        first, then, value = value.args
        found.append((and_(condition, first), replace(witness, value=then)))
        condition = and_(condition, not_(first))
    return [*found, (condition, replace(witness, value=value))]


def witness_json(witness: Witness) -> dict[str, Any]:
    """The witness as JSON has it: a table of terms, and which of them it is."""
    length = witness.length
    writer = TermWriter([witness.value] if length is None else [witness.value, length])
    return {
        "terms": writer.rows,
        "value": writer.ref(witness.value),
        "length": None if length is None else writer.ref(length),
    }


def read_witness(value: Any, path: Path) -> Witness:
    """The witness that `witness_json` gave, and no other form of it."""
    fields = object_of(value, path, "terms", "value", "length")
    known = read_terms(fields["terms"], (*path, "terms"))
    length = fields["length"]
    witness = Witness(
        read_ref(fields["value"], (*path, "value"), known),
        None if length is None else read_ref(length, (*path, "length"), known),
    )
    if witness_json(witness) != value:
        raise fail(
            path, "must hold the terms of the witness in their order, once each, and no other"
        )
    return witness
