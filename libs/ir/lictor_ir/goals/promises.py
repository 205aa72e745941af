"""Whether trusted calls can keep what they promise: for every run that comes to a call, some result keeps it all.

Promises that nothing can keep would prove anything. Calls are looked at in the order of a run. Given that the calls
before it kept their promises, the goal of a call says that its witness keeps every promise of it, in every iteration.
So each run that kept its promises so far goes on to the end, and nothing that is proved from promises is vacuous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from lictor_ir.document import Assumption, Binder
from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.goals.builder import Builder
from lictor_ir.goals.goal import Goal, GoalKind
from lictor_ir.goals.occurrences import before, in_bounds, length
from lictor_ir.goals.witness import Witness, Witnesses, cases, check_witness, witnessed
from lictor_ir.terms import (
    FALSE,
    TRUE,
    Const,
    Result,
    Term,
    and_,
    apply,
    const,
    implies,
    not_,
    or_,
    results,
    substitute,
)
from lictor_ir.validation.terms import refuse

_Put = Callable[[Term], Term]

MAX_WRITTEN_OUT: Final = 64
"""A promise about each item of a list is written out for lists up to this length."""


def promise_goals(builder: Builder, witnesses: Witnesses) -> Iterator[Goal]:
    """One goal for each call that promises something, in the order of the calls."""
    for call in builder.assumed.calls:
        yield promise_goal(builder, call, witnesses.get(call))


def promise_goal(builder: Builder, call: str, witness: Witness | None) -> Goal:
    """The goal that the witness keeps all that the call promises; DocumentError when it can't be one.

    Without a witness, what the call promises of its result is not shown to be kept.
    """
    refute, undecided = broken_promises(builder, call, witness)
    promises = builder.assumed.of(call)
    subject = next(
        at for at, each in enumerate(builder.document.assumptions) if each is promises[0]
    )
    given = [] if refute is FALSE else _kept_before(builder, call, refute)
    goal = Goal(
        f"promise.{call}",
        GoalKind.PROMISE,
        subject,
        tuple(given),
        refute,
        atoms=(call,),
        undecided=undecided,
    )
    return builder.finished(goal)


def broken_promises(
    builder: Builder, call: str, witness: Witness | None
) -> tuple[Term, tuple[str, ...]]:
    """That the witness breaks a promise of the call, over scalars, and what can't be said of that."""
    promises = builder.assumed.of(call)
    point = builder.assumed.point(call)
    returned = returned_by(promises, call)
    if witness is not None:
        if returned is None:
            raise refuse(
                ("witnesses", call), "is of no use: no promise reads what the call returns"
            )
        atom = builder.document.atoms[point.position]
        check_witness(witness, atom, point.position, returned.type, builder.rules)
    ways: list[Term] = []
    undecided: dict[str, None] = {}
    for promise in promises:
        try:
            for condition, case in [(TRUE, None)] if witness is None else cases(witness):
                broken = _broken(promise, len(point.binders), returned, case)
                ways.append(builder.expand(and_(condition, broken)))
        except (UnsupportedError, TermError) as why:
            # Of a call that is plainly never made, nothing needs to be known.
            if promise.guard is not FALSE:
                ways.append(TRUE)
                undecided[str(why)] = None
    return or_(*ways), tuple(undecided)


def returned_by(promises: Sequence[Assumption], call: str) -> Result | None:
    """The result that the promises of a call are about; None when they read none."""
    read = (each for promise in promises for each in results(*_terms(promise)))
    return next((each for each in read if each.call == call), None)


def _terms(promise: Assumption) -> list[Term]:
    return [promise.formula, promise.guard, *(binder.over for binder in promise.binders)]


def _broken(
    promise: Assumption, own: int, returned: Result | None, witness: Witness | None
) -> Term:
    """That the witness does not keep the promise."""

    def put(term: Term) -> Term:
        if returned is None:
            return term
        if witness is None:
            raise UnsupportedError("no result is known that keeps it")
        return witnessed(term, returned, witness)

    ways = [_broken_for(promise.binders[own:], promise.formula, put)]
    if witness is not None and witness.length is not None:
        ways.append(apply("lt", witness.length, const(0)))
    return and_(in_bounds(promise.binders[:own], {}), put(promise.guard), or_(*ways))


def _broken_for(binders: Sequence[Binder], formula: Term, put: _Put) -> Term:
    """That the formula does not hold for some choice of the indices: each is a constant to be found."""
    if not binders:
        return not_(put(formula))
    first, *rest = binders
    size = put(length(first.over))
    if not (
        isinstance(size, Const) and isinstance(size.value, int) and size.value <= MAX_WRITTEN_OUT
    ):
        bounds = and_(apply("le", const(0), first.index), apply("lt", first.index, size))
        return and_(bounds, _broken_for(rest, formula, put))
    ways: list[Term] = []
    for number in range(size.value):
        at: dict[Term, Term] = {first.index: const(number)}
        inner = [Binder(each.index, substitute(each.over, at)) for each in rest]
        ways.append(_broken_for(inner, substitute(formula, at), put))
    return or_(*ways)


def _kept_before(builder: Builder, call: str, refute: Term) -> list[Term]:
    """The promises of calls that returned before."""
    point = builder.assumed.point(call)
    given: list[Term] = []
    unread = builder.assumed.without_result(point.position)
    for instance in [*unread, *builder.assumed.relevant([refute])]:
        earlier = builder.expand(before(instance.point, point))
        if earlier is not FALSE:
            given.append(implies(earlier, instance.formula))
    return given
