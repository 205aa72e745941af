"""What rounds of a loop that runs an unknown number of times leave for the next one, and for what comes after.

A name or a container is left with one of a few values. Each is kept as a template: what it is in some round, nobody
knows which. `best = o` leaves an item of the list at an unknown index, so it is still known to come from there. What
was computed from earlier rounds (a sum, a text that grows) becomes an unknown of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from types import MappingProxyType
from typing import Any, Final

from lictor_ir.document import Binder, Fact, FactKind
from lictor_ir.provenance import made_of
from lictor_ir.terms import (
    TRUE,
    App,
    Const,
    Result,
    Term,
    Var,
    apply,
    const,
    eq,
    ite,
    postorder,
    rebuild,
    results,
    substitute,
    var,
)
from lictor_ir.types import BOOL, INT, STR
from lictor_prove.python.machine.control_paths import Key
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import (
    as_sequence,
    choose,
    concatenated,
    merge,
    solid,
    union,
)
from lictor_prove.python.machine.symbolic_values import (
    KEYED,
    BuiltinV,
    Composite,
    Content,
    DataClass,
    FunctionV,
    Hole,
    InstanceRef,
    MethodV,
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
from lictor_prove.python.machine.unknown_values import flows, is_made, unknown, within
from lictor_prove.python.refusals import refuse

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
        return Template(value, self.bound if _has_slot(value) else None)


def _has_slot(value: SymbolicValue) -> bool:
    return any(SLOT in postorder(term) for term in _terms(value))


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


@dataclass(frozen=True, slots=True)
class Growth:
    """How an int changes from round to round."""

    step: Term | None = None
    """By which every round makes it larger, or smaller; None when it only never gets smaller."""
    is_refuted: bool = False
    """It was taken for one that grows so, and does not."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a loop leaves in one place: after any round one of these, before the first what was there."""

    initial: SymbolicValue | Content
    left: tuple[Template, ...]
    labels: frozenset[str]
    name: str
    line: int
    is_told: bool = True
    """False when no template says what is left: then nobody may read it."""
    is_last: bool = False
    """Whether every round leaves it: then it is that of the last one."""
    growth: Growth | None = None

    @property
    def key(self) -> object:
        """Equal for summaries that say the same."""
        grown = None if self.growth is None else (self.growth.step, self.growth.is_refuted)
        return (
            frozenset(each.key for each in self.left),
            self.labels,
            self.is_told,
            self.is_last,
            grown,
        )

    def widened(self, before: Summary | None) -> Summary:
        """The same, with any value of its type for what was not left before."""
        known = set[object]() if before is None else {each.key for each in before.left}
        left = [
            each
            if each.key in known or (isinstance(each.value, Sym) and _is_item(each.value.term))
            else each.opened
            for each in self.left
        ]
        return replace(self, left=_widened(left), is_last=self.is_last and tuple(left) == self.left)


def _is_item(term: Term) -> bool:
    """Whether it is something that a call returned, or an item or column of it: such terms do not grow."""
    while isinstance(term, App) and term.op in ("at", "column"):
        term = term.args[0]
    return isinstance(term, Result | Const) and term.type != BOOL


def _opened(value: SymbolicValue) -> SymbolicValue:
    match value:
        case Sym(term):
            return value if _is_item(term) and not isinstance(term, Const) else Hole(term.type)
        case ObjectV(kind):
            return ObjectHole(kind)
        case Composite(items):
            return value.of(map(_opened, items))
        case _:
            return value


