"""The source of a layer's functions and lambdas.

A lambda is found by the positions that its code object carries: two lambdas on one line are told apart by their
columns. What can't be found exactly is an error; a wrong body would be a wrong proof.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

from lictor_prove.errors import ProverConfigError
from lictor_prove.layer_model import Predicate


@dataclass(frozen=True)
class FunctionSource:
    """The parsed text of one module."""

    place: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def lambdas(self) -> Mapping[int, tuple[ast.Lambda, ...]]:
        """Its lambdas by the line they begin on."""
        found: dict[int, list[ast.Lambda]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Lambda):
                found.setdefault(node.lineno, []).append(node)
        return {line: tuple(nodes) for line, nodes in found.items()}


class Sources:
    """The sources of a layer, by file name."""

    def __init__(self, sources: Mapping[str, FunctionSource]) -> None:
        self._sources = sources
        self._texts = {path: source.text for path, source in sources.items()}

    def of(self, code: CodeType, what: str) -> FunctionSource:
        """The source that the code was compiled from."""
        source = self._sources.get(code.co_filename)
        if source is None:
            raise ProverConfigError(
                f"{code.co_filename}:{code.co_firstlineno}: {what} is defined outside the trusted"
                " roots; define it in the layer"
            )
        return source

    def predicate(self, function: Callable[..., object], text: str | None = None) -> Predicate:
        """The lambda as syntax, with what its names mean."""
        if not isinstance(function, FunctionType) or function.__name__ != "<lambda>":
            name = getattr(function, "__name__", repr(function))
            raise ProverConfigError(
                f"{self.place(function)}: {name} is no lambda; write one in place"
            )
        source = self.of(function.__code__, "a lambda")
        node = _lambda_node(source, function)
        place = f"{source.place}:{node.lineno}"
        if node.args.vararg is not None or node.args.kwarg is not None:
            raise ProverConfigError(f"{place}: a predicate names its parameters one by one")
        shown = text or ast.get_source_segment(source.text, node.body) or ast.unparse(node.body)
        return Predicate(node, _names(function, node), " ".join(shown.split()), place, self._texts)

    def place(self, function: object) -> str:
        """File and line of a function, for messages."""
        code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
        if not isinstance(code, CodeType):
            return "the layer"
        source = self._sources.get(code.co_filename)
        return f"{source.place if source else code.co_filename}:{code.co_firstlineno}"


def _lambda_node(source: FunctionSource, function: FunctionType) -> ast.Lambda:
    code = function.__code__
    traces = _traces(code)
    nodes = [
        node
        for node in source.lambdas.get(code.co_firstlineno, ())
        if _traces(_compiled(node)) == traces
    ]
    # Equal text has equal meaning: `[lambda e: True, lambda e: True]`.
    if len({ast.dump(node) for node in nodes}) != 1:
        raise ProverConfigError(
            f"{source.place}:{code.co_firstlineno}: which of the lambdas on this line is meant can't"
            " be told; write each on a line of its own"
        )
    return nodes[0]


def _compiled(node: ast.Lambda) -> CodeType:
    """The code of a lambda alone; but for how it reaches outer names, it is that of the lambda in its place."""
    whole = compile(ast.Expression(node), "<lambda>", "eval", dont_inherit=True)
    return next(part for part in whole.co_consts if isinstance(part, CodeType))


def _traces(code: CodeType) -> tuple[object, ...]:
    """What distinguishes a lambda from its neighbours: parameters, constants, and the columns of its operations."""
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    constants = {repr(value) for value in code.co_consts if not isinstance(value, CodeType)}
    # What belongs to no line only fetches outer names.
    positions = {position for position in code.co_positions() if position[0] is not None}
    return arguments, frozenset(constants), frozenset(positions)


def _argument_names(node: ast.Lambda) -> tuple[str, ...]:
    arguments = node.args
    return tuple(
        argument.arg
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    )


def _names(function: FunctionType, node: ast.Lambda) -> Mapping[str, object]:
    """What the free names of a lambda mean now."""
    used = {part.id for part in ast.walk(node.body) if isinstance(part, ast.Name)}
    used -= set(_argument_names(node))
    captured: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            captured[name] = cell.cell_contents
        except ValueError:
            continue
    found: dict[str, object] = {}
    for name in sorted(used):
        for scope in (captured, function.__globals__, vars(builtins)):
            if name in scope:
                found[name] = scope[name]
                break
    return found
