"""The builtin functions, and the few of `math` and `re`, that the subset has. Each is exact or refuses."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from lictor_ir.provenance import made_of
from lictor_ir.terms import and_
from lictor_ir.types import BOOL
from lictor_prove.python.kinds import OPEN, Kind, kind_of, undefined
from lictor_prove.python.library import exact_functions, unknown_members
from lictor_prove.python.library.signatures import MEMBERS, OF_OBJECTS, modules
from lictor_prove.python.library.unknown_members import either_way, is_object
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import union
from lictor_prove.python.machine.raised_errors import catcher
from lictor_prove.python.machine.symbolic_values import (
    FALSE_VALUE,
    NONE_VALUE,
    BuiltinV,
    Composite,
    ContainerItem,
    DataClass,
    DataClassV,
    ErrorV,
    InstanceRef,
    InstanceV,
    LanguageV,
    ObjectV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    boolean,
    count,
    is_known,
    is_none,
    known,
)
from lictor_prove.python.machine.unknown_values import flows, maybe_raised, unknown
from lictor_prove.python.operations import (
    container_contents,
    container_methods,
    conversions,
    counters,
    default_dicts,
    instances,
    iterator_builtins,
)
from lictor_prove.python.operations.arithmetic import known_int
from lictor_prove.python.operations.containers import length, put, told_length
from lictor_prove.python.operations.conversions import (
    ANY_NUMBER,
    NO_KEYWORDS,
    Args,
    Table,
    each,
    ordered_items,
    unordered,
)
from lictor_prove.python.operations.iterables import UnknownItems, known_items, plan
from lictor_prove.python.operations.unknown import iterables as unknown_iterables
from lictor_prove.python.operations.unknown.containers import (
    change,
    iterated,
    made,
    opened,
    sequence_of,
    shuffled,
)
from lictor_prove.python.operations.unknown.results import modelled
from lictor_prove.python.refusals import Raises, Unmodelled, refuse, unmodelled


def call(
    machine: Machine, name: str, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`name(*args, **keywords)`."""
    if not keywords and args and name in OF_OBJECTS and is_object(machine, args[0]):
        return machine.each(args[0], lambda one: _of_object(machine, name, [one, *args[1:]]))
    if name in MANAGERS:
        refuse("with.kept", f"{name}() stands in a `with`", "Write `with` where it is called.")
    known_function = _FUNCTIONS.get(name)
    if known_function is None and name in MEMBERS:
        return unknown_members.call(machine, name, args, keywords)
    if known_function is None:
        refuse(
            "builtin.unsupported",
            f"{name} is outside the subset",
            "See docs/python-subset.md for the builtins there are.",
        )
    least, most, allowed, function = known_function
    unknown = [] if allowed is None else [key for key in keywords if key not in allowed]
    if unknown or not least <= len(args) <= most:
        refuse(
            "builtin.arguments",
            f"{name} is supported with {least} to {most} positional arguments"
            + (
                f" and the keywords {', '.join(sorted(allowed))}" if allowed else " and no keywords"
            ),
            "Pass them so.",
        )
    if keywords:
        return function(machine, args, keywords)
    return modelled(machine, f"{name}()", args, lambda: function(machine, args, keywords))


def _of_object(machine: Machine, name: str, args: Args) -> SymbolicValue:
    if not isinstance(args[0], ObjectV):
        return call(machine, name, args, {})
    found = unknown_members.operation(machine, name, args)
    return found or undefined(machine, f"{name}()", *args)


# -- containers ------------------------------------------------------------------------------------


def _len(machine: Machine, value: SymbolicValue) -> SymbolicValue:
    return Sym(length(machine, value))