@dataclass(slots=True)
class LoopState:
    """What is carried by one loop, as far as it is known."""

    index: Var
    rounds: Term
    """How many rounds there are; nothing in it depends on one of them."""
    keeps_all: bool
    line: int
    base: int
    """Frames with higher numbers are made in the loop."""
    machine: Machine
    summaries: dict[Key, Summary] = field(default_factory=dict[Key, Summary])
    pools: dict[str, Ref] = field(default_factory=dict[str, Ref])
    """By where it is made, the object that stands for all that rounds make there and leave; of instances, by field."""
    instances: dict[DataClass, InstanceRef] = field(default_factory=dict[DataClass, InstanceRef])
    """The instance that stands for all of its class that rounds make and leave."""
    started: Mapping[Key, SymbolicValue | Content] = field(default_factory=dict[Key, Any])
    """What was there when the last round began."""
    made: Mapping[Key, SymbolicValue | Content] = field(default_factory=dict[Key, Any])
    """What the last round made."""
    followed: dict[Key, Sym] = field(default_factory=dict[Key, Sym])
    """Names that hold a value that is known from the round before: the unknown that each round begins with."""
    going: Term = TRUE
    """What is known when a round begins after which the loop goes on."""
    supposed: Term = TRUE
    """Of that, what would have left the loop otherwise."""
    escaped: dict[Key, str] = field(default_factory=dict[Key, str])
    """The objects that it made and left somewhere, by where they are made; of instances, each field."""

    # -- from values to templates ------------------------------------------------------------------

    def summary(
        self,
        key: Key,
        initial: SymbolicValue | Content,
        left: Sequence[SymbolicValue | Content],
        labels: Iterable[str],
    ) -> Summary:
        """What the loop leaves there; in an object that stands for many, in each of them."""
        machine = self.machine
        found = set(labels)
        for value in (initial, *left):
            found.update(made_of(_flowing(machine, value), machine.inputs, machine.unknowns))
        name = key[1] if isinstance(key, tuple) else "a container"
        try:
            templates = self._left_templates(initial, left)
        except NoSummary:
            return Summary(initial, (), frozenset(found), name, self.line, is_told=False)
        is_last = (
            isinstance(left[0], SymbolicValue) and len(templates) == 1 and self.is_last(left[0])
        )
        growth = self._growth(key, initial, left[0])
        if growth is not None:
            templates, is_last = (Template(Hole(INT)),), False
        return Summary(
            initial, templates, frozenset(found), name, self.line, is_last=is_last, growth=growth
        )

    def _growth(
        self, key: Key, initial: SymbolicValue | Content, left: SymbolicValue | Content
    ) -> Growth | None:
        """How an int changes, as a round shows it that began with any value."""
        before = self.summaries.get(key)
        start = self.started.get(key)
        supposed = None if before is None else before.growth
        if not _are_ints(initial, start, left):
            return None if supposed is None else Growth(is_refuted=True)
        assert isinstance(start, Sym)
        assert isinstance(left, Sym)
        if supposed is not None and supposed.is_refuted:
            return supposed
        if supposed is not None and supposed.step is not None:
            is_kept = left.term is apply("add", start.term, supposed.step)
            return supposed if is_kept else Growth(is_refuted=True)
        if supposed is None and not isinstance(start.term, Result):
            return None
        steps = _steps(start.term, left.term)
        if steps is None:
            return None if supposed is None else Growth(is_refuted=True)
        indices: Mapping[Term, Term] = {self.index: self.rounds}
        if supposed is None and len(steps) == 1 and self.keeps_all:
            (step,) = steps
            if not _varies(step, indices):
                return Growth(step)
        if all(map(_is_natural, steps)):
            return Growth()
        return None if supposed is None else Growth(is_refuted=True)

    def _left_templates(
        self, initial: SymbolicValue | Content, left: Sequence[SymbolicValue | Content]
    ) -> tuple[Template, ...]:
        found: list[Template] = []
        for held in (*((initial,) if isinstance(initial, Content) else ()), *left):
            if not isinstance(held, Content):
                found += self._templates(held, {self.index: self.rounds})
                continue
            for value, index, size in _elements(held):
                bounds: dict[Term, Term] = {self.index: self.rounds}
                if index is not None:
                    bounds[index] = size
                found += self._templates(value, bounds)
        return _widened(found)

    def _templates(self, value: SymbolicValue, bounds: Mapping[Term, Term]) -> list[Template]:
        """Every template that the value may be one of; `bounds`: how far the indices go that stand in it."""
        return [
            self._template(plain, bounds)
            for _, option in alternatives(value)
            for plain in _plain_values(option)
        ]

    def _template(self, value: SymbolicValue, bounds: Mapping[Term, Term]) -> Template:
        """The value with the index of its round made free; parts that rest on other rounds are any value."""
        places = {place for term in _terms(value) for place in _places(term, bounds)}
        if len(places) == 1:
            (place,) = places
            bound = bounds.get(place) or bound_of(place)
            if bound is not None and not _varies(bound, bounds):
                slotted = self._emptied(_replaced(value, place), bounds)
                return Template(slotted, bound if _has_slot(slotted) else None)
        return Template(self._emptied(value, bounds))

    def _emptied(self, value: SymbolicValue, bounds: Mapping[Term, Term]) -> SymbolicValue:
        match value:
            case Sym(term):
                varies = _varies(term, bounds) or any(
                    SLOT in each.indices for each in results(term)
                )
                return Hole(term.type) if varies else value
            case ObjectV(kind):
                # Of an object nothing is known but what it is made of.
                return ObjectHole(kind)
            case Composite(items):
                return value.of(self._emptied(item, bounds) for item in items)
            case Ref(id_):
                return value if self.machine.store.get(id_) is not None else self._pool(id_)
            case InstanceRef():
                return self._instance(value)
            case MethodV(owner) if not self._stays(owner, bounds):
                # Its owner is gone with the round.
                raise NoSummary
            case _:
                return value

    def _pool(self, id_: int) -> Ref:
        """The object that stands for one that a round made."""
        content = self.made.get(id_)
        if not isinstance(content, Content):
            raise NoSummary
        factory = self.machine.factories.get(id_)
        site = self.machine.sites[id_]
        if factory is not None:
            site += self._made_by(factory)
        self.escaped[id_] = site
        return self._all(content.kind, site, factory)

    def _all(self, kind: str, what: str, factory: SymbolicValue | None = None) -> Ref:
        """The object that holds all of those."""
        if what not in self.pools:
            machine = self.machine
            ref = self.pools[what] = machine.make(kind, (), factory=factory)
            machine.sites[ref.id] = what
            machine.pools[ref.id] = lambda held: _one_of_many(machine, held)
        return self.pools[what]

    def _made_by(self, factory: SymbolicValue) -> str:
        """What defaultdicts with this factory are together."""
        match factory:
            case BuiltinV(name):
                return f" of {name}"
            case FunctionV(node, frame) if frame <= self.base:
                return f" of {id(node)} {frame}"
            case _:
                # It may read what a round made.
                raise NoSummary

    def _instance(self, ref: InstanceRef) -> InstanceRef:
        """The instance itself where it was there before, else the one that stands for all that rounds made."""
        machine, made = self.machine, ref.made
        held = self._held_by(ref)
        if all(machine.store.get(key) is not None for key in held):
            return ref
        for key, each in zip(held, made.fields, strict=True):
            if key not in self.made:
                raise NoSummary
            self.escaped[key] = f"{made.name}.{each.name}"
        if made not in self.instances:
            pool = self.instances[made] = InstanceRef(machine.fresh_id(), made)
            machine.bags[pool.id] = {
                each.name: self._all("list", f"{made.name}.{each.name}") for each in made.fields
            }
        return self.instances[made]

    def _held_by(self, ref: InstanceRef) -> list[Key]:
        """Where its fields are in the store."""
        bags = self.machine.bags.get(ref.id)
        return list(ref.keys if bags is None else (bags[each.name].id for each in ref.keys))

    def _stays(self, value: SymbolicValue, bounds: Mapping[Term, Term]) -> bool:
        """Whether it is the same in every round."""
        store = self.machine.store
        match value:
            case Ref(id_):
                return store.get(id_) is not None
            case InstanceRef():
                return all(store.get(key) is not None for key in self._held_by(value))
            case Composite(items):
                return all(self._stays(item, bounds) for item in items)
            case UnionV(options):
                return all(
                    self._stays(one, bounds) and not _varies(guard, bounds)
                    for guard, one in options
                )
            case SequenceV():
                return False
            case _:
                return not any(_varies(term, bounds) for term in _terms(value))

    def is_last(self, left: SymbolicValue) -> bool:
        """Whether every round leaves the same of itself."""
        terms = _terms(left)
        return (
            self.keeps_all
            and isinstance(left, Sym | Composite)
            and not any(_leaves(term) != [term] for term in terms)
            and {place for term in terms for place in _places(term, {self.index: self.rounds})}
            == {self.index}
        )

    def pooled(self, labels: Iterable[str]) -> dict[Key, Summary]:
        """What the objects hold that stand for many: all that was made, and all that is in those in turn."""
        found: dict[Key, Summary] = {}
        looked: list[Key] = []
        # In the order in which they were found: a document is the same in every process.
        while (escaped := list(self.escaped)) != looked or any(
            ref.id not in found for ref in self.pools.values()
        ):
            looked = escaped
            for kind, ref in list(self.pools.items()):
                before = self.machine.store.get(ref.id)
                assert before is not None
                held = [self.made[each] for each in looked if self.escaped[each] == kind]
                left = [self.made.get(ref.id, before), *held]
                found[ref.id] = self.summary(ref.id, before, left, labels)
        return found

    # -- from templates to values ------------------------------------------------------------------

    def start(self, machine: Machine) -> Mapping[Key, SymbolicValue | Content]:
        """What is there when a round begins."""
        self.started = self.written(machine, self.index)
        return self.started

    def written(
        self, machine: Machine, bound: Term, known: Mapping[Key, Content] = MappingProxyType({})
    ) -> dict[Key, SymbolicValue | Content]:
        """What is there after so many rounds, if it is not `known`."""
        return {
            key: known.get(key) or self._value(machine, key, each, bound)
            for key, each in self.summaries.items()
        }

    def collected(
        self, left: Mapping[Key, SymbolicValue | Content], bound: Term
    ) -> dict[Key, Content]:
        """The lists to which each round appends one item, or none, and does nothing else: they are known exactly.

        `left`: by the round that changes nothing any more.
        """
        found: dict[Key, Content] = {}
        for key, content in left.items():
            summary = self.summaries.get(key)
            since = content.appended if isinstance(content, Content) else None
            if since is None or summary is None or since.before is not self.started.get(key):
                continue
            initial = summary.initial
            if key in self.machine.pools or len(since.items) != 1:
                continue
            (item,) = since.items
            value = self.anywhere(item.value)
            if value is None:
                continue
            assert isinstance(initial, Content)
            index = self.machine.fresh_index()
            names: Mapping[Term, Term] = {self.index: index}
            made = with_picked(
                self.machine,
                SequenceV(bound, index, renamed(value, names), substitute(item.present, names)),
            )
            if initial.held != ():
                made = concatenated(as_sequence(initial, index), solid(made))
            found[key] = Content("list", made)
        return found

    def anywhere(self, value: SymbolicValue) -> SymbolicValue | None:
        """What a round left, as it says the same wherever it stands; None if it can't."""
        match value:
            case Sym() | ObjectV():
                return value
            case Composite(items):
                parts = [part for item in items if (part := self.anywhere(item)) is not None]
                return value.of(parts) if len(parts) == len(items) else None
            case Ref() | InstanceRef():
                return self._emptied(value, {})
            case UnionV(options):
                found = [(guard, self.anywhere(one)) for guard, one in options]
                there = [(guard, one) for guard, one in found if one is not None]
                return union(there) if len(there) == len(found) else None
            case _:
                return None

    def note_followed(self, left: Mapping[Key, SymbolicValue | Content]) -> None:
        """Note what each round leaves for the next, where it is one value; `left`: by a round that changes nothing."""
        machine = self.machine
        for key, start in self.followed.items():
            then, before = left.get(key), self.summaries[key].initial
            if not isinstance(then, Sym) or not isinstance(before, Sym):
                continue
            assert isinstance(start.term, Result)
            about = start.term.call
            if self.going is not TRUE:
                machine.facts.append(Fact(about, FactKind.HOLDS, self.going))
            unknown = next(each for each in machine.unknowns if each.id == about)
            made = made_of([before.term, then.term], machine.inputs, machine.unknowns)
            if then.type == before.type == start.type and {*made} <= {
                *unknown.labels,
                *unknown.carried,
            }:
                machine.facts.append(Fact(about, FactKind.NEXT, then.term, first=before.term))

    def _followed(self, machine: Machine, key: Key, summary: Summary, bound: Term, why: str) -> Sym:
        """Any value of a type, which is what the round before left."""
        (template,) = summary.left
        assert isinstance(template.value, Hole)
        if key not in self.followed:
            self.followed[key] = unknown(
                machine, template.value.type, why, (), labels=summary.labels
            )
        read = self.followed[key].term
        assert isinstance(read, Result)
        return Sym(rebuild(read, lambda part: bound if part is self.index else None))

    def _value(
        self, machine: Machine, key: Key, summary: Summary, bound: Term
    ) -> SymbolicValue | Content:
        if isinstance(summary.initial, Content):
            is_pool = key in machine.pools
            return self._content(machine, summary, summary.initial, bound, is_pool=is_pool)
        if not summary.is_told:
            return Poison(summary.name, summary.line)
        why = f"{summary.name} is left by a round of the loop in line {summary.line}"
        left = summary.left
        some = apply("lt", const(0), bound)
        if summary.is_last and not _has_hole(left[0].value):
            last = apply("sub", bound, const(1))
            return merge(some, renamed(left[0].value, {SLOT: last}), summary.initial)
        growth, initial = summary.growth, summary.initial
        if growth is not None and not growth.is_refuted and isinstance(initial, Sym):
            if growth.step is not None:
                return Sym(apply("add", initial.term, apply("mul", growth.step, bound)))
            grown = self._followed(machine, key, summary, bound, why).term
            return Sym(ite(apply("lt", grown, initial.term), initial.term, grown))
        if _absorbs(left, summary.initial):
            return self._followed(machine, key, summary, bound, why)
        value = self._choice(machine, left, summary.labels, why, ())
        return merge(some, value, summary.initial)

    def _content(
        self, machine: Machine, summary: Summary, initial: Content, bound: Term, *, is_pool: bool
    ) -> Content:
        if not summary.is_told:
            refuse(
                "loop.mutation",
                f"the loop in line {summary.line} runs an unknown number of times, and what it leaves in a container"
                " from outside of it can't be told",
                "Put values of one kind into it.",
            )
        if not summary.left:
            return Content(initial.kind, ())
        held = sequence(
            machine,
            lambda each: self._choice(
                machine,
                summary.left,
                summary.labels,
                f"what the loop in line {summary.line} puts into a container",
                each,
            ),
            summary.labels,
            f"how much the loop in line {summary.line} leaves in a container",
            # Without a round nothing is put into it: what is there comes from an item that there is.
            some=apply("lt", const(0), bound) if initial.held == () else TRUE,
        )
        if not is_pool:
            note_keys(machine, initial.kind, held)
        return Content(initial.kind, held)

    def _choice(
        self,
        machine: Machine,
        templates: Sequence[Template],
        labels: Iterable[str],
        why: str,
        each: tuple[Binder, ...],
    ) -> SymbolicValue:
        values = [_filled(machine, one, labels, why, each) for one in templates]
        return one_of(machine, values, labels, why, each)


