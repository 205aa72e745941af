"""Whether a list, set or dict at the top level of a module is only read: by every use of its name in the text.

A container that is handed to a function, returned, or put into another object can be changed by whoever gets it, so
every use must be one that is known to read.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from lictor_prove.layers.function_sources import FunctionSource

_READING: Final = frozenset(["all", "any", "bool", "isinstance", "len", "repr", "str"])
"""Builtins that keep nothing of what they are given."""
_COPYING: Final = frozenset(
    [
        *("dict", "enumerate", "filter", "frozenset", "iter", "list", "map", "max", "min"),
        *("next", "reversed", "set", "sorted", "sum", "tuple", "zip"),
    ]
)
"""Builtins that pass on the items, and not the container."""
_CHOOSING: Final = frozenset(["max", "min", "next", "sum"])
"""Those that may give what they are given besides: `max(a, b)`, `next(items, a)`, `sum(items, a)`."""
_READERS: Final = frozenset(
    [
        *("copy", "count", "difference", "get", "index", "intersection", "isdisjoint", "issubset"),
        *("issuperset", "items", "keys", "symmetric_difference", "union", "values"),
    ]
)
"""Methods of containers that change nothing."""
_TAKING: Final = frozenset(
    [
        *("difference", "intersection", "isdisjoint", "issubset", "issuperset", "join"),
        *("symmetric_difference", "union"),
    ]
)
"""Methods of strings and sets that keep nothing of what they are given."""
_COMPARED: Final = frozenset(
    ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"]
)
_COMPUTED: Final = frozenset(
    f"__{side}{op}__"
    for side in ("", "r", "i")
    for op in (
        *("add", "and", "divmod", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow"),
        *("rshift", "sub", "truediv", "xor"),
    )
)
_ALL_NAMES: Final = frozenset(["eval", "exec", "globals", "locals", "vars"])
"""Builtins through which a container can be had without its name."""
_READING_NAMES: Final = frozenset(
    [
        *("__dict__", "__getattribute__", "__reduce__", "__reduce_ex__"),
        *("attrgetter", "get_objects", "get_referents"),
        *("get_referrers", "getattr_static", "getclosurevars", "getmembers", "resolve_name"),
    ]
)
"""What else gives a container without its name: of objects, `operator`, `gc`, `inspect` and `pkgutil`."""
_MAKERS: Final = frozenset(["dict", "list", "set", "sorted"])
_FRESH: Final = (
    ast.Dict,
    ast.DictComp,
    ast.List,
    ast.ListComp,
    ast.Set,
    ast.SetComp,
)

_WRITTEN: Final = (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple, ast.UnaryOp)


@dataclass(frozen=True)
class ContainerUses:
    """The uses of names and attributes in one module."""

    source: FunctionSource
    bound: Collection[str] = ()
    """What the names of the module are, besides those that its text binds: a builtin among them is none."""
    defined: Collection[str] = ()
    """The functions and methods of the whole layer: one of them may do more than its name says."""

    def why_changing(self, name: str, *, nested: bool) -> str | None:
        """How the container that a name of the module stands for may change; None when it is only read."""
        for node in self.source.tree.body:
            if _binds(node, name) and not self._is_fresh(node, nested=nested):
                return f"others may hold it ({self._place(node)})"
        return self._first(self._names.get(name, ()), nested=nested)

    def makes(self, name: str) -> bool:
        """Whether the module makes what a name stands for, and does not import it."""
        return any(_binds(node, name) for node in self.source.tree.body)

    def aliases(self, name: str) -> set[str]:
        """The names that stand for the same container, or did so while the module was loaded."""
        found = {name}
        bound: list[set[str]] = []
        for node in self.source.tree.body:
            match node:
                case ast.Assign(targets=[*targets], value=ast.Name(id=value)):
                    bound.append(
                        {value, *(each.id for each in targets if isinstance(each, ast.Name))}
                    )
                case ast.AnnAssign(target=ast.Name(id=target), value=ast.Name(id=value)):
                    bound.append({value, target})
                case _:
                    pass
        while more := [names for names in bound if found & names and not names <= found]:
            found.update(*more)
        return found

    def why_attribute(self, name: str, *, nested: bool) -> str | None:
        """The same of an attribute of that name, of whatever object: it may be the module that holds the container."""
        return self._first(self._attributes.get(name, ()), nested=nested)

    def why_reached(self, name: str, *, nested: bool) -> str | None:
        """The same where the text has the container by other means than its own global and attributes."""
        for local in self._local_imports.get(name, ()):
            uses = (*self._names.get(local, ()), *self._attributes.get(local, ()))
            why = self._first(uses, nested=nested)
            if why is not None:
                return why
        for node, read in self._unnamed:
            if read is None or read == name:
                return f"it may be had without its name ({self._place(node)})"
        return None

    def _first(self, nodes: tuple[ast.expr, ...] | list[ast.expr], *, nested: bool) -> str | None:
        for node in nodes:
            if not self._only_reads(node, nested=nested):
                return f"it is used for more than reading ({self._place(node)})"
        return None

    def _place(self, node: ast.AST) -> str:
        return f"{self.source.place}:{getattr(node, 'lineno', 1)}"

    @cached_property
    def _names(self) -> Mapping[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    @cached_property
    def _attributes(self) -> Mapping[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, []).append(node)
        return found

    @cached_property
    def _local_imports(self) -> Mapping[str, list[str]]:
        """What functions and classes import by `from`, and what they call it; the modules' own imports are globals."""
        found: dict[str, list[str]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.ImportFrom):
                for each in node.names:
                    found.setdefault(each.name, []).append(each.asname or each.name)
        return found

    @cached_property
    def _unnamed(self) -> list[tuple[ast.expr, str | None]]:
        """Where objects are read by a name that is a value, and the name where that is written out."""
        found: list[tuple[ast.expr, str | None]] = []
        for node in ast.walk(self.source.tree):
            match node:
                case ast.Name(id="getattr"):
                    call = self.source.parents[node]
                    if isinstance(call, ast.Call) and call.func is node and len(call.args) > 1:
                        asked = call.args[1]
                        written = asked.value if isinstance(asked, ast.Constant) else None
                        found.append((node, written if isinstance(written, str) else None))
                    else:
                        found.append((node, None))
                case ast.Name(id=name) if name in _ALL_NAMES and not self._is_own(node):
                    found.append((node, None))
                case ast.Attribute(attr=name) if name in _READING_NAMES:
                    if not _is_self(node.value):
                        found.append((node, None))
                case ast.MatchClass(kwd_attrs=attributes):
                    # `case object(ALLOWED=held)` reads an attribute.
                    found += [(ast.Name(each, lineno=node.lineno), each) for each in attributes]
                case ast.ImportFrom(names=names):
                    for each in names:
                        if each.name in _READING_NAMES:
                            found.append((ast.Name(each.name, lineno=node.lineno), None))
                case _:
                    pass
        return found

    def _is_own(self, function: ast.Name) -> bool:
        """`vars(self)`."""
        call = self.source.parents[function]
        return isinstance(call, ast.Call) and bool(call.args) and _is_self(call.args[0])

    @cached_property
    def _rebound(self) -> frozenset[str]:
        """Every name that the module binds anywhere, in whatever way."""
        found = set(self.bound)
        for node in ast.walk(self.source.tree):
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    found.add(name)
                case (
                    ast.FunctionDef(name=str(name))
                    | ast.AsyncFunctionDef(name=str(name))
                    | ast.ClassDef(name=str(name))
                    | ast.ExceptHandler(name=str(name))
                    | ast.MatchAs(name=str(name))
                    | ast.MatchStar(name=str(name))
                    | ast.MatchMapping(rest=str(name))
                    | ast.arg(arg=name)
                ):
                    found.add(name)
                case ast.alias(name=name, asname=other):
                    found.add(other or name)
                case _:
                    pass
        return frozenset(found)

    def _only_reads(self, node: ast.expr, *, nested: bool, part: bool = False) -> bool:
        """Whether the expression around this one can't change the container, nor hand it on.

        `part`: the expression is something inside of the container.
        """
        parent = self.source.parents[node]
        match parent:
            case ast.Compare(left=left, ops=ops):
                # What is looked for is compared with each item; what is looked into is given to nobody.
                looked_into = len(ops) == 1 and left is not node and not nested
                harmless = (ast.Is, ast.IsNot, *((ast.In, ast.NotIn) if looked_into else ()))
                held = all(isinstance(op, harmless) for op in ops)
                return held or _COMPARED.isdisjoint(self.defined)
            case ast.Assert(test=test):
                return test is node
            case ast.FormattedValue() | ast.Expr() | ast.If() | ast.While():
                return True
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.BoolOp():
                return self._only_reads(parent, nested=nested, part=part)
            case ast.IfExp(test=test):
                return test is node or self._only_reads(parent, nested=nested, part=part)
            case ast.Subscript(value=value, ctx=ast.Load()) if value is node:
                return not nested or self._only_reads(parent, nested=nested, part=True)
            case ast.For(iter=over) | ast.comprehension(iter=over) if over is node:
                return not nested
            case ast.BinOp():
                return not nested and _COMPUTED.isdisjoint(self.defined)
            case ast.Starred():
                return not nested
            case ast.Call(func=ast.Name(id=function), args=args):
                if function in self._rebound or (function in _CHOOSING and len(args) != 1):
                    return False
                if function == "isinstance" and "__instancecheck__" in self.defined:
                    return False
                return function in _READING or (function in _COPYING and not nested)
            case ast.Call(func=ast.Attribute(attr=method)) if method in _TAKING:
                return not nested and method not in self.defined
            case ast.Attribute(attr=method):
                return self._is_reading_method(parent, method, nested=nested)
            case (
                ast.Assign(targets=[*targets], value=value)
                | ast.AnnAssign(target=targets, value=value)
            ) if value is node:
                # At module level: another name for it, which is looked at too. What is inside has no other name.
                several = targets if isinstance(targets, list) else [targets]
                named = all(isinstance(each, ast.Name) for each in several)
                at_top = isinstance(self.source.parents.get(parent), ast.Module)
                return named and at_top and not part and isinstance(node, ast.Name)
            case _:
                return False

    def _is_reading_method(self, node: ast.Attribute, method: str, *, nested: bool) -> bool:
        call = self.source.parents[node]
        if not isinstance(call, ast.Call) or call.func is not node:
            return False
        if method in _READERS:
            return not nested or self._only_reads(call, nested=nested, part=True)
        # `ALLOWED.append("x")` at module level has happened when the layer is loaded.
        done = self.source.parents[call]
        at_top = isinstance(self.source.parents.get(done), ast.Module)
        return not nested and isinstance(done, ast.Expr) and at_top

    def _is_fresh(self, node: ast.stmt, *, nested: bool) -> bool:
        """Whether a statement binds a name to a container that was made there, or to one that has a name already."""
        match node:
            case ast.AugAssign():
                return not nested
            case ast.Assign(targets=targets) if not all(
                isinstance(each, ast.Name) for each in targets
            ):
                return False
            case ast.Assign(value=ast.Name()) | ast.AnnAssign(value=ast.Name()):
                return True
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return _is_written_out(value) if nested else self._makes(value)
            case _:
                return False

    def _makes(self, value: ast.expr) -> bool:
        match value:
            case ast.Call(func=ast.Name(id=maker)):
                return maker in _MAKERS and maker not in self._rebound
            case ast.Call(func=ast.Attribute(attr=method)):
                made = method in ("copy", "split", "splitlines", "union")
                return made and method not in self.defined
            case ast.BinOp():
                return _COMPUTED.isdisjoint(self.defined)
            case _:
                return isinstance(value, _FRESH)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _binds(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Expr():
            return False
        case ast.AnnAssign(value=None):
            return False
        case _:
            stored = (part for part in ast.walk(node) if isinstance(part, ast.Name))
            return any(part.id == name and isinstance(part.ctx, ast.Store) for part in stored)


def _is_written_out(value: ast.expr) -> bool:
    """Whether containers within containers are all made there: nobody else holds one."""
    inner = (part for part in ast.walk(value) if isinstance(part, ast.expr))
    return all(isinstance(part, _WRITTEN) for part in inner)
