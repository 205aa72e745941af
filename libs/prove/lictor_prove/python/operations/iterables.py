"""What a loop runs over: known items, one after the other, or a list whose length nobody knows yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lictor_ir.terms import TRUE, Term, and_, apply, const, not_, substitute
from lictor_ir.types import ListOf
from lictor_prove.python.kinds import (
    KEYED,
    SETS,
    VIEWS,
    Kind,
    by_kind,
    entry_of,
)
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import choose
from lictor_prove.python.machine.symbolic_values import (
    ContainerItem,
    Content,
    ObjectV,
    OnceV,
    RangeV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    Unbound,
    alternatives,
    described,
    is_known,
    known,
    known_scalar,
    renamed,
)
from lictor_prove.python.operations import container_contents
from lictor_prove.python.refusals import MAX_ITERATIONS, Raises, refuse, unmodelled


@dataclass(frozen=True, slots=True)
class KnownItems:
    """These items; an entry that may be missing is a round that may not happen."""

    entries: tuple[ContainerItem, ...]
    watched: tuple[tuple[int, Content], ...] = ()
    """Objects that must not change while the loop runs."""


@dataclass(frozen=True, slots=True)
class UnknownItems:
    """An item for each index of a list, or below a count, where the condition holds."""

    over: Term
    item: Callable[[Term], tuple[SymbolicValue, Term]]
    watched: tuple[tuple[int, Content], ...] = ()
    """Objects that must not change while the loop runs."""


IterationPlan = KnownItems | UnknownItems


def plans(machine: Machine, value: SymbolicValue) -> list[tuple[Term, IterationPlan]]:
    """How to iterate over whatever the value is; where it can't be, an obligation that this does not happen."""
    cases = machine.cases(value)
    if len(cases) == 1:
        return [(cases[0][0], plan(machine, cases[0][1]))]
    found: list[tuple[Term, IterationPlan]] = []
    for guard, one in cases:
        try:
            found.append((guard, plan(machine, one)))
        except Raises as problem:
            machine.require(not_(guard), f"no {problem.error}: {problem.message}")
    if not found:
        raise Raises("TypeError", f"{described(value)} can't be looped over")
    return found


def plan(machine: Machine, value: SymbolicValue) -> IterationPlan:
    """How to iterate over the value."""
    return entry_of(machine, PLANS, "iteration", value)(machine, value)


def _held(machine: Machine, value: SymbolicValue) -> IterationPlan:
    match value:
        case TupleV(items):
            return KnownItems(tuple(ContainerItem(TRUE, item) for item in items))
        case Ref():
            return _object(machine, value)
        case OnceV(items, watched):
            # A view of a dict, or an iterator over a list, shows what they hold when it is used.
            unchanged(machine, watched)
            return KnownItems(items, watched)
        case RangeV(held):
            if len(held) > MAX_ITERATIONS:
                refuse(
                    "limits.iterations",
                    f"the range has {len(held)} numbers; loops are unrolled up to {MAX_ITERATIONS}",
                    "Loop over fewer, or over a list that a trusted call returns.",
                )
            return KnownItems(tuple(ContainerItem(TRUE, known(number)) for number in held))
        case SequenceV():
            unchanged(machine, value.watched)
            return _several(value, "list", value.watched)
        case Sym(term) if isinstance(value.type, ListOf):
            return UnknownItems(term, lambda index: (Sym(apply("at", term, index)), TRUE))
        case _:
            refuse(
                "loop.iterable",
                f"looping over {described(value)} is not supported",
                "Loop over a list that a trusted call returns.",
            )


def _several(
    held: SequenceV, kind: str, watched: tuple[tuple[int, Content], ...] = ()
) -> IterationPlan:
    if isinstance(held.item, Unbound):
        return KnownItems((), watched)

    def item(index: Term) -> tuple[SymbolicValue, Term]:
        names: dict[Term, Term] = {held.index: index}
        value = renamed(held.item, names)
        if kind in KEYED:
            keys = [
                (guard, one.items[0])
                for guard, one in alternatives(value)
                if isinstance(one, TupleV)
            ]
            value = choose(keys)
        return value, substitute(held.keep, names)

    return UnknownItems(held.over, item, watched)


def _characters(_: Machine, value: SymbolicValue) -> IterationPlan:
    text = known_scalar(value) if is_known(value) else None
    if not isinstance(text, str):
        assert isinstance(value, Sym)
        term = value.term
        return UnknownItems(
            apply("len", term),
            lambda index: (Sym(apply("substring", term, index, const(1))), TRUE),
        )
    if len(text) > MAX_ITERATIONS:
        refuse("limits.iterations", "the string is too long to loop over", "Shorten it.")
    return KnownItems(tuple(ContainerItem(TRUE, known(char)) for char in text))


def _json(machine: Machine, value: SymbolicValue) -> IterationPlan:
    from lictor_prove.python.library.unknown_members import items_of

    assert isinstance(value, ObjectV)
    return _several(items_of(machine, value), "list")


PLANS: Final[dict[Kind, Callable[[Machine, SymbolicValue], IterationPlan]]] = by_kind(
    {
        (Kind.TUPLE, Kind.LIST, *KEYED, *SETS, Kind.RANGE, *VIEWS, Kind.ITERATOR): _held,
        Kind.STR: _characters,
        Kind.JSON: _json,
    }
)


def _object(machine: Machine, ref: Ref) -> IterationPlan:
    content = machine.content(ref)
    if isinstance(content.held, SequenceV):
        return _several(content.held, content.kind, ((ref.id, machine.stored(ref)),))
    held = container_contents.entries(machine, ref)
    if content.kind in SETS and len(held) > 1:
        refuse(
            "loop.set",
            "the order of a set is not defined, so neither is the order of effects",
            "Loop over a list, or over sorted(…).",
        )
    if content.is_dict:
        held = tuple(ContainerItem(e.present, e.key) for e in held if e.key is not None)
    return KnownItems(held, ((ref.id, content),))


def known_items(
    machine: Machine, value: SymbolicValue, who: str
) -> list[tuple[Term, tuple[SymbolicValue, ...]]]:
    """The items of something whose length is known on each path."""
    found: list[tuple[Term, tuple[SymbolicValue, ...]]] = []
    for guard, how in plans(machine, value):
        if isinstance(how, UnknownItems):
            unmodelled(
                "list.symbolic",
                f"{who} of a list of unknown length is not supported",
                "Loop over it with `for`, or let the trusted function do it.",
            )
        for inner, held in container_contents.configurations(machine, Content("list", how.entries)):
            found.append((and_(guard, inner), tuple(entry.value for entry in held)))
    return found


def unchanged(machine: Machine, watched: tuple[tuple[int, Content], ...]) -> None:
    """Refuse a loop that changes what it runs over."""
    for key, content in watched:
        if machine.store.get(key) is not content:
            refuse(
                "loop.mutation",
                "the loop changes what it runs over",
                "Loop over a copy: `for x in list(xs)`.",
            )


def not_of(machine: Machine, owner: Ref, value: SymbolicValue) -> None:
    """Refuse to change a container by an iterator over it: Python reads on in what was added meanwhile."""
    for _, one in machine.cases(value):
        if isinstance(one, OnceV | SequenceV) and any(key == owner.id for key, _ in one.watched):
            refuse(
                "loop.mutation",
                "the container is changed while an iterator over it is read",
                "Make a list of the iterator first: list(…).",
            )
