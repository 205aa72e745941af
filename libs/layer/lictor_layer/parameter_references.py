"""Parameters of a trusted function, as builders of events and fluent updates see them."""

from __future__ import annotations

import builtins
import dataclasses
import dis
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NoReturn, cast

from lictor_layer.errors import DeclarationError

_DECIDING = frozenset((*dis.hasjrel, *dis.hasjabs))
_SCALARS = (bool, int, float, str, type(None))
_COMPARING = ("IS_OP", "COMPARE_OP", "CONTAINS_OP")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ParameterRef:
    """Stands for the argument that a call passes for this parameter.

    A builder is called once, with references: whatever it computed of one would be said of every call. So a reference
    can be passed on, and nothing else.
    """

    name: str

    def _refused(self, *_: object) -> NoReturn:
        raise DeclarationError(
            f"the parameter {self.name} is computed with; what a call performs or sets is told with parameters"
            " as they are, and literals"
        )

    __bool__ = __eq__ = __ne__ = __hash__ = __str__ = __repr__ = __format__ = _refused  # type: ignore[assignment]


def called_with_references(builder: Callable[..., Any], who: str) -> tuple[list[str], Any]:
    """The parameters of a builder, and what it returns when each is a reference to itself."""
    names: list[str] = []
    for parameter in inspect.signature(builder).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DeclarationError(f"{who} names parameters one by one, without stars")
        names.append(parameter.name)
    _check_decides_nothing(builder, who)
    return names, builder(*(ParameterRef(name) for name in names))


def _check_decides_nothing(builder: Callable[..., Any], who: str) -> None:
    """References can't see `is None` or `isinstance`: a builder, and whatever it calls, must not branch."""
    if not isinstance(builder, FunctionType):
        raise DeclarationError(f"{who} takes a lambda or a function")
    waiting, seen = [builder], {builder}
    while waiting:
        function = waiting.pop()
        for code in _codes(function.__code__):
            for each in dis.get_instructions(code):
                if each.opcode in _DECIDING or each.opname in _COMPARING:
                    raise DeclarationError(
                        f"{who} decides something in {function.__name__}; it is called once, for all calls: name each"
                        " event or fluent with parameters as they are, and literals"
                    )
        for found in _used(function, who):
            if found not in seen:
                seen.add(found)
                waiting.append(found)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of the functions and comprehensions inside of it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _used(function: FunctionType, who: str) -> Iterator[FunctionType]:
    """The functions that a builder may call; DeclarationError for what can't be looked into."""
    names: set[str] = set()
    attributes: set[str] = set()
    for code in _codes(function.__code__):
        for each in dis.get_instructions(code):
            if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(each.argval)
            elif each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                attributes.add(each.argval)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    held: dict[str, object] = {name: cell.cell_contents for name, cell in cells}
    for name in sorted(names):
        if name in function.__globals__:
            held[name] = function.__globals__[name]
        elif hasattr(builtins, name):
            raise DeclarationError(
                f"{who} calls {name}; it is called once, for all calls, and computes nothing"
            )
    for name, value in held.items():
        yield from _functions_in(value, name, who)
        if isinstance(value, ModuleType | type):
            for attribute in sorted(attributes):
                yield from _functions_in(getattr(value, attribute, None), attribute, who)


def _functions_in(held: object, name: str, who: str) -> Iterator[FunctionType]:
    """A function itself, and what runs where an event is made; whatever else can be called may decide something."""
    if isinstance(held, MethodType) and isinstance(held.__func__, FunctionType):
        yield held.__func__
    elif isinstance(held, FunctionType):
        yield held
    elif isinstance(held, type) and dataclasses.is_dataclass(held):
        for method in ("__post_init__", "__new__"):
            made = getattr(held, method, None)
            if isinstance(made, FunctionType):
                yield made
    elif not _calls_nothing(cast(object, held)):
        raise DeclarationError(
            f"{who} uses {name}, which can't be looked into; it is called once, for all calls: name each event or"
            " fluent with parameters as they are, and literals"
        )


def _calls_nothing(held: object) -> bool:
    is_fluent = type(held).__module__ == "lictor_layer.fluents"
    return is_fluent or isinstance(held, ModuleType) or type(held) in _SCALARS


def check_parameters(function: Callable[..., Any], names: Sequence[str], who: str) -> None:
    """Every name must be a parameter that each call passes: what is left to a default is not in the record."""
    parameters = inspect.signature(function).parameters
    for name in names:
        parameter = parameters.get(name)
        if parameter is None:
            raise DeclarationError(
                f"{who} names {name!r}, which is no parameter of {function.__name__};"
                f" it has {', '.join(parameters) or 'none'}"
            )
        if parameter.default is not parameter.empty:
            raise DeclarationError(
                f"{who} names {name!r}, which has a default in {function.__name__}:"
                " a call may leave it out; use a parameter that every call passes"
            )
