"""What can be said of a layer's contracts before any program names one.

A relation whose effect nobody has, or a predicate that reads a field nobody has, is found here by its text, so that a
misspelt contract is refused when the layer is loaded and not when somebody relies on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import lictor_layer
from lictor_layer import Event, Relation
from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.function_sources import FunctionSource
from lictor_prove.layers.relation_vocabulary import Vocabulary

_PREDICATES: Final = ("all", "where", "distinct", "sum")
_FUNCTION: Final = ast.FunctionDef | ast.AsyncFunctionDef


def check_relations(source: FunctionSource, module: ModuleType, words: Vocabulary) -> None:
    """Refuses relations over unknown effects, and predicates over unknown fields."""
    for node, hidden in _calls(source.tree):
        relation = _effect(node, module, hidden)
        if relation is not None:
            words.effects(relation, f"{source.place}:{node.lineno}")
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _PREDICATES:
            over = _relation(node.func.value, module, hidden)
            if over is not None and node.args:
                _check_fields(node.args[0], over, source, words)


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, frozenset[str]]]:
    """Every call, with the names that are bound inside the functions around it."""
    stack: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, hidden = stack.pop()
        if isinstance(node, _FUNCTION | ast.Lambda | ast.ClassDef):
            hidden |= _bound(node)
        if isinstance(node, ast.Call):
            yield node, hidden
        stack.extend((child, hidden) for child in ast.iter_child_nodes(node))


def _bound(scope: ast.AST) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(scope):
        match node:
            case ast.arg():
                names.add(node.arg)
            case ast.Name(ctx=ast.Store() | ast.Del()):
                names.add(node.id)
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node is not scope:
                names.add(node.name)
            case _:
                pass
    return frozenset(names)


def _value(node: ast.expr, module: ModuleType, hidden: frozenset[str]) -> object:
    """What a name of the module is; None when that is unknown."""
    match node:
        case ast.Name() if node.id not in hidden:
            return module.__dict__.get(node.id)
        case ast.Attribute():
            inner = _value(node.value, module, hidden)
            return getattr(inner, node.attr, None) if isinstance(inner, ModuleType) else None
        case _:
            return None


def _effect(node: ast.expr, module: ModuleType, hidden: frozenset[str]) -> Relation | None:
    """The relation that a call of `effect` with known arguments makes."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if _value(node.func, module, hidden) is not lictor_layer.effect:
        return None
    names: list[str] = []
    for argument in node.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            names.append(argument.value)
            continue
        function = _value(argument, module, hidden)
        if not callable(function):
            return None
        names.append(getattr(function, "__name__", ""))
    return Relation(tuple(names), every=not names)


def _relation(node: ast.expr, module: ModuleType, hidden: frozenset[str]) -> Relation | None:
    """The relation that an expression is, where its text says so."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="where")):
            return _relation(inner, module, hidden)
        case ast.Call():
            return _effect(node, module, hidden)
        case _:
            found = _value(node, module, hidden)
            if isinstance(found, type) and issubclass(found, Event) and found is not Event:
                return found.__lictor_relation__
            return found if isinstance(found, Relation) else None


def _check_fields(
    predicate: ast.expr, relation: Relation, source: FunctionSource, words: Vocabulary
) -> None:
    if not isinstance(predicate, ast.Lambda) or len(predicate.args.args) != 1:
        return
    place = f"{source.place}:{predicate.lineno}"
    if not all(event in words.events for event in relation.events):
        return
    record = predicate.args.args[0].arg
    fields = words.fields(relation, place)
    over = ", ".join([*relation.effects, *(event.__name__ for event in relation.events)])
    for node in ast.walk(predicate.body):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=field) if name == record:
                if field not in fields:
                    raise ProverConfigError(
                        f"{place}: {record}.{field} is read, but not every effect of"
                        f" ({over or 'every call'}) has it; they share:"
                        f" {', '.join(sorted(fields)) or 'none'}"
                    )
            case _:
                pass
