"""Functions as tools: their arguments by name as parameters, and a guard in front of them."""

import asyncio
import functools
import inspect
import io
import json
import os
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, cast, overload

from lictor.errors import ToolAsked, ToolDenied
from lictor.fast import jsontext
from lictor.fast.answer_reader import deny
from lictor.fast.call_wait import Patience
from lictor.fast.verdicts import MALFORMED_QUESTION, ToolVerdict
from lictor.runtimes.wait_time import Wait, patience

if TYPE_CHECKING:
    from lictor.runtimes.python.async_guard import Guard
    from lictor.runtimes.python.blocking_guard import SyncGuard

P = ParamSpec("P")
R = TypeVar("R")
Denied = Literal["raise", "tell"]
"""What a denied call does: raise ToolDenied, or return the text for the agent as its result."""

NO_GUARD = "lictor.client.no-guard"
CHANGED = "lictor.client.arguments-changed"
active: "ContextVar[Guard | SyncGuard | None]" = ContextVar("lictor_guard", default=None)
"""The guard whose `with` block runs here."""


class Unclear(Exception):
    """Two arguments of a call go by the name in the message."""


class Changed(Exception):
    """The arguments of a call are not those any more that were asked about; it was not made."""


def bound(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    without: Iterable[str] = (),
) -> dict[str, Any]:
    """The arguments of a call by their names, defaults included: what the guard sees as parameters.

    Two arguments may go by one name (`path, /, **more` with `path=` in `more`): Unclear, since only one would be seen.
    """
    signature = inspect.signature(function)
    arguments = signature.bind(*args, **kwargs)
    arguments.apply_defaults()
    params: dict[str, Any] = {}
    for name, value in arguments.arguments.items():
        further = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        for each, given in value.items() if further else ((name, value),):
            if each in params:
                raise Unclear(each)
            params[each] = given
    return {name: plain(value) for name, value in params.items() if name not in without}


def plain(value: Any) -> Any:
    """A value as JSON knows it, as far as that is plain: paths become text, tuples lists."""
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("list[Any]", value)]
    return value


def denial(tool: str, verdict: ToolVerdict, denied: Denied) -> str:
    """What a call does that is denied, or waits for a person."""
    if denied == "tell":
        return verdict.text
    raise not_allowed(tool, verdict)


def not_allowed(tool: str, verdict: ToolVerdict) -> ToolDenied:
    """The error for a call that is not allowed: ToolAsked where a person decides."""
    if verdict.asked and verdict.approval is not None:
        return ToolAsked(tool, verdict, verdict.approval)
    return ToolDenied(tool, verdict)


def as_judged(judged: object, now: object) -> bool:
    """Whether what would run now is written exactly as what was asked about; not, where that can't be told."""
    try:
        return jsontext.write(judged) == jsontext.write(now)
    except (TypeError, ValueError, RuntimeError):
        # Others may be changing it at this very moment.
        return False


def changed(tool: str) -> ToolVerdict:
    """Why a call is not made whose arguments were changed while it was judged."""
    return deny(
        CHANGED,
        f"{tool} was not called: its arguments were changed while it was asked about",
        "call it again with the arguments that it is to have, and leave them alone until it returns",
    )


@dataclass(frozen=True)
class Work:
    """A call that a guard is to make: what it is asked about with, and what it does."""

    params: Mapping[str, Any]
    """As they were when the call was made: nobody else can change them."""
    run: Callable[[], Any]
    now: Callable[[], object]
    """The parameters that it would run with at this moment: the caller still has the arguments, and may change them
    while people decide."""
    with_params: "Callable[[Mapping[str, Any]], Work | None] | None" = None
    """The same with other parameters; None where that can't be."""

    @classmethod
    def of_call(cls, function: Callable[..., Any], params: Mapping[str, Any]) -> "Work":
        """`function(**params)`."""

        def with_params(other: Mapping[str, Any]) -> Work | None:
            try:
                inspect.signature(function).bind(**other)
            except (TypeError, ValueError):
                return None
            return cls.of_call(function, other)

        given = dict(params)
        run = functools.partial(function, **given)
        return cls(plain(given), run, functools.partial(plain, given), with_params)

    @classmethod
    def of_own(cls, work: Callable[[], Any], params: Mapping[str, Any]) -> "Work":
        """`work()`, which has its arguments already: where it keeps them is its own business."""
        return cls(plain(params), work, functools.partial(plain, params))

    def begin(self) -> Any:
        """Do it, or Changed: between the look at its arguments and the work nothing else is done."""
        try:
            now = self.now()
        except Exception as error:
            raise Changed from error
        if not as_judged(self.params, now):
            raise Changed
        return self.run()

    def as_edited(self, verdict: ToolVerdict) -> "Work | None":
        """The call that a person approved instead; None where there is none, or this can't become it."""
        approval = verdict.approval
        if verdict.allowed or approval is None or approval.params is None:
            return None
        return None if self.with_params is None else self.with_params(approval.params)


def finished(tool: str, value: Any) -> Any:
    """What a tool returned; TypeError when its work is only begun then, since no guard sees the rest."""
    lazy = isinstance(value, Awaitable | AsyncIterator | Iterator | Future)
    # A file is an iterator too, and open: what was asked for is done.
    if not lazy or isinstance(value, io.IOBase):
        return cast("Any", value)
    if isinstance(value, Coroutine | Generator):
        value.close()
    elif isinstance(value, Future | asyncio.Future):
        value.cancel()
    returned = type(cast("object", value)).__name__
    raise TypeError(
        f"{tool} returned a {returned}: its work is not done yet, and nobody would know how it ends;"
        " return what it comes to (await it, or make it a list), and guard coroutine functions with"
        " `governor.guard`"
    )


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it makes a coroutine; an object may be callable that way too."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(_call_of(function))


