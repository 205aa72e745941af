"""Methods of lists, dicts, sets and tuples that the program made.

What they do to an object is done to its content, so every alias sees it. Positions in a list whose length depends on
the path are not known; methods that need them refuse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from lictor_ir.spelling.readable_values import short_text
from lictor_ir.terms import FALSE, TRUE, Term, and_, const, ite, not_, or_
from lictor_prove.python.kinds import SETS, Kind, kind_of
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    ContainerItem,
    OnceV,
    Ref,
    Sym,
    SymbolicValue,
    TupleV,
    boolean,
    described,
    is_known,
    known_scalar,
)
from lictor_prove.python.operations import container_contents, containers
from lictor_prove.python.operations.arithmetic import known_int
from lictor_prove.python.operations.equality import same
from lictor_prove.python.operations.iterables import UnknownItems, not_of, plans
from lictor_prove.python.operations.subscripts import lookup
from lictor_prove.python.refusals import Raises, refuse, unmodelled

Args = Sequence[SymbolicValue]
Function = Callable[[Machine, SymbolicValue, Args], SymbolicValue]


def _ref(owner: SymbolicValue) -> Ref:
    assert isinstance(owner, Ref)
    return owner


def items_of(machine: Machine, value: SymbolicValue) -> tuple[ContainerItem, ...]:
    """What `list(value)` holds, each item with the condition under which it is there."""
    held: list[ContainerItem] = []
    for guard, how in plans(machine, value):
        if isinstance(how, UnknownItems):
            unmodelled(
                "list.symbolic",
                "a container can't take the items of a list of unknown length",
                "Loop over the list itself.",
            )
        held.extend(ContainerItem(and_(guard, entry.present), entry.value) for entry in how.entries)
    return tuple(held)


# -- lists -----------------------------------------------------------------------------------------


def append(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`xs.append(item)`."""
    held = container_contents.entries(machine, _ref(owner))
    machine.replace(_ref(owner), containers.bounded((*held, ContainerItem(TRUE, args[0]))))
    return NONE_VALUE


