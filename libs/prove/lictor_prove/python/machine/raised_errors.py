"""Errors that a program handles: where they are raised, and which `except` or `finally` takes over."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from lictor_ir.document import Span
from lictor_ir.terms import FALSE, TRUE, Term, and_, not_
from lictor_prove.python.machine.control_paths import Exit, RaisedError, Target
from lictor_prove.python.refusals import refuse

if TYPE_CHECKING:
    from lictor_prove.python.machine.machine_state import Machine

ERRORS: Final = frozenset(
    {
        "ArithmeticError",
        "AssertionError",
        "AttributeError",
        "BrokenPipeError",
        "BufferError",
        "ConnectionAbortedError",
        "ConnectionError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "EOFError",
        "Exception",
        "FileExistsError",
        "FileNotFoundError",
        "FloatingPointError",
        "IOError",
        "IndexError",
        "InterruptedError",
        "IsADirectoryError",
        "KeyError",
        "LookupError",
        "NameError",
        "NotADirectoryError",
        "NotImplementedError",
        "OSError",
        "OverflowError",
        "PermissionError",
        "ProcessLookupError",
        "RuntimeError",
        "TimeoutError",
        "TypeError",
        "UnboundLocalError",
        "UnicodeError",
        "ValueError",
        "ZeroDivisionError",
    }
)
"""The classes of errors that a program may raise."""
CAUGHT: Final = ERRORS | {"BaseException", "MemoryError", "RecursionError"}
"""Those that it may handle."""
_ALL: Final = ("BaseException", "Exception")


def is_caught(classes: frozenset[str] | None, handler: Sequence[str]) -> bool | None:
    """Whether a handler of these classes takes an error; None where its class does not tell.

    `classes`: what it may be, exactly; None for any Exception.
    """
    if any(each in _ALL for each in handler):
        return True
    if classes is None:
        return None
    taken = {
        issubclass(getattr(builtins, one), tuple(getattr(builtins, each) for each in handler))
        for one in classes
    }
    return taken.pop() if len(taken) == 1 else None


def catcher(
    machine: Machine, classes: frozenset[str] | None, *, must_not: bool = False
) -> Target | None:
    """The first that may take over where such an error is raised; `must_not`: where that is an obligation otherwise.

    What must not happen does not come to a `finally`.
    """
    return next(_catchers(machine.targets, classes, must_not=must_not), None)


def _catchers(
    targets: Sequence[Target], classes: frozenset[str] | None, *, must_not: bool
) -> Iterator[Target]:
    handled = any(_may_catch(each, classes) for each in targets)
    for target in reversed(targets):
        if (target.kind == "finally" and (handled or not must_not)) or _may_catch(target, classes):
            yield target


def _may_catch(target: Target, classes: frozenset[str] | None) -> bool:
    return target.kind == "try" and any(
        is_caught(classes, each) is not False for each in target.handlers
    )


def raise_error(
    machine: Machine, error: RaisedError, condition: Term = TRUE, *, must_not: bool = False
) -> None:
    """Where the condition holds, the path goes on at whoever takes over, or ends; elsewhere it goes on here."""
    if machine.dead or condition is FALSE:
        return
    guard = and_(machine.guard, condition)
    if guard is not FALSE:
        machine.departed += 1
        found = catcher(machine, error.classes, must_not=must_not)
        if found is None:
            machine.early_ends += error.spans
        else:
            _leave_for(machine, found, guard, error)
    machine.guard = and_(machine.guard, not_(condition))


def _leave_for(machine: Machine, found: Target, guard: Term, error: RaisedError) -> None:
    for target in reversed(machine.targets):
        if target is found:
            written = machine.store.since(target.store)
            target.exits.append(Exit(guard, written, error=error))
            return
        if target.kind == "going":
            # Nobody leaves in this round: that is looked at later.
            target.dropped.append(guard)
            machine.left_by_error.add(target.loop)
            return
        if target.kind == "symbolic":
            refuse(
                "try.comprehension",
                "this may fail for one of many items, and the error would be handled outside",
                "Write a `for` loop.",
            )


def spans_of(machine: Machine) -> tuple[Span, ...]:
    """Where the execution stands."""
    span = machine.hooks.span(machine.at) if machine.at is not None else None
    return () if span is None else (span,)


def together(errors: Iterable[RaisedError]) -> RaisedError:
    """One of these errors."""
    found = list(errors)
    classes = frozenset[str]().union(*(each.classes or () for each in found))
    return RaisedError(
        None if any(each.classes is None for each in found) else classes,
        tuple(dict.fromkeys(term for each in found for term in each.flows)),
        tuple(dict.fromkeys(label for each in found for label in each.labels)),
        tuple(dict.fromkeys(span for each in found for span in each.spans)),
    )
