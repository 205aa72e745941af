"""The source of a layer's functions and lambdas.

A lambda is found by the positions that its code object carries: two lambdas on one line are told apart by their
columns. What can't be found exactly is an error; a wrong body would be a wrong proof.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType

from lictor_ir.document import Schema
from lictor_prove.errors import ProverConfigError
from lictor_prove.layer_model import Predicate
from lictor_prove.layer_names import Constancy, FunctionNames


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
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The node that each node stands in."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def lambdas(self) -> Mapping[int, tuple[ast.Lambda, ...]]:
        """Its lambdas by the line they begin on."""
        found: dict[int, list[ast.Lambda]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Lambda):
                found.setdefault(node.lineno, []).append(node)
        return {line: tuple(nodes) for line, nodes in found.items()}

    @cached_property
    def _lines(self) -> Sequence[bytes]:
        # As the parser counts them, which counts columns in bytes.
        return re.split(rb"\r\n|\r|\n", self.text.encode())

    def body(self, node: ast.Lambda) -> str:
        """What a lambda of this module says, in one line."""
        place = node.body
        assert place.end_lineno is not None
        lines = [*self._lines[place.lineno - 1 : place.end_lineno]]
        lines[-1] = lines[-1][: place.end_col_offset]
        lines[0] = lines[0][place.col_offset :]
        return " ".join(b" ".join(lines).decode().split())

    @cached_property
    def _known_traces(self) -> dict[ast.Lambda, tuple[object, ...]]:
        return {}

    def traces(self, node: ast.Lambda) -> tuple[object, ...]:
        """What the code of a lambda of this module is known by."""
        if node not in self._known_traces:
            self._known_traces[node] = _traces(_compiled(node))
        return self._known_traces[node]


class Sources:
    """The sources of a layer, by file name."""

    def __init__(
        self,
        sources: Mapping[str, FunctionSource],
        constancy: Constancy | None = None,
        kin: Mapping[tuple[str, str], Sequence[str]] | None = None,
        schemas: Mapping[str, Schema] | None = None,
    ) -> None:
        self._sources = sources
        self._constancy = constancy
        self._kin = kin or {}
        self._schemas = schemas or {}
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

    def predicate(
        self, function: Callable[..., object], text: str | None = None, *, lasts: bool = True
    ) -> Predicate:
        """The lambda as syntax, with what its names mean; `lasts`: it is called again, when programs run."""
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
        shown = " ".join(text.split()) if text else source.body(node)
        names = FunctionNames(function, self._constancy, lasts=lasts)
        return Predicate(node, names, shown, place, self._texts, self._kin, self._schemas)

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
        if source.traces(node) == traces
    ]
    # Equal text has equal meaning: `[lambda e: True, lambda e: True]`.
    if len(nodes) != 1 and len({ast.dump(node) for node in nodes}) != 1:
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
