"""`for` loops, and assignment to targets.

Over known items a loop is unrolled, so what it carries from round to round is exact. Over a list of unknown length the
body is executed once, for an index that stands for all of them; that is faithful only as long as no round sees what
another one left behind, and everything that could carry something over is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from lictor_ir.document import Binder
from lictor_ir.terms import FALSE, TRUE, Const, Term, Var, and_, apply, const, or_
from lictor_ir.types import INT
from lictor_prove.python.interpreter.carrying_loops import ConditionLoop, ListLoop, run_carrying
from lictor_prove.python.machine.control_paths import Store, Target
from lictor_prove.python.machine.machine_state import Machine, always_raises
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    BuiltinV,
    Content,
    FieldKey,
    Ref,
    SymbolicValue,
    TupleV,
    count,
    described,
)
from lictor_prove.python.machine.unknown_values import maybe_raised
from lictor_prove.python.operations import container_contents, instances, subscripts
from lictor_prove.python.operations.comparisons import truth
from lictor_prove.python.operations.iterables import (
    IterationPlan,
    KnownItems,
    UnknownItems,
    plan,
    unchanged,
)
from lictor_prove.python.operations.unknown import iterables as unknown_iterables
from lictor_prove.python.operations.unknown.containers import is_unknown, item_at, made, opened
from lictor_prove.python.operations.unknown.iterables import may_end, unpacked
from lictor_prove.python.refusals import Raises, SubsetRefusal, refuse
from lictor_prove.python.syntax.scopes import leaves_by

T = TypeVar("T")
MAX_NESTED = 12
MAX_UNROLLED = 200
"""Rounds of a `while` loop whose condition is known before each."""
MAX_LEAVING = 12
"""Of them, those that leave the loop on some path and go on on another: `while True` says nothing of their number."""


# -- targets ---------------------------------------------------------------------------------------


def assign_target(machine: Machine, target: ast.expr, value: SymbolicValue) -> None:
    """`target = value`."""
    match target:
        case ast.Name(id=name):
            machine.bind(name, value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if any(
            isinstance(part, ast.Starred) for part in parts
        ):
            _assign_parts(machine, parts, value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part, item in zip(parts, _unpacked(machine, value, len(parts)), strict=True):
                assign_target(machine, part, item)
        case ast.Subscript(value=owner, slice=index) if not isinstance(index, ast.Slice):
            held = machine.evaluate(owner)
            at = machine.evaluate(index)
            try:
                subscripts.assign(machine, held, at, value)
            except Raises as problem:
                always_raises(problem)
        case ast.Subscript():
            refuse(
                "assign.slice",
                "assigning to a slice is outside the subset",
                "Build a new list: xs[:1] + [x] + xs[2:].",
                target,
            )
        case ast.Attribute(value=owner, attr=name):
            instances.assign(machine, machine.evaluate(owner), name, value)
        case _:
            refuse(
                "assign.target",
                "only names, items and tuples of them can be assigned to",
                "Rows and modules don't change; make a new value.",
                target,
            )


def _assign_parts(machine: Machine, parts: list[ast.expr], value: SymbolicValue) -> None:
    """`first, *rest = value`: the rest is a new list."""
    star = next(at for at, part in enumerate(parts) if isinstance(part, ast.Starred))
    after = len(parts) - star - 1
    listed = machine.call(BuiltinV("list"), [value])
    if not isinstance(listed, Ref):
        refuse(
            "assign.unpack",
            "what is unpacked here depends on the path",
            "Unpack in each branch.",
        )
    if is_unknown(machine, listed):
        held = opened(machine, listed)
        size, least = count(held), const(len(parts) - 1)
        may_end(
            machine, apply("le", least, size), "a list is unpacked whose length is not known", value
        )
        last = apply("sub", size, const(after))
        rest = made(machine, "list", unknown_iterables.part(held, const(star), last))
        before = [item_at(held, const(at)) for at in range(star)]
        behind = [item_at(held, apply("add", last, const(at))) for at in range(after)]
    else:
        options = container_contents.configurations(machine, machine.content(listed))
        if len(options) != 1:
            refuse("assign.unpack", "how long this list is depends on the path", "Index it.")
        items = [entry.value for entry in options[0][1]]
        if len(items) < len(parts) - 1:
            always_raises(
                Raises(
                    "ValueError",
                    f"{len(items)} values are unpacked into {len(parts) - 1} names or more",
                )
            )
        end = len(items) - after
        before, behind = items[:star], items[end:]
        rest = machine.make_list(items[star:end])
    for part, item in zip(parts, [*before, rest, *behind], strict=True):
        assign_target(machine, part.value if isinstance(part, ast.Starred) else part, item)


def _unpacked(machine: Machine, value: SymbolicValue, size: int) -> tuple[SymbolicValue, ...]:
    cases = machine.cases(value)
    if len(cases) != 1:
        refuse(
            "assign.unpack",
            "what is unpacked here depends on the path",
            "Unpack in each branch, or use tuples of one length.",
        )
    one = cases[0][1]
    items: tuple[SymbolicValue, ...]
    match one:
        case TupleV():
            items = one.items
        case Ref() if machine.content(one).kind == "list" and not is_unknown(machine, one):
            options = container_contents.configurations(machine, machine.content(one))
            if len(options) != 1:
                refuse("assign.unpack", "how long this list is depends on the path", "Index it.")
            items = tuple(entry.value for entry in options[0][1])
        case _:
            try:
                how = plan(machine, one)
            except Raises as problem:
                always_raises(problem)
            if isinstance(how, UnknownItems) and machine.declares_unknowns:
                return unpacked(machine, one, size)
            if isinstance(how, UnknownItems) or any(e.present is not TRUE for e in how.entries):
                refuse(
                    "assign.unpack",
                    f"{described(one)} can't be unpacked: its length is not known",
                    "Take items by index.",
                )
            items = tuple(entry.value for entry in how.entries)
    if len(items) != size:
        always_raises(Raises("ValueError", f"{len(items)} values are unpacked into {size} names"))
    return items


# -- loops -----------------------------------------------------------------------------------------


def run_for(machine: Machine, node: ast.For) -> None:
    """A `for` statement."""
    value = machine.evaluate(node.iter)

    cases = machine.cases(value)

    def run(options: list[tuple[Term, SymbolicValue]]) -> SymbolicValue:
        guard, one = options[0]
        if len(options) > 1:
            return machine.fork(guard, lambda: run(options[:1]), lambda: run(options[1:]))
        try:
            how = plan(machine, one)
        except Raises as problem:
            if len(cases) == 1:
                raise
            machine.require(FALSE, f"no {problem.error}: {problem.message}")
            return NONE_VALUE
        _run(machine, node, how)
        return NONE_VALUE

    run(cases)


def _run(machine: Machine, node: ast.For, how: IterationPlan) -> None:
    if isinstance(how, UnknownItems):
        run_unknown(machine, node, how)
    else:
        _run_known(machine, node, how)


def _run_known(machine: Machine, node: ast.For, how: KnownItems) -> None:
    whole = machine.enter("loop") if leaves_by(node.body, ast.Break) else None
    continues = leaves_by(node.body, ast.Continue)
    entered = or_(*(entry.present for entry in how.entries))
    if not isinstance(entered, Const):
        machine.branch(node.iter, entered)
    for entry in how.entries:
        if machine.dead:
            break
        machine.at = node
        unchanged(machine, how.watched)

        def one(value: SymbolicValue = entry.value) -> SymbolicValue:
            turn = machine.enter("round") if continues else None
            assign_target(machine, node.target, value)
            machine.hooks.run(machine, node.body)
            if turn is not None:
                machine.close(turn, NONE_VALUE)
            return NONE_VALUE

        machine.fork(entry.present, one, lambda: NONE_VALUE)
    if not machine.dead:
        # What the last round appends would be one more round.
        machine.at = node
        unchanged(machine, how.watched)
        if whole is not None:
            # The rounds are over: a `break` in `else` is one of the loop around.
            whole.kind = "else"
        machine.hooks.run(machine, node.orelse)
    if whole is not None:
        machine.close(whole, NONE_VALUE)


def run_unknown(machine: Machine, node: ast.For, how: UnknownItems) -> None:
    """A `for` statement over a list of unknown length, which is evaluated."""

    def begin(item: SymbolicValue) -> None:
        assign_target(machine, node.target, item)

    machine.branch(node.iter, is_entered(how.over))
    run_carrying(machine, ListLoop(node, how, begin))


def run_while(machine: Machine, node: ast.While) -> None:
    """A `while` statement: unrolled as long as its condition is known, else by rounds of an unknown number."""
    mark = machine.mark()
    base = machine.store
    machine.store = Store(base)
    if _unrolled(machine, node):
        base.written.update(machine.store.written)
        machine.store = base
        return
    machine.go_back(mark)
    run_carrying(machine, ConditionLoop(node))


def _unrolled(machine: Machine, node: ast.While) -> bool:
    """Whether the condition is known before every round; then the rounds are executed."""
    whole, leaving = machine.enter("loop"), 0
    for _ in range(MAX_UNROLLED):
        left = sum(len(each.exits) for each in machine.targets)
        machine.at = node.test
        condition = truth(machine, machine.evaluate(node.test))
        known = machine.decided(condition)
        if known is None:
            return False
        if not known:
            whole.kind = "else"
            machine.hooks.run(machine, node.orelse)
            break
        turn = machine.enter("round")
        machine.hooks.run(machine, node.body)
        machine.close(turn, NONE_VALUE)
        if machine.dead:
            break
        leaving += sum(len(each.exits) for each in machine.targets) > left
        if leaving > MAX_LEAVING:
            return False
    else:
        return False
    machine.close(whole, NONE_VALUE)
    return True


def is_entered(over: Term) -> Term:
    """Whether a loop over a list, or over the numbers below a count, has a round."""
    return apply("lt", const(0), over if over.type == INT else apply("len", over))


class ChangesOutside(SubsetRefusal):
    """What is executed once for all rounds changes something for the next one."""


def symbolic_round(
    machine: Machine, index: Var, over: Term, keep: Term, body: Callable[[], T]
) -> T:
    """Execute the body for every index at once, and make sure that it left nothing behind."""
    if len(machine.binders) >= MAX_NESTED:
        refuse("limits.loops", "loops are nested too deeply", "Nest fewer loops.")
    guard, binders = machine.guard, machine.binders
    target, atoms = machine.enter("symbolic"), len(machine.atoms)
    machine.binders = (*binders, Binder(index, over))
    machine.guard = and_(guard, keep)
    outcome = body()
    _untouched(machine, target)
    assert machine.targets.pop() is target
    below = target.store.below
    assert below is not None
    machine.store, machine.guard, machine.binders = below, guard, binders
    machine.departed = target.departed
    if target.raising:
        if len(machine.atoms) != atoms:
            refuse(
                "try.comprehension",
                "this makes trusted calls, and may fail for one of many items; the error would be handled outside",
                "Write a `for` loop.",
            )
        maybe_raised(machine, [each for each in target.raising if each])
    return outcome


def _untouched(machine: Machine, target: Target) -> None:
    below = target.store.below
    assert below is not None
    for written in (machine.store.since(target.store), *(one.written for one in target.exits)):
        for key, value in written.items():
            if isinstance(value, Content) or isinstance(key, FieldKey):
                if below.get(key) is None:
                    continue
                raise ChangesOutside(
                    "loop.mutation",
                    "this runs an unknown number of times, and changes a container or an instance from outside of it",
                    "Make the calls in the loop itself instead of collecting for later.",
                )
