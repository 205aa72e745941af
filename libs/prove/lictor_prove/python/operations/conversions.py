"""Builtins that convert and compute: numbers, strings and truth values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from lictor_ir.terms import FALSE, TRUE, and_, apply, not_, or_
from lictor_ir.types import FLOAT
from lictor_prove.python.kinds import (
    NUMERIC,
    OPEN,
    WHOLE,
    Kind,
    by_kind,
    entry_of,
    kind_of,
    undefined,
)
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import merge
from lictor_prove.python.machine.symbolic_values import (
    Ref,
    Sym,
    SymbolicValue,
    TupleV,
    boolean,
    described,
    is_known,
    is_none,
    known,
    known_scalar,
)
from lictor_prove.python.operations import (
    container_contents,
    container_methods,
    format_strings,
)
from lictor_prove.python.operations.arithmetic import binary, known_int, to_float
from lictor_prove.python.operations.comparisons import as_term, less, truth, whole
from lictor_prove.python.operations.containers import known_text
from lictor_prove.python.operations.iterables import known_items
from lictor_prove.python.operations.unknown import iterables as unknown_iterables
from lictor_prove.python.refusals import MAX_TEXT, Raises, Unmodelled, refuse, unmodelled

Args = Sequence[SymbolicValue]
NO_KEYWORDS: Final = frozenset[str]()
ANY_NUMBER: Final = 1_000
Function = Callable[[Machine, Args, Mapping[str, SymbolicValue]], SymbolicValue]
Table = dict[str, tuple[int, int, frozenset[str] | None, Function]]
"""A function by its name: how many positional arguments it takes, which keywords (None for any), and what it does."""


def each(function: Callable[[Machine, SymbolicValue], SymbolicValue]) -> Function:
    """A function of one argument, whatever it is."""
    return lambda machine, args, _: machine.each(args[0], lambda one: function(machine, one))


# -- conversions -----------------------------------------------------------------------------------


def _str(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    return format_strings.text_of(machine, args[0]) if args else known("")


def _bool(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    return boolean(truth(machine, args[0])) if args else boolean(FALSE)


def _int(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if not args:
        return known(0)
    if len(args) == 2:
        return machine.each_pair(args[0], args[1], lambda text, base: _in_base(machine, text, base))
    return machine.each(args[0], lambda one: _converted(machine, "int", one))


def _float(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    if not args:
        return known(0.0)
    return machine.each(args[0], lambda one: _converted(machine, "float", one))


def _converted(machine: Machine, to: str, value: SymbolicValue) -> SymbolicValue:
    return entry_of(machine, CONVERSIONS[to], f"{to}()", value)(machine, to, value)


def _in_base(machine: Machine, text: SymbolicValue, base: SymbolicValue) -> SymbolicValue:
    number = known_int(base)
    if number is None or not is_known(text):
        unmodelled("builtin.int", "int() in a base is supported for known text", "Write it out.")
    return _parsed(machine, "int", known_scalar(text), number)


def _as_int(_: Machine, __: str, value: SymbolicValue) -> SymbolicValue:
    return Sym(whole(as_term(value)))


def _as_float(machine: Machine, _: str, value: SymbolicValue) -> SymbolicValue:
    return Sym(to_float(machine, as_term(value)))


def _by_python(machine: Machine, to: str, value: SymbolicValue) -> SymbolicValue:
    if not is_known(value):
        unmodelled(
            f"builtin.{to}",
            f"{to}() of {described(value)} that is not known is not supported",
            f"Let the trusted function return a value of type {to}.",
        )
    return _parsed(machine, to, known_scalar(value))


def _parsed(machine: Machine, to: str, *given: Any) -> SymbolicValue:
    if isinstance(given[0], str) and len(given[0]) > _MOST_DIGITS:
        unmodelled("limits.term", "the number is too long", "Use a shorter one.")
    make = int if to == "int" else float
    return computed(machine, lambda: make(*given), make())


_MOST_DIGITS: Final = 4_000
"""Python reads up to 4 300 digits."""
CONVERSIONS: Final[
    dict[str, dict[Kind, Callable[[Machine, str, SymbolicValue], SymbolicValue]]]
] = {
    "int": by_kind({WHOLE: _as_int, (Kind.FLOAT, Kind.STR): _by_python}),
    "float": by_kind({NUMERIC: _as_float, Kind.STR: _by_python}),
}


def computed(machine: Machine, compute: Callable[[], Any], otherwise: Any) -> SymbolicValue:
    try:
        return known(compute())
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        machine.require(FALSE, f"no {type(error).__name__}: {error}", error=type(error).__name__)
        return known(otherwise)
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error


def _format(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    spec = args[1] if len(args) > 1 else known("")
    if kind_of(machine, spec) != Kind.STR:
        refuse("string.format", "the format must be a string", "Write it out.")
    return format_strings.formatted(machine, args[0], spec)


# -- numbers ---------------------------------------------------------------------------------------


def _abs(machine: Machine, value: SymbolicValue) -> SymbolicValue:
    if kind_of(machine, value) not in NUMERIC:
        undefined(machine, "abs()", value)
    return Sym(apply("abs", whole(as_term(value))))


def _extreme(name: str) -> Function:
    def of(machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]) -> SymbolicValue:
        if len(args) > 1 and "default" in keywords:
            raise Raises("TypeError", f"{name}() takes a default with one iterable only")
        default, key = keywords.get("default"), keywords.get("key")
        if key is not None and not is_none(key):
            given = args[0] if len(args) == 1 else machine.make_list(args)
            return _unmodelled_extreme(machine, name, given, key, default)
        try:
            options = (
                known_items(machine, unordered(machine, args[0], ordered_items), name)
                if len(args) == 1
                else [(TRUE, tuple(args))]
            )
        except Unmodelled:
            return _unmodelled_extreme(machine, name, args[0], None, default)
        return machine.under(options, lambda items: _best(machine, name, items, default))

    return of


def _unmodelled_extreme(
    machine: Machine,
    name: str,
    items: SymbolicValue,
    key: SymbolicValue | None,
    default: SymbolicValue | None,
) -> SymbolicValue:
    if not machine.declares_unknowns:
        unmodelled("list.symbolic", f"{name}() is supported for known items", "Write them out.")
    return unknown_iterables.extreme(machine, name, items, key, default)


def _best(machine: Machine, name: str, items: Args, default: SymbolicValue | None) -> SymbolicValue:
    if not items:
        if default is None:
            raise Raises("ValueError", f"{name}() of nothing")
        return default
    best = items[0]
    for item in items[1:]:
        # As CPython does: an item replaces the best so far when it is truly less, or more.
        wins = less(machine, item, best) if name == "min" else less(machine, best, item)
        best = merge(wins, item, best)
    return best


def unordered(
    machine: Machine, value: SymbolicValue, fits: Callable[[set[Any]], bool]
) -> SymbolicValue:
    """A set of known items as a tuple, where they are such that their order does not matter to the function."""
    held = container_contents.known_value(machine, value)
    if isinstance(held, set) and fits(cast(set[Any], held)):
        return TupleV(
            tuple(entry.value for entry in container_contents.entries(machine, _ref(value)))
        )
    return value


def any_items(_: set[Any]) -> bool:
    """For functions that only ask whether there is such an item."""
    return True


def ordered_items(held: set[Any]) -> bool:
    """Whether there is one order that all of them are in. NaN is in none."""
    return all(isinstance(one, str) for one in held) or all(
        isinstance(one, int | float) and one == one for one in held
    )


def _ints(held: set[Any]) -> bool:
    return all(isinstance(one, int) for one in held)


def _ref(value: SymbolicValue) -> Ref:
    assert isinstance(value, Ref)
    return value


def _sum(machine: Machine, args: Args, keywords: Mapping[str, SymbolicValue]) -> SymbolicValue:
    total = args[1] if len(args) > 1 else keywords.get("start", known(0))
    start = total
    if len(args) > 1 and keywords:
        raise Raises("TypeError", "sum() is given its start twice")
    starts = [kind_of(machine, one) for _, one in machine.cases(total)]
    if starts == [Kind.STR]:
        raise Raises("TypeError", "sum() does not add strings", "Use ''.join(…).")
    if any(kind in (Kind.STR, *OPEN) for kind in starts):
        refuse("builtin.sum", "sum() starts from numbers, lists or tuples", "Use ''.join(…).")
    try:
        added = container_methods.items_of(machine, unordered(machine, args[0], _ints))
    except Unmodelled:
        if not machine.declares_unknowns:
            raise
        return unknown_iterables.total(machine, args[0], total)
    for entry in added:
        for one in (entry.value, total):
            for _, case in machine.cases(one):
                if isinstance(case, Sym) and case.type == FLOAT:
                    if machine.declares_unknowns:
                        return unknown_iterables.total(machine, machine.make("list", added), start)
                    refuse(
                        "builtin.sum",
                        "sum() of floats rounds differently in different versions of Python",
                        "Add them with `+`.",
                    )
        total = merge(entry.present, binary(machine, ast.Add(), total, entry.value), total)
    return total


def _of_unknown(machine: Machine, items: SymbolicValue, name: str) -> SymbolicValue:
    if not machine.declares_unknowns:
        unmodelled("list.symbolic", f"{name}() is supported for known items", "Write them out.")
    return unknown_iterables.some_holds(machine, items, name)


def _any(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    try:
        held = container_methods.items_of(machine, unordered(machine, args[0], any_items))
    except Unmodelled:
        return _of_unknown(machine, args[0], "any")
    return boolean(or_(*(and_(e.present, truth(machine, e.value)) for e in held)))


def _all(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    try:
        held = container_methods.items_of(machine, unordered(machine, args[0], any_items))
    except Unmodelled:
        return _of_unknown(machine, args[0], "all")
    return boolean(and_(*(or_(not_(e.present), truth(machine, e.value)) for e in held)))


def _divmod(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    return TupleV(
        (
            binary(machine, ast.FloorDiv(), args[0], args[1]),
            binary(machine, ast.Mod(), args[0], args[1]),
        )
    )


def _pow(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    return binary(machine, ast.Pow(), args[0], args[1])


def _round(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    def of(value: SymbolicValue) -> SymbolicValue:
        kind = kind_of(machine, value)
        if kind not in NUMERIC:
            undefined(machine, "round()", value)
        if kind in WHOLE and len(args) == 1:
            return Sym(whole(as_term(value)))
        digits = known_int(args[1]) if len(args) > 1 else None
        if not is_known(value) or (len(args) == 2 and digits is None):
            unmodelled(
                "builtin.round",
                "round() is supported for known numbers",
                "Work with whole numbers, such as cents.",
            )
        if digits is not None and abs(digits) > MAX_TEXT:
            refuse("limits.term", "too many digits", "Round to fewer.")
        held: Any = known_scalar(value)
        return computed(machine, lambda: round(held, digits), 0)

    return machine.each(args[0], of)


def _ord(machine: Machine, value: SymbolicValue) -> SymbolicValue:
    if kind_of(machine, value) != Kind.STR:
        undefined(machine, "ord()", value)
    text = known_text(value)
    if text is None or len(text) != 1:
        unmodelled(
            "builtin.ord", "ord() is supported for one known character", "Compare characters."
        )
    return known(ord(text))


def _chr(machine: Machine, value: SymbolicValue) -> SymbolicValue:
    if kind_of(machine, value) not in WHOLE:
        undefined(machine, "chr()", value)
    number = known_int(value)
    if number is None:
        unmodelled("builtin.chr", "chr() is supported for known numbers", "Write the character.")
    return computed(machine, lambda: chr(number), "")


FUNCTIONS: Final[Table] = {
    "str": (0, 1, NO_KEYWORDS, _str),
    "repr": (1, 1, NO_KEYWORDS, lambda m, args, _: format_strings.text_of(m, args[0], quoted=True)),
    "format": (1, 2, NO_KEYWORDS, _format),
    "bool": (0, 1, NO_KEYWORDS, _bool),
    "int": (0, 2, NO_KEYWORDS, _int),
    "float": (0, 1, NO_KEYWORDS, _float),
    "abs": (1, 1, NO_KEYWORDS, each(_abs)),
    "min": (1, ANY_NUMBER, frozenset({"default", "key"}), _extreme("min")),
    "max": (1, ANY_NUMBER, frozenset({"default", "key"}), _extreme("max")),
    "sum": (1, 2, frozenset({"start"}), _sum),
    "any": (1, 1, NO_KEYWORDS, _any),
    "all": (1, 1, NO_KEYWORDS, _all),
    "divmod": (2, 2, NO_KEYWORDS, _divmod),
    "pow": (2, 2, NO_KEYWORDS, _pow),
    "round": (1, 2, NO_KEYWORDS, _round),
    "ord": (1, 1, NO_KEYWORDS, each(_ord)),
    "chr": (1, 1, NO_KEYWORDS, each(_chr)),
}