def _list(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if not args:
        return machine.make("list", ())

    def of(value: SymbolicValue) -> SymbolicValue:
        how = plan(machine, value)
        if isinstance(how, UnknownItems):
            told_length(machine, value)
            return _copied(machine, value, how)
        return machine.make("list", container_methods.items_of(machine, value))

    return machine.each(args[0], of)


def _copied(machine: Machine, value: SymbolicValue, how: UnknownItems) -> SymbolicValue:
    index = machine.fresh_index()
    item, keep = how.item(index)
    picked = value.picked if isinstance(value, SequenceV) else None
    if isinstance(value, Ref) and isinstance(held := machine.content(value).held, SequenceV):
        picked = held.picked
    copy = SequenceV(how.over, index, item, keep, picked=picked)
    return made(machine, "list", copy) if machine.declares_unknowns else copy


def _tuple(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if not args:
        return TupleV(())
    found = [(guard, TupleV(items)) for guard, items in known_items(machine, args[0], "tuple()")]
    return union(found) if len(found) > 1 else found[0][1]


def _set(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if not args:
        return machine.make("set", ())

    def of(value: SymbolicValue) -> SymbolicValue:
        try:
            return container_methods.as_set(machine, value)
        except Unmodelled:
            if not machine.declares_unknowns:
                raise
            return unknown_iterables.as_set(machine, value)

    return machine.each(args[0], of)


def _dict(machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if args and not keywords and len(machine.cases(args[0])) > 1:
        return machine.each(args[0], lambda one: _dict(machine, [one], {}))
    made = machine.make("dict", ())
    if args and not keywords and machine.declares_unknowns:
        held = _unknown_pairs(machine, args[0])
        if held is not None:
            return unknown_iterables.as_dict(machine, held)
    for guard, source in machine.cases(args[0]) if args else ():
        for entry in _pairs(machine, source):
            assert entry.key is not None
            put(machine, made, entry.key, entry.value, and_(guard, entry.present))
    for name, value in keywords.items():
        put(machine, made, known(name), value)
    return made


def _unknown_pairs(machine: Machine, source: SymbolicValue) -> SequenceV | None:
    if isinstance(source, Ref) and machine.content(source).is_dict:
        return sequence_of(machine, source)
    cases = machine.cases(source)
    if len(cases) > 1 or not isinstance(plan(machine, cases[0][1]), UnknownItems):
        return None
    return iterated(machine, source)


def _pairs(machine: Machine, source: SymbolicValue) -> Iterator[ContainerItem]:
    """What `dict(source)` takes over; iterating over a dict would give its keys only."""
    if isinstance(source, Ref) and machine.content(source).is_dict:
        yield from container_contents.entries(machine, source)
        return
    for entry in container_methods.items_of(machine, source):
        if not isinstance(entry.value, TupleV) or len(entry.value.items) != 2:
            refuse("builtin.dict", "dict() takes a dict or pairs", "Use a display: {…}.")
        key, value = entry.value.items
        yield ContainerItem(entry.present, value, key)


def _sorted(machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]) -> SymbolicValue:
    found = _in_known_order(machine, args, keywords)
    return _in_unknown_order(machine, args[0], keywords) if found is None else found


def _in_known_order(
    machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue | None:
    try:
        if is_none(keywords.get("key", NONE_VALUE)):
            return _known_sorted(machine, args, keywords)
    except Unmodelled:
        if not machine.declares_unknowns:
            raise
    if not machine.declares_unknowns:
        unmodelled("builtin.sorted", "sorted() is supported without a key", "Write it out.")
    return None


def _in_unknown_order(
    machine: Machine, items: SymbolicValue, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    reverse = keywords.get("reverse", FALSE_VALUE)
    if unknown_iterables.kinds_of(machine, reverse) != {Kind.BOOL}:
        refuse("builtin.sorted", "`reverse` is a bool", "Use True or False.")
    return unknown_iterables.ordered(machine, items, keywords.get("key"), reverse)


def sort(
    machine: Machine, owner: SymbolicValue, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`xs.sort(key=…, reverse=…)`."""
    if args or not set(keywords) <= {"key", "reverse"} or not isinstance(owner, Ref):
        refuse("method.arguments", "sort takes the keywords key and reverse", "Pass them so.")
    found = _in_known_order(machine, [owner], keywords)
    if found is None:
        held = opened(machine, owner)
        items = made(machine, "list", held)
        if catcher(machine, None) is not None:
            why = "the order in which a sort that fails leaves a list"
            change(machine, owner, shuffled(machine, held, why, size=count(held)))
        with machine.hidden(owner):
            found = _in_unknown_order(machine, items, keywords)
    assert isinstance(found, Ref)
    machine.hold(owner, machine.content(found))
    return NONE_VALUE


def _known_sorted(
    machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    reverse = known_int(keywords.get("reverse", FALSE_VALUE))
    options = known_items(machine, unordered(machine, args[0], ordered_items), "sorted()")
    items = options[0][1]
    held = [container_contents.known_value(machine, item) for item in items]
    if len(options) > 1 or reverse not in (0, 1) or any(map(_unsortable, held)):
        unmodelled(
            "builtin.sorted",
            "sorted() is supported for known numbers, strings, and tuples or lists of them",
            "Write the order out, or let the trusted function sort.",
        )
    for one in held:
        container_contents.without_nan(one)
    order = list(range(len(held)))
    try:
        order.sort(key=lambda at: held[at], reverse=bool(reverse))
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error
    return machine.make_list([items[at] for at in order])


def _unsortable(value: Any) -> bool:
    """Whether it is unknown, or in no order with all others: sets are not, and how they are sorted is Python's own."""
    if isinstance(value, tuple | list):
        return any(map(_unsortable, cast(list[Any], value)))
    return value is container_contents.UNKNOWN or isinstance(value, set | frozenset)


def _isinstance(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    wanted = args[1].items if isinstance(args[1], TupleV) else (args[1],)
    names, classes = set[str](), set[DataClass]()
    for one in wanted:
        if isinstance(one, DataClassV):
            classes.add(one.made)
            continue
        if not isinstance(one, BuiltinV) or one.name not in _TYPES:
            refuse(
                "builtin.isinstance",
                f"isinstance() is supported with {', '.join(sorted(_TYPES))}",
                "Use one of these types, or a dataclass of the program.",
            )
        names.add(one.name)

    def of(value: SymbolicValue) -> SymbolicValue:
        kind = kind_of(machine, value)
        if isinstance(value, InstanceV | InstanceRef):
            return known(value.made in classes)
        if kind == Kind.JSON:
            return boolean(either_way(machine, "what JSON holds has no model", value))
        if kind in OPEN and kind not in (*_NO_INSTANCES, Kind.COUNTER):
            undefined(machine, "isinstance()", value)
        if kind == Kind.FLOAT and not is_known(value) and len(names & {"int", "float"}) == 1:
            refuse(
                "builtin.isinstance",
                "where a float is declared Python takes an int too, so which of them this is is not known",
                "Write isinstance(x, (int, float)), or leave the test out.",
            )
        return known(kind in names or _BELOW.get(kind) in names)

    return machine.each(args[0], of)


_TYPES: Final = frozenset(
    {
        Kind.BOOL,
        Kind.INT,
        Kind.FLOAT,
        Kind.STR,
        Kind.LIST,
        Kind.DICT,
        Kind.TUPLE,
        Kind.SET,
    }
)
_BELOW: Final = {
    Kind.BOOL: Kind.INT,
    Kind.DEFAULTDICT: Kind.DICT,
    Kind.COUNTER: Kind.DICT,
}
"""Classes that are below another one."""
_NO_INSTANCES: Final = (Kind.ROW, Kind.CLASS, Kind.ROW_CLASS, Kind.DATACLASS)
"""Kinds whose values are certainly of none of these types."""


def _print(machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]) -> SymbolicValue:
    def check(one: SymbolicValue) -> SymbolicValue:
        if kind_of(machine, one) not in (Kind.STR, Kind.NONE):
            undefined(machine, "print() with sep or end", one)
        return NONE_VALUE

    for name in ("sep", "end"):
        machine.each(keywords.get(name, NONE_VALUE), check)
    printed = tuple(
        term
        for each in args
        for _, one in machine.cases(each)
        if isinstance(one, ObjectV | Composite | Ref | InstanceRef)
        for term in flows(machine, one)
    )
    if any(term in machine.fragile for term in printed):
        unknown(machine, BOOL, "whether this has a text is not known", printed, may_raise=True)
    if catcher(machine, None) is not None:
        # A pipe may be closed, an encoding may lack a character, an int may have too many digits.
        shown = [one.text if isinstance(one, ErrorV) else one for one in args]
        maybe_raised(machine, made_of(flows(machine, *shown), machine.inputs, machine.unknowns))
    return NONE_VALUE


_FUNCTIONS: Final[Table] = {
    **conversions.FUNCTIONS,
    **exact_functions.FUNCTIONS,
    "len": (1, 1, NO_KEYWORDS, each(_len)),
    "list": (0, 1, NO_KEYWORDS, _list),
    "tuple": (0, 1, NO_KEYWORDS, _tuple),
    "set": (0, 1, NO_KEYWORDS, _set),
    "dict": (0, 1, None, _dict),
    "sorted": (1, 1, frozenset({"reverse", "key"}), _sorted),
    "range": (1, 3, NO_KEYWORDS, iterator_builtins.make_range),
    "enumerate": (1, 2, frozenset({"start"}), iterator_builtins.make_enumerate),
    "zip": (1, ANY_NUMBER, NO_KEYWORDS, iterator_builtins.make_zip),
    "reversed": (1, 1, NO_KEYWORDS, iterator_builtins.make_reversed),
    "iter": (1, 1, NO_KEYWORDS, iterator_builtins.make_iter),
    "next": (1, 2, NO_KEYWORDS, iterator_builtins.take_next),
    "isinstance": (2, 2, NO_KEYWORDS, _isinstance),
    "collections.Counter": (0, 1, NO_KEYWORDS, counters.make),
    "collections.defaultdict": (1, 1, NO_KEYWORDS, default_dicts.make),
    "dataclasses.replace": (1, 1, None, instances.replaced),
    "dataclasses.asdict": (1, 1, NO_KEYWORDS, instances.as_dict),
    "print": (0, ANY_NUMBER, frozenset({"sep", "end", "flush"}), _print),
}

MANAGERS: Final = ("contextlib.nullcontext", "contextlib.suppress")
"""What a `with` may call, and nobody else."""
BUILTINS: Final = frozenset(name for name in _FUNCTIONS if "." not in name)

STANDARD: Final[dict[str, dict[str, SymbolicValue]]] = {
    "math": {
        "pi": known(math.pi),
        "e": known(math.e),
        "tau": known(math.tau),
        "inf": known(math.inf),
        "nan": known(math.nan),
    },
    "collections": {},
    "contextlib": {name.partition(".")[2]: BuiltinV(name) for name in MANAGERS},
    "re": {},
    # Before a class and in it; the module reads them there.
    "dataclasses": {name: LanguageV(name) for name in ("dataclass", "field")},
    "string": {
        name: known(getattr(string, name))
        for name in (
            "ascii_letters",
            "ascii_lowercase",
            "ascii_uppercase",
            "digits",
            "hexdigits",
            "octdigits",
            "punctuation",
            "whitespace",
        )
    },
}
"""What the modelled standard modules hold; their functions are added below."""
for _full in _FUNCTIONS:
    _module, _, _name = _full.partition(".")
    if _name:
        STANDARD[_module][_name] = BuiltinV(_full)
for _module, _names in modules().items():
    for _name in _names:
        STANDARD.setdefault(_module, {}).setdefault(_name, unknown_members.bound(_module, _name))