def extend(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`xs.extend(…)`, and `xs += …`."""
    not_of(machine, _ref(owner), args[0])
    added = items_of(machine, args[0])
    held = container_contents.entries(machine, _ref(owner))
    machine.replace(_ref(owner), containers.bounded((*held, *added)))
    return NONE_VALUE


def _whole(machine: Machine, owner: SymbolicValue, what: str) -> tuple[ContainerItem, ...]:
    held = container_contents.entries(machine, _ref(owner))
    if any(entry.present is not TRUE for entry in held):
        unmodelled(
            "list.guarded",
            f"how long this list is depends on the path, so {what} is not supported",
            "Do it before the list grows in a branch.",
        )
    return held


def insert(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`xs.insert(at, item)`."""
    held = list(_whole(machine, owner, "insert"))
    at = _known_index(args[0], "insert")
    if not -sys.maxsize <= at <= sys.maxsize:
        raise Raises("OverflowError", "this index is no index of any list")
    held.insert(at, ContainerItem(TRUE, args[1]))
    machine.replace(_ref(owner), containers.bounded(held))
    return NONE_VALUE


def _known_index(value: SymbolicValue, what: str) -> int:
    at = known_int(value)
    if at is None:
        unmodelled("list.index", f"{what} needs a known index", "Write the index out.")
    return at


def pop(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`xs.pop(at)`."""
    held = list(_whole(machine, owner, "pop"))
    at = _known_index(args[0], "pop") if args else -1
    if not -len(held) <= at < len(held):
        raise Raises("IndexError", f"pop({short_text(at)}) from {len(held)} items")
    taken = held.pop(at)
    machine.replace(_ref(owner), held)
    return taken.value


def remove(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`xs.remove(item)`."""
    held = _whole(machine, owner, "remove")
    for at, entry in enumerate(held):
        here = same(machine, entry.value, args[0])
        if here is TRUE:
            machine.replace(_ref(owner), (*held[:at], *held[at + 1 :]))
            return NONE_VALUE
        if here is not FALSE:
            unmodelled(
                "list.remove",
                "which item is removed depends on values that are not known",
                "Build a new list with a comprehension: [x for x in xs if x != y].",
            )
    raise Raises("ValueError", "list.remove(x): x is not in the list")


def clear(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
    """`clear()` of whatever it is."""
    machine.replace(_ref(owner), ())
    return NONE_VALUE


def copy(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
    """`copy()` of whatever it is."""
    ref = _ref(owner)
    held = container_contents.entries(machine, ref)
    return machine.make(machine.content(ref).kind, held, factory=machine.factories.get(ref.id))


def reverse(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
    """`xs.reverse()`."""
    machine.replace(_ref(owner), reversed(container_contents.entries(machine, _ref(owner))))
    return NONE_VALUE


def _items(machine: Machine, owner: SymbolicValue) -> tuple[ContainerItem, ...]:
    if isinstance(owner, TupleV):
        return tuple(ContainerItem(TRUE, item) for item in owner.items)
    return container_contents.entries(machine, _ref(owner))


def count(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`xs.count(item)`, of a list or a tuple."""
    return Sym(
        container_contents.count_of(
            and_(entry.present, same(machine, entry.value, args[0]))
            for entry in _items(machine, owner)
        )
    )


def index(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`xs.index(item)`, of a list or a tuple."""
    held = _items(machine, owner) if isinstance(owner, TupleV) else _whole(machine, owner, "index")
    here = [same(machine, entry.value, args[0]) for entry in held]
    found = or_(*here)
    if found is FALSE:
        raise Raises("ValueError", "the value is not in the list")
    machine.require(found, "the value is in the list (ValueError)", error="ValueError")
    place: Term = const(len(held) - 1)
    for at in reversed(range(len(held) - 1)):
        place = ite(here[at], const(at), place)
    return Sym(place)


# -- dicts -----------------------------------------------------------------------------------------


def get(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`d.get(key, default)`."""
    default = args[1] if len(args) > 1 else NONE_VALUE
    return machine.each(args[0], lambda key: lookup(machine, _ref(owner), key, default))


def pop_key(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`d.pop(key, default)`."""
    ref = _ref(owner)
    try:
        value = lookup(machine, ref, args[0], args[1] if len(args) > 1 else None)
    except Raises as problem:
        if problem.error == "KeyError":
            raise
        # Python does not hash the key when the dict is empty.
        refuse("dict.pop", f"{problem.error}: {problem.message}", "Use a key that can be hashed.")
    held = container_contents.entries(machine, ref)
    machine.replace(ref, [_without(machine, entry, args[0]) for entry in held])
    return value


def _without(machine: Machine, entry: ContainerItem, item: SymbolicValue) -> ContainerItem:
    named = entry.key if entry.key is not None else entry.value
    return ContainerItem(
        and_(entry.present, not_(same(machine, named, item))), entry.value, entry.key
    )


def setdefault(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`d.setdefault(key, default)`."""
    ref = _ref(owner)
    default = args[1] if len(args) > 1 else NONE_VALUE
    value = lookup(machine, ref, args[0], default)
    containers.put(machine, ref, args[0], value)
    return value


def update(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`d.update(other)`, and `d |= other`."""
    for guard, one in machine.cases(args[0]):
        if not isinstance(one, Ref) or not machine.content(one).is_dict:
            refuse("dict.update", "update takes a dict", "Set the keys one by one.")
        for entry in container_contents.entries(machine, one):
            assert entry.key is not None
            containers.put(machine, _ref(owner), entry.key, entry.value, and_(guard, entry.present))
    return NONE_VALUE


def view(kind: Kind) -> Function:
    """`d.keys()`, `d.values()` or `d.items()`."""

    def of(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
        ref = _ref(owner)
        held = container_contents.entries(machine, ref)
        seen = tuple(ContainerItem(entry.present, _seen(kind, entry)) for entry in held)
        return OnceV(seen, ((ref.id, machine.content(ref)),), kind)

    return of


def _seen(kind: Kind, entry: ContainerItem) -> SymbolicValue:
    assert entry.key is not None
    match kind:
        case Kind.KEYS:
            return entry.key
        case Kind.VALUES:
            return entry.value
        case _:
            return TupleV((entry.key, entry.value))


# -- sets ------------------------------------------------------------------------------------------


def add(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`s.add(item)`."""
    containers.add(machine, _ref(owner), args[0])
    return NONE_VALUE


def discard(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`s.discard(item)`."""
    _no_set(machine, args[0])
    containers.hashable(machine, args[0])
    held = container_contents.entries(machine, _ref(owner))
    machine.replace(_ref(owner), [_without(machine, entry, args[0]) for entry in held])
    return NONE_VALUE


def remove_item(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`s.remove(item)`, of a set."""
    _no_set(machine, args[0])
    found = containers.contains(machine, owner, args[0])
    if found is FALSE:
        shown = short_text(known_scalar(args[0])) if is_known(args[0]) else described(args[0])
        raise Raises("KeyError", f"{shown} is not in the set")
    machine.require(found, "the item is in the set (KeyError)", error="KeyError")
    return discard(machine, owner, args)


def _no_set(machine: Machine, value: SymbolicValue) -> None:
    """Refuse a set where an item of a set is meant: Python takes it for the frozenset that equals it."""
    if any(kind_of(machine, one) == Kind.SET for _, one in machine.cases(value)):
        refuse("set.items", "sets in sets are outside the subset", "Use tuples.")


def as_set(machine: Machine, value: SymbolicValue) -> Ref:
    """`set(value)`."""
    made = machine.make("set", ())
    for entry in _iterated_set(machine, value):
        containers.add(machine, made, entry.value, entry.present)
    return made


def _iterated_set(machine: Machine, value: SymbolicValue) -> tuple[ContainerItem, ...]:
    # The order of a set does not matter to another set.
    if isinstance(value, Ref) and kind_of(machine, value) in SETS:
        return container_contents.entries(machine, value)
    return items_of(machine, value)


def combined(op: str) -> Function:
    """`s.union(items)` and its kin."""

    def of(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
        ref, other = _ref(owner), as_set(machine, args[0])
        kind = machine.content(ref).kind
        return machine.make(kind, containers.set_operation(machine, op, ref, other))

    return of


def updated(op: str) -> Function:
    """`s.update(items)` and its kin."""

    def of(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
        not_of(machine, _ref(owner), args[0])
        other = as_set(machine, args[0])
        machine.replace(_ref(owner), containers.set_operation(machine, op, _ref(owner), other))
        return NONE_VALUE

    return of


def issubset(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`s.issubset(items)`."""
    return boolean(_subset(machine, _ref(owner), as_set(machine, args[0])))


def issuperset(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`s.issuperset(items)`."""
    return boolean(_subset(machine, _all_hashable(machine, args[0]), _ref(owner)))


def isdisjoint(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`s.isdisjoint(items)`."""
    left, right = _ref(owner), _all_hashable(machine, args[0])
    return boolean(
        and_(
            *(
                not_(and_(entry.present, containers.contains(machine, right, entry.value)))
                for entry in container_contents.entries(machine, left)
            )
        )
    )


def _all_hashable(machine: Machine, value: SymbolicValue) -> Ref:
    """The items as a set. Python stops at the one that decides, and may never come to one that can't be hashed."""
    try:
        return as_set(machine, value)
    except Raises as problem:
        refuse("set.items", f"{problem.error}: {problem.message}", problem.remedy)


def _subset(machine: Machine, left: Ref, right: Ref) -> Term:
    return and_(
        *(
            or_(not_(entry.present), containers.contains(machine, right, entry.value))
            for entry in container_contents.entries(machine, left)
        )
    )
