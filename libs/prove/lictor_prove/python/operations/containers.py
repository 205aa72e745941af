"""Lists, tuples, dicts, sets and strings as containers: what they hold, how long they are, and their terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from lictor_ir.terms import FALSE, TRUE, Const, Term, and_, apply, const, ite, not_, or_
from lictor_ir.types import ANY, BOOL, FLOAT, INT, NONE, STR, ListOf, MapOf, SetOf, TupleOf
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import merge, union
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    ContainerItem,
    OnceV,
    Opaque,
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
from lictor_prove.python.refusals import MAX_ITERATIONS, Raises, refuse

# -- length and membership -------------------------------------------------------------------------


def length(machine: Machine, value: SymbolicValue) -> Term:
    """`len(value)`."""
    match value:
        case Sym() if value.type == STR or isinstance(value.type, ListOf | SetOf | MapOf):
            return apply("len", value.term)
        case Sym() if isinstance(value.type, TupleOf):
            return const(len(value.type.items))
        case TupleV(items):
            return const(len(items))
        case Ref():
            return count_of(entry.present for entry in entries(machine, value))
        case RangeV(held):
            return const(len(held))
        case SequenceV() if value.reusable:
            if value.keep is TRUE:
                return rounds(value.over)
            refuse(
                "length.filtered",
                "how many items a filtered list of unknown length has can't be told",
                "Ask for the length of the list before it is filtered.",
            )
        case Sym() if value.type == ANY:
            _opaque(value)
        case Opaque() | OnceV() | SequenceV():
            _opaque(value)
        case _:
            raise Raises("TypeError", f"{described(value)} has no len()")


def _opaque(value: SymbolicValue) -> NoReturn:
    refuse(
        "value.opaque",
        f"{described(value)} can't be looked into",
        "Use it where it stands, in `for` or `list(…)`.",
    )


def rounds(over: Term) -> Term:
    """How often a loop over this list, or up to this count, runs."""
    if over.type == INT:
        return ite(apply("lt", over, const(0)), const(0), over)
    return apply("len", over)


def contains(machine: Machine, container: SymbolicValue, item: SymbolicValue) -> Term:
    """`item in container`."""
    match container:
        case Sym() if container.type == STR:
            if isinstance(item, Sym) and item.type == STR:
                return apply("contains", container.term, item.term)
            raise Raises("TypeError", f"{described(item)} is looked for in a string")
        case Sym(term) if isinstance(container.type, ListOf | SetOf | MapOf):
            inner = container.type.key if isinstance(container.type, MapOf) else container.type.item
            asked = term_of(machine, item)
            nan = FLOAT in (asked.type, inner) or ANY in (asked.type, inner)
            if nan and not (isinstance(asked, Const) and asked.value == asked.value):
                refuse(
                    "float.identity",
                    "a float that may be NaN is looked for in a container",
                    "Compare floats one by one.",
                )
            return apply("in", asked, term)
        case TupleV(items):
            return or_(*(same(machine, item, other) for other in items))
        case Ref():
            keyed = machine.content(container).kind
            if keyed != "list":
                hashable(machine, item)
            return _among(machine, item, entries(machine, container), keys=keyed == "dict")
        case OnceV(items, watched):
            unchanged(machine, watched)
            return _among(machine, item, items, keys=False)
        case RangeV(held):
            return _in_range(held, item)
        case SequenceV():
            refuse(
                "in.sequence",
                "membership in a list of unknown length that the program made is not supported",
                "Ask the list that the trusted call returned, or loop over it.",
            )
        case Sym() if container.type == ANY:
            refuse("value.opaque", f"{described(container)} can't be looked into", "Pass it on.")
        case Opaque():
            refuse("value.opaque", f"{described(container)} can't be looked into", "Pass it on.")
        case _:
            raise Raises("TypeError", f"{described(container)} is no container")


def _among(
    machine: Machine, item: SymbolicValue, held: Sequence[ContainerItem], *, keys: bool
) -> Term:
    found: list[Term] = []
    for entry in held:
        other = entry.key if keys else entry.value
        assert other is not None
        found.append(and_(entry.present, same(machine, item, other)))
    return or_(*found)


def _in_range(held: range, item: SymbolicValue) -> Term:
    if is_known(item):
        number = known_scalar(item)
        if isinstance(number, float):
            # Python goes through the whole range, and comes to the same.
            return const(number.is_integer() and int(number) in held)
        return const(isinstance(number, int) and number in held)
    if isinstance(item, Sym) and item.type in (INT, BOOL) and held.step == 1:
        number = apply("int_of_bool", item.term) if item.type == BOOL else item.term
        return and_(apply("le", const(held.start), number), apply("lt", number, const(held.stop)))
    refuse(
        "in.range",
        "membership in this range is not supported",
        "Compare with the bounds: `low <= x < high`.",
    )


def hashable(machine: Machine, value: SymbolicValue) -> None:
    """Keys of dicts and items of sets must not change."""
    for _, one in machine.cases(value):
        match one:
            case Ref():
                raise Raises("TypeError", "a list, dict or set can't be hashed")
            case Sym() if isinstance(one.type, ListOf | SetOf | MapOf):
                raise Raises("TypeError", "a list, dict or set can't be hashed")
            case TupleV(items):
                for item in items:
                    hashable(machine, item)
            case Sym():
                pass
            case _:
                refuse(
                    "container.key",
                    f"{described(one)} as a key or an item of a set is outside the subset",
                    "Use numbers, strings, None or tuples of them.",
                )


# -- making new ones out of old ones ---------------------------------------------------------------


def combined(machine: Machine, op: str, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    """`+` of lists and tuples, `|`, `&`, `-`, `^` of sets, `|` of dicts."""
    match op, left, right:
        case "+", TupleV(), TupleV():
            return TupleV((*left.items, *right.items))
        case _, Ref(), Ref():
            one, other = machine.content(left).kind, machine.content(right).kind
            if (op, one, other) == ("+", "list", "list"):
                return machine.make(
                    "list", bounded((*entries(machine, left), *entries(machine, right)))
                )
            if one == other == "set" and op in ("|", "&", "-", "^"):
                return machine.make("set", set_operation(machine, op, left, right))
            if (op, one, other) == ("|", "dict", "dict"):
                made = machine.make("dict", entries(machine, left))
                for entry in entries(machine, right):
                    assert entry.key is not None
                    put(machine, made, entry.key, entry.value, entry.present)
                return made
        case _:
            for operand in (left, right):
                if isinstance(operand, SequenceV) or (
                    isinstance(operand, Sym) and isinstance(operand.type, ListOf | SetOf | MapOf)
                ):
                    refuse(
                        "list.symbolic",
                        f"`{op}` with a list of unknown length is not supported",
                        "Loop over each list in turn.",
                    )
    raise Raises("TypeError", f"{described(left)} {op} {described(right)} is not defined")


def bounded(held: Sequence[ContainerItem]) -> Sequence[ContainerItem]:
    """The entries, unless there are too many."""
    if len(held) > MAX_ITERATIONS:
        refuse(
            "limits.items",
            f"a container here has more than {MAX_ITERATIONS} items",
            "Make it smaller.",
        )
    return held


def repeated(machine: Machine, value: SymbolicValue, times: int) -> SymbolicValue:
    """A list or tuple, so many times."""
    if isinstance(value, TupleV):
        if len(value.items) * times > MAX_ITERATIONS:
            bounded([ContainerItem(TRUE, NONE_VALUE)] * (MAX_ITERATIONS + 1))
        return TupleV(value.items * times)
    if isinstance(value, Ref) and machine.content(value).kind == "list":
        held = entries(machine, value)
        if len(held) * times > MAX_ITERATIONS:
            bounded([ContainerItem(TRUE, NONE_VALUE)] * (MAX_ITERATIONS + 1))
        return machine.make("list", held * times)
    if isinstance(value, SequenceV | Opaque) or (
        isinstance(value, Sym) and (isinstance(value.type, ListOf | TupleOf) or value.type == ANY)
    ):
        refuse("list.symbolic", f"{described(value)} can't be repeated", "Loop over it.")
    raise Raises("TypeError", f"{described(value)} can't be multiplied")


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
                    and_(entry.present, _among(machine, entry.value, other, keys=False)),
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
        case _:
            return False


def _unless(machine: Machine, entry: ContainerItem, held: Sequence[ContainerItem]) -> ContainerItem:
    return ContainerItem(
        and_(entry.present, not_(_among(machine, entry.value, held, keys=False))), entry.value
    )


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
    there = _among(machine, item, held, keys=False)
    machine.replace(ref, bounded((*held, ContainerItem(and_(present, not_(there)), item))))


def union_of(options: Sequence[tuple[Term, SymbolicValue]]) -> SymbolicValue:
    """One of these by guards that exclude each other."""
    return options[0][1] if len(options) == 1 else union(options)


def known_text(value: SymbolicValue) -> str | None:
    """The text of a known string."""
    held = known_scalar(value) if is_known(value) else None
    return held if isinstance(held, str) else None