def tool_name(function: Callable[..., Any], name: str | None) -> str:
    """What the tool is called; refuses a function whose work is not done when it returns."""
    name = name or getattr(function, "__name__", None)
    if name is None:
        raise TypeError(f"{function!r} has no name; say what the tool is called: `name=...`")
    for each in (function, _call_of(function)):
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise TypeError(
                f"{name} yields: its work is done after it returned, when no guard looks;"
                " guard a function that returns"
            )
    return name


def _call_of(function: Callable[..., Any]) -> Any:
    """What runs when an object is called; that of a partial one is the function inside."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    return type(function).__call__


@dataclass(frozen=True)
class Tool:
    """A function as a tool: what it is called, and how its calls are asked about."""

    function: Callable[..., Any]
    name: str
    without: tuple[str, ...]
    denied: Denied
    patience: Patience | None = None
    """How long its calls wait for a person."""

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        name: str | None,
        without: Iterable[str],
        denied: Denied,
        wait: Wait = None,
    ) -> "Tool":
        """TypeError for a function that can't be one, or a `wait` that is no time."""
        named = tool_name(function, name)
        return cls(function, named, tuple(without), denied, patience(wait))

    def work(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Work | ToolVerdict:
        """A call with these arguments, or why it can't be asked about."""
        params = self.params(args, kwargs)
        if isinstance(params, ToolVerdict):
            return params
        run = functools.partial(self.function, *args, **kwargs)
        now = functools.partial(self.params, args, kwargs)
        return Work(params, run, now, functools.partial(self._edited, args, kwargs))

    def _edited(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], wanted: Mapping[str, Any]
    ) -> Work | None:
        """The call with other parameters: exactly these, and what is no business of the guard as it was."""
        signature = inspect.signature(self.function)
        arguments = signature.bind(*args, **kwargs)
        arguments.apply_defaults()
        left = dict(wanted)
        further: dict[str, Any] | None = None
        for name, value in arguments.arguments.items():
            if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                further = {each: value[each] for each in value if each in self.without}
                arguments.arguments[name] = further
            elif name not in self.without and name in left:
                arguments.arguments[name] = _as_it_was(value, left.pop(name))
        if further is not None:
            further.update(left)
        params = self.params(arguments.args, arguments.kwargs)
        if isinstance(params, ToolVerdict) or not _same(params, wanted):
            return None
        run = functools.partial(self.function, *arguments.args, **arguments.kwargs)
        return Work(params, run, lambda: self.params(arguments.args, arguments.kwargs))

    def params(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> dict[str, Any] | ToolVerdict:
        """The parameters of a call, or why it can't be asked about."""
        try:
            return bound(self.function, args, kwargs, self.without)
        except Unclear as name:
            return deny(
                MALFORMED_QUESTION,
                f"{self.name} was called with two arguments that go by the name {name!s}, of which the"
                " guard would see only one",
                "call it with arguments of different names",
            )


def _as_it_was(value: Any, wanted: Any) -> Any:
    """A wanted parameter as the argument it stands for: as it was given where it is the same, else in its form."""
    if _same(plain(value), wanted):
        return value
    if isinstance(value, tuple) and isinstance(wanted, list):
        return tuple(cast("list[Any]", wanted))
    return Path(wanted) if isinstance(value, Path) and isinstance(wanted, str) else wanted


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON; True is not 1."""
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except (TypeError, ValueError):
        return False


@overload
def guarded(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def guarded(
    *,
    name: str | None = None,
    without: Iterable[str] = (),
    denied: Denied = "raise",
    wait: Wait = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def guarded(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    without: Iterable[str] = (),
    denied: Denied = "raise",
    wait: Wait = None,
) -> Any:
    """Make a function a tool of whichever guard is active when it is called; without one, it is denied.

    `without` names parameters that are no business of the guard, such as a database handle; `wait` says how long
    a call waits for a person. A coroutine
    function needs a guard of `governor.guard`, a plain one that of `lictor.guard_sync`.
    """

    def decorate(made: Callable[..., Any]) -> Callable[..., Any]:
        tool = Tool.of(made, name, without, denied, wait)
        if is_async(made):

            @functools.wraps(made)
            async def asking(*args: Any, **kwargs: Any) -> Any:
                from lictor.runtimes.python.async_guard import Guard

                guard = active.get()
                if not isinstance(guard, Guard):
                    raise _unguarded(tool.name, "async with governor.guard(...)")
                return await guard.use(tool, args, kwargs)

            return asking

        @functools.wraps(made)
        def asking_blocked(*args: Any, **kwargs: Any) -> Any:
            from lictor.runtimes.python.blocking_guard import SyncGuard

            guard = active.get()
            if not isinstance(guard, SyncGuard):
                raise _unguarded(tool.name, "with lictor.guard_sync(...)")
            return guard.use(tool, args, kwargs)

        return asking_blocked

    return decorate if function is None else decorate(function)


def _unguarded(tool: str, needed: str) -> ToolDenied:
    return ToolDenied(
        tool,
        deny(NO_GUARD, f"no guard is active for {tool}", f"call it within `{needed}`"),
    )
