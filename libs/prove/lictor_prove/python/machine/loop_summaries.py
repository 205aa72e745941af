"""What rounds of a loop that runs an unknown number of times leave for the next one, and for what comes after.

A name or a container is left with one of a few values. Each is kept as a template: what it is in some round, nobody
knows which. `best = o` leaves an item of the list at an unknown index, so it is still known to come from there. What
was computed from earlier rounds (a sum, a text that grows) becomes an unknown of its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

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
    ite,
    postorder,
    rebuild,
    results,
    substitute,
)
from lictor_ir.types import INT
from lictor_prove.python.machine.control_paths import Key
from lictor_prove.python.machine.loop_templates import (
    SLOT,
    NoSummary,
    Template,
    absorbs,
    bound_of,
    elements_of,
    filled_template,
    has_hole,
    has_slot,
    is_item,
    leaves_of,
    places_of,
    plain_values,
    terms_of,
    varies,
    widened,
    with_slot,
)
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import (
    as_sequence,
    concatenated,
    merge,
    solid,
    union,
)
from lictor_prove.python.machine.symbolic_values import (
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
    UnionV,
    alternatives,
    renamed,
)
from lictor_prove.python.machine.unknown_sequences import (
    flowing_terms,
    note_keys,
    one_of,
    one_of_many,
    sequence,
    with_picked,
)
from lictor_prove.python.machine.unknown_values import unknown
from lictor_prove.python.refusals import refuse


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
            if each.key in known or (isinstance(each.value, Sym) and is_item(each.value.term))
            else each.opened
            for each in self.left
        ]
        return replace(self, left=widened(left), is_last=self.is_last and tuple(left) == self.left)


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
            found.update(made_of(flowing_terms(machine, value), machine.inputs, machine.unknowns))
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
            if not varies(step, indices):
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
            for value, index, size in elements_of(held):
                bounds: dict[Term, Term] = {self.index: self.rounds}
                if index is not None:
                    bounds[index] = size
                found += self._templates(value, bounds)
        return widened(found)

    def _templates(self, value: SymbolicValue, bounds: Mapping[Term, Term]) -> list[Template]:
        """Every template that the value may be one of; `bounds`: how far the indices go that stand in it."""
        return [
            self._template(plain, bounds)
            for _, option in alternatives(value)
            for plain in plain_values(option)
        ]

    def _template(self, value: SymbolicValue, bounds: Mapping[Term, Term]) -> Template:
        """The value with the index of its round made free; parts that rest on other rounds are any value."""
        places = {place for term in terms_of(value) for place in places_of(term, bounds)}
        if len(places) == 1:
            (place,) = places
            bound = bounds.get(place) or bound_of(place)
            if bound is not None and not varies(bound, bounds):
                slotted = self._emptied(with_slot(value, place), bounds)
                return Template(slotted, bound if has_slot(slotted) else None)
        return Template(self._emptied(value, bounds))

    def _emptied(self, value: SymbolicValue, bounds: Mapping[Term, Term]) -> SymbolicValue:
        match value:
            case Sym(term):
                is_other = varies(term, bounds) or any(
                    SLOT in each.indices for each in results(term)
                )
                return Hole(term.type) if is_other else value
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
            machine.pools[ref.id] = lambda held: one_of_many(machine, held)
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
                    self._stays(one, bounds) and not varies(guard, bounds) for guard, one in options
                )
            case SequenceV():
                return False
            case _:
                return not any(varies(term, bounds) for term in terms_of(value))

    def is_last(self, left: SymbolicValue) -> bool:
        """Whether every round leaves the same of itself."""
        terms = terms_of(left)
        return (
            self.keeps_all
            and isinstance(left, Sym | Composite)
            and not any(leaves_of(term) != [term] for term in terms)
            and {place for term in terms for place in places_of(term, {self.index: self.rounds})}
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
        if summary.is_last and not has_hole(left[0].value):
            last = apply("sub", bound, const(1))
            return merge(some, renamed(left[0].value, {SLOT: last}), summary.initial)
        growth, initial = summary.growth, summary.initial
        if growth is not None and not growth.is_refuted and isinstance(initial, Sym):
            if growth.step is not None:
                return Sym(apply("add", initial.term, apply("mul", growth.step, bound)))
            grown = self._followed(machine, key, summary, bound, why).term
            return Sym(ite(apply("lt", grown, initial.term), initial.term, grown))
        if absorbs(left, summary.initial):
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
        values = [filled_template(machine, one, labels, why, each) for one in templates]
        return one_of(machine, values, labels, why, each)


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
