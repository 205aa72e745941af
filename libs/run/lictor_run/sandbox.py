"""All that a program can reach while it runs: the builtins of the subset, and what its imports may name.

The front-end has refused every program that reaches further; this is the second wall. A module that a program imports
is a plain namespace made here from the outline of its layer: trusted functions are stand-ins with the same signature
that hand over what they are given, contracts say nothing, and nothing leads from it to the real module.
"""

from __future__ import annotations
import __future__ as future_module

import ast
import builtins
import copy
import dataclasses
import datetime
import enum
import hashlib
import importlib
import inspect
import keyword
import statistics
import time
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, cast

import lictor_layer
from lictor_layer import Row
from lictor_layer.rows import COLUMN_TYPES, RowType, row_class
from lictor_prove.errors import ValueRefused
from lictor_prove.python.machine.raised_errors import CAUGHT
from lictor_prove.python.operations.builtin_functions import BUILTINS, STANDARD
from lictor_prove.python.program.module_bindings import LANGUAGE
from lictor_prove.python.syntax.subset import assignable_fields, changes_others, leads_out
from lictor_prove.python.syntax.walking import nodes_below
from lictor_prove.rehearsal.outline import ENUM_BASES, literal_class
from lictor_prove.written_values import Json, ValueReader

Call = Callable[[str, Mapping[str, Any]], Any]
"""Makes a trusted call: its function, and what it is given, by the names of its parameters. What is left to a default
is not among it."""

NAME: Final = "program"
_ABSENT: Final = object()


def rows_of(outline: Json) -> Mapping[str, type[Row]]:
    """Row classes like those of the layer, by the names of their schemas."""
    return {
        name: row_class(
            name, {column: COLUMN_TYPES[type_] for column, type_ in told["columns"].items()}
        )
        for name, told in outline["rows"].items()
    }


_OWN: Final = ".own"
"""No name of a program is spelled so."""


def call_target(target: FunctionType, inputs: Mapping[str, Any]) -> Any:
    """What the target returns when it is called with these values."""
    code = target.__code__
    by_position = code.co_varnames[: code.co_posonlyargcount]
    named = {name: value for name, value in inputs.items() if name not in by_position}
    return target(*(inputs[name] for name in by_position), **named)


def compiled(tree: ast.Module, name: str) -> CodeType:
    """The code of a program; AttributeError for one that would look behind a value."""
    _refuse_ways_out(tree)
    tree = _guarded(tree)
    # Annotations are for the front-end; at run time they need no meaning.
    flags = future_module.annotations.compiler_flag
    return compile(tree, name, "exec", flags=flags, dont_inherit=True)


