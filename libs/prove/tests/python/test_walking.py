"""Every node of a tree, as `ast.walk` finds them."""

from __future__ import annotations

import ast
import gc
import inspect
import weakref

from lictor_prove.python import reader
from lictor_prove.python.syntax.walking import nodes_below


def test_the_nodes_below_a_tree_are_those_that_walking_it_gives() -> None:
    tree = ast.parse(inspect.getsource(reader))
    for _ in range(2):
        assert [tree, *nodes_below(tree)] == list(ast.walk(tree))


def test_a_tree_is_not_kept_because_it_was_walked() -> None:
    tree = ast.parse("def main():\n    return 1\n")
    kept = weakref.ref(tree)
    nodes_below(tree)
    del tree
    gc.collect()
    assert kept() is None
