"""The names that handlers give to errors: Python deletes them when the handler is left."""

from __future__ import annotations

import ast
from typing import NoReturn

from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.walking import nodes_below


def check_error_names(function: ast.FunctionDef | ast.Module) -> None:
    """The name of a handled error is gone after its handler: nothing else in the function may use it."""
    handlers = [
        each
        for each in nodes_below(function)
        if isinstance(each, ast.ExceptHandler) and each.name is not None
    ]
    names = {each.name for each in handlers}
    inside: set[int] = set()
    kept: set[int] = set()
    for handler in handlers:
        for statement in handler.body:
            for node in (statement, *nodes_below(statement)):
                if isinstance(node, ast.FunctionDef | ast.Lambda):
                    # It may be called later.
                    kept |= {id(each) for each in nodes_below(node)}
                elif isinstance(node, ast.Name) and node.id == handler.name:
                    inside.add(id(node))
                elif isinstance(node, ast.ExceptHandler) and node.name == handler.name:
                    _gone(str(node.name), node)
    inside -= kept
    for node in nodes_below(function):
        used = (
            (node.id if id(node) not in inside or not isinstance(node.ctx, ast.Load) else None)
            if isinstance(node, ast.Name)
            else node.arg
            if isinstance(node, ast.arg)
            else node.name
            if isinstance(node, ast.FunctionDef)
            else None
        )
        if used is not None and used in names:
            _gone(used, node)


def _gone(name: str, node: ast.AST) -> NoReturn:
    refuse(
        "try.name",
        f"{name} is gone after its handler, so nothing else may have this name",
        "Use another name.",
        node,
    )
