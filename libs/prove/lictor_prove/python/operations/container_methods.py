"""Methods of lists, dicts, sets and tuples that the program made.

What they do to an object is done to its content, so every alias sees it. Positions in a list whose length depends on
the path are not known; methods that need them refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from lictor_ir.terms import FALSE, TRUE, Term, and_, const, ite, not_, or_
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
from lictor_prove.python.operations.iterables import KnownItems, UnknownItems, plan
from lictor_prove.python.operations.subscripts import lookup
from lictor_prove.python.refusals import Raises, refuse

Args = Sequence[SymbolicValue]


def method(machine: Machine, owner: Ref | TupleV, name: str, args: Args) -> SymbolicValue:
    """`owner.name(*args)`."""
    kind = "tuple" if isinstance(owner, TupleV) else machine.content(owner).kind
    found = _METHODS.get((kind, name))
    if found is None:
        refuse(
            "method.container",
            f"the method {name!r} of a {kind} is outside the subset",
            f"A {kind} has: {', '.join(sorted(n for k, n in _METHODS if k == kind))}.",
        )
    least, most, function = found
    if not least <= len(args) <= most:
        refuse(
            "method.arguments",
            f"{kind}.{name} is supported with {least} to {most} arguments, not {len(args)}",
            "Pass them so.",
        )
    return function(machine, owner, args)


def _ref(owner: SymbolicValue) -> Ref:
    assert isinstance(owner, Ref)
    return owner


def _iterated(machine: Machine, value: SymbolicValue) -> tuple[ContainerItem, ...]:
    """The items of an iterable, each with the condition under which it is there."""
    cases = machine.cases(value)
    held: list[ContainerItem] = []
    for guard, one in cases:
        how = plan(machine, one)
        if isinstance(how, UnknownItems):
            refuse(
                "list.symbolic",
                "a container can't take the items of a list of unknown length",
                "Loop over the list itself.",
            )
        held.extend(ContainerItem(and_(guard, entry.present), entry.value) for entry in how.entries)
    return tuple(held)


def _not_of(machine: Machine, owner: Ref, value: SymbolicValue) -> None:
    """Refuse to change a container by an iterator over it: Python reads on in what was added meanwhile."""
    for _, one in machine.cases(value):
        if isinstance(one, OnceV) and any(key == owner.id for key, _ in one.watched):
            refuse(
                "loop.mutation",
                "the container is changed while an iterator over it is read",
                "Make a list of the iterator first: list(…).",
            )


def items_of(machine: Machine, value: SymbolicValue) -> tuple[ContainerItem, ...]:
    """What `list(value)` holds."""
    return _iterated(machine, value)


# -- lists -----------------------------------------------------------------------------------------


def _append(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    held = container_contents.entries(machine, _ref(owner))
    machine.replace(_ref(owner), containers.bounded((*held, ContainerItem(TRUE, args[0]))))
    return NONE_VALUE


def extend(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`xs.extend(…)`, and `xs += …`."""
    _not_of(machine, _ref(owner), args[0])
    added = _iterated(machine, args[0])
    held = container_contents.entries(machine, _ref(owner))
    machine.replace(_ref(owner), containers.bounded((*held, *added)))
    return NONE_VALUE


def _whole(machine: Machine, owner: SymbolicValue, what: str) -> tuple[ContainerItem, ...]:
    held = container_contents.entries(machine, _ref(owner))
    if any(entry.present is not TRUE for entry in held):
        refuse(
            "list.guarded",
            f"how long this list is depends on the path, so {what} is not supported",
            "Do it before the list grows in a branch.",
        )
    return held


