"""Statements: one function for each kind of node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from lictor_ir.document import ObligationKind
from lictor_ir.terms import FALSE
from lictor_prove.python import attributes
from lictor_prove.python.interpreter.calls import function_value
from lictor_prove.python.interpreter.error_handling import leave_by, run_raise, run_try
from lictor_prove.python.interpreter.loops import assign_target, run_for, run_while
from lictor_prove.python.interpreter.patterns import run_match
from lictor_prove.python.interpreter.with_blocks import run_with
from lictor_prove.python.kinds import DICTS, NUMERIC, Kind, kind_of
from lictor_prove.python.machine.machine_state import Machine, always_raises
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    UNBOUND,
    MethodV,
    Ref,
    SymbolicValue,
    described,
)
from lictor_prove.python.operations import (
    container_methods,
    container_operators,
    instances,
    subscripts,
)
from lictor_prove.python.operations.arithmetic import SYMBOLS, binary
from lictor_prove.python.operations.comparisons import truth
from lictor_prove.python.operations.unknown.containers import is_unknown
from lictor_prove.python.refusals import Raises, refuse


def run(machine: Machine, body: Sequence[ast.stmt]) -> None:
    """Execute statements until no path goes on."""
    for statement in body:
        if machine.dead:
            return
        machine.at = statement
        machine.step()
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            refuse(
                f"unsupported.{type(statement).__name__.lower()}",
                f"{type(statement).__name__} is not supported inside a function",
                "See docs/python-subset.md.",
                statement,
            )
        try:
            handler(machine, statement)
        except Raises as problem:
            always_raises(problem)


def _expression(machine: Machine, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        machine.evaluate(node.value)


def _nothing(_: Machine, __: ast.stmt) -> None:
    pass


def _assign(machine: Machine, node: ast.Assign) -> None:
    value = machine.evaluate(node.value)
    for target in node.targets:
        assign_target(machine, target, value)


def _annotated(machine: Machine, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        refuse(
            "assign.target", "only a name can be annotated here", "Leave the annotation out.", node
        )
    if node.value is not None:
        machine.bind(node.target.id, machine.evaluate(node.value))


def _augmented(machine: Machine, node: ast.AugAssign) -> None:
    match node.target:
        case ast.Name(id=name):
            held = machine.evaluate(ast.copy_location(ast.Name(name, ast.Load()), node.target))
            right = machine.evaluate(node.value)
            machine.bind(name, _changed(machine, node.op, held, right))
        case ast.Subscript(value=owner, slice=index) if not isinstance(index, ast.Slice):
            container, at = machine.evaluate(owner), machine.evaluate(index)
            held = subscripts.item(machine, container, at)
            right = machine.evaluate(node.value)
            value = _changed(machine, node.op, held, right)
            try:
                subscripts.assign(machine, container, at, value)
            except Raises as problem:
                always_raises(problem)
        case ast.Attribute(value=owner, attr=attribute):
            instance = machine.evaluate(owner)
            held = machine.each(
                instance, lambda one: machine.hooks.attribute(machine, one, attribute)
            )
            right = machine.evaluate(node.value)
            value = _changed(machine, node.op, held, right)
            instances.assign(machine, instance, attribute, value)
        case _:
            refuse(
                "assign.target",
                "only names and items can be changed in place",
                "Rows don't change; make a new value.",
                node,
            )


def _changed(
    machine: Machine, op: ast.operator, held: SymbolicValue, right: SymbolicValue
) -> SymbolicValue:
    """`held op= right`: lists, sets and dicts change themselves, everything else is replaced."""

    def of(one: SymbolicValue) -> SymbolicValue:
        if not isinstance(one, Ref):
            if kind_of(machine, one) in (Kind.LIST, Kind.DICT, Kind.SET):
                refuse(
                    "assign.in-place",
                    f"{described(one)} can't be changed: the program did not write it out",
                    "Build a new one.",
                )
            if kind_of(machine, one) == Kind.JSON and (
                isinstance(op, ast.Mult)
                or any(kind_of(machine, each) not in NUMERIC for _, each in machine.cases(right))
            ):
                # A list that JSON holds would take the items over, or be repeated, for every name that it has.
                refuse(
                    "assign.in-place",
                    f"{described(one)} may be a list, and `{SYMBOLS[type(op)]}=` may change it",
                    "Convert it first: int(…), str(…).",
                )
            return binary(machine, op, one, right)
        return _in_place(machine, SYMBOLS[type(op)], one, right)

    return machine.on_each_path(machine.cases(held), of)


def _in_place(machine: Machine, op: str, ref: Ref, right: SymbolicValue) -> SymbolicValue:
    kind = machine.content(ref).kind
    if is_unknown(machine, ref) or (kind, op) == ("list", "+"):
        name = {"+": "extend", "|": "update"}.get(op, "")
        if (Kind(kind), name) not in attributes.ATTRIBUTES:
            refuse("assign.in-place", f"`{op}=` of a {kind} is not supported", "Build a new one.")
        attributes.call(machine, MethodV(ref, name), [right], {})
    elif kind in DICTS and op == "|":
        container_methods.update(machine, ref, [right])
    elif kind == "set" and op in ("|", "&", "-", "^"):
        container_operators.change_set(machine, op, ref, right)
    else:
        refuse("assign.in-place", f"`{op}=` of a {kind} is not supported", "Build a new one.")
    return ref


def _delete(machine: Machine, node: ast.Delete) -> None:
    """`del d[key]`, `del xs[index]`, `del name`; from left to right."""
    todo = list(node.targets)
    while todo:
        match todo.pop(0):
            case ast.Name(id=name) as target:
                # Whoever deletes what has no value gets a NameError.
                machine.evaluate(ast.copy_location(ast.Name(name, ast.Load()), target))
                machine.bind(name, UNBOUND)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                todo = [*parts, *todo]
            case ast.Subscript(value=owner, slice=index) if not isinstance(index, ast.Slice):
                container, at = machine.evaluate(owner), machine.evaluate(index)
                _delete_item(machine, container, at)
            case target:
                refuse(
                    "delete.target",
                    "only names, and items of lists and dicts, can be deleted",
                    "Build a new container.",
                    target,
                )


def _delete_item(machine: Machine, owner: SymbolicValue, at: SymbolicValue) -> None:
    cases = machine.cases(owner)
    one = cases[0][1]
    if len(cases) > 1 or not isinstance(one, Ref) or machine.stored(one).kind in ("set", "Counter"):
        refuse(
            "delete.item",
            f"items of {described(one)} can't be deleted here",
            "Delete items of one list or dict that the program made.",
        )
    attributes.call(machine, MethodV(one, "pop"), [at], {})


def _if(machine: Machine, node: ast.If) -> None:
    # `elif` chains are long lists of branches, not deep ones.
    def branch(at: ast.If) -> SymbolicValue:
        machine.at = at.test
        condition = truth(machine, machine.evaluate(at.test))
        machine.branch(at.test, condition)

        def then() -> SymbolicValue:
            machine.hooks.run(machine, at.body)
            return NONE_VALUE

        def otherwise() -> SymbolicValue:
            if len(at.orelse) == 1 and isinstance(at.orelse[0], ast.If):
                return branch(at.orelse[0])
            machine.hooks.run(machine, at.orelse)
            return NONE_VALUE

        return machine.fork(condition, then, otherwise)

    branch(node)


def _for(machine: Machine, node: ast.For) -> None:
    run_for(machine, node)


def _while(machine: Machine, node: ast.While) -> None:
    run_while(machine, node)


def _return(machine: Machine, node: ast.Return) -> None:
    value = machine.evaluate(node.value) if node.value is not None else NONE_VALUE
    leave_by(machine, "return", value)


def _break(machine: Machine, _: ast.Break) -> None:
    leave_by(machine, "break")


def _continue(machine: Machine, _: ast.Continue) -> None:
    leave_by(machine, "continue")


def _assert(machine: Machine, node: ast.Assert) -> None:
    condition = truth(machine, machine.evaluate(node.test))
    machine.branch(node.test, condition, must_hold=True)
    text = f"the assertion at line {node.lineno} holds"
    message = node.msg
    if message is not None:
        machine.fork(condition, lambda: NONE_VALUE, lambda: machine.evaluate(message))
    machine.require(condition, text, ObligationKind.ASSERTION, error="AssertionError")
    if condition is FALSE:
        machine.stop()
        return
    machine.suppose(condition)


def _raise(machine: Machine, node: ast.Raise) -> None:
    run_raise(machine, node)


def _try(machine: Machine, node: ast.Try) -> None:
    run_try(machine, node.body, node.handlers, node.orelse, node.finalbody)


def _define(machine: Machine, node: ast.FunctionDef) -> None:
    machine.bind(node.name, function_value(machine, node))


def _import(_: Machine, node: ast.stmt) -> None:
    refuse(
        "import.nested",
        "imports stand at the top of the file",
        "Move the import there.",
        node,
    )


_HANDLERS: Final[dict[type[ast.stmt], Callable[[Machine, Any], None]]] = {
    ast.Expr: _expression,
    ast.Pass: _nothing,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Match: run_match,
    ast.Delete: _delete,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Try: _try,
    ast.With: run_with,
    ast.FunctionDef: _define,
    ast.Import: _import,
    ast.ImportFrom: _import,
}
