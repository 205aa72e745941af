"""Small changes to a module's code that its tests should notice.

Left out is what no test should hold: annotations, docstrings, texts of messages, log calls, and raises that mark what
can't be reached.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

BOUNDARIES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITES = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
UNREACHABLE = frozenset({"NotImplementedError", "AssertionError"})
LOGS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})


@dataclass(frozen=True)
class Mutation:
    """One change at one place; the place is found again by its number among all of the module's."""

    number: int
    line: int
    function: str
    operator: str
    before: str
    after: str


@dataclass(frozen=True)
class _Site:
    node: ast.AST
    function: str
    operator: str
    replace: Callable[[ast.AST], None]
    """Put another node in its place."""
    changed: ast.AST


def mutations_of(source: str) -> list[Mutation]:
    """Every mutation of the code in the module's functions."""
    return [
        Mutation(
            number,
            getattr(site.node, "lineno", 0),
            site.function,
            site.operator,
            _first_line(site.node),
            _first_line(site.changed),
        )
        for number, site in enumerate(_sites(ast.parse(source)))
    ]


def mutated(source: str, number: int) -> str:
    """The module's code with one of its mutations."""
    tree = ast.parse(source)
    site = list(_sites(tree))[number]
    site.replace(site.changed)
    return ast.unparse(ast.fix_missing_locations(tree))


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).split("\n", 1)[0]


def _sites(tree: ast.AST, function: str = "", *, inside: bool = False) -> Iterator[_Site]:
    for parent, field, index, node in _children(tree):
        name = function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{function}.{node.name}" if function else node.name
        within = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if _is_text(node) or name.endswith(("__repr__", "__str__")):
            continue
        if inside:

            def replace(
                new: ast.AST,
                parent: ast.AST = parent,
                field: str = field,
                index: int | None = index,
            ) -> None:
                if index is None:
                    setattr(parent, field, new)
                else:
                    getattr(parent, field)[index] = new

            for operator, changed in _changes(node):
                yield _Site(node, name, operator, replace, changed)
        yield from _sites(node, name, inside=within)


def _children(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(tree):
        # Annotations are read by nobody at run time; what is raised is mostly its message.
        if field in ("annotation", "returns", "decorator_list", "type_params", "exc"):
            continue
        if isinstance(value, ast.AST):
            yield tree, field, None, value
        elif isinstance(value, list):
            for index, each in enumerate(value):
                if isinstance(each, ast.AST):
                    yield tree, field, index, each


def _is_text(node: ast.AST) -> bool:
    """Whether it is a docstring, a formatted message or a log call."""
    match node:
        case ast.JoinedStr() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called))):
            return called in LOGS
    return False


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What it may become, with the operator's name."""
    match node:
        case ast.Compare(left=left, ops=operations, comparators=right):
            for index, operation in enumerate(operations):
                for name, table in (("boundary", BOUNDARIES), ("comparison", OPPOSITES)):
                    if other := table.get(type(operation)):
                        changed = [*operations[:index], other(), *operations[index + 1 :]]
                        yield name, ast.Compare(left, changed, right)
        case ast.BoolOp(op=operation, values=values):
            yield (
                "and-or",
                ast.BoolOp(ast.Or() if isinstance(operation, ast.And) else ast.And(), values),
            )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.Return(value=value) if value and not _is_none(value):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Raise(exc=exception) if _raised(exception) not in UNREACHABLE:
            yield "raise", ast.Pass()
        case ast.If(test=test, body=body, orelse=[_, *_] as orelse):
            yield "branches", ast.If(test, orelse, body)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "branches", ast.IfExp(test, orelse, body)
        case _:
            pass


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _raised(exception: ast.expr | None) -> str:
    called = exception.func if isinstance(exception, ast.Call) else exception
    return called.id if isinstance(called, ast.Name) else ""
