"""Generator expressions among the arguments of a call: their items are made when the call takes them.

Python evaluates the first iterable where the expression stands, and everything else when somebody asks for an item:
after the other arguments. What stops early, or changes an object for each item, is executed as the loop that it is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from lictor_prove.python.interpreter import comprehensions
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    BuiltinV,
    Content,
    FunctionV,
    MethodV,
    Ref,
    Sym,
    SymbolicValue,
    TupleV,
    alternatives,
)
from lictor_prove.python.operations import iterator_builtins
from lictor_prove.python.operations.iterables import unchanged
from lictor_prove.python.refusals import refuse

_CONSUMERS: Final = frozenset(
    {"sum", "min", "max", "list", "tuple", "set", "sorted", "dict", "collections.Counter"}
)
"""What takes all items before it does anything else."""
_FILLED: Final[Mapping[tuple[str, str], str]] = {
    ("list", "extend"): "append",
    ("set", "update"): "add",
}
"""Methods that put in one item after the other, and what they do for each."""
_ITEMS, _OWNER = ".items", ".owner"
"""Names that no program can spell."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A generator expression that was reached: its first iterable, and the objects that must stay as they were."""

    node: ast.GeneratorExp
    first: SymbolicValue
    watched: tuple[tuple[int, Content], ...]


def reached(machine: Machine, node: ast.GeneratorExp) -> Pending:
    """Evaluate the first iterable."""
    first = machine.evaluate(node.generators[0].iter)
    watched = tuple(
        (one.id, machine.stored(one))
        for _, one in alternatives(first)
        if isinstance(one, Ref) and machine.stored(one).kind != "list"
    )
    return Pending(node, first, watched)


def call(
    machine: Machine,
    function: SymbolicValue,
    pending: Pending,
    rest: Sequence[SymbolicValue],
    keywords: Sequence[tuple[str, SymbolicValue]],
) -> SymbolicValue:
    """The function called with a generator, and what stands after it."""
    unchanged(machine, pending.watched)
    match function:
        case BuiltinV("any" | "all" as name) if not rest and not keywords:
            return comprehensions.lazily(machine, pending.node, pending.first, stop=name == "any")
        case BuiltinV("next") if not keywords and len(rest) < 2:
            return _next(machine, pending, rest)
        case BuiltinV(name) if name in _CONSUMERS:
            items = comprehensions.consumed(machine, pending.node, pending.first)
            return machine.call(function, [items, *rest], keywords)
        case MethodV(_, "join") if not rest and not keywords:
            items = comprehensions.consumed(machine, pending.node, pending.first)
            return machine.call(function, [items], ())
        case MethodV(Ref() as owner, name) if not rest and not keywords:
            each = _FILLED.get((machine.stored(owner).kind, name))
            if each is not None:
                return _filled(machine, pending, owner, each)
        case _:
            pass
    refuse_generator(pending.node)


def refuse_generator(node: ast.GeneratorExp) -> NoReturn:
    """Nobody takes its items where it stands."""
    refuse(
        "unsupported.generator",
        "a generator expression is supported only as the first argument of any, all, sum, min, max, list, tuple, set, "
        "dict, sorted, next, Counter, join, extend or update",
        "Use a list: [… for …].",
        node,
    )


def _next(machine: Machine, pending: Pending, rest: Sequence[SymbolicValue]) -> SymbolicValue:
    """`next(… for …)`: the first item there is; what follows it is not executed."""
    node = pending.node
    there = ast.Tuple([ast.Constant(value=True), node.elt], ast.Load())
    none = ast.Tuple([ast.Constant(value=False), ast.Constant(value=None)], ast.Load())
    body = [*_loops(node, [ast.Return(there)]), ast.Return(none)]
    found = _executed(machine, node, body, {_ITEMS: pending.first})
    assert isinstance(found, TupleV)
    is_there, item = found.items
    assert isinstance(is_there, Sym)
    return iterator_builtins.first(machine, is_there.term, item, rest)


def _filled(machine: Machine, pending: Pending, owner: Ref, name: str) -> SymbolicValue:
    """`xs.extend(… for …)`: Python puts in each item before it makes the next one."""
    node = pending.node
    method = ast.Attribute(ast.Name(_OWNER, ast.Load()), name, ast.Load())
    body = _loops(node, [ast.Expr(ast.Call(method, [node.elt], []))])
    return _executed(machine, node, body, {_ITEMS: pending.first, _OWNER: owner})


def _loops(node: ast.GeneratorExp, innermost: list[ast.stmt]) -> list[ast.stmt]:
    body: list[ast.stmt] = innermost
    for at, generator in reversed(list(enumerate(node.generators))):
        for test in reversed(generator.ifs):
            body = list[ast.stmt]([ast.If(test, body, [])])
        over = generator.iter if at else ast.Name(_ITEMS, ast.Load())
        body = list[ast.stmt]([ast.For(generator.target, over, body, [])])
    return body


def _executed(
    machine: Machine,
    node: ast.GeneratorExp,
    body: list[ast.stmt],
    given: Mapping[str, SymbolicValue],
) -> SymbolicValue:
    """The statements in a scope of their own, as the items of a generator are made in one."""
    from lictor_prove.python.interpreter.calls import executed

    arguments = ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])
    made = ast.FunctionDef("generator", arguments, body, [])
    for each in ast.walk(made):
        if "lineno" in each._attributes and not hasattr(each, "lineno"):
            ast.copy_location(each, node)
    return executed(machine, FunctionV(made, machine.frame.id, {}), given)
