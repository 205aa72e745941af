"""Lists, tuples, dicts, sets and strings as containers: what they hold, how long they are, and their terms."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from lictor_ir.terms import FALSE, TRUE, Const, Term, and_, apply, const, ite, not_, or_
from lictor_ir.types import ANY, BOOL, FLOAT, INT, NONE, STR, ListOf, MapOf, SetOf, TupleOf, Type
from lictor_prove.python.kinds import (
    KEYED,
    OPEN,
    SETS,
    VIEWS,
    WHOLE,
    Kind,
    by_kind,
    entry_of,
    kind_of,
    kind_of_type,
    undefined,
)
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import merge, union
from lictor_prove.python.machine.symbolic_values import (
    Composite,
    ContainerItem,
    InstanceRef,
    InstanceV,
    OnceV,
    RangeV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    described,
    is_known,
    known_scalar,
)
from lictor_prove.python.operations.container_contents import count_of, entries, term_of
from lictor_prove.python.operations.equality import same
from lictor_prove.python.operations.iterables import unchanged
from lictor_prove.python.refusals import MAX_ITERATIONS, Raises, refuse, unmodelled

# -- length ----------------------------------------------------------------------------------------


def length(machine: Machine, value: SymbolicValue) -> Term:
    """`len(value)`."""
    return entry_of(machine, LENGTHS, "len()", value)(machine, value)


def _held_length(machine: Machine, value: SymbolicValue) -> Term:
    match value:
        case Sym():
            return apply("len", value.term)
        case SequenceV():
            return sequence_length(value)
        case Ref() if isinstance(held := machine.content(value).held, SequenceV):
            return sequence_length(held)
        case _:
            return count_of(entry.present for entry in entries(machine, as_ref(value)))


def sequence_length(held: SequenceV) -> Term:
    """How many items there are, of a list of unknown length."""
    if held.keep is TRUE:
        return rounds(held.over)
    if held.picked is None:
        refuse(
            "length.filtered",
            "how many items a filtered list of unknown length has can't be told",
            "Ask for the length of the list before it is filtered.",
        )
    return rounds(held.picked.over)


def _tuple_length(_: Machine, value: SymbolicValue) -> Term:
    if isinstance(value, TupleV):
        return const(len(value.items))
    assert isinstance(value, Sym)
    assert isinstance(value.type, TupleOf)
    return const(len(value.type.items))


def _range_length(machine: Machine, value: SymbolicValue) -> Term:
    size = range_size(value)
    machine.require(
        apply("le", size, const(sys.maxsize)),
        "the range is not too long for len() (OverflowError)",
        error="OverflowError",
    )
    return size


def told_length(machine: Machine, value: SymbolicValue) -> None:
    """What Python asks before it makes a list of something: a range can be too long to say how long it is."""
    if isinstance(value, SequenceV) and value.tells_length:
        _range_length(machine, value)


def range_size(value: SymbolicValue) -> Term:
    """How many numbers a range has; `len` can't tell of all."""
    if isinstance(value, RangeV):
        return const(len(value.known))
    assert isinstance(value, SequenceV)
    return rounds(value.over)


def _look(_: Machine, value: SymbolicValue) -> NoReturn:
    refuse(
        "value.opaque",
        f"{described(value)} can't be looked into",
        "Use it where it stands, in `for` or `list(…)`.",
    )


LENGTHS: Final = by_kind(
    {
        (Kind.STR, Kind.LIST, *KEYED, *SETS): _held_length,
        Kind.TUPLE: _tuple_length,
        Kind.RANGE: _range_length,
        VIEWS: _look,
    }
)


def rounds(over: Term) -> Term:
    """How often a loop over this list, or up to this count, runs."""
    if over.type == INT:
        return ite(apply("lt", over, const(0)), const(0), over)
    return apply("len", over)


def as_ref(value: SymbolicValue) -> Ref:
    """The container that the program made."""
    assert isinstance(value, Ref)
    return value


# -- membership ------------------------------------------------------------------------------------


def contains(machine: Machine, container: SymbolicValue, item: SymbolicValue) -> Term:
    """`item in container`."""
    return entry_of(machine, MEMBERSHIP, "`in`", container)(machine, container, item)


def _in_text(machine: Machine, container: SymbolicValue, item: SymbolicValue) -> Term:
    if kind_of(machine, item) != Kind.STR:
        undefined(machine, "`in` a string", item)
    assert isinstance(container, Sym)
    assert isinstance(item, Sym)
    return apply("contains", container.term, item.term)


