"""The goals of contracts: how each could be violated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Final

from lictor_ir.contracts import (
    All,
    AtEnd,
    Before,
    Contract,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
)
from lictor_ir.document import shared_loops
from lictor_ir.errors import UnspecifiedError, UnsupportedError
from lictor_ir.goals.aggregates import aggregate_goal
from lictor_ir.goals.builder import Builder, GoalViolation
from lictor_ir.goals.contract_strength import strength
from lictor_ir.goals.fluents import at_end_goal
from lictor_ir.goals.goal import Goal, GoalKind
from lictor_ir.goals.occurrences import Occurrence, before, copied, facts
from lictor_ir.provenance import hidden_rows
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Const,
    Term,
    and_,
    apply,
    const,
    eq,
    ite,
    known_value,
    not_,
    or_,
    substitute,
)
from lictor_ir.types import BOOL, INT, REAL, STR

MAX_PAIRS: Final = 20_000
"""More pairs of effects than these are left to the solver to choose from."""
MANY_ALIKE: Final = 8


def contract_goal(builder: Builder, goal_id: str, subject: int, contract: Contract) -> Goal:
    """The goal of a contract that is no conjunction."""
    match contract:
        case Count() | Sum():
            return aggregate_goal(builder, goal_id, subject, contract)
        case AtEnd():
            return at_end_goal(builder, goal_id, subject, contract)
        case _:
            violations = _Violations(builder)
            ways = violations.of(contract)
            return builder.goal(
                goal_id,
                GoalKind.GUARANTEE,
                subject,
                ways,
                strength=strength(contract),
                undecided=tuple(dict.fromkeys(violations.undecided)),
            )


class _Violations:
    """The ways in which one contract is violated."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self.undecided: list[str] = []

    def of(self, contract: Contract) -> list[GoalViolation]:
        """What violates the contract."""
        match contract:
            case Empty(relation):
                return list(self._each(self._facts(relation), None))
            case All(relation, holds):
                return list(self._each(self._facts(relation), holds))
            case Distinct(relation, key):
                return self._distinct(self._facts(relation), key)
            case SharesValue():
                return self._shares_value(contract)
            case Before():
                return self._before(contract)
            case NeverAfter(first, then):
                return list(self._never_after(self._facts(first), self._facts(then)))
            case _:
                return []

    def _facts(self, relation: Relation) -> list[Occurrence]:
        found, problems = facts(self._builder.document, relation)
        self.undecided += problems
        live: list[Occurrence] = []
        for fact in found:
            try:
                if self._builder.expand(fact.condition) is not FALSE:
                    live.append(fact)
            except UnsupportedError as why:
                self._problem(fact, why)
        return live

    def _problem(self, fact: Occurrence, why: Exception) -> None:
        self.undecided.append(f"{fact.atom.id} ({fact.atom.effect}): {why}")

    # -- one effect ------------------------------------------------------------------------------

    def _each(self, found: Iterable[Occurrence], holds: Term | None) -> Iterator[GoalViolation]:
        hidden = None if holds is None else hidden_rows(holds, self._builder.document.schemas)
        if hidden is not None:
            self.undecided.append(hidden)
        for fact in found:
            try:
                wrong = [] if holds is None else [not_(fact.read(holds))]
                formula = self._builder.expand(and_(fact.happens({}), *wrong))
            except UnsupportedError as why:
                self._problem(fact, why)
                continue
            yield GoalViolation(formula, (fact.point({}),), (fact.atom.id,))

    # -- two effects -----------------------------------------------------------------------------

    def _distinct(self, found: Sequence[Occurrence], key: Term) -> list[GoalViolation]:
        looped = self._by_key([fact for fact in found if fact.atom.binders], key).all
        straight = self._by_key([fact for fact in found if not fact.atom.binders], key)
        ways = [self._alike(one, one, same=True) for one in looped]
        ways += [
            self._alike(one, other)
            for at, one in enumerate(looped)
            for other in [*looped[at + 1 :], *straight.all]
        ]
        for group in straight.known:
            ways += self._group(group)
        ways += self._open_pairs(straight)
        return [way for way in ways if way.formula is not FALSE]

    def _open_pairs(self, straight: _ByKey) -> list[GoalViolation]:
        """Pairs in which a key is not known. Keys of one shape are equal only if their known parts are."""
        shapes: dict[tuple[Term | None, ...], dict[Any, list[tuple[Occurrence, Term]]]] = {}
        for fact, term in straight.open:
            shape, known = _shape(term)
            shapes.setdefault(shape, {}).setdefault(known, []).append((fact, term))
        closed = [each for group in straight.known for each in group]
        members = [
            [each for group in shape.values() for each in group] for shape in shapes.values()
        ]
        across = sum(map(len, members)) * len(straight.all) - sum(
            len(each) ** 2 for each in members
        )
        if across > MAX_PAIRS and _one_scalar(straight.all):
            return [self._chosen_pair(straight.all)]
        ways: list[GoalViolation] = []
        for at, (shape, mine) in enumerate(zip(shapes.values(), members, strict=True)):
            for group in shape.values():
                ways += self._group(group)
            others = [*(each for later in members[at + 1 :] for each in later), *closed]
            ways += [self._alike(one, other) for one in mine for other in others]
        return ways

    def _alike(
        self, one: tuple[Occurrence, Term], other: tuple[Occurrence, Term], *, same: bool = False
    ) -> GoalViolation:
        """Both happen, with equal keys; an effect and itself in a later iteration of its loops."""
        fact, key = one
        again, again_key = other
        values = copied(again.atom.binders, 1)
        try:
            equal = self._builder.equal(key, self._builder.moved(again_key, values))
            if equal is FALSE:
                return GoalViolation(FALSE)
            conditions = [fact.happens({}), again.happens(values)]
            if same:
                conditions.append(before(fact.point({}), again.point(values)))
            formula = and_(self._builder.expand(and_(*conditions)), equal)
        except UnsupportedError as why:
            self._problem(fact, why)
            return GoalViolation(FALSE)
        points = (fact.point({}), again.point(values))
        return GoalViolation(formula, points, (fact.atom.id, again.atom.id))

    def _group(self, group: Sequence[tuple[Occurrence, Term]]) -> list[GoalViolation]:
        """Effects with one known key: no two of them may happen."""
        if len(group) <= MANY_ALIKE:
            return [self._alike(one, other) for one, other in combinations(group, 2)]
        happens = [self._builder.expand(fact.condition) for fact, _ in group]
        total = apply("add", *(ite(each, const(1), const(0)) for each in happens))
        several = self._builder.expand(apply("lt", const(1), total))
        return [GoalViolation(several, atoms=tuple(fact.atom.id for fact, _ in group))]

    def _chosen_pair(self, straight: Sequence[tuple[Occurrence, Term]]) -> GoalViolation:
        """Too many pairs to write down: the solver chooses two places and the key that they share."""
        builder = self._builder
        key_type = straight[0][1].type
        first, second = builder.fresh("first", INT), builder.fresh("second", INT)
        key = builder.fresh("key", key_type)
        here: list[Term] = []
        there: list[Term] = []
        for at, (fact, term) in enumerate(straight):
            happens = and_(builder.expand(fact.condition), eq(key, term))
            here.append(and_(eq(first, const(at)), happens))
            there.append(and_(eq(second, const(at)), happens))
        formula = and_(apply("lt", first, second), or_(*here), or_(*there))
        return GoalViolation(formula, atoms=tuple(fact.atom.id for fact, _ in straight))

    def _never_after(
        self, first: Sequence[Occurrence], then: Sequence[Occurrence]
    ) -> Iterator[GoalViolation]:
        for one, other in product(first, then):
            if one.position >= other.position and not shared_loops(
                one.atom.binders, other.atom.binders
            ):
                continue
            values = copied(other.atom.binders, 1)
            points = (one.point({}), other.point(values))
            try:
                formula = self._builder.expand(
                    and_(one.happens({}), other.happens(values), before(*points))
                )
            except UnsupportedError as why:
                self._problem(other, why)
                continue
            yield GoalViolation(formula, points, (one.atom.id, other.atom.id))

    # -- an effect that must be there ------------------------------------------------------------

    def _shares_value(self, contract: SharesValue) -> list[GoalViolation]:
        """No pair shares a key. Of a loop, only the first iteration is looked at: what it shows is enough."""
        left, right = self._facts(contract.left), self._facts(contract.right)
        others = self._by_key(right, contract.key, first_iteration=True)
        pairs: list[Term] = []
        for one in left:
            ours = _first_iteration(one)
            try:
                key = self._builder.expand(substitute(one.read(contract.key), ours))
                happens = self._builder.expand(one.happens(ours))
                for other, other_key in others.candidates(key):
                    same = self._builder.equal(key, other_key)
                    if same is not FALSE:
                        both = self._builder.expand(other.happens(_first_iteration(other)))
                        pairs.append(and_(happens, both, same))
            except UnsupportedError as why:
                self._problem(one, why)
            if pairs and pairs[-1] is TRUE:
                return []
        atoms = tuple(dict.fromkeys(fact.atom.id for fact in [*left, *right]))
        return [GoalViolation(not_(or_(*pairs)), atoms=atoms)]

    def _by_key(
        self, found: Sequence[Occurrence], key: Term | None, *, first_iteration: bool = False
    ) -> _ByKey:
        keyed = _ByKey()
        for fact in found:
            try:
                term = TRUE if key is None else fact.read(key)
                if first_iteration:
                    term = substitute(term, _first_iteration(fact))
                keyed.add(fact, self._builder.expand(term))
            except UnsupportedError as why:
                self._problem(fact, why)
        return keyed

    def _before(self, contract: Before) -> list[GoalViolation]:
        if (contract.first_key is None) != (contract.then_key is None):
            raise UnsupportedError("keys of `before` are given for one side only")
        first = self._by_key(self._facts(contract.first), contract.first_key)
        ways: list[GoalViolation] = []
        for then in self._facts(contract.then):
            found: list[Term] = []
            try:
                key = TRUE
                if contract.then_key is not None:
                    key = self._builder.expand(then.read(contract.then_key))
                for one, one_key in first.candidates(key):
                    found += self._witnesses(one, one_key, then, key)
                    if found and found[-1] is TRUE:
                        break
                else:
                    formula = self._builder.expand(and_(then.happens({}), not_(or_(*found))))
                    ways.append(GoalViolation(formula, (then.point({}),), (then.atom.id,)))
            except UnsupportedError as why:
                self._problem(then, why)
        return ways

    def _witnesses(
        self, one: Occurrence, one_key: Term, then: Occurrence, key: Term
    ) -> Iterator[Term]:
        """Ways to see that `one` came before: in chosen iterations, so that finding none proves nothing away."""
        for values in _iterations(one, then):
            order = before(one.point(values), then.point({}))
            if order is not FALSE:
                same = self._builder.equal(self._builder.moved(one_key, values), key)
                yield and_(order, one.happens(values), same)


