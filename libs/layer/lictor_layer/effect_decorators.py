"""The decorators of trusted functions.

    @requires(lambda addr: "@" in addr, message="addr is an e-mail address")
    @trusted
    def send_email(addr: str, text: str) -> None: ...

A trusted function is an effect: the prover never reads its body, a proof speaks about its calls. Preconditions are
obligations of every caller; postconditions are what a caller may rely on. Both are checked at run time too: a call that
breaks a precondition raises before the body runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, cast, overload

from lictor_layer.declarations import ATTRIBUTE, Condition, Declaration, declaration
from lictor_layer.errors import (
    ConditionError,
    DeclarationError,
    PostconditionError,
    PreconditionError,
)
from lictor_layer.events import Event, checked_events
from lictor_layer.fluents import FluentUpdate
from lictor_layer.parameter_references import called_with_references, check_parameters

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])
Problem = type[Exception] | Exception | None


@overload
def trusted(function: F, /) -> F: ...
@overload
def trusted(*markers: str) -> Callable[[F], F]: ...
def trusted(*given: Any) -> Any:
    """Marks a function as an effect; markers say what it does (`"net"`, `"read"`)."""
    if len(given) == 1 and not isinstance(given[0], str):
        return _declared(given[0], trusted=True)
    if not all(isinstance(marker, str) for marker in given):
        raise DeclarationError("@trusted takes markers, which are strings, or nothing")

    def decorate(function: F) -> F:
        old = declaration(function) or Declaration()
        return _declared(function, trusted=True, markers=(*given, *old.markers))

    return decorate


def mock(function: Any = None, /) -> Any:
    """Says that the body only pretends. It changes nothing else."""
    return mock if function is None else _declared(function, mock=True)


def requires(
    predicate: Callable[..., object], *, message: str | None = None, exception: Problem = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """What a call must satisfy: a lambda over the parameters that it reads."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        names = _condition_names(predicate, signature, function.__name__)

        def check(arguments: Mapping[str, Any]) -> None:
            if not predicate(**{name: arguments[name] for name in names}):
                raise _problem(exception, PreconditionError, function, message, "refuses")

        return _wrapped(function, signature, check, None, requires=Condition(predicate, message))

    return decorate


def ensures(
    predicate: Callable[..., object], *, message: str | None = None, exception: Problem = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """What the function promises: a lambda over its result, or over `result` and parameters."""
    parameters = list(inspect.signature(predicate).parameters)
    alone = len(parameters) == 1
    if not alone and "result" not in parameters:
        raise DeclarationError(
            "@ensures over parameters names the result `result`: lambda limit, result: …"
        )

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        if "result" in signature.parameters and not alone:
            raise DeclarationError(f"{function.__name__} has a parameter `result`; rename it")
        names = (
            [] if alone else _condition_names(predicate, signature, function.__name__, but="result")
        )

        def check(arguments: Mapping[str, Any], result: object) -> None:
            holds = (
                predicate(result)
                if alone
                else predicate(**{name: arguments[name] for name in names}, result=result)
            )
            if not holds:
                raise _problem(exception, PostconditionError, function, message, "broke")

        return _wrapped(
            function, signature, None, check, ensures=Condition(predicate, message, alone)
        )

    return decorate


def performs(builder: Callable[..., Event | list[Event]]) -> Callable[[F], F]:
    """The events that a call performs: `@performs(lambda src, dest: [Read(src), Write(dest)])`."""
    names, made = called_with_references(builder, "@performs")
    events = checked_events(made)

    def decorate(function: F) -> F:
        old = declaration(function) or Declaration()
        if old.performs:
            raise DeclarationError(f"{function.__name__} has two @performs; list all events in one")
        check_parameters(function, names, "@performs")
        return _declared(function, performs=events)

    return decorate


def sets(builder: Callable[..., FluentUpdate | list[FluentUpdate]]) -> Callable[[F], F]:
    """What a call does to fluents: `@sets(lambda door: DoorLocked.set(door, False))`."""
    names, made = called_with_references(builder, "@sets")
    updates: tuple[Any, ...] = (
        tuple(cast(list[Any], made)) if isinstance(made, list | tuple) else (made,)
    )
    if not updates or not all(isinstance(update, FluentUpdate) for update in updates):
        raise DeclarationError("@sets gives updates: SomeFluent.set(key, value), or a list of them")

    def decorate(function: F) -> F:
        check_parameters(function, names, "@sets")
        old = declaration(function) or Declaration()
        return _declared(function, sets=(*updates, *old.sets))

    return decorate


def _declared(function: Any, **said: Any) -> Any:
    if not inspect.isfunction(function):
        raise DeclarationError(f"{function!r} is no function; only functions are effects")
    setattr(function, ATTRIBUTE, replace(declaration(function) or Declaration(), **said))
    return function


def _wrapped(
    function: Callable[P, R],
    signature: inspect.Signature,
    before: Callable[[Mapping[str, Any]], None] | None,
    after: Callable[[Mapping[str, Any], object], None] | None,
    **said: Condition,
) -> Callable[P, R]:
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
        raise DeclarationError(f"{function!r} is no plain function; only those have conditions")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if before is not None:
            before(bound.arguments)
        result = function(*args, **kwargs)
        if after is not None:
            after(bound.arguments, result)
        return result

    old = declaration(function) or Declaration()
    ((kind, condition),) = said.items()
    conditions = (condition, *getattr(old, kind))
    setattr(call, ATTRIBUTE, replace(old, **{kind: conditions}))
    return call


def _condition_names(
    predicate: Callable[..., object], signature: inspect.Signature, function: str, but: str = ""
) -> list[str]:
    """The parameters that a condition reads; each must be one of the function's, with the same default."""
    names: list[str] = []
    for given in inspect.signature(predicate).parameters.values():
        if given.name == but:
            continue
        wanted = signature.parameters.get(given.name)
        if given.kind in (given.VAR_POSITIONAL, given.VAR_KEYWORD, given.POSITIONAL_ONLY):
            raise DeclarationError(f"a condition of {function} names its parameters one by one")
        if wanted is None:
            raise DeclarationError(
                f"a condition names {given.name!r}, which is no parameter of {function};"
                f" it has {', '.join(signature.parameters) or 'none'}"
            )
        if not _same_default(given.default, wanted.default):
            raise DeclarationError(
                f"a condition of {function} must give {given.name} the same default as the function"
            )
        names.append(given.name)
    return names


def _same_default(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and one == other)


def _problem(
    given: Problem,
    kind: type[ConditionError],
    function: Callable[..., object],
    message: str | None,
    verb: str,
) -> Exception:
    if isinstance(given, Exception):
        return given
    text = f"{function.__name__} {verb} its condition: {message or 'it does not hold'}"
    return (given or kind)(text)
