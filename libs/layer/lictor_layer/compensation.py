"""How an effect is taken back when the run that made it does not complete.

    def refund(account: str, cents: int, result: str) -> None: ...

    @compensated_by(refund)
    @trusted("net")
    def charge(account: str, cents: int) -> str: ...

The undo takes what the function takes, and what it returned as `result`. The prover does not read it: what is proved is
proved of every prefix of a run, whether it is undone afterwards or not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from lictor_layer.declarations import ATTRIBUTE, Compensation, Declaration, declaration
from lictor_layer.errors import DeclarationError

F = TypeVar("F", bound=Callable[..., object])

RESULT = "result"


def compensated_by(undo: Callable[..., object], *, when_in_doubt: bool = False) -> Callable[[F], F]:
    """Names the function that takes the effect back.

    With `when_in_doubt`, it may also be called when nobody knows whether the effect happened, then with None for
    `result`, and may be called again: it does nothing where there is nothing to take back.
    """
    if not inspect.isfunction(undo) or inspect.iscoroutinefunction(undo):
        raise DeclarationError(f"@compensated_by takes a plain function, not {undo!r}")

    def decorate(function: F) -> F:
        _check_parameters(function, undo)
        return _declared(function, Compensation(undo, when_in_doubt))

    return decorate


def nothing_to_undo(function: F) -> F:
    """Says that the effect leaves nothing behind that would have to be taken back: it only reads."""
    return _declared(function, Compensation(None, when_in_doubt=True))


def _declared(function: Any, compensation: Compensation) -> Any:
    if not inspect.isfunction(function):
        raise DeclarationError(f"{function!r} is no function; only functions are effects")
    old = declaration(function) or Declaration()
    if old.compensation is not None:
        raise DeclarationError(f"{function.__name__} says twice how it is undone; say it once")
    setattr(function, ATTRIBUTE, replace(old, compensation=compensation))
    return function


def _check_parameters(function: Callable[..., object], undo: Callable[..., object]) -> None:
    given = inspect.signature(function).parameters
    taken = inspect.signature(undo).parameters
    if RESULT in given:
        raise DeclarationError(
            f"{function.__name__} has a parameter `result`; rename it, so that it can be undone"
        )
    plain = all(
        each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) for each in taken.values()
    )
    wanted = [*given, RESULT]
    if not plain or sorted(taken) != sorted(wanted):
        raise DeclarationError(
            f"{undo.__name__} undoes {function.__name__}, so it takes {', '.join(wanted)}, by these"
            f" names; it takes {', '.join(taken) or 'nothing'}"
        )