def with_picked(machine: Machine, held: SequenceV) -> SequenceV:
    """The same, with those that are kept, for whoever asks how many they are, or for one of them."""
    if held.keep is TRUE:
        return held
    why = "which items a filtered list keeps"
    flowing = (held.over, held.keep, *_told(machine, held.item))
    labels = made_of(flowing, machine.inputs, machine.unknowns)
    size = count(SequenceV(held.over, held.index, held.item, TRUE))
    places: list[Term] = []

    def item(each: tuple[Binder, ...]) -> SymbolicValue:
        place = unknown(machine, INT, why, flowing, each=each).term
        places.append(place)
        return renamed(held.item, {held.index: within(place, size)})

    picked = sequence(machine, item, labels, why, size)
    (place,) = places
    if not machine.dead:
        assert isinstance(place, Result)
        is_kept = substitute(held.keep, {held.index: within(place, size)})
        machine.facts.append(Fact(place.call, FactKind.HOLDS, is_kept))
        note_distinct(machine, picked.index, within(place, size))
    return replace(held, picked=picked)


def _one_of_many(machine: Machine, held: Content) -> Content:
    """What one of the objects holds that together hold this: some of it."""
    if held.held == ():
        return held
    index = machine.fresh_index()
    every = as_sequence(held, index)
    why = "what one of the containers holds that a loop made"
    labels = _decided_by(machine, held)

    def item(each: tuple[Binder, ...]) -> SymbolicValue:
        place = unknown(machine, INT, why, (), labels=labels, each=each).term
        return renamed(every.item, {every.index: within(place, count(every))})

    return Content(held.kind, sequence(machine, item, labels, why, count(every)))


