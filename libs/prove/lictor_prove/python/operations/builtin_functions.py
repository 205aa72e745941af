"""The builtin functions, and the few of `math` and `re`, that the subset has. Each is exact or refuses."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping
from typing import Final

from lictor_ir.terms import Const, and_, const
from lictor_ir.types import ANY, BOOL, FLOAT, INT, NONE, STR, ListOf, MapOf, SetOf, TupleOf
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import union
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    BuiltinV,
    ContainerItem,
    FunctionV,
    OnceV,
    Opaque,
    RangeV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TrustedV,
    TupleV,
    boolean,
    described,
    known,
)
from lictor_prove.python.operations import (
    container_contents,
    container_methods,
    conversions,
    iterator_builtins,
    stdlib_functions,
)
from lictor_prove.python.operations.containers import length, put
from lictor_prove.python.operations.conversions import (
    ANY_NUMBER,
    NO_KEYWORDS,
    Args,
    Table,
    each,
    ordered_items,
    unordered,
)
from lictor_prove.python.operations.iterables import known_items
from lictor_prove.python.refusals import Raises, refuse


def call(
    machine: Machine, name: str, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`name(*args, **keywords)`."""
    known_function = _FUNCTIONS.get(name)
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
    return function(machine, args, keywords)


# -- containers ------------------------------------------------------------------------------------


def _len(machine: Machine, value: SymbolicValue) -> SymbolicValue:
    return Sym(length(machine, value))


