"""Bounds that a loop keeps by what it carries from round to round: a budget that is spent, a counter that is asked.

Say that each round adds at most as much to the total as a number that the loop carries grows meanwhile (or shrinks).
Then the total is never above what the number has grown since its first round. Where that passes the bound, it does so
in some round for the first time: before that round it was not above, after it it is. So a bound is kept if no round
adds more than the number grows, and none takes it over the bound. Both are said of one round, which is to be found; no
induction is left for a solver. Which number, and how it is counted, is tried from a few: one that does is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

from lictor_ir.document import Binder, Document, Fact, FactKind
from lictor_ir.terms import (
    Const,
    Term,
    and_,
    apply,
    const,
    ite,
    not_,
    or_,
    postorder,
    result,
)
from lictor_ir.types import INT

MAX_MEASURES: Final = 12
"""Ways to count one loop by what it carries."""
MAX_CHOICES: Final = 16
"""Ways to count all loops."""
MAX_FACTORS: Final = 4

Terms = Callable[[Term], Term]


@dataclass(frozen=True, slots=True)
class Block:
    """What adds to a total: calls one after the other, or all rounds of a loop."""

    adds: Term
    """In all; in one round, where `measured` says how often."""
    measured: LoopBlock | None = None


@dataclass(frozen=True, slots=True)
class LoopBlock:
    """A loop that carries numbers."""

    binder: Binder
    runs: Term
    carried: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class _Measure:
    """A carried number, and how much of the total it stands for."""

    fact: Fact
    counts: Terms


def carried_numbers(document: Document, binder: Binder) -> tuple[Fact, ...]:
    """What is known from round to round of the numbers that an outermost loop carries."""
    binders = {each.id: each.binders for each in document.unknowns}
    return tuple(
        fact
        for fact in document.facts
        if fact.kind is FactKind.NEXT
        and fact.term.type == INT
        and binders.get(fact.about) == (binder,)
    )


def passed_in_a_round(
    blocks: Sequence[Block],
    is_kept: Terms,
    expand: Terms,
    moved: Callable[[Term, Term, Term], Term],
    fresh: Callable[[], Term],
) -> Iterator[Term]:
    """Formulas that each hold of every run in which the total passes the bound.

    `is_kept` says it of a total; `moved` takes a term to another round: the index, and what it becomes.
    """
    measures = [
        [None]
        if each.measured is None
        else list(islice(_measures(each.measured, each.adds), MAX_MEASURES))
        for each in blocks
    ]
    for chosen in islice(product(*measures), MAX_CHOICES):
        total: Term = const(0)
        ways = [not_(is_kept(total))]
        for block, measure in zip(blocks, chosen, strict=True):
            if block.measured is None or measure is None:
                after = apply("add", total, block.adds)
                ways.append(and_(is_kept(total), not_(is_kept(after))))
                total = after
                continue
            loop, index = block.measured, fresh()
            fact, here = measure.fact, block.measured.binder.index
            number = result(fact.about, INT, [here])
            assert fact.first is not None
            start = expand(measure.counts(fact.first))
            now, then = (
                moved(expand(measure.counts(each)), here, index) for each in (number, fact.term)
            )
            grown = [apply("add", total, apply("sub", each, start)) for each in (now, then)]
            adds = moved(block.adds, here, index)
            ways.append(
                and_(
                    apply("le", const(0), index),
                    apply("lt", index, loop.runs),
                    or_(
                        and_(is_kept(grown[0]), not_(is_kept(grown[1]))),
                        apply("lt", apply("sub", then, now), adds),
                    ),
                )
            )
            left = expand(measure.counts(result(fact.about, INT, [loop.runs])))
            total = apply(
                "add",
                total,
                ite(apply("lt", const(0), loop.runs), apply("sub", left, start), const(0)),
            )
        yield or_(*ways)


def _measures(loop: LoopBlock, adds: Term) -> Iterator[_Measure]:
    for fact in loop.carried:
        yield _Measure(fact, lambda number: number)
        yield _Measure(fact, lambda number: apply("neg", number))
        for factor in islice(_factors(adds), MAX_FACTORS):
            yield _Measure(fact, lambda n, by=factor: apply("mul", const(by), n))
            yield _Measure(fact, lambda n, by=factor: apply("mul", const(-by), n))
        for size in islice(_factors(fact.term), MAX_FACTORS):
            # How many steps of this size are left, rounded up.
            yield _Measure(fact, lambda n, by=size: apply("floordiv", apply("neg", n), const(by)))


def _factors(term: Term) -> Iterator[int]:
    found = (
        abs(part.value)
        for part in postorder(term)
        if isinstance(part, Const) and type(part.value) is int
    )
    yield from dict.fromkeys(each for each in found if 1 < each < 2**31)
