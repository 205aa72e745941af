"""Lists, dicts and sets whose content nobody knows: how many items, and what stands at each index.

They keep their identity, so every alias sees a change. What is appended is known to stand at the end; where the place
is not known, an item is one of those that were there, or what was put in. Keys and items are not compared: whether one
is there is unknown each time that somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from lictor_ir.document import Binder
from lictor_ir.provenance import made_of
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Const,
    Result,
    Term,
    Var,
    apply,
    const,
    ite,
    substitute,
)
from lictor_ir.types import BOOL, INT, STR, ListOf, Type
from lictor_prove.python.kinds import NUMERIC, Kind, kind_of
from lictor_prove.python.machine.loop_templates import bound_of
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import (
    as_sequence,
    choose,
    concatenated,
    merge,
    merge_sequences,
    solid,
)
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    Appended,
    Composite,
    ContainerItem,
    Content,
    ObjectV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    Unbound,
    alternatives,
    count,
    renamed,
)
from lictor_prove.python.machine.unknown_sequences import (
    note_distinct,
    note_keys,
    one_of,
    sequence,
)
from lictor_prove.python.machine.unknown_values import flows, unknown, unknown_index
from lictor_prove.python.operations.containers import hashable, told_length
from lictor_prove.python.operations.iterables import not_of, unchanged
from lictor_prove.python.refusals import Raises, refuse, unmodelled

Args = Sequence[SymbolicValue]
Method = Callable[[Machine, Ref, Args], SymbolicValue]


# -- what they hold --------------------------------------------------------------------------------


def sequence_of(machine: Machine, value: SymbolicValue) -> SequenceV | None:
    """What stands at each index, of something whose length is not known; None of anything else."""
    match value:
        case SequenceV():
            unchanged(machine, value.watched)
            return solid(value)
        case Sym(term) if isinstance(value.type, ListOf):
            index = machine.fresh_index()
            return SequenceV(term, index, Sym(apply("at", term, index)), TRUE)
        case ObjectV(kind=Kind.JSON):
            from lictor_prove.python.library.unknown_members import items_of

            return items_of(machine, value)
        case Ref():
            held = machine.content(value).held
            return solid(held) if isinstance(held, SequenceV) else None
        case _:
            return None


def labels_of(machine: Machine, *values: SymbolicValue) -> tuple[str, ...]:
    """What flows into something that is made of these."""
    return made_of(flows(machine, *values), machine.inputs, machine.unknowns)


def item_at(held: SequenceV, place: Term) -> SymbolicValue:
    """What stands there."""
    return renamed(held.item, {held.index: place})


def some_item(
    machine: Machine,
    held: SequenceV,
    why: str,
    flowing: Sequence[SymbolicValue] = (),
    *,
    may_raise: bool = False,
    each: tuple[Binder, ...] = (),
) -> SymbolicValue:
    """One of the items, nobody knows which."""
    place = unknown_index(
        machine,
        count(held),
        why,
        tuple(flows(machine, held, *flowing)),
        may_raise=may_raise,
        each=each,
    )
    return item_at(held, place)


def shuffled(
    machine: Machine,
    held: SequenceV,
    why: str,
    added: Sequence[SymbolicValue] = (),
    *,
    flowing: Sequence[SymbolicValue] = (),
    size: Term | None = None,
) -> SequenceV:
    """Some of these items in an unknown order, and some of those that are added; or so many of them.

    `flowing`: what else decides which they are, and in which order.
    """
    is_empty = isinstance(held.item, Unbound)
    if is_empty and not added:
        return held
    flowing = (*added, *flowing)
    labels = labels_of(machine, held, *flowing)

    def item(each: tuple[Binder, ...]) -> SymbolicValue:
        old = () if is_empty else (some_item(machine, held, why, flowing, each=each),)
        return one_of(machine, (*old, *added), labels, why, each)

    if size is None:
        most = apply("add", count(held), const(len(added)))
        return sequence(machine, item, labels, why, most)
    index = machine.fresh_index()
    binder = (Binder(index, size),)
    if added or is_empty:
        return SequenceV(size, index, item(binder), TRUE)
    place = unknown_index(
        machine, count(held), why, tuple(flows(machine, held, *flowing)), each=binder
    )
    # The same items in another order, or all but some: none stands there twice.
    note_distinct(machine, index, place)
    return SequenceV(size, index, item_at(held, place), TRUE)


def made(machine: Machine, kind: str, held: SequenceV, factory: SymbolicValue | None = None) -> Ref:
    """A new container with these items."""
    ref = machine.make(kind, (), factory=factory)
    change(machine, ref, held)
    return ref


def change(machine: Machine, ref: Ref, held: SequenceV) -> None:
    """The container holds this now."""
    kind = machine.stored(ref).kind
    if ref.id not in machine.pools:
        note_keys(machine, kind, held)
    machine.hold(ref, Content(kind, held))


def opened(machine: Machine, ref: Ref) -> SequenceV:
    """What a container holds, by an index; also where it is known."""
    return as_sequence(machine.content(ref), machine.fresh_index())


# -- methods ---------------------------------------------------------------------------------------


def append(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
    """`xs.append(item)`."""
    before, held = machine.stored(ref), opened(machine, ref)
    added = SequenceV(const(1), held.index, args[0], TRUE)
    since = (
        None if ref.id in machine.pools else Appended.since(before, ContainerItem(TRUE, args[0]))
    )
    machine.hold(ref, Content("list", concatenated(held, added), since))
    return NONE_VALUE


def extend(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
    """`xs.extend(items)`, and `xs += items`."""
    not_of(machine, ref, args[0])
    more = listed(machine, args[0])
    change(machine, ref, concatenated(opened(machine, ref), more))
    return NONE_VALUE


def iterated(machine: Machine, value: SymbolicValue) -> SequenceV:
    """What a loop over the value sees."""
    (_, found), *others = [(guard, _iterated(machine, one)) for guard, one in machine.cases(value)]
    for guard, other in others:
        found = merge_sequences(guard, other, found)
    return found


def _iterated(machine: Machine, one: SymbolicValue) -> SequenceV:
    found = sequence_of(machine, one)
    if isinstance(one, TupleV):
        found = opened(machine, machine.make_list(one.items))
    elif isinstance(one, Ref):
        content = machine.content(one)
        found = opened(machine, one)
        if content.is_dict and not isinstance(found.item, Unbound):
            found = SequenceV(found.over, found.index, pair_part(found.item, 0), TRUE)
        elif content.kind != "list" and not is_unknown(machine, one):
            # The order of a set is nobody's.
            found = shuffled(machine, found, "the order of a set", size=count(found))
    if found is None:
        unmodelled(
            "list.symbolic",
            "a container can't take these items: how many there are is not known",
            "Loop over them.",
        )
    return found


def listed(machine: Machine, value: SymbolicValue) -> SequenceV:
    """What a list that is made of the value holds."""
    found = iterated(machine, value)
    told_length(machine, machine.cases(value)[0][1])
    return found


def pop(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
    """`xs.pop(at)`."""
    held = opened(machine, ref)
    size = count(held)
    rest = ite(apply("lt", const(0), size), apply("sub", size, const(1)), const(0))
    if not args:
        machine.require(
            apply("lt", const(0), size), "the list is not empty (IndexError)", error="IndexError"
        )
        change(machine, ref, SequenceV(rest, held.index, held.item, TRUE))
        return item_at(held, rest)
    taken = some_item(machine, held, "pop of an unknown list", args, may_raise=True)
    left = shuffled(machine, held, "pop of an unknown list", flowing=args, size=rest)
    change(machine, ref, left)
    return taken


def reordered(name: str, *, grows: int = 0, raises: bool = False) -> Method:
    """A method after which the same items are there in another order, with those that are put in."""

    def of(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
        held = opened(machine, ref)
        why = f"what {name} leaves"
        if raises:
            unknown(machine, BOOL, f"{name} may raise", flows(machine, ref, *args), may_raise=True)
        added = args[len(args) - grows :] if grows else ()
        change(machine, ref, shuffled(machine, held, why, added, flowing=args))
        return NONE_VALUE

    return of


def clear(machine: Machine, ref: Ref, _: Args) -> SymbolicValue:
    """`clear()` of whatever it is; of many objects that one stands for, which is cleared says something too."""
    if ref.id in machine.pools:
        change(machine, ref, opened(machine, ref))
    else:
        machine.replace(ref, ())
    return NONE_VALUE


def copy(machine: Machine, ref: Ref, _: Args) -> SymbolicValue:
    """`copy()` of whatever it is; that of a set has an order of its own."""
    kind, held = machine.content(ref).kind, opened(machine, ref)
    if kind == "set":
        held = shuffled(machine, held, "the order of a set", size=count(held))
    return made(machine, kind, held, machine.factories.get(ref.id))


def asked(type_: Type, name: str, *, raises: bool = False) -> Method:
    """A method that only looks."""

    def of(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
        return unknown(
            machine,
            type_,
            f"{name} of a container of unknown content",
            flows(machine, ref, *args),
            may_raise=raises,
        )

    return of


# -- dicts and sets --------------------------------------------------------------------------------


def pair_part(value: SymbolicValue, at: int) -> SymbolicValue:
    """The key or the value of a pair of a dict."""
    parts: list[tuple[Term, SymbolicValue]] = []
    for guard, one in alternatives(value):
        assert isinstance(one, TupleV)
        parts.append((guard, one.items[at]))
    if len(parts) == 1:
        return parts[0][1]
    return choose(parts)


def lookup(
    machine: Machine, ref: Ref, key: SymbolicValue, default: SymbolicValue | None = None
) -> SymbolicValue:
    """`d[key]`, or `d.get(key, default)`."""
    held = opened(machine, ref)
    why = "which value of a dict of unknown content is read"
    hashable(machine, key)
    if isinstance(held.item, Unbound):
        if default is None:
            raise Raises("KeyError", "the dict is empty")
        return default
    place = place_of(machine, held, key)
    if place is not None:
        return pair_part(item_at(held, place), 1)
    pair = some_item(machine, held, why, [key], may_raise=default is None)
    value = pair_part(pair, 1)
    if default is None:
        return value
    there = unknown(machine, BOOL, "whether a dict has a key", flows(machine, ref, key)).term
    return merge(there, value, default)


def entry_of(machine: Machine, ref: Ref, key: SymbolicValue) -> tuple[Term, SymbolicValue]:
    """Whether a dict has the key, and its value if it does."""
    held = opened(machine, ref)
    hashable(machine, key)
    if isinstance(held.item, Unbound):
        return FALSE, held.item
    place = place_of(machine, held, key)
    if place is not None:
        return TRUE, pair_part(item_at(held, place), 1)
    there = unknown(machine, BOOL, "whether a dict has a key", flows(machine, ref, key)).term
    pair = some_item(machine, held, "which value of a dict of unknown content is read", [key])
    return there, pair_part(pair, 1)


def place_of(machine: Machine, held: SequenceV, key: SymbolicValue) -> Term | None:
    """The index at which a dict has the key, where a loop over its keys gave it; else None."""
    if not isinstance(held.item, TupleV):
        return None
    place = _hole(held.item.items[0], key, held.index)
    if place is None or not _is_inside(machine, place, held):
        return None
    return place


def _hole(pattern: SymbolicValue, value: SymbolicValue, index: Var) -> Term | None:
    """What the index has to be for the two to be the same."""
    match pattern, value:
        case TupleV(), TupleV() if len(pattern.items) == len(value.items):
            pairs = zip(pattern.items, value.items, strict=True)
            places = {_hole(one, other, index) for one, other in pairs}
            return places.pop() if len(places) == 1 else None
        case Sym(), Sym() if pattern.type == value.type and pattern.type in (INT, STR):
            place = _aligned(pattern.term, value.term, index)
            is_same = place is not None and substitute(pattern.term, {index: place}) is value.term
            return place if is_same else None
        case _:
            return None


def _aligned(pattern: Term, term: Term, index: Var) -> Term | None:
    """What stands in a term where the index stands in another one."""
    todo = [(pattern, term)]
    while todo:
        one, other = todo.pop()
        if one is index:
            return other
        if type(one) is type(other):
            todo += zip(_parts(one), _parts(other), strict=False)
    return None


def _parts(term: Term) -> tuple[Term, ...]:
    match term:
        case App(args=parts) | Result(indices=parts):
            return parts
        case _:
            return ()


def _is_inside(machine: Machine, place: Term, held: SequenceV) -> bool:
    """Whether it is certainly the index of an item."""
    size = count(held)
    if isinstance(place, Var):
        loops = [binder.over for binder in machine.binders if binder.index is place]
        return any(each in (size, held.over) or _is_cut(each, size) for each in loops)
    if bound_of(place) is not size:
        return False
    is_some = machine.decided(apply("lt", const(0), size)) is True
    return is_some or any(_needs(binder.over, size, held.over) for binder in machine.binders)


def _is_cut(over: Term, size: Term) -> bool:
    """Whether it is so many, or fewer where a loop is left before its end."""
    match over:
        case App(op="ite", args=(_, place, most)):
            return most is size and bound_of(place) is size
        case _:
            return False


def _needs(over: Term, size: Term, whole: Term) -> bool:
    """Whether a number is positive only where the size is, as those of slices are; `whole`: the list of that size."""
    if over in (size, whole):
        return True
    match over:
        case Const(value=int(number)):
            return number <= 0
        case App(op="sub", args=(number, Const(value=int(less)))):
            return less >= 0 and _needs(number, size, whole)
        case App(op="ite", args=(App(op="lt", args=(one, other)), then, otherwise)):
            # What is below something that is positive is looked at, and so is what is not below a number.
            is_below = then is one and _needs(other, size, whole)
            is_above = (
                isinstance(other, Const)
                and isinstance(other.value, int)
                and other.value > 0
                and _needs(one, size, whole)
            )
            return (is_below or _needs(then, size, whole)) and (
                is_above or _needs(otherwise, size, whole)
            )
        case App(op="ite", args=(_, then, otherwise)):
            return _needs(then, size, whole) and _needs(otherwise, size, whole)
        case _:
            return False


def get(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
    """`d.get(key, default)`."""
    return lookup(machine, ref, args[0], args[1] if len(args) > 1 else NONE_VALUE)


def one_key(machine: Machine, *items: SymbolicValue) -> None:
    """Refuse pairs whose keys may be equal and different, as 1 and True are: a dict has the first one's key then, and
    the last one's value."""
    keys = [pair_part(each, 0) for each in items if not isinstance(each, Unbound)]
    if not _are_one(machine, keys):
        refuse(
            "dict.keys",
            "keys of this dict may be equal numbers of different types, as 1 and True are; it keeps the first of them",
            "Use keys of one type.",
        )


