"""Which names of a layer may mean something else later, and so are constants for nobody.

A proof takes the value that a name has when the layer is loaded. Functions of the layer run later, in another process:
what they assign or change is decided here by reading their text, as strictly as text can be read. Statements at module
level don't count: they have run when the layer is loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Final, cast

from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.container_uses import ContainerUses
from lictor_prove.layers.function_sources import FunctionSource

_REACHING: Final = frozenset(
    ["exec", "eval", "globals", "vars", "setattr", "delattr", "__import__"]
)
"""Builtins that write to names which don't stand in the text."""
_INSIDES: Final = frozenset(
    [
        *("__dict__", "__globals__", "__defaults__", "__kwdefaults__", "__closure__", "__code__"),
        *("__setattr__", "__delattr__", "__class__", "__builtins__", "__getattribute__"),
        *("cell_contents", "f_builtins", "f_globals", "f_locals"),
    ]
)
_OUTSIDE: Final = {
    "sys": frozenset(["modules"]),
    "importlib": frozenset(["reload"]),
    "builtins": _REACHING,
    "unittest": frozenset(["mock"]),
    "unittest.mock": frozenset(["patch"]),
}
"""What writes to names that don't stand in the text, by the modules that have it."""

_PYTHON: Final = frozenset(["builtins", "math", "re", "string"])
"""Modules that programs rest on, besides their layers."""

_OURS: Final = ("lictor_layer.", "lictor_prove.compat.")
_FIXED_MODULES: Final = frozenset(["math", "string"])
_PATHS: Final = frozenset(["altsep", "curdir", "extsep", "pardir", "pathsep", "sep"])
_FIXED_NAMES: Final = {
    "os": _PATHS | {"linesep", "name"},
    "posixpath": _PATHS,
    "ntpath": _PATHS,
    "sys": frozenset(["maxsize", "maxunicode"]),
}
"""Constants of modules that no layer holds. `tempfile.tempdir` is None until somebody asks for it."""


