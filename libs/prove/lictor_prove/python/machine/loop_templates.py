"""Templates: what a value was in some round of a loop, nobody knows which, or any value of its type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

from lictor_ir.document import Binder
from lictor_ir.terms import (
    App,
    Const,
    Result,
    Term,
    Var,
    const,
    postorder,
    rebuild,
    substitute,
    var,
)
from lictor_ir.types import BOOL, INT, STR
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    Composite,
    Content,
    Hole,
    InstanceRef,
    ObjectHole,
    ObjectV,
    Poison,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    Unbound,
    UnionV,
    alternatives,
    count,
    is_none,
    renamed,
)
from lictor_prove.python.machine.unknown_values import unknown, within

SLOT: Final = var("?", INT)
"""Stands in a template for the index of some round; no name of a program is spelled so."""
MAX_TEMPLATES: Final = 6
MAX_LEAVES: Final = 12


class NoSummary(Exception):
    """What a loop leaves there can't be told by any template."""


@dataclass(frozen=True, slots=True)
class Template:
    """What a value was in some round."""

    value: SymbolicValue
    bound: Term | None = None
    """How many indices there are, where `SLOT` stands in it."""

    @property
    def key(self) -> object:
        """Equal for templates that say the same."""
        return _key(self.value), self.bound

    @property
    def opened(self) -> Template:
        """The same with any values of their types for what may be another one in each round."""
        value = _opened(self.value)
        return Template(value, self.bound if has_slot(value) else None)


def has_slot(value: SymbolicValue) -> bool:
    return any(SLOT in postorder(term) for term in terms_of(value))


def _key(value: SymbolicValue) -> object:
    match value:
        case Sym(term):
            return term
        case ObjectV(kind, term):
            return kind, term
        case Hole(type_):
            return "any", type_
        case ObjectHole(kind):
            return "any object", kind
        case Composite(items):
            return value.shape, tuple(map(_key, items))
        case Ref(id_) | InstanceRef(id_):
            return "object", id_
        case Unbound():
            return "unbound"
        case _:
            return "same", id(value)


def is_item(term: Term) -> bool:
    """Whether it is something that a call returned, or an item or column of it: such terms do not grow."""
    while isinstance(term, App) and term.op in ("at", "column"):
        term = term.args[0]
    return isinstance(term, Result | Const) and term.type != BOOL


def _opened(value: SymbolicValue) -> SymbolicValue:
    match value:
        case Sym(term):
            return value if is_item(term) and not isinstance(term, Const) else Hole(term.type)
        case ObjectV(kind):
            return ObjectHole(kind)
        case Composite(items):
            return value.of(map(_opened, items))
        case _:
            return value


def filled_template(
    machine: Machine,
    template: Template,
    labels: Iterable[str],
    why: str,
    each: tuple[Binder, ...],
) -> SymbolicValue:
    value = template.value
    if template.bound is not None:
        place = unknown(machine, INT, why, (template.bound,), labels=labels, each=each).term
        value = renamed(value, {SLOT: within(place, template.bound)})
    return _without_holes(machine, value, labels, why, each)


def _without_holes(
    machine: Machine,
    value: SymbolicValue,
    labels: Iterable[str],
    why: str,
    each: tuple[Binder, ...],
) -> SymbolicValue:
    match value:
        case Hole(type_):
            return unknown(machine, type_, why, (), labels=labels, each=each)
        case ObjectHole(kind):
            return ObjectV(kind, unknown(machine, STR, why, (), labels=labels, each=each).term)
        case Composite(items):
            return value.of(_without_holes(machine, item, labels, why, each) for item in items)
        case _:
            return value


def varies(term: Term, indices: Mapping[Term, Term]) -> bool:
    """Whether it is another one for other indices."""
    return any(part in indices for part in postorder(term))