class _ByKey:
    """Effects with their keys; those whose key is known are found by it."""

    def __init__(self) -> None:
        self._known: dict[Any, list[tuple[Occurrence, Term]]] = {}
        self._open: list[tuple[Occurrence, Term]] = []
        self.all: list[tuple[Occurrence, Term]] = []

    def add(self, fact: Occurrence, key: Term) -> None:
        """One more."""
        self.all.append((fact, key))
        try:
            self._known.setdefault(_hashable(known_value(key)), []).append((fact, key))
        except (UnspecifiedError, TypeError):
            self._open.append((fact, key))

    def candidates(self, key: Term) -> Sequence[tuple[Occurrence, Term]]:
        """Those whose key may be equal."""
        try:
            return [*self._known.get(_hashable(known_value(key)), ()), *self._open]
        except (UnspecifiedError, TypeError):
            return self.all

    @property
    def known(self) -> Sequence[Sequence[tuple[Occurrence, Term]]]:
        """Groups of one known key each."""
        return list(self._known.values())

    @property
    def open(self) -> Sequence[tuple[Occurrence, Term]]:
        """Those whose key is not known."""
        return self._open


def _first_iteration(fact: Occurrence) -> dict[Term, Term]:
    return {binder.index: const(0) for binder in fact.atom.binders}