class World:
    """The namespaces of one run."""

    def __init__(self, outline: Json, rows: Mapping[str, type[Row]], call: Call) -> None:
        self._outline = outline
        self._rows = rows
        self._call = call
        # Made when a program imports them: most layers offer more than a program uses.
        self._modules: dict[str, ModuleType] = {}
        self._stand_ins: dict[str, Callable[..., Any]] = {}
        self._enums: dict[str, type[enum.Enum]] = {}

    def run(self, code: CodeType) -> dict[str, Any]:
        """Runs the module of a program and gives its names. Nothing has effects before its target is called."""
        names: dict[str, Any] = {"__name__": NAME, "__builtins__": self._builtins()}
        exec(code, names)  # noqa: S102 -- the program was read by the front-end, and proved
        return names

    def rows(self, names: Mapping[str, Any]) -> Mapping[str, type[Row]]:
        """The row classes that a program defines, by the names that its document has for them."""
        known = set(self._outline["rows"])
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
            **{name: getattr(builtins, name) for name in (*BUILTINS, *CAUGHT)},
            "__build_class__": builtins.__build_class__,
            "__import__": self._import,
            _OWN: _own,
        }

    def _import(
        self,
        name: str,
        _globals: object = None,
        _locals: object = None,
        names: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level or not self._exists(name):
            raise ImportError(f"{name!r} is no module that a program may import", name=name)
        self._attach(name)
        for each in names or ():
            self._attach(f"{name}.{each}")
        return self._module(name if names else name.partition(".")[0])

    def _exists(self, name: str) -> bool:
        return (
            name in _common()
            or name in self._outline["modules"]
            # A package above a module is there, too.
            or any(each.startswith(f"{name}.") for each in self._outline["modules"])
        )

    def _module(self, name: str) -> ModuleType:
        made = self._modules.get(name)
        if made is None:
            members = _common().get(name)
            if members is None:
                told = self._outline["modules"].get(name, {})
                members = {each: self._meaning(what) for each, what in told.items()}
            made = self._modules[name] = ModuleType(name)
            made.__dict__.update(members)
        return made

    def _meaning(self, told: Json) -> Any:
        match told:
            case {"effect": str(name)}:
                if name not in self._stand_ins:
                    self._stand_ins[name] = self._stand_in(name)
                return self._stand_ins[name]
            case {"row": str(name)}:
                return self._rows[name]
            case {"value": value}:
                return ValueReader({}).read(value)
            case {"member": [str(name), str(member)]}:
                if name not in self._enums:
                    self._enums[name] = _enum(self._outline["enums"][name])
                return self._enums[name][member]
            case {"literal": str(name)}:
                # A layer's own class of literals stands in contracts only, and those say nothing.
                return literal_class(name) or _contract
            case {"contract": True}:
                return _contract
            case _:
                raise ValueRefused(f"an outline tells a name in no known way: {told!r}")

    def _stand_in(self, effect: str) -> Callable[..., Any]:
        """A function with the signature of the effect, so that Python itself binds its arguments."""

        def made(given: dict[str, Any]) -> Any:
            passed = {name: value for name, value in given.items() if value is not _ABSENT}
            return self._call(effect, passed)

        parameters = self._outline["effects"][effect]["parameters"]
        signature = tuple((each["name"], each["kind"], each["default"]) for each in parameters)
        own, code = _stand_in_code(effect, signature)
        names: dict[str, Any] = {"__builtins__": {}, own: made, f"{own}_absent": _ABSENT}
        exec(code, names)  # noqa: S102 -- written below, from names alone
        return names[effect]

    def _attach(self, name: str) -> None:
        """Put a module that is imported into the one above it, as Python does: what nobody imported is not there."""
        while "." in name and self._exists(name):
            above, _, last = name.rpartition(".")
            parent = self._module(above)
            if not hasattr(parent, last):
                setattr(parent, last, self._module(name))
            name = above


@lru_cache(maxsize=4096)
def _stand_in_code(
    effect: str, parameters: tuple[tuple[str, str, bool], ...]
) -> tuple[str, CodeType]:
    """What defines a stand-in, and the name under which it finds whom to call."""
    names = [name for name, _, _ in parameters]
    for name in (effect, *names):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueRefused(f"{name!r} can't be the name of an effect or of a parameter")
    own = "call"
    while own in (effect, *names) or f"{own}_absent" in names:
        own += "_"
    signature: list[str] = []
    for at, (name, kind, has_default) in enumerate(parameters):
        before = parameters[at - 1][1] if at else "positional"
        if before == "positional" and kind != "positional" and at:
            signature.append("/")
        if kind == "keyword" and (before != "keyword" or not at):
            signature.append("*")
        signature.append(f"{name}={own}_absent" if has_default else name)
    if parameters and parameters[-1][1] == "positional":
        signature.append("/")
    given = ", ".join(f"{name!r}: {name}" for name in names)
    text = f"def {effect}({', '.join(signature)}):\n    return {own}({{{given}}})\n"
    return own, compile(text, "stand-in", "exec", dont_inherit=True)


def _enum(told: Json) -> type[enum.Enum]:
    bases = ENUM_BASES[told["base"]]
    members = [(name, ValueReader({}).read(value)) for name, value in told["members"]]
    if len(bases) == 1:
        return cast(Any, bases[0])(told["name"], members)
    return cast(Any, enum.Enum)(told["name"], members, type=bases[0])


def _refuse_ways_out(tree: ast.Module) -> None:
    """AttributeError for a program that would look behind a value, or change what others use.

    Every function has its module behind it, and classes of the standard library are those of the layer, too.
    """
    fields = assignable_fields(tree)
    for node in nodes_below(tree):
        match node:
            case ast.Attribute(attr=name) if changes_others(node, fields):
                raise AttributeError(
                    f"line {node.lineno}: .{name} is nothing that a program may change"
                )
            case ast.Attribute(attr=name):
                names = [name]
            case ast.MatchClass(kwd_attrs=names):
                pass
            case _:
                continue
        for name in filter(leads_out, names):
            raise AttributeError(f"line {node.lineno}: .{name} is nothing that a program may read")


def _guarded(tree: ast.Module) -> ast.Module:
    """The program, where attributes of nothing but instances of its dataclasses can be assigned to."""
    if not assignable_fields(tree):
        return tree
    tree = copy.deepcopy(tree)
    for node in nodes_below(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = ast.Call(ast.Name(_OWN, ast.Load()), [node.value], [])
            node.value = ast.fix_missing_locations(ast.copy_location(owner, node.value))
    return tree


def _own(value: Any) -> Any:
    """The value, if a program may assign to its fields."""
    if type(value).__module__ != NAME or not dataclasses.is_dataclass(value):
        raise AttributeError(f"{type(value).__name__} is nothing that a program may change")
    return value


@cache
def _common() -> Mapping[str, Mapping[str, Any]]:
    """What every program may import, whatever its layer is."""
    found: dict[str, Mapping[str, Any]] = dict.fromkeys(LANGUAGE, _language())
    for name, members in STANDARD.items():
        # Nothing but what its table has: what else the real module binds leads to the rest of Python.
        real = importlib.import_module(name)
        found[name] = {each: getattr(real, each) for each in members}
    _use_once()
    found["dataclasses"] = {**found["dataclasses"], "dataclass": _dataclass}
    found["typing"] = {each: _hint(each) for each in cast(list[str], vars(typing)["__all__"])}
    found["__future__"] = {"annotations": future_module.annotations}
    return found


def _use_once() -> None:
    """Has Python load what it would look for later, where no file can be opened any more."""
    time.localtime()
    datetime.datetime.strptime("+0000", "%z")
    hashlib.sha256(b"").hexdigest()
    statistics.mode([0])
    for encoding in ("ascii", "latin-1", "cp1252", "utf-8-sig", "utf-16", "utf-32"):
        "".encode(encoding)


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """`@dataclass`. Annotations are texts at run time, and Python would look up what they name in the module of the
    class, which nobody finds by its name."""

    def made(cls: type) -> type:
        if cls.__module__ != NAME:
            raise TypeError("only classes of the program can become dataclasses")
        cls.__annotations__ = dict.fromkeys(inspect.get_annotations(cls), object)
        return cast(type, dataclasses.dataclass(cls, **options))

    return made if cls is None else made(cls)


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
