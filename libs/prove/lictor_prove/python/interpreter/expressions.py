"""Expressions: one function for each kind of node."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from lictor_ir.terms import Term, not_
from lictor_ir.types import BOOL
from lictor_prove.python import attributes
from lictor_prove.python.interpreter import comprehensions
from lictor_prove.python.interpreter.calls import evaluate_call, function_value
from lictor_prove.python.interpreter.generators import refuse_generator
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    FALSE_VALUE,
    TRUE_VALUE,
    BuiltinV,
    MethodV,
    Poison,
    Sym,
    SymbolicValue,
    TupleV,
    Unbound,
    UnionV,
    boolean,
    known,
)
from lictor_prove.python.operations import containers, format_strings, subscripts
from lictor_prove.python.operations.arithmetic import binary, concat, unary
from lictor_prove.python.operations.comparisons import compare, truth
from lictor_prove.python.refusals import Raises, refuse


def evaluate(machine: Machine, node: ast.expr) -> SymbolicValue:
    """The value of an expression; its effects are recorded in order."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        refuse(
            f"unsupported.{type(node).__name__.lower()}",
            f"{type(node).__name__} is outside the subset",
            "See docs/python-subset.md.",
            node,
        )
    return handler(machine, node)


def _constant(_: Machine, node: ast.Constant) -> SymbolicValue:
    value = node.value
    if value is None or isinstance(value, bool | int | float | str):
        return known(value)
    refuse(
        "unsupported.constant",
        f"a {type(value).__name__} is outside the subset",
        "Use bools, ints, floats, strings and None.",
        node,
    )


def _name(machine: Machine, node: ast.Name) -> SymbolicValue:
    value = machine.hooks.lookup(machine, node.id)
    if isinstance(value, UnionV | Unbound | Poison):
        cases = machine.cases(value)
        return cases[0][1] if len(cases) == 1 else UnionV(tuple(cases))
    return value


def _attribute(machine: Machine, node: ast.Attribute) -> SymbolicValue:
    owner = machine.evaluate(node.value)
    return machine.each(owner, lambda one: machine.hooks.attribute(machine, one, node.attr))


def _binary(machine: Machine, node: ast.BinOp) -> SymbolicValue:
    # `a + b + …` leans to the left; a loop instead of recursion takes chains of any length.
    chain: list[ast.BinOp] = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    value = machine.evaluate(chain[-1].left)
    for each in reversed(chain):
        right = machine.evaluate(each.right)
        machine.at = each
        value = binary(machine, each.op, value, right)
    return value


def _bool(machine: Machine, node: ast.BoolOp) -> SymbolicValue:
    both = isinstance(node.op, ast.And)
    value = machine.evaluate(node.values[0])
    for before, operand in pairwise(node.values):
        value = _joined(machine, before, value, operand, both=both)
    return value


def _joined(
    machine: Machine, node: ast.expr, value: SymbolicValue, operand: ast.expr, *, both: bool
) -> SymbolicValue:
    condition = truth(machine, value)
    machine.branch(node, condition)
    # A bool that decides is itself the outcome, and known there.
    decided = value
    if isinstance(value, Sym) and value.type == BOOL:
        decided = FALSE_VALUE if both else TRUE_VALUE
    if both:
        return machine.fork(condition, lambda: machine.evaluate(operand), lambda: decided)
    return machine.fork(condition, lambda: decided, lambda: machine.evaluate(operand))


def _unary(machine: Machine, node: ast.UnaryOp) -> SymbolicValue:
    value = machine.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        return boolean(not_(truth(machine, value)))
    return unary(machine, node.op, value)


def _compare(machine: Machine, node: ast.Compare) -> SymbolicValue:
    def rest(at: int, left: SymbolicValue) -> Term:
        right = machine.evaluate(node.comparators[at])
        holds = compare(machine, node.ops[at], left, right)
        if at + 1 == len(node.ops):
            return holds
        found = machine.fork(holds, lambda: boolean(rest(at + 1, right)), lambda: FALSE_VALUE)
        assert isinstance(found, Sym)
        return found.term

    return boolean(rest(0, machine.evaluate(node.left)))


def _conditional(machine: Machine, node: ast.IfExp) -> SymbolicValue:
    condition = truth(machine, machine.evaluate(node.test))
    machine.branch(node.test, condition)
    return machine.fork(
        condition, lambda: machine.evaluate(node.body), lambda: machine.evaluate(node.orelse)
    )


