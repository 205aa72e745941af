"""Random documents of loops that carry numbers from round to round, with facts about them, and runs of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from libs.prove.tests.random_documents import EFFECTS, INPUTS, USER
from lictor_ir.contracts import Comparison, Contract, Count, Relation, Sum, field
from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    Fact,
    FactKind,
    Guarantee,
    Unknown,
)
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation import Trace, run
from lictor_ir.evaluation.steps import each_iteration
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.provenance import argument_labels, made_of
from lictor_ir.terms import TRUE, Result, Term, and_, apply, const, ite, not_, result, var
from lictor_ir.types import BOOL, INT, Type
from lictor_ir.values import Value

_INPUTS = [each.name for each in INPUTS]


class LoopWriter:
    """Writes a random document: a loop or two that pay, and spend a budget or count meanwhile."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.bound = self.random.randint(0, 8)
        self.atoms: list[Atom] = []
        self.unknowns: list[Unknown] = []
        self.facts: list[Fact] = []
        self.assumptions: list[Assumption] = []
        self.left: list[Term] = []
        """What loops left."""

    def document(self) -> Document:
        for _ in range(self.random.choice([1, 1, 2])):
            self.loop()
        return Document(
            "random",
            None,
            None,
            effects=EFFECTS,
            schemas=(USER,),
            inputs=INPUTS,
            atoms=tuple(self.atoms),
            unknowns=tuple(self.unknowns),
            facts=tuple(self.facts),
            assumptions=tuple(self.assumptions),
            guarantees=tuple(Guarantee(f"g{at}", self.contract()) for at in range(3)),
        )

    def unknown(self, type_: Type, *binders: Binder) -> Result:
        name = f"u{len(self.unknowns) + 1}"
        self.unknowns.append(Unknown(name, type_, "?", binders))
        read = result(name, type_, [binder.index for binder in binders])
        assert isinstance(read, Result)
        return read

    def call(
        self, effect: str, arguments: Mapping[str, Term], guard: Term, binder: Binder, fails: bool
    ) -> Atom:
        labels = argument_labels(arguments, _INPUTS)
        name = f"c{len(self.atoms) + 1}"
        self.atoms.append(
            Atom(name, effect, arguments, guard, (binder,), labels=labels, fails=fails)
        )
        return self.atoms[-1]

    def loop(self) -> None:
        pick = self.random.choice
        number = self.unknown(INT)
        rounds = ite(apply("lt", number, const(0)), const(0), number)
        binder = Binder(var(f"i{len(self.unknowns)}", INT), rounds)
        carried = [self.unknown(INT, binder) for _ in range(pick([1, 1, 2]))]
        first, begun = carried[0], len(self.atoms)
        amount = pick([first, const(1), const(pick([-1, 0, 2, 3])), self.amount(binder, first)])
        going = pick(
            [
                TRUE,
                apply("lt", const(0), first),
                apply("le", amount, first),
                apply("lt", first, const(self.bound)),
                apply("le", apply("add", first, amount), const(self.bound)),
            ]
        )
        if going is not TRUE and self.chance(0.6):
            self.facts.append(Fact(first.call, FactKind.HOLDS, going))
        guard = pick([TRUE, going, going, apply("lt", const(0), amount)])
        if self.chance(0.3):
            guard = and_(guard, self.unknown(BOOL, binder))
        passed = {"key": const("a"), "amount": amount}
        self.call("act", passed, guard, binder, fails=self.chance(0.15))
        if self.chance(0.3):
            other = {"key": const("b"), "amount": pick([amount, first, const(1)])}
            self.call(pick(["act", "note"]), other, pick([guard, not_(guard)]), binder, fails=False)
        for each in carried:
            self.follow(each, guard, pick([amount, amount, const(1), const(-1)]), begun)
        self.left += (result(each.call, INT, [rounds]) for each in carried if self.chance(0.7))

    def amount(self, binder: Binder, first: Term) -> Term:
        """What a call returned, or nobody knows."""
        if self.chance(0.5):
            made = self.unknown(INT, binder)
            if self.chance(0.6):
                self.facts.append(Fact(made.call, FactKind.HOLDS, apply("le", const(0), made)))
            return made
        call = self.call("number", {"x": first}, TRUE, binder, fails=False)
        returned = result(call.id, INT, [binder.index])
        if self.chance(0.6):
            natural = apply("le", const(0), returned)
            self.assumptions.append(Assumption(call.id, natural, call.guard, (binder,), "natural"))
        return returned

    def follow(self, carried: Result, guard: Term, step: Term, begun: int) -> None:
        """Say what the next round begins with."""
        pick = self.random.choice
        bounds = [const(self.bound), const(0), const(self.bound - 1), var("x", INT), *self.left]
        first, term = pick(bounds), apply(pick(["sub", "sub", "add"]), carried, step)
        if self.chance(0.5):
            term = ite(guard, term, carried)
        self.facts.append(Fact(carried.call, FactKind.NEXT, term, first=first))
        made = set(made_of([first, term], _INPUTS, self.unknowns))
        earlier = {atom.id for atom in self.atoms[:begun]}
        before = {each for each in made if each.startswith("input:") or each in earlier}
        at = next(at for at, each in enumerate(self.unknowns) if each.id == carried.call)
        self.unknowns[at] = replace(
            self.unknowns[at], labels=tuple(sorted(before)), carried=tuple(sorted(made - before))
        )

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def contract(self) -> Contract:
        relation = Relation(self.random.choice([("act",), ("act", "note")]))
        compare = self.random.choice([Comparison.AT_MOST, Comparison.AT_MOST, Comparison.LESS])
        bound = const(self.bound + self.random.choice([0, 0, 0, 1, -1, 2]))
        if self.chance(0.6):
            return Sum(relation, field("amount", INT), compare, bound)
        return Count(relation, compare, bound)


def runs(document: Document, random_: random.Random, tries: int) -> Iterator[Trace]:
    """Runs of the document in which its facts hold; those that are too long are left out."""
    types = {each.id: each.type for each in document.unknowns}

    def answer(_call: str, _at: tuple[int, ...], effect: str, _given: Mapping[str, Value]) -> Value:
        return random_.randint(-1, 4) if effect == "number" else None

    def chosen(name: str, _at: tuple[int, ...]) -> Value:
        if types[name] == BOOL:
            return random_.random() < 0.5
        return random_.choice([-1, 0, 0, 1, 1, 2, 2, 3, 4, 5])

    for _ in range(tries):
        inputs: dict[str, Any] = {"b": True, "x": random_.randint(-1, 3), "s": ""}
        try:
            trace = run(document, inputs, answer, most=300, chosen=chosen)
            if _keeps_facts(trace):
                yield trace
        except UnspecifiedError:
            continue


def _keeps_facts(trace: Trace) -> bool:
    """Whether what holds in each round does; what is next was computed."""
    binders = {each.id: each.binders for each in trace.document.unknowns}
    outside = Evaluation(trace.environment())
    return all(
        inside.holds(fact.term)
        for fact in trace.document.facts
        if fact.kind is FactKind.HOLDS
        for inside, _ in each_iteration(binders[fact.about], outside, fact.guard)
    )
