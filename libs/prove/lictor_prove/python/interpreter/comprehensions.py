"""Comprehensions: unrolled over known items, or executed once for an index of a list of unknown length."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from lictor_ir.provenance import made_of
from lictor_ir.terms import FALSE, TRUE, Term, and_, const, not_, or_
from lictor_prove.python.interpreter.loops import (
    ChangesOutside,
    assign_target,
    is_entered,
    run_unknown,
    symbolic_round,
)
from lictor_prove.python.machine.control_paths import Frame, Key, Store
from lictor_prove.python.machine.loop_summaries import LoopState
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    FALSE_VALUE,
    NONE_VALUE,
    Composite,
    ContainerItem,
    Content,
    InstanceRef,
    ObjectV,
    OnceV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    UnionV,
    boolean,
    count,
    described,
)
from lictor_prove.python.machine.unknown_sequences import with_picked
from lictor_prove.python.operations import containers
from lictor_prove.python.operations.comparisons import truth
from lictor_prove.python.operations.iterables import KnownItems, UnknownItems, plans, unchanged
from lictor_prove.python.operations.unknown import iterables as unknown_iterables
from lictor_prove.python.operations.unknown.containers import iterated, made
from lictor_prove.python.refusals import Raises, refuse
from lictor_prove.python.syntax.scopes import Comprehension, stored_names

_LISTED: Final = ".listed"
"""The list that a comprehension makes; no name of a program is spelled so."""


def evaluate(machine: Machine, node: Comprehension) -> SymbolicValue:
    """The list, set or dict."""
    return consumed(machine, node, machine.evaluate(node.generators[0].iter))


def consumed(machine: Machine, node: Comprehension, first: SymbolicValue) -> SymbolicValue:
    """The same, where its first iterable is known; a generator gives its items, all at once."""
    frame = _enter(machine, node)
    try:
        return _comprehended(machine, node, first)
    finally:
        machine.frame = frame


def _enter(machine: Machine, node: Comprehension) -> Frame:
    """A scope of its own: the variables don't leak, and closures see them."""
    outer = machine.frame
    names = {_LISTED, *stored_names([generator.target for generator in node.generators])}
    inner = Frame(machine.fresh_id(), outer, frozenset(names), function=False)
    machine.frames[inner.id] = inner
    machine.frame = inner
    return outer


def _comprehended(machine: Machine, node: Comprehension, first: SymbolicValue) -> SymbolicValue:
    found = plans(machine, first)
    if any(isinstance(how, UnknownItems) for _, how in found):
        if (
            len(found) == 1
            and len(node.generators) == 1
            and isinstance(node, ast.DictComp | ast.SetComp)
            and machine.declares_unknowns
        ):
            how = found[0][1]
            assert isinstance(how, UnknownItems)
            return _unknown_items(machine, node, how)
        if (
            len(found) == 1
            and len(node.generators) == 1
            and isinstance(node, ast.ListComp | ast.GeneratorExp)
        ):
            how = found[0][1]
            assert isinstance(how, UnknownItems)
            if isinstance(node, ast.ListComp) and machine.declares_unknowns:
                return _listed(machine, node, how)
            return _sequence(machine, node, how)
        refuse(
            "comprehension.symbolic",
            "over a list of unknown length, a list comprehension with one `for` is supported",
            "Use `for` statements, or one `for` in the comprehension.",
        )
    match node:
        case ast.DictComp():
            made = machine.make("dict", ())

            def put(present: Term) -> None:
                key, value = machine.evaluate(node.key), machine.evaluate(node.value)
                _certain(lambda: containers.put(machine, made, key, value, present))

            _each(machine, node.generators, 0, first, TRUE, put)
            return made
        case ast.SetComp():
            made = machine.make("set", ())

            def add(present: Term) -> None:
                item = machine.evaluate(node.elt)
                _certain(lambda: containers.add(machine, made, item, present))

            _each(machine, node.generators, 0, first, TRUE, add)
            return made
        case _:
            held: list[ContainerItem] = []

            def append(present: Term) -> None:
                held.append(ContainerItem(present, machine.evaluate(node.elt)))

            _each(machine, node.generators, 0, first, TRUE, append)
            containers.bounded(held)
            if isinstance(node, ast.GeneratorExp):
                return OnceV(tuple(held), ())
            return machine.make("list", held)


def _certain(action: Callable[[], None]) -> None:
    try:
        action()
    except Raises as problem:
        refuse("error.certain", f"{problem.error}: {problem.message}", problem.remedy)


