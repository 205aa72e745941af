"""What a value or a container is after two paths come together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from lictor_ir.terms import FALSE, TRUE, Term, Var, and_, apply, const, eq, ite, not_, or_
from lictor_ir.types import BOOL
from lictor_prove.python.machine.symbolic_values import (
    SCALARS,
    UNBOUND,
    Appended,
    BuiltinV,
    Composite,
    ContainerItem,
    Content,
    DataClassV,
    InstanceRef,
    ModuleV,
    ObjectV,
    Poison,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TrustedV,
    TupleV,
    Unbound,
    UnionV,
    alternatives,
    count,
    renamed,
)
from lictor_prove.python.refusals import MAX_ALTERNATIVES, refuse, unmodelled


def merge(condition: Term, then: SymbolicValue, otherwise: SymbolicValue) -> SymbolicValue:
    """One where the condition holds, else the other."""
    if then is otherwise or condition is TRUE:
        return then
    if condition is FALSE:
        return otherwise
    one = _one(condition, then, otherwise)
    if one is not None:
        return one
    negated = not_(condition)
    return union(
        [
            *((and_(condition, guard), value) for guard, value in alternatives(then)),
            *((and_(negated, guard), value) for guard, value in alternatives(otherwise)),
        ]
    )


def choose(options: Sequence[tuple[Term, SymbolicValue]]) -> SymbolicValue:
    """The first whose guard holds; the last one where none of the others' does."""
    value = options[-1][1]
    for guard, earlier in reversed(options[:-1]):
        value = merge(guard, earlier, value)
    return value


def union(options: Sequence[tuple[Term, SymbolicValue]]) -> SymbolicValue:
    """One of these, by guards that exclude each other; what can be one term becomes one."""
    kept: list[tuple[Term, SymbolicValue]] = []
    # Whoever looks at an alternative takes it for a value, so a union never holds another one.
    flat = [(and_(guard, g), one) for guard, value in options for g, one in alternatives(value)]
    for guard, value in flat:
        if guard is FALSE:
            continue
        for at, (other_guard, other) in enumerate(kept):
            one = other if other is value else _one(other_guard, other, value)
            if one is not None:
                kept[at] = (or_(other_guard, guard), one)
                break
        else:
            kept.append((guard, value))
    if len(kept) > MAX_ALTERNATIVES:
        refuse(
            "limits.alternatives",
            f"a value here may be more than {MAX_ALTERNATIVES} different things, depending on the path",
            "Decide earlier what it is: make the call in each branch, or use values of one type.",
        )
    if not kept:
        return options[0][1]
    return kept[0][1] if len(kept) == 1 else UnionV(tuple(kept))


def _one(condition: Term, then: SymbolicValue, otherwise: SymbolicValue) -> SymbolicValue | None:
    """The two as one value, if they can be."""
    match then, otherwise:
        case Sym(), Sym():
            if then.term is otherwise.term:
                return then
            if then.term is FALSE and otherwise.type == BOOL:
                return Sym(and_(not_(condition), otherwise.term))
            if otherwise.term is TRUE and then.type == BOOL:
                return Sym(or_(not_(condition), then.term))
            if then.type == otherwise.type and then.type in SCALARS:
                return Sym(ite(condition, then.term, otherwise.term))
        case ObjectV(), ObjectV():
            if then.kind == otherwise.kind:
                same = then.term is otherwise.term
                return (
                    then if same else ObjectV(then.kind, ite(condition, then.term, otherwise.term))
                )
        case Ref(), Ref():
            return then if then.id == otherwise.id else None
        case Composite(), Composite():
            if type(then) is type(otherwise) and then.shape == otherwise.shape:
                return then.of(
                    merge(condition, *pair)
                    for pair in zip(then.items, otherwise.items, strict=True)
                )
        case InstanceRef(), InstanceRef():
            return then if then.id == otherwise.id else None
        case DataClassV(), DataClassV():
            return then if then.made is otherwise.made else None
        case (Unbound(), Unbound()) | (Poison(), Poison()):
            return then
        case (BuiltinV(one), BuiltinV(other)) | (ModuleV(one), ModuleV(other)):
            return then if one == other else None
        case TrustedV(), TrustedV():
            return then if then.function is otherwise.function else None
        case _:
            return None
    return None


def merge_contents(condition: Term, then: Content, otherwise: Content) -> Content:
    """What a container holds after two paths that changed it."""
    if then is otherwise:
        return then
    if isinstance(then.held, SequenceV) or isinstance(otherwise.held, SequenceV):
        appended = _merge_appended(condition, then, otherwise)
        return Content(then.kind, _merge_sequences(condition, then, otherwise), appended)
    one, other = then.entries, otherwise.entries
    shared: list[ContainerItem] = []
    while len(shared) < min(len(one), len(other)):
        entry = _same_place(condition, one[len(shared)], other[len(shared)])
        if entry is None:
            break
        shared.append(entry)
    at = len(shared)
    if then.kind == "list" and len(one) == len(other) and _all_present(one) and _all_present(other):
        return Content(
            "list",
            tuple(
                ContainerItem(TRUE, merge(condition, a.value, b.value))
                for a, b in zip(one, other, strict=True)
            ),
        )
    negated = not_(condition)
    rest = [
        *(_under(condition, entry) for entry in one[at:]),
        *(_under(negated, entry) for entry in other[at:]),
    ]
    return Content(then.kind, (*shared, *(entry for entry in rest if entry.present is not FALSE)))


