"""The calls in a program's text that may be of trusted functions, also where the front-end sees no path."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from lictor_prove.layer_model import Layer, TrustedFunction
from lictor_prove.python.machine.symbolic_values import ModuleV, SymbolicValue, TrustedV
from lictor_prove.python.syntax.walking import nodes_below

Meaning = Callable[[ast.expr], SymbolicValue | None]
"""What an expression is at module level, as far as that is known."""


class CallSites:
    """What can be told of a program's calls by its text."""

    def __init__(self, tree: ast.Module, meaning: Meaning, layer: Layer) -> None:
        self._tree = tree
        self._meaning = meaning
        self._trusted = {
            name
            for module in layer.modules.values()
            for name, held in module.names.items()
            if isinstance(held, TrustedFunction)
        }
        self._bound = {
            node.arg if isinstance(node, ast.arg) else node.id
            for node in nodes_below(tree)
            if isinstance(node, ast.arg)
            or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        }
        self._kept = self._is_kept()

    def calls(self) -> Iterator[tuple[ast.Call, ast.AST]]:
        """Every call, and the function or the lambda around it, else the module."""
        inside: dict[ast.Call, ast.AST] = {}
        # Outer functions come before those inside of them.
        for around in (self._tree, *nodes_below(self._tree)):
            if isinstance(around, ast.Module | ast.FunctionDef | ast.Lambda):
                inside |= {
                    node: around for node in nodes_below(around) if isinstance(node, ast.Call)
                }
        yield from inside.items()

    def names_trusted(self, function: ast.expr) -> bool:
        """Whether the text alone says that this is a trusted function."""
        return isinstance(self._meaning(function), TrustedV)

    def may_hold_trusted(self, function: ast.expr) -> bool:
        """Whether this may be a trusted function under another name, as far as the text tells."""
        match function:
            case ast.Name(id=name):
                return self._kept and name in self._bound
            case ast.Attribute(attr=name):
                return self._kept and name in self._trusted
            case ast.Lambda():
                return False
            case _:
                return self._kept

    def _is_kept(self) -> bool:
        """Whether the program does more with a trusted function than call it, or more with a module than name it."""
        used: set[ast.AST] = set()
        for node in nodes_below(self._tree):
            if isinstance(node, ast.Call):
                used.add(node.func)
            elif isinstance(node, ast.Attribute):
                used.add(node.value)
        names = (
            node for node in nodes_below(self._tree) if isinstance(node, ast.Name | ast.Attribute)
        )
        return any(
            isinstance(self._meaning(node), TrustedV | ModuleV)
            for node in names
            if node not in used and isinstance(node.ctx, ast.Load)
        )
