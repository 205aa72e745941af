"""Contracts: the words in which programs make promises.

    @contract(description="E-mail goes only to {addresses}.")
    def only(addresses: list[str]) -> Spec:
        return Send.all(lambda e: e.addr in addresses)

The function runs at prove time, with the literals that a program wrote; the prover reads the lambdas of its spec.
"""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast, overload

from lictor_layer.errors import DeclarationError
from lictor_layer.path_literals import LexicalPath
from lictor_layer.specs import Spec

F = TypeVar("F", bound=Callable[..., Spec])
ATTRIBUTE: Final = "__lictor_contract__"


@dataclass(frozen=True, slots=True)
class ContractDeclaration:
    """What is declared about a contract."""

    description: str | None


@overload
def contract(function: F, /) -> F: ...
@overload
def contract(*, description: str | None = None) -> Callable[[F], F]: ...
def contract(function: Any = None, /, *, description: str | None = None) -> Any:
    """Makes a function a contract; the description is its sentence for people, with `{parameter}` in it."""

    def decorate(decorated: F) -> F:
        return contract_of(decorated, description)

    return decorate if function is None else decorate(function)


def contract_of(function: F, description: str | None) -> F:
    """The function, declared as a contract."""
    if not inspect.isfunction(function):
        raise DeclarationError("@contract decorates a function")
    parameters = inspect.signature(function).parameters
    for name in _placeholders(description or ""):
        if name not in parameters:
            raise DeclarationError(
                f"the description of {function.__name__} names {{{name}}}, which is no parameter"
            )
    setattr(function, ATTRIBUTE, ContractDeclaration(description))
    return cast(F, function)


def contract_declaration(function: object) -> ContractDeclaration | None:
    """What is declared about a contract, if the function is one."""
    found: Any = getattr(function, ATTRIBUTE, None)
    return found if isinstance(found, ContractDeclaration) else None


def sentence(description: str, arguments: Mapping[str, object]) -> str:
    """The description with the arguments in it, each as it could be written in a program."""
    parts: list[str] = []
    for text, name, _, _ in string.Formatter().parse(description):
        parts.append(text)
        if name is not None:
            parts.append(spelled(arguments[name]))
    return "".join(parts)


def spelled(value: object) -> str:
    """A literal for people. `repr` escapes what could mislead a reader: line breaks, marks that turn text around.

    Equal values have one spelling, in every process: the items of a set are sorted.
    """
    match value:
        case LexicalPath():
            return repr(value.value)
        case type():
            return value.__name__
        case list():
            return f"[{', '.join(map(spelled, cast(list[object], value)))}]"
        case tuple():
            items = [*map(spelled, cast(tuple[object, ...], value))]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        case set() | frozenset() if value:
            return f"{{{', '.join(sorted(map(spelled, cast(set[object], value))))}}}"
        case dict():
            pairs = cast(dict[object, object], value).items()
            return f"{{{', '.join(f'{spelled(key)}: {spelled(item)}' for key, item in pairs)}}}"
        case _:
            return repr(value)


def _placeholders(description: str) -> list[str]:
    names: list[str] = []
    try:
        parts = list(string.Formatter().parse(description))
    except ValueError as error:
        raise DeclarationError(f"the description {description!r} can't be read: {error}") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if not name.isidentifier() or form or conversion:
            raise DeclarationError(f"{{{name}}} in a description is the name of a parameter alone")
        names.append(name)
    return names