def _list(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if not args:
        return machine.make("list", ())

    def of(value: SymbolicValue) -> SymbolicValue:
        if isinstance(value, Sym) and isinstance(value.type, ListOf):
            return value
        if isinstance(value, SequenceV):
            return SequenceV(value.over, value.index, value.item, value.keep)
        return machine.make("list", container_methods.items_of(machine, value))

    return machine.each(args[0], of)


def _tuple(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if not args:
        return TupleV(())
    found = [(guard, TupleV(items)) for guard, items in known_items(machine, args[0], "tuple()")]
    return union(found) if len(found) > 1 else found[0][1]


def _set(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if not args:
        return machine.make("set", ())
    return machine.each(args[0], lambda value: container_methods.as_set(machine, value))


def _dict(machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]) -> SymbolicValue:
    made = machine.make("dict", ())
    for guard, source in machine.cases(args[0]) if args else ():
        for entry in _pairs(machine, source):
            assert entry.key is not None
            put(machine, made, entry.key, entry.value, and_(guard, entry.present))
    for name, value in keywords.items():
        put(machine, made, known(name), value)
    return made


def _pairs(machine: Machine, source: SymbolicValue) -> Iterator[ContainerItem]:
    """What `dict(source)` takes over; iterating over a dict would give its keys only."""
    if isinstance(source, Ref) and machine.content(source).kind == "dict":
        yield from container_contents.entries(machine, source)
        return
    for entry in container_methods.items_of(machine, source):
        if not isinstance(entry.value, TupleV) or len(entry.value.items) != 2:
            refuse("builtin.dict", "dict() takes a dict or pairs", "Use a display: {…}.")
        key, value = entry.value.items
        yield ContainerItem(entry.present, value, key)


def _sorted(machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]) -> SymbolicValue:
    reverse = (
        container_contents.known_value(machine, keywords["reverse"])
        if "reverse" in keywords
        else False
    )
    items = known_items(machine, unordered(machine, args[0], ordered_items), "sorted()")
    held = (
        [container_contents.known_value(machine, item) for item in items[0][1]]
        if len(items) == 1
        else []
    )
    if (
        len(items) != 1
        or any(one is container_contents.UNKNOWN for one in held)
        or reverse not in (True, False)
    ):
        refuse(
            "builtin.sorted",
            "sorted() is supported for known values",
            "Write the order out, or let the trusted function sort.",
        )
    for one in held:
        if not isinstance(one, float):
            container_contents.without_nan(one)
    order = list(range(len(held)))
    try:
        order.sort(key=lambda at: held[at], reverse=bool(reverse))
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error
    return machine.make_list([items[0][1][at] for at in order])


def _isinstance(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    wanted = args[1].items if isinstance(args[1], TupleV) else (args[1],)
    names: set[str] = set()
    for one in wanted:
        if not isinstance(one, BuiltinV) or one.name not in _TYPES:
            refuse(
                "builtin.isinstance",
                f"isinstance() is supported with {', '.join(sorted(_TYPES))}",
                "Use one of these types.",
            )
        names.add(one.name)

    def of(value: SymbolicValue) -> SymbolicValue:
        kind = type_name(machine, value)
        unknown = isinstance(value, Sym) and not isinstance(value.term, Const)
        if kind == "float" and unknown and len(names & {"int", "float"}) == 1:
            refuse(
                "builtin.isinstance",
                "where a float is declared Python takes an int too, so which of them this is is not known",
                "Write isinstance(x, (int, float)), or leave the test out.",
            )
        return boolean(const(kind in names or (kind == "bool" and "int" in names)))

    return machine.each(args[0], of)


def type_name(machine: Machine, value: SymbolicValue) -> str:
    """What `type(value).__name__` is."""
    match value:
        case Sym():
            for type_, name in ((BOOL, "bool"), (INT, "int"), (FLOAT, "float"), (STR, "str")):
                if value.type == type_:
                    return name
            match value.type:
                case ListOf():
                    return "list"
                case SetOf():
                    return "set"
                case MapOf():
                    return "dict"
                case TupleOf():
                    return "tuple"
                case _ if value.type == NONE:
                    return "NoneType"
                case _ if value.type == ANY:
                    refuse("value.opaque", "the type of this value is not known", "Pass it on.")
                case _:
                    return "row"
        case TupleV():
            return "tuple"
        case Ref():
            return machine.content(value).kind
        case SequenceV() if value.reusable and value.over.type != INT:
            return "list"
        case FunctionV() | TrustedV() | BuiltinV():
            return "function"
        case RangeV():
            return "range"
        case Opaque() | OnceV() | SequenceV():
            refuse("value.opaque", f"the type of {described(value)} is not known", "Pass it on.")
        case _:
            return type(value).__name__


_TYPES: Final = frozenset({"bool", "int", "float", "str", "list", "dict", "tuple", "set"})


def _print(machine: Machine, __: Args, keywords: Mapping[str, SymbolicValue]) -> SymbolicValue:
    for name in ("sep", "end"):
        for _, one in machine.cases(keywords.get(name, NONE_VALUE)):
            if not isinstance(one, Sym) or one.type not in (STR, NONE):
                raise Raises("TypeError", f"{name} of print() is a string, not {described(one)}")
    return NONE_VALUE


_FUNCTIONS: Final[Table] = {
    **conversions.FUNCTIONS,
    **stdlib_functions.FUNCTIONS,
    "len": (1, 1, NO_KEYWORDS, each(_len)),
    "list": (0, 1, NO_KEYWORDS, _list),
    "tuple": (0, 1, NO_KEYWORDS, _tuple),
    "set": (0, 1, NO_KEYWORDS, _set),
    "dict": (0, 1, None, _dict),
    "sorted": (1, 1, frozenset({"reverse"}), _sorted),
    "range": (1, 3, NO_KEYWORDS, iterator_builtins.make_range),
    "enumerate": (1, 2, frozenset({"start"}), iterator_builtins.make_enumerate),
    "zip": (1, ANY_NUMBER, NO_KEYWORDS, iterator_builtins.make_zip),
    "reversed": (1, 1, NO_KEYWORDS, iterator_builtins.make_reversed),
    "isinstance": (2, 2, NO_KEYWORDS, _isinstance),
    "print": (0, ANY_NUMBER, frozenset({"sep", "end", "flush"}), _print),
}

BUILTINS: Final = frozenset(name for name in _FUNCTIONS if "." not in name)

STANDARD: Final[dict[str, dict[str, SymbolicValue]]] = {
    "math": {
        "pi": known(math.pi),
        "e": known(math.e),
        "tau": known(math.tau),
        "inf": known(math.inf),
        "nan": known(math.nan),
    },
    "re": {},
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