@dataclass(slots=True)
class ChangingState:
    """What the functions of a layer may change."""

    modules: Mapping[str, ModuleType]
    _rebound: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Names that a function declares `global`, by module, with the place."""
    _captured: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Names that a function declares `nonlocal`, by module."""
    _attributes: dict[str, str] = field(default_factory=dict[str, str])
    """Attributes that a function sets, of whatever object: it may be a module."""
    _anything: str | None = None
    """Where a function may write to what its text does not name."""
    _uses: dict[str, ContainerUses] = field(default_factory=dict[str, ContainerUses])
    _defined: set[str] = field(default_factory=set[str])
    """The names of all functions and methods of the layer."""

    def read(self, module: str, source: FunctionSource) -> None:
        """Adds what the functions of a module change."""
        bound = frozenset(self.modules[module].__dict__)
        self._uses[module] = ContainerUses(source, bound, self._defined)
        outside: dict[str, str] = {}
        inside = list(_inside_functions(source.tree))
        run_later = {node for node, _ in inside}
        for node in ast.walk(source.tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self._defined.add(name)
                case ast.Import(names=names):
                    outside.update({each.asname or each.name: each.name for each in names})
                case ast.ImportFrom(module=str(origin), names=names):
                    if any(each.name in _OUTSIDE.get(origin, ()) for each in names):
                        self._writes_anywhere(source, node)
                case ast.Name(id="__builtins__", ctx=ast.Load()):
                    self._writes_anywhere(source, node)
                case ast.Name(id=name) if name in (*_REACHING, "locals") and node not in run_later:
                    if _is_kept(node, source):
                        self._writes_anywhere(source, node)
                case ast.Attribute(attr=name, ctx=ast.Load()) if name in _INSIDES:
                    if node not in run_later and _is_kept(node, source):
                        self._writes_anywhere(source, node)
                case _:
                    pass
        for node, selves in inside:
            place = f"{source.place}:{getattr(node, 'lineno', 1)}"
            match node:
                case ast.Global(names=names):
                    self._rebound.update({(module, name): place for name in names})
                case ast.Nonlocal(names=names):
                    self._captured.update({(module, name): place for name in names})
                case ast.Attribute(attr=name, value=owner, ctx=ast.Store() | ast.Del()):
                    if not _named(owner, selves):
                        _refuse_patch(_module(owner, outside), place)
                        self._assigns(name, place)
                case ast.Call(
                    func=ast.Name(id="setattr" | "delattr"),
                    args=[owner, ast.Constant(value=str(name)), *_],
                ):
                    _refuse_patch(_module(owner, outside), place)
                    self._assigns(name, place)
                case ast.Call(func=ast.Name(id="getattr"), args=[owner, asked, *_]) if (
                    _module(owner, outside) in _OUTSIDE
                ):
                    of_module = _OUTSIDE[_module(owner, outside)]
                    if not isinstance(asked, ast.Constant) or asked.value in of_module:
                        self._writes_anywhere(source, node)
                case ast.Constant(value=str(text)) if not _INSIDES.isdisjoint(text.split(".")):
                    # `attrgetter("__globals__")` reads what `.__globals__` reads.
                    call = source.parents[node]
                    if isinstance(call, ast.Call) and not _is_asked_of_itself(call, selves):
                        self._writes_anywhere(source, node)
                case ast.Name(id=name) if name in _REACHING:
                    if not _is_of_itself(node, selves, source):
                        self._writes_anywhere(source, node)
                case ast.Attribute(attr=name, value=owner) if (
                    name in _INSIDES or name in _OUTSIDE.get(_module(owner, outside), ())
                ):
                    if not (_named(owner, selves) or _is_of_itself(node, selves, source)):
                        self._writes_anywhere(source, node)
                case _:
                    pass

    def _assigns(self, attribute: str, place: str) -> None:
        self._attributes.setdefault(attribute, place)
        if attribute in _INSIDES:
            self._anything = self._anything or place

    def _writes_anywhere(self, source: FunctionSource, node: ast.AST) -> None:
        self._anything = self._anything or f"{source.place}:{getattr(node, 'lineno', 1)}"

    def of_global(self, module: str, name: str, held: object) -> str | None:
        """Why a global of a module is no constant; None when it is one."""
        place = self._rebound.get((module, name)) or self._attributes.get(name)
        if place is not None:
            return f"a function of the layer assigns {name} ({place})"
        if self._anything is not None and module in self.modules:
            return f"a function of the layer may assign names that can't be told ({self._anything})"
        if module not in self.modules and not _is_known_outside(module, name, held):
            return f"{module} is outside of the layer, where nobody looks for what assigns {name}"
        return None if is_fixed(held) else self._why_container(name, held)

    def of_captured(self, module: str, name: str, held: object, *, lasts: bool) -> str | None:
        """The same for a variable of a function around; `lasts`: the function that reads it is called again later."""
        place = self._captured.get((module, name))
        if place is not None:
            return f"a function of the layer assigns {name} ({place})"
        if lasts and not is_fixed(held):
            return f"{name} is a {type(held).__name__}, which whoever holds it can change; use a tuple or a frozenset"
        return None

    def _why_container(self, called: str, held: object) -> str | None:
        """Why what a container holds may change: a name that it has is used for more than reading."""
        nested = not _items_are_fixed(held)
        names = {
            (module, alias): None
            for module, living in self.modules.items()
            for name, value in list(living.__dict__.items())
            if value is held
            for alias in sorted(self._uses[module].aliases(name))
        }
        whys = [self._uses[module].why_changing(name, nested=nested) for module, name in names]
        for name in {name for _, name in names}:
            whys += [uses.why_attribute(name, nested=nested) for uses in self._uses.values()]
            whys += [uses.why_reached(name, nested=nested) for uses in self._uses.values()]
        if not any(self._uses[module].makes(name) for module, name in names):
            whys.append("it is made outside of the layer's modules")
        why = next(filter(None, whys), None)
        if why is None:
            return None
        return f"the {type(held).__name__} {called} may change: {why}; use a tuple or a frozenset"


def _is_known_outside(module: str, name: str, held: object) -> bool:
    """Whether a name of an installed module is known to mean what it means; functions and modules are judged by use."""
    if callable(held) or isinstance(held, ModuleType) or module.startswith(_OURS):
        return True
    return module in _FIXED_MODULES or name in _FIXED_NAMES.get(module, ())


def is_fixed(held: object) -> bool:
    """Whether nobody can change what a value is."""
    if type(held) in (tuple, frozenset):
        return all(is_fixed(item) for item in cast(tuple[object, ...], held))
    return type(held) not in (list, set, dict)


def _items_are_fixed(held: object) -> bool:
    if isinstance(held, dict):
        return all(map(is_fixed, cast(dict[object, object], held).values()))
    return all(map(is_fixed, cast(list[object], held)))


def _inside_functions(tree: ast.Module) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every node inside of functions, with the names that methods around it have for their own object."""
    stack: list[tuple[ast.AST, bool, frozenset[str]]] = [(tree, False, frozenset())]
    while stack:
        node, inside, selves = stack.pop()
        if inside:
            yield node, selves
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            stack.extend((child, True, selves) for child in body)
            # Defaults and decorators run when the function is defined.
            outside = (child for child in ast.iter_child_nodes(node) if child not in body)
            stack.extend((child, inside, selves) for child in outside)
            continue
        for child in ast.iter_child_nodes(node):
            own = _self(child) if isinstance(node, ast.ClassDef) else frozenset[str]()
            stack.append((child, inside, selves | own))


def _self(method: ast.AST) -> frozenset[str]:
    """What a method calls its own object."""
    if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
        return frozenset()
    if any(_is(decorator, "staticmethod") for decorator in method.decorator_list):
        return frozenset()
    own = frozenset(each.arg for each in (*method.args.posonlyargs, *method.args.args)[:1])
    bound = [each.arg for each in ast.walk(method) if isinstance(each, ast.arg)]
    for node in ast.walk(method):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.append(node.id)
        elif isinstance(node, ast.alias):
            bound.append(node.asname or node.name)
    # A name that is bound a second time may stand for a module.
    return frozenset(name for name in own if bound.count(name) == 1)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _named(node: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _module(node: ast.expr, imported: Mapping[str, str]) -> str:
    """The module that a name was imported as; a name of a module that nobody imports here is taken for it, too."""
    return imported.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _refuse_patch(module: str, place: str) -> None:
    if module in _PYTHON:
        raise ProverConfigError(
            f"{place}: the layer changes {module}, which all programs rest on; leave Python as it is"
        )


def _is_asked_of_itself(call: ast.Call, selves: frozenset[str]) -> bool:
    """`getattr(self, "__dict__")`; and `hasattr`, which gives nothing away."""
    match call:
        case ast.Call(func=ast.Name(id="hasattr")):
            return True
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, *_]):
            return _named(owner, selves)
        case _:
            return False


def _is_kept(node: ast.expr, source: FunctionSource) -> bool:
    """Whether what runs while the module is loaded leaves a way to write: `NAMES = globals()`, `put = setattr`."""
    parent = source.parents[node]
    if isinstance(node, ast.Name):
        if not (isinstance(parent, ast.Call) and parent.func is node):
            return True
        node, parent = parent, source.parents[parent]
    match parent:
        case ast.Expr() | ast.Subscript() | ast.Compare() | ast.For() | ast.comprehension():
            return False
        case ast.Attribute():
            called = source.parents[parent]
            done = isinstance(called, ast.Call) and called.func is parent
            return not (done and parent.attr in ("get", "items", "keys", "update", "values"))
        case ast.Call(func=func):
            return func is not node  # `object.__setattr__(…)` is done by now
        case _:
            return True


def _is_of_itself(
    function: ast.Name | ast.Attribute, selves: frozenset[str], source: FunctionSource
) -> bool:
    """`setattr(self, …)`, `vars(self)`, and `setattr(x, "literal", …)`, which is read as an assignment."""
    call = source.parents.get(function)
    if not isinstance(call, ast.Call) or call.func is not function or not call.args:
        return False
    if _named(call.args[0], selves):
        return True
    is_literal = len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
    return is_literal and isinstance(function, ast.Name) and function.id in ("setattr", "delattr")
