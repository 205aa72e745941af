"""What no runner would ever run, read off a document. That the runner agrees is tested beside it."""

from __future__ import annotations

import pytest

from lictor_ir.document import Atom, Binder, Document, Effect, Parameter
from lictor_ir.terms import TRUE, Term, apply, const, var
from lictor_ir.types import ANY, BOOL, INT, NONE
from lictor_prove.proof.runnability import MAX_ARGUMENTS, MAX_PARTS, why_not_run

MANY = apply("list", *[const(0)] * MAX_PARTS)
LONG = const("a" * (MAX_ARGUMENTS + 1))


def given(value: Term, guard: Term = TRUE, *loops: Binder) -> Document:
    atom = Atom("c1", "f", {"a": value}, guard, tuple(loops))
    return Document(
        "p", None, None, effects=(Effect("f", (Parameter("a", ANY),), NONE),), atoms=(atom,)
    )


@pytest.mark.parametrize("value", [LONG, MANY, apply("tuple", const(1), LONG)])
def test_a_call_that_is_always_made_and_given_too_much_is_told(value: Term) -> None:
    never = why_not_run(given(value))
    assert never is not None
    assert never.code == "argument.size"


@pytest.mark.parametrize(
    "document",
    [
        given(const("a")),
        # It may never be made.
        given(LONG, var("x", BOOL)),
        given(LONG, TRUE, Binder(var("i", INT), var("n", INT))),
        # What is not written out may be anything.
        given(apply("ite", var("x", BOOL), LONG, const("a"))),
    ],
)
def test_what_may_run_is_not_refused(document: Document) -> None:
    assert why_not_run(document) is None


def test_lists_that_share_their_items_are_not_written_out_to_be_measured() -> None:
    shared = apply("list", const(1))
    for _ in range(20):
        shared = apply("list", *[shared] * 10)
    assert why_not_run(given(shared)) is not None
