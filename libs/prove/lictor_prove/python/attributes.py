"""What an attribute is on each kind of value: one table, and nothing that is not in it.

It is asked where the attribute is read, not where it is called: Python raises AttributeError there, before any argument
is evaluated, and also when nobody calls what was read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Final, NoReturn

from lictor_prove.python.kinds import Kind, kind_of
from lictor_prove.python.library import exact_functions, unknown_members
from lictor_prove.python.library.signatures import OF_OBJECTS
from lictor_prove.python.machine.control_paths import Store
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    BuiltinV,
    InstanceRef,
    InstanceV,
    MethodV,
    ObjectV,
    PatternV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    described,
    known,
)
from lictor_prove.python.operations import (
    builtin_functions,
    counters,
    format_strings,
    instances,
)
from lictor_prove.python.operations import container_methods as held
from lictor_prove.python.operations import string_methods as text
from lictor_prove.python.operations.conversions import Args
from lictor_prove.python.operations.unknown import containers as unknown_containers
from lictor_prove.python.refusals import Raises, Unmodelled, refuse

Function = Callable[[Machine, SymbolicValue, Args], SymbolicValue]
NamingFunction = Callable[
    [Machine, SymbolicValue, Args, Mapping[str, SymbolicValue]], SymbolicValue
]


@dataclass(frozen=True, slots=True)
class Method:
    """A method: how many arguments it is modelled with, and what it does to its owner and them."""

    least: int
    most: int
    function: Function


@dataclass(frozen=True, slots=True)
class NamingMethod:
    """A method that takes any number of arguments, by position and by any name."""

    function: NamingFunction


@dataclass(frozen=True, slots=True)
class Value:
    """An attribute that is no method."""

    read: Callable[[SymbolicValue], SymbolicValue]


Attribute = Method | NamingMethod | Value


def attribute(machine: Machine, owner: SymbolicValue, name: str) -> SymbolicValue:
    """`owner.name`."""
    kind = kind_of(machine, owner)
    if isinstance(owner, InstanceV | InstanceRef):
        return instances.attribute(machine, owner, name)
    if isinstance(owner, BuiltinV) and (held := unknown_members.of_class(owner, name)) is not None:
        return held
    if isinstance(owner, ObjectV):
        return unknown_members.attribute(machine, owner, name) or MethodV(owner, name)
    found = ATTRIBUTES.get((kind, name))
    if found is None and f"{kind}.{name}" in OF_OBJECTS and machine.declares_unknowns:
        return MethodV(owner, name)
    if found is None:
        _missing(kind, owner, name)
    if isinstance(found, Value):
        return found.read(owner)
    if kind in _CONTAINERS and isinstance(owner, Sym | SequenceV):
        held = None
        if kind is Kind.LIST and name in _READING and machine.declares_unknowns:
            held = unknown_containers.sequence_of(machine, owner)
        if held is None:
            refuse(
                "list.symbolic",
                f"`{name}` of {described(owner)} is not supported: the program did not make it",
                "Make one of your own first: `xs = list(xs)`.",
            )
        # Nothing changes what a trusted call returned: to look into a copy is to look into it.
        owner = unknown_containers.made(machine, "list", held)
    return MethodV(owner, name)


def call(
    machine: Machine, method: MethodV, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`owner.name(*args, **keywords)`."""
    kind, name = kind_of(machine, method.owner), method.name
    found = ATTRIBUTES.get((kind, name))
    if found is None:
        return unknown_members.method(machine, method.owner, name, args, keywords)
    if isinstance(found, NamingMethod):
        return found.function(machine, method.owner, args, keywords)
    assert isinstance(found, Method)
    function = found.function
    owner = method.owner
    if isinstance(owner, Ref):
        other = unknown_containers.METHODS.get((kind, name))
        function = _in_unknown(function, other) if other is not None else function
    if keywords:
        refuse(
            "method.keywords",
            f"keywords are not supported in a call of {name}",
            "Pass the arguments by position.",
        )
    if not found.least <= len(args) <= found.most:
        refuse(
            "method.arguments",
            f"{kind}.{name} is supported with {found.least} to {found.most} arguments, not {len(args)}",
            "Pass as many as that.",
        )
    return function(machine, owner, args)


