"""Where an execution stands: the store, the path that leads here, the loops around, and what was found so far.

Branches write into layers above the store they started from; joining two paths looks only at what they wrote. Whoever
leaves early (return, break, continue) takes along what was written since the place that is left for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, TypeVar

from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Fact,
    Obligation,
    ObligationKind,
    Span,
    Unknown,
)
from lictor_ir.records import record
from lictor_ir.terms import FALSE, TRUE, Term, Var, and_, not_, or_, var
from lictor_ir.types import INT
from lictor_prove.layer_model import TrustedFunction
from lictor_prove.python.machine.control_paths import (
    Exit,
    Frame,
    Key,
    RaisedError,
    Store,
    Target,
    beyond,
    conjuncts,
    decided,
    facts,
    joined,
)
from lictor_prove.python.machine.path_merging import choose, merge, together, union
from lictor_prove.python.machine.program_shape import BranchPoint, Via
from lictor_prove.python.machine.raised_errors import catcher, raise_error, spans_of
from lictor_prove.python.machine.symbolic_values import (
    UNBOUND,
    Composite,
    ContainerItem,
    Content,
    DataClass,
    FieldKey,
    ForeignV,
    InstanceRef,
    InstanceV,
    OnceV,
    Opaque,
    Poison,
    Ref,
    SequenceV,
    SymbolicValue,
    Unbound,
    UnionV,
    alternatives,
)
from lictor_prove.python.refusals import MAX_OBLIGATIONS, MAX_STEPS, Raises, SubsetRefusal, refuse

T = TypeVar("T")


class Hooks(Protocol):
    """The parts of the executor that need each other; they meet in the machine."""

    def evaluate(self, machine: Machine, node: ast.expr) -> SymbolicValue: ...
    def run(self, machine: Machine, body: Sequence[ast.stmt]) -> None: ...
    def call(
        self,
        machine: Machine,
        function: SymbolicValue,
        args: Sequence[SymbolicValue],
        keywords: Sequence[tuple[str, SymbolicValue]],
    ) -> SymbolicValue: ...
    def call_trusted(
        self,
        machine: Machine,
        function: TrustedFunction,
        args: Sequence[SymbolicValue],
        keywords: Mapping[str, SymbolicValue],
    ) -> SymbolicValue: ...
    def call_foreign(
        self,
        machine: Machine,
        function: ForeignV,
        args: Sequence[SymbolicValue],
        keywords: Sequence[tuple[str, SymbolicValue]],
    ) -> SymbolicValue: ...
    def lookup(self, machine: Machine, name: str) -> SymbolicValue: ...
    def attribute(self, machine: Machine, owner: SymbolicValue, name: str) -> SymbolicValue: ...
    def span(self, node: ast.AST) -> Span | None: ...
    def of_every_item(
        self, machine: Machine, node: ast.GeneratorExp, first: SymbolicValue, *, stop: bool
    ) -> Term | None: ...


@record()
class Mark:
    """Where an execution stood."""

    recorded: tuple[int, ...]
    place: tuple[Any, ...]
    depth: tuple[int, int, int]
    left: tuple[tuple[int, int, int, int], ...]
    """Of each place that paths may leave for, how many did."""
    entered: dict[ast.AST, dict[Via, None]]

    @property
    def guard(self) -> Term:
        """The path that led there."""
        guard = self.place[1]
        assert isinstance(guard, Term)
        return guard


class Machine:
    """One execution."""

    def __init__(self, hooks: Hooks, *, declares_unknowns: bool = False) -> None:
        """`declares_unknowns`: what has no model becomes unknown; in a predicate it is refused."""
        self.hooks = hooks
        self.declares_unknowns = declares_unknowns
        self.store = Store()
        self.guard: Term = TRUE
        self.binders: tuple[Binder, ...] = ()
        self.frame = Frame(0, None, frozenset())
        self.frames: dict[int, Frame] = {0: self.frame}
        self.targets: list[Target] = []
        self.active: list[ast.AST] = []
        """The helpers being executed."""
        self.via: Via = ()
        """The calls that led into them, the innermost first."""
        self.entered: dict[ast.AST, dict[Via, None]] = {}
        """Every helper that a path leads into, and how."""
        self.at: ast.AST | None = None
        self.inputs: frozenset[str] = frozenset()
        """Names of the target's parameters."""
        self.taken: set[str] = set()
        """Names of variables that indices must not have."""
        self.pools: dict[int, Callable[[Content], Content]] = {}
        """Objects that stand for many, which a loop made one by one: together they hold what is in the store. With what
        one of them may hold."""
        self.factories: dict[int, SymbolicValue] = {}
        """What defaultdicts call for a key that they lack, by the object."""
        self.bags: dict[int, Mapping[str, Ref]] = {}
        """Of instances that stand for many, the lists of what their fields hold."""
        self.returned_rows: dict[str, None] = {}
        """The calls that returned rows, also those of passes that were given up."""
        self.sites: dict[int, str] = {}
        """Where in the program an object is made."""
        self.sorted: set[int] = set()
        """Lists that are being sorted."""
        self.frozen: set[int] = set()
        """Objects that were there before and stay: they can be read, not changed."""
        self.atoms: list[Atom] = []
        self.assumptions: list[Assumption] = []
        self.obligations: list[Obligation] = []
        self.unknowns: list[Unknown] = []
        self.fragile: set[Term] = set()
        """What stands for objects of which anything may raise."""
        self.facts: list[Fact] = []
        """What is known of them besides their types."""
        self.branches: list[BranchPoint] = []
        self.via_of: dict[str, Via] = {}
        """How each atom is come to, by its id."""
        self.span_of: dict[str, Span] = {}
        """Where each unknown is computed, by its id."""
        self.steps = 0
        self.handling: list[RaisedError | None] = []
        """The errors that are being handled, the innermost last; None in a `finally`."""
        self.handled: set[str] = set()
        """The classes of errors that handlers name."""
        self.left_by_error: set[ast.AST | None] = set()
        """Loops that run an unknown number of times, and that an error may leave."""
        self.early_ends: tuple[Span, ...] = ()
        """Where an error is raised that nobody handles."""
        self.departed = 0
        """How many paths left for somewhere, or raised."""
        self._ids = 0
        self._indices = 0
        self._facts_of: Term = TRUE
        self._facts: tuple[frozenset[Term], frozenset[Term]] = (frozenset(), frozenset())

    # -- stepping ----------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr) -> SymbolicValue:
        before, self.at = self.at, node
        self.step()
        try:
            value = self.hooks.evaluate(self, node)
        except Raises as problem:
            # Beyond the operation itself nobody may go on: frames and stores are those of its middle.
            always_raises(problem)
        self.at = before
        return value

    def call(
        self,
        function: SymbolicValue,
        args: Sequence[SymbolicValue],
        keywords: Sequence[tuple[str, SymbolicValue]] = (),
    ) -> SymbolicValue:
        return self.hooks.call(self, function, args, keywords)

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            refuse(
                "limits.steps",
                f"reading the program takes more than {MAX_STEPS} steps",
                "Unroll fewer iterations, or loop over a list that a trusted call returns.",
            )

    def decided(self, condition: Term) -> bool | None:
        """Whether the path says that the condition holds, or that it does not; None when it says neither."""
        if self._facts_of is not self.guard:
            self._facts_of = self.guard
            self._facts = facts(self.guard)
        return decided(condition, *self._facts)

    @property
    def dead(self) -> bool:
        """Whether no path leads here."""
        return self.guard is FALSE

    def fresh_id(self) -> int:
        self._ids += 1
        return self._ids

    def fresh_index(self) -> Var:
        """An index that no other variable of the document is called."""
        while True:
            self._indices += 1
            name = f"i{self._indices}"
            if name not in self.taken:
                return var(name, INT)

    @property
    def _recorded(self) -> tuple[list[Any], ...]:
        return (
            *(self.atoms, self.assumptions, self.obligations),
            *(self.unknowns, self.facts, self.branches),
        )

    # -- trying ------------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Where the execution stands, to come back to."""
        return Mark(
            tuple(map(len, self._recorded)),
            (self.store, self.guard, self.binders, self.frame, self.at, self.via, self.departed),
            (len(self.active), len(self.handling), self._indices),
            tuple(
                (len(t.exits), len(t.dropped), len(t.tests), len(t.raising)) for t in self.targets
            ),
            {helper: dict(ways) for helper, ways in self.entered.items()},
        )

    def go_back(self, mark: Mark) -> None:
        """Forget everything since the mark. What was written into the store of then is not undone: write above it."""
        for recorded, size in zip(
            self._recorded,
            mark.recorded,
            strict=True,
        ):
            del recorded[size:]
        (self.store, self.guard, self.binders, self.frame, self.at, self.via, self.departed) = (
            mark.place
        )
        active, handling, self._indices = mark.depth
        del self.handling[handling:]
        del self.active[active:]
        del self.targets[len(mark.left) :]
        for target, (exits, dropped, tests, raising) in zip(self.targets, mark.left, strict=True):
            del target.exits[exits:], target.dropped[dropped:], target.tests[tests:]
            del target.raising[raising:]
        self.entered = mark.entered

    # -- what must hold ------------------------------------------------------------------------------

    def require(
        self,
        formula: Term,
        text: str,
        kind: ObligationKind = ObligationKind.NO_ERROR,
        call: str | None = None,
        error: str | None = None,
    ) -> None:
        """Demand that the formula holds wherever this path is taken.

        `error`: what Python raises elsewhere, before anything changes; if that is handled, nothing is demanded.
        """
        if formula is TRUE or self.dead or formula in conjuncts(self.guard):
            return
        if error is not None and catcher(self, frozenset({error}), must_not=True) is not None:
            flows = (self.guard, formula)
            raised = RaisedError(frozenset({error}), flows, spans=spans_of(self))
            raise_error(self, raised, not_(formula), must_not=True)
            return
        if len(self.obligations) >= MAX_OBLIGATIONS:
            refuse(
                "limits.obligations",
                f"more than {MAX_OBLIGATIONS} operations of the program may raise",
                "Make the program smaller.",
            )
        span = self.hooks.span(self.at) if self.at is not None else None
        self.obligations.append(
            Obligation(kind, formula, text, self.guard, self.binders, call, span)
        )

    def branch(self, node: ast.AST, condition: Term, *, must_hold: bool = False) -> None:
        """Note that the program goes one way or the other here."""
        span = None if self.dead else self.hooks.span(node)
        if span is not None:
            known = self.decided(condition)
            decided = condition if known is None else TRUE if known else FALSE
            self.branches.append(
                BranchPoint(span, self.guard, decided, self.binders, must_hold, self.via)
            )

    def go_into(self, helper: ast.AST) -> None:
        """Note that a helper is executed from here; whoever leaves it restores `via`."""
        span = self.hooks.span(self.at) if self.at is not None else None
        if span is not None:
            self.via = (span, *self.via)
        if not self.dead:
            self.entered.setdefault(helper, {})[self.via] = None

    # -- values --------------------------------------------------------------------------------------

    def cases(self, value: SymbolicValue) -> list[tuple[Term, SymbolicValue]]:
        """What the value may be on this path; names that may be unbound are an obligation."""
        if not isinstance(value, UnionV | Unbound | Poison):
            return [(TRUE, value)]
        found: list[tuple[Term, SymbolicValue]] = []
        if self.dead:
            # Nothing is executed here any more; any of them will do.
            plain = [v for _, v in alternatives(value) if not isinstance(v, Unbound | Poison)]
            return [(TRUE, plain[0] if plain else Opaque("a value that no path reaches"))]
        for guard, option in alternatives(value):
            if self.decided(guard) is False:
                continue
            if isinstance(option, Poison):
                poisoned(option)
            if isinstance(option, Unbound):
                self.require(not_(guard), "the name has a value (else NameError)")
                continue
            found.append((guard, option))
        if not found:
            refuse(
                "name.unbound",
                "this name has no value here: Python would raise NameError",
                "Assign it on every path before it is read.",
            )
        return found if len(found) > 1 else [(TRUE, found[0][1])]

    def each(
        self, value: SymbolicValue, function: Callable[[SymbolicValue], SymbolicValue]
    ) -> SymbolicValue:
        """The function of whatever the value is; where it can't be applied, an obligation that this does not happen."""
        cases = self.cases(value)
        if len(cases) == 1:
            try:
                return function(cases[0][1])
            except Raises as problem:
                always_raises(problem)
        try:
            return self.under(cases, function)
        except Raises as problem:
            always_raises(problem)

    def under(
        self, cases: Sequence[tuple[Term, T]], function: Callable[[T], SymbolicValue]
    ) -> SymbolicValue:
        """The function on each path; a path on which it raises is an obligation. Raises when it raises on all."""
        outer, options = self.guard, list[tuple[Term, SymbolicValue]]()
        departed, ends = self.departed, list[Term]()
        last: Raises | None = None
        for guard, option in cases:
            here = and_(outer, guard)
            self.guard = here
            try:
                options.append((guard, function(option)))
            except Raises as problem:
                last = problem
                # The whole path is given up, also if only a part of it raised.
                self.guard = here
                self.require(FALSE, f"no {problem.error}: {problem.message}")
            ends.append(self.guard)
            self.guard = outer
        if self.departed != departed:
            self.guard = or_(*ends)
        if not options:
            assert last is not None
            raise last
        return union(options) if len(options) > 1 else options[0][1]

    def each_pair(
        self,
        left: SymbolicValue,
        right: SymbolicValue,
        function: Callable[[SymbolicValue, SymbolicValue], SymbolicValue],
    ) -> SymbolicValue:
        """The function of whatever the two values are."""
        if not isinstance(left, UnionV | Unbound | Poison) and not isinstance(
            right, UnionV | Unbound | Poison
        ):
            try:
                return function(left, right)
            except Raises as problem:
                always_raises(problem)
        pairs = [
            (and_(one, two), first, second)
            for one, first in self.cases(left)
            for two, second in self.cases(right)
        ]
        outer, options = self.guard, list[tuple[Term, SymbolicValue]]()
        departed, ends = self.departed, list[Term]()
        last: Raises | None = None
        for guard, first, second in pairs:
            here = and_(outer, guard)
            self.guard = here
            if here is not FALSE or len(pairs) == 1:
                try:
                    options.append((guard, function(first, second)))
                except Raises as problem:
                    last = problem
                    self.guard = here
                    self.require(FALSE, f"no {problem.error}: {problem.message}")
            ends.append(self.guard)
            self.guard = outer
        if self.departed != departed:
            self.guard = or_(*ends)
        if not options:
            if last is not None:
                always_raises(last)
            refuse("path.dead", "no path leads to this operation", "Remove it.")
        return union(options) if len(options) > 1 else options[0][1]

    def on_each_path(
        self,
        cases: Sequence[tuple[Term, SymbolicValue]],
        function: Callable[[SymbolicValue], SymbolicValue],
    ) -> SymbolicValue:
        """The function of whatever it is, each time on a path of its own: it may change objects."""

        def run(options: Sequence[tuple[Term, SymbolicValue]]) -> SymbolicValue:
            guard, one = options[0]
            if len(options) > 1:
                return self.fork(guard, lambda: run(options[:1]), lambda: run(options[1:]))
            here = self.guard
            try:
                return function(one)
            except Raises as problem:
                if len(cases) == 1:
                    always_raises(problem)
                self.guard = here
                self.require(FALSE, f"no {problem.error}: {problem.message}")
                return Opaque("a value that no path reaches")

        return run(cases)

    # -- names and objects ---------------------------------------------------------------------------

    def bind(self, name: str, value: SymbolicValue) -> None:
        kept(value)
        frame = self.frame
        while name not in frame.names and frame.above is not None:
            frame = frame.above
        self.store.written[(frame.id, name)] = value

    def held(self, frame: int, name: str) -> SymbolicValue:
        found = self.store.get((frame, name))
        return found if isinstance(found, SymbolicValue) else UNBOUND

    def make(
        self,
        kind: str,
        entries: Iterable[ContainerItem],
        part: str = "",
        *,
        factory: SymbolicValue | None = None,
    ) -> Ref:
        """A new container; `part`: which one, where an expression makes several; `factory`: of a defaultdict."""
        ref = Ref(self.fresh_id())
        if factory is not None:
            self.factories[ref.id] = factory
        place = (getattr(self.at, "lineno", 0), getattr(self.at, "col_offset", 0))
        self.sites[ref.id] = f"{kind} {place} {part}"
        held = tuple(entry for entry in entries if entry.present is not FALSE)
        for entry in held:
            kept(entry.value)
        self.store.written[ref.id] = Content(kind, held)
        return ref

    def make_list(self, items: Iterable[SymbolicValue]) -> Ref:
        return self.make("list", (ContainerItem(TRUE, item) for item in items))

    def content(self, ref: Ref) -> Content:
        """What an object holds; of one that stands for many, anew whenever it is asked."""
        found = self.stored(ref)
        return found if ref.id not in self.pools else self.pools[ref.id](found)

    def stored(self, ref: Ref) -> Content:
        """What the store holds for an object."""
        if ref.id in self.sorted:
            refuse(
                "list.sorted",
                "the key looks at the list that is being sorted, which is empty meanwhile",
                "Use sorted(…).",
            )
        found = self.store.get(ref.id)
        assert isinstance(found, Content)
        return found

    def make_instance(
        self, made: DataClass, values: Sequence[SymbolicValue]
    ) -> InstanceV | InstanceRef:
        """A new instance of a dataclass."""
        for value in values:
            kept(value)
        if made.is_value:
            return InstanceV(tuple(values), made)
        ref = InstanceRef(self.fresh_id(), made)
        self.store.written.update(zip(ref.keys, values, strict=True))
        return ref

    def fields(self, ref: InstanceRef) -> Iterator[SymbolicValue]:
        """All that the fields hold; of one that stands for many, the lists of what they hold."""
        bags = self.bags.get(ref.id)
        for key in ref.keys:
            found = self.store.get(key) if bags is None else bags[key.name]
            assert isinstance(found, SymbolicValue)
            yield found

    def set_field(self, ref: InstanceRef, name: str, value: SymbolicValue) -> None:
        """Change a field; of many, that of one."""
        kept(value)
        bags = self.bags.get(ref.id)
        if bags is None:
            self.store.written[FieldKey(ref.id, name)] = value
        else:
            added = Content("list", (ContainerItem(TRUE, value),))
            self.hold(bags[name], added)

    @contextmanager
    def hidden(self, ref: Ref) -> Generator[None]:
        """Meanwhile nobody looks at the list."""
        self.sorted.add(ref.id)
        try:
            yield
        finally:
            self.sorted.discard(ref.id)

    def hold(self, ref: Ref, content: Content) -> None:
        """Change what an object holds; of many, one."""
        if ref.id in self.frozen:
            refuse(
                "predicate.changes",
                "a predicate changes an object that outlives it",
                "Predicates only read: build a new container.",
            )
        if ref.id in self.pools:
            content = together(self.stored(ref), content)
        self.store.written[ref.id] = content

    def replace(self, ref: Ref, entries: Iterable[ContainerItem]) -> None:
        """Change what an object holds."""
        held = tuple(entry for entry in entries if entry.present is not FALSE)
        for entry in held:
            if isinstance(entry.value, OnceV | SequenceV | Composite | UnionV):
                kept(entry.value)
        self.hold(ref, Content(self.stored(ref).kind, held))

    # -- paths ---------------------------------------------------------------------------------------

    def fork(
        self,
        condition: Term,
        then: Callable[[], SymbolicValue],
        otherwise: Callable[[], SymbolicValue],
    ) -> SymbolicValue:
        """One or the other, by the condition; both are executed when it is not known."""
        outer = self.guard
        known = self.decided(condition)
        if known is not None:
            return then() if known else otherwise()
        base, departed = self.store, self.departed
        first, second = Store(base), Store(base)
        self.store, self.guard = first, and_(outer, condition)
        one, one_guard = then(), self.guard
        self.store, self.guard = second, and_(outer, not_(condition))
        other, other_guard = otherwise(), self.guard
        self.store = base
        if one_guard is FALSE:
            base.written.update(second.written)
            self.guard = other_guard
            return other
        if other_guard is FALSE:
            base.written.update(first.written)
            self.guard = one_guard
            return one
        for key in {**first.written, **second.written}:
            found = joined(key, condition, first.get(key), second.get(key))
            assert found is not None
            base.written[key] = found
        self.guard = outer if self.departed == departed else or_(one_guard, other_guard)
        return merge(condition, one, other)

    def enter(self, kind: str) -> Target:
        """Open a place that paths may leave for; everything written from here on is above its store."""
        self.store = Store(self.store)
        target = Target(kind, self.store, self.guard, self.departed)
        self.targets.append(target)
        return target

    def leave_for(self, target: Target, value: SymbolicValue) -> None:
        """This path goes on at the end of the target."""
        if self.dead:
            return
        target.exits.append(Exit(self.guard, self.store.since(target.store), value))
        self.departed += 1
        self.guard = FALSE

    def suppose(self, condition: Term) -> None:
        """Only paths on which the condition holds go on; the others are looked at elsewhere."""
        narrowed = and_(self.guard, condition)
        if narrowed is not self.guard:
            self.departed += 1
            self.guard = narrowed

    def stop(self) -> None:
        """This path ends: it raised."""
        if not self.dead:
            self.departed += 1
            self.guard = FALSE

    def close(
        self, target: Target, value: SymbolicValue, private: int | None = None
    ) -> SymbolicValue:
        """Join all paths that left for the target with the one that came to its end with this value.

        Names of the frame `private` are forgotten.
        """
        assert self.targets.pop() is target
        assert self.store is target.store
        exits = list(target.exits)
        if not self.dead:
            exits.append(Exit(self.guard, target.store.written, value))
        below = target.store.below
        assert below is not None
        self.store = below
        if not exits:
            self.guard = FALSE
            return value
        written, value = self._joined(exits, target.guard, private)
        below.written.update(written)
        lost = self.departed - target.departed - len(target.exits)
        self.guard = target.guard if lost == 0 else or_(*(one.guard for one in exits))
        # Those that left for here arrived: whoever looks at the count next must not take them for lost.
        self.departed -= len(target.exits)
        return value

    def arrive(self, exits: Sequence[Exit], guard: Term) -> SymbolicValue:
        """Go on where these paths come together, above the store; `guard` is that of the place they left."""
        written, value = self._joined(exits, guard)
        self.store = Store(self.store)
        self.store.written.update(written)
        self.guard = or_(*(one.guard for one in exits))
        return value

    def _joined(
        self, exits: Sequence[Exit], guard: Term, private: int | None = None
    ) -> tuple[dict[Key, SymbolicValue | Content], SymbolicValue]:
        """What was written on any of these paths, above the store, and their values."""
        conditions = [beyond(one.guard, guard) for one in exits]
        found: dict[Key, SymbolicValue | Content] = {}
        for key in dict.fromkeys(key for one in exits for key in one.written):
            if private is not None and isinstance(key, tuple) and key[0] == private:
                continue
            result = exits[-1].written.get(key) or self.store.get(key)
            for condition, one in zip(reversed(conditions[:-1]), reversed(exits[:-1]), strict=True):
                result = joined(key, condition, one.written.get(key) or self.store.get(key), result)
            assert result is not None
            found[key] = result
        return found, choose([(c, one.value) for c, one in zip(conditions, exits, strict=True)])


def kept(value: SymbolicValue) -> None:
    """Refuse to keep what Python gives only once."""
    for _, one in alternatives(value):
        if isinstance(one, Composite):
            for item in one.items:
                kept(item)
        if isinstance(one, OnceV) or (
            isinstance(one, SequenceV) and one.kind not in ("list", "range")
        ):
            refuse(
                "iterator.kept",
                "an iterator is used up by the first loop over it, so it must be used where it is made",
                "Make a list of it: list(…).",
            )


def poisoned(value: Poison) -> NoReturn:
    """Read a name that a loop over a list of unknown length assigns."""
    refuse(
        "loop.carried",
        f"{value.name!r} is assigned in the loop at line {value.line}, which runs an unknown number of times, "
        "and read where its value depends on how often it ran",
        "Assign it in the same round before reading it; keep sums, counters and last items out of such loops.",
    )


def always_raises(problem: Raises) -> NoReturn:
    """The operation can't succeed."""
    raise SubsetRefusal(
        "error.certain", f"{problem.error}: {problem.message}", problem.remedy
    ) from problem
