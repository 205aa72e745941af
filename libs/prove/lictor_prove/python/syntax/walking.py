"""What stands below a node: several rules look at the whole program, and trees never change."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from weakref import WeakKeyDictionary

_BELOW: WeakKeyDictionary[ast.AST, Sequence[ast.AST]] = WeakKeyDictionary()


def children(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives, in half the time."""
    found: list[ast.AST] = []
    for name in node._fields:
        held = getattr(node, name, None)
        if isinstance(held, ast.AST):
            found.append(held)
        elif isinstance(held, list):
            found += [part for part in held if isinstance(part, ast.AST)]  # pyright: ignore[reportUnknownVariableType]
    return found


def nodes_below(tree: ast.AST) -> Sequence[ast.AST]:
    """What `ast.walk` gives, in its order, without the node itself; found once."""
    known = _BELOW.get(tree)
    if known is None:
        known = children(tree)
        # It grows while it is walked through.
        for node in known:
            known += children(node)
        # The tree itself is not in it, or it would keep itself alive.
        _BELOW[tree] = known
    return known