def _insert(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    held = list(_whole(machine, owner, "insert"))
    at = _known_index(args[0], "insert")
    held.insert(at, ContainerItem(TRUE, args[1]))
    machine.replace(_ref(owner), containers.bounded(held))
    return NONE_VALUE


def _known_index(value: SymbolicValue, what: str) -> int:
    at = known_int(value)
    if at is None:
        refuse("list.index", f"{what} needs a known index", "Write the index out.")
    return at


def _pop(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    held = list(_whole(machine, owner, "pop"))
    at = _known_index(args[0], "pop") if args else -1
    if not -len(held) <= at < len(held):
        raise Raises("IndexError", f"pop({at}) from {len(held)} items")
    taken = held.pop(at)
    machine.replace(_ref(owner), held)
    return taken.value


def _remove(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    held = _whole(machine, owner, "remove")
    for at, entry in enumerate(held):
        here = same(machine, entry.value, args[0])
        if here is TRUE:
            machine.replace(_ref(owner), (*held[:at], *held[at + 1 :]))
            return NONE_VALUE
        if here is not FALSE:
            refuse(
                "list.remove",
                "which item is removed depends on values that are not known",
                "Build a new list with a comprehension: [x for x in xs if x != y].",
            )
    raise Raises("ValueError", "list.remove(x): x is not in the list")


def _clear(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
    machine.replace(_ref(owner), ())
    return NONE_VALUE


def _copy(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
    return machine.make(
        machine.content(_ref(owner)).kind, container_contents.entries(machine, _ref(owner))
    )


def _reverse(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
    machine.replace(_ref(owner), reversed(container_contents.entries(machine, _ref(owner))))
    return NONE_VALUE


def _items(machine: Machine, owner: SymbolicValue) -> tuple[ContainerItem, ...]:
    if isinstance(owner, TupleV):
        return tuple(ContainerItem(TRUE, item) for item in owner.items)
    return container_contents.entries(machine, _ref(owner))


def _count(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    return Sym(
        container_contents.count_of(
            and_(entry.present, same(machine, entry.value, args[0]))
            for entry in _items(machine, owner)
        )
    )


def _index(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    held = _items(machine, owner) if isinstance(owner, TupleV) else _whole(machine, owner, "index")
    here = [same(machine, entry.value, args[0]) for entry in held]
    found = or_(*here)
    if found is FALSE:
        raise Raises("ValueError", "the value is not in the list")
    machine.require(found, "the value is in the list (ValueError)")
    place: Term = const(len(held) - 1)
    for at in reversed(range(len(held) - 1)):
        place = ite(here[at], const(at), place)
    return Sym(place)


# -- dicts -----------------------------------------------------------------------------------------


def _get(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    default = args[1] if len(args) > 1 else NONE_VALUE
    return machine.each(args[0], lambda key: lookup(machine, _ref(owner), key, default))


def _pop_key(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    ref = _ref(owner)
    value = lookup(machine, ref, args[0], args[1] if len(args) > 1 else None)
    held = container_contents.entries(machine, ref)
    machine.replace(ref, [_without(machine, entry, args[0]) for entry in held])
    return value


def _without(machine: Machine, entry: ContainerItem, item: SymbolicValue) -> ContainerItem:
    named = entry.key if entry.key is not None else entry.value
    return ContainerItem(
        and_(entry.present, not_(same(machine, named, item))), entry.value, entry.key
    )


def _setdefault(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    ref = _ref(owner)
    default = args[1] if len(args) > 1 else NONE_VALUE
    value = lookup(machine, ref, args[0], default)
    containers.put(machine, ref, args[0], value)
    return value


def _update(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    return update(machine, owner, args[0])


def update(machine: Machine, owner: SymbolicValue, other: SymbolicValue) -> SymbolicValue:
    """`d.update(other)`, and `d |= other`."""
    for guard, one in machine.cases(other):
        if not isinstance(one, Ref) or machine.content(one).kind != "dict":
            refuse("dict.update", "update takes a dict", "Set the keys one by one.")
        for entry in container_contents.entries(machine, one):
            assert entry.key is not None
            containers.put(machine, _ref(owner), entry.key, entry.value, and_(guard, entry.present))
    return NONE_VALUE


def _view(
    pick: Callable[[ContainerItem], SymbolicValue],
) -> Callable[[Machine, SymbolicValue, Args], SymbolicValue]:
    def of(machine: Machine, owner: SymbolicValue, _: Args) -> SymbolicValue:
        ref = _ref(owner)
        held = container_contents.entries(machine, ref)
        seen = tuple(ContainerItem(entry.present, pick(entry)) for entry in held)
        return OnceV(seen, ((ref.id, machine.content(ref)),), reversible=True)

    return of


def _key(entry: ContainerItem) -> SymbolicValue:
    assert entry.key is not None
    return entry.key


# -- sets ------------------------------------------------------------------------------------------


def _add(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    containers.add(machine, _ref(owner), args[0])
    return NONE_VALUE


def _discard(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    containers.hashable(machine, args[0])
    held = container_contents.entries(machine, _ref(owner))
    machine.replace(_ref(owner), [_without(machine, entry, args[0]) for entry in held])
    return NONE_VALUE


def _set_remove(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    found = containers.contains(machine, owner, args[0])
    if found is FALSE:
        shown = repr(known_scalar(args[0])) if is_known(args[0]) else described(args[0])
        raise Raises("KeyError", f"{shown} is not in the set")
    machine.require(found, "the item is in the set (KeyError)")
    return _discard(machine, owner, args)


def as_set(machine: Machine, value: SymbolicValue) -> Ref:
    """`set(value)`."""
    made = machine.make("set", ())
    for entry in _iterated_set(machine, value):
        containers.add(machine, made, entry.value, entry.present)
    return made


def _iterated_set(machine: Machine, value: SymbolicValue) -> tuple[ContainerItem, ...]:
    # The order of a set does not matter to another set.
    if isinstance(value, Ref) and machine.content(value).kind == "set":
        return container_contents.entries(machine, value)
    return _iterated(machine, value)


def _combined(op: str) -> Callable[[Machine, SymbolicValue, Args], SymbolicValue]:
    def of(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
        other = as_set(machine, args[0])
        return machine.make("set", containers.set_operation(machine, op, _ref(owner), other))

    return of


def _updated(op: str) -> Callable[[Machine, SymbolicValue, Args], SymbolicValue]:
    def of(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
        _not_of(machine, _ref(owner), args[0])
        other = as_set(machine, args[0])
        machine.replace(_ref(owner), containers.set_operation(machine, op, _ref(owner), other))
        return NONE_VALUE

    return of


def _related(
    pick: Callable[[Machine, Ref, Ref], Term],
) -> Callable[[Machine, SymbolicValue, Args], SymbolicValue]:
    def of(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
        return boolean(pick(machine, _ref(owner), as_set(machine, args[0])))

    return of


def subset(machine: Machine, left: Ref, right: Ref) -> Term:
    """`left <= right`."""
    return and_(
        *(
            or_(not_(entry.present), containers.contains(machine, right, entry.value))
            for entry in container_contents.entries(machine, left)
        )
    )


def _disjoint(machine: Machine, left: Ref, right: Ref) -> Term:
    return and_(
        *(
            not_(and_(entry.present, containers.contains(machine, right, entry.value)))
            for entry in container_contents.entries(machine, left)
        )
    )


def _no_order(_: Machine, __: SymbolicValue, ___: Args) -> NoReturn:
    refuse(
        "set.pop",
        "which item a set gives is not defined",
        "Use a list, or sorted(…).",
    )


_METHODS: Final[
    dict[tuple[str, str], tuple[int, int, Callable[[Machine, SymbolicValue, Args], SymbolicValue]]]
] = {
    ("list", "append"): (1, 1, _append),
    ("list", "extend"): (1, 1, extend),
    ("list", "insert"): (2, 2, _insert),
    ("list", "pop"): (0, 1, _pop),
    ("list", "remove"): (1, 1, _remove),
    ("list", "clear"): (0, 0, _clear),
    ("list", "copy"): (0, 0, _copy),
    ("list", "reverse"): (0, 0, _reverse),
    ("list", "count"): (1, 1, _count),
    ("list", "index"): (1, 1, _index),
    ("tuple", "count"): (1, 1, _count),
    ("tuple", "index"): (1, 1, _index),
    ("dict", "get"): (1, 2, _get),
    ("dict", "pop"): (1, 2, _pop_key),
    ("dict", "setdefault"): (1, 2, _setdefault),
    ("dict", "update"): (1, 1, _update),
    ("dict", "clear"): (0, 0, _clear),
    ("dict", "copy"): (0, 0, _copy),
    ("dict", "keys"): (0, 0, _view(_key)),
    ("dict", "values"): (0, 0, _view(lambda entry: entry.value)),
    ("dict", "items"): (0, 0, _view(lambda entry: TupleV((_key(entry), entry.value)))),
    ("set", "add"): (1, 1, _add),
    ("set", "discard"): (1, 1, _discard),
    ("set", "remove"): (1, 1, _set_remove),
    ("set", "clear"): (0, 0, _clear),
    ("set", "copy"): (0, 0, _copy),
    ("set", "pop"): (0, 0, _no_order),
    ("set", "union"): (1, 1, _combined("|")),
    ("set", "intersection"): (1, 1, _combined("&")),
    ("set", "difference"): (1, 1, _combined("-")),
    ("set", "symmetric_difference"): (1, 1, _combined("^")),
    ("set", "update"): (1, 1, _updated("|")),
    ("set", "intersection_update"): (1, 1, _updated("&")),
    ("set", "difference_update"): (1, 1, _updated("-")),
    ("set", "symmetric_difference_update"): (1, 1, _updated("^")),
    ("set", "issubset"): (1, 1, _related(subset)),
    ("set", "issuperset"): (1, 1, _related(lambda m, left, right: subset(m, right, left))),
    ("set", "isdisjoint"): (1, 1, _related(_disjoint)),
}

NAMES: Final = frozenset(name for _, name in _METHODS)


def known_plan(machine: Machine, value: SymbolicValue) -> KnownItems:
    """The items of a value whose length is known."""
    return KnownItems(_iterated(machine, value))
