"""All that a program can reach while it runs: the builtins of the subset, and what its imports may name.

The front-end has refused every program that reaches further; this is the second wall. A module that a program imports
is a plain namespace made here: trusted functions in it go through the boundary, contracts say nothing, and nothing
leads from it to the real module.
"""

from __future__ import annotations
import __future__ as future_module

import ast
import builtins
import importlib
import typing
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, Final, cast

import lictor_layer
from lictor_ir.document import Schema
from lictor_layer import Row
from lictor_layer.rows import RowType
from lictor_prove.layer_model import TrustedFunction, TrustedModule
from lictor_prove.layers.load import LivingLayer
from lictor_prove.python.interpreter.statements import EXCEPTIONS
from lictor_prove.python.operations.builtin_functions import BUILTINS, STANDARD
from lictor_prove.python.program.module_bindings import LANGUAGE
from lictor_prove.python.syntax.subset import leads_out

Call = Callable[[str, tuple[Any, ...], Mapping[str, Any]], Any]
"""Makes a trusted call: its function, and what it is given by position and by name."""

NAME: Final = "program"


class World:
    """The namespaces of one run."""

    def __init__(self, living: LivingLayer, call: Call) -> None:
        self._living = living
        self._call = call
        self._modules: dict[str, ModuleType] = {}
        for name in LANGUAGE:
            self._modules[name] = _module(name, _language())
        for name, members in STANDARD.items():
            real = importlib.import_module(name)
            self._modules[name] = _module(name, {each: getattr(real, each) for each in members})
        self._modules["typing"] = _module(
            "typing",
            {each: _hint(each) for each in cast(list[str], vars(typing)["__all__"])},
        )
        self._modules["__future__"] = _module(
            "__future__", {"annotations": future_module.annotations}
        )
        for name, trusted in living.layer.modules.items():
            self._modules[name] = _module(name, self._members(trusted))
        self._attach()

    def run(self, tree: ast.Module, name: str) -> dict[str, Any]:
        """Runs the module of a program and gives its names. Nothing has effects before its target is called."""
        # Annotations are for the front-end; at run time they need no meaning.
        flags = future_module.annotations.compiler_flag
        _refuse_ways_out(tree)
        code = compile(tree, name, "exec", flags=flags, dont_inherit=True)
        names: dict[str, Any] = {"__name__": NAME, "__builtins__": self._builtins()}
        exec(code, names)  # noqa: S102 -- the program was read by the front-end, proved, and approved
        return names

    def rows(self, names: Mapping[str, Any]) -> Mapping[str, type[Row]]:
        """The row classes that a program defines, by the names that its document has for them."""
        known = set(self._living.layer.schemas)
        found: dict[str, type[Row]] = {}
        for value in names.values():
            if type(value) is not RowType or value.__module__ != NAME:
                continue
            schema = value.__name__
            while schema in known:
                schema = f"program.{schema}"
            known.add(schema)
            value.__lictor_schema__ = schema
            found[schema] = cast(type[Row], value)
        return found

    def _builtins(self) -> dict[str, Any]:
        return {
            **{name: getattr(builtins, name) for name in (*BUILTINS, *EXCEPTIONS)},
            "__build_class__": builtins.__build_class__,
            "__import__": self._import,
        }

    def _import(
        self,
        name: str,
        _globals: object = None,
        _locals: object = None,
        names: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level or name not in self._modules:
            raise ImportError(f"{name!r} is no module that a program may import", name=name)
        return self._modules[name if names else name.partition(".")[0]]

    def _members(self, module: TrustedModule) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, held in module.names.items():
            match held:
                case TrustedFunction():
                    found[name] = self._boundary(held.name)
                case Schema():
                    found[name] = self._living.rows[held.name]
                case bool() | int() | float() | str() | None:
                    found[name] = held
                case type() if getattr(held, "__lictor_literal__", False):
                    found[name] = held
                case _ if callable(getattr(held, "build", None)) and hasattr(held, "nullary"):
                    found[name] = _contract
                case _:
                    pass
        return found

    def _boundary(self, effect: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            return self._call(effect, args, named)

        return call

    def _attach(self) -> None:
        """Put each module into the one above it."""
        for name in sorted(self._modules):
            while "." in name:
                above, _, last = name.rpartition(".")
                parent = self._modules.setdefault(above, _module(above, {}))
                if not hasattr(parent, last):
                    setattr(parent, last, self._modules[name])
                name = above


def _refuse_ways_out(tree: ast.Module) -> None:
    """AttributeError for a program that would look behind a value: every function has its module behind it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and leads_out(node.attr):
            raise AttributeError(
                f"line {node.lineno}: .{node.attr} is nothing that a program may read"
            )


def _hint(name: str) -> Any:
    """A name of `typing`. Some of its functions evaluate text, so no program gets any of them to call."""
    held = getattr(typing, name)
    return _not_at_run_time if isinstance(held, FunctionType) or held is typing.ForwardRef else held


def _not_at_run_time(*_args: Any, **_named: Any) -> None:
    raise TypeError("functions of typing do nothing at run time")


def _language() -> dict[str, Any]:
    """What programs are written with: `guarantee` says nothing at run time."""
    literals = {
        name: held
        for name, held in vars(lictor_layer).items()
        if isinstance(held, type) and getattr(held, "__lictor_literal__", False)
    }
    return {**literals, "Row": Row, "guarantee": _guarantee}


def _guarantee(_spec: object) -> Callable[[Any], Any]:
    def same(function: Any) -> Any:
        return function

    return same


def _contract(*_args: Any, **_named: Any) -> None:
    """Stands for every contract: what it promises was proved, and is not asked again."""


def _module(name: str, members: Mapping[str, Any]) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(members)
    return made