def _iterations(one: Occurrence, then: Occurrence) -> Iterator[Mapping[Term, Term]]:
    """Iterations of one's loops that may show what then needs: the first, and that of the same index."""
    choices: list[list[Term]] = []
    for at in range(len(one.atom.binders)):
        found: list[Term] = [const(0)]
        if at < len(then.atom.binders):
            found.insert(0, then.atom.binders[at].index)
        choices.append(found)
    for chosen in product(*choices):
        values: dict[Term, Term] = {
            binder.index: index
            for binder, index in zip(one.atom.binders, chosen, strict=True)
            if binder.index is not index
        }
        yield values


def _hashable(value: Any) -> Any:
    """The value as a dict key that is equal exactly when Python's == says so."""
    if isinstance(value, float) and value != value:
        raise TypeError("NaN equals nothing")
    hash(value)
    return value


def _shape(key: Term) -> tuple[tuple[Term | None, ...], Any]:
    """The parts of a key that are not known, and its one known part: `x + 1` is `x + …` and 1."""
    if isinstance(key, App) and (key.op == "concat" or (key.op == "add" and key.type == INT)):
        known = [part for part in key.args if isinstance(part, Const)]
        if len(known) == 1:
            return tuple(None if part is known[0] else part for part in key.args), known[0].value
    return (key,), None


def _one_scalar(keyed: Sequence[tuple[Occurrence, Term]]) -> bool:
    types = {term.type for _, term in keyed}
    return len(types) == 1 and types <= {BOOL, INT, REAL, STR}
