"""Which names belong to which scope, as Python's compiler decides it: by looking at the whole body."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from weakref import WeakKeyDictionary

from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.walking import children, nodes_below

Function = ast.FunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

# Trees never change once they are parsed, and the helpers of a layer are executed for every program.
_LOCAL: WeakKeyDictionary[Function, frozenset[str]] = WeakKeyDictionary()
_WITH_INNER: WeakKeyDictionary[Function, bool] = WeakKeyDictionary()


def parameters(node: Function) -> list[ast.arg]:
    """The parameters, in order."""
    arguments = node.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def local_names(node: Function) -> frozenset[str]:
    """The names that are local to a function."""
    known = _LOCAL.get(node)
    if known is None:
        body: Sequence[ast.AST] = node.body if isinstance(node, ast.FunctionDef) else [node.body]
        known = frozenset({argument.arg for argument in parameters(node)} | stored_names(body))
        _LOCAL[node] = known
    return known


def stored_names(body: Iterable[ast.AST]) -> set[str]:
    """The names that these statements bind in the scope they stand in."""
    names: set[str] = set()
    for node in _in_scope(body):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                names.add(node.id)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
            case _:
                pass
    return names


def _in_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node of the scope itself; nested functions and comprehensions are scopes of their own."""
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            # Defaults are evaluated where the function is defined: a `:=` in one binds a name there.
            stack += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            continue
        if isinstance(node, ast.ClassDef):
            continue
        if isinstance(node, Comprehension):
            _no_walrus(node)
            stack.append(node.generators[0].iter)
            continue
        stack += children(node)


def _no_walrus(node: Comprehension) -> None:
    for inner in nodes_below(node):
        if isinstance(inner, ast.NamedExpr):
            refuse(
                "unsupported.walrus",
                "`:=` inside a comprehension binds a name outside of it",
                "Assign the name in a statement.",
                inner,
            )


def has_inner_scopes(node: Function) -> bool:
    """Whether something may still refer to the function's names after it returned."""
    known = _WITH_INNER.get(node)
    if known is None:
        known = any(
            isinstance(inner, ast.FunctionDef | ast.Lambda | Comprehension)
            for inner in nodes_below(node)
        )
        _WITH_INNER[node] = known
    return known


def leaves_by(body: Sequence[ast.stmt], kind: type[ast.Break] | type[ast.Continue]) -> bool:
    """Whether the body of a loop has a break, or a continue, of its own."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            return True
        if isinstance(node, ast.For | ast.While):
            stack.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.Lambda):
            stack += children(node)
    return False


def returns(body: Sequence[ast.stmt]) -> bool:
    """Whether the function around is left in these statements."""
    return any(isinstance(node, ast.Return) for node in _in_scope(body))
