"""`all(… for …)` over lists of unknown length, where a promise is read: what holds of every item.

Terms have no quantifiers. While a promise is executed, a variable stands for "of every item"; afterwards the formula is
taken apart into clauses, each with the indices that it holds for. A clause says at most what the promise says: `any`
promises that there is an item, and says of none that it is the one, so nothing comes of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from lictor_ir.document import Binder
from lictor_ir.terms import FALSE, TRUE, App, Term, Var, and_, implies, not_, or_, postorder, var
from lictor_ir.types import BOOL
from lictor_prove.python.interpreter.loops import MAX_NESTED, assign_target, symbolic_round
from lictor_prove.python.machine.control_paths import Frame
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import SymbolicValue
from lictor_prove.python.operations.comparisons import truth
from lictor_prove.python.operations.iterables import UnknownItems, plans
from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.scopes import stored_names

MAX_CLAUSES: Final = 32
"""Of one promise; what would be more is not used."""


@dataclass(frozen=True, slots=True)
class Clause:
    """What holds for every choice of the indices."""

    binders: tuple[Binder, ...]
    formula: Term


class EveryItem:
    """The variables of one promise, and what each stands for."""

    def __init__(self) -> None:
        self._said: dict[Var, Clause] = {}
        self._raising: set[Var] = set()
        """Those whose items may raise, until a clause says that none does."""
        self.unused: list[str] = []
        """What of the promise no clause says, for people."""

    # -- reading -----------------------------------------------------------------------------------

    def read(
        self, machine: Machine, node: ast.GeneratorExp, first: SymbolicValue, *, stop: bool
    ) -> Term:
        """Whether `any(…)` (stop at a true item) or `all(…)` (stop at a false one) holds."""
        outer = machine.frame
        names = frozenset(stored_names([generator.target for generator in node.generators]))
        machine.frame = Frame(machine.fresh_id(), outer, names, function=False)
        machine.frames[machine.frame.id] = machine.frame
        every = self._every(machine, node, 0, first, stop=stop)
        machine.frame = outer
        return not_(every) if stop else every

    def _every(
        self, machine: Machine, node: ast.GeneratorExp, at: int, value: SymbolicValue, *, stop: bool
    ) -> Term:
        """That every item of this `for` and those inside is true, or for `any` false, and none raises."""
        generator = node.generators[at]
        found = plans(machine, value)
        if len(found) != 1 or not isinstance(found[0][1], UnknownItems):
            refuse(
                "predicate.items",
                "what this `for` runs over depends on the path, or is written out inside of a list of unknown length",
                "Promise it of the items of one list.",
            )
        how = found[0][1]
        index = machine.fresh_index()
        item, keep = how.item(index)
        begun = len(machine.obligations)

        def one() -> Term:
            assign_target(machine, generator.target, item)
            passed: list[Term] = []
            for test in generator.ifs:
                passed.append(truth(machine, machine.evaluate(test)))
                machine.guard = and_(machine.guard, passed[-1])
            if at + 1 < len(node.generators):
                inner = machine.evaluate(node.generators[at + 1].iter)
                holds = self._every(machine, node, at + 1, inner, stop=stop)
            else:
                holds = truth(machine, machine.evaluate(node.elt))
                holds = not_(holds) if stop else holds
            return implies(and_(*passed), holds)

        holds = symbolic_round(machine, index, how.over, keep, one)
        # Of a promise that is kept, the items up to the last were looked at, and none raised.
        safe = [implies(each.guard, each.formula) for each in machine.obligations[begun:]]
        del machine.obligations[begun:]
        every = var(f"every {len(self._said) + 1}", BOOL)
        if safe:
            self._raising.add(every)
        self._said[every] = Clause((Binder(index, how.over),), and_(*safe, implies(keep, holds)))
        return every

    # -- clauses -----------------------------------------------------------------------------------

    def clauses(self, formula: Term) -> list[Clause]:
        """What the formula says, as far as clauses can: those of the same indices are one."""
        together: dict[tuple[Binder, ...], list[Term]] = {}
        for each in self._clauses(formula, frozenset(), negated=False, certain=True):
            together.setdefault(each.binders, []).append(each.formula)
        if self._raising:
            # Where something else may hold instead, a clause can't tell an item that raises from one that is false.
            self.unused.append("that no item raises")
        return [Clause(binders, and_(*parts)) for binders, parts in together.items()]

    def terms(self) -> Iterator[Term]:
        """What is said of items."""
        return (each.formula for each in self._said.values())

    def _clauses(
        self, term: Term, known: frozenset[Term], *, negated: bool, certain: bool
    ) -> list[Clause]:
        """Clauses that follow from the term, or from its negation; `known` are variables that hold besides.

        `certain`: it holds whenever the promise is kept, and not only in place of something else.
        """
        if not any(part in self._said for part in postorder(term) if isinstance(part, Var)):
            return [Clause((), not_(term) if negated else term)]
        if isinstance(term, Var):
            return self._of_variable(term, known, negated=negated, certain=certain)
        assert isinstance(term, App)
        match term.op:
            case "not":
                return self._clauses(term.args[0], known, negated=not negated, certain=certain)
            case "and" | "or" if (term.op == "and") != negated:
                held = known | (set[Term]() if negated else self._said.keys() & set(term.args))
                return [
                    clause
                    for part in term.args
                    for clause in self._clauses(
                        part, held - {part}, negated=negated, certain=certain
                    )
                ]
            case "and" | "or":
                return self._either([(part, negated) for part in term.args], known)
            case "ite":
                test, then, otherwise = term.args
                return [
                    clause
                    for failed, part in ((True, then), (False, otherwise))
                    for clause in self._either([(test, failed), (part, negated)], known)
                ]
            case _:
                self.unused.append("what it computes from `all` or `any`")
                return []

    def _of_variable(
        self, every: Var, known: frozenset[Term], *, negated: bool, certain: bool
    ) -> list[Clause]:
        if every in known:
            return [Clause((), FALSE if negated else TRUE)]
        if negated:
            self.unused.append("that there is an item (`any`, `not all`): nothing says which")
            return []
        if certain:
            self._raising.discard(every)
        (binder,), said = self._said[every].binders, self._said[every].formula
        return [
            Clause((binder, *inner.binders), inner.formula)
            for inner in self._clauses(said, known, negated=False, certain=certain)
        ]

    def _either(self, terms: Sequence[tuple[Term, bool]], known: frozenset[Term]) -> list[Clause]:
        """Clauses that follow if one of the terms holds, or the negation of those that are to be negated."""
        ways = [
            self._clauses(term, known, negated=negated, certain=False) for term, negated in terms
        ]
        made: list[Clause] = []
        for combined in product(*ways):
            binders = dict.fromkeys(binder for each in combined for binder in each.binders)
            if len(made) >= MAX_CLAUSES or len(binders) >= MAX_NESTED:
                self.unused.append("a choice between too many conditions")
                return []
            made.append(Clause(tuple(binders), or_(*(each.formula for each in combined))))
        return made