def _in_items(machine: Machine, container: SymbolicValue, item: SymbolicValue) -> Term:
    """In what holds items, one after the other, and looks for the first that is equal."""
    match container:
        case TupleV(items):
            return or_(*(same(machine, item, other) for other in items))
        case Ref():
            return _among(machine, item, entries(machine, container))
        case OnceV(held, watched):
            unchanged(machine, watched)
            return _among(machine, item, held)
        case Sym() if isinstance(container.type, ListOf):
            return _in_term(machine, container.term, container.type.item, item)
        case _:
            unmodelled(
                "in.sequence",
                f"membership in {described(container)} is not supported",
                "Ask the list that the trusted call returned, or loop over it.",
            )


def _in_hashed(machine: Machine, container: SymbolicValue, item: SymbolicValue) -> Term:
    """In a set or dict, or the keys of one: what is looked for is hashed first."""
    if kind_of(machine, container) in SETS and kind_of(machine, item) == Kind.SET:
        refuse("in.set", "a set is looked for in a set", "Compare the sets with `==`.")
    hashable(machine, item)
    match container:
        case Sym() if isinstance(container.type, SetOf | MapOf):
            inner = container.type.key if isinstance(container.type, MapOf) else container.type.item
            return _in_term(machine, container.term, inner, item)
        case Ref():
            return _among(machine, item, entries(machine, container))
        case _:
            return _in_items(machine, container, item)


def _in_pairs(machine: Machine, container: SymbolicValue, item: SymbolicValue) -> Term:
    """In the items of a dict: the key of a pair is hashed first."""
    if isinstance(item, TupleV) and len(item.items) == 2:
        hashable(machine, item.items[0])
    elif kind_of(machine, item) in (Kind.TUPLE, *OPEN):
        hashable(machine, item)
    return _in_items(machine, container, item)


def _in_term(machine: Machine, container: Term, inner: Type, item: SymbolicValue) -> Term:
    asked = term_of(machine, item)
    nan = FLOAT in (asked.type, inner) or ANY in (asked.type, inner)
    if nan and not (isinstance(asked, Const) and asked.value == asked.value):
        unmodelled(
            "float.identity",
            "a float that may be NaN is looked for in a container",
            "Compare floats one by one.",
        )
    return apply("in", asked, container)


def _among(machine: Machine, item: SymbolicValue, held: Sequence[ContainerItem]) -> Term:
    """Whether it is one of these; of a dict's, one of the keys."""
    found: list[Term] = []
    for entry in held:
        other = entry.value if entry.key is None else entry.key
        found.append(and_(entry.present, same(machine, item, other)))
    return or_(*found)


def _in_range(machine: Machine, container: SymbolicValue, item: SymbolicValue) -> Term:
    if isinstance(container, RangeV):
        held = container.known
        if is_known(item):
            number = known_scalar(item)
            if isinstance(number, float):
                # Python goes through the whole range, and comes to the same.
                return const(number.is_integer() and int(number) in held)
            return const(isinstance(number, int) and number in held)
        if isinstance(item, Sym) and kind_of(machine, item) in WHOLE and held.step == 1:
            number = apply("int_of_bool", item.term) if item.type == BOOL else item.term
            return and_(
                apply("le", const(held.start), number), apply("lt", number, const(held.stop))
            )
    refuse(
        "in.range",
        "membership in this range is not supported",
        "Compare with the bounds: `low <= x < high`.",
    )


MEMBERSHIP: Final = by_kind(
    {
        Kind.STR: _in_text,
        (Kind.LIST, Kind.TUPLE, Kind.VALUES, Kind.ITERATOR): _in_items,
        (*KEYED, Kind.KEYS, *SETS): _in_hashed,
        Kind.ITEMS: _in_pairs,
        Kind.RANGE: _in_range,
    }
)

HASHED: Final = frozenset(
    {
        *(Kind.NONE, Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STR),
        *(Kind.DATE, Kind.TIMEDELTA, Kind.UUID, Kind.BYTES),
    }
)
UNHASHABLE: Final = frozenset({Kind.LIST, *KEYED, Kind.SET, Kind.KEYS, Kind.ITEMS})


def hashable(machine: Machine, value: SymbolicValue) -> None:
    """Keys of dicts and items of sets must not change."""
    cases = machine.cases(value)
    for _, one in cases:
        match one:
            case InstanceV(made=made) | InstanceRef(made=made) if not made.is_frozen:
                if len(cases) == 1:
                    raise Raises(
                        "TypeError",
                        f"{described(one)} can't be hashed: the dataclass is not frozen",
                        "Write @dataclass(frozen=True), or use one of its fields.",
                    )
                _hashable(Kind.INSTANCE, described(one), certain=False)
            case Composite(items):
                for item in items:
                    hashable(machine, item)
            case Sym() if isinstance(one.type, TupleOf):
                for part in one.type.items:
                    _hashable(kind_of_type(part), described(one), certain=len(cases) == 1)
            case _:
                _hashable(kind_of(machine, one), described(one), certain=len(cases) == 1)


