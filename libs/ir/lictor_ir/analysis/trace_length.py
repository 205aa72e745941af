"""How many steps of a trace are enough to show that a contract is broken while others hold.

Let a trace T keep the premises and break a contract. Some of its steps, the core, break it by themselves: every
sub-trace of T that has them breaks it too. To the core are added the steps without which a premise would no longer
hold. What is left is a trace of a known number of steps that keeps the premises and breaks the contract. So if no trace
of so many steps does, none does.

| broken contract | core |
|---|---|
| `all`, `empty`, `before` | the row: for `before`, what is missing before it is missing in every sub-trace |
| `distinct`, `never_after` | the two rows |
| `count` at most n | n + 1 rows |
| `count` at least n, `shares_value` | nothing: a sub-trace has less |
| `sum` | all rows of its relation, where the premises limit their number |
| `at_end` | the last step that sets the key |

| premise | what a sub-trace must keep |
|---|---|
| `all`, `empty`, `distinct`, `never_after`, `count` at most n | nothing: they hold of every sub-trace |
| `sum` at most n of what is never negative (at least n of what is never positive) | nothing |
| other `sum` | all rows of its relation, where the premises limit their number |
| `before` | for each row that needs one, the row before it; that one may need another in turn |
| `count` at least n | n rows |
| `shares_value` | the two rows |
| `at_end` | the last step that sets the key; of all keys, it is used for the keys that are tracked anyway |

A premise that can't be kept so, or not within the most steps that are tried, is left out: fewer premises prove less,
never more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lictor_ir.analysis.contract_parts import Leaf, Quiet, least_rows, most_rows, spoken_of
from lictor_ir.analysis.trace_variables import SignatureScope
from lictor_ir.contracts import (
    UPPER,
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
from lictor_ir.covered_effects import is_covered
from lictor_ir.terms import Term

MAX_STEPS: Final = 9
"""Longer traces are not tried."""
MAX_ROWS: Final = 120
"""Rows of all steps together."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kept step brings with it: its effect, if it matters, and the events that it can't be without."""

    effect: str | None
    events: tuple[str, ...]
    """As often as they are performed: each is a row of its own."""


@dataclass(frozen=True, slots=True)
class KeptSteps:
    """Steps that must stay: so many, of one of these shapes."""

    steps: int
    shapes: frozenset[Shape]


@dataclass(frozen=True, slots=True)
class TraceBound:
    """A length of traces that is enough, with what may be assumed of them."""

    steps: int
    premises: tuple[Contract, ...]
    left_out: tuple[Contract, ...]
    keys: Mapping[str, tuple[Term, ...]] = field(default_factory=dict[str, tuple[Term, ...]])
    """Keys of fluents whose last setting is kept."""


def is_hereditary(leaf: Contract) -> bool:
    """Whether it holds of every sub-trace of a trace that it holds of."""
    match leaf:
        case All() | Empty() | Distinct() | NeverAfter():
            return True
        case Count():
            return leaf.comparison in UPPER
        case _:
            return False


def plan(
    scope: SignatureScope,
    leaf: Leaf,
    premises: Sequence[Contract],
    *,
    shrinking: frozenset[Contract] = frozenset(),
    limits: Mapping[Relation, int] | None = None,
    key: Term | None = None,
) -> TraceBound | None:
    """A length that is enough for the leaf, or None when none is known.

    `shrinking`: sums that hold of every sub-trace. `limits`: most rows of a relation. `key`: of the leaf's fluent.
    """
    planning = _Planning(scope, limits or {})
    core = planning.core(leaf)
    if core is None:
        return None
    befores = planning.acyclic([each for each in premises if isinstance(each, Before)])
    used: list[Contract] = []
    costs: list[tuple[int, Contract]] = []
    kept: dict[Contract, list[KeptSteps]] = {}
    for each in premises:
        if is_hereditary(each) or each in shrinking:
            used.append(each)
        elif isinstance(each, Before):
            if each in befores:
                kept[each] = []
        elif (found := planning.kept(each)) is not None:
            kept[each] = found
            costs.append((sum(item.steps for item in found), each))
    # The dearest premises are given up first.
    order = [each for _, each in sorted(costs, key=lambda cost: -cost[0])] + list(befores)
    while True:
        items = [*core, *(item for each in kept for item in kept[each])]
        steps = planning.steps(items, [each for each in befores if each in kept])
        if planning.fits(steps):
            break
        if not order:
            return None
        given_up = order.pop(0)
        kept.pop(given_up, None)
    chosen = [each for each in premises if each in used or each in kept]
    keys: dict[str, tuple[Term, ...]] = {}
    if isinstance(leaf, AtEnd) and key is not None:
        keys[leaf.fluent] = (key,)
    for each in chosen:
        if isinstance(each, AtEnd) and each.key is not None:
            keys[each.fluent] = (*keys.get(each.fluent, ()), each.key)
    left_out = tuple(each for each in premises if each not in chosen)
    return TraceBound(steps, tuple(chosen), left_out, keys)


