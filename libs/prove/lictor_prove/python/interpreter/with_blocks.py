"""`with`: of the managers that there are, none runs code that can't be seen. `suppress` is a `try`."""

from __future__ import annotations

import ast
from typing import NoReturn

from lictor_prove.python.interpreter.error_handling import run_try
from lictor_prove.python.interpreter.loops import assign_target
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import NONE_VALUE, BuiltinV
from lictor_prove.python.refusals import refuse


def run_with(machine: Machine, node: ast.With) -> None:
    """A `with` statement."""
    item, *others = node.items
    body: list[ast.stmt] = node.body
    if others:
        # Each stands in the block of the one before it.
        body = [ast.copy_location(ast.With(others, node.body), node)]
    match item.context_expr:
        case ast.Call(func=function) as call:
            pass
        case _:
            _refuse_manager(item)
    match machine.evaluate(function):
        case BuiltinV("contextlib.suppress"):
            _suppress(machine, call, item.optional_vars, body)
        case BuiltinV("contextlib.nullcontext"):
            _without_context(machine, call, item.optional_vars, body)
        case _:
            _refuse_manager(item)


def _refuse_manager(item: ast.withitem) -> NoReturn:
    refuse(
        "unsupported.with",
        "a `with` runs code of its manager that can't be seen, but for contextlib.suppress and contextlib.nullcontext",
        "Call trusted functions before and after: `try: … finally: …`. What opens files or connections is a trusted "
        "function.",
        item.context_expr,
    )


def _suppress(
    machine: Machine, call: ast.Call, target: ast.expr | None, body: list[ast.stmt]
) -> None:
    """`with suppress(KeyError):` is `try: … except (KeyError,): pass`."""
    if call.keywords or not isinstance(target, ast.Name | None):
        refuse(
            "with.suppress",
            "suppress() takes classes of errors, and gives None",
            "Write `with suppress(KeyError):`.",
            call,
        )
    if target is not None:
        machine.bind(target.id, NONE_VALUE)
    if not call.args:
        machine.hooks.run(machine, body)
        return
    classes = ast.copy_location(ast.Tuple(call.args, ast.Load()), call)
    handler = ast.ExceptHandler(classes, None, [ast.copy_location(ast.Pass(), call)])
    run_try(machine, body, [ast.copy_location(handler, call)], [], [])


def _without_context(
    machine: Machine, call: ast.Call, target: ast.expr | None, body: list[ast.stmt]
) -> None:
    """`with nullcontext(value) as target:` is `target = value`."""
    match call:
        case ast.Call(args=[ast.expr() as given], keywords=[]) if not isinstance(
            given, ast.Starred
        ):
            value = machine.evaluate(given)
        case ast.Call(args=[], keywords=[ast.keyword(arg="enter_result", value=given)]):
            value = machine.evaluate(given)
        case ast.Call(args=[], keywords=[]):
            value = NONE_VALUE
        case _:
            refuse(
                "with.nullcontext",
                "nullcontext() takes one value",
                "Write `nullcontext(value)`.",
                call,
            )
    if target is not None:
        assign_target(machine, target, value)
    machine.hooks.run(machine, body)