def _hashable(kind: Kind, what: str, *, certain: bool) -> None:
    if kind in UNHASHABLE and certain:
        raise Raises("TypeError", f"a {kind} can't be hashed")
    if kind not in HASHED:
        refuse(
            "container.key",
            f"{what} as a key or an item of a set is outside the subset",
            "Use numbers, strings, None or tuples of them.",
        )


# -- making new ones out of old ones ---------------------------------------------------------------


def bounded(held: Sequence[ContainerItem]) -> Sequence[ContainerItem]:
    """The entries, unless there are too many."""
    check_size(len(held))
    return held


def check_size(size: int) -> None:
    """Refuse a container of so many items, if these are too many."""
    if size > MAX_ITERATIONS:
        refuse(
            "limits.items",
            f"a container here has more than {MAX_ITERATIONS} items",
            "Make it smaller.",
        )


def set_operation(machine: Machine, op: str, left: Ref, right: Ref) -> list[ContainerItem]:
    """The items of a union, intersection, difference or symmetric difference."""
    one, other = entries(machine, left), entries(machine, right)
    first_only = [_unless(machine, entry, other) for entry in one]
    second_only = [_unless(machine, entry, one) for entry in other]
    match op:
        case "|":
            return [*one, *second_only]
        case "-":
            return first_only
        case "^":
            return [*first_only, *second_only]
        case _:
            _interchangeable(machine, one, other)
            return [
                ContainerItem(
                    and_(entry.present, _among(machine, entry.value, other)),
                    entry.value,
                )
                for entry in one
            ]


def _interchangeable(
    machine: Machine, one: Sequence[ContainerItem], other: Sequence[ContainerItem]
) -> None:
    """Refuse where it matters whose item an intersection keeps: Python takes that of the smaller set."""
    for first in one:
        for second in other:
            if same(machine, first.value, second.value) is not FALSE and not _alike(
                first.value, second.value
            ):
                refuse(
                    "set.intersection",
                    "equal items of the two sets may be different values, as 1 and True are, and either may be kept",
                    "Keep values of one type in the sets.",
                )


def _alike(one: SymbolicValue, other: SymbolicValue) -> bool:
    """Whether the two are the same value if they are equal."""
    match one, other:
        case Sym(), Sym():
            return one.term is other.term or (
                one.type == other.type and one.type in (BOOL, INT, STR, NONE)
            )
        case TupleV(), TupleV():
            return all(map(_alike, one.items, other.items))
        case InstanceV(), InstanceV() if one.made is other.made:
            return all(map(_alike, one.items, other.items))
        case _:
            return False


def _unless(machine: Machine, entry: ContainerItem, held: Sequence[ContainerItem]) -> ContainerItem:
    return ContainerItem(and_(entry.present, not_(_among(machine, entry.value, held))), entry.value)


def put(
    machine: Machine, ref: Ref, key: SymbolicValue, value: SymbolicValue, present: Term = TRUE
) -> None:
    """`d[key] = value`, where `present` holds."""
    hashable(machine, key)
    held: list[ContainerItem] = []
    hits: list[Term] = []
    for entry in entries(machine, ref):
        assert entry.key is not None
        here = same(machine, entry.key, key)
        hits.append(and_(entry.present, here))
        changed = merge(and_(present, here), value, entry.value)
        held.append(ContainerItem(entry.present, changed, entry.key))
    held.append(ContainerItem(and_(present, not_(or_(*hits))), value, key))
    machine.replace(ref, bounded(held))


def add(machine: Machine, ref: Ref, item: SymbolicValue, present: Term = TRUE) -> None:
    """`s.add(item)`, where `present` holds."""
    hashable(machine, item)
    held = entries(machine, ref)
    there = _among(machine, item, held)
    machine.replace(ref, bounded((*held, ContainerItem(and_(present, not_(there)), item))))


def union_of(options: Sequence[tuple[Term, SymbolicValue]]) -> SymbolicValue:
    """One of these by guards that exclude each other."""
    return options[0][1] if len(options) == 1 else union(options)


def known_text(value: SymbolicValue) -> str | None:
    """The text of a known string."""
    held = known_scalar(value) if is_known(value) else None
    return held if isinstance(held, str) else None