def _each(
    machine: Machine,
    generators: list[ast.comprehension],
    at: int,
    value: SymbolicValue,
    present: Term,
    emit: Callable[[Term], None],
) -> None:
    """Run `emit` for every item that comes through, in order, on the path where it does."""
    generator = generators[at]
    for guard, how in plans(machine, value):
        if isinstance(how, UnknownItems):
            refuse(
                "comprehension.symbolic",
                "an inner `for` over a list of unknown length is not supported in a comprehension",
                "Use `for` statements.",
            )
        for entry in how.entries:
            unchanged(machine, how.watched)
            here = and_(guard, entry.present)

            def one(entry: ContainerItem = entry, here: Term = here) -> SymbolicValue:
                assign_target(machine, generator.target, entry.value)
                _filtered(machine, generators, at, 0, and_(present, here), emit)
                return NONE_VALUE

            machine.fork(here, one, lambda: NONE_VALUE)
        unchanged(machine, how.watched)


def _filtered(
    machine: Machine,
    generators: list[ast.comprehension],
    at: int,
    test: int,
    present: Term,
    emit: Callable[[Term], None],
) -> None:
    generator = generators[at]
    if test < len(generator.ifs):
        condition = truth(machine, machine.evaluate(generator.ifs[test]))
        machine.branch(generator.ifs[test], condition)

        def go_on() -> SymbolicValue:
            _filtered(machine, generators, at, test + 1, and_(present, condition), emit)
            return NONE_VALUE

        machine.fork(condition, go_on, lambda: NONE_VALUE)
    elif at + 1 < len(generators):
        inner = machine.evaluate(generators[at + 1].iter)
        _each(machine, generators, at + 1, inner, present, emit)
    else:
        emit(present)


def _listed(machine: Machine, node: ast.ListComp, how: UnknownItems) -> SymbolicValue:
    """A list of an unknown number of items; where they change what is there, by the loop that appends them."""
    mark, base = machine.mark(), machine.store
    machine.store = Store(base)
    try:
        listed = _sequence(machine, node, how)
    except ChangesOutside:
        machine.go_back(mark)
        return _appended(machine, node, how)
    base.written.update(machine.store.written)
    machine.store = base
    return listed


def _appended(machine: Machine, node: ast.ListComp, how: UnknownItems) -> SymbolicValue:
    generator, listed = node.generators[0], machine.make("list", ())
    append = ast.Attribute(ast.Name(_LISTED, ast.Load()), "append", ast.Load())
    body: list[ast.stmt] = [ast.Expr(ast.Call(append, [node.elt], []))]
    for test in reversed(generator.ifs):
        body = [ast.If(test, body, [])]
    loop = ast.For(generator.target, generator.iter, body, [])
    ast.fix_missing_locations(ast.copy_location(loop, node))
    machine.bind(_LISTED, listed)
    run_unknown(machine, loop, how)
    return listed


def _sequence(
    machine: Machine, node: ast.ListComp | ast.GeneratorExp, how: UnknownItems
) -> SymbolicValue:
    generator = node.generators[0]
    index = machine.fresh_index()
    item, keep = how.item(index)

    def body() -> tuple[SymbolicValue, Term]:
        assign_target(machine, generator.target, item)
        kept = keep
        for test in generator.ifs:
            condition = truth(machine, machine.evaluate(test))
            machine.branch(test, condition)
            kept = and_(kept, condition)
            machine.guard = and_(machine.guard, condition)
        value = machine.evaluate(node.elt)
        _closed(machine, value)
        written.update(machine.store.since(machine.targets[-1].store))
        return value, FALSE if machine.dead else kept

    written: dict[Key, SymbolicValue | Content] = {}
    machine.branch(generator.iter, is_entered(how.over))
    value, kept = symbolic_round(machine, index, how.over, keep, body)
    if kept is FALSE:
        # No item comes through. What was computed for one is of no path, and may have the names of other unknowns.
        return machine.make("list", ()) if isinstance(node, ast.ListComp) else OnceV((), ())
    if machine.declares_unknowns:
        value = _kept_objects(machine, node, SequenceV(how.over, index, value, kept), written)
    items = SequenceV(how.over, index, value, kept)
    if machine.declares_unknowns:
        items = with_picked(machine, items)
        if isinstance(node, ast.ListComp):
            return made(machine, "list", items)
    return items if isinstance(node, ast.ListComp) else replace(items, kind="iterator")


