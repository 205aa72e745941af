"""Whether evaluating an annotation raises.

Python evaluates the annotations of a function when it is defined, and those at module level when the file is loaded; a
name that is not there ends the program before it did anything. What annotations mean is of no interest, so they are
computed with the real builtins and `typing`, and with stand-ins for what the program and its layer define.
"""

from __future__ import annotations

import ast
import builtins
import typing
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from lictor_prove.python.library.signatures import MEMBERS
from lictor_prove.python.machine.symbolic_values import (
    BuiltinV,
    DataClassV,
    HintV,
    LiteralV,
    ModuleV,
    SchemaV,
    SymbolicValue,
)
from lictor_prove.python.refusals import SubsetRefusal, refuse
from lictor_prove.python.syntax.scopes import local_names
from lictor_prove.python.syntax.walking import nodes_below

Member = Callable[[str, str], SymbolicValue]
"""What a module binds to a name; refuses what is not there."""

_ROW: Final = type("Row", (), {})
"""Stands for a row class: `UserRow | None` is fine, and `UserRow[int]` is not."""
_GENERIC: Final[Mapping[str, type]] = {
    "collections.Counter": Counter,
    "collections.defaultdict": defaultdict,
}
"""Classes of the standard library that take types in brackets."""


def are_late(tree: ast.Module) -> bool:
    """Whether no annotation of the file is evaluated."""
    return any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    )


def of_function(node: ast.FunctionDef) -> Iterator[ast.expr]:
    """The annotations of parameters and result."""
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.annotation is not None:
            yield argument.annotation
    if node.returns is not None:
        yield node.returns


def check_at_load(statement: ast.stmt, bound: Mapping[str, SymbolicValue], member: Member) -> None:
    """Refuse a statement of the module whose annotations raise, with the names that are bound above it."""
    match statement:
        case ast.FunctionDef():
            for annotation in of_function(statement):
                _check(annotation, bound, member, ())
        case ast.AnnAssign():
            _check(statement.annotation, bound, member, ())
        case ast.ClassDef():
            for inner in statement.body:
                check_at_load(inner, bound, member)
        case _:
            pass


def functions_of(statement: ast.stmt) -> Iterator[ast.FunctionDef]:
    """The function, or the methods of the class, that a statement of the module defines."""
    for each in statement.body if isinstance(statement, ast.ClassDef) else [statement]:
        if isinstance(each, ast.FunctionDef):
            yield each


def check_nested(
    function: ast.FunctionDef, bound: Mapping[str, SymbolicValue], member: Member
) -> None:
    """Refuse functions inside of this one whose annotations raise, or depend on what the functions around them hold."""
    stack = [(function, frozenset[str]())]
    while stack:
        outer, around = stack.pop()
        known = around | local_names(outer)
        for node in nodes_below(outer):
            if isinstance(node, ast.FunctionDef):
                for annotation in of_function(node):
                    _check(annotation, bound, member, known)
                stack.append((node, known))


def _check(
    annotation: ast.expr, bound: Mapping[str, SymbolicValue], member: Member, local: Collection[str]
) -> None:
    def value(node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name(id=name) if name in local:
                raise NameError(f"{name} is a variable of the function around it")
            case ast.Name(id=name):
                return _meaning(bound[name]) if name in bound else _builtin(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name) if isinstance(
                held := bound.get(module), ModuleV
            ):
                return _meaning(member(held.name, name))
            case ast.Subscript(value=owner, slice=index):
                return value(owner)[value(index)]
            case ast.BinOp(left=left, right=right):
                return value(left) | value(right)
            case ast.Tuple(elts=items):
                return tuple(value(item) for item in items)
            case ast.List(elts=items):
                return [value(item) for item in items]
            case _:
                raise TypeError(f"{ast.unparse(node)} can't be told")

    try:
        value(annotation)
    except SubsetRefusal:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever it raises, it would raise when the program is loaded
        refuse(
            "annotation.raises",
            f"evaluating this annotation raises {type(error).__name__}: {error}",
            "Name a type that is defined above, or write the annotation as a string.",
            annotation,
        )


def _builtin(name: str) -> Any:
    if not hasattr(builtins, name):
        raise NameError(f"name {name!r} is not defined")
    return getattr(builtins, name)


def _meaning(value: SymbolicValue) -> Any:
    match value:
        case HintV():
            return value.hint
        case LiteralV():
            return value.made
        case SchemaV() | DataClassV():
            return _ROW
        case BuiltinV(name) if name in MEMBERS:
            # A class of the standard library: `date | None` is fine.
            return _ROW
        case BuiltinV(name) if name in _GENERIC:
            return _GENERIC[name]
        case _:
            # A function or a constant: fine by itself, and no type to build others with.
            return object()


def hint(name: str) -> HintV | None:
    """A name that `typing` offers; None when it has none such."""
    offered = name in vars(typing)["__all__"]
    return HintV("a name for annotations", getattr(typing, name)) if offered else None
