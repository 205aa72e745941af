"""The tables of what there is on which kind of value agree with the Python that runs them.

What a table holds Python does without a TypeError; what it lacks, of kinds that are not open, is a TypeError in Python.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from lictor_ir.terms import TRUE, const, result, var
from lictor_ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    EnumOf,
    ListOf,
    MapOf,
    RowOf,
    SetOf,
    TupleOf,
    Type,
)
from lictor_layer.rows import row_class
from lictor_prove.python.kinds import KINDS, OPEN, Kind, kind_of, kind_of_type
from lictor_prove.python.machine.machine_state import Hooks, Machine
from lictor_prove.python.machine.symbolic_values import (
    BuiltinV,
    Composite,
    DataClass,
    InstanceRef,
    InstanceV,
    MatchV,
    OnceV,
    PatternV,
    RangeV,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    known,
)
from lictor_prove.python.operations import (
    arithmetic,
    comparisons,
    containers,
    conversions,
    equality,
    iterables,
    iterator_builtins,
    subscripts,
)


@dataclass
class Line:
    """A dataclass of a program."""

    amount: int


UserRow = row_class("UserRow", {"email": str})
VALUES: dict[Kind, tuple[Callable[[], Any], ...]] = {
    Kind.NONE: (lambda: None,),
    Kind.BOOL: (lambda: True, lambda: False),
    Kind.INT: (lambda: 1, lambda: 7),
    Kind.FLOAT: (lambda: 1.0, lambda: 2.5),
    Kind.STR: (lambda: "a", lambda: ""),
    Kind.TUPLE: (lambda: (1,), lambda: ()),
    Kind.LIST: (lambda: [1], list),
    Kind.DICT: (lambda: {1: 2}, dict),
    Kind.DEFAULTDICT: (lambda: defaultdict(int, {1: 2}), lambda: defaultdict[int, int](int)),
    Kind.COUNTER: (lambda: Counter([1]), lambda: Counter[int]()),
    Kind.SET: (lambda: {1}, lambda: set[int]()),
    Kind.FROZENSET: (lambda: frozenset({1}),),
    Kind.RANGE: (lambda: range(2), lambda: range(0)),
    Kind.KEYS: (lambda: {1: 2}.keys(), lambda: dict[int, int]().keys()),
    Kind.VALUES: (lambda: {1: 2}.values(),),
    Kind.ITEMS: (lambda: {1: 2}.items(),),
    Kind.ITERATOR: (
        lambda: enumerate([1]),
        lambda: zip([1], [2], strict=False),
        lambda: reversed([1]),
    ),
    Kind.ROW: (lambda: UserRow(email="a"),),
    Kind.PATTERN: (lambda: re.compile("a"),),
    Kind.MATCH: (lambda: re.match("a", "a"),),
    Kind.FUNCTION: (lambda: lambda: 1,),
    Kind.TRUSTED: (lambda: row_class,),
    Kind.BUILTIN: (lambda: len, lambda: math.floor),
    Kind.CLASS: (lambda: int, lambda: range),
    Kind.METHOD: (lambda: "a".upper, lambda: [].append),
    Kind.MODULE: (lambda: math,),
    Kind.ROW_CLASS: (lambda: UserRow,),
    Kind.INSTANCE: (lambda: Line(1), lambda: Line(0)),
    Kind.DATACLASS: (lambda: Line,),
}
"""What a value of each kind is in Python; of the other kinds nothing can be said."""
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
}


def raises_type_error(action: Callable[..., Any], *kinds: Kind) -> list[bool]:
    """For each combination of values, whether Python says that the operation is not defined."""
    found: list[bool] = []
    for makers in itertools.product(*(VALUES[kind] for kind in kinds)):
        try:
            action(*(make() for make in makers))
        except TypeError:
            found.append(True)
        except Exception:  # noqa: BLE001 -- another error: the operation is defined
            found.append(False)
        else:
            found.append(False)
    return found


def refuses(function: Any) -> bool:
    """Whether a row of a table only says that Python has more than the subset."""
    return getattr(function, "__annotations__", {}).get("return") == "NoReturn"


def held(table: Any, operands: int = 1) -> Iterator[tuple[tuple[Kind, ...], bool]]:
    """Each combination of kinds that Python can be asked about, and whether the table supports it."""
    for each in itertools.product(VALUES, repeat=operands):
        key = each if operands > 1 else each[0]
        if key not in table:
            if not any(kind in OPEN for kind in each):
                yield each, False
        elif not refuses(table[key]):
            yield each, True


@pytest.mark.parametrize("symbol", OPERATORS)
def test_operators_are_defined_where_python_defines_them(symbol: str) -> None:
    for (left, right), defined in held(arithmetic.OPERATORS[symbol], 2):
        outcomes = raises_type_error(OPERATORS[symbol], left, right)
        assert not any(outcomes) if defined else all(outcomes), (left, symbol, right)


def test_every_operator_of_the_subset_has_a_table() -> None:
    assert arithmetic.OPERATORS.keys() == set(arithmetic.SYMBOLS.values()) == OPERATORS.keys()


def test_kinds_are_ordered_where_python_orders_them() -> None:
    for (left, right), defined in held(comparisons.ORDER, 2):
        for compare in (operator.lt, operator.ge):
            outcomes = raises_type_error(compare, left, right)
            assert not any(outcomes) if defined else all(outcomes), (left, right)


@pytest.mark.parametrize(
    ("table", "action"),
    [
        (containers.LENGTHS, len),
        (containers.MEMBERSHIP, lambda value: "a" in value),
        (iterables.PLANS, lambda value: list(value)),
        (subscripts.ITEMS, lambda value: value[0]),
        (dict.fromkeys(subscripts.SLICED, 1), lambda value: value[:1]),
        (dict.fromkeys(iterator_builtins.REVERSIBLE, 1), lambda value: list(reversed(value))),
        (dict.fromkeys(containers.HASHED, 1), hash),
        (conversions.CONVERSIONS["int"], int),
        (conversions.CONVERSIONS["float"], float),
        (comparisons.TRUTH, bool),
    ],
    ids=["len", "in", "iter", "item", "slice", "reversed", "hash", "int", "float", "bool"],
)
def test_what_a_table_holds_python_does(table: Any, action: Callable[[Any], Any]) -> None:
    for (kind,), defined in held(table):
        if defined:
            assert not any(raises_type_error(action, kind)), kind


@pytest.mark.parametrize(
    ("table", "action"),
    [
        (containers.LENGTHS, len),
        (containers.MEMBERSHIP, lambda value: "a" in value),
        (iterables.PLANS, lambda value: list(value)),
        (subscripts.ITEMS, lambda value: value[0]),
        (dict.fromkeys(iterator_builtins.REVERSIBLE, 1), lambda value: list(reversed(value))),
        (conversions.CONVERSIONS["int"], int),
        (conversions.CONVERSIONS["float"], float),
    ],
    ids=["len", "in", "iter", "item", "reversed", "int", "float"],
)
def test_what_a_table_lacks_is_a_type_error(table: Any, action: Callable[[Any], Any]) -> None:
    for (kind,), defined in held(table):
        if not defined:
            assert all(raises_type_error(action, kind)), kind


def test_what_is_called_unhashable_is() -> None:
    for kind in containers.UNHASHABLE:
        assert all(raises_type_error(hash, kind)), kind


def test_values_of_different_families_are_never_equal() -> None:
    for left, right in itertools.product(VALUES, repeat=2):
        if (
            (left, right) not in equality.EQUALITY
            and left in equality.FAMILIES
            and right in equality.FAMILIES
            and equality.FAMILIES[left] != equality.FAMILIES[right]
        ):
            for one, other in itertools.product(VALUES[left], VALUES[right]):
                assert one() != other(), (left, right)


def test_what_is_always_true_is() -> None:
    for kind in comparisons.ALWAYS_TRUE:
        assert all(make() for make in VALUES[kind]), kind


# -- kinds -----------------------------------------------------------------------------------------

MACHINE = Machine(cast(Hooks, None))
N = Sym(var("n", INT))
EMPTY = DataClass("Empty", (), is_frozen=False, is_assigned=False, methods={})
EXACT: dict[Kind, list[SymbolicValue]] = {
    Kind.BOOL: [known(True)],
    Kind.INT: [known(1), N],
    Kind.FLOAT: [known(1.0)],
    Kind.LIST: [
        MACHINE.make_list([N]),
        Sym(result("c1", ListOf(INT))),
        SequenceV(N.term, var("i", INT), N, TRUE),
    ],
    Kind.RANGE: [RangeV(range(3)), iterator_builtins.make_range(MACHINE, [N], {})],
    Kind.DEFAULTDICT: [MACHINE.make("defaultdict", (), factory=BuiltinV("int"))],
    Kind.FROZENSET: [MACHINE.make("frozenset", ())],
    Kind.ITERATOR: [
        OnceV((), ()),
        iterator_builtins.make_enumerate(MACHINE, [Sym(result("c1", ListOf(INT)))], {}),
        iterator_builtins.make_reversed(MACHINE, [TupleV((N,))], {}),
        iterator_builtins.make_zip(MACHINE, [TupleV((N,))], {}),
    ],
    Kind.TUPLE: [TupleV(()), Sym(result("c1", TupleOf((INT,))))],
    Kind.CLASS: [BuiltinV("int"), BuiltinV("range")],
    Kind.BUILTIN: [BuiltinV("len"), BuiltinV("math.floor")],
    Kind.PATTERN: [PatternV("a")],
    Kind.MATCH: [MatchV(None)],
    Kind.INSTANCE: [InstanceV((), EMPTY), InstanceRef(1, EMPTY)],
}
TYPES: dict[Type, Kind] = {
    NONE: Kind.NONE,
    BOOL: Kind.BOOL,
    INT: Kind.INT,
    FLOAT: Kind.FLOAT,
    STR: Kind.STR,
    ANY: Kind.ANY,
    ListOf(INT): Kind.LIST,
    SetOf(INT): Kind.SET,
    MapOf(INT, INT): Kind.DICT,
    TupleOf((INT,)): Kind.TUPLE,
    RowOf("UserRow"): Kind.ROW,
    EnumOf("Colour"): Kind.ENUM,
}


@pytest.mark.parametrize("kind", EXACT)
def test_values_have_their_exact_kind(kind: Kind) -> None:
    assert {kind_of(MACHINE, value) for value in EXACT[kind]} == {kind}


def test_types_have_their_exact_kind() -> None:
    assert {type_: kind_of_type(type_) for type_ in TYPES} == TYPES


def test_every_class_of_values_has_a_kind() -> None:
    by_value = {"Sym", "ObjectV", "Ref", "SequenceV", "OnceV", "BuiltinV", "Opaque"}
    told = {each.__name__ for each in KINDS}
    classes = {*SymbolicValue.__subclasses__(), *Composite.__subclasses__()}
    assert {each.__name__ for each in classes} - {"Composite"} == told | by_value


def test_a_constant_keeps_its_type() -> None:
    assert [kind_of(MACHINE, Sym(const(value))) for value in (True, 1, 1.0)] == [
        Kind.BOOL,
        Kind.INT,
        Kind.FLOAT,
    ]