def places_of(term: Term, bounds: Mapping[Term, Term]) -> set[Term]:
    """By what index it is an item of something: one of these, or an unknown one."""
    found: set[Term] = set()
    # Terms share their parts: whoever looks at one twice looks at it for ever.
    seen: set[Term] = set()
    todo = [term]
    while todo:
        part = todo.pop()
        if part in seen:
            continue
        seen.add(part)
        if part in bounds or (bound_of(part) is not None and varies(part, bounds)):
            found.add(part)
        elif isinstance(part, App):
            todo.extend(part.args)
    return found


def elements_of(content: Content) -> list[tuple[SymbolicValue, Var | None, Term]]:
    """What it holds; with its index, and how many there are, where that is not known."""
    held = content.held
    if isinstance(held, SequenceV):
        return [] if isinstance(held.item, Unbound) else [(held.item, held.index, count(held))]
    return [
        (entry.value if entry.key is None else TupleV((entry.key, entry.value)), None, const(1))
        for entry in held
    ]


def plain_values(value: SymbolicValue) -> list[SymbolicValue]:
    """What a value may be, without `if` at its top."""
    match value:
        case Sym(term):
            return [Sym(leaf) for leaf in leaves_of(term)]
        case Composite(items):
            options = product(*([one for _, one in alternatives(item)] for item in items))
            chosen = list(islice(options, MAX_LEAVES + 1))
            if len(chosen) > MAX_LEAVES:
                return _values_by_type(value)
            found: list[SymbolicValue] = []
            for each in chosen:
                plain = _plain_items(each)
                found += map(value.of, plain) if plain else _whole(value.of(each))
            if len(found) > MAX_LEAVES:
                return [whole for each in chosen for whole in _whole(value.of(each))]
            return found
        case Poison() | UnionV():
            raise NoSummary
        case _:
            return [value]


def _whole(value: Composite) -> list[SymbolicValue]:
    """The value as it is: what stands in it depends on more conditions than are told apart."""
    if any(isinstance(item, Composite) for item in value.items):
        return _values_by_type(value)
    return [value]


def _plain_items(items: tuple[SymbolicValue, ...]) -> list[tuple[SymbolicValue, ...]]:
    """The items without `if` at the top of one; what one condition decides it decides for all items.

    None where there are too many.
    """
    found: list[tuple[SymbolicValue, ...]] = []
    todo = [items]
    while todo:
        some = todo.pop()
        conditions = [condition for item in some if (condition := _condition(item)) is not None]
        if conditions:
            for taken in (1, 2):
                todo.append(tuple(_branch(item, conditions[0], taken) for item in some))
        elif any(isinstance(item, Composite) for item in some):
            nested = product(
                *(plain_values(item) if isinstance(item, Composite) else [item] for item in some)
            )
            found += islice(nested, MAX_LEAVES + 1)
        else:
            found.append(some)
        if len(found) + len(todo) > MAX_LEAVES:
            return []
    return found


def _values_by_type(value: SymbolicValue) -> list[SymbolicValue]:
    """Any value of each type that it may have."""
    found: dict[object, SymbolicValue] = {}
    for _, one in alternatives(value):
        if isinstance(one, Composite):
            parts = product(*map(_values_by_type, one.items))
            held: list[SymbolicValue] = [one.of(each) for each in islice(parts, MAX_LEAVES + 1)]
        else:
            held = [_any_of_type(one, constants=True)]
        found.update((_key(each), each) for each in held)
    if len(found) > MAX_LEAVES or any(isinstance(each, Poison | UnionV) for each in found.values()):
        raise NoSummary
    return list(found.values())


def _condition(value: SymbolicValue) -> Term | None:
    if isinstance(value, Sym) and isinstance(value.term, App) and value.term.op == "ite":
        return None if bound_of(value.term) is not None else value.term.args[0]
    return None


def _branch(value: SymbolicValue, condition: Term, taken: int) -> SymbolicValue:
    while isinstance(value, Sym) and _condition(value) is condition:
        assert isinstance(value.term, App)
        value = Sym(value.term.args[taken])
    return value