def _decided_by(machine: Machine, held: Content) -> set[str]:
    """What one of many objects is made of, and what may have decided which of them is read, or was changed.

    Nobody knows which it is, nor by what it was chosen: it may have been anything that was there.
    """
    made = made_of(_flowing(machine, held), machine.inputs, machine.unknowns)
    is_in_loop = any(each.kind == "going" for each in machine.targets)
    calls = (each for each in machine.returned_rows if is_in_loop or is_made(machine, each))
    return {*made, *calls}


def one_held(machine: Machine, bag: Ref) -> SymbolicValue:
    """What a field holds of one of the instances that together hold this."""
    held = machine.stored(bag)
    if held.held == ():
        refuse(
            "dataclass.loop",
            "what a loop of unknown length leaves in the fields of an instance can't be told",
            "Make the instance before the loop, or don't assign to its fields.",
        )
    every = as_sequence(held, machine.fresh_index())
    why = "what a field holds of one of the instances that a loop made"
    labels = _decided_by(machine, held)
    place = unknown(machine, INT, why, (), labels=labels).term
    return renamed(every.item, {every.index: within(place, count(every))})


def one_of(
    machine: Machine,
    values: Sequence[SymbolicValue],
    labels: Iterable[str],
    why: str,
    each: tuple[Binder, ...] = (),
) -> SymbolicValue:
    """One of these, nobody knows which."""
    if len(values) == 1:
        return values[0]
    if len(values) == 2:
        which = unknown(machine, BOOL, why, (), labels=labels, each=each)
        return merge(which.term, values[0], values[1])
    number = unknown(machine, INT, why, (), labels=labels, each=each).term
    return choose([(eq(number, const(at)), value) for at, value in enumerate(values)])


