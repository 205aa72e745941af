"""Counts and sums over relations as sums of scalars.

A loop of n iterations adds n numbers h(0) … h(n-1). Their sum lies between n·h(i) for the i with the least h and n·h(i)
for the i with the greatest; so if n·h(i) keeps a bound for every single i, the sum does. The index i is a constant to
be found, one for each loop, and every comparison with a bound allows an interval: upper, lower and exact bounds are
sound.

Floats are added as a run would: one after the other, rounding each time, and never in loops.

A product of two numbers that are not known is a new variable that equals it while the number of iterations is small,
and is left open otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import isfinite
from typing import Final

from lictor_ir.contracts import UPPER, Comparison, Count, Sum
from lictor_ir.document import Binder, Document, Obligation, ObligationKind
from lictor_ir.errors import IrError, UnsupportedError
from lictor_ir.goals.builder import Builder, GoalViolation
from lictor_ir.goals.carried_bounds import Block, LoopBlock, carried_numbers, passed_in_a_round
from lictor_ir.goals.goal import Goal, GoalKind, Strength
from lictor_ir.goals.occurrences import Occurrence, facts, length
from lictor_ir.scalars import rewriting
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
    implies,
    ite,
    not_,
    or_,
    postorder,
)
from lictor_ir.types import BOOL, FLOAT, INT, REAL, Type

MOST_ITERATIONS: Final = 64
"""Up to so many iterations, a product with an unknown number is spelled out."""
MAX_ALTERNATIVES: Final = 64
EXACT_INTS: Final = 2**53
"""Floats hold every int up to this."""


@dataclass(frozen=True, slots=True)
class Addend:
    """A number that counts when its condition holds."""

    condition: Term
    value: Term
    block: int
    """The position from which on a run may have added it."""


def aggregate_goal(builder: Builder, goal_id: str, subject: int, contract: Count | Sum) -> Goal:
    """The goal of a `Count` or `Sum`."""
    found, undecided = facts(builder.document, contract.relation)
    adding = _Adding(builder, _type(contract, found))
    try:
        bound = adding.limit(builder.expand(contract.bound))
        addends = adding.total(found, contract)
    except UnsupportedError as why:
        return Goal(
            goal_id,
            GoalKind.GUARANTEE,
            subject,
            (),
            FALSE,
            Strength.ON_COMPLETION,
            tuple(fact.atom.id for fact in found),
            (*undecided, str(why)),
        )
    if adding.type == FLOAT and _plainly_kept(contract.comparison, addends, bound):
        addends = []
    growing = all(_not_negative(each.value) for each in addends)
    upper = contract.comparison in UPPER
    strength = Strength.EVERY_PREFIX if upper and growing else Strength.ON_COMPLETION
    total = adding.sum_of(addends)
    passed = adding.passed(found, contract, bound) if upper else []
    violated = and_(not_(compared(contract.comparison, total, bound)), *passed)
    atoms = tuple(dict.fromkeys(fact.atom.id for fact in found))
    given = adding.given
    if strength == Strength.EVERY_PREFIX and violated is not FALSE:
        instances = builder.assumed.relevant([violated, *given])
        waiting = [each for each in instances if not each.own]
        if waiting:
            # The run may end anywhere: a promise counts only when it got past the call's loop.
            end = builder.fresh("end", INT)
            total = adding.sum_of(
                [
                    Addend(
                        and_(apply("le", const(each.block), end), each.condition),
                        each.value,
                        each.block,
                    )
                    for each in addends
                ]
            )
            violated = and_(not_(compared(contract.comparison, total, bound)), *passed)
            last = _last_of_block(builder)
            given = [
                *given,
                *(
                    implies(apply("lt", const(last[each.point.position]), end), each.formula)
                    for each in waiting
                ),
            ]
    return builder.goal(
        goal_id,
        GoalKind.GUARANTEE,
        subject,
        [GoalViolation(violated, atoms=atoms)],
        strength=strength,
        given=given,
        undecided=undecided,
    )


def never_decreases(document: Document, contract: Sum) -> bool:
    """Whether no call can bring the sum down again, so that a broken upper bound stays broken.

    Of each number that is added, its term shows that it is not negative, or a condition of its call does. A proof that
    holds of every prefix relies on the former.
    """
    found, undecided = facts(document, contract.relation)
    adding = _Adding(Builder(document), _type(contract, found))
    required: dict[str | None, list[Obligation]] = {}
    for each in document.obligations:
        if each.kind is ObligationKind.PRECONDITION:
            required.setdefault(each.call, []).append(each)
    try:
        return not undecided and all(
            _has_condition(fact, fact.read(contract.of), required.get(fact.atom.id, ()))
            or all(_not_negative(each.value) for each in adding.own(fact, contract))
            for fact in found
        )
    except IrError:
        return False


def _has_condition(fact: Occurrence, number: Term, required: Sequence[Obligation]) -> bool:
    """Whether the call is made only where the number is not negative: by its guard, `where` or preconditions."""
    place = (fact.atom.guard, fact.atom.binders)
    met = [each.formula for each in required if (each.guard, each.binders) == place]
    known = and_(fact.condition, *met)
    parts = known.args if isinstance(known, App) and known.op == "and" else (known,)
    return any(_is_lower_bound(each, number) for each in parts)


def _is_lower_bound(condition: Term, number: Term) -> bool:
    match condition:
        case App(op="lt" | "le", args=(Const() as least, limited)):
            pass
        case App(op="not", args=(App(op="lt" | "le", args=(limited, Const() as least)),)):
            pass
        case _:
            return False
    return limited is number and _not_negative(least)


def _last_of_block(builder: Builder) -> list[int]:
    """For each position, the last position of the outermost loop around it."""
    atoms = builder.document.atoms
    last = list(range(len(atoms)))
    for at in range(len(atoms) - 2, -1, -1):
        here, after = atoms[at].binders, atoms[at + 1].binders
        if here and after and here[0].index is after[0].index:
            last[at] = last[at + 1]
    return last


def _first_of_block(builder: Builder) -> list[int]:
    atoms = builder.document.atoms
    first = list(range(len(atoms)))
    for at in range(1, len(atoms)):
        here, earlier = atoms[at].binders, atoms[at - 1].binders
        if here and earlier and here[0].index is earlier[0].index:
            first[at] = first[at - 1]
    return first


def compared(comparison: Comparison, total: Term, bound: Term) -> Term:
    match comparison:
        case Comparison.AT_MOST:
            return rewriting.ordered("le", total, bound)
        case Comparison.LESS:
            return rewriting.ordered("lt", total, bound)
        case Comparison.AT_LEAST:
            return rewriting.ordered("le", bound, total)
        case Comparison.MORE:
            return rewriting.ordered("lt", bound, total)
        case Comparison.EXACTLY:
            return rewriting.equal(total, bound)


def _type(contract: Count | Sum, found: Sequence[Occurrence]) -> Type:
    """Ints stay ints; what has reals or floats in it is added exactly, as rational numbers."""
    if isinstance(contract, Count):
        return INT
    found_types = {fact.read(contract.of).type for fact in found if _readable(fact, contract.of)}
    if found_types <= {INT, BOOL}:
        return INT
    return REAL if found_types <= {INT, BOOL, REAL} else FLOAT


def _plainly_kept(comparison: Comparison, addends: Sequence[Addend], bound: Term) -> bool:
    """Whether an upper bound holds even if everything is added: rounding never turns a greater sum into a lesser."""
    if comparison not in UPPER or not isinstance(bound, Const):
        return False
    if not all(_not_negative(each.value) for each in addends):
        return False
    total: Term = const(0.0)
    for each in addends:
        total = apply("add", total, each.value)
    return compared(comparison, total, bound) is TRUE


def _readable(fact: Occurrence, term: Term) -> bool:
    try:
        fact.read(term)
    except UnsupportedError:
        return False
    return True


def _not_negative(value: Term) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, int | Fraction | float) and value.value >= 0
    if value.type != INT:
        return False
    bottom = rewriting.interval(value).bottom
    return bottom is not None and bottom >= 0


class _Adding:
    """Adds up the facts of one contract."""

    def __init__(self, builder: Builder, type_: Type) -> None:
        self._builder = builder
        self.type = type_
        self._first = _first_of_block(builder)
        self._ints = 0
        self.given: list[Term] = []

    def limit(self, term: Term) -> Term:
        """A bound in a type that the sum is compared with exactly."""
        if term.type == BOOL:
            term = apply("int_of_bool", term)
        if term.type in (self.type, INT) or (self.type == INT and term.type in (REAL, FLOAT)):
            return term
        if isinstance(term, Const) and isinstance(term.value, float) and isfinite(term.value):
            return const(Fraction(term.value))
        raise UnsupportedError(f"a sum of {self.type} is compared with {term.type}")

    def number(self, term: Term) -> Term:
        """An addend in the type that is added in."""
        if term.type == BOOL:
            term = apply("int_of_bool", term)
        if term.type == self.type:
            return term
        if term.type == INT and self.type == REAL:
            return apply("real_of_int", term)
        if isinstance(term, Const) and isinstance(term.value, int) and self.type == FLOAT:
            # Ints that are added before the first float add up exactly; so do these as floats.
            self._ints += abs(term.value)
            if self._ints <= EXACT_INTS:
                return const(float(term.value))
        raise UnsupportedError(f"{term.type} is added to {self.type}")

    def sum_of(self, addends: Sequence[Addend]) -> Term:
        """The sum as one term."""
        if self.type == FLOAT:
            total: Term = const(0.0)
            for each in addends:
                total = ite(each.condition, apply("add", total, each.value), total)
            return total
        zero = const(0) if self.type == INT else const(Fraction(0))
        parts = [ite(each.condition, each.value, zero) for each in addends]
        known = [
            part.value
            for part in parts
            if isinstance(part, Const) and isinstance(part.value, int | Fraction)
        ]
        rest = [part for part in parts if not isinstance(part, Const)]
        together = sum(known, Fraction(0))
        start = const(together if self.type == REAL else int(together))
        return apply("add", *rest, start) if rest else start

    def total(self, found: Sequence[Occurrence], contract: Count | Sum) -> list[Addend]:
        """What all facts add."""
        return self._level(found, 0, contract)

    def _level(
        self, found: Sequence[Occurrence], depth: int, contract: Count | Sum
    ) -> list[Addend]:
        """What one iteration of the loops down to that depth adds."""
        addends: list[Addend] = []
        loops: dict[Term, tuple[Binder, list[Occurrence]]] = {}
        for fact in found:
            if len(fact.atom.binders) == depth:
                addends += self.own(fact, contract)
            else:
                binder = fact.atom.binders[depth]
                loops.setdefault(binder.index, (binder, []))[1].append(fact)
        if loops and self.type == FLOAT:
            raise UnsupportedError("floats are added in a loop")
        for binder, inside in loops.values():
            runs = self._builder.expand(length(binder.over))
            self.given.append(
                implies(
                    apply("lt", const(0), runs),
                    and_(apply("le", const(0), binder.index), apply("lt", binder.index, runs)),
                )
            )
            for each in self._level(inside, depth + 1, contract):
                if each.condition is FALSE:
                    continue
                condition = and_(apply("lt", const(0), runs), each.condition)
                addends.append(Addend(condition, self._times(runs, each.value), each.block))
        return addends

    def passed(self, found: Sequence[Occurrence], contract: Count | Sum, bound: Term) -> list[Term]:
        """What holds of every run in which the total passes the bound, by what loops carry."""
        if self.type != INT:
            return []
        builder, blocks = self._builder, list[Block]()
        for binder, group in groupby(found, lambda fact: next(iter(fact.atom.binders), None)):
            inside = list(group)
            adds = self.sum_of(self._level(inside, 0, contract))
            numbers = () if binder is None else carried_numbers(builder.document, binder)
            if binder is None or not numbers or any(len(f.atom.binders) > 1 for f in inside):
                blocks.append(Block(adds))
                continue
            runs = builder.expand(length(binder.over))
            round_ = self.sum_of([each for fact in inside for each in self.own(fact, contract)])
            blocks.append(Block(round_, LoopBlock(binder, runs, numbers)))
        if all(each.measured is None for each in blocks):
            return []
        return list(
            passed_in_a_round(
                blocks,
                lambda total: compared(contract.comparison, total, bound),
                builder.expand,
                lambda term, index, to: builder.moved(term, {index: to}),
                lambda: builder.fresh("round", INT),
            )
        )

    def own(self, fact: Occurrence, contract: Count | Sum) -> list[Addend]:
        condition = self._builder.expand(fact.condition)
        block = self._first[fact.position]
        if condition is FALSE:
            return []
        if isinstance(contract, Count):
            one = const(1) if self.type == INT else const(Fraction(1))
            return [Addend(condition, one, block)]
        value = self._builder.expand(fact.read(contract.of))
        return [
            Addend(and_(condition, guard), self.number(each), block)
            for guard, each in _alternatives(value)
        ]

    def _times(self, runs: Term, value: Term) -> Term:
        """As often as the loop runs, which is more than zero times here."""
        if isinstance(value, Const) and value.value == 0:
            return value
        if isinstance(runs, Const) or isinstance(value, Const):
            count = runs if self.type == INT else apply("real_of_int", runs)
            return apply("mul", count, value)
        product = self._builder.fresh("product", self.type)
        zero = const(0) if self.type == INT else const(Fraction(0))
        known = self._most(runs)
        most = known if known is not None else MOST_ITERATIONS // 8
        if most <= MOST_ITERATIONS:
            spelled = apply(
                "add",
                value,
                *(ite(apply("le", const(k), runs), value, zero) for k in range(2, most + 1)),
            )
            meaning = eq(product, spelled)
        else:
            times = apply("mul", const(most if self.type == INT else Fraction(most)), value)
            positive = apply("le", zero, value)
            meaning = and_(
                or_(not_(positive), and_(apply("le", value, product), apply("le", product, times))),
                or_(positive, and_(apply("le", times, product), apply("le", product, value))),
            )
        self.given.append(
            implies(and_(apply("le", const(1), runs), apply("le", runs, const(most))), meaning)
        )
        return product

    def _most(self, runs: Term) -> int | None:
        """The greatest length that a promise names; only a guess, under which the product is spelled out."""
        tops: list[int] = []
        for instance in self._builder.assumed.relevant([runs]):
            for term in postorder(instance.formula):
                if isinstance(term, App) and term.op in ("le", "lt", "eq"):
                    left, right = term.args
                    if left is runs and isinstance(right, Const) and isinstance(right.value, int):
                        tops.append(right.value)
                    elif right is runs and isinstance(left, Const) and isinstance(left.value, int):
                        tops.append(left.value)
        return max(tops) if tops and max(tops) > 0 else None


def _alternatives(value: Term) -> list[tuple[Term, Term]]:
    """What the number may be, each under its guard; numbers with too many alternatives stay whole."""
    found: list[tuple[Term, Term]] = []
    stack: list[tuple[Term, Term]] = [(and_(), value)]
    while stack:
        guard, at = stack.pop()
        if isinstance(at, App) and at.op == "ite" and len(found) + len(stack) < MAX_ALTERNATIVES:
            stack.append((and_(guard, not_(at.args[0])), at.args[2]))
            stack.append((and_(guard, at.args[0]), at.args[1]))
        elif guard is not FALSE:
            found.append((guard, at))
    return found