def leaves_of(term: Term) -> list[Term]:
    found: dict[Term, None] = {}
    todo = [term]
    while todo:
        part = todo.pop()
        if isinstance(part, App) and part.op == "ite" and bound_of(part) is None:
            todo.extend(part.args[1:])
        else:
            found[part] = None
        if len(found) + len(todo) > MAX_LEAVES:
            return [term]
    return list(found)


def bound_of(term: Term) -> Term | None:
    """The length, where the term is an unknown index `within` it."""
    match term:
        case App(
            op="ite",
            args=(App(op="le"), App(op="ite", args=(App(op="lt", args=(place, bound)), *_)), _),
        ):
            if isinstance(place, Result) and term is within(place, bound):
                return bound
        case _:
            pass
    return None


def terms_of(value: SymbolicValue) -> list[Term]:
    match value:
        case Sym(term) | ObjectV(term=term):
            return [term]
        case Composite(items):
            return [term for item in items for term in terms_of(item)]
        case _:
            return []


def with_slot(value: SymbolicValue, place: Term) -> SymbolicValue:
    """The value with the slot for that index."""
    match value:
        case Sym(term):
            if isinstance(place, Var):
                return Sym(substitute(term, {place: SLOT}))
            return Sym(rebuild(term, lambda part: SLOT if part is place else None))
        case Composite(items):
            return value.of(with_slot(item, place) for item in items)
        case _:
            return value


def widened(templates: Iterable[Template]) -> tuple[Template, ...]:
    """Fewer templates that say no less: any value of a type is instead of all of that type."""
    found = {each.key: each for each in templates}
    for constants in (False, True):
        if len(found) > MAX_TEMPLATES:
            wide = [
                Template(_any_of_type(each.value, constants=constants)) for each in found.values()
            ]
            found = {each.key: each for each in wide}
    kept = [
        each
        for each in found.values()
        if not any(other is not each and _covers(other, each) for other in found.values())
    ]
    if len(kept) > MAX_TEMPLATES:
        raise NoSummary
    return tuple(kept)


def _any_of_type(value: SymbolicValue, *, constants: bool) -> SymbolicValue:
    """Any value of its type; of a constant only where `constants` says so."""
    match value:
        case Sym(Const()) if not constants or is_none(value):
            return value
        case Sym(term):
            return Hole(term.type)
        case Composite(items):
            return value.of(_any_of_type(item, constants=constants) for item in items)
        case _:
            return value


def _covers(one: Template, other: Template) -> bool:
    """Whether a template says any value where the other one says a certain one of that type."""
    is_alike = one.bound == other.bound or one.bound is None
    return _includes(one.value, other.value, is_alike=is_alike)


def _includes(one: SymbolicValue, other: SymbolicValue, *, is_alike: bool) -> bool:
    """`is_alike`: whether a slot stands for the same indices in both."""
    match one, other:
        case Hole(type_), Sym() | Hole():
            return other.type == type_
        case ObjectHole(), ObjectHole():
            return one.kind == other.kind
        case Composite(items), Composite(others):
            return (
                type(one) is type(other)
                and one.shape == other.shape
                and all(
                    _includes(mine, its, is_alike=is_alike)
                    for mine, its in zip(items, others, strict=True)
                )
            )
        case Sym(), Sym():
            return is_alike and one.term is other.term
        case _:
            return False


def absorbs(templates: Sequence[Template], initial: SymbolicValue) -> bool:
    """Whether what was there before is among the values that a single template stands for."""
    return (
        len(templates) == 1
        and isinstance(templates[0].value, Hole)
        and isinstance(initial, Sym)
        and initial.type == templates[0].value.type
    )


def has_hole(value: SymbolicValue) -> bool:
    return isinstance(value, Hole | ObjectHole) or (
        isinstance(value, Composite) and any(map(has_hole, value.items))
    )