def _kept_objects(
    machine: Machine,
    node: ast.ListComp | ast.GeneratorExp,
    items: SequenceV,
    written: Mapping[Key, SymbolicValue | Content],
) -> SymbolicValue:
    """The item, where what was made for each of them is one object that stands for all."""
    rounds = count(SequenceV(items.over, items.index, items.item, TRUE))
    state = LoopState(
        items.index, rounds, items.keep is TRUE, node.lineno, machine.fresh_id(), machine
    )
    state.made = written
    value = state.anywhere(items.item)
    assert value is not None
    # How many are made, and for which items, decides what they hold together.
    labels = made_of((items.over, items.keep), machine.inputs, machine.unknowns)
    state.summaries = state.pooled(labels)
    machine.store.written.update(state.written(machine, rounds))
    return value


def _unknown_items(
    machine: Machine, node: ast.DictComp | ast.SetComp, how: UnknownItems
) -> SymbolicValue:
    """A dict or set of an unknown number of items."""
    elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    pairs = ast.copy_location(ast.Tuple(elements, ast.Load()), node)
    element = pairs if isinstance(node, ast.DictComp) else elements[0]
    listed = ast.copy_location(ast.ListComp(element, node.generators), node)
    items = _sequence(machine, listed, how)
    if isinstance(node, ast.DictComp):
        held = iterated(machine, items)
        return unknown_iterables.as_dict(machine, held)
    return unknown_iterables.as_set(machine, items)


def _closed(machine: Machine, value: SymbolicValue) -> None:
    """An item must be a value: what is made anew for each item can't be referred to afterwards."""
    match value:
        case Sym() | ObjectV():
            pass
        case Composite(items):
            for item in items:
                _closed(machine, item)
        case UnionV(options):
            for _, option in options:
                _closed(machine, option)
        case _:
            if isinstance(value, Ref | InstanceRef) and machine.declares_unknowns:
                return
            what = "a list, dict or set" if isinstance(value, Ref) else described(value)
            refuse(
                "comprehension.item",
                f"the items of a list of unknown length can't be {what}",
                "Use scalars, rows, containers, or tuples of scalars and rows.",
            )


def lazily(
    machine: Machine, node: ast.GeneratorExp, first: SymbolicValue, *, stop: bool
) -> SymbolicValue:
    """`any(…)` (stop at a true item) and `all(…)` (stop at a false one): what follows is not executed."""
    found = plans(machine, first)
    name = "any" if stop else "all"
    if any(isinstance(how, UnknownItems) for _, how in found):
        said = machine.hooks.of_every_item(machine, node, first, stop=stop)
        if said is not None:
            return boolean(said)
    if (
        machine.declares_unknowns
        and len(node.generators) == len(found) == 1
        and isinstance(found[0][1], UnknownItems)
    ):
        return _lazily_unknown(machine, node, found[0][1], name)
    if len(node.generators) != 1 or len(found) != 1 or not isinstance(found[0][1], KnownItems):
        refuse(
            f"builtin.{name}",
            f"{name}(… for …) is supported with one `for` over items that are known",
            "Loop with `for`, or let the trusted function decide.",
        )
    how = found[0][1]
    outer = _enter(machine, node)
    stopped: Term = FALSE
    for entry in how.entries:
        unchanged(machine, how.watched)
        outcomes: list[Term] = []

        def emit(present: Term, outcomes: list[Term] = outcomes) -> None:
            holds = truth(machine, machine.evaluate(node.elt))
            outcomes.append(and_(present, holds if stop else not_(holds)))

        def one(entry: ContainerItem = entry, emit: Callable[[Term], None] = emit) -> SymbolicValue:
            assign_target(machine, node.generators[0].target, entry.value)
            _filtered(machine, node.generators, 0, 0, TRUE, emit)
            return NONE_VALUE

        going = and_(not_(stopped), entry.present)
        machine.fork(going, one, lambda: FALSE_VALUE)
        stopped = or_(stopped, *(and_(going, outcome) for outcome in outcomes))
    unchanged(machine, how.watched)
    machine.frame = outer
    return boolean(stopped if stop else not_(stopped))


def _lazily_unknown(
    machine: Machine, node: ast.GeneratorExp, how: UnknownItems, name: str
) -> SymbolicValue:
    """Over a list of unknown length; where Python stops is not known, so nothing may be called on the way."""
    atoms, outer = len(machine.atoms), _enter(machine, node)
    items = _sequence(machine, node, how)
    machine.frame = outer
    if len(machine.atoms) != atoms:
        refuse(
            f"builtin.{name}",
            f"{name}(… for …) makes trusted calls, and where it stops is not known",
            "Loop with `for`, and leave with `break`.",
        )
    if isinstance(items, OnceV):
        return boolean(const(name == "all"))
    return unknown_iterables.some_holds(machine, items, name)
