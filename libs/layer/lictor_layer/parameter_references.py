"""Parameters of a trusted function, as builders of events and fluent updates see them."""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NoReturn

from lictor_layer.errors import DeclarationError

_DECIDING = frozenset((*dis.hasjrel, *dis.hasjabs))
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
    """References can't see `is None` or `isinstance`: a builder, and what it calls of the layer, must not branch."""
    if not isinstance(builder, FunctionType):
        raise DeclarationError(f"{who} takes a lambda or a function")
    waiting, seen = [builder], {builder}
    while waiting:
        function = waiting.pop()
        for each in dis.get_instructions(function.__code__):
            if each.opcode in _DECIDING or each.opname in _COMPARING:
                raise DeclarationError(
                    f"{who} decides something in {function.__name__}; it is called once, for all calls: name each event"
                    " or fluent with parameters as they are, and literals"
                )
            if each.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                continue
            found = function.__globals__.get(each.argval)
            if found is None and hasattr(builtins, each.argval):
                raise DeclarationError(
                    f"{who} calls {each.argval}; it is called once, for all calls, and computes nothing"
                )
            if isinstance(found, FunctionType) and found not in seen:
                seen.add(found)
                waiting.append(found)


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
