"""Random documents, and random inputs and results for runs of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from lictor_ir.contracts import (
    All,
    AtEnd,
    Before,
    Both,
    Comparison,
    Contract,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
    field,
)
from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    Effect,
    Fluent,
    Guarantee,
    Obligation,
    Parameter,
    Schema,
    Update,
)
from lictor_ir.provenance import argument_labels
from lictor_ir.terms import TRUE, Term, and_, apply, column, const, eq, ite, not_, result, var
from lictor_ir.types import BOOL, INT, NONE, STR, ListOf, RowOf
from lictor_ir.values import RowValue, Value
from lictor_prove.proof.settings import ProofSettings

USER = Schema("User", (Parameter("name", STR), Parameter("n", INT), Parameter("ok", BOOL)))
ROWS = ListOf(RowOf("User"))
EFFECTS = (
    Effect("act", (Parameter("key", STR), Parameter("amount", INT)), NONE),
    Effect("note", (Parameter("key", STR), Parameter("amount", INT)), NONE),
    Effect("query", (), ROWS),
    Effect("query_of", (Parameter("key", STR),), ROWS),
    Effect("number", (Parameter("x", INT),), INT),
)
INPUTS = (Parameter("b", BOOL), Parameter("x", INT), Parameter("s", STR))
KEYS = ["a", "b", "c"]
FLUENT = Fluent("state", STR, INT, const(0))
SETTINGS = ProofSettings(goal_ms=1_500, total_ms=8_000)


class Writer:
    """Writes a random document."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.atoms: list[Atom] = []
        self.assumptions: list[Assumption] = []
        self.obligations: list[Obligation] = []
        self.scalars: dict[str, list[Term]] = {
            "bool": [var("b", BOOL)],
            "int": [var("x", INT)],
            "str": [var("s", STR)],
        }
        self.loops = 0

    def document(self) -> Document:
        self.block((), TRUE, self.random.randint(1, 4))
        guarantees = [Guarantee(f"g{at}", self.contract()) for at in range(3)]
        guarantees.append(Guarantee("both", Both((self.contract(), self.contract()))))
        return Document(
            "random",
            None,
            None,
            effects=EFFECTS,
            schemas=(USER,),
            fluents=(FLUENT,),
            inputs=INPUTS,
            atoms=tuple(self.atoms),
            assumptions=tuple(self.assumptions),
            obligations=tuple(self.obligations),
            guarantees=tuple(guarantees),
        )

    def block(self, binders: tuple[Binder, ...], guard: Term, size: int) -> None:
        for _ in range(size):
            inner = and_(guard, self.guard())
            kind = self.random.choice(["act", "act", "act", "note", "number", "loop"])
            if kind == "loop":
                self.loop(binders, inner)
            elif kind == "number":
                call = self.call("number", {"x": self.int_()}, inner, binders)
                value = result(call.id, INT, self.indices(binders))
                self.scalars["int"].append(ite(inner, value, const(0)))
                self.promise_number(call)
            else:
                self.call(kind, {"key": self.str_(), "amount": self.int_()}, inner, binders)

    def loop(self, binders: tuple[Binder, ...], guard: Term) -> None:
        if len(binders) == 2:
            return
        if self.random.random() < 0.5:
            source = self.call("query", {}, guard, binders)
        else:
            source = self.call("query_of", {"key": self.str_()}, guard, binders)
        rows = result(source.id, ROWS, self.indices(binders))
        if self.random.random() < 0.7:
            most = self.random.randint(0, 2)
            formula = apply("le", apply("len", rows), const(most))
            self.assumptions.append(
                Assumption(source.id, formula, source.guard, source.binders, "short")
            )
        self.loops += 1
        binder = Binder(var(f"i{self.loops}", INT), rows)
        if self.random.random() < 0.3:
            each = column(apply("at", rows, binder.index), "n", INT)
            self.assumptions.append(
                Assumption(
                    source.id,
                    apply("le", const(0), each),
                    source.guard,
                    (*source.binders, binder),
                    "rows",
                )
            )
            self.loops += 1
            binder = Binder(var(f"i{self.loops}", INT), rows)
        row = apply("at", rows, binder.index)
        before = {name: list(terms) for name, terms in self.scalars.items()}
        self.scalars["str"].append(column(row, "name", STR))
        self.scalars["int"].append(column(row, "n", INT))
        self.scalars["bool"].append(column(row, "ok", BOOL))
        self.block((*binders, binder), guard, self.random.randint(1, 2))
        self.scalars = before

    def call(
        self, effect: str, arguments: Mapping[str, Term], guard: Term, binders: tuple[Binder, ...]
    ) -> Atom:
        updates: tuple[Update, ...] = ()
        if effect in ("act", "note") and self.random.random() < 0.5:
            updates = (Update("state", arguments["key"], self.int_()),)
        made = Atom(f"c{len(self.atoms) + 1}", effect, arguments, guard, binders, updates=updates)

        made = Atom(
            made.id,
            effect,
            arguments,
            guard,
            binders,
            updates=updates,
            labels=argument_labels(arguments, ["b", "x", "s"]),
        )
        self.atoms.append(made)
        return made

    def promise_number(self, call: Atom) -> None:
        value = result(call.id, INT, self.indices(call.binders))
        choice = self.random.random()
        if choice < 0.3:
            formula = apply("le", const(1), value)
        elif choice < 0.6:
            # Impossible to keep for some arguments: the call does not return then.
            formula = and_(apply("lt", call.arguments["x"], value), apply("lt", value, const(3)))
        else:
            return
        self.assumptions.append(Assumption(call.id, formula, call.guard, call.binders, "number"))

    def indices(self, binders: tuple[Binder, ...]) -> tuple[Term, ...]:
        return tuple(binder.index for binder in binders)

    def guard(self) -> Term:
        choice = self.random.random()
        if choice < 0.5:
            return TRUE
        if choice < 0.7:
            picked = self.random.choice(self.scalars["bool"])
            return picked if self.random.random() < 0.5 else not_(picked)
        if choice < 0.85:
            return apply("lt", self.int_(), self.int_())
        return eq(self.str_(), self.str_())

    def str_(self) -> Term:
        if self.random.random() < 0.5:
            return const(self.random.choice(KEYS))
        return self.random.choice(self.scalars["str"])

    def int_(self) -> Term:
        if self.random.random() < 0.5:
            return const(self.random.randint(-1, 3))
        return self.random.choice(self.scalars["int"])

    def relation(self) -> Relation:
        names = self.random.choice([("act",), ("act",), ("note",), ("act", "note")])
        where = None
        if self.random.random() < 0.3:
            where = self.predicate()
        return Relation(names, (), where)

    def predicate(self) -> Term:
        key, amount = field("key", STR), field("amount", INT)
        return self.random.choice(
            [
                apply("in", key, apply("list", const("a"), const("b"), const("c"), const(""))),
                eq(key, const("a")),
                not_(eq(key, const("b"))),
                apply("le", amount, const(3)),
                apply("lt", const(0), amount),
            ]
        )

    def contract(self) -> Contract:
        compare = self.random.choice(list(Comparison))
        bound = const(self.random.randint(0, 6))
        key = field("key", STR)
        match self.random.randint(0, 8):
            case 0:
                return All(self.relation(), self.predicate())
            case 1:
                return Empty(self.relation())
            case 2:
                return Distinct(self.relation(), key)
            case 3 | 4:
                return Count(self.relation(), compare, bound)
            case 5:
                return Sum(self.relation(), field("amount", INT), compare, bound)
            case 6:
                return SharesValue(self.relation(), self.relation(), key)
            case 7:
                keys = (key, key) if self.random.random() < 0.5 else (None, None)
                if self.random.random() < 0.5:
                    return Before(self.relation(), self.relation(), *keys)
                return NeverAfter(self.relation(), self.relation())
            case _:
                value = var("value", INT)
                wanted = self.random.choice(
                    [
                        apply("le", value, const(3)),
                        eq(value, const(0)),
                        not_(eq(value, const(1))),
                        eq(value, const(self.random.randint(0, 2))),
                    ]
                )
                only = const("a") if self.random.random() < 0.5 else None
                return AtEnd("state", wanted, only)


def concrete(random_: random.Random) -> tuple[dict[str, Value], Any]:
    """Random inputs, and random results that stay the same for the same call."""
    inputs: dict[str, Value] = {
        "b": random_.random() < 0.5,
        "x": random_.randint(-1, 3),
        "s": random_.choice(KEYS),
    }
    known: dict[tuple[str, tuple[int, ...]], Value] = {}

    def answer(
        call: str, indices: tuple[int, ...], effect: str, arguments: Mapping[str, Value]
    ) -> Value:
        del arguments
        if effect in ("act", "note"):
            return None
        if (call, indices) not in known:
            known[call, indices] = (
                random_.randint(-1, 3)
                if effect == "number"
                else [
                    RowValue(
                        "User",
                        {
                            "name": random_.choice(KEYS),
                            "n": random_.randint(-1, 3),
                            "ok": random_.random() < 0.5,
                        },
                    )
                    for _ in range(random_.choice([0, 1, 1, 2, 2, 3]))
                ]
            )
        return known[call, indices]

    return inputs, answer