class _Planning:
    def __init__(self, scope: SignatureScope, limits: Mapping[Relation, int]) -> None:
        self._scope = scope
        self._limits = limits
        self._events = {event.name: event for event in scope.events}

    def core(self, leaf: Leaf) -> list[KeptSteps] | None:
        """The steps that break it by themselves."""
        match leaf:
            case All() | Empty():
                return [KeptSteps(1, self.shapes(leaf.relation))]
            case Quiet(relations, fluents):
                found = [self.shapes(relation) for relation in relations]
                found += [self.setting(fluent) for fluent in fluents]
                return [KeptSteps(1, frozenset[Shape]().union(*found))]
            case Distinct():
                return [KeptSteps(2, self.shapes(leaf.relation))]
            case NeverAfter():
                return [KeptSteps(1, self.shapes(leaf.first)), KeptSteps(1, self.shapes(leaf.then))]
            case Before():
                return [KeptSteps(1, self.shapes(leaf.then))]
            case SharesValue():
                return []
            case Count():
                most = most_rows(leaf)
                if leaf.comparison in UPPER:
                    return (
                        None if most is None else [KeptSteps(most + 1, self.shapes(leaf.relation))]
                    )
                return None if least_rows(leaf) is None else []
            case Sum():
                return self._whole(leaf.relation)
            case AtEnd():
                return [KeptSteps(1, self.setting(leaf.fluent))]
            case _:
                return None

    def kept(self, premise: Contract) -> list[KeptSteps] | None:
        """The steps that it needs; None when no number is known."""
        match premise:
            case SharesValue():
                return [
                    KeptSteps(1, self.shapes(premise.left)),
                    KeptSteps(1, self.shapes(premise.right)),
                ]
            case Count():
                least = least_rows(premise)
                return None if least is None else [KeptSteps(least, self.shapes(premise.relation))]
            case Sum():
                return self._whole(premise.relation)
            case AtEnd():
                return [] if premise.key is None else [KeptSteps(1, self.setting(premise.fluent))]
            case _:
                return None

    def _whole(self, relation: Relation) -> list[KeptSteps] | None:
        most = self._limits.get(relation)
        return None if most is None else [KeptSteps(most, self.shapes(relation))]

    def shapes(self, relation: Relation) -> frozenset[Shape]:
        """The steps that may have a row of the relation, without what they can do without."""
        found: set[Shape] = set()
        for effect in self._scope.effects:
            performed = self._performed(effect.name)
            if effect.name in relation.effects or self._covered(relation, performed):
                found.add(Shape(effect.name, performed))
        if self._scope.signature.is_free:
            for event in self._scope.events:
                if is_covered(event, relation):
                    found |= self._any_call((event.name,))
        return frozenset(found)

    def setting(self, fluent: str) -> frozenset[Shape]:
        """The steps that may set the fluent."""
        if self._scope.signature.is_free:
            return self._any_call(())
        return frozenset(
            Shape(effect.name, self._performed(effect.name))
            for effect in self._scope.effects
            if any(
                each.fluent == fluent
                for each in self._scope.signature.behaviour(effect.name).updates
            )
        )

    def _any_call(self, events: tuple[str, ...]) -> frozenset[Shape]:
        names: list[str | None] = [effect.name for effect in self._scope.effects]
        return frozenset(Shape(name, events) for name in [*names, None])

    def _performed(self, effect: str) -> tuple[str, ...]:
        return tuple(each.event for each in self._scope.signature.behaviour(effect).events)

    def _covered(self, relation: Relation, events: Iterable[str]) -> int:
        known = (self._events.get(name) for name in events)
        return sum(event is not None and is_covered(event, relation) for event in known)

    def _needing(self, shapes: Iterable[Shape], premise: Before) -> int:
        """How many rows one step has at most that need another before them; each may need one of its own."""
        return max(
            (
                (shape.effect in premise.then.effects) + self._covered(premise.then, shape.events)
                for shape in shapes
            ),
            default=0,
        )

    def acyclic(self, befores: Sequence[Before]) -> tuple[Before, ...]:
        """Those of which what is needed does not lead back to themselves."""
        after = {
            each: [other for other in befores if self._needing(self.shapes(each.first), other)]
            for each in befores
        }

        def leads_back(start: Before) -> bool:
            seen: set[Before] = set()
            stack = list(after[start])
            while stack:
                each = stack.pop()
                if each == start:
                    return True
                if each not in seen:
                    seen.add(each)
                    stack.extend(after[each])
            return False

        return tuple(each for each in befores if not leads_back(each))

    def steps(self, items: Sequence[KeptSteps], befores: Sequence[Before]) -> int:
        """All steps that are kept, with what has to come before them."""
        known: dict[Before, int] = {}

        def chain(premise: Before) -> int:
            if premise not in known:
                known[premise] = 1 + extra(self.shapes(premise.first))
            return known[premise]

        def extra(shapes: frozenset[Shape]) -> int:
            needing = ((each, self._needing(shapes, each)) for each in befores)
            return sum(rows * chain(each) for each, rows in needing if rows)

        return sum(item.steps * (1 + extra(item.shapes)) for item in items)

    def fits(self, steps: int) -> bool:
        """Whether traces of so many steps can be tried."""
        if steps > MAX_STEPS:
            return False
        kinds = len(self._scope.effects)
        if self._scope.signature.is_free:
            kinds += steps * len(self._scope.events)
        return steps * kinds <= MAX_ROWS


def relations_of(leaves: Iterable[Leaf]) -> list[Relation]:
    """Every relation that is read, once."""
    return list(dict.fromkeys(relation for leaf in leaves for relation in spoken_of(leaf)))
