"""`try`, `raise`, and leaving through a `finally`.

A body is executed once. Every place in it that may raise, and be handled here, is a path that leaves for its handlers,
with what was assigned up to there. Which handler takes an error is known from its class, or declared unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from lictor_ir.terms import FALSE, Term, and_, not_
from lictor_ir.types import BOOL, STR
from lictor_prove.python.machine.control_paths import Exit, RaisedError, Target
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.raised_errors import (
    CAUGHT,
    ERRORS,
    catcher,
    is_caught,
    raise_error,
    spans_of,
    together,
)
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    UNBOUND,
    ErrorV,
    SymbolicValue,
    is_none,
)
from lictor_prove.python.machine.unknown_values import flows, unknown
from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.scopes import leaves_by, returns


def leave_by(machine: Machine, to: str, value: SymbolicValue = NONE_VALUE) -> None:
    """`return`, `break` or `continue`: through each `finally` on the way."""
    for target in reversed(machine.targets):
        if target.kind == "finally":
            if not machine.dead:
                written = machine.store.since(target.store)
                target.exits.append(Exit(machine.guard, written, value, to=to))
                machine.stop()
            return
        if _is_there(target, to):
            machine.leave_for(target, value)
            return
        if target.kind == "going":
            # In this round nobody leaves: the one in which somebody does is looked at after the others.
            target.dropped.append(machine.guard)
            machine.stop()
            return
        if to == "continue" and target.kind == "last":
            machine.stop()
            return
    raise AssertionError(f"a {to} that stands nowhere is no Python")


def _is_there(target: Target, to: str) -> bool:
    match to:
        case "return":
            return target.kind == "function"
        case "break":
            return target.kind == "loop"
        case _:
            return target.kind in ("round", "going")


def run_try(
    machine: Machine,
    body: Sequence[ast.stmt],
    handlers: Sequence[ast.ExceptHandler],
    orelse: Sequence[ast.stmt],
    finalbody: Sequence[ast.stmt],
) -> None:
    """A `try` statement."""
    if not machine.declares_unknowns:
        refuse("unsupported.try", "a predicate handles no errors", "Test with `if` before.")
    classes = tuple(_classes(machine, each.type, each) for each in handlers)
    if not finalbody:
        _handled(machine, body, handlers, classes, orelse)
        return
    _check_final(finalbody)
    whole, target = machine.enter("whole"), machine.enter("finally")
    if handlers:
        _handled(machine, body, handlers, classes, orelse)
    else:
        machine.hooks.run(machine, body)
    exits = _left(machine, target)
    ends = list(dict.fromkeys(each.to for each in exits if each.error is None))
    for to in ends:
        value = _arrive(
            machine, whole, [each for each in exits if each.error is None and each.to == to]
        )
        _finally(machine, finalbody)
        if to == "end":
            machine.leave_for(whole, NONE_VALUE)
        else:
            leave_by(machine, to, value)
    raised = [each for each in exits if each.error is not None]
    if raised:
        _arrive(machine, whole, raised)
        _finally(machine, finalbody)
        raise_error(machine, together(each.error for each in raised if each.error is not None))
    machine.guard = FALSE
    machine.store = whole.store
    machine.close(whole, NONE_VALUE)


def _finally(machine: Machine, finalbody: Sequence[ast.stmt]) -> None:
    machine.handling.append(None)
    machine.hooks.run(machine, finalbody)
    machine.handling.pop()


def _check_final(finalbody: Sequence[ast.stmt]) -> None:
    leaves = (
        returns(finalbody) or leaves_by(finalbody, ast.Break) or leaves_by(finalbody, ast.Continue)
    )
    if leaves:
        refuse(
            "try.finally",
            "return, break and continue in a `finally` make errors disappear",
            "Put them after the `try`.",
            finalbody[0],
        )


def _left(machine: Machine, target: Target) -> list[Exit]:
    """Close a body: the paths that left it, with the one that came to its end."""
    assert machine.targets.pop() is target
    assert machine.store is target.store
    exits = list(target.exits)
    machine.departed -= len(exits)
    if not machine.dead:
        exits.append(Exit(machine.guard, target.store.written, to="end"))
    below = target.store.below
    assert below is not None
    machine.store = below
    return exits


def _arrive(machine: Machine, whole: Target, exits: Sequence[Exit]) -> SymbolicValue:
    machine.store = whole.store
    return machine.arrive(exits, whole.guard)


def _handled(
    machine: Machine,
    body: Sequence[ast.stmt],
    handlers: Sequence[ast.ExceptHandler],
    classes: tuple[tuple[str, ...], ...],
    orelse: Sequence[ast.stmt],
) -> None:
    whole, target = machine.enter("whole"), machine.enter("try")
    target.handlers = classes
    machine.hooks.run(machine, body)
    exits = _left(machine, target)
    taken: list[list[Exit]] = [[] for _ in handlers]
    others: list[Exit] = []
    for each in exits:
        if each.error is not None:
            _dispatch(machine, each, handlers, classes, taken, others)
    for handler, found in zip(handlers, taken, strict=True):
        if found:
            _arrive(machine, whole, found)
            _run_handler(machine, handler, found)
            machine.leave_for(whole, NONE_VALUE)
    for each in others:
        assert each.error is not None
        _arrive(machine, whole, [each])
        raise_error(machine, each.error)
    for each in exits:
        if each.error is None:
            _arrive(machine, whole, [each])
            machine.hooks.run(machine, orelse)
            machine.leave_for(whole, NONE_VALUE)
    machine.guard = FALSE
    machine.store = whole.store
    machine.close(whole, NONE_VALUE)


def _dispatch(
    machine: Machine,
    path: Exit,
    handlers: Sequence[ast.ExceptHandler],
    classes: tuple[tuple[str, ...], ...],
    taken: list[list[Exit]],
    others: list[Exit],
) -> None:
    """Which handler a path goes on in; `others` are handled further out, or end."""
    error = path.error
    assert error is not None
    guard: Term = path.guard
    may = [at for at, each in enumerate(classes) if is_caught(error.classes, each) is not False]
    for at in may:
        condition: Term | None = None
        is_last = at == may[-1] and catcher(machine, error.classes) is None
        if is_caught(error.classes, classes[at]) is None and not (
            is_last and error.classes is None
        ):
            machine.guard, machine.at = guard, handlers[at]
            why = f"whether line {handlers[at].lineno} handles an error"
            condition = unknown(machine, BOOL, why, error.flows, labels=error.labels).term
        here = guard if condition is None else and_(guard, condition)
        taken[at].append(Exit(here, path.written, error=error))
        if condition is None:
            return
        guard = and_(guard, not_(condition))
    others.append(Exit(guard, path.written, error=error))


def _run_handler(machine: Machine, handler: ast.ExceptHandler, found: Sequence[Exit]) -> None:
    error = together(each.error for each in found if each.error is not None)
    machine.at = handler
    left = [len(target.exits) for target in machine.targets]
    if handler.name is not None:
        why = "the text of an error"
        text = unknown(machine, STR, why, error.flows, labels=error.labels)
        machine.bind(handler.name, ErrorV(text))
    machine.handling.append(error)
    machine.hooks.run(machine, handler.body)
    machine.handling.pop()
    if handler.name is not None:
        # However the handler is left, the name is gone.
        machine.bind(handler.name, UNBOUND)
        for target, size in zip(machine.targets, left, strict=True):
            for each in target.exits[size:]:
                each.written[machine.frame.id, handler.name] = UNBOUND


def run_raise(machine: Machine, node: ast.Raise) -> None:
    """A `raise` statement."""
    error = _again(machine, node) if node.exc is None else _made(machine, node)
    machine.at = node
    handling = machine.handling[-1] if machine.handling else None
    if handling is not None:
        # Where nobody handles it, it ends the run like the error that it comes from.
        spans = (*error.spans, *handling.spans)
        raise_error(machine, RaisedError(error.classes, error.flows, error.labels, spans))
    elif catcher(machine, error.classes, must_not=True) is not None:
        raise_error(machine, error, must_not=True)
    else:
        machine.require(FALSE, f"the raise at line {node.lineno} is not reached")
    machine.stop()


def _again(machine: Machine, node: ast.Raise) -> RaisedError:
    if not machine.handling or (error := machine.handling[-1]) is None:
        refuse("raise.again", "no error is handled here that could be raised again", "Name it.")
    machine.at = node
    spans = (*error.spans, *spans_of(machine))
    return RaisedError(error.classes, error.flows, error.labels, spans)


def _made(machine: Machine, node: ast.Raise) -> RaisedError:
    raised = node.exc
    name = raised.func if isinstance(raised, ast.Call) else raised
    if not isinstance(name, ast.Name) or name.id not in ERRORS or _is_bound(machine, name.id):
        refuse(
            "raise.class",
            "only builtin exceptions can be raised",
            "Raise ValueError or RuntimeError.",
            node,
        )
    given: list[SymbolicValue] = []
    if isinstance(raised, ast.Call):
        given = [machine.evaluate(argument) for argument in raised.args]
        if raised.keywords:
            refuse("raise.class", "errors take no keywords here", "Pass a text.", node)
        if _class(name.id) == "OSError" and len(given) > 1:
            refuse(
                "raise.class",
                "an OSError with a number becomes the class that stands for the number",
                "Raise that class with a text: FileNotFoundError, PermissionError.",
                node,
            )
    if node.cause is not None:
        cause = machine.evaluate(node.cause)
        if not isinstance(cause, ErrorV) and not is_none(cause):
            refuse(
                "raise.cause",
                "an error is raised from an error that is handled, or from None",
                "Write `from error`, with the name of a handler.",
                node,
            )
    machine.at = node
    made_of = (machine.guard, *flows(machine, *given)) if machine.handling or given else ()
    return RaisedError(frozenset({_class(name.id)}), made_of, spans=spans_of(machine))


def _class(name: str) -> str:
    return "OSError" if name == "IOError" else name


def _classes(machine: Machine, node: ast.expr | None, at: ast.AST) -> tuple[str, ...]:
    """The classes that a handler names."""
    if node is None:
        return ("BaseException",)
    named = node.elts if isinstance(node, ast.Tuple) else [node]
    found = [
        each.id
        for each in named
        if isinstance(each, ast.Name) and each.id in CAUGHT and not _is_bound(machine, each.id)
    ]
    if len(found) != len(named) or not found:
        refuse(
            "try.class",
            "a handler names builtin exceptions",
            "Name Exception, ValueError, KeyError, OSError, ConnectionError or a tuple of them.",
            at,
        )
    machine.handled.update(found)
    return tuple(found)


def _is_bound(machine: Machine, name: str) -> bool:
    frame = machine.frame
    while True:
        if name in frame.names:
            return True
        if frame.above is None:
            return False
        frame = frame.above