def sequence(
    machine: Machine,
    item: Callable[[tuple[Binder, ...]], SymbolicValue],
    labels: Iterable[str],
    why: str,
    most: Term | None = None,
    some: Term = TRUE,
) -> SequenceV:
    """Items of an unknown number, at most so many; `item` makes what stands at each index of a loop over them.

    `some`: where that is false, there are none.
    """
    size = bounded(unknown(machine, INT, why, (), labels=labels).term, most)
    size = ite(some, size, const(0))
    index = machine.fresh_index()
    return SequenceV(size, index, item((Binder(index, size),)), TRUE)


def note_keys(machine: Machine, kind: str, held: SequenceV) -> None:
    """Note that keys of a dict, and items of a set, are other ones at each index, where a fact can say so."""
    key = held.item
    if kind in KEYED and isinstance(key, TupleV):
        key = key.items[0]
    # Others may be equal and not the same.
    if kind in (*KEYED, "set") and isinstance(key, Sym) and key.type in (INT, STR):
        note_distinct(machine, held.index, key.term)


def note_distinct(machine: Machine, index: Var, term: Term) -> None:
    """Note that it is another one at each index, if it is made of an unknown that is computed for each."""
    if machine.dead:
        return
    made = {each.id: each for each in machine.unknowns}
    for read in results(term):
        about = made.get(read.call)
        if about is not None and about.binders and about.binders[-1].index is index:
            machine.facts.append(Fact(about.id, FactKind.DISTINCT, term))
            return