def _are_one(machine: Machine, keys: Iterable[SymbolicValue]) -> bool:
    """Whether equal keys among these are certainly the same."""
    every = [one for key in keys for _, one in machine.cases(key)]
    composites = [one for one in every if isinstance(one, Composite)]
    numbers = {kind for one in every if (kind := kind_of(machine, one)) in NUMERIC}
    return len(numbers) < 2 and all(
        _are_one(machine, parts)
        for shape in {one.shape for one in composites}
        for parts in zip(*(one.items for one in composites if one.shape == shape), strict=True)
    )


def put(machine: Machine, ref: Ref, key: SymbolicValue, value: SymbolicValue) -> None:
    """`d[key] = value`."""
    hashable(machine, key)
    held = opened(machine, ref)
    one_key(machine, held.item, TupleV((key, value)))
    change(machine, ref, shuffled(machine, held, "what a dict holds", [TupleV((key, value))]))


def pop_key(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
    """`d.pop(key, default)`."""
    value = lookup(machine, ref, args[0], args[1] if len(args) > 1 else None)
    why = "what pop leaves in a dict"
    change(machine, ref, shuffled(machine, opened(machine, ref), why, flowing=args))
    return value


def setdefault(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
    """`d.setdefault(key, default)`."""
    value = get(machine, ref, args)
    put(machine, ref, args[0], value)
    return value


def update_dict(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
    """`d.update(other)`."""
    cases = machine.cases(args[0])
    one = cases[0][1]
    if len(cases) > 1 or not isinstance(one, Ref) or not machine.content(one).is_dict:
        refuse("dict.update", "update takes a dict", "Set the keys one by one.")
    held = concatenated(opened(machine, ref), opened(machine, one))
    one_key(machine, held.item)
    change(machine, ref, shuffled(machine, held, "what update leaves"))
    return NONE_VALUE


def update(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
    """`s.update(items)`."""
    not_of(machine, ref, args[0])
    more = _hashed(machine, args[0])
    held = concatenated(opened(machine, ref), more)
    change(machine, ref, shuffled(machine, held, "what update leaves"))
    return NONE_VALUE


def view(kind: Kind) -> Method:
    """`d.keys()`, `d.values()` or `d.items()`: to be used where it stands."""

    def of(machine: Machine, ref: Ref, _: Args) -> SymbolicValue:
        held = opened(machine, ref)
        item = held.item
        if kind != Kind.ITEMS:
            item = pair_part(item, 0 if kind == Kind.KEYS else 1)
        watched = ((ref.id, machine.stored(ref)),)
        return SequenceV(held.over, held.index, item, TRUE, kind, watched)

    return of


def _hashed(machine: Machine, value: SymbolicValue) -> SequenceV:
    """The items, as those of a set."""
    found = iterated(machine, value)
    if not isinstance(found.item, Unbound):
        hashable(machine, found.item)
    return found


def _of_item(method: Method) -> Method:
    """A method of sets that is given an item: it is hashed first."""

    def of(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
        hashable(machine, args[0])
        return method(machine, ref, args)

    return of


def of_sets(name: str) -> Method:
    """`s.union(items)` and its kin: a new set."""

    def of(machine: Machine, ref: Ref, args: Args) -> SymbolicValue:
        both = concatenated(opened(machine, ref), _hashed(machine, args[0]))
        return made(machine, "set", shuffled(machine, both, f"what {name} gives"))

    return of


_OF_LISTS_DICTS_AND_SETS: Final[dict[tuple[str, str], Method]] = {
    ("list", "append"): append,
    ("list", "clear"): clear,
    ("list", "copy"): copy,
    ("list", "count"): asked(INT, "count"),
    ("list", "extend"): extend,
    ("list", "index"): asked(INT, "index", raises=True),
    ("list", "insert"): reordered("insert", grows=1, raises=True),
    ("list", "pop"): pop,
    ("list", "remove"): reordered("remove", raises=True),
    ("list", "reverse"): reordered("reverse"),
    ("dict", "clear"): clear,
    ("dict", "copy"): copy,
    ("dict", "get"): get,
    ("dict", "items"): view(Kind.ITEMS),
    ("dict", "keys"): view(Kind.KEYS),
    ("dict", "pop"): pop_key,
    ("dict", "setdefault"): setdefault,
    ("dict", "update"): update_dict,
    ("dict", "values"): view(Kind.VALUES),
    ("set", "add"): _of_item(reordered("add", grows=1)),
    ("set", "clear"): clear,
    ("set", "copy"): copy,
    ("set", "difference"): of_sets("difference"),
    ("set", "discard"): _of_item(reordered("discard")),
    ("set", "intersection"): of_sets("intersection"),
    ("set", "isdisjoint"): asked(BOOL, "isdisjoint"),
    ("set", "issubset"): asked(BOOL, "issubset"),
    ("set", "issuperset"): asked(BOOL, "issuperset"),
    ("set", "remove"): _of_item(reordered("remove", raises=True)),
    ("set", "union"): of_sets("union"),
    ("set", "update"): update,
}
METHODS: Final[dict[tuple[str, str], Method]] = {
    **_OF_LISTS_DICTS_AND_SETS,
    **{
        (each, name): method
        for (kind, name), method in _OF_LISTS_DICTS_AND_SETS.items()
        for each in (Kind.DEFAULTDICT, Kind.COUNTER)
        if kind == Kind.DICT
    },
}
"""What methods do to a container of unknown content; what is not here is refused."""


def is_unknown(machine: Machine, value: SymbolicValue) -> bool:
    """Whether it is a container that the program made, and nobody knows what it holds."""
    return isinstance(value, Ref) and (
        value.id in machine.pools or isinstance(machine.stored(value).held, SequenceV)
    )