def _in_unknown(exact: Function, other: unknown_containers.Method) -> Function:
    """The method, where a container holds what is known; else what is known of it all the same."""

    def of(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
        assert isinstance(owner, Ref)
        if unknown_containers.is_unknown(machine, owner):
            return other(machine, owner, args)
        mark, base = machine.mark(), machine.store
        machine.store = Store(base)
        try:
            value = exact(machine, owner, args)
        except Unmodelled:
            if not machine.declares_unknowns:
                raise
            machine.go_back(mark)
            return other(machine, owner, args)
        finally:
            if machine.store is not base:
                base.written.update(machine.store.written)
                machine.store = base
        return value

    return of


def _missing(kind: Kind, owner: SymbolicValue, name: str) -> NoReturn:
    there = ", ".join(sorted(each for of, each in ATTRIBUTES if of == kind))
    remedy = f"A {kind} has {there}." if there else "Pass it on as it is."
    types = _TYPES.get(kind)
    if types is None:
        what = f"the attribute {name!r} of {described(owner)} is outside the subset"
        refuse("value.opaque", what, remedy)
    if not any(hasattr(each, name) for each in types):
        raise Raises("AttributeError", f"a {kind} has no attribute {name!r}", remedy)
    what = f"the attribute {name!r} of a {kind} is outside the subset"
    refuse("attribute.unsupported", what, _INSTEAD.get((kind, name), remedy))


_INSTEAD: Final = {
    (Kind.SET, "pop"): "Which item a set gives is not defined: use a list, or sorted(…).",
    (Kind.DICT, "popitem"): "Use pop with a key.",
    (Kind.DEFAULTDICT, "popitem"): "Use pop with a key.",
    (Kind.COUNTER, "update"): "Count in a loop: `for x in xs: counts[x] += 1`.",
    (Kind.COUNTER, "elements"): "Loop over items().",
}
_READING: Final = frozenset({"copy", "count", "index"})
_CONTAINERS: Final = (Kind.LIST, Kind.DICT, Kind.SET, Kind.TUPLE)


class _IntOfLaterVersions(int):
    """Python 3.12 gave ints an attribute: whether a program that reads it raises depends on who runs it."""

    def is_integer(self) -> bool:
        return True


_TYPES: Final[dict[Kind, tuple[type, ...]]] = {
    Kind.NONE: (NoneType,),
    Kind.BOOL: (_IntOfLaterVersions,),
    Kind.INT: (_IntOfLaterVersions,),
    # Where a float is declared Python takes an int too.
    Kind.FLOAT: (float, _IntOfLaterVersions),
    Kind.STR: (str,),
    Kind.TUPLE: (tuple,),
    Kind.LIST: (list,),
    Kind.DICT: (dict,),
    Kind.DEFAULTDICT: (defaultdict,),
    Kind.COUNTER: (Counter,),
    Kind.SET: (set,),
    Kind.FROZENSET: (frozenset,),
    Kind.RANGE: (range,),
    Kind.PATTERN: (re.Pattern,),
    Kind.MATCH: (re.Match,),
}
"""What a value of the kind is while the program runs. It raises AttributeError for what none of them has."""


def _pattern(owner: SymbolicValue) -> SymbolicValue:
    assert isinstance(owner, PatternV)
    return known(owner.pattern)


_OF_EACH_KIND: Final[Mapping[tuple[Kind, str], Attribute]] = {
    (Kind.STR, "capitalize"): Method(0, 0, text.computed("capitalize")),
    (Kind.STR, "casefold"): Method(0, 0, text.computed("casefold")),
    (Kind.STR, "center"): Method(1, 2, text.computed("center")),
    (Kind.STR, "count"): Method(1, 3, text.computed("count", text.count)),
    (Kind.STR, "endswith"): Method(1, 3, text.computed("endswith", text.ends("endswith"))),
    (Kind.STR, "expandtabs"): Method(0, 1, text.computed("expandtabs")),
    (Kind.STR, "find"): Method(1, 3, text.computed("find", text.find)),
    (Kind.STR, "format"): NamingMethod(format_strings.template),
    (Kind.STR, "index"): Method(1, 3, text.computed("index", text.index)),
    (Kind.STR, "isalnum"): Method(0, 0, text.computed("isalnum")),
    (Kind.STR, "isalpha"): Method(0, 0, text.computed("isalpha")),
    (Kind.STR, "isascii"): Method(0, 0, text.computed("isascii")),
    (Kind.STR, "isdecimal"): Method(0, 0, text.computed("isdecimal")),
    (Kind.STR, "isdigit"): Method(0, 0, text.computed("isdigit")),
    (Kind.STR, "isidentifier"): Method(0, 0, text.computed("isidentifier")),
    (Kind.STR, "islower"): Method(0, 0, text.computed("islower")),
    (Kind.STR, "isnumeric"): Method(0, 0, text.computed("isnumeric")),
    (Kind.STR, "isprintable"): Method(0, 0, text.computed("isprintable")),
    (Kind.STR, "isspace"): Method(0, 0, text.computed("isspace")),
    (Kind.STR, "istitle"): Method(0, 0, text.computed("istitle")),
    (Kind.STR, "isupper"): Method(0, 0, text.computed("isupper")),
    (Kind.STR, "join"): Method(1, 1, text.join),
    (Kind.STR, "ljust"): Method(1, 2, text.computed("ljust")),
    (Kind.STR, "lower"): Method(0, 0, text.computed("lower")),
    (Kind.STR, "lstrip"): Method(0, 1, text.computed("lstrip")),
    (Kind.STR, "partition"): Method(1, 1, text.computed("partition")),
    (Kind.STR, "removeprefix"): Method(1, 1, text.computed("removeprefix", text.removeprefix)),
    (Kind.STR, "removesuffix"): Method(1, 1, text.computed("removesuffix", text.removesuffix)),
    (Kind.STR, "replace"): Method(2, 3, text.computed("replace", text.replace)),
    (Kind.STR, "rfind"): Method(1, 3, text.computed("rfind")),
    (Kind.STR, "rindex"): Method(1, 3, text.computed("rindex")),
    (Kind.STR, "rjust"): Method(1, 2, text.computed("rjust")),
    (Kind.STR, "rpartition"): Method(1, 1, text.computed("rpartition")),
    (Kind.STR, "rsplit"): Method(0, 2, text.computed("rsplit")),
    (Kind.STR, "rstrip"): Method(0, 1, text.computed("rstrip")),
    (Kind.STR, "split"): Method(0, 2, text.computed("split")),
    (Kind.STR, "splitlines"): Method(0, 1, text.computed("splitlines")),
    (Kind.STR, "startswith"): Method(1, 3, text.computed("startswith", text.ends("startswith"))),
    (Kind.STR, "strip"): Method(0, 1, text.computed("strip")),
    (Kind.STR, "swapcase"): Method(0, 0, text.computed("swapcase")),
    (Kind.STR, "title"): Method(0, 0, text.computed("title")),
    (Kind.STR, "upper"): Method(0, 0, text.computed("upper")),
    (Kind.STR, "zfill"): Method(1, 1, text.computed("zfill")),
    (Kind.LIST, "append"): Method(1, 1, held.append),
    (Kind.LIST, "clear"): Method(0, 0, held.clear),
    (Kind.LIST, "copy"): Method(0, 0, held.copy),
    (Kind.LIST, "count"): Method(1, 1, held.count),
    (Kind.LIST, "extend"): Method(1, 1, held.extend),
    (Kind.LIST, "index"): Method(1, 1, held.index),
    (Kind.LIST, "insert"): Method(2, 2, held.insert),
    (Kind.LIST, "pop"): Method(0, 1, held.pop),
    (Kind.LIST, "remove"): Method(1, 1, held.remove),
    (Kind.LIST, "reverse"): Method(0, 0, held.reverse),
    (Kind.LIST, "sort"): NamingMethod(builtin_functions.sort),
    (Kind.TUPLE, "count"): Method(1, 1, held.count),
    (Kind.TUPLE, "index"): Method(1, 1, held.index),
    (Kind.DICT, "clear"): Method(0, 0, held.clear),
    (Kind.DICT, "copy"): Method(0, 0, held.copy),
    (Kind.DICT, "get"): Method(1, 2, held.get),
    (Kind.DICT, "items"): Method(0, 0, held.view(Kind.ITEMS)),
    (Kind.DICT, "keys"): Method(0, 0, held.view(Kind.KEYS)),
    (Kind.DICT, "pop"): Method(1, 2, held.pop_key),
    (Kind.DICT, "setdefault"): Method(1, 2, held.setdefault),
    (Kind.DICT, "update"): Method(1, 1, held.update),
    (Kind.DICT, "values"): Method(0, 0, held.view(Kind.VALUES)),
    (Kind.SET, "add"): Method(1, 1, held.add),
    (Kind.SET, "clear"): Method(0, 0, held.clear),
    (Kind.SET, "copy"): Method(0, 0, held.copy),
    (Kind.SET, "difference"): Method(1, 1, held.combined("-")),
    (Kind.SET, "difference_update"): Method(1, 1, held.updated("-")),
    (Kind.SET, "discard"): Method(1, 1, held.discard),
    (Kind.SET, "intersection"): Method(1, 1, held.combined("&")),
    (Kind.SET, "intersection_update"): Method(1, 1, held.updated("&")),
    (Kind.SET, "isdisjoint"): Method(1, 1, held.isdisjoint),
    (Kind.SET, "issubset"): Method(1, 1, held.issubset),
    (Kind.SET, "issuperset"): Method(1, 1, held.issuperset),
    (Kind.SET, "remove"): Method(1, 1, held.remove_item),
    (Kind.SET, "symmetric_difference"): Method(1, 1, held.combined("^")),
    (Kind.SET, "symmetric_difference_update"): Method(1, 1, held.updated("^")),
    (Kind.SET, "union"): Method(1, 1, held.combined("|")),
    (Kind.SET, "update"): Method(1, 1, held.updated("|")),
    (Kind.FROZENSET, "difference"): Method(1, 1, held.combined("-")),
    (Kind.FROZENSET, "intersection"): Method(1, 1, held.combined("&")),
    (Kind.FROZENSET, "isdisjoint"): Method(1, 1, held.isdisjoint),
    (Kind.FROZENSET, "issubset"): Method(1, 1, held.issubset),
    (Kind.FROZENSET, "issuperset"): Method(1, 1, held.issuperset),
    (Kind.FROZENSET, "symmetric_difference"): Method(1, 1, held.combined("^")),
    (Kind.FROZENSET, "union"): Method(1, 1, held.combined("|")),
    (Kind.PATTERN, "fullmatch"): Method(1, 1, exact_functions.matched("fullmatch")),
    (Kind.PATTERN, "match"): Method(1, 1, exact_functions.matched("match")),
    (Kind.PATTERN, "pattern"): Value(_pattern),
    (Kind.PATTERN, "search"): Method(1, 1, exact_functions.matched("search")),
    (Kind.MATCH, "group"): Method(0, 1, exact_functions.group),
}
ATTRIBUTES: Final[Mapping[tuple[Kind, str], Attribute]] = {
    **_OF_EACH_KIND,
    **{
        (Kind.DEFAULTDICT, name): what
        for (kind, name), what in _OF_EACH_KIND.items()
        if kind == Kind.DICT
    },
    **{
        (Kind.COUNTER, name): _OF_EACH_KIND[Kind.DICT, name]
        for name in ("clear", "copy", "get", "items", "keys", "values")
    },
    (Kind.COUNTER, "most_common"): Method(0, 1, counters.most_common),
    (Kind.COUNTER, "total"): Method(0, 0, counters.total),
}
"""Every attribute there is. What a method is given beyond what stands here is refused."""
