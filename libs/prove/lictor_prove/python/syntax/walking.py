"""Every node of a tree, found once: several rules look at the whole program, and trees never change."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from weakref import WeakKeyDictionary

_BELOW: WeakKeyDictionary[ast.AST, Sequence[ast.AST]] = WeakKeyDictionary()


def nodes_below(tree: ast.AST) -> Sequence[ast.AST]:
    """What `ast.walk` gives, in its order, without the node itself."""
    known = _BELOW.get(tree)
    if known is None:
        found = list(ast.iter_child_nodes(tree))
        # It grows while it is walked through.
        for node in found:
            for name in node._fields:
                held = getattr(node, name, None)
                if isinstance(held, ast.AST):
                    found.append(held)
                elif isinstance(held, list):
                    found += [part for part in held if isinstance(part, ast.AST)]  # pyright: ignore[reportUnknownVariableType]
        # The tree itself is not in it, or it would keep itself alive.
        known = _BELOW[tree] = found
    return known