def bounded(number: Term, most: Term | None) -> Term:
    """The number, but not below 0, and not above `most`."""
    least = ite(apply("lt", number, const(0)), const(0), number)
    return least if most is None else ite(apply("lt", most, least), most, least)


def _filled(
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


# -- looking into values ---------------------------------------------------------------------------


def _varies(term: Term, indices: Mapping[Term, Term]) -> bool:
    """Whether it is another one for other indices."""
    return any(part in indices for part in postorder(term))


def _are_ints(*values: object) -> bool:
    return all(isinstance(value, Sym) and value.type == INT for value in values)


def _steps(start: Term, left: Term) -> list[Term] | None:
    """What may be added to the first to get the second; None when something else is done to it."""
    found: dict[Term, None] = {}
    seen: set[Term] = set()
    todo = [left]
    while todo:
        part = todo.pop()
        if part in seen:
            continue
        seen.add(part)
        if part is start:
            found[const(0)] = None
        elif isinstance(part, App) and part.op == "ite":
            todo.extend(part.args[1:])
        elif isinstance(part, App) and part.op == "add" and part.args.count(start) == 1:
            rest = [each for each in part.args if each is not start]
            if any(start in postorder(each) for each in rest):
                return None
            found[rest[0] if len(rest) == 1 else apply("add", *rest)] = None
        else:
            return None
    return list(found)


def _is_natural(step: Term) -> bool:
    """Whether it is certainly not negative."""
    match step:
        case Const(value=int(number)):
            return number >= 0
        case App(op="len" | "int_of_bool" | "abs" | "count"):
            return True
        case App(op="ite", args=(_, one, other)):
            return _is_natural(one) and _is_natural(other)
        case App(op="add" | "mul", args=parts):
            return all(map(_is_natural, parts))
        case _:
            return False


def _places(term: Term, bounds: Mapping[Term, Term]) -> set[Term]:
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
        if part in bounds or (bound_of(part) is not None and _varies(part, bounds)):
            found.add(part)
        elif isinstance(part, App):
            todo.extend(part.args)
    return found


def _elements(content: Content) -> list[tuple[SymbolicValue, Var | None, Term]]:
    """What it holds; with its index, and how many there are, where that is not known."""
    held = content.held
    if isinstance(held, SequenceV):
        return [] if isinstance(held.item, Unbound) else [(held.item, held.index, count(held))]
    return [
        (entry.value if entry.key is None else TupleV((entry.key, entry.value)), None, const(1))
        for entry in held
    ]


def _plain_values(value: SymbolicValue) -> list[SymbolicValue]:
    """What a value may be, without `if` at its top."""
    match value:
        case Sym(term):
            return [Sym(leaf) for leaf in _leaves(term)]
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
                *(_plain_values(item) if isinstance(item, Composite) else [item] for item in some)
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


def _leaves(term: Term) -> list[Term]:
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


def _terms(value: SymbolicValue) -> list[Term]:
    match value:
        case Sym(term) | ObjectV(term=term):
            return [term]
        case Composite(items):
            return [term for item in items for term in _terms(item)]
        case _:
            return []


def _replaced(value: SymbolicValue, place: Term) -> SymbolicValue:
    """The value with the slot for that index."""
    match value:
        case Sym(term):
            if isinstance(place, Var):
                return Sym(substitute(term, {place: SLOT}))
            return Sym(rebuild(term, lambda part: SLOT if part is place else None))
        case Composite(items):
            return value.of(_replaced(item, place) for item in items)
        case _:
            return value


def _widened(templates: Iterable[Template]) -> tuple[Template, ...]:
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


def _absorbs(templates: Sequence[Template], initial: SymbolicValue) -> bool:
    """Whether what was there before is among the values that a single template stands for."""
    return (
        len(templates) == 1
        and isinstance(templates[0].value, Hole)
        and isinstance(initial, Sym)
        and initial.type == templates[0].value.type
    )


def _has_hole(value: SymbolicValue) -> bool:
    return isinstance(value, Hole | ObjectHole) or (
        isinstance(value, Composite) and any(map(_has_hole, value.items))
    )


def _flowing(
    machine: Machine, value: SymbolicValue | Content, seen: frozenset[int] = frozenset()
) -> list[Term]:
    if isinstance(value, Content):
        held = value.held
        if isinstance(held, SequenceV):
            return _told(machine, held, seen)
        return [
            term
            for entry in held
            for term in (
                entry.present,
                *_told(machine, entry.value, seen),
                *(() if entry.key is None else _told(machine, entry.key, seen)),
            )
        ]
    return _told(machine, value, seen)


def _told(machine: Machine, value: SymbolicValue, seen: frozenset[int] = frozenset()) -> list[Term]:
    """What flows into it; nothing flows into functions and the like. `seen`: the objects around, which it may hold."""
    match value:
        case UnionV(options):
            return [term for guard, one in options for term in (guard, *_told(machine, one, seen))]
        case Composite(items):
            return [term for item in items for term in _told(machine, item, seen)]
        case InstanceRef(id_) | Ref(id_) if id_ in seen:
            return []
        case InstanceRef(id_):
            is_there = id_ in machine.bags or all(map(machine.store.get, value.keys))
            fields = machine.fields(value) if is_there else ()
            return [term for each in fields for term in _told(machine, each, seen | {id_})]
        case SequenceV():
            return [value.over, value.keep, *_told(machine, value.item, seen)]
        case Ref(id_):
            is_there = machine.store.get(id_) is not None
            return _flowing(machine, machine.stored(value), seen | {id_}) if is_there else []
        case Sym() | ObjectV():
            return list(flows(machine, value))
        case _:
            return []