def _list(machine: Machine, node: ast.List) -> SymbolicValue:
    return _filled(machine, "list", node.elts)


def _tuple(machine: Machine, node: ast.Tuple) -> SymbolicValue:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return machine.call(BuiltinV("tuple"), [_filled(machine, "list", node.elts)])
    return TupleV(tuple(machine.evaluate(item) for item in node.elts))


def _set(machine: Machine, node: ast.Set) -> SymbolicValue:
    return _filled(machine, "set", node.elts)


def _filled(machine: Machine, kind: str, parts: list[ast.expr]) -> SymbolicValue:
    """A display: the items up to the first `*` are evaluated first, then one part after the other is put in."""
    star = next((at for at, part in enumerate(parts) if isinstance(part, ast.Starred)), len(parts))
    items = [machine.evaluate(part) for part in parts[:star]]
    if kind == "list":
        made = machine.make_list(items)
    else:
        made = machine.make("set", ())
        for item in items:
            _guarded(lambda item=item: containers.add(machine, made, item))
    one, several = ("append", "extend") if kind == "list" else ("add", "update")
    for part in parts[star:]:
        is_star = isinstance(part, ast.Starred)
        value = machine.evaluate(part.value if is_star else part)
        attributes.call(machine, MethodV(made, several if is_star else one), [value], {})
    return made


def _dict(machine: Machine, node: ast.Dict) -> SymbolicValue:
    pairs: list[tuple[SymbolicValue, SymbolicValue]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            refuse("unsupported.starred", "`**` in a dict is outside the subset", "Use `|`.", value)
        pairs.append((machine.evaluate(key), machine.evaluate(value)))
    made = machine.make("dict", ())
    for key, value in pairs:
        _guarded(lambda key=key, value=value: containers.put(machine, made, key, value))
    return made


def _guarded(action: Callable[[], None]) -> None:
    try:
        action()
    except Raises as problem:
        refuse("error.certain", f"{problem.error}: {problem.message}", problem.remedy)


def _joined_string(machine: Machine, node: ast.JoinedStr) -> SymbolicValue:
    parts: list[Term] = []
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            parts.append(known(str(piece.value)).term)
            continue
        assert isinstance(piece, ast.FormattedValue)
        parts.append(_formatted(machine, piece).term)
    return concat(*parts) if parts else known("")


def _formatted(machine: Machine, node: ast.FormattedValue) -> Sym:
    value = machine.evaluate(node.value)
    spec: SymbolicValue = known("")
    if node.format_spec is not None:
        if node.conversion != -1 and any(
            isinstance(part, ast.Call | ast.NamedExpr) for part in ast.walk(node.format_spec)
        ):
            refuse(
                "string.format",
                "whether the value is converted before this format is computed depends on the version of Python",
                "Compute the format in a statement before.",
            )
        spec = machine.evaluate(node.format_spec)
    machine.at = node
    conversion = None if node.conversion == -1 else chr(node.conversion)
    return format_strings.formatted(
        machine, format_strings.converted(machine, value, conversion), spec
    )


def _subscript(machine: Machine, node: ast.Subscript) -> SymbolicValue:
    owner = machine.evaluate(node.value)
    if isinstance(node.slice, ast.Slice):
        lower, upper, step = (
            machine.evaluate(bound) if bound is not None else None
            for bound in (node.slice.lower, node.slice.upper, node.slice.step)
        )
        return subscripts.part(machine, owner, lower, upper, step)
    return subscripts.item(machine, owner, machine.evaluate(node.slice))


def _lambda(machine: Machine, node: ast.Lambda) -> SymbolicValue:
    return function_value(machine, node)


def _walrus(machine: Machine, node: ast.NamedExpr) -> SymbolicValue:
    value = machine.evaluate(node.value)
    machine.bind(node.target.id, value)
    return value


def _generator(_: Machine, node: ast.GeneratorExp) -> SymbolicValue:
    refuse_generator(node)


_HANDLERS: Final[dict[type[ast.expr], Callable[[Machine, Any], SymbolicValue]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.JoinedStr: _joined_string,
    ast.FormattedValue: _formatted,
    ast.Subscript: _subscript,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.Call: evaluate_call,
    ast.ListComp: comprehensions.evaluate,
    ast.SetComp: comprehensions.evaluate,
    ast.DictComp: comprehensions.evaluate,
    ast.GeneratorExp: _generator,
}