def _merge_sequences(condition: Term, then: Content, otherwise: Content) -> SequenceV:
    index = next(each.held.index for each in (then, otherwise) if isinstance(each.held, SequenceV))
    return merge_sequences(condition, as_sequence(then, index), as_sequence(otherwise, index))


def merge_sequences(condition: Term, one: SequenceV, other: SequenceV) -> SequenceV:
    """The items of one where the condition holds, else those of the other."""
    index, other = one.index, other.at(one.index)
    size = ite(condition, count(one), count(other))
    if count(one) is const(0) or count(other) is const(0):
        # What is empty has no item to merge with.
        return SequenceV(size, index, other.item if count(one) is const(0) else one.item, TRUE)
    return SequenceV(size, index, merge(condition, one.item, other.item), TRUE)


def _merge_appended(condition: Term, then: Content, otherwise: Content) -> Appended | None:
    """What was appended on either path, where both began with the same list."""
    one, other = Appended.since(then), Appended.since(otherwise)
    if one.before is not other.before:
        return None
    shared = 0
    for mine, its in zip(one.items, other.items, strict=False):
        if mine is not its:
            break
        shared += 1
    items = list(one.items[:shared])
    for mine, its in zip_longest(one.items[shared:], other.items[shared:]):
        if its is None:
            items.append(_under(condition, mine))
        elif mine is None:
            items.append(_under(not_(condition), its))
        else:
            present = ite(condition, mine.present, its.present)
            items.append(ContainerItem(present, merge(condition, mine.value, its.value)))
    return Appended(one.before, tuple(items)) if len(items) <= MAX_ALTERNATIVES else None


def as_sequence(content: Content, index: Var) -> SequenceV:
    """What a container holds, by an index."""
    if isinstance(content.held, SequenceV):
        return solid(content.held).at(index)
    size: Term = const(0)
    options: list[tuple[Term, SymbolicValue]] = []
    for entry in content.held:
        item = entry.value if entry.key is None else TupleV((entry.key, entry.value))
        options.append((and_(entry.present, eq(index, size)), item))
        size = apply("add", size, ite(entry.present, const(1), const(0)))
    return SequenceV(size, index, choose(options) if options else UNBOUND, TRUE)


def solid(held: SequenceV) -> SequenceV:
    """The items that are kept, one after the other."""
    if held.keep is TRUE:
        return held
    if held.picked is None:
        unmodelled(
            "list.filtered",
            "how many items a filtered list of unknown length has can't be told",
            "Loop over it.",
        )
    return held.picked


def together(one: Content, other: Content) -> Content:
    """All that either of them holds."""
    index = next(
        (each.held.index for each in (one, other) if isinstance(each.held, SequenceV)), None
    )
    if index is None or other.held == ():
        return one if other.held == () else other if one.held == () else _both(one, other)
    return Content(one.kind, concatenated(as_sequence(one, index), as_sequence(other, index)))


def _both(one: Content, other: Content) -> Content:
    return Content(one.kind, (*one.entries, *other.entries))


def concatenated(one: SequenceV, other: SequenceV) -> SequenceV:
    """The items of both, one after the other."""
    if isinstance(other.item, Unbound):
        return one
    size = count(one)
    if isinstance(one.item, Unbound):
        return other.at(one.index)
    item = renamed(other.item, {other.index: apply("sub", one.index, size)})
    both = merge(apply("lt", one.index, size), one.item, item)
    return SequenceV(apply("add", size, count(other)), one.index, both, TRUE)


def _same_place(condition: Term, one: ContainerItem, other: ContainerItem) -> ContainerItem | None:
    if one is other:
        return one
    if one.present is not other.present:
        return None
    if one.key is not None:
        assert other.key is not None
        if _same(one.key, other.key):
            return ContainerItem(one.present, merge(condition, one.value, other.value), one.key)
        return None
    return one if _same(one.value, other.value) else None


def _same(one: SymbolicValue, other: SymbolicValue) -> bool:
    return one is other or (
        isinstance(one, Sym) and isinstance(other, Sym) and one.term is other.term
    )


def _all_present(entries: Sequence[ContainerItem]) -> bool:
    return all(entry.present is TRUE for entry in entries)


def _under(guard: Term, entry: ContainerItem) -> ContainerItem:
    return ContainerItem(and_(guard, entry.present), entry.value, entry.key)
