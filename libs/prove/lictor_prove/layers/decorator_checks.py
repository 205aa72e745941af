"""The decorators on a layer's effects: only those whose meaning is known.

`@lru_cache` on an effect would make calls that have no effect; a decorator that is not ours may do anything. So every
decorator of an effect is resolved, through whatever it was imported as, to one of ours.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from types import FunctionType, ModuleType
from typing import Final

import lictor_layer
from lictor_layer import effect_decorators
from lictor_prove.compat import deal
from lictor_prove.compat.clauz3 import conditions, effects
from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.function_sources import FunctionSource

_MARKS: Final = (lictor_layer.trusted, effects.trusted, deal.has)
"""What makes a function an effect."""
_KNOWN: Final = (
    *_MARKS,
    lictor_layer.requires,
    lictor_layer.ensures,
    lictor_layer.performs,
    lictor_layer.sets,
    lictor_layer.mock,
    lictor_layer.compensated_by,
    lictor_layer.nothing_to_undo,
    conditions.requires,
    conditions.ensures,
    deal.pre,
    deal.post,
    deal.ensure,
    deal.chain,
)
Definition = ast.FunctionDef | ast.AsyncFunctionDef


def definition(source: FunctionSource, name: str, line: int) -> ast.FunctionDef:
    """The `def` of an effect, at module level."""
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name and line in _lines(node):
            return node
    raise ProverConfigError(
        f"{source.place}:{line}: the effect {name} must be a plain `def` at the module's top level"
    )


def _lines(node: Definition) -> Collection[int]:
    # A function's code begins at its first decorator.
    return {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}


def check_decorators(source: FunctionSource, node: Definition, module: ModuleType) -> None:
    """Refuses an effect with a decorator that is not one of ours."""
    for decorator in node.decorator_list:
        for part in _unfolded(decorator, module):
            if not any(_resolved(part, module) is known for known in _KNOWN):
                raise ProverConfigError(
                    f"{source.place}:{part.lineno}: the decorator {ast.unparse(part)!r} on the effect"
                    f" {node.name} is unknown; what it does to calls can't be told"
                )


def check_wrappers(function: FunctionType, place: str) -> None:
    """Refuses an effect that was given another meaning without a decorator: `pay = with_retries(pay)`."""
    outer: object = function
    while isinstance(outer, FunctionType) and hasattr(outer, "__wrapped__"):
        if outer.__globals__ is not effect_decorators.__dict__:
            raise ProverConfigError(
                f"{place}: the effect {function.__name__} is wrapped by {outer.__code__.co_name}; what that does"
                " to calls can't be told. Do it inside the effect"
            )
        outer = getattr(outer, "__wrapped__", None)


def names_of_builders(node: Definition, module: ModuleType) -> Iterator[str]:
    """The globals that the lambdas of `@performs` and `@sets` read."""
    for decorator in node.decorator_list:
        if _resolved(decorator, module) in (lictor_layer.performs, lictor_layer.sets):
            for part in ast.walk(decorator):
                if isinstance(part, ast.Name) and part.id in module.__dict__:
                    yield part.id


def check_no_effect_is_lost(
    source: FunctionSource, module: ModuleType, found: Collection[tuple[str, int]]
) -> None:
    """Refuses what is marked as an effect in the text but is none in the loaded module."""
    known = set(found)
    for node in ast.walk(source.tree):
        if not isinstance(node, Definition) or (node.name, node.lineno) in known:
            continue
        if any(_marks(node, module)):
            check_decorators(source, node, module)
            raise ProverConfigError(
                f"{source.place}:{node.lineno}: {node.name} is marked as an effect, but the module"
                " has no such effect; define effects at the top level, once, and don't rebind them"
            )


def _marks(node: Definition, module: ModuleType) -> Iterator[bool]:
    for decorator in node.decorator_list:
        for part in _unfolded(decorator, module):
            mark = _resolved(part, module)
            pure = mark is deal.has and isinstance(part, ast.Call) and not part.args
            if any(mark is known for known in _MARKS) and not pure:
                yield True


def _unfolded(decorator: ast.expr, module: ModuleType) -> Iterator[ast.expr]:
    """The decorator; of a chain, its parts."""
    if isinstance(decorator, ast.Call) and _resolved(decorator, module) is deal.chain:
        for part in decorator.args:
            yield from _unfolded(part, module)
    else:
        yield decorator


def _resolved(decorator: ast.expr, module: ModuleType) -> object:
    """What the decorator, or the function that makes it, is; None when that is unknown."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    found: object = module.__dict__.get(node.id)
    for name in reversed(names):
        if not isinstance(found, ModuleType):
            return None
        found = getattr(found, name, None)
    return found
